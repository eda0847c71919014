r"""exp and expm1 on float64 arrays with a proved relative error.

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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

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
