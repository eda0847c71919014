from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import assume, example, given
from hypothesis import strategies as st

from reference.arithmetic import FLOAT64, Vector
from reference.arithmetic.in_balls import BALLS, Ball, rounded, to_arb
from tests.reference.hostile import LEAST, finite, vectors

OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
}


def ball(value: float) -> Ball:
    return Ball(arb(value))


def holds(enclosure: object, value: float | Fraction) -> bool:
    assert isinstance(enclosure, Ball)
    exact = Fraction(value)
    with ctx.workprec(2400):
        return enclosure.contains(arb(fmpq(exact.numerator, exact.denominator)))


@pytest.mark.parametrize("name", OPERATIONS)
@given(a=finite, b=finite)
@example(a=LEAST, b=0.5)
@example(a=1.0, b=3.0)
def test_each_operation_holds_the_exact_and_the_rounded_result(name: str, a: float, b: float) -> None:
    assume(name != "truediv" or b)
    with np.errstate(all="ignore"):
        computed = float(getattr(operator, name)(np.float64(a), np.float64(b)))
    assume(math.isfinite(computed))
    enclosure = getattr(operator, name)(ball(a), ball(b))
    assert holds(enclosure, computed)
    assert holds(enclosure, OPERATIONS[name](Fraction(a), Fraction(b)))
    # Narrow: the enclosure of one operation spans a few ulp, or the underflow.
    assert float(enclosure.arb.rad()) <= 8 * 2.0**-53 * abs(computed) + 4 * LEAST


@pytest.mark.parametrize("name", ["exp", "log1p", "sqrt"])
@given(v=st.floats(-745, 700) | st.sampled_from([0.0, LEAST, -LEAST, 1e-300, 1e300, 1e-17]))
def test_each_function_holds_what_numpy_computes(name: str, v: float) -> None:
    argument = {"exp": v if abs(v) < 700 else 0.0, "log1p": abs(v), "sqrt": abs(v)}[name]
    computed = getattr(FLOAT64, name)(np.array([argument]))[0]
    assert holds(getattr(BALLS, name)(BALLS.array(np.array([argument])))[0], float(computed))


@given(vectors(6, st.floats(-1e100, 1e100)), vectors(6, st.floats(-1e100, 1e100)))
def test_sums_hold_every_order_of_summation(a: Vector, b: Vector) -> None:
    enclosure = BALLS.matmul(BALLS.array(a[None, :]), BALLS.array(b))[0]
    products = (a * b).tolist()
    assert holds(enclosure, sum(products))
    assert holds(enclosure, sum(reversed(products)))
    assert holds(enclosure, sum(sorted(products)))
    assert holds(enclosure, math.fsum(products))
    assert holds(enclosure, float(a @ b))
    assert holds(enclosure, sum((Fraction(s) * Fraction(t) for s, t in zip(a, b, strict=True)), Fraction(0)))


@pytest.mark.parametrize("n", [2, 10, 1000])
def test_sums_hold_the_worst_order_and_little_more(n: int) -> None:
    """One, and n - 1 times u, half a unit of its last place: from the left all are lost, of n u that are allowed."""
    terms = np.array([1.0] + [2.0**-53] * (n - 1))
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    assert total == 1.0
    with ctx.workprec(200):  # so that what the balls themselves round does not hide what they allow for
        enclosure = BALLS.sum(BALLS.array(terms))[()]
    assert holds(enclosure, total)
    u = Fraction(1, 2**53)
    assert not holds(enclosure, 1 + (n - 1) * u - (n + Fraction(1, 100)) * u)


@given(vectors(4, st.floats(-1e100, 1e100)))
@example(np.zeros(4))
@example(np.full(4, LEAST))
def test_norms_hold_the_scaled_one(a: Vector) -> None:
    enclosure = BALLS.norm(BALLS.array(a))[()]
    assert holds(enclosure, float(FLOAT64.norm(a)))
    assert BALLS.all_finite(np.array([enclosure]))


def test_a_root_that_reaches_below_zero_stays_finite() -> None:
    around_zero = Ball(arb(0, 1e-20))
    root = BALLS.sqrt(np.array([around_zero]))[0]
    assert holds(root, 0.0)
    assert holds(root, 1e-10)


@pytest.mark.parametrize(
    ("low", "high", "outcomes"), [(-1.0, 1.0, {1.0, 2.0}), (2.0, 3.0, {1.0}), (-2.0, -1.0, {2.0}), (0.0, 0.0, {2.0})]
)
def test_uncertain_comparisons_take_both_branches(low: float, high: float, outcomes: set[float]) -> None:
    spread = np.array([Ball(arb(low).union(arb(high)))])
    chosen = BALLS.where(BALLS.greater(spread, 0.0), 1.0, 2.0)[0]
    assert {outcome for outcome in (1.0, 2.0) if holds(chosen, outcome)} == outcomes


def test_an_operation_without_rounding_would_be_caught() -> None:
    # 0.1 + 0.2 in binary64 is not the exact sum: a ball of the exact sum alone does not hold it.
    with ctx.workprec(200):
        bare = Ball(arb(0.1) + arb(0.2))
        assert not bare.contains(arb(0.1 + 0.2))
        assert rounded(bare.arb).contains(arb(0.1 + 0.2))


def test_zero_is_exact_and_strangers_are_refused() -> None:
    assert (ball(0.0) * ball(3.0)).arb.is_zero()
    with pytest.raises(TypeError, match="a ball meets balls and Python numbers, got 'x' of type str"):
        to_arb("x")
    assert repr(ball(1.0)).startswith("Ball(1.0")
