"""The simulated data have the distribution that section 5.3 describes."""

from __future__ import annotations

import numpy as np

from experiments.folds import batch_size, fold_members, iterations, smallest_training_fold, split
from experiments.synthetic import simulate, true_model
from reference.arithmetic import Vector

ROWS = 20_000


def test_the_model_is_the_papers() -> None:
    x = true_model()
    np.testing.assert_array_equal(x[:10], [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5])
    np.testing.assert_array_equal(x[10:20], -x[:10])
    assert len(x) == 100
    assert not x[20:].any()


def test_features_have_the_stated_covariance() -> None:
    s = simulate(1, ROWS).features
    index = np.arange(100)
    expected = 0.5 ** np.abs(index[:, None] - index)
    # An entry's deviation is sqrt((1 + r^2)/N) <= 0.01; the largest of 5,050 stays within 5.2 of them (1e-3).
    assert np.abs(s.T @ s / ROWS - expected).max() < 0.052
    assert np.abs(s.mean(axis=0)).max() < 4.5 / np.sqrt(ROWS)


def test_labels_follow_the_noisy_logit() -> None:
    data = simulate(2, 4 * ROWS)
    assert abs((data.labels > 0).mean() - 0.5) < 5 * 0.5 / np.sqrt(4 * ROWS)
    logit = data.features @ true_model()
    near = np.abs(logit) < 6  # where the label is not settled already
    positive, logit = data.labels[near] > 0, logit[near]
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    noisy = (1 / (1 + np.exp(nodes - logit[:, None]))) @ weights / weights.sum()  # E over iota of the sigmoid
    clean = 1 / (1 + np.exp(-logit))

    def deviations(chance: Vector) -> float:
        """How many standard deviations the labels lean more to the logit's side than this chance says."""
        lean = np.sign(logit) * (positive - chance)
        return float(lean.sum() / np.sqrt((chance * (1 - chance)).sum()))

    assert abs(deviations(noisy)) < 4  # 6e-5 by chance, and the seed is fixed
    assert deviations(clean) < -5  # the noise inside the logit is there: without it, labels would lean further


def test_a_seed_names_a_data_set() -> None:
    a, b, c = simulate(5, 50), simulate(5, 50), simulate(6, 50)
    np.testing.assert_array_equal(a.features, b.features)
    np.testing.assert_array_equal(a.labels, b.labels)
    assert not np.array_equal(a.features, c.features)


def test_folds_partition_the_records_and_training_never_meets_the_test() -> None:
    members = fold_members(103, 10, seed=4)
    assert sorted(np.concatenate(members).tolist()) == list(range(103))
    assert {len(fold) for fold in members} == {10, 11}
    data = simulate(1, 103)
    training, test = split(data, members[0])
    assert training.records + test.records == 103
    rows = {row.tobytes() for row in training.features}
    assert not any(row.tobytes() in rows for row in test.features)


def test_sizes_are_the_papers_for_adult() -> None:
    n = smallest_training_fold(48_842, 10)
    assert (n, batch_size(n)) == (43_957, 210)
    assert batch_size(48_842) == 221
    assert iterations(10, 48_842, 221) == 2_210
    sizes = {48_842 - len(fold) for fold in fold_members(48_842, 10, 0)}
    assert sizes == {43_957, 43_958}
