r"""The state of the recursion after k steps, and the windows of its compositions.

Where a block's composition lies, and what of a state may be called infinite. Guesses: `convolution` certifies.

The window is chosen by Chernoff's bound on the very masses that are composed: for further tilts a of both signs,
P[index >= n] <= e^{-a n h} prod (sum masses e^{a x})^count, and the n with the smallest reach is taken.

Functions that bound the adversary after k steps: symmetric, unimodal masses on a lattice, and what comes of them.

Binary floats live here, under a bound. A bound on H_y after k steps is kept as f(y) = c + sum_{j>0} w_j (1 - y/y_j)_+
for y = e^x >= 1, y_j = e^{jh}; below y = 1 it is continued by the mirror symmetry of replace-one,
f(y) = 1 - y + y f(1/y). As a measure the continuation has w_{-j} = w_j e^{-x_j} and, at 0, the jump of the slope,
w_0 = 1 - c - sum_{j>0} w_j (1 + e^{-x_j}); where rounding made that negative, 0 is larger.

Every change made here only adds mass or spreads it (P-mass and Q-mass kept, or P-mass added), so the function grows:
1. `m_j = w_j e^{-x_j/2}` is made nonincreasing in j >= 0 (`unimodal`): the function is then a mixture of windows;
2. an atom is spread over its cell [x_j - h/2, x_j + h/2] with m proportional to e^{l x}, l the rise (0 for single
   steps), Q-mass kept; the P-mass is kept or grows, by sinhc((l+1/2)h/2) / sinhc((l-1/2)h/2) >= 1. The spread measure
   is put back on the lattice by connect-the-dots: a part moves one point up, a part one point down, P-mass and Q-mass
   kept (`spreading_step`). If the m_j e^{-l x_j} are nonincreasing in j, so is m e^{-l x} of the spread measure.

A step of the leader loses a mass of at most its `infinite` times f(0) to infinite losses; f(0) is 1 for a profile, but
more once masses were raised.

Masses are stored tilted: w_j = e^{log_scale} e^{-theta x_j} masses[j]. Errors of the transform are absolute in the
stored masses, and are added to each of them.

The least sequence above another one that falls by at most a given factor from each point to the next.

Binary floats live here, under a bound. P_j = max(V_j, P_{j-1} e^{-r}) is computed in rows on which e^{r j} stays within
float64, as a running maximum of V_j e^{r j}; what a row ends with is carried into the next. Within a row an exponential
is off by at most 1e-13 of itself, so r is taken smaller by 1e-12: the result then falls by at most e^{-r} truly.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision
from accountant.pld.certified_fft import MAX_LENGTH
from accountant.pld.certified_floats import (
    HIGHEST_ARGUMENT,
    SCALAR_BITS,
    UNIT_ROUNDOFF,
    Floats,
    exp,
    float_above,
    normalised,
)
from accountant.pld.convolution import ComposedLattice, Window
from accountant.pld.types import LatticeStep

_SPAN: Final = 300.0
_HULL_MARGIN: Final = 1e-12
_LEAST_HULL: Final = 1e-290
"""Smaller values are raised to this, so that nothing underflows."""


def falling_hull(values: Floats, rate: float) -> Floats:
    """Return P >= V with P_j >= P_{j-1} e^{-rate} in exact arithmetic; the least such but for a factor near 1."""
    if not 0 <= rate <= _SPAN:
        raise CannotCertifyError(f"the lattice is too coarse for masses that fall by e^-{rate:.3g} a point")
    used = max(rate - _HULL_MARGIN, 0.0)
    width = min(values.size, math.floor(_SPAN / used) if used * values.size > _SPAN else values.size)
    rows = np.full((-(-values.size // width), width), _LEAST_HULL)
    rows.reshape(-1)[: values.size] = np.maximum(values, _LEAST_HULL)
    growth = exp(used * np.arange(width, dtype=np.float64))
    step = math.exp(-used) * (1 + _HULL_MARGIN)
    highest = np.maximum.accumulate(rows * growth, axis=1)
    result, carried = np.empty_like(rows), 0.0
    for i, row in enumerate(highest):
        result[i] = np.maximum(row, carried * step) / growth
        carried = float(result[i, -1])
    flat: Floats = result.reshape(-1)[: values.size]
    return np.maximum(flat * (1 + _HULL_MARGIN), values)


_LOG_TAIL: Final = math.log(1e-12)
_TILTS: Final = 24
_ROUNDS: Final = 2
_HIGHEST_ARGUMENT: Final = 600.0
_FINE_BINS: Final = 512
_COARSER: Final = 1.01
"""Each further bin is wider than the one before it by this factor: 2,000 bins reach 10^9 points."""
_LEAST_MASS: Final = 1e-290
FEWEST_POINTS: Final = 1 << 10


def window_for(steps: Sequence[LatticeStep], spacing: float, log_spill: float) -> Window:
    """Return a window beyond which the composed masses are about 1e-12 on either side; loss 0 lies inside.

    What lies above counts as infinite, so as a true mass it should not exceed e^log_spill.
    """
    scale = sum(step.count * float(step.log_scale.mid()) for step in steps)
    above, high = _reach(steps, spacing, 1.0, min(_LOG_TAIL, log_spill - scale))
    below, low = _reach(steps, spacing, -1.0, _LOG_TAIL)
    first = min(math.floor(-low / spacing) - 1, -1)
    points = math.ceil(high / spacing) + 2 - first
    length = max(FEWEST_POINTS, 1 << math.ceil(math.log2(max(points, 2))))
    if length > MAX_LENGTH:
        raise CannotCertifyError(f"a block of the adversary's recursion needs {length} points, more than {MAX_LENGTH}")
    return Window(first, length, below, above)


def _reach(steps: Sequence[LatticeStep], spacing: float, sign: float, log_tail: float) -> tuple[float, float]:
    """Return a further tilt and the distance from loss 0 at which Chernoff's bound with it is small."""
    widest = max(max(abs(step.first), step.masses.size + step.first) for step in steps) * spacing
    coarse = [_gathered(step, spacing) for step in steps]
    high = math.log(_HIGHEST_ARGUMENT / widest)
    low = high - math.log(1e6)
    best = (math.exp(low), math.inf)
    for _ in range(_ROUNDS):
        grid = np.linspace(low, high, _TILTS)
        found = [(math.exp(a), _distance(coarse, sign, math.exp(a)) - log_tail / math.exp(a)) for a in grid]
        best = min([best, *found], key=lambda entry: entry[1])
        width = (high - low) / (_TILTS - 1)
        low, high = math.log(best[0]) - width, min(math.log(best[0]) + width, high)
    return best


