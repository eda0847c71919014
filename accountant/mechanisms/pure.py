"""Mechanisms that are pure, delta = 0: Laplace noise, and any release of which only the epsilon is known."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from accountant.errors import InvalidQuantityError
from accountant.mechanisms.amplified import amplified_epsilon, require_pure_theorem
from accountant.mechanisms.fields import (
    Count,
    Field,
    MaybeNumber,
    Number,
    Schedule,
    choice,
    count_or,
    described,
    maybe_number,
    number,
    schedule,
)
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import Mechanism, at_each_step
from accountant.mechanisms.steps import PureStep
from accountant.mechanisms.words import Neighbours, Sampling
from accountant.numbers import arb_from_fraction, arb_precision, fraction_from_arb, shown

RELATION = "Which data sets are neighbours: the relation that the sensitivity, or epsilon, is for."
_SIDE_BITS = 64
SAMPLING = "How the records of a release are drawn: all, without-replacement, or poisson (add-or-remove)."


@described
class PureReleases(Mechanism):
    """Pure releases, each on all records or on freshly drawn ones."""

    iterations: Count = count_or("How many adaptive releases.", default=1)
    neighbours: Field[Neighbours, Neighbours | str] = choice(Neighbours, RELATION, default=Neighbours.REPLACE_ONE)
    sampling: Field[Sampling, Sampling | str] = choice(Sampling, SAMPLING, default=Sampling.ALL)
    sampling_rate: MaybeNumber = maybe_number("q: m/n, or Poisson's probability; not with sampling all.", default=None)

    def check(self) -> None:
        """Refuse a scheme without a theorem, and a rate that is missing, superfluous or above 1."""
        require_pure_theorem(self.sampling, self.neighbours)
        if (self.sampling is Sampling.ALL) != (self.sampling_rate is None):
            raise InvalidQuantityError(f"sampling_rate belongs to drawn records, got sampling={self.sampling.value!r}")
        if self.sampling_rate is not None and self.sampling_rate > 1:
            raise InvalidQuantityError(
                f"sampling_rate must lie in (0, 1], got sampling_rate={shown(self.sampling_rate)}"
            )

    def step(self, epsilon: Fraction, count: int) -> PureStep:
        """Return so many releases of this epsilon, less what sampling gains."""
        rate = Fraction(1) if self.sampling_rate is None else self.sampling_rate
        return PureStep(amplified_epsilon(epsilon, rate), count, self.neighbours)


@described
class Laplace(PureReleases):
    """Laplace noise on everything: pure, each release costs the L1 sensitivity over the scale."""

    algorithm: ClassVar[str] = "laplace"

    noise_multiplier: Number = number("The scale b over the L1 sensitivity.")

    def ledger(self) -> Ledger:
        """Return the pure epsilons; on which side of the middle a release lies is randomised response with less."""
        epsilon = 1 / self.noise_multiplier
        attained = (PureStep(side_epsilon(epsilon), self.iterations, self.neighbours),)
        return Ledger(
            (self.step(epsilon, self.iterations),), realisable=attained if self.sampling is Sampling.ALL else ()
        )


def side_epsilon(epsilon: Fraction) -> Fraction:
    r"""Return log(2 e^{epsilon/2} - 1), rounded down: what the side of the middle gives away of a Laplace release.

    With noise of scale b between 0 and D = epsilon b, P[z > D/2] is 1 - e^{-epsilon/2}/2 for one data set and
    e^{-epsilon/2}/2 for the other. For small epsilon it is nearly all of it.
    """
    with arb_precision(_SIDE_BITS):
        return fraction_from_arb((2 * (arb_from_fraction(epsilon) / 2).expm1()).log1p().lower())


@described
class Pure(PureReleases):
    """Releases of which only the pure epsilon is known: an exponential mechanism, randomised response, gamma noise."""

    algorithm: ClassVar[str] = "pure"
    calibrated: ClassVar[str] = "epsilon"

    epsilon: Schedule = schedule("The pure epsilon of each release: once, or once an iteration.")

    def check(self) -> None:
        """Refuse a schedule of another length."""
        super().check()
        at_each_step("epsilon", self.epsilon, self.iterations, self.iterations)

    def ledger(self) -> Ledger:
        """Return the pure epsilons, which randomised response attains where nothing is drawn."""
        each = self.iterations if len(self.epsilon) == 1 else 1
        steps = tuple(self.step(epsilon, each) for epsilon in self.epsilon)
        return Ledger(steps, realisable=steps if self.sampling is Sampling.ALL else ())
