"""Tails of the binomial against scipy's: never on the wrong side, and seldom off by more than one."""

from __future__ import annotations

import math

import pytest
from flint import arb
from scipy.stats import binom

from accountant.numbers import arb_precision
from accountant.profiles.without_lattice import often_as_many, seldom_more

CASES = [
    (count, chance, log_p)
    for count in (1, 3, 50, 2210, 10**6, 10**12)
    for chance in (1e-12, 3e-4, 0.1, 0.5, 0.99)
    for log_p in (-0.7, -3.0, -20.0, -200.0)
]


@pytest.mark.parametrize(("count", "chance", "log_p"), CASES)
def test_more_is_as_seldom_as_it_says(count: int, chance: float, log_p: float) -> None:
    with arb_precision(128):
        number = seldom_more(count, arb(chance), arb(log_p))
    assert binom.logsf(number, count, chance) <= log_p * (1 - 1e-9) or number == count
    slack = 2 + math.sqrt(count * chance * (1 - chance))  # near the mean the ratios fall slowly
    assert binom.logsf(number - slack - 1, count, chance) > log_p or number <= count * chance + 1


@pytest.mark.parametrize(("count", "chance", "log_p"), CASES)
def test_as_many_are_as_often_as_it_says(count: int, chance: float, log_p: float) -> None:
    with arb_precision(128):
        number = often_as_many(count, arb(chance), arb(log_p))
    assert binom.logsf(number - 1, count, chance) >= log_p - 1e-9
    slack = 2 + math.sqrt(count * chance * (1 - chance))  # it is at the mean, or less than a deviation off
    assert binom.logsf(number + slack, count, chance) < log_p or number <= count * chance <= number + 1
