"""Neighbours at which unknown code tends to leak most.

Every pair differs in the first record: it is another one (`replace-one`), or it is there or not (`add-or-remove`).
What makes a pair hard is where the other records lie: an outlier among short ones shows a missing bound, a record
against many opposed ones shows what a sum of all hides, a feature that nobody else has shows a scale or a rank that
depends on the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountant.mechanisms.words import Neighbours
from audits.curves.privacy_curve import require_finite
from audits.errors import AuditError
from verification.wire.arrays import Floats
from verification.wire.records import Records


@dataclass(frozen=True, slots=True, eq=False)
class BoxedPair:
    """Two data sets, and what makes them hard."""

    name: str
    first: Records
    second: Records


@dataclass(frozen=True, slots=True)
class Domain:
    """The records that the claim speaks of: so many, with so many features, of at most this Euclidean norm."""

    records: int = 12
    features: int = 3
    norm: float = 1.0
    neighbours: Neighbours = Neighbours.REPLACE_ONE

    def __post_init__(self) -> None:
        require_finite("norm", self.norm, strictly=True)
        if self.records < 2 or self.features < 1:
            raise AuditError(
                f"needs at least 2 records and 1 feature, got records={self.records}, features={self.features}"
            )


def library(domain: Domain) -> list[BoxedPair]:
    """Return the hard pairs of a domain, the most telling first; every record lies within the norm."""
    unit = domain.norm * np.eye(domain.features)
    first, nothing = unit[0], 0.0 * unit[0]
    second = unit[1] if domain.features > 1 else 0.5 * first
    others = domain.records - 1
    short, empty = _short(domain, others), np.zeros((others, domain.features))
    alike = np.ones(others, dtype=np.int64)
    mixed = np.where(np.arange(others) % 2 == 0, 1, -1)

    def pair(name: str, other: tuple[Floats, int], rest: Floats, labels: NDArray[np.int64]) -> BoxedPair:
        return _neighbours(domain.neighbours, name, ((first, 1), other), Records(rest, labels.astype(np.int64)))

    return [
        pair("outlier", (-first, 1), short, mixed),
        pair("label flip", (first, -1), short, mixed),
        pair("opposed", (-first, 1), np.tile(-first, (others, 1)), alike),
        pair("duplicated", (first, -1), np.tile(first, (others, 1)), alike),
        pair("cancelling", (-first, 1), _cancelling(first, others), alike),
        pair("sparse", (nothing, 1), np.tile(second, (others, 1)), mixed),
        pair("present or empty", (nothing, 1), empty, mixed),
    ]


def own_neighbours(first: Records, second: Records, neighbours: Neighbours) -> BoxedPair:
    """Return a pair of the user's, which must be neighbours in that sense."""
    if first.columns != second.columns:
        raise AuditError(f"neighbours must have equally many features, got {first.columns} and {second.columns}")
    one, other = _multiset(first), _multiset(second)
    alone = [sum(max(one.get(row, 0) - other.get(row, 0), 0) for row in one)]
    alone.append(sum(max(other.get(row, 0) - one.get(row, 0), 0) for row in other))
    wanted = {Neighbours.REPLACE_ONE: [[1, 1]], Neighbours.ADD_OR_REMOVE: [[0, 1], [1, 0]]}[neighbours]
    if alone not in wanted:
        raise AuditError(
            f"the two files must be {neighbours} neighbours: {alone[0]} records stand only in the first and {alone[1]} "
            "only in the second"
        )
    return BoxedPair("your own pair", first, second)


def _neighbours(
    neighbours: Neighbours, name: str, records: tuple[tuple[Floats, int], tuple[Floats, int]], rest: Records
) -> BoxedPair:
    def with_record(features: Floats, label: int) -> Records:
        return Records(np.vstack([features[None], rest.features]), np.append(label, rest.labels).astype(np.int64))

    second = rest if neighbours is Neighbours.ADD_OR_REMOVE else with_record(*records[1])
    return BoxedPair(name, with_record(*records[0]), second)


def _short(domain: Domain, count: int) -> Floats:
    """Ordinary records: a tenth of the norm, in directions that go round the axes."""
    rows = np.arange(count)
    signs = np.where((rows // domain.features) % 2 == 0, 1.0, -1.0)
    return np.asarray(0.1 * domain.norm * signs[:, None] * np.eye(domain.features)[rows % domain.features])


def _cancelling(direction: Floats, count: int) -> Floats:
    """Records whose sum is 0: in turn one way and the other, the last empty where their number is odd."""
    signs = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
    if count % 2:
        signs[-1] = 0.0
    return np.asarray(signs[:, None] * direction)


def _multiset(records: Records) -> dict[bytes, int]:
    counted: dict[bytes, int] = {}
    for row, label in zip(records.features, records.labels, strict=True):
        key = np.append(row, float(label)).tobytes()
        counted[key] = counted.get(key, 0) + 1
    return counted
