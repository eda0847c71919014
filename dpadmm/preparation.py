"""How features are prepared, in training and prediction alike: public bounds, intercept, length; record by record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpadmm.loaders.common import Column, UnreadableData
from reference.arithmetic import Matrix
from reference.dataset import Dataset

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Preparation:
    """The columns that features come from, the public bounds of each (or None), and what follows."""

    columns: tuple[Column, ...]
    bounds: tuple[Bounds | None, ...]
    intercept: bool
    normalise: bool

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features, without the intercept."""
        return tuple(name for column in self.columns for name in column.features)

    def apply(self, features: Matrix) -> Matrix:
        """The prepared records."""
        data = Dataset.of(self._scaled(features), np.ones(len(features)))
        data = data.with_intercept() if self.intercept else data
        return (data.normalised() if self.normalise else data).features

    def _scaled(self, features: Matrix) -> Matrix:
        wide = [bound for column, bound in zip(self.columns, self.bounds, strict=True) for _ in column.features]
        chosen = [index for index, bound in enumerate(wide) if bound is not None]
        if not chosen:
            return features
        low, high = zip(*(bound for bound in wide if bound is not None), strict=True)
        scaled = features.copy()
        scaled[:, chosen] = Dataset.of(features[:, chosen], np.ones(len(features))).scaled(low, high).features
        return scaled


def bounds_of(columns: tuple[Column, ...], stated: tuple[tuple[str, Bounds], ...]) -> tuple[Bounds | None, ...]:
    """The bounds of each column; those stated without a name are for all columns of numbers that have none."""
    named = {name: bounds for name, bounds in stated if name}
    numeric = [column.name for column in columns if not column.categories]
    for name in named:
        if name not in numeric:
            kind = "holds categories" if any(column.name == name for column in columns) else "is not there"
            raise UnreadableData(f"--bounds {name}: this column {kind}; columns of numbers are {', '.join(numeric)}")
    rest = next((bounds for name, bounds in stated if not name), None)
    return tuple(None if column.categories else named.get(column.name, rest) for column in columns)
