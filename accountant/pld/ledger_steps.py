r"""From a ledger to certified numerical composition, the noise rounded to the safe side of each end.

`accountant.pld.composition` composes steps whose noise multiplier is rational. A joint sensitivity makes it the root of
a rational; then the upper end uses a multiplier just below it and the lower end one just above.
"""

from __future__ import annotations

import math
from fractions import Fraction

from accountant.errors import UnsupportedSchemeError
from accountant.mechanisms.steps import GaussianStep, Step, SubsampledGaussianStep
from accountant.mechanisms.words import Noise
from accountant.numbers import Bound, Direction, float_down
from accountant.pld.composition import ComposedProfile, Resolution, SubsampledGaussian, compose

ROOT_BITS = 96
"""An irrational noise multiplier is rounded to this many bits: far below the grid of the composition."""


def composed_epsilon(steps: tuple[Step, ...], delta: Fraction) -> Bound:
    """Enclose epsilon: `upper` holds for every mechanism with these steps, `lower` for a realisable pair."""
    below = profile_steps(steps, "down")
    composed = compose(below, target_delta=delta).epsilon(delta)
    above = profile_steps(steps, "up")
    if above == below:
        return composed
    return Bound(compose(above, target_delta=delta).epsilon(delta).lower, composed.upper)


def composed_epsilon_upper(steps: tuple[Step, ...], delta: Fraction, tolerance: Fraction) -> Fraction:
    """Return a certified upper epsilon alone, to about the relative tolerance: what a search calls often."""
    resolution = Resolution(tolerance=float_down(tolerance))
    return compose(profile_steps(steps, "down"), target_delta=delta, resolution=resolution).epsilon_upper(delta)


def attained_epsilon(steps: tuple[Step, ...], delta: Fraction) -> Fraction:
    """Return an epsilon that one pair of neighbours violates if it attains these steps: the lower end alone."""
    return compose(profile_steps(steps, "up"), target_delta=delta).epsilon_lower(delta)


def composed_profile(steps: tuple[Step, ...], delta: Fraction | None = None) -> ComposedProfile:
    """Return the composition whose *upper* end holds for the steps."""
    return compose(profile_steps(steps, "down"), target_delta=delta)


def profile_steps(steps: tuple[Step, ...], direction: Direction) -> list[SubsampledGaussian]:
    """Return what the numerical composition takes, the noise rounded in the stated direction."""
    return [_profile_step(step, direction) for step in steps]


def _profile_step(step: Step, direction: Direction) -> SubsampledGaussian:
    if not isinstance(step, GaussianStep | SubsampledGaussianStep) or step.noise is not Noise.GAUSSIAN:
        raise UnsupportedSchemeError(
            "the composed profile is proved for real Gaussian noise, batches without replacement and replace-one "
            f"neighbours, got {step}"
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
