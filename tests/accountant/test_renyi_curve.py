"""The Renyi curve of a whole run, certified, before any conversion."""

from __future__ import annotations

import time
from fractions import Fraction

import mpmath
import pytest

from accountant import Gaussian, InvalidQuantityError, Poisson, SsADMM, rdp
from accountant.certificates.mpmath_route import log_moment
from accountant.numbers import fraction_of
from accountant.pricing import renyi_curve
from accountant.renyi.moments import Subsampling


def test_of_plain_gaussian_releases_it_is_alpha_over_twice_the_variance() -> None:
    for point in renyi_curve(Gaussian(noise_multiplier=4, iterations=10), ["3/2", 2, 32], digits=20):
        bound, truth = point.epsilon["rdp"], 10 * point.alpha / 32
        assert fraction_of(bound.lower) <= truth <= fraction_of(bound.upper)
        assert fraction_of(bound.upper) - fraction_of(bound.lower) <= truth / 10**19


def test_the_tight_theorem_is_below_its_source_and_that_below_lemma_2() -> None:
    mechanism = SsADMM(records=48842, batch=221, noise_multiplier=4, iterations=2210)
    for point in renyi_curve(mechanism, [2, 8, 32], digits=10):
        tight, source, printed = (point.epsilon[name].upper for name in ("tight-rdp", "wbk27", "lemma2"))
        assert tight < source <= printed


def test_it_grows_with_the_order() -> None:
    points = renyi_curve(SsADMM(records=1000, batch=50, noise_multiplier=2, iterations=7), [2, 3, 4], digits=10)
    values = [fraction_of(point.epsilon["tight-rdp"].upper) for point in points]
    assert values == sorted(values)


@pytest.mark.parametrize(("orders", "digits"), [([1], 15), ([Fraction(1, 2)], 15), ([2], 0)])
def test_orders_and_digits_outside_their_domain_are_refused(orders: list[int | Fraction], digits: int) -> None:
    with pytest.raises(InvalidQuantityError):
        renyi_curve(Gaussian(noise_multiplier=4, iterations=1), orders, digits=digits)


@pytest.mark.parametrize("alpha", ["2.5", "10"])
def test_rdp_is_the_tight_divergence_in_mpf_and_a_second_route_agrees_to_fifty_digits(alpha: str) -> None:
    run = SsADMM(records=1000, batch=50, noise_multiplier=2, iterations=7)
    found, order = rdp(run, alpha), Fraction(alpha)
    assert isinstance(found.upper, type(found.lower))
    (step,) = run.ledger().steps
    second = 7 * fraction_of(log_moment(step, Subsampling.TIGHT, order, 60)) / (order - 1)
    assert abs(fraction_of(found.upper) / second - 1) < Fraction(1, 10**49)
    assert fraction_of(found.upper) / fraction_of(found.lower) - 1 < Fraction(1, 10**50)


def test_rdp_takes_numbers_of_any_mpmath_context_and_a_named_theorem() -> None:
    other = mpmath.MPContext()
    run = SsADMM(records=1000, batch=50, noise_multiplier=mpmath.mpf(2), iterations=7)
    assert rdp(run, other.mpf("2.5")) == rdp(run, "5/2") == rdp(run, mpmath.mpf("2.5"), theorem="tight-rdp")
    assert rdp(run, 3, theorem="lemma2").upper > rdp(run, 3, theorem="wbk27").lower > rdp(run, 3).upper
    with pytest.raises(InvalidQuantityError, match="theorem must be one of lemma2, wbk27, tight-rdp"):
        rdp(run, 3, theorem="profile")


def test_between_integers_the_printed_theorems_are_the_chord_and_say_so() -> None:
    run = SsADMM(records=1000, batch=50, noise_multiplier=2, iterations=7)
    low, middle, high = renyi_curve(run, [2, "5/2", 3], digits=30)
    assert (low.between, middle.between, high.between) == (None, (2, 3), None)
    ends = [fraction_of(point.epsilon["lemma2"].upper) * (point.alpha - 1) for point in (low, middle, high)]
    assert abs(ends[1] - (ends[0] + ends[2]) / 2) < Fraction(1, 10**28)
    (poisson,) = renyi_curve(Poisson(sampling_rate="0.1", noise_multiplier=2, iterations=1), ["5/2"])
    assert poisson.between is None


@pytest.mark.slow
def test_a_thousand_digits_of_the_renyi_epsilon_of_adult_take_less_than_ten_seconds() -> None:
    started = time.process_time()
    found = rdp(SsADMM(records=48842, batch=221, noise_multiplier=4, iterations=2210), 10, digits=1000)
    assert fraction_of(found.upper) - fraction_of(found.lower) < Fraction(1, 10**1000)
    assert time.process_time() - started < 10