def _gathered(step: LatticeStep, spacing: float) -> tuple[int, Floats, Floats]:
    """Return count, losses and masses of a step, gathered into bins that are fine about its largest mass.

    A step is taken up to 10^6 times: the moments of its bulk must be right, even where rare losses make it wide.
    """
    size = step.masses.size
    centre = int(np.argmax(step.masses))
    starts = np.unique(np.concatenate([[0], np.clip(centre + _bin_starts(size), 0, size - 1)]))
    x = spacing * np.arange(step.first, step.first + size, dtype=np.float64)
    masses = np.add.reduceat(step.masses, starts)
    means = np.add.reduceat(step.masses * x, starts) / np.maximum(masses, _LEAST_MASS)
    return step.count, np.where(masses > _LEAST_MASS, means, x[starts]), masses


@functools.lru_cache(maxsize=32)
def _bin_starts(size: int) -> NDArray[np.int64]:
    """Return the starts of the bins relatively to the centre, on both sides: every point, then ever fewer."""
    reach, width, starts = _FINE_BINS, 1.0, list(range(_FINE_BINS + 1))
    while reach < size:
        width *= _COARSER
        reach += math.ceil(width)
        starts.append(reach)
    right = np.array(starts, dtype=np.int64)
    return np.concatenate([-right[:0:-1], right])


def _distance(steps: Sequence[tuple[int, Floats, Floats]], sign: float, tilt: float) -> float:
    exponent = 0.0
    for count, x, masses in steps:
        moment = float((masses * np.exp(sign * tilt * x)).sum())
        exponent += count * math.log(moment) if 0 < moment < math.inf else math.inf
    return exponent / tilt


def trimmed(state: BoundState, log_share: float) -> BoundState:
    """Return the state without its highest masses, at most about e^log_share together, which count as infinite."""
    x = state.spacing * np.arange(1, state.masses.size + 1)
    true = state.masses * np.exp(np.maximum(float(state.log_scale.mid()) - state.theta * x, -700.0))
    tail = np.cumsum(true[::-1])[::-1]
    beyond = np.nonzero(tail <= math.exp(max(log_share, -690.0)))[0]
    return cut(state, max(int(beyond[0]), 1)) if beyond.size else state


_MARGIN: Final = 1e-12
"""Covers the errors of exp, of products and of arguments below 700 (700 u times 4)."""
_LEAST_STORED: Final = 1e-295
_LOWEST_EXPONENT: Final = -650.0
_SUM_MARGIN: Final = 1e-9
_LEFT_REACH: Final = 45.0


@dataclass(frozen=True, slots=True)
class BoundState:
    """f after `steps` steps: tilted masses at x_j = (j+1) h, j = 0, 1, ...; `infinite` is at least c."""

    steps: int
    spacing: float
    theta: float
    masses: Floats
    log_scale: arb
    infinite: arb
    level: float | None = None
    """The stored mass at 0 where it was fixed by `flattened`; otherwise the jump of the slope decides."""


