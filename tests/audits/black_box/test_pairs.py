"""The library of pairs: neighbours in the relation asked for, within the domain; and the user's own pair."""

from __future__ import annotations

import numpy as np
import pytest

from accountant.mechanisms.words import Neighbours
from audits.black_box.pairs import Domain, library, own_neighbours
from audits.errors import AuditError
from verification.wire.records import Records


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("features", [1, 2, 5])
def test_every_pair_of_the_library_is_a_pair_of_neighbours_within_the_norm(relation: Neighbours, features: int) -> None:
    pairs = library(Domain(7, features, 2.5, relation))
    assert len({pair.name for pair in pairs}) == len(pairs) == 7
    for pair in pairs:
        for side in (pair.first, pair.second):
            assert np.linalg.norm(side.features, axis=1).max() <= 2.5 * (1.0 + 1e-15)
            assert set(side.labels.tolist()) <= {-1, 1}
        assert pair.first.count == 7
        assert pair.second.count == (7 if relation is Neighbours.REPLACE_ONE else 6)
        assert own_neighbours(pair.first, pair.second, relation).name == "your own pair"


def test_a_pair_of_ones_own_must_be_neighbours_in_the_relation_asked_for() -> None:
    first = Records(np.array([[1.0], [2.0], [2.0]]), np.array([1, 1, 1]))
    fewer = Records(np.array([[2.0], [2.0]]), np.array([1, 1]))
    assert own_neighbours(first, fewer, Neighbours.ADD_OR_REMOVE).second is fewer
    with pytest.raises(AuditError, match="1 records stand only in the first and 0 only in the second"):
        own_neighbours(first, fewer, Neighbours.REPLACE_ONE)
    with pytest.raises(AuditError, match="0 records stand only in the first and 0"):
        own_neighbours(first, first, Neighbours.REPLACE_ONE)
    with pytest.raises(AuditError, match="equally many features"):
        own_neighbours(first, Records(np.zeros((2, 2)), np.array([1, 1])), Neighbours.REPLACE_ONE)


@pytest.mark.parametrize("bad", [{"records": 1}, {"features": 0}, {"norm": 0.0}, {"norm": float("nan")}])
def test_an_impossible_domain_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(AuditError):
        Domain(**bad)  # type: ignore[arg-type]  # what a caller must not pass
