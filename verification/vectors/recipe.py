"""What a case is before it is computed: plain numbers, no expected values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from reference import regularizers
from reference.regularizers import Regularizer
from verification.vectors import baseline_model, model
from verification.wire.arrays import Floats

T = TypeVar("T")
POINT = ("x", "z", "y")


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """One run, or one refusal, as plain numbers; ``initial`` empty means 0."""

    id: str
    comment: str
    flags: tuple[str, ...]
    algorithm: str
    release: str | None
    loss: str
    regularizer: str
    lam: float
    rho: float
    eta: tuple[float, ...]
    features: Floats
    labels: tuple[int, ...]
    noise: dict[str, Floats]
    start: dict[str, Floats] | None = None
    batch: int | None = None
    batches: tuple[tuple[int, ...], ...] | None = None
    sigma: float = 0.5
    clip: float | None = 1.0
    normalise: float | None = None
    intercept: bool = False
    l1_ratio: float | None = None
    groups: tuple[tuple[int, ...], ...] | None = None
    shape: tuple[int, int] | None = None
    a: float | None = None
    gamma: float | None = None
    error: model.RefusalEntry | None = None
    parties: int | None = None  # dpadmm; its x, y and noise have the parties' values one after another in a row
    inner: int | None = None  # dpsvrg, with anchor_sigma
    anchor_sigma: float | None = None
    epsilon: float | None = None  # objp, in place of sigma

    @property
    def dimension(self) -> int:
        """p, the intercept included."""
        return int(self.features.shape[1]) + int(self.intercept)

    @property
    def initial(self) -> dict[str, Floats]:
        """The initial point, spelled out."""
        return self.start or {name: np.zeros(self.dimension) for name in POINT}

    def regularizer_object(self) -> Regularizer:  # noqa: PLR0911 - one return a regularizer
        """The reference's regularizer; refuses bad options."""
        match self.regularizer:
            case "l1":
                return regularizers.L1(self.lam)
            case "elastic-net":
                return regularizers.ElasticNet(self.lam, given(self.l1_ratio))
            case "group-l1":
                return regularizers.GroupL1(self.lam, given(self.groups))
            case "nuclear":
                return regularizers.NuclearNorm(self.lam, *given(self.shape))
            case "scad":
                return regularizers.SCAD(self.lam, given(self.a))
            case "mcp":
                return regularizers.MCP(self.lam, given(self.gamma))
            case _:
                return regularizers.Unregularized()

    def width(self, name: str) -> int:
        """How many values a row of this name has."""
        return self.dimension * (self.parties or 1 if name in ("gradient", "x", "y") else 1)

    def written(self, expected: model.Expected | None) -> model.Case:
        """The case as it goes into a file."""
        if self.algorithm in baseline_model.ALGORITHMS:
            own = {
                "parties": self.parties,
                "inner": self.inner,
                "anchor_sigma": _optional(self.anchor_sigma),
                "epsilon": _optional(self.epsilon),
            }
            noise = baseline_model.BaselineNoise(**{name: _rows(rows) for name, rows in self.noise.items()})
            return baseline_model.BaselineCase.model_validate({**self._fields(expected), **own, "noise": noise})
        plain = model.NoiseEntry(**{name: _rows(rows) for name, rows in self.noise.items()})
        return model.Case.model_validate({**self._fields(expected), "noise": plain})

    def _fields(self, expected: model.Expected | None) -> dict[str, object]:
        start = self.start
        return {
            "id": self.id,
            "comment": self.comment,
            "flags": list(self.flags),
            "result": "invalid" if expected is None else "valid",
            "algorithm": self.algorithm,
            "release": self.release,
            "loss": self.loss,
            "regularizer": self._written_regularizer(),
            "rho": model.number(self.rho),
            "eta": _numbers(self.eta),
            "sigma": model.number(self.sigma),
            "clip": _optional(self.clip),
            "normalise": _optional(self.normalise),
            "intercept": self.intercept,
            "features": _rows(self.features),
            "labels": list(self.labels),
            "batch": self.batch,
            "batches": None if self.batches is None else [list(batch) for batch in self.batches],
            "initial": None if start is None else model.Point(**{name: _numbers(start[name]) for name in POINT}),
            "expected": expected,
            "error": self.error,
        }

    def _written_regularizer(self) -> model.RegularizerEntry:
        return model.RegularizerEntry.model_validate(
            {
                "name": self.regularizer,
                "lambda": model.number(self.lam),
                "l1_ratio": _optional(self.l1_ratio),
                "groups": None if self.groups is None else [list(group) for group in self.groups],
                "shape": self.shape,
                "a": _optional(self.a),
                "gamma": _optional(self.gamma),
            }
        )


def read(case: model.Case) -> Recipe:
    """The recipe of a case from a file; refuses numbers whose two forms disagree, and ragged rows."""
    noise = {name: _matrix(rows) for name, rows in case.noise if rows is not None}
    own = case if isinstance(case, baseline_model.BaselineCase) else None
    start = None
    if case.initial is not None:
        start = {name: _vector(getattr(case.initial, name)) for name in POINT}
    reg = case.regularizer
    return Recipe(
        id=case.id,
        comment=case.comment,
        flags=tuple(case.flags),
        algorithm=case.algorithm,
        release=case.release,
        loss=case.loss,
        regularizer=reg.name,
        lam=model.value_of(reg.lam),
        rho=model.value_of(case.rho),
        eta=tuple(model.value_of(step) for step in case.eta),
        features=_matrix(case.features),
        labels=tuple(case.labels),
        noise=noise,
        start=start,
        batch=case.batch,
        batches=None if case.batches is None else tuple(tuple(batch) for batch in case.batches),
        sigma=model.value_of(case.sigma),
        clip=_value(case.clip),
        normalise=_value(case.normalise),
        intercept=case.intercept,
        l1_ratio=_value(reg.l1_ratio),
        groups=None if reg.groups is None else tuple(tuple(group) for group in reg.groups),
        shape=reg.shape,
        a=_value(reg.a),
        gamma=_value(reg.gamma),
        error=case.error,
        parties=None if own is None else own.parties,
        inner=None if own is None else own.inner,
        anchor_sigma=None if own is None else _value(own.anchor_sigma),
        epsilon=None if own is None else _value(own.epsilon),
    )


def given(value: T | None) -> T:
    """The value of an option that this case needs."""
    if value is None:
        raise ValueError("an option that this case needs is missing")
    return value


def _optional(value: float | None) -> model.Number | None:
    return None if value is None else model.number(value)


def _value(pair: model.Number | None) -> float | None:
    return None if pair is None else model.value_of(pair)


def _numbers(values: Iterable[float]) -> list[model.Number]:
    return [model.number(value) for value in values]


def _rows(matrix: Floats) -> list[list[model.Number]]:
    return [_numbers(row) for row in matrix]


def _vector(numbers: list[model.Number]) -> Floats:
    return np.array([model.value_of(pair) for pair in numbers], dtype=np.float64)


def _matrix(rows: list[list[model.Number]]) -> Floats:
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise ValueError(f"rows have different lengths: {lengths}")
    return np.array([[model.value_of(pair) for pair in row] for row in rows], dtype=np.float64)
