r"""From a ledger to certified numerical composition, the noise rounded to the safe side of each end.

`accountant.pld.composition` composes steps whose noise multiplier is rational. A joint sensitivity makes it the root of
a rational; then the upper end uses a multiplier just below it and the lower end one just above.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

from accountant.errors import UnsupportedSchemeError
from accountant.mechanisms.steps import (
    GaussianStep,
    PoissonGaussianStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Noise
from accountant.numbers import Bound, Direction, float_down
from accountant.pld.composition import ComposedProfile, Resolution, SubsampledGaussian, compose
from accountant.profiles.with_replacement import batch_rates, dominating_phases, single_epsilon

FIRST_SHARE, REPLACED_SHARE, LEVEL = Fraction(1, 2), Fraction(1, 64), 8
"""Of delta: for the ledger of ordinary batches, and for those that no ledger covers; and the ratio between levels."""
ROOT_BITS = 96
"""An irrational noise multiplier is rounded to this many bits: far below the grid of the composition."""


def composed_epsilon(steps: tuple[Step, ...], delta: Fraction) -> Bound:
    """Enclose epsilon: `upper` holds for every mechanism with these steps, `lower` for a realisable pair."""
    if any(isinstance(step, WithReplacementStep) for step in steps):
        upper = composed_epsilon_upper(steps, delta, Fraction(1, 10**4))
        return Bound.from_fractions(min(attained_epsilon(steps, delta), upper), upper)
    below = profile_steps(steps, "down")
    composed = compose(below, target_delta=delta).epsilon(delta)
    above = profile_steps(steps, "up")
    if above == below:
        return composed
    return Bound(compose(above, target_delta=delta).epsilon(delta).least, composed.most)


def composed_epsilon_upper(steps: tuple[Step, ...], delta: Fraction, tolerance: Fraction) -> Fraction:
    """Return a certified upper epsilon alone, to about the relative tolerance: what a search calls often."""
    if (alone := single_with_replacement(steps)) is not None:
        return single_epsilon(alone.records, alone.batch, alone.noise_multiplier, delta)
    resolution = Resolution(tolerance=float_down(tolerance))
    return max(
        compose(profile_steps(core, "down"), target_delta=allowed, resolution=resolution).epsilon_upper(allowed)
        for core, allowed in dominating_ledgers(steps, delta)
    )


@functools.lru_cache(maxsize=8)
def attained_epsilon(steps: tuple[Step, ...], delta: Fraction) -> Fraction:
    """Return an epsilon that one pair of neighbours violates if it attains these steps: the lower end alone."""
    return compose(profile_steps(attained_steps(steps), "up"), target_delta=delta).epsilon_lower(delta)


def single_with_replacement(steps: tuple[Step, ...]) -> WithReplacementStep | None:
    """Return the step where there is one with replacement alone: its profile is closed."""
    alone = steps[0] if len(steps) == 1 and steps[0].count == 1 else None
    return alone if isinstance(alone, WithReplacementStep) else None


def dominating_ledgers(steps: tuple[Step, ...], delta: Fraction) -> list[tuple[tuple[Step, ...], Fraction]]:
    r"""Return ledgers without replacement, each with a delta, whose largest epsilon holds for the steps at delta.

    Ledger l holds but for a probability t_l = 8^-l (`profiles.with_replacement`). So delta(eps) is at most the sum
    over l of t_(l-1) delta_l(eps), plus the last t: with shares w_l of delta it is enough that delta_l(eps) <= w_l
    delta/t_(l-1).
    """
    replaced = [step for step in steps if isinstance(step, WithReplacementStep)]
    if not replaced:
        return [(steps, delta)]
    others = tuple(step for step in steps if not isinstance(step, WithReplacementStep))
    if all(step.batch == 1 for step in replaced):  # the same as without replacement
        return [((*others, *(phase for step in replaced for phase in _phases(step, delta))), delta)]
    spare = [Fraction(1, LEVEL)]
    while spare[-1] > delta * REPLACED_SHARE:
        spare.append(spare[-1] / LEVEL)
    rest = (1 - FIRST_SHARE - REPLACED_SHARE) / max(1, len(spare) - 1)
    found = []
    for place, missed in enumerate(spare):
        allowed = delta * (rest if place else FIRST_SHARE) / (spare[place - 1] if place else 1)
        if allowed < 1:
            phases = [phase for step in replaced for phase in _phases(step, missed / len(replaced))]
            found.append(((*others, *phases), allowed))
    return found


def _phases(step: WithReplacementStep, spare: Fraction) -> list[Step]:
    rate = batch_rates(step.records, step.batch)[1]
    return [
        SubsampledGaussianStep(rate, step.noise_multiplier / k, count, relation=step.relation)
        for k, count in dominating_phases(step.records, step.batch, step.count, spare)
    ]


def attained_steps(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return steps without replacement whose pairs those with replacement dominate."""
    return tuple(attained_step(step) if isinstance(step, WithReplacementStep) else step for step in steps)


def attained_step(step: WithReplacementStep) -> SubsampledGaussianStep:
    """Return the step without replacement that takes the record as often, one copy at a time."""
    rate = batch_rates(step.records, step.batch)[0]
    return SubsampledGaussianStep(rate, step.noise_multiplier, step.count, relation=step.relation)


def composed_profile(steps: tuple[Step, ...], delta: Fraction | None = None) -> ComposedProfile:
    """Return the composition whose *upper* end holds for the steps."""
    return compose(profile_steps(steps, "down"), target_delta=delta)


def profile_steps(steps: tuple[Step, ...], direction: Direction) -> list[SubsampledGaussian]:
    """Return what the numerical composition takes, the noise rounded in the stated direction."""
    return [_profile_step(step, direction) for step in steps]


def _profile_step(step: Step, direction: Direction) -> SubsampledGaussian:
    if isinstance(step, PoissonGaussianStep):  # both orders of its pair are dominated by the same profile
        return SubsampledGaussian(step.sampling_rate, step.noise_multiplier, step.count)
    if not isinstance(step, GaussianStep | SubsampledGaussianStep) or step.noise is not Noise.GAUSSIAN:
        raise UnsupportedSchemeError(
            f"the composed profile is proved for real Gaussian noise and drawn batches, got {step}"
        )
    if isinstance(step, SubsampledGaussianStep):
        return SubsampledGaussian(step.sampling_rate, step.noise_multiplier, step.count)
    return SubsampledGaussian(Fraction(1), root(1 / step.ratio_squared, direction), step.count)


def root(square: Fraction, direction: Direction) -> Fraction:
    """Return the square root, exactly where it is rational, else rounded in the stated direction."""
    numerator, denominator = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if numerator**2 == square.numerator and denominator**2 == square.denominator:
        return Fraction(numerator, denominator)
    excess = square.numerator.bit_length() - square.denominator.bit_length()
    shift = 2 * ROOT_BITS - 2 * (excess // 2)
    scaled = square * Fraction(2) ** shift
    whole = math.isqrt(scaled.numerator // scaled.denominator)
    return Fraction(whole + (direction == "up")) / Fraction(2) ** (shift // 2)
