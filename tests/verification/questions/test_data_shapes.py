"""Kinds of data: each is what its name says, and each leaves columns in which only noise shows."""

from __future__ import annotations

import numpy as np
import pytest

from verification.questions.noise import DATA_SHAPES, records_of


@pytest.mark.parametrize("columns", [2, 5, 32])
@pytest.mark.parametrize("kind", DATA_SHAPES)
def test_some_columns_are_empty_and_the_rest_are_not(kind: str, columns: int) -> None:
    records, outside = records_of(kind, np.random.default_rng(1), 400, columns, 0.5)
    assert records.features.shape == (400, columns)
    assert not (records.features @ outside).any()
    assert np.isfinite(records.features).all()
    assert records.features.any()
    assert set(np.unique(records.labels)) <= {-1, 1}


def test_names_say_what_the_data_are() -> None:
    rng = np.random.default_rng(2)
    made = {kind: records_of(kind, rng, 400, 8, 0.5)[0] for kind in DATA_SHAPES}
    assert (made["labels all +1"].labels == 1).all()
    assert np.count_nonzero(np.diff(made["labels in order"].labels)) == 1
    assert np.count_nonzero(made["one label rare"].labels == 1) == 1
    assert len(np.unique(made["few distinct rows"].features, axis=0)) <= 5
    assert made["features not negative"].features.min() >= 0
    assert (np.count_nonzero(made["one-hot categories"].features, axis=1) == 1).all()
    lengths = np.linalg.norm(made["rows without features among others"].features, axis=1)
    assert 0 < np.count_nonzero(lengths == 0) < 400
