r"""Profiles at nodes: the normal distribution on arrays, the forward pair, and upper bounds for triples.

The normal distribution function on float64 arrays with a proved absolute error.

Binary floats live here, under a bound. Phi is expanded about the nearest multiple x0 of 1/256, to the third order:

    Phi(x0 + e) = Phi(x0) + phi(x0) e (1 - x0 e/2 + (x0^2 - 1) e^2/6) + R,   |R| <= M e^4/24 < 3.5e-13

because |e| <= 1/512 and the fourth derivative is at most M = max |3x - x^3| phi(x) < 0.56. Phi(x0), phi(x0) come from
balls, x0 is exact, and rounding adds less than 1e-14. Beyond +-9 the end's value is used, off by less than 2e-19.
`PHI_ERROR` is 5e-13.

The forward pair's profile at the nodes and its integrals, enclosed by balls.

For y = 1 + qu the forward pair has U_F(u) = G(1+u), and for y = 1/(1+qu) it has D_F(u) = d G(ga/d), d = 1 - u(1-q)
(0 where d <= 0), G(y) = Phi(mu/2 - ln y/mu) - y Phi(-mu/2 - ln y/mu). Slopes: U_F' = -Phi(-mu/2 - ln(1+u)/mu) and
D_F' = -(1-q) Phi(r) - q Phi(r - mu), r = mu/2 - ln(ga/d)/mu.

The certificate compares integrals against two weights, with a rise l >= 0 (`docs/reference/adversary.md`, Theorem 2):

    ahead (y > 1):   q (1+qu)^{-3/2-l} du = e^{-(1/2+l) v} dv,
    behind (y < 1):  q (1+qu)^{-3/2+l} du = e^{-(1/2-l) v} dv,     v = ln(1+qu).

A profile below its chords integrates to at most sum (left_j U_j + right_j U_{j+1}); the convex U_F, D_F lie above their
tangents, which gives lower bounds of their integrals (`_PIECES` tangents a cell). `gap` bounds chord minus function
inside a cell: Delta (slope right - slope left)/4.

Nodes reach to z = 7 (u = e^{mu z} - 1) where triples are bounded one by one, and to z = 24 where all are bounded by
U_F. Beyond the last node a profile is at most (1-y)_+ + `rest`, rest = q U_F(u_M), about 1e-126 q: `leader` counts as
much of each step as infinite.

Upper bounds for the profile of a triple, at given nodes.

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
from accountant.numbers import arb_precision, normal_tail
from accountant.pld.certified_floats import Floats, exp, float_above, float_below

PHI_ERROR: Final = 5e-13
LOG_ERROR: Final = 1e-11
_PER_UNIT: Final = 256
_END: Final = 9
_BITS: Final = 100


def normal_cdf(x: Floats) -> Floats:
    """Return Phi(x) within `PHI_ERROR`; NaN raises."""
    if not np.isfinite(x.min()) or not np.isfinite(x.max()):
        raise CannotCertifyError("the normal distribution function was asked for at a number that is not finite")
    inside = np.clip(x, -_END, _END)
    nearest = np.rint(inside * _PER_UNIT)
    place = nearest.astype(np.int32) + _END * _PER_UNIT
    centre = nearest * (1 / _PER_UNIT)
    inside -= centre
    value, slope = _table()
    factor = (centre * centre - 1) * inside
    factor *= 1 / 3
    factor -= centre
    factor *= inside
    factor *= 0.5
    factor += 1
    factor *= inside
    factor *= np.take(slope, place)
    factor += np.take(value, place)
    return factor


def checked_log(x: Floats) -> Floats:
    """Return log(x) within `LOG_ERROR` for x in [1e-290, 1e290]: a library's value, checked by the proved exp."""
    value: Floats = np.log(x)
    if not float(np.max(np.abs(exp(value) / x - 1.0))) <= 0.9 * LOG_ERROR:
        raise CannotCertifyError("a logarithm could not be confirmed")
    return value


@functools.lru_cache(maxsize=1)
def _table() -> tuple[Floats, Floats]:
    """Return Phi and phi at the multiples of 1/256 from -9 to 9."""
    with arb_precision(_BITS):
        points = [arb(k) / _PER_UNIT - _END for k in range(2 * _END * _PER_UNIT + 1)]
        root_two, root_two_pi = arb(2).sqrt(), (2 * arb.pi()).sqrt()
        value = np.array([float((-x / root_two).erfc() / 2) for x in points])
        slope = np.array([float((-x * x / 2).exp() / root_two_pi) for x in points])
    return value, slope


