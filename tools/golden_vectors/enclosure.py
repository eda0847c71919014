r"""Enclosures of what binary64 may compute: sharper than the reference's balls, for the tolerance of a port.

Like :mod:`reference.arithmetic.in_balls`, a :class:`Real` holds the exact value of an expression *and* the result of
every binary64 evaluation of it: each operation is widened by u = 2^-53 of its size and by the least subnormal. Two
things are added, so that edge cases get tolerances that are worth having:

* an operation whose operands are single numbers and whose exact result is a binary64 does not round (IEEE 754 rounds
  correctly), so a case in round numbers keeps its bits through whole iterations;
* a comparison that is not certain forks the computation (:func:`forked`), and the hull of both outcomes is taken, each
  computed as if it were the one: no stand-in value of the other outcome enters.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

from flint import arb

UNIT = arb(2) ** -53
SUBNORMAL = arb(0, arb(2) ** -1074)
_MANTISSA, _LEAST, _BEYOND, _FEW = 53, -1074, 1024, 5


class Real:
    """One enclosure."""

    __slots__ = ("ball",)

    def __init__(self, ball: arb) -> None:
        self.ball = ball

    @classmethod
    def of(cls, value: float) -> Real:
        """A binary64, exactly."""
        return cls(arb(float(value)))

    @property
    def is_zero(self) -> bool:
        """Whether it is 0 and nothing else."""
        return bool(self.ball.is_zero())

    def __add__(self, other: Real) -> Real:
        if self.is_zero or other.is_zero:  # adding 0 does not round
            return self if other.is_zero else other
        return rounded(self.ball + other.ball)

    def __sub__(self, other: Real) -> Real:
        return self + (-other)

    def __mul__(self, other: Real) -> Real:
        return rounded(self.ball * other.ball)

    def __truediv__(self, other: Real) -> Real:
        return rounded(self.ball / other.ball)

    def __neg__(self) -> Real:
        return Real(-self.ball)

    def __abs__(self) -> Real:
        return Real(abs(self.ball))

    def positive_part(self) -> Real:
        """max(self, 0): no rounding."""
        return Real(self.ball.max(arb(0)))

    def exp(self) -> Real:
        """To within 4 units in the last place; the exponential of 0 is 1 (C11, F.10.3.1)."""
        return Real(arb(1)) if self.is_zero else widened(self.ball.exp(), 8)

    def loose(self, units: int) -> Real:
        """The same, computed in some way that makes at most so many roundings more."""
        return self if self.is_zero else widened(self.ball, units)


ZERO, ONE = Real(arb(0)), Real(arb(1))


def is_binary64(ball: arb) -> bool:
    """Whether a ball is one number, and that number a finite binary64."""
    if not ball.is_exact():
        return False
    mantissa, exponent = (int(part) for part in ball.man_exp())
    bits = abs(mantissa).bit_length()
    return mantissa == 0 or (bits <= _MANTISSA and exponent >= _LEAST and bits + exponent <= _BEYOND)


def rounded(ball: arb) -> Real:
    """The result of one correctly rounded operation."""
    return Real(ball) if is_binary64(ball) else widened(ball, 1)


def widened(ball: arb, units: int) -> Real:
    """A relative error of at most so many u, and underflow; what may overflow is no number."""
    return _representable(ball * arb(1, units * UNIT) + SUBNORMAL)


def _representable(ball: arb) -> Real:
    return Real(ball if ball.abs_upper() < arb(2) ** _BEYOND else arb.nan())


def hull(*forms: Real) -> Real:
    """What contains the result of every form."""
    first, *others = (form.ball for form in forms)
    for other in others:
        if not (first.is_exact() and other.is_exact() and first == other):
            first = first.union(other)
    return Real(first)


def total(terms: Iterable[Real], roundings_a_term: int = 0) -> Real:
    r"""A sum in any order, fused or not: error at most gamma_k sum |terms|, k the roundings that a term meets.

    Higham 2002, section 3.1. ``roundings_a_term`` counts those of its own, before the additions.
    """
    balls = [term.ball for term in terms if not term.is_zero]
    if not balls:
        return ZERO
    exact, size = arb(0), arb(0)
    for ball in balls:
        exact += ball
        size += abs(ball)
    if _sums_are_exact(balls, size):
        return Real(exact)
    k = len(balls) - 1 + roundings_a_term
    gamma = k * UNIT / (1 - k * UNIT)
    if not size < arb(2) ** _BEYOND:  # a partial sum may overflow, in some order
        return Real(arb.nan())
    return _representable(exact + arb(0, 1) * (gamma * size) + len(balls) * SUBNORMAL)


def _sums_are_exact(balls: Sequence[arb], size: arb) -> bool:
    """Whether every partial sum is a binary64, in whatever order: each is the sum of a subset.

    Of few terms all subsets are tried; of many it suffices that they are multiples of one unit, of few bits together.
    """
    if not all(is_binary64(ball) for ball in balls):
        return False
    if len(balls) <= _FEW:
        subsets = (itertools.combinations(balls, size) for size in range(2, len(balls) + 1))
        return all(is_binary64(sum(subset, arb(0))) for subset in itertools.chain(*subsets))
    unit = min(_lowest_bit(ball) for ball in balls)
    return bool(size < arb(2) ** (unit + _MANTISSA)) and bool(size < arb(2) ** _BEYOND)


def _lowest_bit(ball: arb) -> int:
    mantissa, exponent = (int(part) for part in ball.man_exp())
    return exponent + (mantissa & -mantissa).bit_length() - 1


def dot(left: Sequence[Real], right: Sequence[Real]) -> Real:
    """An inner product in any order, fused or not."""
    products = [Real(a.ball * b.ball) for a, b in zip(left, right, strict=True)]
    return total(products, roundings_a_term=1)


def norm(values: Sequence[Real]) -> Real:
    """A Euclidean length without overflow or underflow on the way: scaled, by repeated hypot, or in any other order.

    n squares and n - 1 additions under a root make n/2 + 1 roundings, scaling by the largest 2 more each; n - 1
    calls of hypot within 1 unit in the last place make 2(n-1). Both are at most 2n + 4.
    """
    entries = [value.ball for value in values if not value.is_zero]
    if not entries:
        return ZERO
    square = arb(0)
    for entry in entries:
        square += entry * entry
    root = square.sqrt() if square > 0 else arb(0).union(square.upper().max(arb(0)).sqrt())
    return widened(root, 2 * len(entries) + 4)


class Decisions:
    """Answers comparisons: the certain ones truly, the others along one path of a fork."""

    def __init__(self, path: list[bool]) -> None:
        self._path = path
        self._taken = 0

    def greater(self, a: Real, b: Real) -> bool:
        """Whether a > b."""
        if a.ball > b.ball:
            return True
        if a.ball <= b.ball:
            return False
        if self._taken == len(self._path):
            self._path.append(True)
        self._taken += 1
        return self._path[self._taken - 1]


def forked(compute: Callable[[Decisions], Real]) -> Real:
    """The hull over every way in which the uncertain comparisons may turn out."""
    outcomes: list[Real] = []
    path: list[bool] = []
    while True:
        outcomes.append(compute(Decisions(path)))
        while path and not path[-1]:
            path.pop()
        if not path:
            return hull(*outcomes)
        path[-1] = False
