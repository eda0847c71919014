r"""Records (s, l), validated; their neighbours; and the preprocessing that bounds a record's influence.

Neighbouring means: one record replaced by another; the number of records is public. Preprocessing here is record by
record, with public constants only, so it maps neighbours to neighbours. Scaling by the data's own minimum and
maximum, as the paper does, is *not* private (E12): :func:`min_max_bounds` says so in its name and docstring.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reference.arithmetic import Matrix, Vector
from reference.arithmetic.float64 import FLOAT64
from reference.errors import InvalidData, InvalidParameter, require_positive


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """n records of p features with labels in {-1, +1}; never changed in place."""

    features: Matrix
    labels: Vector

    @classmethod
    def of(cls, features: ArrayLike, labels: ArrayLike) -> Dataset:
        """Validate shapes, finiteness and labels; the message names the row."""
        s = np.ascontiguousarray(features, dtype=np.float64)
        v = np.ascontiguousarray(labels, dtype=np.float64)
        if s.ndim != 2 or 0 in s.shape:
            raise InvalidData(f"features must be a non-empty matrix of records x features, got shape {s.shape}")
        if v.shape != (len(s),):
            raise InvalidData(f"there must be one label for each record, {len(s)} in all, got shape {v.shape}")
        for row in np.flatnonzero(~np.isfinite(s).all(axis=1))[:1]:
            column = int(np.flatnonzero(~np.isfinite(s[row]))[0])
            raise InvalidData(f"features must be finite, got {s[row, column]} in row {row}, column {column}")
        for row in np.flatnonzero(np.abs(v) != 1)[:1]:
            raise InvalidData(f"labels must be -1 or +1, got {v[row]} in row {row}")
        return cls(_frozen(s), _frozen(v))

    @property
    def records(self) -> int:
        """n."""
        return len(self.features)

    @property
    def dimension(self) -> int:
        """p."""
        return int(self.features.shape[1])

    def replace(self, row: int, features: ArrayLike, label: float) -> Dataset:
        """The neighbour in which one record is another: the relation under which privacy is claimed."""
        if not 0 <= row < self.records:
            raise InvalidParameter(f"row must lie in 0..{self.records - 1}, got row={row}")
        record = np.asarray(features, dtype=np.float64)
        if record.shape != (self.dimension,):
            raise InvalidData(f"a record must have {self.dimension} features, got shape {record.shape}")
        s, v = self.features.copy(), self.labels.copy()
        s[row], v[row] = record, label
        return Dataset.of(s, v)

    def scaled(self, lower: ArrayLike, upper: ArrayLike) -> Dataset:
        """Each feature mapped from its *public* bounds to [0, 1]; values outside are cut off at the bounds."""
        low = np.broadcast_to(np.asarray(lower, dtype=np.float64), self.features.shape[1:])
        high = np.broadcast_to(np.asarray(upper, dtype=np.float64), self.features.shape[1:])
        with np.errstate(over="ignore", invalid="ignore"):  # a width that overflows is refused below
            width = high - low
        for column in np.flatnonzero(~(np.isfinite(width) & (width >= 0)))[:1]:
            raise InvalidParameter(
                f"bounds must be finite with lower <= upper, column {column} has {low[column]}, {high[column]}"
            )
        # A feature whose bounds agree carries nothing and becomes 0.
        safe = np.where(width > 0, width, 1.0)
        return Dataset.of((np.clip(self.features, low, high) - low) / safe, self.labels)

    def with_intercept(self) -> Dataset:
        """A column of ones in front; *before* :meth:`normalised`, never after (statement INTERCEPT-ORDER)."""
        return Dataset.of(np.column_stack([np.ones(self.records), self.features]), self.labels)

    def normalised(self, length: float = 1.0) -> Dataset:
        """Every non-zero row scaled to the given length, so that no gradient is longer (to rounding)."""
        require_positive("length", length)
        norms = row_norms(self.features)
        # Two divisions, not one by a product: a denormal row times 1/norm would overflow.
        rows = self.features / np.where(norms > 0, norms, 1.0)[:, None]
        # A row of denormals is normalised to few bits only; a second pass restores full precision.
        norms = row_norms(rows)
        return Dataset.of(rows / np.where(norms > 0, norms, 1.0)[:, None] * length, self.labels)


def row_norms(features: Matrix) -> Vector:
    """The Euclidean length of each record's features; refuses one that overflows."""
    norms = FLOAT64.norm(features)
    for row in np.flatnonzero(~np.isfinite(norms))[:1]:
        raise InvalidData(f"the features of row {row} are too long to measure in binary64; scale them first")
    return norms


def min_max_bounds(data: Dataset) -> tuple[Vector, Vector]:
    """The data's own minimum and maximum: **not private**, offered only to repeat the paper's experiments (E12)."""
    return data.features.min(axis=0), data.features.max(axis=0)


def _frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """A read-only copy, so that a caller's later writes cannot change validated records."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy
