r"""Balls that contain the exact value and everything binary64 could have computed in its place.

A plain interval arithmetic encloses the exact result. Here every operation is also widened by the rounding that
IEEE 754 permits, so that one ball holds *both* the exact value and the result of every binary64 evaluation:

* ``+ - * / sqrt``: a relative error of at most :math:`u = 2^{-53}`, plus half the least subnormal for underflow;
* ``exp, log1p``: at most 4 units in the last place (numpy's vector library promises that, glibc less than 1);
* sums and products of n terms, *in any order, with or without fused multiply-add*: at most
  :math:`\gamma_n \sum |a_i b_i|` with :math:`\gamma_n = n u / (1 - n u)` (Higham 2002, section 3.1).

The width of the ball is thus a proven tolerance for a port of the reference, whatever its summation order.
Overflow is not modelled: a ball that is not finite is reported by ``all_finite``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import cast

import numpy as np
from flint import arb
from numpy.typing import NDArray

from reference.arithmetic.elementwise import elementwise
from reference.arithmetic.system import Vector

UNIT_ROUNDOFF = arb(2) ** -53
UNDERFLOW = arb(0, arb(2) ** -1074)


class Ball:
    """One such enclosure."""

    __slots__ = ("arb",)

    def __init__(self, enclosure: arb) -> None:
        self.arb = enclosure

    def __add__(self, other: object) -> Ball:
        return _operation(operator.add, self, other)

    def __sub__(self, other: object) -> Ball:
        return _operation(operator.sub, self, other)

    def __mul__(self, other: object) -> Ball:
        return _operation(operator.mul, self, other)

    def __truediv__(self, other: object) -> Ball:
        return _operation(operator.truediv, self, other)

    def __rsub__(self, other: object) -> Ball:
        return _operation(lambda a, b: b - a, self, other)

    def __rtruediv__(self, other: object) -> Ball:
        return _operation(lambda a, b: b / a, self, other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Ball:
        return Ball(-self.arb)

    def __abs__(self) -> Ball:
        return Ball(abs(self.arb))

    def __repr__(self) -> str:
        return f"Ball({self.arb})"

    def contains(self, value: arb) -> bool:
        """Whether the enclosure certainly contains every point of ``value``."""
        return bool(self.arb.contains(value))


def _operation(exact: Callable[[arb, arb], arb], ball: Ball, other: object) -> Ball:
    """One operation, rounded; an array is left to numpy, which comes back element by element."""
    if isinstance(other, np.ndarray):
        return cast(Ball, NotImplemented)
    return rounded(exact(ball.arb, to_arb(other)))


def to_arb(value: object) -> arb:
    """An operand as an arb: a ball's own, or a Python number exactly."""
    if isinstance(value, Ball):
        return value.arb
    if isinstance(value, (int, float)):
        return arb(value)
    raise TypeError(f"a ball meets balls and Python numbers, got {value!r} of type {type(value).__name__}")


def rounded(exact: arb, units: int = 1) -> Ball:
    """Widen an enclosure of the exact result by ``units`` of relative rounding, and by underflow; 0 is exact."""
    if exact.is_zero():
        return Ball(exact)
    return Ball(exact * arb(1, units * UNIT_ROUNDOFF) + UNDERFLOW)


def rounded_sum(terms: list[arb]) -> Ball:
    """A sum of products as any summation order of binary64 may compute it."""
    terms = [term for term in terms if not term.is_zero()]  # adding 0 does not round
    n = len(terms)
    exact, magnitude = arb(0), arb(0)
    for term in terms:
        exact += term
        magnitude += abs(term)
    gamma = n * UNIT_ROUNDOFF / (1 - n * UNIT_ROUNDOFF)
    return Ball(exact + arb(0, 1) * (gamma * magnitude) + n * UNDERFLOW)


def _square_root(square: arb) -> arb:
    """An enclosure of the square roots of what is not negative, where the ball itself may reach below 0."""
    if square > 0:
        return square.sqrt()
    return arb(0).union(square.upper().max(arb(0)).sqrt())


def _greater(a: object, b: object) -> bool | None:
    x, y = to_arb(a), to_arb(b)
    if x > y:
        return True
    return False if x <= y else None


def _where(mask: bool | None, a: object, b: object) -> Ball:
    if mask is None:
        return Ball(to_arb(a).union(to_arb(b)))
    return Ball(to_arb(a if mask else b))


class Balls:
    """The number system of such enclosures."""

    name = "balls"

    def scalar(self, value: float) -> float:
        """A parameter, exactly."""
        return cast(float, Ball(to_arb(value)))

    def array(self, values: Vector) -> Vector:
        """float64 values, exactly."""
        return elementwise(lambda v: Ball(arb(float(v))), values)

    def greater(self, a: Vector, b: Vector | float) -> NDArray[np.bool_]:
        """Whether ``a > b``: True, False, or None where the balls overlap."""
        return np.asarray(elementwise(_greater, a, b), dtype=object)

    def where(self, mask: NDArray[np.bool_], a: Vector | float, b: Vector | float) -> Vector:
        """``a`` or ``b``; the hull of both where the mask is not certain."""
        return elementwise(_where, mask, a, b)

    def maximum(self, a: Vector, b: Vector | float) -> Vector:
        """The larger of two values."""
        return elementwise(lambda s, t: Ball(to_arb(s).max(to_arb(t))), a, b)

    def minimum(self, a: Vector, b: Vector | float) -> Vector:
        """The smaller of two values."""
        return elementwise(lambda s, t: Ball(to_arb(s).min(to_arb(t))), a, b)

    def absolute(self, a: Vector) -> Vector:
        """The absolute value: no rounding."""
        return elementwise(abs, a)

    def sqrt(self, a: Vector) -> Vector:
        """The square root, of the non-negative part: what is enclosed here is a sum of squares."""
        return elementwise(lambda v: rounded(_square_root(to_arb(v))), a)

    def exp(self, a: Vector) -> Vector:
        """The exponential to within 4 ulp."""
        return elementwise(lambda v: rounded(to_arb(v).exp(), units=8), a)

    def log1p(self, a: Vector) -> Vector:
        """The logarithm of one plus its argument, to within 4 ulp."""
        return elementwise(lambda v: rounded(to_arb(v).log1p(), units=8), a)

    def matmul(self, a: Vector, b: Vector) -> Vector:
        """A matrix-vector or vector-matrix product, summed in any order."""
        rows = a if a.ndim == 2 else b.T
        vector = b if a.ndim == 2 else a
        products = [[to_arb(s) * to_arb(t) for s, t in zip(row, vector, strict=True)] for row in rows]
        return elementwise(lambda i: rounded_sum(products[i]), np.arange(len(products)))

    def sum(self, a: Vector) -> Vector:
        """The sum over the last axis, in any order."""
        rows = a.reshape(-1, a.shape[-1])
        sums = elementwise(lambda i: rounded_sum([to_arb(v) for v in rows[i]]), np.arange(len(rows)))
        return sums.reshape(a.shape[:-1])

    def norm(self, a: Vector) -> Vector:
        """The Euclidean norm over the last axis; scaling by powers of two does not round."""
        return self.sqrt(self.sum(a * a))

    def all_finite(self, a: Vector) -> bool:
        """Whether every ball is bounded."""
        return all(to_arb(v).is_finite() for v in a.flat)


BALLS = Balls()
