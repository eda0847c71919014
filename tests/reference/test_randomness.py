from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reference.errors import InvalidParameter
from reference.mpadmm import Release
from reference.randomness import Entropy, Randomness, Seeded, in_order, model_noise, seeded_batches, seeded_noise
from reference.words import PhiloxWords, Words

FINGERPRINT = """
import hashlib, numpy as np
from reference.randomness import Seeded
draws = Seeded(2024, run=3)
print(hashlib.sha256(np.concatenate([*draws.batches(50, 7, 130)]).astype('<i8').tobytes()).hexdigest())
print(hashlib.sha256(np.concatenate([*draws.noise(9, 0.5, 130)]).astype('<f8').tobytes()).hexdigest())
"""


def test_a_seed_draws_the_same_in_another_process() -> None:
    draws = Seeded(2024, run=3)
    batches = np.concatenate([*draws.batches(50, 7, 130)]).astype("<i8").tobytes()
    noise = np.concatenate([*draws.noise(9, 0.5, 130)]).astype("<f8").tobytes()
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    other = subprocess.run(
        [sys.executable, "-c", FINGERPRINT], capture_output=True, text=True, check=True, env=environment
    )
    assert other.stdout.split() == [hashlib.sha256(batches).hexdigest(), hashlib.sha256(noise).hexdigest()]


shapes = st.tuples(st.integers(1, 30), st.integers(1, 30), st.integers(1, 7), st.sampled_from([1, 2, 63, 64, 65, 129]))


@given(seed=st.integers(0, 2**70), run=st.integers(0, 40), shape=shapes)
def test_run_r_alone_is_row_r_of_many_bit_for_bit(seed: int, run: int, shape: tuple[int, int, int, int]) -> None:
    n, m, p, iterations = shape
    m = min(n, m)
    runs = range(max(0, run - 2), run + 3)
    alone, row = Seeded(seed, run), run - runs.start
    batches = seeded_batches(seed, runs, n, m, iterations)[row]
    assert np.array_equal(np.array([*alone.batches(n, m, iterations)]), batches)
    noise = seeded_noise(seed, runs, p, 0.7, iterations)[row]
    assert np.array_equal(np.array([*alone.noise(p, 0.7, iterations)]), noise)


def test_runs_and_purposes_do_not_share_draws() -> None:
    streams = [np.concatenate([*Seeded(5, run).noise(4, 1.0, 100)]) for run in range(20)]
    everything = np.concatenate(streams)
    # 8,000 draws of 53 bits and more: a chance repetition has probability below 8000^2/2/2^53 < 4e-9.
    assert len(np.unique(everything)) == len(everything)
    first = [*Seeded(5).batches(10, 3, 5)]
    second = [*Seeded(6).batches(10, 3, 5)]
    assert not np.array_equal(first, second)


def test_batches_are_fresh_and_uniform_in_every_iteration() -> None:
    # All 36 ordered pairs of 2-subsets of 4 in consecutive iterations, 18,000 pairs; chi-square at 1e-9.
    batches = [frozenset(batch.tolist()) for run in range(2_000) for batch in Seeded(1, run).batches(4, 2, 18)]
    pairs = Counter(zip(batches[::2], batches[1::2], strict=True))
    assert len(pairs) == 36
    assert stats.chisquare(list(pairs.values())).pvalue > 1e-9


@dataclass
class Tape:
    """A source that plays what it was given."""

    tape: list[int] = field(default_factory=list)

    def words(self, count: int) -> Words:
        played, self.tape[:count] = self.tape[:count], []
        return np.array(played, dtype=np.uint64)


def test_release_batches_draw_biased_words_again() -> None:
    # 2^64 = 1 mod 3, so the last word alone is biased: taken as it is, it would choose 0.
    tape = Tape([2**64 - 1, 1])
    assert next(Entropy(tape).batches(3, 1, 1)).tolist() == [1]
    assert tape.tape == []


@pytest.mark.parametrize("source", [Seeded(3), Entropy()], ids=["seeded", "entropy"])
def test_draws_have_the_asked_shape(source: Randomness) -> None:
    batches = [*source.batches(20, 5, 70)]
    noise = [*source.noise(3, 2.0, 70)]
    assert len(batches) == len(noise) == 70
    assert all(batch.shape == (5,) and len(set(batch.tolist())) == 5 for batch in batches)
    assert all(vector.shape == (3,) for vector in noise)


def test_entropy_never_repeats() -> None:
    one, two = Entropy(), Entropy()
    draws = np.concatenate([*one.noise(10, 1.0, 200), *one.noise(10, 1.0, 200), *two.noise(10, 1.0, 200)])
    # 6,000 draws: below 6000^2/2/2^53 = 2e-9 for one repetition by chance.
    assert len(np.unique(draws)) == len(draws)


