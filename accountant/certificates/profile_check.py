r"""Both ends of a composed profile, re-derived by routes that share nothing with the fast composition.

1. One step alone, and whatever a closed form of the ledger without sampling, of one phase or of one event already
   decides: in mpmath, however large the ledger is.
2. `contour_route`: Fourier inversion in balls, every error proved; decides to about 1e-5 of epsilon.
3. `integer_route` where the line would be too long: exact integers on a grid, to the first of `GRID_SLACKS` of epsilon
   that a grid of modest size affords; which one it was is said. Batches with replacement are re-derived by it alone.

An upper end is refused where delta(upper) of the dominating pair exceeds delta, a lower end where neither order of the
realisable pair reaches delta there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from flint import arb
from mpmath import mpf

from accountant.certificates.comparing import exceeds, reaches
from accountant.certificates.contour_route import composed_delta
from accountant.certificates.integer_route import ExactMixture, ExactPair, Grid, exact_delta_upper
from accountant.certificates.level_route import losses_reach, told_draws_confirm
from accountant.certificates.mpmath_route import (
    gaussian_delta,
    one_event_delta,
    single_step_delta,
    with_replacement_delta,
)
from accountant.errors import CannotCertifyError, CertificateError
from accountant.limits import check_time
from accountant.mechanisms.ledger import gdp_squared
from accountant.mechanisms.steps import (
    GaussianStep,
    PoissonGaussianStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Noise
from accountant.numbers import arb_from_fraction, arb_precision
from accountant.pld.announced import AnnouncedProfile
from accountant.pld.composition import ComposedProfile, Resolution, compose
from accountant.pld.invert import log_of
from accountant.pld.ledger_steps import (
    announcing,
    attained_steps,
    profile_steps,
    single_with_replacement,
)
from accountant.profiles.one_step import SubsampledGaussian

GRID_SLACKS: Final = (Fraction(1, 10**4), Fraction(1, 2500), Fraction(1, 500))
CONTOUR_SLACK: Final = Fraction(1, 10**4)
"""Of delta: what the contour leaves open, less than 1e-5 of epsilon."""
MODEST_WINDOW: Final = 1 << 16
MAX_WINDOW: Final = 1 << 18
SPACING_BITS: Final = 20
COARSE: Final = Resolution(tolerance=1e-3, most_points=1 << 16)
"""Of the fast composition that the grid's size is guessed from."""
CLOSED_DIGITS: Final = 40
MOST_COPIES: Final = 64
LEAST_WEIGHT: Final = Fraction(1, 2**400)
"""Copies of a record in a batch that are looked at; larger numbers count as infinite losses."""
_CLOSED_ERROR: Final = Fraction(1, 10**30)


def require_profile_upper(steps: tuple[Step, ...], delta: Fraction, upper: Fraction) -> str:
    """Raise unless delta(upper) of the composed dominating pair is at most delta; return how it was decided."""
    closed = _closed(steps, upper)
    if closed is not None:
        if exceeds(closed, delta * (1 + _CLOSED_ERROR)):
            raise CertificateError(f"profile: the closed form finds delta({_show(upper)}) above the stated delta")
        return "the closed form"
    if _is_enough_without_sampling(steps, delta, upper):
        return "the closed form without sampling"
    announced, others = announcing(steps, delta)
    below = profile_steps(others, "down")
    if announced:
        replaced = [s for s in steps if isinstance(s, WithReplacementStep) and s.batch > 1]
        composed = AnnouncedProfile(announced, below, COARSE)
        count = sum(step.count for step in steps)
        return _grid_upper(composed, count, [*map(exact_mixture, replaced), *below], delta, upper)
    steps = others
    if _is_enough_by_union(below, delta) or told_draws_confirm(below, delta, upper):
        return "the closed form of the draws"
    try:
        found = composed_delta(below, ExactPair.DOMINATING, upper, delta)
    except CannotCertifyError:
        check_time()
        return _fast_grid_upper(steps, below, delta, upper)
    if _is_above(found, delta * (1 + CONTOUR_SLACK)):
        raise CertificateError(f"profile: the contour finds delta({_show(upper)}) above the stated delta")
    return "a contour integral" if not _is_above_upper(found, delta) else _fast_grid_upper(steps, below, delta, upper)


