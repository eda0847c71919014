r"""Two data sets that differ in one record: the one class for a pair, whoever asks about it.

:class:`Neighbours` guarantees what its name says: the two data sets are equal but for one record, which is replaced
or missing in the second. :class:`Attack` adds what the records are asked with: the values that were released before,
or the starting point.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from accountant.mechanisms.words import Neighbours as Relation
from verification.errors import VerificationError
from verification.wire.arrays import Floats
from verification.wire.records import Records

OWN = "your own pair"
_SHOWN_COLUMNS, _SHOWN_OTHERS, _SHOWN_PLACES = 8, 3, 5
_SIDES = ("first", "second")
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class NotNeighbours(VerificationError):
    """Two data sets that do not differ in exactly one record; the message says how they differ."""


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Two data sets that differ in the record at ``position``; ``name`` is that of the family they belong to.

    With ``REPLACE_ONE`` the second holds another record there, or the same one; with ``ADD_OR_REMOVE`` it lacks it.
    """

    first: Records
    second: Records
    position: int = 0
    name: str = ""
    relation: Relation = Relation.REPLACE_ONE

    def __post_init__(self) -> None:
        if not 0 <= self.position < self.first.count:
            raise NotNeighbours(f"position must be below {self.first.count}, got position={self.position}")
        other = self.second if self.removed else without_record(self.second, self.position)
        if not _equal(without_record(self.first, self.position), other):
            raise NotNeighbours(f"the data sets must differ in record {self.position + 1} alone")

    @property
    def removed(self) -> bool:
        """Whether the second has one record less."""
        return self.relation is Relation.ADD_OR_REMOVE

    @property
    def count(self) -> int:
        """How many records the first data set has."""
        return self.first.count

    @property
    def columns(self) -> int:
        """The number of features."""
        return int(self.first.features.shape[1])

    @property
    def others(self) -> Records:
        """The records that both have."""
        return without_record(self.first, self.position)

    def text(self) -> str:
        """The pair in one line: size, the record before and after, and the other records where they are few."""
        size = f"{_number(self.count, 'record')}, {_number(self.columns, 'column')}"
        row, label = self.first.features[self.position], float(self.first.labels[self.position])
        text = f"record {self.position + 1} = {_row(row)}"
        if self.removed:
            return f"{size}: {text}, label {_label(label)}, is removed{self._others_text()}"
        other, after = self.second.features[self.position], float(self.second.labels[self.position])
        if not np.array_equal(row, other, equal_nan=True):
            text += f" -> {_row(other)}"
        labels = f"label {_label(label)}" + ("" if after == label else f" -> {_label(after)}")
        return f"{size}: {text}, {labels}{self._others_text()}"

    def _others_text(self) -> str:
        rows, labels = self.others.features, self.others.labels
        if not len(rows):
            return ""
        if len(rows) <= _SHOWN_OTHERS and self.columns <= _SHOWN_COLUMNS:
            return "; others " + ", ".join(
                f"{_row(row)} {_label(float(label))}" for row, label in zip(rows, labels, strict=True)
            )
        if not rows.any():
            return "; all other features are 0"
        if (rows == self.first.features[self.position]).all():
            return "; all others have the same features"
        return f"; {self.name}" if self.name else ""


@dataclass(frozen=True, slots=True, eq=False)
class Attack:
    """Neighbours and what is taken as released before, or as the starting point, by name: [releases, ...]."""

    neighbours: Neighbours
    history: Mapping[str, Floats] = field(default_factory=dict)

    def key(self) -> bytes:
        """A digest of all numbers: the same attack has the same key."""
        pair, digest = self.neighbours, hashlib.sha256()
        digest.update(f"{pair.position} {pair.relation}".encode())
        for data in (pair.first, pair.second):
            digest.update(str(data.features.shape).encode() + data.features.tobytes() + data.labels.tobytes())
        for name, array in self.history.items():
            digest.update(f"{name} {array.shape}".encode() + array.tobytes())
        return digest.digest()

    def text(self) -> str:
        """The pair in words, and the released values before it where they are not 0."""
        given = [
            f"{name} = {_row(array.ravel())}" if array.size <= _SHOWN_COLUMNS else f"{name} of {_length(array)}"
            for name, array in self.history.items()
            if array.any()
        ]
        return self.neighbours.text() + (f"; released so far {', '.join(given)}" if given else "")