def test_entropy_differs_between_processes() -> None:
    code = "from reference.randomness import Entropy; print(next(Entropy().noise(2, 1.0, 1)).tobytes().hex())"
    shown = {subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)}
    assert len(shown) == 2


def test_noise_scales_with_sigma_and_vanishes_at_zero() -> None:
    unit, double = (np.array([*Seeded(9).noise(4, sigma, 10)]) for sigma in (1.0, 2.0))
    assert np.array_equal(2 * unit, double)
    assert not np.array([*Seeded(9).noise(4, 0.0, 10)]).any()


def test_release_noise_is_sigma_times_standard_normals() -> None:
    drawn = [np.stack([*Entropy(PhiloxWords.at(7, 0)).noise(5, sigma, 400)]) for sigma in (1.0, 0.25)]
    assert np.array_equal(drawn[1], 0.25 * drawn[0])
    # one fixed seed; a true normal sample fails with probability 1e-4 over the choice of the seed
    assert stats.kstest(drawn[0].ravel(), "norm").pvalue > 1e-4


def test_model_noise_is_three_vectors_or_one() -> None:
    every = [*model_noise(Seeded(4), 3, 1.0, 5, Release.ALL)]
    stacked = [*Seeded(4).noise(9, 1.0, 5)]
    for gamma, whole in zip(every, stacked, strict=True):
        assert gamma.z is not None
        assert gamma.y is not None
        assert np.array_equal(np.concatenate([gamma.x, gamma.z, gamma.y]), whole)
    primal = [*model_noise(Seeded(4), 3, 1.0, 5, Release.PRIMAL)]
    assert all(gamma.z is None and gamma.y is None and gamma.x.shape == (3,) for gamma in primal)


@pytest.mark.parametrize("source", [Seeded(3), Entropy()], ids=["seeded", "entropy"])
def test_impossible_draws_are_refused(source: Randomness) -> None:
    for records, size, message in ((3, 4, "batch must be at most 3, got batch=4"), (3, 0, "batch must be an integer")):
        with pytest.raises(InvalidParameter, match=message):
            source.batches(records, size, 1)
    for sigma in (-1.0, math.nan, math.inf):
        with pytest.raises(InvalidParameter, match="sigma must be finite and >= 0, got sigma="):
            source.noise(1, sigma, 1)
    with pytest.raises(InvalidParameter, match="iterations must be an integer >= 1, got iterations=0"):
        source.noise(1, 1.0, 0)
    with pytest.raises(InvalidParameter, match="iterations must be an integer >= 1, got iterations=True"):
        source.batches(1, 1, True)


@pytest.mark.parametrize(("seed", "run"), [(-1, 0), (0, -1)])
def test_seeds_and_runs_count_from_zero(seed: int, run: int) -> None:
    with pytest.raises(InvalidParameter, match="must be an integer >= 0, got"):
        Seeded(seed, run)


@pytest.mark.parametrize("draws", [Seeded(3, 2), Entropy()])
@pytest.mark.parametrize(("n", "m", "iterations"), [(12, 3, 10), (13, 3, 9), (5, 5, 3), (7, 4, 2)])
def test_an_epoch_holds_every_record_once_at_most(draws: Randomness, n: int, m: int, iterations: int) -> None:
    each = n // m
    for batches in ([*draws.shuffled(n, m, iterations)], [*in_order(n, m, iterations)]):
        assert [len(batch) for batch in batches] == [m] * iterations
        for start in range(0, iterations, each):
            epoch = np.concatenate(batches[start : start + each])
            assert len(set(epoch.tolist())) == len(epoch)
            assert set(epoch.tolist()) <= set(range(n))
    stays = [*in_order(n, m, 2 * each)]
    assert all(np.array_equal(stays[k], stays[k + each]) for k in range(each))


def test_a_shuffled_epoch_has_every_order_equally_often() -> None:
    """All 24 orders of 4 records in batches of one; 4,800 epochs, fixed seed."""
    order = np.array([*Seeded(8).shuffled(4, 1, 4 * 4800)]).reshape(4800, 4)
    counts = Counter(map(tuple, order.tolist()))
    assert len(counts) == 24
    statistic = sum((count - 200) ** 2 / 200 for count in counts.values())
    assert stats.chi2.sf(statistic, 23) > 1e-4
    again = [*Seeded(8).shuffled(4, 1, 40)]
    assert np.array_equal(order[:10].ravel(), np.array(again).ravel())
    assert not np.array_equal(order[:10].ravel(), np.array([*Seeded(8, 1).shuffled(4, 1, 40)]).ravel())
