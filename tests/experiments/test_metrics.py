"""Accuracy, objective and coverage on cases that can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import metrics
from experiments.cells import CellTable
from experiments.synthetic import true_model


def test_accuracy_counts_positive_margins_only() -> None:
    signed = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(metrics.accuracy(signed, np.array([[1.0, 1.0], [0.0, 0.0]])), [0.5, 0.0])


def test_objective_is_mean_loss_plus_penalty() -> None:
    signed = np.array([[1.0, 0.0], [0.0, 2.0]])
    cells = CellTable.of(["logistic", "huber"], [0.5, 0.25], [0.0, 0.0])
    models = np.array([[0.0, 0.0], [3.0, -1.0]])
    expected = [np.log(2), ((0.0) + (1 + 2)) / 2 + 0.25 * 4]
    np.testing.assert_allclose(metrics.objective(signed, cells, models), expected, rtol=1e-15)


def test_the_true_model_covers_everything_and_a_reversed_one_nothing() -> None:
    truth = np.concatenate([[100.0], true_model()])  # a huge intercept must not take a place
    reversed_ = np.concatenate([[0.0], np.arange(1, 101.0)])
    models = np.stack([truth, reversed_])
    np.testing.assert_array_equal(metrics.coverages(models, [20, 40, 90]), [[1, 1, 1], [0, 0, 0.5]])


def test_the_papers_example_of_sixteen_in_thirty() -> None:
    model = np.zeros(101)
    model[1:17] = 1.0  # 16 relevant
    model[40:54] = 2.0  # 14 irrelevant, larger
    assert metrics.coverage(model[None], 30)[0] == pytest.approx(16 / 20)


def test_a_model_of_zeros_finds_nothing() -> None:
    """Ties go against the relevant attributes: an all-zero model must not look like a perfect selection."""
    np.testing.assert_array_equal(metrics.coverages(np.zeros((1, 101)), [20, 40, 80]), [[0, 0, 0]])
    assert metrics.coverage(np.zeros((1, 101)), 85)[0] == pytest.approx(5 / 20)
