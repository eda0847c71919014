"""[deployment]: what a run needs beside what its price depends on, and the claimed run in the wire's words.

Everything has a default, so that a claim file need not have the table. A mechanism's own step size, rho and columns
come first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from accountant import AccountantError, Mechanism, exact
from accountant.mechanisms.words import Algorithm, Release
from verification.reading.context import Claimed, Mode
from verification.wire.messages import StartResult
from verification.wire.parameters import LossName, RegularizerName
from verification.wire.schemes import SCHEMES
from verification.wire.simple_parameters import PARTIES, parameters_for

COLUMNS = 32
"""Columns of the data where a claim file names none."""


def _decimal(value: object) -> Fraction:
    if isinstance(value, float | bool) or not isinstance(value, str | int | Fraction):
        raise ValueError(f"must be a decimal string or an integer, got {value!r}")  # noqa: TRY004 - pydantic collects these
    try:
        return exact("value", value)
    except AccountantError as error:
        raise ValueError(str(error)) from None


Positive = Annotated[Fraction, BeforeValidator(_decimal), Field(gt=0)]
NotNegative = Annotated[Fraction, BeforeValidator(_decimal), Field(ge=0)]
Columns = Annotated[int, Field(ge=1)]


class DeploymentTable(BaseModel):
    """How the mechanisms are run: what the stage `deploy` asks the implementation for."""

    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", arbitrary_types_allowed=True, populate_by_name=True
    )

    columns: Columns = COLUMNS
    columns_of: dict[str, Columns] = Field(default_factory=dict)  # of single mechanisms, by title
    eta: Positive | None = None  # step size of every iteration; by default 1/sqrt(k) in the k-th
    rho: Positive = Fraction(1, 2)
    loss: Annotated[LossName, Field(strict=False)] | None = None
    regularizer: Annotated[RegularizerName, Field(strict=False)] | None = None
    lambda_: NotNegative = Field(default=Fraction(1, 10_000), alias="lambda")


def taken_from_mechanisms(data: object) -> object:
    """Move `columns` out of the mechanisms of a claim file, where it may stand beside `records`."""
    if not isinstance(data, dict) or not isinstance(data.get("mechanism"), list):
        return data
    tables, columns = [], {}
    for table in data["mechanism"]:
        if isinstance(table, dict) and "columns" in table:
            columns[str(table.get("name", table.get("algorithm")))] = table["columns"]
            table = {key: value for key, value in table.items() if key != "columns"}  # noqa: PLW2901
        tables.append(table)
    if not columns:
        return data
    deployment = data.get("deployment", {})
    own = {**deployment, "columns_of": columns} if isinstance(deployment, dict) else deployment
    return {**data, "mechanism": tables, "deployment": own}


def claimed_run(mechanism: Mechanism, table: DeploymentTable, description: StartResult) -> Claimed:
    """The run that a mechanism claims, asked for in what the implementation offers."""

    def of(name: str) -> object:
        return getattr(mechanism, name, None)

    algorithm = Algorithm(str(of("algorithm")))
    scheme = SCHEMES[algorithm]
    records, iterations = _count(of("records")), _count(of("iterations"))
    columns = table.columns_of.get(str(of("title")), table.columns)
    release = None if of("release") is None else Release(str(of("release")))
    regularizer = _regularizer(table, description)
    parameters = parameters_for(
        description,
        algorithm,
        columns,
        eta=_steps(of("eta") if of("eta") is not None else table.eta, iterations),
        batch=_maybe_count(of("batch")),
        sigma=_maybe_float(of("sigma")),
        noise_multiplier=_maybe_float(of("noise_multiplier")),
        bound=_maybe_float(of("clip")) or _maybe_float(of("normalise")) or 1.0,
        normalise=True if of("normalise") is not None else None,
        rho=_maybe_float(of("rho")) or float(table.rho),
        # a proximal map on x itself would hide the noise
        lambda_=0.0 if scheme.proximal_x else float(table.lambda_),
        loss=table.loss,
        regularizer=regularizer,
        release=release or Release.ALL,
        parties=_maybe_count(of("parties")) or PARTIES,
        inner=_maybe_count(of("inner")),
        anchor_sigma=_maybe_float(of("anchor_sigma")),
        epsilon=min(_steps(of("epsilon"), iterations)) if of("epsilon") is not None else 1.0,
    )
    return Claimed(Mode(algorithm, release), records, columns, parameters)


def _regularizer(table: DeploymentTable, description: StartResult) -> RegularizerName:
    if table.regularizer is not None:
        return table.regularizer
    return RegularizerName.L1 if RegularizerName.L1 in description.regularizers else description.regularizers[0]


def _steps(eta: object, iterations: int) -> list[float]:
    if eta is None:
        return [1 / math.sqrt(k + 1) for k in range(iterations)]
    if isinstance(eta, Sequence) and not isinstance(eta, str):
        return ([_float(step) for step in eta] * (iterations if len(eta) == 1 else 1))[:iterations]
    return [_float(eta)] * iterations


def _float(value: object) -> float:
    if not isinstance(value, Fraction | int | float):
        raise TypeError(f"a validated mechanism holds numbers, got {value!r}")
    return float(value)


def _maybe_float(value: object) -> float | None:
    return None if value is None else _float(value)


def _count(value: object) -> int:
    return int(_float(value))


def _maybe_count(value: object) -> int | None:
    return None if value is None else _count(value)
