r"""The loss distribution of one step of a realisable pair on a lattice, rounded so that it is dominated: the lower end.

Binary floats live here, under a bound: every mass returned is at most the true one.

The pair is (1-q)N(0)+qN(mu) against N(0), in either order: all records alike but one; attained with clipping. The
z-axis is cut into cells and only the cell is kept: a post-processing, so the losses log(P(cell)/Q(cell)) are dominated
by the true ones. The cuts (`cut_on_lattice`) are chosen such that these losses lie on a lattice offset + jh but for a
tiny mismatch. They do not matter for soundness: the loss of each cell is bounded afterwards, and a cell whose
loss falls short of its point by more than `slack` is counted at a lower point.

With z_j a point of loss l_j (up to `loss_mismatch`), S0 and S1 the integrals over the cell of
r(z) = exp((z_j^2 - z^2)/2) and of r(z)(e^{mu(z - z_j)} - 1), and w_j = q e^{t_j - l_j}, t_j = mu(z_j - mu/2), the cell
has

    Q = phi(z_j) S0,    P = phi(z_j) e^{l_j} S0 (1 + R),    R = w_j S1/S0,    loss log(P/Q) = l_j + log(1 + R),

and R/(1+R) <= log(1+R) <= R.

Cuts the axis into cells whose losses lie on a lattice: heuristics that affect tightness, never soundness.

Halfway between lattice points, moved by e = (h^2/12)(z/(mu w) + (1-w)/w - 1/2), w = dl/dt, which cancels the slope of
the density across the cell: the loss of a cell is then off its point by O(h^4). The cell (-inf, b] below all others
defines the offset of the lattice, and b is chosen such that its neighbours fit. Where pairs of both orders share a
lattice (`cut_on_lattice`), the spacing is chosen such that the offset is a multiple of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision, normal_tail
from accountant.pld.certified_floats import (
    EXP_ERROR,
    EXPM1_ERROR,
    NODES,
    QUADRATURE_ERROR,
    SCALAR_BITS,
    UNIT_ROUNDOFF,
    Floats,
    exp,
    expm1,
    float_below,
    normalised,
    panels,
)
from accountant.pld.guesses import log_normal_cdf, loss_at, point_at
from accountant.pld.types import BinaryStep, Frame, LatticeStep, Pair
from accountant.pld.upper_step import loss_mismatch

_WIDEST_CELL: Final = 0.25
_MOST_CELLS: Final = 1 << 18
_BISECTIONS: Final = 60
_SPACING_BITS: Final = 30


@dataclass(frozen=True, slots=True)
class Cuts:
    """Cells [edges_i, edges_{i+1}] with losses about `losses` = offset + h numbers, attained at `points`."""

    offset: float
    edges: Floats
    numbers: Floats
    losses: Floats
    points: Floats


def cut_axis(q: float, mu: float, spacing: float, z_range: tuple[float, float]) -> Cuts:
    """Return cells over about z_range, (-inf, b] below them (or fewer: a lower bound may leave the rest out)."""
    lowest, number = _lowest_cut(q, mu, spacing, z_range[0])
    offset = _lowest_loss(q, mu, lowest)
    top = float(loss_at(q, mu, np.array([z_range[1]]))[0])
    size = min(math.ceil((top - offset) / spacing) - number + 1, _MOST_CELLS)
    if size < 1:
        raise CannotCertifyError("the lattice is coarser than the losses of the pair: use more points")
    numbers = np.arange(number, number + size, dtype=np.float64)
    losses = offset + spacing * numbers
    edges = np.concatenate([np.array([lowest]), _upper_edges(q, mu, spacing, losses)])
    return Cuts(offset, edges, numbers, losses, point_at(q, mu, losses))


def cut_on_lattice(q: float, mu: float, spacing: float, z_range: tuple[float, float]) -> tuple[Cuts, float]:
    """Return cells whose offset is a multiple of the spacing, and that spacing: the one asked for or a little less."""
    start = max(_where_cells_widen(q, mu, spacing), min(z_range[0], mu / 2 - 1))
    number = math.ceil(float(loss_at(q, mu, np.array([start]))[0]) / spacing)
    fitted = _fitted_spacing(q, mu, number, spacing)
    lowest = _edge_below(q, mu, fitted, number)
    offset = round(_lowest_loss(q, mu, lowest) / fitted)
    top = float(loss_at(q, mu, np.array([z_range[1]]))[0])
    size = min(math.ceil(top / fitted) - number + 1, _MOST_CELLS)
    if size < 1:
        raise CannotCertifyError("the lattice is coarser than the losses of the pair: use more points")
    losses = fitted * np.arange(number, number + size, dtype=np.float64)
    edges = np.concatenate([np.array([lowest]), _upper_edges(q, mu, fitted, losses)])
    return Cuts(offset * fitted, edges, losses / fitted - offset, losses, point_at(q, mu, losses)), fitted


def _edge_below(q: float, mu: float, spacing: float, number: int) -> float:
    return float(_upper_edges(q, mu, spacing, spacing * np.array([number - 1.0]))[0])


def _fitted_spacing(q: float, mu: float, number: int, spacing: float) -> float:
    """Return the next smaller spacing, of few bits, for which the loss of the lowest cell lies on the lattice."""

    def cells(h: float) -> float:
        return _lowest_loss(q, mu, _edge_below(q, mu, h, number)) / h

    goal = math.floor(cells(spacing))
    low = high = spacing
    for _ in range(_BISECTIONS):
        if cells(low) <= goal:
            break
        low *= 1 - 0.25 / max(abs(goal), 1)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if cells(middle) <= goal else (low, middle)
    mantissa, exponent = math.frexp(high)
    return math.ldexp(math.ceil(mantissa * 2**_SPACING_BITS), exponent - _SPACING_BITS)


def _upper_edges(q: float, mu: float, spacing: float, losses: Floats) -> Floats:
    z = point_at(q, mu, losses + spacing / 2)
    weight = _slope(q, mu, z)
    return np.asarray(z + _shift(mu, spacing, z, weight) / (mu * weight))


def _lowest_cut(q: float, mu: float, spacing: float, z_low: float) -> tuple[float, int]:
    """Return the first cut and the lattice number of the cell above it."""
    start = max(_where_cells_widen(q, mu, spacing), min(z_low, mu / 2 - 1))
    target = max(math.floor(_steps_above(q, mu, spacing, start)), 0) + 0.5
    low = high = start
    for _ in range(_BISECTIONS):
        if _steps_above(q, mu, spacing, high) >= target:
            break
        high += 0.05 + 0.1 * (high - start)
    for _ in range(_BISECTIONS):
        if _steps_above(q, mu, spacing, low) <= target:
            break
        low -= 0.1
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _steps_above(q, mu, spacing, middle) < target else (low, middle)
    return high, round(target + 0.5)


def _where_cells_widen(q: float, mu: float, spacing: float) -> float:
    """Return the z below which a cell is wider than `_WIDEST_CELL`, -inf if there is none (q = 1)."""
    slope = spacing / (mu * _WIDEST_CELL)
    if q == 1 or slope >= 1:
        return -math.inf if q == 1 else mu / 2
    loss = math.log1p(-q) - math.log1p(-slope)
    return float(point_at(q, mu, np.array([loss]))[0])


def _steps_above(q: float, mu: float, spacing: float, cut: float) -> float:
    """Return how far above the loss of (-inf, cut] the loss at the cut lies, in cells, the shift e taken off."""
    z = np.array([cut])
    shift = _shift(mu, spacing, z, _slope(q, mu, z))
    return (float(loss_at(q, mu, z)[0]) - float(shift[0]) - _lowest_loss(q, mu, cut)) / spacing


def _lowest_loss(q: float, mu: float, cut: float) -> float:
    """Return about log(P/Q) of (-inf, cut]."""
    shifted = log_normal_cdf(cut - mu) - log_normal_cdf(cut)
    return math.log1p(q * math.expm1(shifted)) if q < 1 else shifted


def _slope(q: float, mu: float, z: Floats) -> Floats:
    """Return w = dl/dt = q e^{t-l}."""
    return np.maximum(q * np.exp(np.minimum(mu * (z - mu / 2) - loss_at(q, mu, z), 700.0)), 1e-300)


def _shift(mu: float, spacing: float, z: Floats, weight: Floats) -> Floats:
    e = spacing**2 / 12 * (z / (mu * weight) + (1 - weight) / weight - 0.5)
    return np.clip(e, -spacing / 4, spacing / 4)


_INVERSE_ROOT_TWO_PI: Final = 0.3989422804014326
_LEAST_MASS: Final = 1e-290
_FAR_ENOUGH: Final = 9.0
"""With the mixture second, losses fall with z: beyond this point lie 1e-19 of the mass, at the least losses of all."""


@dataclass(frozen=True, slots=True)
class _Cells:
    """Per cell: l_j, z_j, S0 and its relative error, R and its absolute error, and the mismatch of l_j."""

    losses: Floats
    points: Floats
    integral: Floats
    relative_error: Floats
    excess: Floats
    excess_error: Floats
    mismatch: Floats


def dominated_step(step: BinaryStep, pair: Pair, frame: Frame, kappa: float, cuts: Cuts | None = None) -> LatticeStep:
    """Return a lattice measure that the loss distribution of the pair dominates; `pair` is not DOMINATING.

    `cuts` are other cells than the usual ones, on a lattice of the frame's spacing: any are sound.
    """
    if pair is Pair.DOMINATING:
        raise CannotCertifyError("a lower bound needs a realisable pair, got the dominating one")
    sign = 1.0 if pair is Pair.MIXTURE_FIRST else -1.0
    top = frame.z_top if sign > 0 else min(frame.z_top, _FAR_ENOUGH)
    cuts = cuts or cut_axis(step.q, step.mu, frame.spacing, (-frame.z_top, top))
    cells = _cells(step, cuts)
    lowest_mass, lowest_gap = _lowest_cell(step, cuts, sign, frame.theta, kappa)
    excess = cells.excess / (1 + cells.excess) if sign > 0 else -cells.excess
    cell_gaps = excess - 4 * UNIT_ROUNDOFF * np.abs(excess) - 2 * cells.excess_error - cells.mismatch
    gaps = np.concatenate([np.array([lowest_gap]), cell_gaps])
    masses = np.concatenate([np.array([lowest_mass]), _tilted_masses(cells, sign, frame.theta, kappa)])
    slack = best_slack(gaps, masses, frame.spacing)
    fallen = np.maximum(np.ceil((-gaps - slack) / frame.spacing * (1 + 1e-12)), 0.0)
    index = (sign * np.concatenate([np.zeros(1), cuts.numbers]) - fallen).astype(np.int64)
    sums, first = placed(index, untilted(masses, fallen, frame))
    scaled, log_scale = normalised(sums, kappa, upwards=False)
    return LatticeStep(step.count, sign * cuts.offset, first, scaled, log_scale, slack, arb(0))


def untilted(masses: Floats, fallen: Floats, frame: Frame) -> Floats:
    """Take off the tilt that a mass loses with the lattice points it falls."""
    drop = frame.theta * frame.spacing * fallen
    error = UNIT_ROUNDOFF * (3 * drop + 4) + EXP_ERROR
    return np.where(fallen > 0, masses * exp(-drop) * (1 - error), masses)


def placed(index: np.typing.NDArray[np.int64], masses: Floats) -> tuple[Floats, int]:
    """Return the sums of the masses at each index, rounded down, and the first index."""
    first = int(index.min())
    sums = np.asarray(np.bincount(index - first, weights=masses), dtype=np.float64)
    terms = np.bincount(index - first)
    sums *= 1 - UNIT_ROUNDOFF * (2.0 * terms + 2)
    return np.where(sums >= _LEAST_MASS, sums, 0.0), first


def best_slack(gaps: Floats, masses: Floats, spacing: float) -> float:
    """Return the uniform shortfall to allow: its cost against that of the mass which must else fall a whole cell."""
    candidates = spacing * 0.5 ** np.arange(1.0, 45.0)
    total = float(masses.sum())
    if not total > 0:
        raise CannotCertifyError("no mass of the pair is left to bound from below")
    cost = [c + spacing * float(masses[gaps < -c].sum()) / total for c in candidates]
    return float(candidates[int(np.argmin(cost))])


def _cells(step: BinaryStep, cuts: Cuts) -> _Cells:
    """Return S0 and R of every cell but the lowest, with proved errors."""
    q, mu, points, losses = step.q, step.mu, cuts.points, cuts.losses
    widths = np.diff(cuts.edges)
    if not float(widths.min()) > 0:
        raise CannotCertifyError("neighbouring lattice points coincide in float64: use fewer points")
    mismatch = loss_mismatch(q, mu, points, losses) + 2 * UNIT_ROUNDOFF * (np.abs(losses) + abs(cuts.offset))
    span = np.abs(cuts.edges[:-1] - points) + widths
    reach = np.abs(points) + 2 * span
    grid = panels(widths, reach + 2 * mu + 4)
    s = (cuts.edges[:-1] - points)[grid.cell][:, None] + grid.from_left
    ratio = exp(-s * (points[grid.cell][:, None] + s / 2))
    integral = grid.per_cell(ratio)
    t = mu * (points - mu / 2)
    weight = q * exp(t - losses)
    s *= mu
    ratio *= expm1(s)
    excess = weight * (grid.per_cell(ratio) / integral)
    rounding = 12 * reach * (span + 1) + (NODES + 1) * grid.counts + 8 * mu * span + 40
    relative = rounding * UNIT_ROUNDOFF + EXP_ERROR + EXPM1_ERROR + QUADRATURE_ERROR
    weight_error = UNIT_ROUNDOFF * (3 * np.abs(t) + 2 * np.abs(losses) + 20) + 2 * mismatch
    excess_error = 3 * relative * weight * expm1(mu * span) + 2 * weight_error * np.abs(excess)
    if not float(np.max(np.abs(excess) + excess_error)) < 0.4:
        raise CannotCertifyError("the cells of the pair are too wide: use more points")
    return _Cells(losses, points, integral, relative, excess, excess_error, mismatch)


def _tilted_masses(cells: _Cells, sign: float, theta: float, kappa: float) -> Floats:
    """Return lower bounds of P e^{theta l} (sign 1) or Q e^{-theta l} (sign -1), times e^-kappa."""
    tilt = sign * theta + (1.0 if sign > 0 else 0.0)
    exponent = tilt * cells.losses - cells.points * cells.points / 2 - kappa
    masses = exp(exponent) * cells.integral * _INVERSE_ROOT_TWO_PI
    if sign > 0:
        masses *= 1 + cells.excess
    magnitude = 4 * np.abs(tilt * cells.losses) + 2 * cells.points**2 + 2 * abs(kappa) + 16
    error = magnitude * UNIT_ROUNDOFF + EXP_ERROR + cells.relative_error + 2 * cells.excess_error + 2 * cells.mismatch
    return np.asarray(np.maximum(masses * (1 - 1.01 * error), 0.0))


def _lowest_cell(step: BinaryStep, cuts: Cuts, sign: float, theta: float, kappa: float) -> tuple[float, float]:
    """Return the tilted mass of (-inf, b], rounded down, and how much its loss exceeds its point, rounded down."""
    with arb_precision(SCALAR_BITS):
        q, mu, b, offset = arb(step.q), arb(step.mu), arb(float(cuts.edges[0])), arb(cuts.offset)
        base, shifted = normal_tail(-b), normal_tail(mu - b)
        loss = (q * (shifted / base - 1)).log1p()
        first = loss if sign > 0 else arb(0)
        mass = base * (first + arb(sign * theta) * offset - arb(kappa)).exp()
        gap = arb(sign) * (loss - offset)
        return max(float_below(mass), 0.0), float_below(gap)