def require_profile_lower(steps: tuple[Step, ...], delta: Fraction, lower: Fraction) -> str:
    """Raise unless an order of the realisable pair reaches delta at lower; return how it was decided."""
    if lower <= 0:
        return "epsilon is never below 0"
    steps = attained_steps(steps)
    closed = _closed(steps, lower)
    if closed is not None:
        if not reaches(closed, delta * (1 - _CLOSED_ERROR)):
            raise CertificateError(f"profile: no realisable pair reaches the stated delta at {_show(lower)}")
        return "the closed form"
    if _is_attained_by_less(steps, delta, lower):
        return "the closed form of a part"
    above = profile_steps(steps, "up")
    if losses_reach(above, (), delta, lower):
        return "levels that losses reach"
    try:
        for pair in (ExactPair.MIXTURE_FIRST, ExactPair.MIXTURE_SECOND):
            found = composed_delta(above, pair, lower, delta)
            with arb_precision(128):
                if not found.upper() < arb_from_fraction(delta * (1 - CONTOUR_SLACK)):
                    return "a contour integral"
    except CannotCertifyError:
        check_time()
        return _grid_lower(steps, above, delta, lower)
    raise CertificateError(f"profile: no realisable pair reaches the stated delta at {_show(lower)}")


def _grid_lower(steps: tuple[Step, ...], above: list[SubsampledGaussian], delta: Fraction, lower: Fraction) -> str:
    """Decide by exact integers: what they find is an upper bound, so a lower end above it is refused."""
    grid, slack = recheck_grid(steps, delta, lower)
    pairs = (ExactPair.MIXTURE_FIRST, ExactPair.MIXTURE_SECOND)
    if all(exact_delta_upper(above, pair, lower * (1 - slack), grid) < delta for pair in pairs):
        raise CertificateError(f"profile: no realisable pair reaches the stated delta at {_show(lower)}")
    return f"exact integers (to {float(2 * slack):.2%})"


def exact_mixture(step: WithReplacementStep) -> ExactMixture:
    """Return the mixture of `profiles.with_replacement`, anew: binomial probabilities as exact rationals."""
    n, m = step.records, step.batch
    rate = 1 - Fraction(n - 1, n) ** m
    weight, parts = Fraction(n - 1, n) ** m, []
    for k in range(1, min(m, MOST_COPIES) + 1):
        weight = weight * (m - k + 1) / (k * (n - 1))
        part = SubsampledGaussian(rate, step.noise_multiplier / k, 1)
        parts.append((weight / rate, part))
        if weight < LEAST_WEIGHT:
            break
    return ExactMixture(tuple(parts), step.count)


def _fast_grid_upper(steps: tuple[Step, ...], below: list[SubsampledGaussian], delta: Fraction, upper: Fraction) -> str:
    composed = compose(profile_steps(steps, "down"), target_delta=delta, resolution=COARSE)
    return _grid_upper(composed, sum(step.count for step in steps), below, delta, upper)


def _grid_upper(
    composed: ComposedProfile | AnnouncedProfile,
    count: int,
    below: Sequence[SubsampledGaussian | ExactMixture],
    delta: Fraction,
    upper: Fraction,
) -> str:
    """Decide by exact integers: every grid gives an upper bound, so the first that confirms decides."""
    grid, slack = _grid(composed, count, delta, upper)
    widened = upper * (1 + slack)
    for finer in (1, 2, 4):
        refined = Grid(grid.spacing / finer, grid.window * finer, grid.bits + finer)
        if refined.window > MAX_WINDOW:
            break
        if exact_delta_upper(below, ExactPair.DOMINATING, widened, refined) <= delta:
            return f"exact integers (to {float(2 * slack):.2%})"
    raise CertificateError(f"profile: exact integers find delta({_show(upper)}) above the stated delta")


def _closed(steps: tuple[Step, ...], epsilon: Fraction) -> mpf | None:
    """Return delta(epsilon) where it is known in closed form: no sampling at all, or a single step."""
    alone = single_with_replacement(steps)
    if alone is not None:
        n, m, nu = alone.records, alone.batch, alone.noise_multiplier
        return with_replacement_delta(n, m, nu, epsilon, CLOSED_DIGITS)
    mu_squared = gdp_squared(steps)
    if mu_squared is not None:
        return gaussian_delta(mu_squared, epsilon, CLOSED_DIGITS)
    if len(steps) == 1 and steps[0].count == 1 and isinstance(steps[0], SubsampledGaussianStep | PoissonGaussianStep):
        step = steps[0]
        return single_step_delta(step.sampling_rate, 1 / step.noise_multiplier**2, epsilon, CLOSED_DIGITS)
    return None


def _is_enough_without_sampling(steps: tuple[Step, ...], delta: Fraction, upper: Fraction) -> bool:
    """Say whether delta(upper) is at most delta even if every record is used in every step: sampling never costs."""
    terms = [_unsampled_square(step) for step in steps]
    known = [term for term in terms if term is not None]
    if len(known) < len(terms):
        return False
    found = gaussian_delta(sum(known, Fraction(0)), upper, CLOSED_DIGITS)
    return not exceeds(found, delta * (1 + _CLOSED_ERROR))


