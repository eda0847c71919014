"""What an adapter declares of an algorithm of its own: what is released, and what protects it; additive to protocol 1.

`start` names it under `declared`; `declare` asks what it releases at some parameters, `record` for one run that also
shows what was there before the noise, `trials` for runs as they are in production. Parameters are opaque: what the
claim file holds, unchanged. Nothing here refers to an algorithm that this project knows. `contradictions` lists what no
run could make true.
"""

from __future__ import annotations

import enum
import json
from typing import Annotated, Literal, Self, get_args

import numpy as np
from pydantic import (
    Field,
    JsonValue,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)
from pydantic.json_schema import models_json_schema

from accountant.mechanisms.words import Neighbours, Sampling
from verification.wire import messages as m
from verification.wire.arrays import WireArray, WireModel
from verification.wire.messages import Name, Seed

NeighboursWord = Annotated[Neighbours, Field(strict=False)]
SamplingWord = Annotated[Sampling, Field(strict=False)]
"""The accountant's words as messages and claim files write them: a spelling of an earlier version names the new one."""

Schedule = PositiveFloat | Annotated[list[PositiveFloat], Field(min_length=1)]
"""One number for every release of a value, or one for each."""
MOST_RELEASES = 10**6
Releases = Annotated[int, Field(gt=0, le=MOST_RELEASES)]
LARGEST = 1e100
"""Of what bounds a record: the harness sends multiples of it, which must stay finite."""
Size = Annotated[float, Field(gt=0, le=LARGEST)]
Between = tuple[Annotated[float, Field(ge=-LARGEST)], Annotated[float, Field(le=LARGEST)]]


