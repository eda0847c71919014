"""How good a model is on records; computed from them without noise, so it is not private."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpadmm.loaders import format_of, load
from dpadmm.loaders.common import signs_of
from dpadmm.loaders.delimited import read_features
from dpadmm.loaders.layout import column_index, layout_of
from dpadmm.saved import SavedModel
from reference.arithmetic import Matrix, Vector

NOT_PRIVATE = "computed from the records without noise: it is NOT private, do not publish it"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Counts of records by their class and by the predicted one."""

    records: int
    correct: int
    largest_class: int
    found: int
    positives: int

    @property
    def accuracy(self) -> float:
        """The share of records whose class is predicted."""
        return self.correct / self.records

    @property
    def majority(self) -> float:
        """The accuracy of always predicting the larger class."""
        return self.largest_class / self.records

    @property
    def useless(self) -> bool:
        """Whether the model is no better than the larger class."""
        return self.correct <= self.largest_class


def evaluated(model: SavedModel, features: Matrix, labels: Vector) -> Evaluation:
    """Compare the model's classes with the labels."""
    positive, predicted = labels > 0, model.decision_function(features) > 0
    positives = int(positive.sum())
    return Evaluation(
        len(labels),
        int((positive == predicted).sum()),
        max(positives, len(labels) - positives),
        int((positive & predicted).sum()),
        positives,
    )


def read_for(
    model: SavedModel, path: Path, *, labelled: bool, label_column: str | None = None, delimiter: str | None = None
) -> tuple[Matrix, Vector]:
    """The features that the model knows, by name, and the labels where they are wanted."""
    if format_of(path) != "csv":
        loaded = load(path, features=len(model.feature_names) if format_of(path) == "libsvm" else None)
        return loaded.features, signs_of(path, [loaded.classes[int(sign > 0)] for sign in loaded.labels], model.classes)
    layout = layout_of(path, delimiter)
    wanted = label_column or model.label
    place = column_index(layout, wanted)
    if labelled and place is None:
        raise UnknownLabel(path, wanted, layout.names)
    features, texts = read_features(
        layout, model.preparation.columns, [place] if labelled and place is not None else []
    )
    return features, signs_of(path, texts[0], model.classes) if texts else np.zeros(0)


class UnknownLabel(ValueError):
    """A file to evaluate on that has no column of the label's name."""

    exit_code = 2

    def __init__(self, path: Path, wanted: str, names: tuple[str, ...]) -> None:
        super().__init__(f"{path}: no label column {wanted!r}; name it with --label-column, one of {', '.join(names)}")