_NODE_BITS: Final = 160
_PIECES: Final = 4
_LAST_Z: Final = 7.0
_FAR_Z: Final = 24.0
_FAR_STEP: Final = 0.4


@dataclass(frozen=True, slots=True)
class _Point:
    """U_F, D_F and their slopes at u."""

    u: arb
    forward: arb
    forward_slope: arb
    backward: arb
    backward_slope: arb


@dataclass(frozen=True, slots=True)
class _Tangent:
    """Tangents of U_F and D_F: value at u = 0 and slope."""

    forward: arb
    forward_slope: arb
    backward: arb
    backward_slope: arb


@dataclass(frozen=True, slots=True)
class _Cut:
    """u, y = 1+qu and log y."""

    u: arb
    y: arb
    log_y: arb


@dataclass(frozen=True, slots=True)
class Reference:
    """The forward pair at all nodes 0..M (`low` rounded down, the others up), and what its integrals are made of."""

    nodes: Nodes
    forward_low: Floats
    backward_low: Floats
    forward_high: Floats
    gap: Floats
    cuts: list[_Cut]
    """The ends of the pieces of all cells, `_PIECES` to a cell."""
    tangents: list[_Tangent]
    """One to a piece."""


@dataclass(frozen=True, slots=True)
class Side:
    """One weight: its share of both ends of a cell, rounded up, and the integrals up to each node, rounded down."""

    left: Floats
    right: Floats
    forward: Floats
    backward: Floats


@dataclass(frozen=True, slots=True)
class Integrals:
    """Both weights for a rise."""

    ahead: Side
    behind: Side


def grid(q: float, mu: float, *, fineness: float = 1.0) -> Nodes:
    """Return nodes: u = e^{mu z} - 1 for z from 0 to 7, finer near 0, and the quadrature points."""
    z = [0.004 / fineness]
    while z[-1] < _LAST_Z:
        z.append(z[-1] + min(0.004 + 0.12 * z[-1], 0.045 if z[-1] < 4 else 0.15) / fineness)
    u = np.expm1(mu * np.array(z))
    quadrature = [-1e-4]
    while quadrature[-1] > -8.5:
        distance = -quadrature[-1]
        quadrature.append(-(distance + min(0.001 + 0.15 * distance, 0.02 if distance < 4 else 0.1) / fineness))
    with arb_precision(_NODE_BITS):
        log_al = [float_below((arb(float(x)) * (1 - arb(q))).log()) for x in u]
    return Nodes(q, mu, u, np.array(log_al), np.array(quadrature[::-1]))


def reference(nodes: Nodes) -> Reference:
    """Return the enclosures for the nodes."""
    with arb_precision(_NODE_BITS):
        u = [arb(0)] + [arb(float(x)) for x in np.concatenate([nodes.u, far_nodes(nodes.mu)])]
        ends = [_forward(nodes, x) for x in u]
        return Reference(
            nodes=nodes,
            forward_low=np.array([float_below(end.forward) for end in ends]),
            backward_low=np.array([float_below(end.backward) for end in ends]),
            forward_high=np.array([float_above(end.forward) for end in ends]),
            gap=np.array([float_above(_gap(ends[j], ends[j + 1])) for j in range(len(u) - 1)]),
            cuts=[_cut(nodes, x) for j in range(len(u) - 1) for x in _parts(u[j], u[j + 1])] + [_cut(nodes, u[-1])],
            tangents=[_tangent(nodes, x) for j in range(len(u) - 1) for x in _middles(u[j], u[j + 1])],
        )


def integrals(ref: Reference, rise: float) -> Integrals:
    """Return the weights of a rise and the forward pair's integrals against them."""
    with arb_precision(_NODE_BITS):
        tilt, half = arb(rise), arb(0.5)
        powers = [(-(half + tilt) * cut.log_y).exp() for cut in ref.cuts]
        inverse = [1 / (cut.y * power) for cut, power in zip(ref.cuts, powers, strict=True)]
        return Integrals(_side(ref, tilt, powers), _side(ref, -tilt, inverse))


def rest(q: float, mu: float) -> arb:
    """Return q U_F at the last node: what any triple has beyond it."""
    with arb_precision(_NODE_BITS):
        u = arb(float(far_nodes(mu)[-1]))
        return arb((arb(q) * _forward(Nodes(q, mu, np.empty(0), np.empty(0), np.empty(0)), u).forward).upper())


def far_nodes(mu: float) -> Floats:
    """Return the nodes beyond those of `grid`."""
    points = np.arange(_LAST_Z + 0.3, _FAR_Z + _FAR_STEP, _FAR_STEP)
    return np.expm1(mu * points)


