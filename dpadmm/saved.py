"""Trained models on disk: prepare records, write a folder whole, ``load_model(folder).predict(records)``, evaluate.

Features are prepared alike in training and prediction, record by record: public bounds, intercept, length. An
evaluation is computed from the records without noise, so it is not private.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from dpadmm.loaders import format_of, load
from dpadmm.loaders.common import Column, UnreadableData, signs_of
from dpadmm.loaders.delimited import column_index, layout_of, read_features
from reference.arithmetic import Matrix, Vector
from reference.dataset import Dataset
from reference.losses import Logistic

MODEL_FORMAT = "dpadmm-model/2"
FILE_NAME = "model.json"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ColumnPart(_Part):
    """A column of the records: its name, its categories (if it holds no numbers), its public bounds."""

    name: str
    categories: tuple[str, ...]
    bounds: tuple[str, str] | None


class PreparationPart(_Part):
    """What is done to a record before the model sees it."""

    columns: tuple[ColumnPart, ...]
    intercept: bool
    normalise: bool


class ModelFile(_Part):
    """model.json."""

    format: str
    loss: str
    classes: tuple[str, str]
    label: str
    features: tuple[str, ...]
    coefficients: tuple[str, ...]
    preprocessing: PreparationPart


@dataclass(frozen=True, slots=True, eq=False)
class SavedModel:
    """Coefficients (the intercept's first, if there is one), classes and preparation of a trained model."""

    coefficients: Vector
    classes: tuple[str, str]
    loss: str
    label: str
    preparation: Preparation

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, in the order of the columns that ``predict`` takes."""
        return self.preparation.features

    def decision_function(self, records: ArrayLike) -> Vector:
        """The margin of the second class; records as they were in the file, one column a feature."""
        features = np.asarray(records, dtype=np.float64)
        if features.ndim != 2 or features.shape[1] != len(self.feature_names):
            raise UnreadableData(
                f"records must have {len(self.feature_names)} features ({', '.join(self.feature_names[:5])}"
                f"{', ...' if len(self.feature_names) > 5 else ''}), got shape {features.shape}"
            )
        margins: Vector = self.preparation.apply(features) @ self.coefficients
        return margins

    def predict(self, records: ArrayLike) -> NDArray[np.str_]:
        """The class of each record."""
        found = [self.classes[int(margin > 0)] for margin in self.decision_function(records)]
        return np.array(found, dtype=np.str_)

    def predict_proba(self, records: ArrayLike) -> Vector:
        """The probability of the second class, for the logistic loss."""
        if self.loss != "logistic":
            raise UnreadableData(f"a model with loss {self.loss} has no probabilities")
        probabilities: Vector = 1 + Logistic().slope(self.decision_function(records))
        return probabilities

    def document(self) -> dict[str, object]:
        """The file, reals as decimal strings."""
        prepared = self.preparation
        columns = tuple(
            ColumnPart(
                name=column.name,
                categories=column.categories,
                bounds=None if bounds is None else (repr(bounds[0]), repr(bounds[1])),
            )
            for column, bounds in zip(prepared.columns, prepared.bounds, strict=True)
        )
        return ModelFile(
            format=MODEL_FORMAT,
            loss=self.loss,
            classes=self.classes,
            label=self.label,
            features=self.feature_names,
            coefficients=tuple(repr(float(value)) for value in self.coefficients),
            preprocessing=PreparationPart(columns=columns, intercept=prepared.intercept, normalise=prepared.normalise),
        ).model_dump(mode="json")


def load_model(place: str | Path) -> SavedModel:
    """Read the model in a folder that `dpadmm train` wrote (or its model.json)."""
    path = Path(place)
    path = path / FILE_NAME if path.is_dir() else path
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UnreadableData(
            f"{path}: there is no such model; give the folder that `dpadmm train --out` wrote"
        ) from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UnreadableData(
            f"{path}: is not a model file ({error}); give the folder that `dpadmm train --out` wrote"
        ) from None
    if not isinstance(document, dict) or document.get("format") != MODEL_FORMAT:
        found = document.get("format") if isinstance(document, dict) else None
        raise UnreadableData(
            f"{path}: must be a model file of format {MODEL_FORMAT}, got format {found!r}; train it again"
        )
    try:
        file = ModelFile.model_validate(document)
        return _model(file)
    except ValueError as error:  # pydantic's is one
        problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise UnreadableData(f"{path}: is not a model file ({problem})") from None


def _model(file: ModelFile) -> SavedModel:
    parts = file.preprocessing
    preparation = Preparation(
        tuple(Column(column.name, column.categories) for column in parts.columns),
        tuple(
            None if column.bounds is None else (float(column.bounds[0]), float(column.bounds[1]))
            for column in parts.columns
        ),
        parts.intercept,
        parts.normalise,
    )
    coefficients = np.array([float(value) for value in file.coefficients])
    if len(coefficients) != len(preparation.features) + parts.intercept or not np.isfinite(coefficients).all():
        raise ValueError(f"{len(coefficients)} coefficients do not belong to {len(preparation.features)} features")
    return SavedModel(coefficients, file.classes, file.loss, file.label, preparation)


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


class OutputRefused(ValueError):
    """A place to which results cannot go."""

    exit_code = 2


def require_free(directory: Path) -> None:
    """Refuse a place that holds something already, before any work is done."""
    if directory.is_dir() and not any(directory.iterdir()):
        return
    if directory.exists():
        raise OutputRefused(f"{directory} exists and is not an empty directory; name another")
    if not directory.parent.is_dir():
        raise OutputRefused(f"{directory.parent} is not a directory")
    if not os.access(directory.parent, os.W_OK | os.X_OK):
        raise OutputRefused(f"{directory} cannot be made there (no permission to write); name another place")


@contextlib.contextmanager
def whole_directory(directory: Path) -> Iterator[Path]:
    """A temporary directory that takes the name only once the body has succeeded; Ctrl-C leaves nothing."""
    require_free(directory)
    try:
        draft = Path(tempfile.mkdtemp(dir=directory.parent, prefix=f".{directory.name}.", suffix=".tmp"))
    except OSError as error:
        raise OutputRefused(f"{directory} cannot be made there ({error.strerror}); name another place") from None
    try:
        yield draft
        draft.chmod(0o755)  # mkdtemp's own mode would keep colleagues out
        draft.rename(directory)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def write_json(path: Path, document: dict[str, object]) -> None:
    """Write one JSON document."""
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


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
