r"""Upper bounds for the profile of a triple, at given nodes.

Binary floats live here, under a bound. For a triple of points (c, a, a') with squared distances A = |a-c|^2,
B = |a-a'|^2 and y = 1 + qu the profile is q U(u), U = E(1 - al e^{Z1} - ga e^{Z2})_+, al = u(1-q), ga = 1+qu,
Z ~ N(-diag(S)/2, S), S = mu^2 [[A, S12],[S12, B]]. U grows with S in the positive semidefinite order, and with S12 >= 0
alone, so any S of the form [[t^2 + p^2 b^2, p b^2],[p b^2, b^2]] above the true one will do; b, p, t are float64
numbers rounded upwards (t >= 1e-5, which is why no case of a degenerate triangle is needed). With V = e^{Z2},

    U = E g(V),   g(v) = max over d of  k Phi(d + t/2) - X Phi(d - t/2),   k = 1 - ga v,   X = al e^{p(1-p)b^2/2} v^p,

g convex, nonincreasing, g <= 1, g(1) = 0. By chords at 0 < v_1 < ... < v_N = 1, with sl_j the slopes of E(v - V)_+,

    U <= sl_1 + sum_{j=1}^{N-1} (sl_{j+1} - sl_j) g(v_j),   all coefficients >= 0.

By the same token g(v) = k G(X/k), G(m) = max over d of Phi(d + t/2) - m Phi(d - t/2), which depends on t alone: G is
convex and nonincreasing, G(0) = 1, so chords at points m_i = e^{-t d_i} bound it, and in cell i g <= alpha_i k + s_i X
with s_i <= 0: no exponential and no Phi for a single (u, v). Below m_0 (d = 6), G <= 1 - Phi(6 - t/2) m; above the last
point G is at most what it is there.

Rounding. ln v_j = b z_j. k is computed and raised by 1e-13 (1 + ga), X lowered by a factor 1 - 1e-12: each only raises
the bound. G(m_i) is computed and raised by 2e-12 (1 + m_i), which covers
- Phi, off by `PHI_ERROR`, 5e-13 (1 + m) in all; d_i, which need not be exact: if |ln m_i + d_i t| <= e, the maximum is
  missed by at most 0.5 e^2/t < 1e-15; the line through two points, rounded: 1e-14 (1 + m);
- a cell missed by a hair: ln(X/k) is known within 3e-11, so m may lie outside its cell by that factor, where G exceeds
  the cell's line by at most 3e-11 m times the difference of neighbouring slopes, which is at most 0.02: 6e-13 m.
Sums of at most 1000 products of numbers whose sum is at most 1.01 are off by less than 2e-13. The coefficients come
from balls.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision
from accountant.pld.adversary.normal import checked_log, normal_cdf
from accountant.pld.certified_exp import Floats, exp
from accountant.pld.rounding import float_above

_BITS: Final = 160
_LEAST_T: Final = 1e-5
_PER_UNIT: Final = 128
"""Points d_i a unit: G exceeds its chords by less than 1e-5 t."""
_FARTHEST: Final = 6
_LOG_LARGEST: Final = math.log(1000.0)
_G_MARGIN: Final = 2e-12
_SUM_ERROR: Final = 2e-13
_ROWS: Final = 48


@dataclass(frozen=True, slots=True)
class Nodes:
    """The points u_j at which profiles are bounded, without u_0 = 0."""

    q: float
    mu: float
    u: Floats
    log_al: Floats
    """log(u (1-q)), rounded down."""
    z: Floats
    """Quadrature points: ln v = b z, z < 0."""


@dataclass(frozen=True, slots=True)
class TripleShape:
    """b, p, t of the header: an upper bound of the covariance of a triple."""

    b: float
    p: float
    t: float


def shape(mu: float, first: float, second: float, product: float) -> TripleShape:
    """Return b, p, t for squared distances at most `first` and `second`, scalar product between 0 and `product`."""
    if not (first >= 0 and second > 0 and 0 <= product <= min(first, second)):
        raise CannotCertifyError(f"no covariance has squares {first}, {second} and product {product}")
    b = mu * math.sqrt(second) * (1 + 1e-15)
    p = min(product / second * (1 + 1e-15), 1.0)
    t = math.sqrt(max(mu * mu * first - (p * b) ** 2, 0.0) + 1e-13 * mu * mu + _LEAST_T**2) * (1 + 1e-15)
    return TripleShape(b, p, t)


def upper_profile(nodes: Nodes, s: TripleShape) -> Floats:
    """Return numbers at least U(u_j)."""
    slopes = _coefficients(s.b, nodes.z.tobytes())
    weighted, log_k = _ahead(s.b, nodes.q, nodes.u.tobytes(), nodes.z.tobytes())
    start, slope = _lines(s.t)
    rows = nodes.log_al + s.p * (1 - s.p) * s.b**2 / 2
    columns = s.p * (s.b * nodes.z)
    if not (np.isfinite(rows).all() and np.isfinite(columns).all()):
        raise CannotCertifyError("a profile was asked for at a number that is not finite")
    of_columns = slopes[1:] * exp(columns - 1e-12)
    per_unit = _PER_UNIT / s.t
    at_rows, at_columns = rows * per_unit, columns * per_unit + (_FARTHEST * _PER_UNIT + 1)
    ahead, behind = np.empty(rows.size), np.empty(rows.size)
    for first in range(0, rows.size, _ROWS):  # blocks that fit the cache
        some = slice(first, first + _ROWS)
        cell = log_k[some] * -per_unit
        cell += at_columns
        cell += at_rows[some, None]
        np.clip(cell, 0, start.size - 1, out=cell)
        index = cell.astype(np.intp)
        ahead[some] = np.einsum("ij,ij->i", start.take(index), weighted[some])
        behind[some] = np.einsum("ij,j->i", slope.take(index), of_columns)
    result: Floats = ahead + behind * exp(rows) + (slopes[0] + _SUM_ERROR)
    return result


def _lines(t: float) -> tuple[Floats, Floats]:
    """Return alpha and s of the header: for m below the first point, for each cell, and beyond the last point."""
    lowest = -min(_FARTHEST, math.ceil(_LOG_LARGEST / t))
    d = np.arange(_FARTHEST * _PER_UNIT, lowest * _PER_UNIT - 1, -1) / _PER_UNIT
    m = exp(-t * d)
    high, low = normal_cdf(d + t / 2), normal_cdf(d - t / 2)
    g = high - m * low + _G_MARGIN * (1 + m)
    g = np.maximum.accumulate(g[::-1])[::-1]
    slope = np.diff(g) / np.diff(m)
    start = g[:-1] - slope * m[:-1]
    below = -float(normal_cdf(np.array([_FARTHEST - t / 2]))[0]) + _G_MARGIN
    return np.concatenate([[1.0 + _G_MARGIN], start, g[-1:]]), np.concatenate([[min(below, 0.0)], slope, [0.0]])


@functools.lru_cache(maxsize=64)
def _ahead(b: float, q: float, u_bytes: bytes, z_bytes: bytes) -> tuple[Floats, Floats]:
    """Return k times the coefficients, and its logarithm, for all nodes and quadrature points; p and t do not count."""
    v, ga = exp(b * np.frombuffer(z_bytes)), 1 + q * np.frombuffer(u_bytes)
    k = np.maximum(1 - ga[:, None] * v, 0.0) + (1e-13 * (1 + ga))[:, None]
    return k * _coefficients(b, z_bytes)[1:], checked_log(k)


@functools.lru_cache(maxsize=4096)
def _coefficients(b: float, z_bytes: bytes) -> Floats:
    """Return sl_1 and sl_{j+1} - sl_j, j = 1..N-1, rounded up; v_N = 1."""
    z = np.frombuffer(z_bytes)
    with arb_precision(_BITS):
        ball, root_two = arb(b), arb(2).sqrt()
        v = [arb(0)] + [(ball * arb(float(x))).exp() for x in z] + [arb(1)]
        at = [arb(float(x)) + ball / 2 for x in z] + [ball / 2]
        put = [arb(0)] + [
            (w * (-y / root_two).erfc() - ((ball - y) / root_two).erfc()) / 2 for w, y in zip(v[1:], at, strict=True)
        ]
        slope = [(put[i + 1] - put[i]) / (v[i + 1] - v[i]) for i in range(len(v) - 1)]
        rises = [slope[0]] + [slope[i + 1] - slope[i] for i in range(len(slope) - 1)]
        return np.array([max(float_above(r), 0.0) for r in rises])
