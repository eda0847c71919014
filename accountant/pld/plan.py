r"""From steps to a composed lattice: pick tilt, truncation, window and spacing, then build.

The plan is made of guesses (`heuristics`); `convolution` certifies what comes of it. The spacing follows from the
tolerance: moving losses to lattice points adds a variance of about h^2/6 and a mean of h^2/12 a step, which shifts
epsilon by about (1 + theta) T h^2/12.
"""

from __future__ import annotations

import contextlib
import math
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from accountant.errors import CannotCertifyError, InvalidQuantityError
from accountant.pld.certified_fft import MAX_LENGTH
from accountant.pld.convolution import ComposedLattice, Window, compose_lattices
from accountant.pld.heuristics import (
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
from accountant.pld.lower_step import dominated_step
from accountant.pld.mixed_step import dominating_mixture
from accountant.pld.types import BinaryStep, ComposableStep, Frame, LatticeStep, MixedStep, Pair
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
    def alone(self) -> BinaryStep:
        """The one step, where there is one that is no mixture."""
        if len(self.steps) != 1 or not isinstance(self.steps[0], BinaryStep):
            raise CannotCertifyError(f"one step was expected, got {len(self.steps)}")
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
    if pair is Pair.DOMINATING:
        return dominating_step(step, frame, kappa)
    return dominated_step(step, pair, frame, kappa)


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
