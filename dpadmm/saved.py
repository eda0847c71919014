"""A model that `dpadmm train` wrote, read back: ``load_model(folder).predict(records)``; needs numpy alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from dpadmm.loaders.common import Column, UnreadableData
from dpadmm.preparation import Preparation
from reference.arithmetic import Vector
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
            f"{path}: is no model file ({error}); give the folder that `dpadmm train --out` wrote"
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
        raise UnreadableData(f"{path}: is no model file ({problem})") from None


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
