r"""From delta to epsilon on a composed lattice: guess the root, then certify a point beside it.

Only `certified_near` matters for soundness: what it returns was checked with the proved bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from accountant.errors import CannotCertifyError, InvalidQuantityError
from accountant.numbers import arb_from_fraction, arb_precision
from accountant.pld.convolution import ComposedLattice
from accountant.pld.plan import CompositionPlan, Resolution

_MOST_SECANTS: Final = 100
_MOST_MARGINS: Final = 40
_PROBE: Final = 0.02
_GUESS_DIGITS: Final = 9
_TILT_SUITS_FROM: Final = 10.0
"""theta epsilon from which on the tilt is about the slope: no time is spent on looking."""
_SURPLUS: Final = 1.05
_WORTHWHILE: Final = Fraction(1, 10**5)
_WORTHWHILE_MISS: Final = 0.2
_MOST_CHORDS: Final = 10
"""How much further than the slope says to go; which part of epsilon, and of a miss, is worth another look."""
_LEAST_EXCESS: Final = 1e-300
_MOST_REFINED: Final = 1 << 18
_LEAST_TOLERANCE: Final = 1e-15


def epsilon_guess(lattice: ComposedLattice, start: float, delta: Fraction) -> float:
    """Return about the epsilon with delta(epsilon) = delta: secants from the right, where the lattice is sharp."""
    goal, theta = log_of(delta), lattice.theta

    def excess(epsilon: float) -> float:
        return lattice.log_estimate(Fraction(epsilon)) - goal

    left, right = -math.inf, start
    value = excess(right)
    while value > 0:
        left, right = right, right + 2 * (value + 1) / theta
        value = excess(right)
    point, slope = right, -theta
    for _ in range(_MOST_SECANTS):
        following = _next_point(point, value / slope, left, right, 1 / theta)
        following_value = excess(following)
        if abs(following - point) <= 1e-10 * right or abs(following_value) < 1e-9:
            return following
        if math.isfinite(value) and math.isfinite(following_value):
            secant = (following_value - value) / (following - point)
            slope = secant if secant < 0 else -theta
        left, right = (following, right) if following_value > 0 else (left, following)
        point, value = following, following_value
    return point


def _next_point(point: float, move: float, left: float, right: float, unit: float) -> float:
    following = max(point - move, 0.0) if math.isfinite(move) else math.nan
    if left < following < right:
        return following
    return (left + right) / 2 if math.isfinite(left) else max(right - unit, 0.0)


def finer_resolution(
    plan: CompositionPlan, lattice: ComposedLattice, epsilon: float, asked: Resolution
) -> Resolution | None:
    r"""Return a resolution that suits the answer where the plan's does not; None where it does.

    A plan takes the slope of log(delta) to be its tilt. Where rare, large losses keep the tilt small, the slope at the
    answer is steeper, and h^2 = 12 tolerance epsilon/(slope T) asks for more points.
    """
    if not 0 < epsilon * plan.frame.theta < _TILT_SUITS_FROM:
        return None
    drop = lattice.log_estimate(Fraction(epsilon * (1 - _PROBE))) - lattice.log_estimate(Fraction(epsilon))
    slope = drop / (_PROBE * epsilon) if math.isfinite(drop) else 0.0
    number = sum(step.count for step in plan.steps)
    wanted = math.sqrt(12 * asked.tolerance * epsilon / (max(slope, 1 / epsilon) * number))
    if plan.frame.spacing <= 2 * wanted or plan.length >= _MOST_REFINED:
        return None
    tolerance = asked.tolerance * (wanted / plan.frame.spacing) ** 2
    return Resolution(tolerance=max(tolerance, _LEAST_TOLERANCE), most_points=min(asked.most_points, _MOST_REFINED))


def certified_near(guess: float, scale: float, holds: Callable[[Fraction], bool], *, upwards: bool) -> Fraction:
    """Return an epsilon near the guess, on the stated side, at which `holds` was checked; 0 for a lower end in need.

    Candidates are decimals of nine digits: a guess that differs in the tenth, from machine to machine or from start to
    start, leads to the same answer.
    """
    sign = 1 if upwards else -1
    unit = Fraction(10) ** (math.floor(math.log10(max(abs(guess), scale))) - _GUESS_DIGITS + 1)
    nearest = Fraction(guess) / unit
    start = (math.ceil(nearest) if upwards else math.floor(nearest)) * unit
    failed, margin = start, unit
    for _ in range(_MOST_MARGINS):
        candidate = start + sign * margin
        if candidate <= 0 and not upwards:
            return Fraction(0)
        if holds(candidate):
            return candidate if margin == unit else _narrowed(failed, candidate, holds)
        failed, margin = candidate, margin * 4
    raise CannotCertifyError(f"no epsilon near {guess} could be certified: use more points")


def certified_by_slope(guess: float, scale: float, miss: Callable[[Fraction], float], *, upwards: bool) -> Fraction:
    r"""Return an epsilon near the guess, on the stated side, at which `miss` was at most 0; 0 for a lower end in need.

    `miss` is the logarithm of the factor by which the proved delta misses the target, at most 0 only where it does not.
    It falls by about 1/scale for each unit of epsilon, so that a miss says how far to go: two or three looks in place
    of ten. Where it falls faster, the last two looks are joined by a chord. Candidates are decimals, as above.
    """
    sign = 1 if upwards else -1
    unit = Fraction(10) ** (math.floor(math.log10(max(abs(guess), scale))) - _GUESS_DIGITS + 1)
    nearest = Fraction(guess) / unit
    start = (math.ceil(nearest) if upwards else math.floor(nearest)) * unit
    failed: tuple[Fraction, float] | None = None
    margin = unit
    for _ in range(_MOST_MARGINS):
        candidate = start + sign * margin
        if candidate <= 0 and not upwards:
            return Fraction(0)
        missed = miss(candidate)
        if missed <= 0:
            return candidate if failed is None else _on_the_chord(failed, (candidate, missed), unit, miss)
        failed = candidate, missed
        further = _whole_units(_SURPLUS * missed * scale, unit)
        margin = max(4 * margin, margin + further) if math.isfinite(missed) else 16 * margin
    raise CannotCertifyError(f"no epsilon near {guess} could be certified: use more points")


def _on_the_chord(
    failed: tuple[Fraction, float], good: tuple[Fraction, float], unit: Fraction, miss: Callable[[Fraction], float]
) -> Fraction:
    """Return a good point near a failed one: chords and halves while the way between them is worth another look."""
    for turn in range(_MOST_CHORDS):
        (bad, missed), (found, spared) = failed, good
        way = abs(found - bad)
        if way <= _WORTHWHILE * found or (-spared <= _WORTHWHILE_MISS * missed and way <= 100 * _WORTHWHILE * found):
            break
        straight = turn % 2 == 0 and math.isfinite(missed) and math.isfinite(spared)
        chord = _SURPLUS * missed / (missed - spared) if straight else 0.5
        nearer = bad + _whole_units(min(max(chord, 0.1), 0.9) * float(way), unit) * (1 if found > bad else -1)
        if not abs(nearer - bad) < way:
            break
        at_nearer = miss(nearer)
        if at_nearer <= 0:
            good = nearer, at_nearer
        else:
            failed = nearer, at_nearer
    return good[0]


def _whole_units(way: float, unit: Fraction) -> Fraction:
    """Return the way, rounded up to two digits and to whole units; one unit where it is not finite."""
    if not math.isfinite(way):
        return unit
    units = math.ceil(Fraction(way) / unit)
    step = 10 ** max(len(str(units)) - 2, 0)
    return Fraction(-(-units // step) * step) * unit


def _narrowed(failed: Fraction, good: Fraction, holds: Callable[[Fraction], bool]) -> Fraction:
    for _ in range(4):
        middle = (failed + good) / 2
        failed, good = (failed, middle) if holds(middle) else (middle, good)
    return good


def log_excess(larger: Fraction, smaller: Fraction) -> float:
    """Return about log(larger/smaller), positive exactly where `larger` is the larger one; `smaller` may be 0."""
    if larger <= smaller:
        return -log_of(smaller / larger) if larger else -math.inf
    return max(log_of(larger / smaller), _LEAST_EXCESS) if smaller else math.inf


def log_of(value: Fraction) -> float:
    """Return about log(value), whatever its size."""
    with arb_precision(64):
        return float(arb_from_fraction(value).log())


def checked_delta(delta: Fraction) -> Fraction:
    """Return a delta strictly between 0 and 1, or refuse it."""
    if not isinstance(delta, Fraction):
        raise InvalidQuantityError(f"delta must be a Fraction, got delta={delta!r} ({type(delta).__name__})")
    if not 0 < delta < 1:
        raise InvalidQuantityError(f"delta must be in (0, 1), got delta={delta}")
    return delta


def checked_epsilon(epsilon: Fraction) -> Fraction:
    """Return an epsilon >= 0, or refuse it."""
    if not isinstance(epsilon, Fraction):
        raise InvalidQuantityError(f"epsilon must be a Fraction, got epsilon={epsilon!r} ({type(epsilon).__name__})")
    if epsilon < 0:
        raise InvalidQuantityError(f"epsilon must be >= 0, got epsilon={epsilon}")
    return epsilon


def lattice_epsilon(plan: CompositionPlan, lattice: ComposedLattice, delta: Fraction) -> Fraction:
    """Return about the least epsilon that the dominating lattice certifies for delta."""
    if lattice.delta_upper(Fraction(0)) <= delta:
        return Fraction(0)
    guess, scale = epsilon_guess(lattice, plan.epsilon, delta), 1 / plan.frame.theta
    return certified_by_slope(guess, scale, lambda at: log_excess(lattice.delta_upper(at), delta), upwards=True)


def dominated_epsilon(plan: CompositionPlan, lattice: ComposedLattice, delta: Fraction) -> Fraction:
    """Return about the largest epsilon at which the dominated lattice still reaches delta."""
    guess, scale = epsilon_guess(lattice, plan.epsilon, delta), 1 / plan.frame.theta
    return certified_by_slope(guess, scale, lambda at: log_excess(delta, lattice.delta_lower(at)), upwards=False)
