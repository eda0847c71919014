r"""Data on which a run shows what it did.

`silent`: no record has a gradient; a run shows its noise. `marked`: marked records of ordinary and of extreme length
stand at the start, the end, at round places and at random ones. Each has a column of its own, all records of one part
of the data share one more (`parts_of`), and the rest are 0. `mixed`: records of ordinary length and both labels, a few
of extreme length among them, that span less than the whole space, as redundant features do.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verification.wire.arrays import Floats
from verification.wire.records import Records

COMMON = 0.1
ORDINARY = (2.2, 4.0)
"""Lengths over the bound of marks that are not extreme: their gradients at 0 are just clipped, and stay so for long."""
CHANGING = (0.5, 3.0)
"""The same where a run shows how gradients change: those that stay clipped do not."""
POSITIVE = 0.25
"""The share of the label +1, as in data that are not balanced."""
EXTREME = (1e3, 1e6, 1e9)
LONG = (2e1, 1e1, 5e0)
"""The same at a few records, where noise of 3 C in 6 columns carries x up to 30 away in 3 iterations: margins stay
below 600, so that the exponential of a plain program does not overflow (at 709). Longer records are sent by
`clips-each-record`, at x = 0, and at the claimed size, as far as the implementation runs them (`reach`)."""
_LENGTHS = (8.0, 1000.0)
_MOST_MARKS = 96
_MOST_PARTS = 10
_OUTLIERS = 12
_SMALLEST_NULL = 8


@dataclass(frozen=True, slots=True, eq=False)
class Marked:
    """Marked records: where they are, which column is whose, and how long they are."""

    records: Records
    places: NDArray[np.intp]
    columns: NDArray[np.intp]
    extreme: NDArray[np.bool_]
    shared: NDArray[np.intp]  # the column of each part of the data; none where columns are too few
    part: NDArray[np.intp]  # of each record
    quiet: NDArray[np.intp]  # columns that are 0 in all records

    @property
    def alone(self) -> Records:
        """The marked records by themselves."""
        return Records(self.records.features[self.places], self.records.labels[self.places])


@dataclass(frozen=True, slots=True, eq=False)
class Mixed:
    """Ordinary and extreme records, and an orthonormal basis [p, r] of what they do not span."""

    records: Records
    outside: Floats
    outliers: int


def silent_records(count: int, columns: int) -> Records:
    """Records without features: every gradient is 0 and the iterates show the noise alone."""
    return Records(np.zeros((count, columns)), np.where(np.arange(count) % 2, -1, 1).astype(np.int64))


def random_records(rng: np.random.Generator, count: int, columns: int, length: float = 2.0) -> Records:
    """Records whose norms are at least `length`, so that scaling down and scaling to a length agree."""
    features = rng.standard_normal((count, columns))
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    features *= np.maximum(length / norms, 1.0) * (1 + rng.random((count, 1)))
    return Records(features, np.where(rng.random(count) < 0.5, -1, 1).astype(np.int64))


def silent(count: int, columns: int, rng: np.random.Generator) -> Records:
    """Records without features, both labels."""
    return Records(np.zeros((count, columns)), _labels(count, rng))


def identical(count: int, columns: int, bound: float, rng: np.random.Generator, reach: float) -> Records:
    """One dense record, n times, with labels of both signs; between 8 and 1,000 times as long as the bound, or less."""
    direction = rng.standard_normal(columns)
    direction /= np.linalg.norm(direction)
    length = bound * float(np.exp(rng.uniform(*np.log(np.minimum(_LENGTHS, reach)))))
    labels = np.where(rng.random(count) < 0.5, -1, 1).astype(np.int64)
    return Records(labels[:, None] * (length * direction), labels)


@functools.lru_cache(maxsize=1)
def shared_silent(count: int, columns: int, seed: int) -> Records:
    """Silent records that are the same object for every mechanism of one size, so that they are sent once."""
    return silent(count, columns, np.random.default_rng([seed, 0]))


@functools.lru_cache(maxsize=1)
def shared_mixed(count: int, columns: int, bound: float, seed: int, extreme: tuple[float, ...] = EXTREME) -> Mixed:
    """Mixed records that are the same object for every mechanism of one size and bound."""
    return mixed(count, columns, bound, np.random.default_rng([seed, 1]), extreme)


def marked(
    count: int,
    columns: int,
    batch: int,
    bound: float,
    rng: np.random.Generator,
    *,
    ordinary: tuple[float, float] = ORDINARY,
    extreme_lengths: tuple[float, ...] = EXTREME,
) -> Marked:
    """Marks in as many columns as there are, all records alike in one more."""
    parts = parts_of(count, columns)
    marks = max(1, min(columns - parts - 1, _MOST_MARKS, count // 2))
    order = rng.permutation(columns)
    own, shared, quiet = order[:marks], order[marks : marks + parts], order[marks + parts :]
    part = np.arange(count) * parts // count
    places = marked_places(count, marks, batch, rng)
    labels = _labels(count, rng)
    features = np.zeros((count, columns))
    if shared.size:
        features[np.arange(count), shared[part]] = COMMON * bound * labels
    extreme = np.arange(marks) % 3 == 2
    lengths = bound * np.where(extreme, np.resize(extreme_lengths, marks), rng.uniform(*ordinary, marks))
    features[places, own] = lengths * labels[places]
    return Marked(Records(features, labels), places, own, extreme, shared, part, quiet)


def parts_of(count: int, columns: int) -> int:
    """How many parts of the data are counted: tenths, or fewer so that most columns are left for marks."""
    return max(1, min(_MOST_PARTS, columns // 4, count))


def marked_places(count: int, marks: int, batch: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Start, end, both sides of round numbers and of the first batches, then random places; no place twice."""
    round_places = [2**k for k in range(6, 40)] + [10**k for k in range(2, 12)] + [batch, 2 * batch]
    edges = [place for at in round_places for place in (at - 1, at)]
    named = [0, count - 1, 1, count - 2, batch - 1, count - batch, count // 2, *edges]
    named = [place for place in dict.fromkeys(named) if 0 <= place < count][: max(1, 2 * marks // 3)]
    rest = np.setdiff1d(rng.permutation(count)[: 2 * marks + len(named)], named)
    chosen = np.concatenate([np.array(named), rng.permutation(rest)[: max(0, marks - len(named))]])
    return rng.permutation(chosen.astype(np.intp)[:marks])


def mixed(
    count: int, columns: int, bound: float, rng: np.random.Generator, extreme: tuple[float, ...] = EXTREME
) -> Mixed:
    """Ordinary records of a lower rank with outliers; where there is but one column, no rank is left."""
    hidden = 0 if columns == 1 else min(columns - 1, max(_SMALLEST_NULL, columns // 4))
    basis, _ = np.linalg.qr(rng.standard_normal((columns, columns)))
    inside, outside = basis[:, hidden:], basis[:, :hidden]
    rank = columns - hidden
    features = rng.standard_normal((count, rank)) @ inside.T * (1.5 * bound / np.sqrt(rank))
    labels = np.where(features @ inside @ rng.standard_normal(rank) + rng.logistic(size=count) > 0, 1, -1)
    outliers = min(_OUTLIERS, count // 4)
    where = np.unique(np.concatenate([[0, count - 1], rng.permutation(count)[:outliers]]))[:outliers]
    # the direction of the record itself, so that what the records span stays the same
    features[where] *= np.resize(extreme, len(where))[:, None]
    return Mixed(Records(features, labels.astype(np.int64)), outside, len(where))


def _labels(count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.where(rng.random(count) < POSITIVE, 1, -1).astype(np.int64)
