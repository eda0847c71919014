"""Rational numbers (``fractions.Fraction``): exact, so that values can be compared for equality with those of Coq.

There are no roots, exponentials or logarithms; what needs them is refused, but for lengths that are rational.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic.elementwise import ObjectSums, elementwise
from reference.arithmetic.system import Vector
from reference.errors import NotExpressible


def _number(value: object) -> Fraction:
    """A rational as it is, a Python float as the rational it is."""
    return Fraction(cast(float, value))


def _refuse(a: Vector) -> NoReturn:  # noqa: ARG001 - refused whatever the argument
    raise NotExpressible("rationals have no roots, exponentials or logarithms")


def _root(square: Fraction) -> Fraction:
    """The square root of a rational that has a rational one."""
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if root * root != square:
        raise NotExpressible(f"rationals have no roots but those of squares, got the square root of {square}")
    return root


class Fractions(ObjectSums):
    """The number system of rationals."""

    name = "fractions"

    sqrt = staticmethod(_refuse)
    exp = staticmethod(_refuse)
    log1p = staticmethod(_refuse)

    def scalar(self, value: float) -> float:
        """A parameter, exactly."""
        return cast(float, _number(value))

    def array(self, values: Vector) -> Vector:
        """float64 values, or rationals, exactly."""
        return elementwise(_number, values)

    def greater(self, a: Vector, b: Vector | float) -> NDArray[np.bool_]:
        """Where ``a > b``."""
        return elementwise(lambda s, t: s > t, a, b).astype(np.bool_)

    def where(self, mask: NDArray[np.bool_], a: Vector | float, b: Vector | float) -> Vector:
        """``a`` where the mask holds, else ``b``."""
        return elementwise(lambda c, s, t: _number(s if c else t), mask, a, b)

    def maximum(self, a: Vector, b: Vector | float) -> Vector:
        """The larger of two values."""
        return elementwise(lambda s, t: _number(max(s, t)), a, b)

    def minimum(self, a: Vector, b: Vector | float) -> Vector:
        """The smaller of two values."""
        return elementwise(lambda s, t: _number(min(s, t)), a, b)

    def norm(self, a: Vector) -> Vector:
        """The Euclidean norm over the last axis, where it is rational."""
        return elementwise(_root, self.sum(a * a))

    def absolute(self, a: Vector) -> Vector:
        """The absolute value."""
        return elementwise(abs, a)

    def all_finite(self, a: Vector) -> bool:
        """Whether every entry is a rational: a float would be a rounding that nobody asked for."""
        return all(isinstance(element, Fraction) for element in a.flat)


FRACTIONS = Fractions()
