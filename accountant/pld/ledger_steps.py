r"""From a ledger to certified numerical composition.

`accountant.pld.composition` composes steps whose noise multiplier is rational. A joint sensitivity makes it the root of
a rational: an irrational multiplier is rounded down for the upper bound and up for the lower one.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

from accountant.errors import UnsupportedSchemeError
from accountant.limits import time_left
from accountant.mechanisms.steps import (
    GaussianStep,
    PoissonGaussianStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Noise
from accountant.numbers import Bound, Direction, float_down
from accountant.pld.announced import AnnouncedProfile
from accountant.pld.composition import ComposedProfile, Resolution, SubsampledGaussian, compose
from accountant.profiles.with_replacement import AnnouncedCopies, announced_copies, batch_rates, single_epsilon

SPARE_SHARE = Fraction(1, 10**6)
"""Of delta, for batches with more copies of a record than are listed."""
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
    announced, others = announcing(steps, delta)
    if announced:
        return AnnouncedProfile(announced, profile_steps(others, "down"), resolution).epsilon_upper(delta)
    return compose(profile_steps(others, "down"), target_delta=delta, resolution=resolution).epsilon_upper(delta)


def attained_epsilon(steps: tuple[Step, ...], delta: Fraction) -> Fraction:
    """Return an epsilon that one pair of neighbours violates if it attains these steps: the lower end alone."""
    found = _attained_epsilon(steps, delta)
    if time_left() <= 0:  # cut short: the next one to ask may have more time
        _attained_epsilon.cache_clear()
    return found


@functools.lru_cache(maxsize=8)
def _attained_epsilon(steps: tuple[Step, ...], delta: Fraction) -> Fraction:
    return compose(profile_steps(attained_steps(steps), "up"), target_delta=delta).epsilon_lower(delta)


def single_with_replacement(steps: tuple[Step, ...]) -> WithReplacementStep | None:
    """Return the step where there is one with replacement alone: its profile is closed."""
    alone = steps[0] if len(steps) == 1 and steps[0].count == 1 else None
    return alone if isinstance(alone, WithReplacementStep) else None


def announcing(steps: tuple[Step, ...], delta: Fraction) -> tuple[list[AnnouncedCopies], tuple[Step, ...]]:
    """Return what dominates the steps with replacement, and all others; of one draw each is without replacement."""
    replaced = [step for step in steps if isinstance(step, WithReplacementStep) and step.batch > 1]
    others = tuple(attained_step(s, 1) if isinstance(s, WithReplacementStep) else s for s in steps if s not in replaced)
    spare = delta * SPARE_SHARE / sum(step.count for step in replaced) if replaced else delta
    return [
        announced_copies(step.records, step.batch, step.noise_multiplier, step.count, spare) for step in replaced
    ], others


def attained_steps(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return steps without replacement whose pairs those with replacement dominate."""
    return tuple(attained_step(step, 0) if isinstance(step, WithReplacementStep) else step for step in steps)


def attained_step(step: WithReplacementStep, end: int) -> SubsampledGaussianStep:
    """Return the step without replacement that takes the record as often, one copy at a time; `end` 1 rounds up."""
    rate = batch_rates(step.records, step.batch)[end]
    return SubsampledGaussianStep(rate, step.noise_multiplier, step.count, neighbours=step.neighbours)


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