class NoiseKind(enum.StrEnum):
    """The noise that protects a value."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"
    GAMMA_NORM = "gamma-norm"  # uniform direction, norm Gamma(dimension, scale): density proportional to e^(-|b|/scale)
    DISCRETE = "discrete-gaussian"
    NONE = "none"


class Norm(enum.StrEnum):
    """The norm of a sensitivity."""

    L1 = "l1"
    L2 = "l2"


class BoundKind(enum.StrEnum):
    """What bounds a record: contributions are clipped, records are normalised, the domain is bounded, or nothing."""

    CLIP = "clip"
    NORMALISE = "normalise"
    DOMAIN = "domain"
    NONE = "none"


class DeclaredValue(WireModel):
    """One value that leaves the algorithm, `count` times a run."""

    name: Name
    noise: Annotated[NoiseKind, Field(strict=False)]
    scale: Schedule | None = Field(
        default=None, description="gaussian: standard deviation of a coordinate; laplace, gamma-norm: the scale"
    )
    sensitivity: Schedule | None = Field(default=None, description="claimed, before the noise, given what was released")
    norm: Annotated[Norm, Field(strict=False)] | None = Field(default=None, description="of the sensitivity")
    from_: list[Name] = Field(default=[], alias="from", description="computed from these values alone")
    count: Releases | None = Field(default=None, description="releases in a run; absent: one in every iteration")
    uses: Literal["batch", "all"] = Field(default="batch", description="the drawn records, or all of them")
    enters: Literal["value", "objective"] = Field(
        default="value", description="noise is added to the value, or <noise, value> to the objective it minimises"
    )
    jacobian: NonNegativeFloat | None = Field(
        default=None, description="enters objective: bound on the difference of the log-determinants of the Hessians"
    )
    grid: PositiveFloat | None = Field(default=None, description="discrete-gaussian: the values are multiples of it")
    joint: PositiveFloat | None = Field(
        default=None,
        description="claimed: how far all releases of a run move together, over their noise, whatever was released",
    )
    covariance: list[list[float]] | None = Field(
        default=None,
        description="gaussian: of the noise of one coordinate over the releases; coordinates are independent",
    )

    symmetric: bool = Field(
        default=False, description="each release is a symmetric matrix with symmetric noise: its upper triangle counts"
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        noised = self.noise is not NoiseKind.NONE
        given = [part is not None for part in (self.scale, self.sensitivity, self.norm)]
        if (noised and not all(given)) or (not noised and any(given)):
            raise ValueError(f"{self.name}: scale, sensitivity and norm belong to noise, and noise to them")
        if (self.grid is not None) != (self.noise is NoiseKind.DISCRETE):
            raise ValueError(f"{self.name}: grid belongs to discrete-gaussian noise")
        if (self.jacobian is not None) != (self.enters == "objective"):
            raise ValueError(f"{self.name}: jacobian belongs to noise that enters an objective")
        if self.joint is not None and (not noised or self.enters == "objective"):
            raise ValueError(f"{self.name}: joint belongs to a value with noise that enters no objective")
        if self.covariance is not None and (self.noise is not NoiseKind.GAUSSIAN or self.joint is None):
            raise ValueError(f"{self.name}: covariance belongs to gaussian noise, and a joint sensitivity to it")
        if self.symmetric and (not noised or self.noise is NoiseKind.GAMMA_NORM):
            raise ValueError(f"{self.name}: symmetric belongs to noise of independent numbers")
        return self


class DeclaredSampling(WireModel):
    """How the records of a step are drawn: fresh in every step, or the next batch of an epoch of disjoint ones."""

    kind: SamplingWord = Sampling.ALL
    batch: PositiveInt | None = Field(default=None, description="all kinds of batches of one size: how many are drawn")
    rate: Annotated[float, Field(gt=0, le=1)] | None = Field(default=None, description="poisson: the probability")
    amplification: SamplingWord | Literal["none"] | None = Field(
        default=None, description="the theorem the claim uses; none: no privacy is gained; absent: that of the kind"
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        drawn = self.kind in (Sampling.WITHOUT_REPLACEMENT, Sampling.WITH_REPLACEMENT) or self.kind.by_epochs
        if (self.batch is not None) != drawn or (self.rate is not None) != (self.kind is Sampling.POISSON):
            raise ValueError(
                "batch belongs to without-replacement, with-replacement, fixed-order and shuffle, rate to poisson"
            )
        return self


class RecordBound(WireModel):
    """How records are bounded; the harness sends records of any size unless the domain itself is bounded."""

    kind: Annotated[BoundKind, Field(strict=False)]
    radius: Size | None = Field(default=None, description="Euclidean norm of the features, or the clipping norm")
    box: Between | None = Field(default=None, description="domain: every feature lies between these")
    labels: Between | None = Field(default=None, description="any label between; absent: -1 and 1")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind is BoundKind.NONE and (self.radius is not None or self.box is not None):
            raise ValueError("bound none has neither a radius nor a box")
        alone = (self.radius is None) != (self.box is None)
        if self.kind is not BoundKind.NONE and not (alone and (self.box is None or self.kind is BoundKind.DOMAIN)):
            raise ValueError("bound needs a radius, or (domain) a box in its place")
        for pair in (self.box, self.labels):
            if pair is not None and not pair[0] < pair[1]:
                raise ValueError(f"bound needs low < high, got {pair}")
        return self


class Declaration(WireModel):
    """An algorithm by what it releases and what protects it, at the parameters that were asked about."""

    name: Name
    values: list[DeclaredValue] = Field(min_length=1)
    sampling: DeclaredSampling = DeclaredSampling()
    neighbours: NeighboursWord
    bound: RecordBound
    iterations: Releases = Field(default=1, description="1 for what is trained in one shot")
    stopping: Literal["fixed", "from-released"] = Field(
        default="fixed", description="from-released: ends early on grounds of released values alone"
    )

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        names = [value.name for value in self.values]
        if len(set(names)) != len(names):
            raise ValueError(f"values must have different names, got {names}")
        return self

    @property
    def noised(self) -> list[DeclaredValue]:
        """The values that noise protects."""
        return [value for value in self.values if value.noise is not NoiseKind.NONE]

    @property
    def processed(self) -> list[DeclaredValue]:
        """The values that are computed from released ones."""
        return [value for value in self.values if value.noise is NoiseKind.NONE]

    def releases(self, value: DeclaredValue) -> int:
        """How often a value is released in a run."""
        return value.count or self.iterations


NORM_OF = {
    NoiseKind.GAUSSIAN: Norm.L2,
    NoiseKind.LAPLACE: Norm.L1,
    NoiseKind.GAMMA_NORM: Norm.L2,
    NoiseKind.DISCRETE: Norm.L2,
}
"""The norm of the sensitivity that each noise hides."""
PURE = (NoiseKind.LAPLACE, NoiseKind.GAMMA_NORM)
_ALIKE, _SINGULAR = 1e-9, 1e-12


def contradictions(declaration: Declaration, *, neighbours: str, pure: bool, records: int) -> list[str]:
    """What no run could make true, in words; `neighbours`, `pure` (delta is 0) and `records` are those of the claim."""
    found: list[str] = []
    names = {value.name for value in declaration.values}
    for value in declaration.values:
        found += _of_value(declaration, value, names, pure=pure)
    found += _circles(declaration)
    if declaration.neighbours != neighbours:
        found.append(f"the claim is about {neighbours} neighbours, the declaration about {declaration.neighbours}")
    sampling = declaration.sampling
    if sampling.amplification not in (None, "none", sampling.kind):
        found.append(f"batches are drawn {sampling.kind} and priced as {sampling.amplification}")
    once = sampling.kind is Sampling.WITHOUT_REPLACEMENT or sampling.kind.by_epochs
    if once and (sampling.batch or 0) > records:
        found.append(f"{sampling.batch} records cannot be drawn without replacement from {records}")
    if not declaration.noised:
        found.append("nothing that is released has noise")
    return found


def _of_value(declaration: Declaration, value: DeclaredValue, names: set[str], *, pure: bool) -> list[str]:
    found = []
    if value.noise is NoiseKind.NONE and not value.from_:
        found.append(f"{value.name} has no noise and is no post-processing of other values")
    unknown = [other for other in value.from_ if other not in names or other == value.name]
    if unknown:
        found.append(f"{value.name} is said to be computed from {', '.join(unknown)}, of which nothing is declared")
    if value.noise is not NoiseKind.NONE and value.norm is not NORM_OF[value.noise]:
        found.append(f"{value.name}: {value.noise} noise hides an {NORM_OF[value.noise]} sensitivity, got {value.norm}")
    if pure and value.noise in (NoiseKind.GAUSSIAN, NoiseKind.DISCRETE):
        found.append(f"delta is 0, and {value.name} has {value.noise} noise, which has no finite epsilon at delta 0")
    if value.enters == "objective" and value.noise is not NoiseKind.GAMMA_NORM:
        found.append(f"{value.name}: only gamma-norm noise in an objective can be priced, got {value.noise}")
    if value.joint is not None and declaration.sampling.kind is not Sampling.ALL and value.uses == "batch":
        found.append(
            f"{value.name}: a joint sensitivity is of all records, or of batches that the algorithm always cuts alike"
        )
    if value.covariance is not None:
        found += _of_covariance(value, value.covariance, declaration.releases(value))
    for what, schedule in (("scale", value.scale), ("sensitivity", value.sensitivity)):
        if isinstance(schedule, list) and len(schedule) != declaration.releases(value):
            found.append(f"{value.name}: {what} has {len(schedule)} entries for {declaration.releases(value)} releases")
    return found


def _of_covariance(value: DeclaredValue, rows: list[list[float]], count: int) -> list[str]:
    """Symmetric, positive definite, one row for each release, and its diagonal the square of the scale."""
    if {len(rows), *map(len, rows)} != {count}:
        return [f"{value.name}: covariance must have {count} rows of {count} numbers, one for each release"]
    matrix, scale = np.array(rows), np.array(value.scale, dtype=np.float64)
    if not (np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=_ALIKE, atol=0.0)):
        return [f"{value.name}: covariance must be finite and symmetric"]
    if not np.linalg.eigvalsh(matrix)[0] > _SINGULAR * matrix.max():
        return [f"{value.name}: covariance must be positive definite: some combination of the releases has no noise"]
    if scale.shape in ((), (count,)) and not np.allclose(np.sqrt(np.diag(matrix)), scale, rtol=_ALIKE, atol=0.0):
        return [f"{value.name}: scale must be the root of the diagonal of the covariance"]
    return []


def _circles(declaration: Declaration) -> list[str]:
    """Post-processing must lead back to values with noise."""
    rooted = {value.name for value in declaration.noised}
    left = {value.name: set(value.from_) for value in declaration.processed if value.from_}
    while ready := [name for name, sources in left.items() if sources <= rooted]:
        rooted |= set(ready)
        left = {name: sources for name, sources in left.items() if name not in ready}
    names = {value.name for value in declaration.values}
    return [
        f"{name} is computed from {', '.join(sorted(sources))}, which leads back to no value with noise"
        for name, sources in left.items()
        if sources <= names
    ]


# -- requests and answers about it -----------------------------------------------------------------------------------

OpaqueParameters = dict[str, JsonValue]


class DeclareRequest(m.NumberedRequest):
    """Say what the algorithm releases at these parameters, on so many records of so many features."""

    request: Literal["declare"] = "declare"
    algorithm: Name
    parameters: OpaqueParameters
    records: PositiveInt
    columns: PositiveInt


class DeclaredDataRequest(m.NumberedRequest):
    """Keep these records under this name; labels are numbers of the declared range."""

    request: Literal["data"] = "data"
    name: Name
    features: WireArray = Field(description="shape [n, p]")
    labels: list[float] = Field(description="n labels")


class RecordRequest(m.NumberedRequest):
    """One run, shown from the inside.

    With `seed`, equal requests get equal answers, and noise and batches do not depend on the data. `outputs` holds, for
    every value with noise, what is to be taken as released in each release, in place of what the run would release.
    `batches` holds the records of each step, in place of drawn ones.
    """

    request: Literal["record"] = "record"
    data: Name
    algorithm: Name
    parameters: OpaqueParameters
    seed: Seed | None = Field(default=None, description="absent: fresh entropy of the system")
    outputs: dict[Name, WireArray] | None = Field(default=None, description="[releases, ...] for each noised value")
    batches: list[list[NonNegativeInt]] | None = None


class OwnTrialsRequest(m.NumberedRequest):
    """Run `count` times with your own randomness."""

    request: Literal["trials"] = "trials"
    data: Name
    algorithm: Name
    parameters: OpaqueParameters
    count: PositiveInt
    seed: Seed | None = None


class ShownValue(WireModel):
    """A value in one run; the first axis is the release. What has no noise shows `released` alone."""

    released: WireArray
    before: WireArray | None = Field(default=None, description="before its noise; objective: its gradient at released")
    noise: WireArray | None = None


class RecordResult(WireModel):
    """Everything that left a run, and what it was before the noise."""

    values: dict[Name, ShownValue]
    batches: list[list[NonNegativeInt]] | None = Field(
        default=None, description="where records are drawn: of each step"
    )
    public: dict[Name, WireArray] = Field(
        default_factory=dict, description="what must not depend on the data: penalties, step sizes, ..."
    )
    order: list[Name] | None = Field(
        default=None, description="the values in the order in which they left, one name for each release"
    )


class OwnRun(WireModel):
    """What left one run: for each value its releases in order."""

    released: dict[Name, WireArray]


class OwnTrialsResult(WireModel):
    """As many runs as were asked for."""

    runs: list[OwnRun]


def schema_text() -> str:
    """Return the schema of every request and every answer, as the published file must hold it."""
    own = (DeclareRequest, DeclaredDataRequest, RecordRequest, OwnTrialsRequest)
    requests = (*get_args(get_args(m.Request)[0]), *own)
    answers = (
        m.Answer[m.StartResult],
        m.Answer[m.DataResult],
        m.Answer[m.RunResult],
        m.Answer[m.StopResult],
        m.Answer[m.DeclaredStart],
        m.Answer[Declaration],
        m.Answer[RecordResult],
        m.Answer[OwnTrialsResult],
    )
    references, schema = models_json_schema(
        [(model, "validation") for model in (*requests, *answers)],
        title="dpadmm adapter protocol, version 1",
        description="Newline-delimited JSON. Generated from the messages in verification/wire; do not edit.",
    )
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["anyOf"] = [references[(model, "validation")] for model in (*requests, *answers)]
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"
