"""Tail probabilities: exact where they say so, conservative elsewhere, and never zero by rounding where it matters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from verification.statistics import tails
from verification.statistics.test import TailFamily, union


def test_kolmogorov_bounds_the_exact_distribution() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        values = rng.standard_normal(50)
        exact = stats.kstest(values, "norm", method="exact").pvalue
        assert tails.kolmogorov(values) >= exact * (1 - 1e-9)


def test_correlation_statistic_is_standard_normal_at_any_size() -> None:
    """Three samples only: an asymptotic test would be far off, this one is exact (uniform p-values)."""
    rng = np.random.default_rng(2)
    p_values = np.concatenate(
        [np.ravel(tails.correlation(rng.standard_normal((3, 1)), rng.standard_normal((3, 50)))) for _ in range(400)]
    )
    distance = stats.kstest(p_values, "uniform").statistic
    # Values that share a first column are dependent only through it, and given it independent: DKW holds.
    assert distance < math.sqrt(math.log(2 / 1e-9) / (2 * p_values.size))


def test_hotelling_has_the_stated_non_central_law() -> None:
    rng = np.random.default_rng(3)
    distance, n, d = 1.3, 12, 3
    mixing = rng.standard_normal((d, d))
    shift = np.linalg.qr(rng.standard_normal((d, d)))[0][0] * distance
    p_values = []
    for _ in range(3000):
        first = (rng.standard_normal((n, d)) + shift) @ mixing
        second = rng.standard_normal((n, d)) @ mixing
        p_values.append(tails.shifted_means(first, second, distance))
    assert stats.kstest(p_values, "uniform").statistic < math.sqrt(math.log(2 / 1e-9) / (2 * len(p_values)))


def test_hotelling_is_conservative_for_means_that_are_closer() -> None:
    rng = np.random.default_rng(4)
    p_values = [
        tails.shifted_means(rng.standard_normal((12, 3)), rng.standard_normal((12, 3)), 1.0) for _ in range(2000)
    ]
    assert np.mean(np.array(p_values) < 0.05) < 0.05


def test_the_non_central_tail_agrees_with_its_poisson_mixture_far_out() -> None:
    d, freedom, noncentrality = 12, 2987, 750 * 2.0
    for observed in (125.0, 150.0, 170.0):
        counts = np.arange(400, 1300)  # Poisson of mean 750: beyond 12 deviations on either side nothing is left
        inside = freedom / (freedom + d * observed)
        beyond = special.betainc(freedom / 2, d / 2 + counts, inside)
        mixture = float(np.sum(stats.poisson.pmf(counts, noncentrality / 2) * beyond))
        assert float(stats.ncf.sf(observed, d, freedom, noncentrality)) == pytest.approx(mixture, rel=1e-8)


def test_two_sided_binomial_tails_are_exact_at_small_sizes() -> None:
    assert tails.binomial(np.array([0]), 3, 0.5)[0] == pytest.approx(0.25)


def test_bonferroni_multiplies_and_never_exceeds_one() -> None:
    def least(*values: float) -> tuple[float, str]:
        return union([TailFamily("place", np.array(values), str)])

    p_value, where = least(0.5, 0.01, 0.9)
    assert (round(p_value, 12), where) == (0.03, "place 1")
    assert least(0.9, 0.8) == (1.0, "place 1")
    assert least() == (1.0, "")


def test_coincidences_fall_off_as_fast_as_independent_pairs_do() -> None:
    """Birthdays: 23 people, days as values; P(2 disjoint equal pairs) is far below the union bound, never above."""
    rng = np.random.default_rng(5)
    days = np.sort(rng.integers(5000, size=(20_000, 23)), axis=1)
    pairs = np.array([int(np.sum(np.unique(row, return_counts=True)[1] // 2)) for row in days])
    chance = 23 * 22 / 2 / 5000
    for k in (1, 2):
        assert np.mean(pairs >= k) <= tails.coincidences(k, chance) + 4 * math.sqrt(0.25 / len(pairs))
    assert tails.coincidences(0, chance) == 1.0
    assert tails.coincidences(3, 1e-6) == pytest.approx(1e-18 / 6)
    assert tails.coincidences(1, 0.0) == 0.0  # vectors of more than a hundred columns: the chance is no double


def test_hotelling_refuses_too_few_samples() -> None:
    with pytest.raises(ValueError, match="more than 4 samples"):
        tails.shifted_means(np.zeros((2, 3)), np.zeros((2, 3)), 1.0)


def test_what_is_not_a_number_is_never_a_pass() -> None:
    assert union([TailFamily("place", np.array([0.5, np.nan, 0.2]), str)]) == (0.0, "place 1")


def test_a_column_of_zeros_is_no_noise_and_correlates_with_nothing_honestly() -> None:
    rng = np.random.default_rng(0)
    columns = np.column_stack([np.zeros(50), rng.standard_normal(50)])
    found = tails.correlation(columns, rng.standard_normal((50, 3)))
    assert np.all(found[0] == 0.0)
    assert np.all(found[1] > 0.0)


def test_means_apart_without_any_noise_between_them_are_infinitely_far_apart() -> None:
    first = np.zeros((20, 2))
    assert tails.shifted_means(first, first + 1.0, 0.5) == 0.0
    # and that nothing is known of no noise and no distance is not taken for a pass (runner.py)
    assert not tails.shifted_means(first, first, 0.5) > 0.0
