"""Mechanisms that are only priced: plain Gaussian releases, and Poisson batches to compare with other accountants."""

from __future__ import annotations

from typing import ClassVar

from accountant.errors import InvalidQuantityError
from accountant.mechanisms.fields import Count, Field, Number, choice, count, count_or, described, number
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import NOISE, Mechanism
from accountant.mechanisms.steps import GaussianStep, PoissonGaussianStep
from accountant.mechanisms.words import Noise
from accountant.numbers import shown


@described
class Gaussian(Mechanism):
    """Plain Gaussian releases: exact."""

    algorithm: ClassVar[str] = "gaussian"

    noise_multiplier: Number = number("sigma over the replace-one sensitivity.")
    iterations: Count = count_or("How many adaptive releases.", default=1)
    noise: Field[Noise, Noise | str] = choice(Noise, NOISE, default=Noise.GAUSSIAN)

    def ledger(self) -> Ledger:
        """Return the releases; some pair of neighbours is as far apart as the sensitivity allows."""
        steps = (GaussianStep(1 / self.noise_multiplier**2, self.iterations, self.noise),)
        return Ledger(steps, realisable=steps if self.noise is Noise.GAUSSIAN else ())


@described
class Poisson(Mechanism):
    """DP-SGD with Poisson batches: another neighbouring relation, for comparison."""

    algorithm: ClassVar[str] = "poisson"

    sampling_rate: Number = number("q, the probability of joining a batch.")
    noise_multiplier: Number = number("sigma/C: add-or-remove neighbours.")
    iterations: Count = count("T, the number of iterations.")

    def check(self) -> None:
        """Refuse a rate above 1."""
        if self.sampling_rate > 1:
            raise InvalidQuantityError(
                f"sampling_rate must lie in (0, 1], got sampling_rate={shown(self.sampling_rate)}"
            )

    def ledger(self) -> Ledger:
        """Return T Poisson-subsampled steps; a record beside records that add nothing attains them."""
        steps = (PoissonGaussianStep(self.sampling_rate, self.noise_multiplier, self.iterations),)
        return Ledger(steps, realisable=steps)
