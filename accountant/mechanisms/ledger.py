"""What was released, in order: a list of steps under one neighbouring relation.

Steps may differ (step sizes, noise and batches that change over time). `realisable` lists the part of it that a
concrete pair of neighbouring data sets is known to attain, which is what a lower bound may rest on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from accountant.errors import InvalidQuantityError, UnsupportedSchemeError
from accountant.mechanisms.steps import (
    GaussianStep,
    PoissonGaussianStep,
    PureStep,
    ShuffledStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Neighbours, Noise

if TYPE_CHECKING:
    from accountant.mechanisms.mechanism import Mechanism

LEAST_NOISE = Fraction(1, 20)
"""The noise multiplier from which on the exact adversary is certified."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Adaptive releases as they are to be priced.

    `corrected` holds the true steps where the *paper's* sensitivities were asked for and are violated (E1): then
    what `steps` cost is no bound, and only `corrected` may support a claim. `mechanisms` are those that it was made of,
    in order; empty where it was put together by hand. Where steps of several kinds took turns in a way that the list
    does not show, `ordered` is false.
    """

    steps: tuple[Step, ...]
    realisable: tuple[Step, ...] = ()
    corrected: tuple[Step, ...] = ()
    notes: tuple[str, ...] = field(default=())
    mechanisms: tuple[Mechanism, ...] = field(default=(), compare=False, repr=False)
    ordered: bool = True

    def __post_init__(self) -> None:
        """Refuse an empty ledger and one that mixes neighbouring relations."""
        if not self.steps:
            raise InvalidQuantityError("a ledger needs at least one step: nothing released costs nothing to prove")
        if any(isinstance(step, ShuffledStep) for step in self.steps):
            raise UnsupportedSchemeError("shuffled epochs have no price of their own: they cost one release an epoch")
        relations = {step.neighbours for step in self.steps}
        if len(relations) > 1:
            raise UnsupportedSchemeError(
                "a ledger speaks of one neighbouring relation, got "
                + " and ".join(sorted(relation.value for relation in relations))
            )

    def __add__(self, other: Ledger) -> Ledger:
        """Compose adaptively: first this ledger, then the other."""
        return Ledger(
            self.steps + other.steps,
            self.realisable + other.realisable,
            () if self.sound and other.sound else (self.corrected or self.steps) + (other.corrected or other.steps),
            self.notes + tuple(note for note in other.notes if note not in self.notes),
            self.mechanisms + other.mechanisms if self.mechanisms and other.mechanisms else (),
            self.ordered and other.ordered,
        )

    @property
    def sound(self) -> bool:
        """Whether the price of `steps` bounds what was released."""
        return not self.corrected

    @property
    def neighbours(self) -> Neighbours:
        """The neighbouring relation all steps share."""
        return self.steps[0].neighbours

    @property
    def is_subsampled(self) -> bool:
        """Whether some step draws batches without replacement."""
        return any(isinstance(step, SubsampledGaussianStep) for step in self.steps)

    @property
    def is_pure(self) -> bool:
        """Whether every step is pure DP."""
        return all(isinstance(step, PureStep) for step in self.steps)

    @property
    def is_exactly_gaussian(self) -> bool:
        """Whether every step adds real Gaussian noise (what profiles and the tight moments are proved for)."""
        return all(
            isinstance(step, GaussianStep | SubsampledGaussianStep) and step.noise is Noise.GAUSSIAN
            for step in self.steps
        )


def gdp_squared(steps: tuple[Step, ...]) -> Fraction | None:
    """Return mu^2 if the steps are real Gaussian releases of everything (q = 1 included), else None."""
    total = Fraction(0)
    for step in steps:
        if not isinstance(step, GaussianStep | SubsampledGaussianStep) or step.noise is not Noise.GAUSSIAN:
            return None
        if isinstance(step, SubsampledGaussianStep) and step.sampling_rate != 1:
            return None
        total += step.count * step.ratio_squared
    return total if steps else None


def unsampled_squared(steps: tuple[Step, ...]) -> Fraction | None:
    r"""Return mu^2 of the steps as if every record were used in each, as often as it may be; None under other noise.

    Hockey-stick divergences are jointly convex: given which entries of a batch differ, k of them, the outputs are two
    Gaussians no further apart than k entries move.
    """
    total = Fraction(0)
    for step in steps:
        if isinstance(step, PoissonGaussianStep):
            total += step.count / step.noise_multiplier**2
        elif isinstance(step, WithReplacementStep):
            total += step.count * (step.copies.most / step.noise_multiplier) ** 2
        elif isinstance(step, PureStep | ShuffledStep) or step.noise is not Noise.GAUSSIAN:
            return None
        else:
            total += step.count * step.ratio_squared
    return total


def has_leader(steps: tuple[Step, ...]) -> bool:
    """Say whether the exact adversary may price the steps: replaced records, drawn batches of a fixed size among them.

    Of the other steps, wherever they stand, the profile must be known: Gaussian noise on everything, or pure.
    """
    drawn = [step for step in steps if isinstance(step, SubsampledGaussianStep) and step.sampling_rate < 1]
    known = all(
        isinstance(step, PureStep)
        or (isinstance(step, GaussianStep | SubsampledGaussianStep) and step.noise is Noise.GAUSSIAN)
        for step in steps
    )
    replaced = all(step.neighbours is Neighbours.REPLACE_ONE for step in steps)
    noisy = any(step.noise_multiplier > LEAST_NOISE for step in drawn)
    return known and replaced and noisy and sum(step.count for step in drawn) > 1
