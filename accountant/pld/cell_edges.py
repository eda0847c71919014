r"""Cuts the axis into cells whose losses lie on a lattice: heuristics that affect tightness, never soundness.

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

from accountant.errors import CannotCertifyError
from accountant.pld.certified_exp import Floats
from accountant.pld.heuristics import loss_at, point_at
from accountant.pld.normal_guesses import log_normal_cdf

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
