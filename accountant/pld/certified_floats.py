r"""Float64 under a bound: exp and expm1, rounding to a stated side, quadrature over the cells of losses.

exp and expm1 on float64 arrays with a proved relative error.

Binary floats live here, under a bound. Nothing is assumed of a mathematical library: only that +, -, * are
rounded to nearest as IEEE 754 says (with or without fused multiply-add) and that a power of two scales exactly.
u = 2^-53 below. Proof, for an exact float64 argument x with -708 <= x <= 709:

1. k = rint(x/ln 2) has at most 11 bits and `_LN2_HIGH` has 33, so k*_LN2_HIGH is exact. r = (x - k*_LN2_HIGH) -
   k*_LN2_LOW is off by at most 0.8 u from x - k ln 2, and |r| <= 0.3467 whatever way the quotient was rounded.
2. The Taylor polynomial of degree 13 on |r| <= 0.3467 leaves out at most 0.1 u of e^r.
3. Horner's rule adds at most 2.5 u (|r| halves the weight of every earlier rounding, and more).
Altogether less than 4 u; `EXP_ERROR` = 8 u is used. expm1 takes the same polynomial without its leading 1 where
|x| <= 0.3467 (every rounding is then relative to the result) and exp(x) - 1 elsewhere, where the subtraction
magnifies at most 3.5 times: less than 30 u, `EXPM1_ERROR` = 32 u is used.

Rounding to a stated side: balls to float64, masses to a sum near 1.

Gauss-Legendre quadrature over loss cells with a proved relative error.

The integrands are a normal density times (1 - e^{-mu s}) or (e^{mu s'} - 1), s and s' the distances from the left and
the right end of a cell: entire functions, so Cauchy's estimate on a disc of radius 24 d bounds the tenth derivative in
the remainder of the five-point rule, (5!)^4 d^11 / (11 (10!)^3) f^(10).

With v = z - mu at the cell's left end, D the cell's width and a panel of width d = D/count such that
d(|v| + D + 2 mu + 4) <= 1/4, on that disc, relative to its least value on the panel, the density is at most
exp(25/4 + (24^2+1)/2/16^2) < 1.7e3, and the other factor is at most 380 times its mean over the panel
(mu d <= 1/8; concavity of 1 - e^{-mu s}, convexity of e^{mu s'} - 1). The relative error is therefore at most
(5!)^4/(11 (10!)^2) 24^-10 * 1.7e3 * 380 < 1.5e-14; `QUADRATURE_ERROR` is 2e-14. For an integrand that changes sign,
density * (e^{mu s} - 1) with |s| <= S and S >= d, the same estimate bounds the error by 2e-14 times
(integral of the density) * (e^{mu S} - 1).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision

Floats = NDArray[np.float64]

UNIT_ROUNDOFF: Final = 2.0**-53
EXP_ERROR: Final = 8 * UNIT_ROUNDOFF
EXPM1_ERROR: Final = 32 * UNIT_ROUNDOFF

LOWEST_ARGUMENT: Final = -708.0
"""Below this, exp returns 0: an absolute error of less than 2^-1021, which its callers account for."""
HIGHEST_ARGUMENT: Final = 709.0

_INVERSE_LN2: Final = 1.4426950408889634
_LN2_HIGH: Final = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW: Final = float.fromhex("0x1.a39ef35793c76p-33")
_POLYNOMIAL_RADIUS: Final = 0.3466
_TAIL_COEFFICIENTS: Final = tuple(1.0 / math.factorial(i) for i in range(13, 0, -1))
"""1/13!, ..., 1/2!, 1: the quotient (e^r - 1)/r in Horner order, each coefficient correctly rounded."""


_BLOCK: Final = 1 << 13
"""Elements worked on at a time: what fits the cache, for large temporary arrays cost more than the arithmetic."""


def exp(x: Floats) -> Floats:
    """Return e^x within a relative error of `EXP_ERROR`, and 0 below `LOWEST_ARGUMENT`; NaN and overflow raise."""
    return _blockwise(_exp_block, x)


def expm1(x: Floats) -> Floats:
    """Return e^x - 1 within a relative error of `EXPM1_ERROR`; NaN and overflow raise."""
    return _blockwise(_expm1_block, x)


def _blockwise(function: Callable[[Floats], Floats], x: Floats) -> Floats:
    flat = x.reshape(-1)
    _refuse_overflow(flat)
    result = np.empty_like(flat)
    for start in range(0, flat.size, _BLOCK):
        result[start : start + _BLOCK] = function(flat[start : start + _BLOCK])
    return result.reshape(x.shape)


def _exp_block(x: Floats) -> Floats:
    clipped = np.maximum(x, LOWEST_ARGUMENT)
    k = np.rint(clipped * _INVERSE_LN2)
    r = clipped - k * _LN2_HIGH
    r -= k * _LN2_LOW
    value = _quotient(r)
    value *= r
    value += 1.0
    scaled: Floats = np.ldexp(value, k.astype(np.int32))
    if float(np.min(x)) < LOWEST_ARGUMENT:
        scaled[x < LOWEST_ARGUMENT] = 0.0
    return scaled


def _expm1_block(x: Floats) -> Floats:
    near = np.clip(x, -_POLYNOMIAL_RADIUS, _POLYNOMIAL_RADIUS)
    small = near * _quotient(near)
    far = near != x
    if np.any(far):
        small[far] = _exp_block(x[far]) - 1.0
    return small


def _quotient(r: Floats) -> Floats:
    """Return the Taylor polynomial of (e^r - 1)/r."""
    value = np.full_like(r, _TAIL_COEFFICIENTS[0])
    for coefficient in _TAIL_COEFFICIENTS[1:]:
        value *= r
        value += coefficient
    return value


def _refuse_overflow(x: Floats) -> None:
    if x.size and not float(np.max(x)) <= HIGHEST_ARGUMENT:
        raise OverflowError(f"exp needs arguments <= {HIGHEST_ARGUMENT} and no NaN, got max={float(np.max(x))}")


SCALAR_BITS: Final = 128


def float_above(ball: arb) -> float:
    """Return a finite float64 that is at least every number in the ball (conversion is within half a unit)."""
    value = math.nextafter(float(ball.upper()), math.inf)
    if not math.isfinite(value):
        raise CannotCertifyError(f"a mass of the composition is beyond float64: {ball}")
    return value


def float_below(ball: arb) -> float:
    """Return a finite float64 that is at most every number in the ball."""
    return -float_above(-ball)


def normalised(masses: Floats, kappa: float, *, upwards: bool) -> tuple[Floats, arb]:
    """Scale masses to a sum near 1, rounded to the stated side, and return log(e^kappa / factor) with them."""
    total = float(masses.sum())
    if not (math.isfinite(total) and total > 0):
        raise CannotCertifyError(f"the tilted masses of a step must have a finite sum > 0, got {total}")
    inverse = 1.0 / total
    nudge = 1 + 4 * UNIT_ROUNDOFF if upwards else 1 - 4 * UNIT_ROUNDOFF
    with arb_precision(SCALAR_BITS):
        return masses * inverse * nudge, arb(kappa) - arb(inverse).log()


NODES: Final = 5
QUADRATURE_ERROR: Final = 2e-14
PANEL_LIMIT: Final = 0.25
MAX_PANELS: Final = 1 << 21
BLOCK_PANELS: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Panels:
    """All quadrature nodes of all cells, panel by panel; what is computed of them is not kept: it may be large."""

    cell: NDArray[np.intp]
    counts: NDArray[np.intp]
    width: Floats
    position: NDArray[np.intp] | None  # of each panel in its cell; None where every cell is one panel

    @property
    def from_left(self) -> Floats:
        """Distances of the nodes from the left end of the cell, panels x NODES."""
        return self._scaled(self.position, unit_rule(NODES)[0])

    @property
    def from_right(self) -> Floats:
        """Distances of the nodes from the right end of the cell."""
        behind = None if self.position is None else self.counts[self.cell] - 1 - self.position
        return self._scaled(behind, unit_rule(NODES)[0][::-1])

    def _scaled(self, panels: NDArray[np.intp] | None, nodes: Floats) -> Floats:
        if panels is None:
            return self.width * nodes
        distances: Floats = panels[:, None] + nodes
        distances *= self.width
        return distances

    def per_cell(self, values: Floats) -> Floats:
        """Return the integral over each cell of a function given at the nodes (shape panels x NODES)."""
        weighted = self.width * unit_rule(NODES)[1]
        weighted *= values
        panel_sums = weighted.sum(axis=1)
        if self.cell.size == self.counts.size:
            return np.asarray(panel_sums)
        return np.asarray(np.bincount(self.cell, weights=panel_sums, minlength=self.counts.size), dtype=np.float64)


def blocks(widths: Floats, steepness: Floats) -> list[slice]:
    """Return runs of cells with about `BLOCK_PANELS` panels each: integrated one after the other they need no more."""
    number = np.maximum(_panel_counts(widths, steepness), 1)
    starts = np.flatnonzero(np.diff(np.cumsum(number) // BLOCK_PANELS, prepend=-1))
    return [slice(int(a), int(b)) for a, b in itertools.pairwise((*starts, widths.size))]


def _panel_counts(widths: Floats, steepness: Floats) -> Floats:
    counts = np.ceil(widths * steepness / (PANEL_LIMIT * (1 - 1e-9)))
    total = float(counts.sum())
    if not total <= MAX_PANELS:
        raise CannotCertifyError(
            f"a step of this kind needs {total:.3g} quadrature panels, more than {MAX_PANELS}: use fewer points"
        )
    return np.asarray(counts)


def panels(widths: Floats, steepness: Floats) -> Panels:
    """Divide cells so that (panel width) * steepness <= 1/4; steepness is |v| + D + 2 mu + 4 of the header."""
    number = np.maximum(_panel_counts(widths, steepness), 1).astype(np.intp)
    if int(number.max()) == 1:
        return Panels(np.arange(number.size), number, widths[:, None], None)
    cell = np.repeat(np.arange(number.size), number)
    position = np.arange(cell.size) - np.repeat(np.cumsum(number) - number, number)
    return Panels(cell, number, (widths[cell] / number[cell])[:, None], position)


@functools.lru_cache(maxsize=4)
def unit_rule(number: int) -> tuple[Floats, Floats]:
    """Return nodes and weights on [0, 1], correctly rounded from balls; nodes are symmetric about 1/2."""
    with arb_precision(120):
        roots = [arb.legendre_p_root(number, number - 1 - k, weight=True) for k in range(number)]
        nodes = np.array([float((1 + root) / 2) for root, _ in roots])
        weights = np.array([float(weight / 2) for _, weight in roots])
    return nodes, weights
