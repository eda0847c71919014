"""Two data sets that differ in one record: what is no pair is refused, and a pair is described in one line."""

from __future__ import annotations

import numpy as np
import pytest

from accountant.mechanisms.words import Neighbours as Relation
from verification.errors import VerificationError
from verification.neighbours.families import Domain, Families, library
from verification.neighbours.neighbours import (
    Attack,
    Neighbours,
    NotNeighbours,
    changed,
    own_neighbours,
    without_record,
)
from verification.wire.records import Records

DOMAINS = [
    Domain(7, columns, 2.5, relation, box, (-1.0, 1.0), closed)
    for columns in (1, 3)
    for relation in Relation
    for box in (None, (0.0, 1.0))
    for closed in (True, False)
]


def records(count: int = 6) -> Records:
    rng = np.random.default_rng(3)
    return Records(rng.standard_normal((count, 3)), np.where(np.arange(count) % 2 == 0, 1, -1))


def test_data_sets_that_differ_in_another_record_are_refused() -> None:
    data = records()
    other = data.replace(0, np.ones(3), 1).replace(2, np.ones(3), 1)
    with pytest.raises(NotNeighbours, match="record 1 alone"):
        Neighbours(data, other)
    with pytest.raises(NotNeighbours, match="record 2 alone"):
        Neighbours(data, without_record(data, 0), 1, relation=Relation.ADD_OR_REMOVE)
    with pytest.raises(NotNeighbours, match="position=6"):
        Neighbours(data, data, 6)


def test_the_users_pair_has_the_differing_record_first_and_the_others_in_their_order() -> None:
    data = records()
    pair = own_neighbours(data, data.replace(4, np.ones(3), 1), Relation.REPLACE_ONE)
    np.testing.assert_array_equal(pair.first.features[0], data.features[4])
    np.testing.assert_array_equal(pair.second.features[0], np.ones(3))
    np.testing.assert_array_equal(pair.others.features, np.delete(data.features, 4, axis=0))
    shuffled = Records(data.features[::-1], data.labels[::-1]).replace(0, np.ones(3), 1)
    np.testing.assert_array_equal(own_neighbours(data, shuffled, Relation.REPLACE_ONE).first.labels[0], data.labels[5])


@pytest.mark.parametrize("swapped", [False, True])
def test_a_missing_record_is_found_in_either_file(*, swapped: bool) -> None:
    data = records()
    both = (without_record(data, 2), data) if swapped else (data, without_record(data, 2))
    pair = own_neighbours(*both, Relation.ADD_OR_REMOVE)
    assert (pair.first.count, pair.second.count) == (6, 5)
    np.testing.assert_array_equal(pair.first.features[0], data.features[2])


def test_what_is_no_pair_is_refused_with_the_reason() -> None:
    data = records()
    two = data.replace(0, np.ones(3), 1).replace(2, np.ones(3), 1)
    with pytest.raises(NotNeighbours, match=r"2 records stand only in the first \(records 1, 3\) and 2 records"):
        own_neighbours(data, two, Relation.REPLACE_ONE)
    with pytest.raises(NotNeighbours, match="0 records stand only in the first and 0 records"):
        own_neighbours(data, data, Relation.REPLACE_ONE)
    with pytest.raises(NotNeighbours, match="must be add-or-remove neighbours: 1 records"):
        own_neighbours(data, two.replace(2, data.features[2], 1), Relation.ADD_OR_REMOVE)
    with pytest.raises(NotNeighbours, match="equally many features, got 3 and 1"):
        own_neighbours(data, Records(np.zeros((6, 1)), data.labels), Relation.REPLACE_ONE)


