"""Mechanisms that are pure, delta = 0: Laplace noise, and any release of which only the epsilon is known."""

from __future__ import annotations

from typing import ClassVar

from accountant.mechanisms.fields import Count, Field, Number, Schedule, choice, count_or, described, number, schedule
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import Mechanism, at_each_step
from accountant.mechanisms.steps import PureStep
from accountant.mechanisms.words import Neighbours

RELATION = "Which data sets are neighbours: the relation that the sensitivity, or epsilon, is for."


@described
class Laplace(Mechanism):
    """Laplace noise on everything: pure, each release costs the L1 sensitivity over the scale."""

    algorithm: ClassVar[str] = "laplace"

    noise_multiplier: Number = number("The scale b over the L1 sensitivity.")
    iterations: Count = count_or("How many adaptive releases.", default=1)
    relation: Field[Neighbours, Neighbours | str] = choice(Neighbours, RELATION, default=Neighbours.REPLACE_ONE)

    def ledger(self) -> Ledger:
        """Return the pure epsilons; the worst pure release of that epsilon is no Laplace release, so none attains."""
        return Ledger((PureStep(1 / self.noise_multiplier, self.iterations, self.relation),))


@described
class Pure(Mechanism):
    """Releases of which only the pure epsilon is known: an exponential mechanism, randomised response, gamma noise."""

    algorithm: ClassVar[str] = "pure"
    calibrated: ClassVar[str] = "epsilon"

    epsilon: Schedule = schedule("The pure epsilon of each release: once, or once an iteration.")
    iterations: Count = count_or("How many adaptive releases.", default=1)
    relation: Field[Neighbours, Neighbours | str] = choice(Neighbours, RELATION, default=Neighbours.REPLACE_ONE)

    def check(self) -> None:
        """Refuse a schedule of another length."""
        at_each_step("epsilon", self.epsilon, self.iterations, self.iterations)

    def ledger(self) -> Ledger:
        """Return the pure epsilons, which randomised response attains."""
        each = self.iterations if len(self.epsilon) == 1 else 1
        steps = tuple(PureStep(epsilon, each, self.relation) for epsilon in self.epsilon)
        return Ledger(steps, realisable=steps)
