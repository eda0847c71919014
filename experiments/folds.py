"""Cross-validation: which records are tested on, and what a training fold is called in the accounting."""

from __future__ import annotations

import math

import numpy as np

from experiments.errors import ConfigError
from reference.arithmetic import Indices
from reference.dataset import Dataset


def fold_members(records: int, folds: int, seed: int) -> list[Indices]:
    """Shuffled test folds whose sizes differ by at most one; the same for the same seed."""
    if not 2 <= folds <= records:
        raise ConfigError(f"folds must lie in 2..{records} for {records} records, got folds={folds}")
    order = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(folds,))).permutation(records)
    return [np.sort(part).astype(np.intp) for part in np.array_split(order, folds)]


def split(data: Dataset, test: Indices) -> tuple[Dataset, Dataset]:
    """The training records and the test records."""
    train = np.ones(data.records, dtype=np.bool_)
    train[test] = False
    return (
        Dataset.of(data.features[train], data.labels[train]),
        Dataset.of(data.features[test], data.labels[test]),
    )


def smallest_training_fold(records: int, folds: int) -> int:
    """n for the accountant: noise that suffices for the smallest fold suffices for every fold."""
    return records - math.ceil(records / folds)


def batch_size(records: int) -> int:
    """m = sqrt(n), to the nearest integer. [CL20] section 5.4."""
    return max(1, round(math.sqrt(records)))


def iterations(epochs: int, records: int, batch: int) -> int:
    """T of so many expected epochs, n/m iterations each."""
    return max(1, round(epochs * records / batch))