def _cut(nodes: Nodes, u: arb) -> _Cut:
    y = 1 + arb(nodes.q) * u
    return _Cut(u, y, y.log())


def _tangent(nodes: Nodes, u: arb) -> _Tangent:
    at = _forward(nodes, u)
    return _Tangent(
        at.forward - at.forward_slope * u, at.forward_slope, at.backward - at.backward_slope * u, at.backward_slope
    )


def _parts(a: arb, b: arb) -> list[arb]:
    """Return the left ends of the pieces of a cell."""
    return [a + (b - a) * i / _PIECES for i in range(_PIECES)]


def _middles(a: arb, b: arb) -> list[arb]:
    """Return numbers near the middles of the pieces of a cell: tangents hold wherever they touch."""
    return [arb((a + (b - a) * (2 * i + 1) / (2 * _PIECES)).mid()) for i in range(_PIECES)]


def _forward(nodes: Nodes, u: arb) -> _Point:
    q, mu = arb(nodes.q), arb(nodes.mu)
    log = (1 + u).log() / mu
    behind = normal_tail(-(-mu / 2 - log))
    upper = normal_tail(-(mu / 2 - log)) - (1 + u) * behind
    d, ga = 1 - u * (1 - q), 1 + q * u
    if not d > 0:
        return _Point(u, upper, -behind, arb(0), arb(0))
    r = mu / 2 - (ga / d).log() / mu
    near, far = normal_tail(-r), normal_tail(-(r - mu))
    return _Point(u, upper, -behind, d * near - ga * far, -(1 - q) * near - q * far)


def _gap(a: _Point, b: _Point) -> arb:
    rise = b.forward_slope - a.forward_slope + b.backward_slope - a.backward_slope
    return (b.u - a.u) * rise / 4


def _side(ref: Reference, tilt: arb, powers: list[arb]) -> Side:
    """Return the weight q (1+qu)^{-3/2-tilt}; `powers` are (1+qu)^{-1/2-tilt}, and tilt must not be -1/2 or 1/2."""
    more, less, q = arb(0.5) + tilt, arb(0.5) - tilt, arb(ref.nodes.q)
    mass = [-power / more for power in powers]
    moment = [
        (cut.y * power / less - one) / q for cut, power, one in zip(ref.cuts, powers, mass, strict=True)
    ]  # antiderivatives of the weight and of u times the weight
    left, right, forward, backward = [], [], [arb(0)], [arb(0)]
    for start in range(0, len(ref.tangents), _PIECES):
        stop = start + _PIECES
        a, b = ref.cuts[start].u, ref.cuts[stop].u
        whole = mass[stop] - mass[start]
        right.append((moment[stop] - moment[start] - a * whole) / (b - a))
        left.append(whole - right[-1])
        ahead, behind = forward[-1], backward[-1]
        for i in range(start, stop):
            at, one, first = ref.tangents[i], mass[i + 1] - mass[i], moment[i + 1] - moment[i]
            ahead += at.forward * one + at.forward_slope * first
            behind += at.backward * one + at.backward_slope * first
        forward.append(ahead)
        backward.append(behind)
    return Side(
        left=np.array([float_above(x) for x in left]),
        right=np.array([float_above(x) for x in right]),
        forward=np.array([0.0] + [float_below(x) for x in forward[1:]]),
        backward=np.array([0.0] + [float_below(x) for x in backward[1:]]),
    )


_LEAST_T: Final = 1e-5
_CELLS: Final = 128
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
    per_unit = _CELLS / s.t
    at_rows, at_columns = rows * per_unit, columns * per_unit + (_FARTHEST * _CELLS + 1)
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
    d = np.arange(_FARTHEST * _CELLS, lowest * _CELLS - 1, -1) / _CELLS
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
    with arb_precision(_NODE_BITS):
        ball, root_two = arb(b), arb(2).sqrt()
        v = [arb(0)] + [(ball * arb(float(x))).exp() for x in z] + [arb(1)]
        at = [arb(float(x)) + ball / 2 for x in z] + [ball / 2]
        put = [arb(0)] + [
            (w * (-y / root_two).erfc() - ((ball - y) / root_two).erfc()) / 2 for w, y in zip(v[1:], at, strict=True)
        ]
        slope = [(put[i + 1] - put[i]) / (v[i + 1] - v[i]) for i in range(len(v) - 1)]
        rises = [slope[0]] + [slope[i + 1] - slope[i] for i in range(len(slope) - 1)]
        return np.array([max(float_above(r), 0.0) for r in rises])
