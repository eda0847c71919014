"""Calibrated values meet the target, certified, and the next value does not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import (
    CannotCertifyError,
    Gaussian,
    Ledger,
    MpADMM,
    Noise,
    Sensitivity,
    SsADMM,
    calibrate_count,
    calibrate_noise,
    calibration,
    epsilon,
)
from accountant.calibration import descending_search
from accountant.errors import InvalidQuantityError
from accountant.numbers import fraction_of


def adult(noise: Fraction) -> Ledger:
    return SsADMM(records=48842, batch=221, noise_multiplier=noise, iterations=2210).ledger()


def test_adult_needs_1_498_where_the_best_peer_needs_2_445() -> None:
    ours = calibrate_noise(adult, epsilon=1, delta="1e-8")
    assert ours.method == "profile"
    assert ours.value <= Fraction("1.50")
    theirs = calibrate_noise(adult, epsilon=1, delta="1e-8", method="wbk27-cks", digits=5)
    assert theirs.value == Fraction("2.445")
    assert theirs.missed == Fraction("2.4449")


@pytest.mark.parametrize("method", ["profile", "wbk27-cks", "lemma2-prop1"])
def test_the_answer_is_safe_and_one_digit_less_is_not(method: str) -> None:
    found = calibrate_noise(adult, epsilon="0.5", delta="1e-8", method=method, digits=3)
    assert found.epsilon_upper <= Fraction(1, 2)
    again = epsilon(adult(found.value), "1e-8", methods=[method]).methods[method].epsilon
    assert fraction_of(again.upper) <= Fraction(1, 2)
    assert found.missed is not None
    less = epsilon(adult(found.missed), "1e-8", methods=[method]).methods[method].epsilon
    assert fraction_of(less.upper) > Fraction(1, 2) * (1 - Fraction(1, 1000))
    assert 0 < found.slack <= Fraction(1, 99)


@settings(max_examples=15)
@given(
    st.fractions(Fraction(1, 100), Fraction(20), max_denominator=100),
    st.integers(2, 100).map(lambda k: Fraction(1, 10**k)),
    st.integers(1, 10**4),
)
def test_plain_gaussians_calibrate_to_the_digits_asked(target: Fraction, delta: Fraction, releases: int) -> None:
    found = calibrate_noise(
        lambda nu: Gaussian(noise_multiplier=nu, iterations=releases).ledger(), epsilon=target, delta=delta, digits=6
    )
    assert found.epsilon_upper <= target
    assert found.missed is not None
    missed = Gaussian(noise_multiplier=found.missed, iterations=releases).ledger()
    assert fraction_of(epsilon(missed, delta, methods=["gdp"]).epsilon.upper) > target
    assert found.slack <= Fraction(2, 10**5)


def test_most_iterations_and_largest_batch() -> None:
    most = calibrate_count(
        lambda T: SsADMM(records=1000, batch=10, noise_multiplier=2, iterations=T).ledger(), epsilon=1, delta="1e-6"
    )
    assert most.missed == most.value + 1
    assert most.epsilon_upper <= 1
    largest = calibrate_count(
        lambda m: SsADMM(records=1000, batch=m, noise_multiplier=2, iterations=100).ledger(),
        epsilon=1,
        delta="1e-6",
        largest=1000,
    )
    assert 1 <= largest.value < 1000
    everything = calibrate_count(
        lambda m: SsADMM(records=100, batch=m, noise_multiplier=100, iterations=1).ledger(),
        epsilon=5,
        delta="1e-6",
        largest=100,
    )
    assert everything.value == 100
    assert everything.missed is None
    assert everything.slack == 0


def test_a_target_out_of_reach_is_an_error() -> None:
    with pytest.raises(CannotCertifyError, match="not even one"):
        calibrate_count(
            lambda T: SsADMM(records=10, batch=5, noise_multiplier="0.1", iterations=T).ledger(),
            epsilon="0.01",
            delta="1e-6",
        )
    with pytest.raises(InvalidQuantityError, match="epsilon must be"):
        calibrate_noise(adult, epsilon=0, delta="1e-6")


def test_printed_sensitivities_do_not_buy_less_noise_than_the_truth() -> None:
    def ledger(sigma: Fraction, sensitivity: Sensitivity) -> Ledger:
        return MpADMM(
            records=1000, eta=4, rho="0.5", clip=1, sigma=sigma, iterations=10, sensitivity=sensitivity
        ).ledger()

    printed = calibrate_noise(lambda s: ledger(s, Sensitivity.PRINTED), epsilon=1, delta="1e-8")
    true = calibrate_noise(lambda s: ledger(s, Sensitivity.CORRECTED), epsilon=1, delta="1e-8")
    assert printed.value >= true.value


def test_discrete_noise_is_calibrated_by_what_is_proved_for_it() -> None:
    found = calibrate_noise(
        lambda nu: SsADMM(records=1000, batch=10, noise_multiplier=nu, iterations=10, noise=Noise.DISCRETE).ledger(),
        epsilon=1,
        delta="1e-6",
    )
    assert found.method == "lemma2-cks"


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(0, 9))
def test_a_descending_search_assumes_nothing_and_returns_what_was_priced(prices: list[int], target: int) -> None:
    """Prices in any order: the answer meets the target, the one above it does not, and the largest is tried first."""
    asked: list[int] = []

    def price(number: int) -> Fraction:
        asked.append(number)
        return Fraction(prices[number - 1])

    number, missed, met = descending_search(price, Fraction(target), len(prices))
    assert asked[0] == len(prices)
    if number == 0:
        assert all(prices[tried - 1] > target for tried in asked)
        return
    assert met == prices[number - 1] <= target
    assert (missed is None) == (number == len(prices))
    assert missed is None or (missed == number + 1 and prices[number] > target)


def test_an_answer_that_was_not_certified_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that returns a price above the target must not get through."""
    monkeypatch.setattr(calibration, "whole_number_search", lambda *_: (5, 6, Fraction(2)))
    with pytest.raises(CannotCertifyError, match="not certified"):
        calibrate_count(
            lambda T: SsADMM(records=1000, batch=10, noise_multiplier=4, iterations=T).ledger(), epsilon=1, delta="1e-6"
        )


@pytest.mark.slow
def test_adult_needs_at_most_1_37_against_the_exact_adversary() -> None:
    found = calibrate_noise(adult, epsilon=1, delta="1e-8", method="adversary", digits=3)
    assert found.method == "adversary"
    assert found.epsilon_upper <= 1
    assert Fraction("1.3") <= found.value <= Fraction("1.37")