def _is_enough_by_union(steps: Sequence[SubsampledGaussian], delta: Fraction) -> bool:
    """Say whether the total variations of the steps together are at most delta: then every epsilon >= 0 will do."""
    square = sum((step.count / step.noise_multiplier**2 for step in steps if step.sampling_rate == 1), Fraction(0))
    total = gaussian_delta(square, Fraction(0), CLOSED_DIGITS) if square else mpf(0)
    for step in steps:
        if step.sampling_rate < 1:
            own = single_step_delta(step.sampling_rate, 1 / step.noise_multiplier**2, Fraction(0), CLOSED_DIGITS)
            total = total + step.count * own
    return not exceeds(total, delta * (1 + _CLOSED_ERROR))


def _unsampled_square(step: Step) -> Fraction | None:
    """Return count (Delta/sigma)^2; None where a batch may hold a record twice, or has other noise."""
    if isinstance(step, PoissonGaussianStep):
        return step.count / step.noise_multiplier**2
    if isinstance(step, GaussianStep | SubsampledGaussianStep) and step.noise is Noise.GAUSSIAN:
        return step.count * step.ratio_squared
    return None


def _is_attained_by_less(steps: tuple[Step, ...], delta: Fraction, lower: Fraction) -> bool:
    """Say whether the phases without sampling, one step of a phase, or one event of all sampled phases reach delta.

    Leaving releases out is post-processing, and an event bounds delta from below.
    """
    unsampled = tuple(step for step in steps if isinstance(step, GaussianStep))
    parts: list[tuple[Step, ...]] = [unsampled] if unsampled else []
    parts += [(replace(step, count=1),) for step in steps if step not in unsampled]
    reached = [found for part in parts if (found := _closed(part, lower)) is not None]
    reached.append(one_event_delta(steps, lower, CLOSED_DIGITS))
    return any(reaches(found, delta * (1 - _CLOSED_ERROR)) for found in reached)


def _is_above(found: arb, delta: Fraction) -> bool:
    with arb_precision(128):
        return bool(found.lower() > arb_from_fraction(delta))


def _is_above_upper(found: arb, delta: Fraction) -> bool:
    """Whether the enclosure does not even confirm delta (1 + slack)."""
    with arb_precision(128):
        return not found.is_finite() or bool(found.upper() > arb_from_fraction(delta * (1 + 2 * CONTOUR_SLACK)))


def recheck_grid(steps: tuple[Step, ...], delta: Fraction, epsilon: Fraction) -> tuple[Grid, Fraction]:
    r"""Return a grid whose chords cost about half the slack, and that slack: the finest that is affordable.

    Chords shift epsilon by about theta T h^2/12, theta the slope of -log(delta). It and the reach are asked of the fast
    composition, for a guess only: every grid is sound. Beyond the window may lie a tenth of what the slack allows of
    delta: P[L > x + y] <= delta(x)/(1 - e^-y).
    """
    composed = compose(profile_steps(steps, "down"), target_delta=delta, resolution=COARSE)
    return _grid(composed, sum(step.count for step in steps), delta, epsilon)


def _grid(
    composed: ComposedProfile | AnnouncedProfile, T: int, delta: Fraction, epsilon: Fraction
) -> tuple[Grid, Fraction]:
    near = epsilon or composed.epsilon_upper(min(delta, composed.delta_upper(Fraction(0))) / 4)
    if not near > 0:
        raise CannotCertifyError("the losses are too small to re-derive the profile on a grid")
    drop = log_of(composed.delta_upper(near * Fraction(99, 100))) - log_of(composed.delta_upper(near))
    theta = max(100 * drop, 1.0)
    for slack in GRID_SLACKS:
        mantissa, exponent = math.frexp(float(near) * math.sqrt(6 * float(slack) / (theta * T)))
        spacing = Fraction(round(mantissa * 2**SPACING_BITS)) * Fraction(2) ** (exponent - SPACING_BITS)
        spare = delta * slack * Fraction(theta) / 10
        reach = min(composed.epsilon_upper(spare * min(y, Fraction(1)) / 2) + y for y in (near, Fraction(1)))
        window = (reach / spacing).__ceil__() + 1
        if window <= (MAX_WINDOW if slack == GRID_SLACKS[-1] else MODEST_WINDOW):
            bits = (1 / delta).__ceil__().bit_length() + T.bit_length() + window.bit_length() + 16
            return Grid(spacing, window, bits), slack
    raise CannotCertifyError(f"re-deriving the profile needs {window} points a side, above {MAX_WINDOW}")


def _show(value: Fraction) -> str:
    return f"{float(value):.10g}"
