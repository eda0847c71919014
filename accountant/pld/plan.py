r"""From steps to a composed lattice: pick tilt, truncation, window and spacing, then build.

The plan is made of guesses (`guesses`); `convolution` certifies what comes of it. The spacing follows from the
tolerance: moving losses to lattice points adds a variance of about h^2/6 and a mean of h^2/12 a step, which shifts
epsilon by about (1 + theta) T h^2/12.

From delta to epsilon on a composed lattice: guess the root, then certify a point beside it.

Only `certified_by_slope` matters for soundness: what it returns was checked with the proved bound.
"""

from __future__ import annotations

import contextlib
import math
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from accountant.errors import CannotCertifyError, InvalidQuantityError
from accountant.numbers import arb_from_fraction, arb_precision
from accountant.pld.certified_fft import MAX_LENGTH
from accountant.pld.convolution import ComposedLattice, Window, compose_lattices
from accountant.pld.guesses import (
    Sketch,
    expected_epsilon,
    log_moment,
    sketch,
    support,
    tail_tilts,
    tilt_for_delta,
    tilt_for_epsilon,
    tilted_deviation,
    truncation_point,
)
from accountant.pld.known_pairs import (
    dominated_laplace,
    dominated_responses,
    dominating_mixture,
    laplace_step,
    ordered_step,
    response_step,
)
from accountant.pld.lower_step import dominated_step
from accountant.pld.mixtures import dominated_mixtures, dominating_mixtures
from accountant.pld.types import (
    BinaryStep,
    ComposableStep,
    Frame,
    LaplaceLosses,
    LatticeStep,
    MixedStep,
    Mixtures,
    Pair,
    ResponseLosses,
)
from accountant.pld.upper_step import dominating_step

LOG_TAIL: Final = math.log(1e-11)
LOG_TRUNCATION: Final = math.log(1e-9)
FEWEST_POINTS: Final = 1 << 10
MOST_POINTS: Final = 1 << 20
CHEAP_POINTS: Final = 1 << 14
"""If a window of this size holds every possible loss, it is taken: nothing wraps around then."""
BLUNT_TRUNCATIONS: Final = (math.log(1 / 5), math.log(1 / 50))
MILD_TRUNCATION: Final = math.log(1e-4)
LEAST_SPACING: Final = 1e-200
LEAST_LOG_DELTA: Final = -5000.0
"""Below this, delta(epsilon) is bounded by about e^-5000 and not looked at more closely."""
_MOST_GUESSES: Final = 30
_SPACING_BITS: Final = 30
"""Few bits make j*h exact in float64 for every lattice number j below 2^23."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """How fine: the relative width in epsilon to aim at, and the largest lattice to use for it."""

    tolerance: float = 1e-4
    most_points: int = MOST_POINTS

    def __post_init__(self) -> None:
        """Refuse a tolerance or a size that no lattice has."""
        if not 0 < self.tolerance < 1:
            raise InvalidQuantityError(f"tolerance must be in (0, 1), got tolerance={self.tolerance}")
        if not FEWEST_POINTS <= self.most_points <= MAX_LENGTH or self.most_points & (self.most_points - 1):
            raise InvalidQuantityError(
                f"most_points must be a power of two in [{FEWEST_POINTS}, {MAX_LENGTH}], got {self.most_points}"
            )


@dataclass(frozen=True, slots=True)
class CompositionPlan:
    """Everything a composed lattice is built from; `epsilon` and `log_delta` say what the tilt was chosen for.

    `epsilon` is Chernoff's bound, `expected` an approximation of what will be found there; `wanted` is the spacing
    that the tolerance asks for, which the largest lattice may not reach.
    """

    pair: Pair
    steps: tuple[ComposableStep, ...]
    frame: Frame
    kappas: tuple[float, ...]
    epsilon: float
    log_delta: float
    expected: float
    wanted: float
    low: float
    length: int
    below: float
    above: float

    @property
    def led(self) -> BinaryStep:
        """The steps on batches that an adversary is planned for: the first ones."""
        if not isinstance(self.steps[0], BinaryStep):
            raise CannotCertifyError("the exact adversary needs steps on fixed-size batches")
        return self.steps[0]


@dataclass(frozen=True, slots=True)
class _Aim:
    """The tilt, and the point of the privacy curve it is the best for."""

    z_top: float
    theta: float
    epsilon: float
    log_delta: float


def plan_for_delta(
    steps: Sequence[ComposableStep],
    pair: Pair,
    log_delta: float,
    resolution: Resolution,
    *,
    log_truncation: float = LOG_TRUNCATION,
) -> CompositionPlan:
    """Plan a lattice that is sharp where delta(epsilon) is about e^log_delta.

    `log_truncation` says which part of delta may be spent on calling the largest losses infinite. Where rare, large
    losses decide, no tilt suits them and the bulk at once, and `MILD_TRUNCATION` or `BLUNT_TRUNCATIONS` do better.
    """
    z_top = truncation_point(steps, log_delta + log_truncation)
    sketches = [sketch(step, pair, z_top) for step in steps]
    theta, epsilon = tilt_for_delta(sketches, log_delta)
    if epsilon <= 0:
        theta, _ = tilt_for_epsilon(sketches, 0.0)
    aim = _Aim(z_top, theta, max(epsilon, 0.0), log_delta)
    return _plan(steps, pair, sketches, aim, resolution)


def chernoff_epsilon(steps: Sequence[ComposableStep], pair: Pair, log_delta: float) -> float:
    """Return about Chernoff's bound for epsilon at e^log_delta: what no lattice of the pair can exceed."""
    z_top = truncation_point(steps, log_delta + LOG_TRUNCATION)
    return tilt_for_delta([sketch(step, pair, z_top) for step in steps], log_delta)[1]


