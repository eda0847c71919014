from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from reference.words import PhiloxWords, SystemWords, Words, normals, padded, subsets, unbiased, words_per_normals

ALL_SIZES = [(n, m) for n in range(1, 8) for m in range(1, min(n, 5) + 1)]


def every_draw(n: int, m: int) -> Words:
    """All equally likely sequences of draws of Floyd's algorithm, as words that the modulo leaves alone."""
    return np.array(list(itertools.product(*(range(n - m + i + 1) for i in range(m)))), dtype=np.uint64)


@pytest.mark.parametrize(("n", "m"), ALL_SIZES)
def test_subsets_are_exactly_uniform(n: int, m: int) -> None:
    draws = every_draw(n, m)
    together = subsets(draws, n)
    one_by_one = np.array([subsets(row, n) for row in draws])
    for chosen in (together, one_by_one):
        assert (np.sort(chosen, axis=1)[:, 1:] != np.sort(chosen, axis=1)[:, :-1]).all()
        counts = Counter(frozenset(row) for row in chosen.tolist())
        # Every subset, and each from equally many draws: that is uniformity, without statistics.
        assert len(counts) == math.comb(n, m)
        assert set(counts.values()) == {len(draws) // math.comb(n, m)}
    assert np.array_equal(together, one_by_one)


def test_a_shuffle_that_forgets_floyds_rule_would_be_caught() -> None:
    naive = Counter(frozenset(row) for row in every_draw(4, 2).tolist())
    assert set(naive.values()) != {len(every_draw(4, 2)) // math.comb(4, 2)}


@given(st.integers(1, 400), st.integers(1, 40), st.integers(0, 2**32))
def test_subsets_are_distinct_members_at_any_size(n: int, m: int, seed: int) -> None:
    m = min(n, m)
    words = PhiloxWords.at(seed, 0).words(60 * m).reshape(60, m)
    chosen = subsets(words, n)
    assert all(len(set(row)) == m for row in chosen.tolist())
    assert chosen.min() >= 0
    assert chosen.max() < n
    assert np.array_equal(chosen, np.array([subsets(row, n) for row in words]))


@given(st.integers(1, 2**40), st.integers(0, 200))
def test_unbiased_accepts_exactly_the_multiples_of_each_bound(n: int, back: int) -> None:
    m = min(n, 3)
    for i, bound in enumerate(range(n - m + 1, n + 1)):
        limit = 2**64 - 2**64 % bound  # the words below it fall on each remainder equally often
        for word in {limit - 1, max(0, limit - 1 - back), min(2**64 - 1, limit + back), 2**64 - 1, 0}:
            words = np.zeros(m, dtype=np.uint64)
            words[i] = word
            assert unbiased(words, n)[i] == (word < limit)


@pytest.mark.parametrize(("count", "width"), [(1, 2), (2, 2), (7, 8), (8, 8)])
def test_normals_use_a_fixed_number_of_words(count: int, width: int) -> None:
    assert words_per_normals(count) == width
    assert normals(np.zeros(width, dtype=np.uint64), count).shape == (count,)


def test_extreme_words_give_finite_normals() -> None:
    for word in (0, 2**64 - 1, 2**11 - 1, 2**63):
        draws = normals(np.full(6, word, dtype=np.uint64), 6)
        assert np.isfinite(draws).all()
        assert np.abs(draws).max() <= math.sqrt(106 * math.log(2))


def test_normals_are_box_and_mullers() -> None:
    words = PhiloxWords.at(3, 1).words(8)
    uniform = [(int(word) >> 11) / 2**53 for word in words]
    for i in range(4):
        radius, angle = math.sqrt(-2 * math.log(1 - uniform[i])), 2 * math.pi * uniform[4 + i]
        # A few roundings; the angle's own, up to 2 pi 2^-53, times the radius, is the largest.
        assert normals(words, 8)[i] == pytest.approx(radius * math.cos(angle), abs=64 * 2.0**-53)
        assert normals(words, 8)[4 + i] == pytest.approx(radius * math.sin(angle), abs=64 * 2.0**-53)


def _distance_to_normal(draws: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    ordered = special.ndtr(np.sort(draws))
    ranks = np.arange(1, len(draws) + 1) / len(draws)
    return float(np.maximum(ranks - ordered, ordered - ranks + 1 / len(draws)).max())


def test_normals_follow_the_normal_distribution() -> None:
    count, false_alarm = 400_000, 1e-9
    draws = normals(PhiloxWords.at(11, 1).words(count).reshape(-1, 8), 8).ravel()
    # Dvoretzky, Kiefer, Wolfowitz with Massart's constant: P(distance > d) <= 2 exp(-2 count d^2).
    threshold = math.sqrt(math.log(2 / false_alarm) / (2 * count))
    assert _distance_to_normal(draws) <= threshold
    # What it must catch: noise that is 5 % too small, Laplace noise, twelve uniforms less six.
    assert _distance_to_normal(draws / 1.05) > threshold
    uniform = special.ndtr(draws)
    laplace = np.where(uniform < 0.5, np.log(2 * uniform), -np.log(2 - 2 * uniform)) / math.sqrt(2)
    assert _distance_to_normal(laplace) > threshold


def test_coordinates_of_one_draw_are_uncorrelated() -> None:
    rows, false_alarm = 50_000, 1e-9
    draws = normals(PhiloxWords.at(12, 1).words(rows * 6).reshape(rows, 6), 6)
    correlations = np.corrcoef(draws.T) - np.eye(6)
    # A product of two independent normals is sub-exponential; for rows this many the mean of its products is normal
    # to far below this threshold's margin: a union bound over 15 pairs at |z| = 7.
    assert 15 * math.erfc(7 / math.sqrt(2)) < false_alarm
    assert np.abs(correlations).max() < 7 / math.sqrt(rows)


@given(st.integers(0, 10_000))
def test_padding_is_the_next_multiple_of_four(words: int) -> None:
    assert padded(words) % 4 == 0
    assert 0 <= padded(words) - words < 4


@given(st.integers(0, 2**64), st.integers(0, 50))
def test_a_position_in_the_stream_is_a_place_not_a_history(seed: int, blocks: int) -> None:
    whole = PhiloxWords.at(seed, 0).words(4 * blocks + 8)
    assert np.array_equal(PhiloxWords.at(seed, 0, 4 * blocks).words(8), whole[4 * blocks :])


def test_system_words_do_not_repeat() -> None:
    # 10,000 words of 64 bits: a repetition has probability below 10^8/2/2^64 < 3e-12.
    words = np.concatenate([SystemWords().words(5_000), SystemWords().words(5_000)])
    assert len(np.unique(words)) == 10_000
