r"""A discrete Fourier transform in float64 with a proved error bound.

Binary floats live here, under a bound. The transform is written out (four steps, each a Stockham pass of radix 2) so
that the proof speaks of the operations performed and not of a library; it is as fast as needed because every
inner loop is long.

Proof. Let u = 2^-53. A complex product of floats is off by at most 2.83 u |a||b| (each part is a sum of two rounded
products, with or without fused multiply-add: error <= 2u(1+u)(|ac|+|bd|), and Cauchy-Schwarz gives sqrt 2), a sum
by u |a+b|. A twiddle factor taken from arb is off by 0.71 u; one of the N of the middle step is a
product of two such, off by 4.3 u. So a butterfly (a+b, w(a-b)) is off by at most 4.6 u, relative to what
stands in it, in the Euclidean norm (the exact butterfly is sqrt 2 times unitary) and also when every magnitude is
replaced by the sum of the magnitudes of the inputs that reach it (each reaches each output along one path).
`BUTTERFLY` = 5 u and `MIDDLE` = 8 u leave room for the second-order terms. With L = log2 N,

    e(N) = (1+5u)^L (1+8u) - 1,    |computed - exact|_max <= e(N) |x|_1,    |computed - exact|_2 <= e(N) sqrt(N) |x|_2.

Underflow (gradual or flushed) adds at most 2^-1022 an operation; `UNDERFLOW` covers N L of them for N <= 2^24.
The powers multiply m magnitudes at most 1, so they add a factor (1+3u)^(m-1).

Convolution of two real sequences by complex transforms of half the length, with a proved error bound.

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
from collections.abc import Iterable
from typing import Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from accountant.errors import CannotCertifyError, InvalidQuantityError
from accountant.numbers import arb_precision
from accountant.pld.certified_floats import SCALAR_BITS, UNIT_ROUNDOFF, Floats, float_above

Complexes = NDArray[np.complex128]

BUTTERFLY: Final = 5 * UNIT_ROUNDOFF
MIDDLE: Final = 8 * UNIT_ROUNDOFF
PRODUCT: Final = 3 * UNIT_ROUNDOFF
UNDERFLOW: Final = 2.0**-980
MAX_LENGTH: Final = 1 << 22
_TWIDDLE_BITS: Final = 120


def transform_error(length: int) -> float:
    """Return e(N), rounded up: the relative error of one transform in both norms of the header."""
    stages = _stages(length)
    return float(np.expm1(stages * BUTTERFLY + MIDDLE)) * (1 + 1e-9)


def forward(x: Floats | Complexes) -> Complexes:
    r"""Return sum_n x_n e^{-2 pi i nk/N} within `transform_error(N)`; N is a power of two, 4 <= N <= 2^22."""
    length = x.shape[0]
    rows, columns, middle = _plan(length)
    grid = _columns_transformed(np.asarray(x, dtype=np.complex128).reshape(rows, columns), _roots(rows))
    grid *= middle
    turned = np.ascontiguousarray(grid.T)
    return _columns_transformed(turned, _roots(columns)).reshape(length)


def inverse_real(x: Complexes) -> Floats:
    r"""Return the real part of `inverse_complex`."""
    real: Floats = inverse_complex(x).real
    return real


def inverse_complex(x: Complexes) -> Complexes:
    r"""Return (1/N) sum_k x_k e^{2 pi i nk/N}: same relative error, for conj and 1/N are exact."""
    result: Complexes = np.conj(forward(np.conj(x)))
    result /= x.shape[0]
    return result


def powers_product(factors: Iterable[tuple[Complexes, int]]) -> Complexes:
    r"""Return the product of factor^exponent, elementwise, by repeated squaring; one factor is held at a time.

    Off by at most (1+3u)^(m-1) - 1 relatively, m the sum of the exponents: an error r(k) of the k-th power obeys
    r(j+k) = (1+r(j))(1+r(k))(1+3u) - 1, and so does (1+3u)^(k-1) - 1.
    """
    result: Complexes | None = None
    for base, exponent in factors:
        square, remaining = base, exponent
        while remaining:
            if remaining & 1:
                result = square if result is None else result * square
            remaining >>= 1
            if remaining:
                square = square * square
    if result is None:
        raise InvalidQuantityError("powers_product needs at least one factor with a positive exponent")
    return result


def _stages(length: int) -> int:
    if length < 4 or length > MAX_LENGTH or length & (length - 1):
        raise InvalidQuantityError(f"length must be a power of two in [4, {MAX_LENGTH}], got length={length}")
    return length.bit_length() - 1


def _columns_transformed(x: Complexes, roots: Complexes) -> Complexes:
    """Return the transform along axis 0 of every column (Stockham: sorted without a permutation)."""
    rows, columns = x.shape
    source = x.reshape(-1)
    buffers = (np.empty_like(source), np.empty_like(source))
    half, run = rows // 2, columns
    for stage in range(rows.bit_length() - 1):
        target = buffers[stage % 2]
        pair = source.reshape(2, half, run)
        out = target.reshape(half, 2, run)
        np.add(pair[0], pair[1], out=out[:, 0, :])
        np.subtract(pair[0], pair[1], out=out[:, 1, :])
        if half > 1:
            out[:, 1, :] *= roots[:: rows // (2 * half), None]
        source, half, run = target, half // 2, run * 2
    return source.reshape(rows, columns)


@functools.lru_cache(maxsize=32)
def _roots(rows: int) -> Complexes:
    r"""Return e^{-2 pi i k/rows} for k < rows/2, each part correctly rounded from a ball of 120 bits."""
    with arb_precision(_TWIDDLE_BITS):
        return _roots_at(range(rows // 2), rows)


@functools.lru_cache(maxsize=8)
def _plan(length: int) -> tuple[int, int, Complexes]:
    """Return rows, columns and the middle twiddle factors e^{-2 pi i ab/N}, each a product of two tabulated ones."""
    stages = _stages(length)
    rows, columns = 1 << (stages // 2), 1 << (stages - stages // 2)
    with arb_precision(_TWIDDLE_BITS):
        fine = _roots_at(range(columns), length)
        coarse = _roots_at(range(0, length, columns), length)
    exponent = np.outer(np.arange(rows), np.arange(columns))
    return rows, columns, coarse[exponent // columns] * fine[exponent % columns]


def _roots_at(exponents: range, order: int) -> Complexes:
    angles = [arb(-2 * k) / order for k in exponents]
    return np.array([complex(float(a.cos_pi()), float(a.sin_pi())) for a in angles], dtype=np.complex128)


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