def plan_for_epsilon(
    steps: Sequence[ComposableStep], pair: Pair, epsilon: float, resolution: Resolution
) -> CompositionPlan:
    """Plan a lattice that is sharp near epsilon."""
    log_delta = -20.0
    for _ in range(_MOST_GUESSES):
        z_top = truncation_point(steps, log_delta + LOG_TRUNCATION)
        sketches = [sketch(step, pair, z_top) for step in steps]
        if pair is Pair.MIXTURE_SECOND and support(sketches)[1] <= epsilon:
            raise CannotCertifyError(f"the losses of this pair stay below epsilon={epsilon}: its delta is 0 there")
        theta, found = tilt_for_epsilon(sketches, epsilon)
        if found >= log_delta:
            return _plan(steps, pair, sketches, _Aim(z_top, theta, epsilon, found), resolution)
        log_delta = 1.5 * found
        if log_delta < LEAST_LOG_DELTA:
            break
    return plan_for_delta(steps, pair, LEAST_LOG_DELTA, resolution)


def build(plan: CompositionPlan) -> ComposedLattice:
    """Return the certified composition for the plan: dominating for the dominating pair, dominated for the others."""
    with within_float64():
        # The steps of the smallest losses first: where they are too small for the lattice, nothing else has been built.
        order = sorted(range(len(plan.steps)), key=lambda i: _size(plan.steps[i]))
        built = {i: lattice_step(plan.pair, plan.steps[i], plan.frame, plan.kappas[i]) for i in order}
        lattices = [built[i] for i in range(len(plan.steps))]
        window = Reach(plan.low, plan.length, plan.below, plan.above)
        return composed(lattices, plan.frame.theta, plan.frame.spacing, window)


@contextlib.contextmanager
def within_float64() -> Iterator[None]:
    """Turn overflow in the body into a refusal; whoever keeps a refusal does not keep the arrays it was found with."""
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            yield
    except (OverflowError, FloatingPointError) as error:
        traceback.clear_frames(error.__traceback__)
        raise CannotCertifyError(f"the composition left the range of float64: {error}") from error
    except CannotCertifyError as refusal:
        traceback.clear_frames(refusal.__traceback__)
        raise


def lattice_step(pair: Pair, step: ComposableStep, frame: Frame, kappa: float) -> LatticeStep:
    """Return one step on the lattice, rounded to the side of the pair's end."""
    if isinstance(step, MixedStep):
        return dominating_mixture(step, pair, frame, kappa)
    if isinstance(step, Mixtures):
        return (dominating_mixtures if pair is Pair.DOMINATING else dominated_mixtures)(step, frame, kappa)
    if isinstance(step, ResponseLosses | LaplaceLosses):
        return _pure_step(pair, step, frame, kappa)
    if pair is Pair.DOMINATING:
        known = step.order is not Pair.DOMINATING
        return ordered_step(step, frame, kappa) if known else dominating_step(step, frame, kappa)
    return dominated_step(step, pair, frame, kappa)


