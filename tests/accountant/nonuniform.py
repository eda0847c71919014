"""Fourier sums over points that lie anywhere, by smearing them over a grid: for the inversion oracle."""

from __future__ import annotations

import functools
import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Complexes = NDArray[np.complex128]
Floats = NDArray[np.float64]

WIDTH: Final = 14
DECAY: Final = 2.3 * WIDTH
"""The kernel e^{b(sqrt(1-x^2)-1)} of this width on a grid twice as fine leaves about 1e-13 (tested)."""


@functools.cache
def gauss(nodes: int) -> tuple[Floats, Floats]:
    """Return the Gauss-Legendre rule on [-1, 1]."""
    points, weights = np.polynomial.legendre.leggauss(nodes)
    return np.asarray(points), np.asarray(weights)


def nonuniform_transform(angles: Floats, weights: Floats, size: int) -> Complexes:
    r"""Return sum_j w_j e^{i k a_j} for k = 0, ..., size-1, to about 1e-13 of sum |w|."""
    fine = 1 << max(6, math.ceil(math.log2(2 * size)))
    position = np.mod(angles, 2 * math.pi) * (fine / (2 * math.pi))
    centred = weights * np.exp(1j * angles * (size // 2))
    first = np.floor(position - WIDTH / 2).astype(np.int64) + 1
    grid = np.zeros(fine, dtype=np.complex128)
    for offset in range(WIDTH):
        x = (first + offset - position) * (2 / WIDTH)
        spread = centred * np.exp(DECAY * (np.sqrt(np.maximum(1 - x * x, 0.0)) - 1))
        index = (first + offset) % fine
        grid += np.bincount(index, spread.real, fine) + 1j * np.bincount(index, spread.imag, fine)
    frequency = np.arange(size) - size // 2
    return np.asarray((np.fft.ifft(grid) * fine)[frequency % fine] / _kernel_transform(frequency / fine))


def _kernel_transform(frequency: Floats) -> Floats:
    """Return the transform of the kernel, a smooth function: interpolated at Chebyshev points."""
    points, rule = gauss(60)
    shape = rule * np.exp(DECAY * (np.sqrt(1 - points**2) - 1)) * (WIDTH / 2)
    knots = np.polynomial.chebyshev.chebpts2(65) * 0.25
    values = np.cos(np.multiply.outer(knots, math.pi * WIDTH * points)) @ shape
    return np.asarray(np.polynomial.chebyshev.Chebyshev.fit(knots, values, 64)(frequency))
