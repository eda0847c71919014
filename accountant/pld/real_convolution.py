r"""Convolution of two real sequences by complex transforms of half the length, with a proved error bound.

Binary floats live here, under a bound. Real polynomials modulo X^N + 1 are complex polynomials modulo X^{N/2} - i: put
X^{N/2} = i. With w = e^{i pi/N}, X = w Y, they are polynomials modulo Y^{N/2} - 1, where a discrete Fourier transform
multiplies. So a real sequence a of N terms becomes z_k = (a_k + i a_{k+N/2}) w^k, k < N/2, and the product of two
sequences whose supports together need at most N terms has nothing to wrap around.

Error. |z_k| is at most |a_k| + |a_{k+N/2}|, so |z|_1 <= |a|_1. w^k is a product of two numbers that are correctly
rounded from balls: off by 2.83 u + 2 * 0.71 u (`certified_fft`), and the product with it by 2.83 u, less than 8 u
together; so the transform of a is off by at most (e(N/2)(1 + 8u) + 8u) |a|_1 at each frequency. On the way back
the same holds in the Euclidean norm. `real_transform_error` covers both: the bound on a product is then that of
`certified_fft`, with e(N) replaced by it.
"""

from __future__ import annotations

import functools
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision
from accountant.pld.certified_exp import UNIT_ROUNDOFF, Floats
from accountant.pld.certified_fft import (
    PRODUCT,
    UNDERFLOW,
    Complexes,
    forward,
    inverse_complex,
    transform_error,
)
from accountant.pld.rounding import SCALAR_BITS, float_above

_TWIST: Final = 8 * UNIT_ROUNDOFF
_BITS: Final = 120
_ROOM: Final = 1 + 1e-9


def real_transform_error(length: int) -> float:
    """Return the relative error of `transformed` and of `product` on the way back, for sequences of `length` terms."""
    return (transform_error(length // 2) * (1 + _TWIST) + _TWIST) * _ROOM


def transformed(values: Floats, length: int) -> Complexes:
    """Return the transform of a sequence, padded with zeros to `length` terms."""
    if values.size > length:
        raise CannotCertifyError(f"{values.size} terms do not fit a transform of {length}")
    half = length // 2
    pairs = np.zeros((2, half))
    pairs.reshape(-1)[: values.size] = values
    z = np.empty(half, dtype=np.complex128)
    z.real, z.imag = pairs
    z *= _twist(length)
    return forward(z)


def product(first: Complexes, second: Complexes) -> Floats:
    """Return the convolution of two sequences given by their transforms."""
    half = first.size
    z = inverse_complex(first * second)
    z *= np.conj(_twist(2 * half))
    return np.concatenate([z.real, z.imag])


def product_error(first: float, second: float, length: int) -> float:
    """Return a bound on the Euclidean error of `product` for sequences of these sums of magnitudes, rounded up."""
    with arb_precision(SCALAR_BITS):
        e, mass = arb(real_transform_error(length)), arb(first) * arb(second)
        at_frequency = mass * (2 * e + e * e + arb(2 * PRODUCT)) * (1 + arb(PRODUCT)) + arb(UNDERFLOW)
        return float_above(at_frequency + e * (mass + at_frequency) + arb(UNDERFLOW))


@functools.lru_cache(maxsize=8)
def _twist(length: int) -> Complexes:
    r"""Return e^{i pi k/length}, k < length/2, each a product of two tabulated ones."""
    columns = 1 << ((length // 2).bit_length() // 2)
    with arb_precision(_BITS):
        coarse = _units([arb(k) / length for k in range(0, length // 2, columns)])
        fine = _units([arb(k) / length for k in range(columns)])
    return (coarse[:, None] * fine).reshape(-1)


def _units(angles: list[arb]) -> Complexes:
    """Return e^{i pi angle}, each part correctly rounded from a ball."""
    return np.array([complex(float(a.cos_pi()), float(a.sin_pi())) for a in angles], dtype=np.complex128)