def first_state(spacing: float, theta: float) -> BoundState:
    """Return f = (1-y)_+: nothing above loss 0."""
    return BoundState(0, spacing, theta, np.zeros(1), arb(0), arb(0))


def state_after(composed: ComposedLattice, steps: int) -> BoundState:
    """Return the state read off a composition: its masses at x > 0, errors added, what left the window infinite."""
    start = 1 - composed.first
    if not 0 <= start < composed.weights.size:
        raise CannotCertifyError("the window of a block does not hold loss 0")
    error = float_above(composed.error)
    masses = np.maximum(composed.weights[start:], 0.0) + error
    masses *= 1 + 1e-15
    with arb_precision(SCALAR_BITS):
        top = arb(composed.spacing) * (composed.first + composed.weights.size)
        beyond = composed.outside * (composed.log_scale - arb(composed.theta) * top).exp()
        infinite = arb((composed.infinite + beyond).upper())
    return BoundState(steps, composed.spacing, composed.theta, masses, composed.log_scale, infinite)


def cut(state: BoundState, kept: int) -> BoundState:
    """Keep the lowest masses and count the others as infinite."""
    x_first = state.spacing * (kept + 1)
    rest = float(state.masses[kept:].sum()) * (1 + _SUM_MARGIN)
    with arb_precision(SCALAR_BITS):
        beyond = arb(rest) * (state.log_scale - arb(state.theta) * arb(x_first)).exp()
        infinite = arb((state.infinite + beyond).upper())
    masses = state.masses[:kept]
    return BoundState(state.steps, state.spacing, state.theta, masses, state.log_scale, infinite)


def _rate(state: BoundState) -> float:
    """Return what m falls by relatively to the stored masses, for a point: (theta + 1/2) h."""
    return (state.theta + 0.5) * state.spacing


@functools.lru_cache(maxsize=8)
def _decay(size: int, rate: float) -> Floats:
    """Return e^{-rate j}, j = 1, 2, ..., 0 where that is below e^-650."""
    exponent = -rate * np.arange(1, size + 1, dtype=np.float64)
    return np.where(exponent < _LOWEST_EXPONENT, 0.0, exp(np.maximum(exponent, _LOWEST_EXPONENT)))


def _total(state: BoundState) -> float:
    """Return about sum w_j (1 + e^{-x_j}), stored: within `_SUM_MARGIN`, but for terms below e^-650 of a mass."""
    size, h = state.masses.size, state.spacing
    slope = _decay(size, state.theta * h) + _decay(size, (1 + state.theta) * h)
    return float((state.masses * slope).sum())


def unimodal(state: BoundState) -> BoundState:
    """Return the state with m_j nonincreasing in j >= 0, by raising masses: m falls by e^-rate against them."""
    return replace(state, masses=falling_hull(state.masses[::-1], _rate(state))[::-1].copy())


def _middle(state: BoundState) -> float:
    """Return the mass at 0: the jump of the slope, or the neighbour's mass if that is more; rounded up."""
    if state.level is not None:
        return max(state.level, _neighbour(state)) * (1 + _MARGIN)
    return max(_jump(state), _neighbour(state))


def _jump(state: BoundState) -> float:
    total = _total(state)
    with arb_precision(SCALAR_BITS):
        return max(float_above((-state.log_scale).exp() - arb(total) * arb(1 - _SUM_MARGIN)), 0.0)


def _neighbour(state: BoundState) -> float:
    """Return the mass at 0 for which m_0 = m_1."""
    with arb_precision(SCALAR_BITS):
        step = (-(arb(state.theta) + 0.5) * arb(state.spacing)).exp()
        return float_above(arb(float(state.masses[0])) * step * (1 + arb(_MARGIN)))


def flattened(state: BoundState) -> BoundState:
    r"""Return the state with what the jump at 0 exceeds its neighbour by spread over a window |x| <= n h.

    m is constant on the window, so P-mass and Q-mass stay. n is about half the width of the composed loss, 1/(2 w_1):
    then the level rises little, and so does the variance.
    """
    excess, level = _jump(state) - _neighbour(state), _neighbour(state)
    true_level = level * math.exp(float(state.log_scale.mid()))
    if not excess > 0 or not true_level > 0:
        return state
    n = max(1, min(math.ceil(0.5 / true_level), state.masses.size - 1))
    if _rate(state) * n > HIGHEST_ARGUMENT - 10:
        return state
    growth = exp(_rate(state) * np.arange(1, n + 1, dtype=np.float64))
    with arb_precision(SCALAR_BITS):
        h = arb(state.spacing)
        window = (h * (2 * n + 1) / 4).sinh() / (h / 4).sinh()
        each = float_above(arb(excess) / window)
    masses = state.masses.copy()
    masses[:n] += each * growth * (1 + _MARGIN)
    return replace(state, masses=masses * (1 + 4 * UNIT_ROUNDOFF), level=level + each)


