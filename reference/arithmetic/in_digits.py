"""mpmath numbers of any precision, in a private context: the global one is never touched."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic.elementwise import ObjectSums, elementwise
from reference.arithmetic.system import Vector
from reference.errors import NotExpressible, require_count

if TYPE_CHECKING:
    from mpmath import MPContext, mpf


@functools.cache
def _context(decimals: int) -> MPContext:
    from mpmath import MPContext  # noqa: PLC0415 - mpmath only where it is asked for

    context = MPContext()
    context.dps = decimals
    return context


@dataclass(frozen=True, slots=True)
class Digits(ObjectSums):
    """Real arithmetic rounded to ``context.dps`` decimal digits."""

    context: MPContext

    @classmethod
    def with_digits(cls, decimals: int) -> Digits:
        """The number system of so many decimal digits."""
        require_count("decimals", decimals)
        return cls(_context(decimals))

    @classmethod
    def of(cls, element: object) -> Digits:
        """The number system that an element belongs to."""
        context = getattr(type(element), "context", None)
        if context is None:
            raise NotExpressible(f"no number system for elements of type {type(element).__name__}")
        return cls(context)

    @property
    def name(self) -> str:
        """How a report calls this number system."""
        return f"{self.context.dps} digits"

    def scalar(self, value: float) -> float:
        """A parameter, exactly."""
        return cast(float, self._number(value))

    def array(self, values: Vector) -> Vector:
        """float64 values, exactly."""
        return elementwise(self._number, values)

    def greater(self, a: Vector, b: Vector | float) -> NDArray[np.bool_]:
        """Where ``a > b``."""
        return elementwise(lambda s, t: s > t, a, b).astype(np.bool_)

    def where(self, mask: NDArray[np.bool_], a: Vector | float, b: Vector | float) -> Vector:
        """``a`` where the mask holds, else ``b``."""
        return elementwise(lambda c, s, t: self._number(s if c else t), mask, a, b)

    def maximum(self, a: Vector, b: Vector | float) -> Vector:
        """The larger of two values."""
        return elementwise(lambda s, t: self._number(max(s, t)), a, b)

    def minimum(self, a: Vector, b: Vector | float) -> Vector:
        """The smaller of two values."""
        return elementwise(lambda s, t: self._number(min(s, t)), a, b)

    def absolute(self, a: Vector) -> Vector:
        """The absolute value."""
        return elementwise(abs, a)

    def sqrt(self, a: Vector) -> Vector:
        """The square root."""
        return elementwise(self.context.sqrt, a)

    def exp(self, a: Vector) -> Vector:
        """The exponential."""
        return elementwise(self.context.exp, a)

    def log1p(self, a: Vector) -> Vector:
        """The logarithm of one plus its argument."""
        return elementwise(self.context.log1p, a)

    def norm(self, a: Vector) -> Vector:
        """The Euclidean norm over the last axis; mpmath has no overflow."""
        return self.sqrt(self.sum(a * a))

    def all_finite(self, a: Vector) -> bool:
        """Whether every entry is a number."""
        return all(self.context.isfinite(cast("mpf", element)) for element in a.flat)

    def svd(self, matrix: Vector) -> tuple[Vector, Vector, Vector]:
        """The singular value decomposition ``U diag(s) V``, of any shape."""
        rows, columns = matrix.shape
        u, s, v = self.context.svd_r(self.context.matrix(matrix.tolist()))
        rank = min(rows, columns)
        return self._array(u, rows, rank), self._array(s, rank, 1)[:, 0], self._array(v, rank, columns)

    def _number(self, value: object) -> mpf:
        """A number of this context; a binary float becomes the rational it is."""
        if isinstance(value, float):
            numerator, denominator = value.as_integer_ratio()
            return self.context.mpf(numerator) / denominator
        return self.context.mpf(cast("mpf", value))

    def _array(self, matrix: dict[tuple[int, int], mpf], rows: int, columns: int) -> Vector:
        i, j = np.indices((rows, columns))
        return elementwise(lambda a, b: matrix[a, b], i, j)
