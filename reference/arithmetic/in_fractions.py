"""Rational numbers (``fractions.Fraction``): exact, so that values can be compared for equality with those of Coq.

There are no roots, exponentials or logarithms; what needs them is refused.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic.elementwise import elementwise
from reference.errors import NotExpressible

Array = NDArray[np.float64]


def _number(value: object) -> Fraction:
    """A rational as it is, a Python float as the rational it is."""
    return Fraction(cast(float, value))


def _refuse(a: Array) -> NoReturn:  # noqa: ARG001 - refused whatever the argument
    raise NotExpressible("rationals have no roots, exponentials or logarithms")


class Fractions:
    """The number system of rationals."""

    name = "fractions"

    sqrt = staticmethod(_refuse)
    exp = staticmethod(_refuse)
    log1p = staticmethod(_refuse)
    norm = staticmethod(_refuse)

    def scalar(self, value: float) -> float:
        """A parameter, exactly."""
        return cast(float, _number(value))

    def array(self, values: Array) -> Array:
        """float64 values, or rationals, exactly."""
        return elementwise(_number, values)

    def greater(self, a: Array, b: Array | float) -> NDArray[np.bool_]:
        """Where ``a > b``."""
        return elementwise(lambda s, t: s > t, a, b).astype(np.bool_)

    def where(self, mask: NDArray[np.bool_], a: Array | float, b: Array | float) -> Array:
        """``a`` where the mask holds, else ``b``."""
        return elementwise(lambda c, s, t: _number(s if c else t), mask, a, b)

    def maximum(self, a: Array, b: Array | float) -> Array:
        """The larger of two values."""
        return elementwise(lambda s, t: _number(max(s, t)), a, b)

    def minimum(self, a: Array, b: Array | float) -> Array:
        """The smaller of two values."""
        return elementwise(lambda s, t: _number(min(s, t)), a, b)

    def absolute(self, a: Array) -> Array:
        """The absolute value."""
        return elementwise(abs, a)

    def matmul(self, a: Array, b: Array) -> Array:
        """The product of a matrix with a vector, or of a vector with a matrix."""
        return a @ b

    def sum(self, a: Array) -> Array:
        """The sum over the last axis."""
        return np.asarray(np.sum(a, axis=-1), dtype=object)

    def all_finite(self, a: Array) -> bool:
        """Whether every entry is a rational: a float would be a rounding that nobody asked for."""
        return all(isinstance(element, Fraction) for element in a.flat)


FRACTIONS = Fractions()
