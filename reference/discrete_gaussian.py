r"""Exact discrete Gaussian noise, for releases that must not rely on binary64.

Sampled from integers alone after Canonne, Kamath and Steinke (arXiv:2004.00010v5, Algorithms 1 to 3): every
probability is exactly the rational or exponential it should be. Noise is a multiple of a power of two, and the
value it protects is rounded to that grid first (:mod:`reference.rounding`), so that sums in binary64 are exact.

Only Renyi bounds are proved for this noise (it satisfies the Gaussian's own, Theorem 4 there): the accountant
refuses profile methods for it (statement GRID).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reference.arithmetic.system import Indices, Vector
from reference.errors import InvalidParameter
from reference.randomness import Entropy, require_noise
from reference.rounding import require_exact_multiples

RandomBelow = Callable[[int], int]


def bernoulli(probability: Fraction, below: RandomBelow) -> bool:
    """True with exactly this rational probability."""
    return below(probability.denominator) < probability.numerator


def bernoulli_exp(gamma: Fraction, below: RandomBelow) -> bool:
    """True with probability exactly e^{-gamma}, gamma >= 0. CKS20 Algorithm 1."""
    while gamma > 1:
        if not _bernoulli_exp_below_one(Fraction(1), below):
            return False
        gamma -= 1
    return _bernoulli_exp_below_one(gamma, below)


def _bernoulli_exp_below_one(gamma: Fraction, below: RandomBelow) -> bool:
    k = 1
    while bernoulli(gamma / k, below):
        k += 1
    return k % 2 == 1


def discrete_laplace(scale: int, below: RandomBelow) -> int:
    """An integer y with probability proportional to e^{-|y|/scale}. CKS20 Algorithm 2."""
    while True:
        u = below(scale)
        if not bernoulli_exp(Fraction(u, scale), below):
            continue
        v = 0
        while bernoulli_exp(Fraction(1), below):
            v += 1
        magnitude, negative = u + scale * v, bernoulli(Fraction(1, 2), below)
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def discrete_gaussian(variance: Fraction, below: RandomBelow) -> int:
    """An integer y with probability proportional to e^{-y^2/(2 variance)}. CKS20 Algorithm 3."""
    scale = math.isqrt(variance.numerator // variance.denominator) + 1
    while True:
        y = discrete_laplace(scale, below)
        if bernoulli_exp((abs(y) - variance / scale) ** 2 / (2 * variance), below):
            return y


@dataclass(frozen=True, slots=True)
class ExactEntropy:
    """Exact noise on a grid, and exactly uniform batches, both from the system's entropy."""

    grid: float
    below: RandomBelow = secrets.randbelow

    def __post_init__(self) -> None:
        if not (0 < self.grid < math.inf and math.frexp(self.grid)[0] == 0.5):
            raise InvalidParameter(f"grid must be a power of two, got grid={self.grid}")

    def batches(self, records: int, size: int, iterations: int) -> Iterator[Indices]:
        """Exactly uniform batches."""
        return Entropy().batches(records, size, iterations)

    def shuffled(self, records: int, size: int, iterations: int) -> Iterator[Indices]:
        """Epochs, each in an order that nobody can repeat."""
        return Entropy().shuffled(records, size, iterations)

    def noise(self, dimension: int, sigma: float, iterations: int) -> Iterator[Vector]:
        """Multiples of the grid, exactly N_Z(0, (sigma/grid)^2) each."""
        require_noise(dimension, sigma, iterations)
        variance = (Fraction(sigma) / Fraction(self.grid)) ** 2
        if not variance:
            return (np.zeros(dimension) for _ in range(iterations))
        return (self._vector(dimension, variance) for _ in range(iterations))

    def _vector(self, dimension: int, variance: Fraction) -> Vector:
        multiples = np.array([discrete_gaussian(variance, self.below) for _ in range(dimension)], dtype=np.float64)
        require_exact_multiples(multiples, self.grid)
        return self.grid * multiples
