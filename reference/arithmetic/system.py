"""What a number system offers, and the types of arrays whose elements belong to some system."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

# An array of numbers of *some* system. numpy's static types know no "array of mpf", so the alias names the one
# that is shipped; the other systems enter through `NumberSystem.array`, the only place that casts.
Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]
Scalar: TypeAlias = float
Mask: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.intp]


class NumberSystem(Protocol):
    """What the paper's formulas need beyond ``+ - * /``."""

    @property
    def name(self) -> str:
        """How a report calls this number system."""

    def scalar(self, value: Scalar) -> Scalar:
        """A parameter as a number of this system, exactly."""

    def array(self, values: NDArray[np.float64]) -> Vector:
        """float64 values as an array of this system, exactly."""

    def greater(self, a: Vector, b: Vector | Scalar) -> Mask:
        """Where ``a > b``; a ball comparison that is not certain is neither true nor false."""

    def where(self, mask: Mask, a: Vector | Scalar, b: Vector | Scalar) -> Vector:
        """``a`` where the mask holds, else ``b``; the hull of both where it is not certain."""

    def maximum(self, a: Vector, b: Vector | Scalar) -> Vector:
        """The larger of two values."""

    def minimum(self, a: Vector, b: Vector | Scalar) -> Vector:
        """The smaller of two values."""

    def absolute(self, a: Vector) -> Vector:
        """The absolute value."""

    def sqrt(self, a: Vector) -> Vector:
        """The square root."""

    def exp(self, a: Vector) -> Vector:
        """The exponential."""

    def log1p(self, a: Vector) -> Vector:
        """The logarithm of one plus its argument."""

    def matmul(self, a: Matrix, b: Vector) -> Vector:
        """The product of a matrix with a vector, or of a vector with a matrix."""

    def sum(self, a: Vector) -> Vector:
        """The sum over the last axis."""

    def norm(self, a: Vector) -> Vector:
        """The Euclidean norm over the last axis; no overflow unless the norm itself overflows."""

    def all_finite(self, a: Vector) -> bool:
        """Whether every entry is a number."""
