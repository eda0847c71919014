r"""Upper bounds for the profile of a triple, at given nodes.

Binary floats live here, under a bound. For a triple of points (c, a, a') with squared distances A = |a-c|^2,
B = |a-a'|^2 and y = 1 + qu the profile is q U(u), U = E(1 - al e^{Z1} - ga e^{Z2})_+, al = u(1-q), ga = 1+qu,
Z ~ N(-diag(S)/2, S), S = mu^2 [[A, S12],[S12, B]]. U grows with S in the positive semidefinite order, and with S12 >= 0
alone, so any S of the form [[t^2 + p^2 b^2, p b^2],[p b^2, b^2]] above the true one will do; b, p, t are float64
numbers rounded upwards (t >= 1e-5, which is why no case of a degenerate triangle is needed). With V = e^{Z2},

    U = E g(V),   g(v) = max over d of  k Phi(d + t/2) - X Phi(d - t/2),   k = 1 - ga v,   X = al e^{p(1-p)b^2/2} v^p,

g convex, nonincreasing, g <= 1, g(1) = 0. By chords at 0 < v_1 < ... < v_N = 1, with sl_j the slopes of E(v - V)_+,

    U <= sl_1 + sum_{j=1}^{N-1} (sl_{j+1} - sl_j) g(v_j),   all coefficients >= 0.

Rounding. ln v_j = b z_j. k is computed and raised by 1e-13 (1 + ga), X lowered by a factor 1 - 1e-12 and to at most
1000: each only raises g. d need not be exact: if |ln X - ln k + d t| <= e, the maximum is missed by at most
0.5 k e^2/t, below 1e-15 for e = 3e-11. Phi is off by `PHI_ERROR`. So g <= computed + 1e-12 (1 + X). The coefficients
come from balls.
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
_LARGEST_X: Final = 1000.0
_LOG_LARGEST_X: Final = math.log(_LARGEST_X)
_G_ERROR: Final = 1e-12
_ROWS: Final = 24


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
    k, log_k = _ahead(s.b, nodes.q, nodes.u.tobytes(), nodes.z.tobytes())
    rows = nodes.log_al + s.p * (1 - s.p) * s.b**2 / 2
    columns = s.p * (s.b * nodes.z)
    of_rows, of_columns = exp(rows - 1e-12), exp(columns)
    result: Floats = np.empty(rows.size)
    for start in range(0, rows.size, _ROWS):  # blocks that fit the cache
        some = slice(start, start + _ROWS)
        log_x = np.minimum(rows[some, None] + columns, _LOG_LARGEST_X) - 1e-12
        x = np.minimum(of_rows[some, None] * of_columns, _LARGEST_X)
        result[some] = (_values(k[some], log_k[some] - log_x, x, s.t) * slopes[1:]).sum(axis=1)
    result += slopes[0]
    result *= 1 + 1e-13
    return result


def _values(k: Floats, log_ratio: Floats, x: Floats, t: float) -> Floats:
    """Return numbers at least g: see the header."""
    log_ratio /= t
    g = k * normal_cdf(log_ratio + t / 2)
    log_ratio -= t / 2
    g -= x * normal_cdf(log_ratio)
    np.maximum(g, 0.0, out=g)
    x += 1
    x *= _G_ERROR
    g += x
    return g


@functools.lru_cache(maxsize=64)
def _ahead(b: float, q: float, u_bytes: bytes, z_bytes: bytes) -> tuple[Floats, Floats]:
    """Return k, raised, and its logarithm for all nodes and quadrature points: neither depends on p and t."""
    v, ga = exp(b * np.frombuffer(z_bytes)), 1 + q * np.frombuffer(u_bytes)
    k = np.maximum(1 - ga[:, None] * v, 0.0) + (1e-13 * (1 + ga))[:, None]
    return k, checked_log(k)


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
