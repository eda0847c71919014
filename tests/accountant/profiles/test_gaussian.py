"""The Gaussian mechanism: exact profile, exact inverse, at any size of anything."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant import Gaussian
from accountant.certificates import mpmath_route as second_route
from accountant.errors import CannotCertifyError
from accountant.numbers import fraction_of
from accountant.pld.ledger_steps import root
from accountant.pricing import epsilon
from accountant.profiles.gaussian import gaussian_delta, gaussian_delta_upper, gaussian_epsilon

squares = st.fractions(Fraction(1, 10**6), Fraction(400), max_denominator=10**6)
ratios = st.fractions(Fraction(0), Fraction(200), max_denominator=1000)
"""eps/mu: at 200 delta is about 1e-8700."""
deltas = st.integers(1, 300).map(lambda k: Fraction(1, 10**k)) | st.fractions(Fraction(1, 1000), Fraction(1, 2))


def test_fifty_releases_at_thirty_cost_1_2146_to_thirty_digits() -> None:
    report = epsilon(Gaussian(noise_multiplier=30, iterations=50).ledger(), "1e-8", methods=["gdp"], digits=30)
    found = report.methods["gdp"].epsilon
    assert found.contains("1.214599390923996102766162816188975945")
    assert fraction_of(found.width) <= Fraction(12, 10**30)
    # The same number from another library, by the sign of delta(end) - delta.
    assert fraction_of(second_route.gaussian_delta(Fraction(1, 18), fraction_of(found.lower), 60)) > Fraction(1, 10**8)
    assert fraction_of(second_route.gaussian_delta(Fraction(1, 18), fraction_of(found.upper), 60)) < Fraction(1, 10**8)


@given(squares, deltas)
def test_epsilon_inverts_delta(square: Fraction, delta: Fraction) -> None:
    found = gaussian_epsilon(square, delta, digits=20)
    lower, upper = fraction_of(found.lower), fraction_of(found.upper)
    assert fraction_of(gaussian_delta(square, upper, digits=25).upper) <= delta
    if lower > 0:
        assert fraction_of(gaussian_delta(square, lower, digits=25).lower) >= delta
    else:
        assert fraction_of(gaussian_delta(square, Fraction(0), digits=25).upper) <= delta


@given(squares, ratios)
def test_delta_agrees_with_mpmath(square: Fraction, ratio: Fraction) -> None:
    eps = ratio * root(square, "up")
    found = gaussian_delta(square, eps, digits=25)
    other = fraction_of(second_route.gaussian_delta(square, eps, 40))
    slack = other / 10**30
    assert fraction_of(found.lower) - slack <= other <= fraction_of(found.upper) + slack


@given(squares, ratios)
def test_the_fast_upper_bound_is_sound_and_tight(square: Fraction, ratio: Fraction) -> None:
    eps = ratio * root(square, "up")
    exact = gaussian_delta(square, eps, digits=25)
    fast = gaussian_delta_upper(square, eps)
    assert fraction_of(exact.lower) <= fast <= fraction_of(exact.upper) * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize(("square", "eps"), [("1e-30", "1e-6"), ("1e-16", "1e-3"), ("1", "1e6")])
def test_an_absurdly_small_delta_has_an_upper_bound_and_no_digits(square: str, eps: str) -> None:
    assert 0 < gaussian_delta_upper(Fraction(square), Fraction(eps)) < Fraction(1, 10**1000)


def test_delta_larger_than_the_total_variation_costs_nothing() -> None:
    assert gaussian_epsilon(Fraction(1), Fraction(1, 2)).decimal_strings(5) == ("0", "0")


def test_a_tie_that_no_precision_decides_is_an_error() -> None:
    at_zero = fraction_of(gaussian_delta(Fraction(1), Fraction(0), digits=8000).lower)
    with pytest.raises(CannotCertifyError, match="bits"):
        gaussian_epsilon(Fraction(1), at_zero + Fraction(1, 10**12000))


def test_a_root_that_was_guessed_wrongly_is_an_error_and_not_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accountant.profiles.gaussian._newton", lambda _mu, _target, upper: upper / 3)
    with pytest.raises(CannotCertifyError, match="bits"):
        gaussian_epsilon(Fraction(1), Fraction(1, 10**8))