def test_a_pair_is_told_in_one_line() -> None:
    data = Records(np.array([[3.0], [0.0]]), np.array([1.0, 1.0]))
    flipped = changed(data, 0, (np.array([3.0]), -1.0))
    assert flipped.text() == "two records, one column: record 1 = (3), label +1 -> -1; others (0) +1"
    removed = changed(data, 1, None)
    assert removed.text() == "two records, one column: record 2 = (0), label +1, is removed; others (3) +1"
    attack = Attack(flipped, {"x": np.array([[0.5]]), "y": np.zeros((1, 1))})
    assert attack.text().endswith("; released so far x = (0.5)")
    assert attack.key() != Attack(flipped).key()
    wide = changed(Records(np.eye(20), np.ones(20)), 1, (2.0 * np.eye(20)[1], 1.0), "orthogonal")
    record = "record 2 = (0 but 1 in column 2) -> (0 but 2 in column 2), label +1"
    assert wide.text() == f"20 records, 20 columns: {record}; orthogonal"


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_family_stays_within_its_domain(domain: Domain) -> None:
    found = [pair for pair, _ in Families(domain, np.random.default_rng(1)).all()]
    assert len(found) >= 6 * 3 * 5
    for pair in found:
        for data in (pair.first, pair.second):
            empty = domain.relation is Relation.ZERO_OUT
            assert set(data.labels.tolist()) <= {*domain.labels, *([0.0] if empty else [])}
            inside = np.linalg.norm(data.features, axis=1) <= domain.radius * (1 + 1e-12)
            if domain.box is not None:
                inside = np.all((data.features >= domain.box[0]) & (data.features <= domain.box[1]), axis=1)
            assert inside.all() or not domain.closed


def test_no_family_of_the_lists_it_replaces_is_missing() -> None:
    names = {pair.name for pair, _ in Families(Domain(5, 3, closed=False), np.random.default_rng(1)).all()}
    changes = {
        "turned round",
        "relabelled",
        "turned round and relabelled",
        "made zero",
        "replaced",
        "made large and turned round",
        "made large and relabelled",
        "mirrored",
        "nearly the same and relabelled",
    }
    others = {"random", "aligned", "opposed", "orthogonal", "mixed", "zero"}
    assert names == {f"{kind} others, record {change}" for kind in others for change in changes}
    telling = ["outlier", "label flip", "opposed", "duplicated", "cancelling", "sparse", "present or empty"]
    telling += ["diagonal", "aligned"]
    assert [pair.name for pair in library(Domain())] == telling
    beyond = [pair for pair in library(Domain(closed=False)) if pair.name not in telling]
    assert [pair.name for pair in beyond] == ["long", "long against many", "among long ones"]
    assert all(np.linalg.norm(pair.first.features[pair.position]) > 100.0 for pair in beyond)


def test_a_library_needs_a_record_beside_the_one_that_differs() -> None:
    with pytest.raises(VerificationError, match="at least 2 records"):
        library(Domain(1))


@pytest.mark.parametrize("bad", [{"records": 0}, {"columns": 0}, {"radius": 0.0}, {"radius": float("nan")}])
def test_an_impossible_domain_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(VerificationError, match=r"needs at least|must be finite and > 0"):
        Domain(**bad)  # type: ignore[arg-type]  # what a caller must not pass


def test_the_library_of_a_black_box_has_no_empty_record() -> None:
    with pytest.raises(VerificationError, match="zero-out"):
        library(Domain(7, 2, 2.5, Relation.ZERO_OUT))


@pytest.mark.parametrize("relation", [Relation.REPLACE_ONE, Relation.ADD_OR_REMOVE])
@pytest.mark.parametrize("features", [1, 2, 5])
def test_every_pair_of_the_library_is_a_pair_of_neighbours_within_the_norm(relation: Relation, features: int) -> None:
    pairs = library(Domain(7, features, 2.5, relation))
    assert len({pair.name for pair in pairs}) == len(pairs) == 9
    for pair in pairs:
        for side in (pair.first, pair.second):
            assert np.linalg.norm(side.features, axis=1).max() <= 2.5 * (1.0 + 1e-15)
            assert set(side.labels.tolist()) <= {-1, 1}
        assert pair.first.count == 7
        assert pair.second.count == (7 if relation is Relation.REPLACE_ONE else 6)
        assert own_neighbours(pair.first, pair.second, relation).name == "your own pair"
