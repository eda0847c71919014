"""Exact numbers in, enclosures out, each rounding in the direction it names."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from decimal import Decimal
from fractions import Fraction

import flint
import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import MPContext

from accountant import Gaussian, SsADMM, renyi_curve
from accountant.errors import BinaryFloatError, CannotCertifyError, InvalidQuantityError
from accountant.numbers import (
    CONTEXT,
    INFINITY,
    Bound,
    arb_precision,
    decimal_string,
    exact,
    exact_binary64,
    float_down,
    float_up,
    fraction_of,
    mpf_from_fraction,
)

rationals = st.fractions(max_denominator=10**40) | st.builds(
    lambda m, e: Fraction(m) * Fraction(10) ** e, st.integers(-(10**30), 10**30), st.integers(-330, 330)
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", Fraction(1, 10)),
        ("1e-300", Fraction(1, 10**300)),
        ("1/3", Fraction(1, 3)),
        (Decimal("0.3"), Fraction(3, 10)),
        (7, Fraction(7)),
        (CONTEXT.mpf(1) / 4, Fraction(1, 4)),
    ],
)
def test_inputs_mean_what_they_say(text: object, value: Fraction) -> None:
    assert exact("x", text) == value


@pytest.mark.parametrize(
    "value",
    [
        "1e-100_000",
        "1e5_000_000",
        "1E+1_000_000",
        " 1e-00000000000000000000000000009999999 ",
        "1e-" + "9" * 190,
        "\u0661e\u0669\u0669\u0669\u0669\u0669\u0669\u0669\u0669",
        "1" * 2001,
        Decimal("1e5000000"),
        Decimal("1e-5000000"),
        10**40_000,
        Fraction(1, 10**40_000),
        mpmath.mpf("1e5000000"),
        MPContext().mpf("1e-5000000"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_extreme_numbers_are_refused_before_anything_is_computed_whatever_their_spelling(value: object) -> None:
    began = time.process_time()
    with pytest.raises(InvalidQuantityError, match="exponent within"):
        exact("delta", value)
    assert time.process_time() - began < 0.1


@given(st.text("0123456789_+-eE./ \u0661", max_size=200))
def test_no_text_takes_long_to_read(text: str) -> None:
    began = time.process_time()
    with contextlib.suppress(InvalidQuantityError):
        exact("delta", text)
    assert time.process_time() - began < 0.1


def test_numbers_of_every_context_of_mpmath_go_in_and_come_out() -> None:
    other = MPContext()
    other.prec = 1000
    for number in (mpmath.mpf("2.5"), CONTEXT.mpf("2.5"), other.mpf("2.5")):
        assert exact("alpha", number) == Fraction(5, 2)
        assert SsADMM(records=10, batch=1, noise_multiplier=number, iterations=1).noise_multiplier == Fraction(5, 2)
        assert renyi_curve(Gaussian(noise_multiplier=number), [number])[0].alpha == Fraction(5, 2)
        bound = Bound(number, number)
        assert bound.upper == number
        assert other.mpf(1) * bound.upper == number
    third = other.mpf(1) / 3
    assert exact("x", third) == fraction_of(third)
    assert fraction_of(Bound(third, third).lower) == fraction_of(third)
    for refused in (mpmath.mpf("nan"), mpmath.mpf("inf"), MPContext().mpf("-inf")):
        with pytest.raises(InvalidQuantityError, match="alpha must be"):
            exact("alpha", refused)


@pytest.mark.parametrize("value", [0.1, 1.0, math.nan, math.inf])
def test_a_binary_float_is_refused_by_name(value: float) -> None:
    with pytest.raises(BinaryFloatError, match=r"sigma must be exact.*binary float"):
        exact("sigma", value)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "abc", "", "1/0", "1e999999999", None, True, "1" * 90_000])
def test_what_is_no_finite_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidQuantityError, match="sigma must"):
        exact("sigma", value)


def test_a_binary_float_may_be_given_on_purpose() -> None:
    assert exact_binary64("x", 0.1) == Fraction(3602879701896397, 36028797018963968)
    with pytest.raises(InvalidQuantityError, match="finite"):
        exact_binary64("x", math.nan)


@given(rationals, st.integers(1, 60))
def test_decimal_strings_enclose_and_are_one_unit_apart(value: Fraction, digits: int) -> None:
    low, high = (Fraction(decimal_string(value, digits, direction)) for direction in ("down", "up"))
    assert low <= value <= high
    assert high - low <= abs(value) * Fraction(10) ** (1 - digits)
    if low == high:
        assert value == low


@given(rationals)
def test_floats_are_the_nearest_on_the_stated_side(value: Fraction) -> None:
    above, below = float_up(value), float_down(value)
    assert below <= value <= above
    assert above in (below, math.nextafter(below, math.inf))


@given(rationals, st.integers(20, 300))
def test_dyadic_rounding_goes_where_it_says(value: Fraction, bits: int) -> None:
    low, high = (fraction_of(mpf_from_fraction(value, direction, bits)) for direction in ("down", "up"))
    assert low <= value <= high
    assert high - low <= abs(value) * Fraction(2) ** (1 - bits)


def test_infinity_is_a_result_and_nan_is_not() -> None:
    assert Bound(CONTEXT.mpf(0), INFINITY).decimal_strings(5) == ("0", "inf")
    with pytest.raises(CannotCertifyError, match="NaN"):
        Bound(CONTEXT.mpf(0), CONTEXT.mpf("nan"))
    with pytest.raises(CannotCertifyError, match="lower <= upper"):
        Bound(CONTEXT.mpf(2), CONTEXT.mpf(1))


def test_infinity_is_infinity_in_binary64_on_either_side() -> None:
    assert float_up(INFINITY) == float_down(INFINITY) == math.inf
    assert float_up(-INFINITY) == float_down(-INFINITY) == -math.inf
    beyond = Fraction(10) ** 400
    assert (float_down(beyond), float_up(beyond)) == (sys.float_info.max, math.inf)
    assert (float_down(-beyond), float_up(-beyond)) == (-math.inf, -sys.float_info.max)


def test_an_enclosure_contains_its_ends_and_nothing_beyond_them() -> None:
    bound = Bound.from_fractions(Fraction(1, 4), Fraction(1, 2))
    assert [bound.contains(value) for value in ("0.2499", "0.25", "0.3", "0.5", "0.5001")] == [
        False,
        True,
        True,
        True,
        False,
    ]
    endless = Bound(CONTEXT.mpf(1), INFINITY)
    assert [endless.contains(value) for value in ("0.9", "1", "1e300")] == [False, True, True]
    assert bound.width == Fraction(1, 4)
    assert endless.width == INFINITY


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 10**30), "1e-30"),
        (Fraction(3, 2) / 10**30, "1.5e-30"),
        (Fraction(1, 10**5), "0.00001"),
        (Fraction(1, 10**6), "1e-6"),
        (Fraction(-5, 4), "-1.25"),
        (Fraction(10), "10"),
        (Fraction(99, 10), "9.9"),
        (Fraction(10) ** 20, "100000000000000000000"),
        (Fraction(10) ** 21, "1e21"),
    ],
)
def test_numbers_are_written_as_people_write_them(value: Fraction, text: str) -> None:
    assert decimal_string(value, 5, "up") == decimal_string(value, 5, "down") == text


def test_a_ball_that_is_not_finite_certifies_nothing() -> None:
    with pytest.raises(CannotCertifyError, match="not finite"):
        Bound.from_arb(flint.arb("nan"))
    with pytest.raises(CannotCertifyError, match="not finite"):
        Bound.from_arb(flint.arb(1) / flint.arb(0, 1))


def test_a_number_too_small_to_write_down_is_an_error_and_not_an_endless_computation() -> None:
    tiny = Bound.from_arb((-(flint.arb(10) ** 17)).exp())
    with pytest.raises(CannotCertifyError, match="beyond what exact rationals"):
        tiny.decimal_strings(10)


def test_no_global_context_is_touched() -> None:
    before = mpmath.mp.prec, flint.ctx.prec
    with arb_precision(1234):
        assert flint.ctx.prec == 1234
        with pytest.raises(ZeroDivisionError), arb_precision(77):
            raise ZeroDivisionError
        assert flint.ctx.prec == 1234
    with CONTEXT.workdps(99):
        assert mpmath.mp.prec == before[0]
    assert (mpmath.mp.prec, flint.ctx.prec) == before
