"""Exact dyadic ends: ordered as the numbers they are, whatever their exponents, and never changed."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant.certificates.mpmath_route import exceeds, reaches
from accountant.errors import CannotCertifyError
from accountant.numbers import CONTEXT, INFINITE, Bound, Dyadic

numbers = st.builds(Dyadic, st.integers(-(2**80), 2**80), st.integers(-200, 200))


@given(numbers, numbers)
def test_the_order_is_that_of_the_numbers(one: Dyadic, other: Dyadic) -> None:
    assert (one < other) == (one.fraction() < other.fraction())
    assert (one == other) == (one.fraction() == other.fraction())
    assert (-one).fraction() == -one.fraction()
    assert pickle.loads(pickle.dumps(one)) == one


def test_equal_numbers_are_equal_however_they_are_written() -> None:
    assert Dyadic(12, -2) == Dyadic(3, 0)
    assert hash(Dyadic(12, -2)) == hash(Dyadic(3, 0))
    assert Dyadic(0, 17) == Dyadic(0, 0)


def test_extreme_exponents_are_ordered_and_not_written_out() -> None:
    tiny, smaller = Dyadic(1, -(10**17)), Dyadic(7, -(10**18))
    assert Dyadic(0, 0) < smaller < tiny < Dyadic(1, 10**17) < INFINITE
    assert -INFINITE < -tiny < -smaller < Dyadic(0, 0)
    for end in (tiny, INFINITE):
        with pytest.raises(CannotCertifyError):
            end.fraction()


def test_a_bound_keeps_its_ends_exactly_and_never_changes() -> None:
    bound = Bound(CONTEXT.mpf(1) / 4, CONTEXT.mpf(3))
    assert (bound.least, bound.most) == (Dyadic(1, -2), Dyadic(3, 0))
    assert (bound.lower, bound.upper) == (CONTEXT.mpf(1) / 4, CONTEXT.mpf(3))
    assert bound == Bound(Dyadic(1, -2), Dyadic(3, 0)) == pickle.loads(pickle.dumps(bound))
    with pytest.raises(AttributeError, match="never changes"):
        bound.least = Dyadic(0, 0)
    with pytest.raises(CannotCertifyError, match="lower <= upper"):
        Bound(Dyadic(3, 0), Dyadic(1, -2))
    assert Bound(Dyadic(1, 0), INFINITE).printed(5) == ("1", "inf")
    assert Fraction(1, 4) == bound.least.fraction()


@given(st.integers(-50, 50), st.integers(-8, 8), st.fractions(-100, 100, max_denominator=300))
def test_a_rational_is_compared_exactly(mantissa: int, exponent: int, bound: Fraction) -> None:
    number = Fraction(mantissa) * Fraction(2) ** exponent
    with CONTEXT.workprec(300):
        value = CONTEXT.ldexp(CONTEXT.mpf(mantissa), exponent)
    assert Dyadic(mantissa, exponent).exceeds(bound) == exceeds(value, bound) == (number > bound)
    assert reaches(value, bound) == (number >= bound)


def test_what_is_too_extreme_for_a_rational_is_compared_as_well() -> None:
    tiny = CONTEXT.ldexp(CONTEXT.mpf(1), -(10**24))
    assert exceeds(tiny, Fraction(0))
    assert not exceeds(tiny, Fraction(1, 10**300))
    assert exceeds(-tiny, Fraction(-1, 10**300))
    assert not exceeds(-tiny, Fraction(0))
    assert exceeds(1 / tiny, Fraction(10**300))
    assert reaches(CONTEXT.inf, Fraction(10**300))
    assert not reaches(-CONTEXT.inf, Fraction(0))
    with pytest.raises(CannotCertifyError, match="NaN"):
        exceeds(CONTEXT.inf - CONTEXT.inf, Fraction(0))


def test_digits_beyond_the_working_precision_count() -> None:
    with CONTEXT.workprec(600):
        value = CONTEXT.mpf(1) - CONTEXT.ldexp(CONTEXT.mpf(1), -500)
    assert not reaches(value, Fraction(1))
    assert exceeds(value, 1 - Fraction(1, 2**499))