def symmetric_step(state: BoundState, reach: int) -> LatticeStep:
    """Return the symmetric continuation as a lattice measure, down to -reach: lower masses cannot come above 0."""
    return _as_step(state, np.concatenate([_mirrored(state, reach)[::-1], [_middle(state)], state.masses]))


def _mirrored(state: BoundState, reach: int) -> Floats:
    """Return the stored masses at -x_j for those at x_j, rounded up; what underflows is covered by `_LEAST_MASS`."""
    n = min(reach, state.masses.size)
    left: Floats = state.masses[:n] * _decay(n, 2 * _rate(state)) * (1 + _MARGIN)
    return left


def extended_step(state: BoundState, rise: float) -> LatticeStep:
    r"""Return the least continuation to the left whose m e^{-rise x} is nonincreasing, the symmetric one below it.

    m itself is nonincreasing to the left, so that what lies beyond the last point, where the tilt leaves nothing, is at
    most what a constant m would have there; it moves up to the last point.
    """
    n = math.ceil(_LEFT_REACH / _rate(state))
    mirrored = np.zeros(n + 1)
    mirrored[0] = _middle(state)
    known = _mirrored(state, n)
    mirrored[1 : known.size + 1] = known
    left = falling_hull(mirrored, _rate(state) + rise * state.spacing)
    with arb_precision(SCALAR_BITS):
        left[-1] = float_above(arb(float(left[-1])) / -(-arb(state.spacing) / 2).expm1())
    return _as_step(state, np.concatenate([left[::-1], state.masses]))


def symmetric_mass(state: BoundState) -> arb:
    """Return an upper bound of f(0) for the symmetric continuation: what may be lost to infinity in a step."""
    return _true_mass(state, _middle(state))


def _true_mass(state: BoundState, left: float) -> arb:
    """Return an upper bound of the true mass: that above 0 with its mirror image, `left` (stored), and infinity."""
    stored = _total(state) + left + float(state.masses.sum()) * math.exp(_LOWEST_EXPONENT + 2)
    with arb_precision(SCALAR_BITS):
        total = arb(stored) * (1 + 3 * arb(_SUM_MARGIN)) * state.log_scale.exp() + state.infinite
        return arb(total.upper()).max(arb(1))


def _as_step(state: BoundState, masses: Floats) -> LatticeStep:
    """Return masses that end with the state's as a lattice measure."""
    scaled, log_factor = normalised(np.maximum(masses, _LEAST_STORED), 0.0, upwards=True)
    first = state.masses.size + 1 - masses.size
    with arb_precision(SCALAR_BITS):
        return LatticeStep(1, 0.0, first, scaled, state.log_scale + log_factor, 0.0, state.infinite)


def spreading_step(spacing: float, theta: float, rise: float) -> LatticeStep:
    """Return the three masses that spread an atom over its cell with m = e^{rise x}, tilted; see the header."""
    with arb_precision(SCALAR_BITS):
        h, t = arb(spacing), arb(theta)
        ahead, behind = arb(rise) + 0.5, arb(rise) - 0.5
        scale = 1 / _between(behind, -h / 2, h / 2)
        up = scale * (_between(ahead, arb(0), h / 2) - _between(behind, arb(0), h / 2)) / -(-h).expm1()
        down = scale * (_between(behind, -h / 2, arb(0)) - _between(ahead, -h / 2, arb(0))) / h.expm1()
        stay = scale * _between(ahead, -h / 2, h / 2) - up - down
        masses = [down * (-t * h).exp(), stay, up * (t * h).exp()]
        return LatticeStep(1, 0.0, -1, np.array([float_above(m) for m in masses]), arb(0), 0.0, arb(0))


def _between(rate: arb, low: arb, high: arb) -> arb:
    """Return the integral of e^{rate x} over [low, high]; rate is not 0."""
    return ((rate * high).exp() - (rate * low).exp()) / rate


def spread_out(step: LatticeStep, spread: LatticeStep) -> LatticeStep:
    """Return the convolution of a measure with the three masses of `spreading_step`, rounded up."""
    masses = np.zeros(step.masses.size + 2)
    for shift, mass in enumerate(spread.masses):
        masses[shift : shift + step.masses.size] += step.masses * mass
    masses *= 1 + 8 * UNIT_ROUNDOFF
    return LatticeStep(step.count, step.offset, step.first - 1, masses, step.log_scale, step.slack, step.infinite)