def _pure_step(pair: Pair, step: ResponseLosses | LaplaceLosses, frame: Frame, kappa: float) -> LatticeStep:
    if isinstance(step, LaplaceLosses):
        return (laplace_step if pair is Pair.DOMINATING else dominated_laplace)(step, frame, kappa)
    return (response_step if pair is Pair.DOMINATING else dominated_responses)(step, frame, kappa)


@dataclass(frozen=True, slots=True)
class Reach:
    """A window by its lowest loss, not yet placed on a lattice."""

    low: float
    length: int
    below: float
    above: float


def composed(lattices: Sequence[LatticeStep], theta: float, spacing: float, reach: Reach) -> ComposedLattice:
    """Compose the steps in the window, or in one of its length that holds every loss where there is one."""
    offset = sum(float(lattice.count * lattice.offset) for lattice in lattices)
    first = math.floor((reach.low - offset) / spacing)
    lowest = sum(lattice.count * lattice.first for lattice in lattices)
    if 1 + sum(lattice.count * (lattice.masses.size - 1) for lattice in lattices) <= reach.length:
        first = lowest
    return compose_lattices(lattices, theta, spacing, Window(first, reach.length, reach.below, reach.above))


def _size(step: ComposableStep) -> float:
    """Return about the least loss that must be told from 0."""
    if isinstance(step, BinaryStep):
        return step.q * step.mu
    if isinstance(step, ResponseLosses | LaplaceLosses):
        return step.epsilon
    if isinstance(step, Mixtures):
        return max(weight * shift for weight, shift in (*step.first, *step.second))
    return min(_size(part) for _, part in step.parts)


def _plan(
    steps: Sequence[ComposableStep], pair: Pair, sketches: Sequence[Sketch], aim: _Aim, resolution: Resolution
) -> CompositionPlan:
    deviation = tilted_deviation(sketches, aim.theta)
    if not deviation > 0:
        raise CannotCertifyError(f"no window for the composition: nothing is left after tilting by {aim.theta}")
    low, high, below, above = tail_tilts(sketches, aim.theta, LOG_TAIL)
    wanted = _wanted_spacing(steps, aim, resolution)
    bottom, top = support(sketches)
    if top - bottom <= wanted * min(CHEAP_POINTS, resolution.most_points):
        low, high = bottom - 0.02 * (top - bottom), top + 0.02 * (top - bottom)
    kappas = tuple(float(log_moment([s], np.array([aim.theta]))[0]) / s.count for s in sketches)
    spacing, length = _lattice_size(high - low, wanted, resolution)
    frame = Frame(spacing, aim.z_top, aim.theta)
    return CompositionPlan(
        pair=pair,
        steps=tuple(steps),
        frame=frame,
        kappas=kappas,
        epsilon=aim.epsilon,
        log_delta=aim.log_delta,
        expected=expected_epsilon(aim.epsilon, aim.theta, deviation),
        wanted=wanted,
        low=low,
        length=length,
        below=below,
        above=above,
    )


def _wanted_spacing(steps: Sequence[ComposableStep], aim: _Aim, resolution: Resolution) -> float:
    number = sum(step.count for step in steps)
    return math.sqrt(12 * resolution.tolerance * max(aim.epsilon, 1 / aim.theta) / ((1 + aim.theta) * number))


def _lattice_size(width: float, wanted: float, resolution: Resolution) -> tuple[float, int]:
    if not (math.isfinite(width) and width > 0):
        raise CannotCertifyError(f"no window for the composition: its width is {width}")
    points = min(max(FEWEST_POINTS, width / wanted), resolution.most_points)
    length = 1 << math.ceil(math.log2(points))
    mantissa, exponent = math.frexp(width / (length - 2))
    spacing = math.ldexp(math.ceil(mantissa * 2**_SPACING_BITS), exponent - _SPACING_BITS)
    if not spacing > LEAST_SPACING:
        raise CannotCertifyError(f"the losses are too small for float64: lattice spacing {spacing}")
    return spacing, length


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


def certified_by_slope(guess: float, scale: float, miss: Callable[[Fraction], float], *, upwards: bool) -> Fraction:
    r"""Return an epsilon near the guess, on the stated side, at which `miss` was at most 0; 0 for a lower end in need.

    `miss` is the logarithm of the factor by which the proved delta misses the target, at most 0 only where it does not.
    It falls by about 1/scale for each unit of epsilon, so that a miss says how far to go: two or three looks in place
    of ten. Where it falls faster, the last two looks are joined by a chord. Candidates are decimals of nine digits: a
    guess that differs in the tenth, from machine to machine or from start to start, leads to the same answer.
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