def without_record(data: Records, position: int) -> Records:
    """The data set without this record."""
    kept = np.arange(data.count) != position
    return Records(data.features[kept], data.labels[kept])


def changed(data: Records, position: int, after: tuple[Floats, float] | None, name: str = "") -> Neighbours:
    """The data set and its neighbour in which the record becomes ``after``, or is missing where that is None."""
    if after is None:
        return Neighbours(data, without_record(data, position), position, name, Relation.ADD_OR_REMOVE)
    return Neighbours(data, data.replace(position, *after), position, name)


def as_records(pair: Neighbours) -> Neighbours:
    """The same pair with whole labels, -1 and 1."""
    first, second = (Records(side.features, side.labels.astype(np.int64)) for side in (pair.first, pair.second))
    return Neighbours(first, second, pair.position, pair.name, pair.relation)


def own_neighbours(first: Records, second: Records, relation: Relation) -> Neighbours:
    """The user's own pair, in any order of records; what is no pair in this sense is refused with the reason.

    The differing record comes first, then the others in the order of the first file, or of the longer one.
    """
    if first.columns != second.columns:
        raise NotNeighbours(f"neighbours must have equally many features, got {first.columns} and {second.columns}")
    alone = _unmatched(first, second), _unmatched(second, first)
    wanted = [(1, 1)] if relation is Relation.REPLACE_ONE else [(1, 0), (0, 1)]
    if (len(alone[0]), len(alone[1])) not in wanted:
        said = [
            f"{len(rows)} records stand only in the {which}{_places(rows)}"
            for rows, which in zip(alone, _SIDES, strict=True)
        ]
        raise NotNeighbours(f"the two files must be {relation} neighbours: {' and '.join(said)}")
    if not alone[0]:
        first, second, alone = second, first, alone[::-1]
    others = without_record(first, alone[0][0])
    pair = [
        _before(side, rows[0], others) if rows else others for side, rows in zip((first, second), alone, strict=True)
    ]
    return Neighbours(pair[0], pair[1], 0, OWN, relation)


def _unmatched(records: Records, other: Records) -> list[int]:
    """The places of records that the other data set does not hold, or not as often."""
    left = Counter(_keys(other))
    found = []
    for place, key in enumerate(_keys(records)):
        left[key] -= 1
        if left[key] < 0:
            found.append(place)
    return found


def _keys(records: Records) -> list[bytes]:
    return [np.append(row + 0.0, label).tobytes() for row, label in zip(records.features, records.labels, strict=True)]


def _places(rows: list[int]) -> str:
    some = ", ".join(str(row + 1) for row in rows[:_SHOWN_PLACES]) + (", ..." if len(rows) > _SHOWN_PLACES else "")
    return f" (records {some})" if rows else ""


def _before(records: Records, row: int, others: Records) -> Records:
    rows = np.vstack([records.features[row][None], others.features])
    return Records(rows, np.concatenate([records.labels[row : row + 1], others.labels]))


def _equal(first: Records, second: Records) -> bool:
    same = np.array_equal(first.features, second.features, equal_nan=True)
    return same and np.array_equal(first.labels, second.labels)


def _number(count: int, noun: str) -> str:
    word = _WORDS[count] if count < len(_WORDS) else str(count)
    return f"{word} {noun}" + ("" if count == 1 else "s")


def _row(row: Floats) -> str:
    if len(row) <= _SHOWN_COLUMNS:
        return f"({', '.join(f'{float(x) + 0.0:.4g}' for x in row)})"
    places = np.flatnonzero(row)
    if len(places) <= _SHOWN_COLUMNS:
        shown = ", ".join(f"{float(row[j]):.4g} in column {j + 1}" for j in places)
        return f"(0{' but ' + shown if shown else ''})"
    return f"({len(row)} features of {_length(row)})"


def _length(array: Floats) -> str:
    return f"length {float(np.linalg.norm(array)):.4g}"


def _label(label: float) -> str:
    return f"{label:+.4g}"
