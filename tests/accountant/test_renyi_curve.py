"""The Renyi curve of a whole run, certified, before any conversion."""

from __future__ import annotations

from fractions import Fraction

import pytest

from accountant import Gaussian, InvalidQuantityError, SsADMM
from accountant.numbers import fraction_of
from accountant.pricing import renyi_curve


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
