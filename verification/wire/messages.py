"""Requests and answers of protocol 1; one JSON object per line.

An answer echoes the request's `id` and holds exactly one of `result`, `skipped`, `error`. docs/reference/protocol.md
describes them; docs/reference/protocol.schema.json is generated from here, and a test keeps it current.
"""

from __future__ import annotations

import enum
from typing import Annotated, Generic, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt, model_validator

from verification.plain_text import harmless
from verification.wire.arrays import WireArray, WireModel
from verification.wire.parameters import Algorithm, Parameters, WireAlgorithm, WireLoss, WireRegularizer
from verification.wire.schemes import SCHEMES, noised_names, require_complete

PROTOCOL = 1
ITERATES = ("x", "z", "y")


class Capability(enum.StrEnum):
    """What an adapter can do beyond `start`, `data` and `stop`; a check that needs more is skipped."""

    REPLAY = "replay"
    TRIALS = "trials"
    EVERY_ITERATE = "every-iterate"
    SEED = "seed"
    CLIP = "clip"
    NORMALISE = "normalise"
    INTERCEPT = "intercept"
    INITIAL = "initial"
    PRIMAL = "primal-release"
    MULTIPLIER = "noise-multiplier"
    RECORD = "record"


class Show(enum.StrEnum):
    """What a trial shows: every iterate, or the last model alone."""

    EVERY_ITERATE = "every-iterate"
    LAST = "last"


Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.-]+$")]
Text = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(harmless)]
"""Words that an adapter chooses: made harmless for a terminal as they arrive."""
Seed = Annotated[int, Field(ge=0, lt=2**53)]


class StartRequest(WireModel):
    """Ask who answers, and what it can do."""

    id: NonNegativeInt
    request: Literal["start"] = "start"
    protocol: Literal[1] = 1


class DataRequest(WireModel):
    """Keep these records under this name; the same name again replaces them."""

    id: NonNegativeInt
    request: Literal["data"] = "data"
    name: Name
    features: WireArray = Field(description="shape [n, p]")
    labels: list[Literal[-1, 1]] = Field(description="n labels")


class ReplayRequest(WireModel):
    """Run with these batches and this noise; no randomness of your own."""

    id: NonNegativeInt
    request: Literal["replay"] = "replay"
    data: Name
    algorithm: WireAlgorithm
    parameters: Parameters
    batches: list[list[NonNegativeInt]] | None = Field(
        default=None, description="where there is a batch: T lists of m record indices from 0"
    )
    noise: dict[str, WireArray] = Field(
        description="arrays of shape [T, p]: ssadmm and dpsgd `gradient`; mpadmm `x`, `y`, `z`, or `x` alone for "
        "release primal; objp `objective`; dpadmm `x` of shape [T, parties, p]; dpsvrg `gradient`, and `anchor` of "
        "shape [T/inner, p]; sadmm and admm none"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        require_complete(self.algorithm, self.parameters)
        if (self.batches is None) == ("batch" in SCHEMES[self.algorithm].takes):
            raise ValueError(f"batches belong where there is a batch size, got algorithm={self.algorithm}")
        expected = noised_names(self.algorithm, self.parameters)
        if set(self.noise) != set(expected):
            raise ValueError(f"noise must hold {sorted(expected)}, got {sorted(self.noise)}")
        return self


class TrialsRequest(WireModel):
    """Run `count` times with your own randomness, each run independent of the others."""

    id: NonNegativeInt
    request: Literal["trials"] = "trials"
    data: Name
    algorithm: WireAlgorithm
    parameters: Parameters
    count: PositiveInt
    show: Annotated[Show, Field(strict=False)]
    seed: Seed | None = Field(default=None, description="absent: fresh entropy of the system")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        require_complete(self.algorithm, self.parameters)
        return self


class StopRequest(WireModel):
    """Answer, then exit with status 0."""

    id: NonNegativeInt
    request: Literal["stop"] = "stop"


Request = Annotated[
    StartRequest | DataRequest | ReplayRequest | TrialsRequest | StopRequest, Field(discriminator="request")
]


class AdapterName(WireModel):
    """Who answers."""

    protocol: int
    name: Text


class AdapterDescription(AdapterName):
    """What an adapter says of itself, beside what it can run."""

    version: Text
    language: Text
    capabilities: list[Annotated[Capability, Field(strict=False)]]


class StartResult(AdapterDescription):
    """What an adapter of the protocol's own algorithms says of itself."""

    algorithms: list[WireAlgorithm] = Field(min_length=1)
    losses: list[WireLoss] = Field(min_length=1)
    regularizers: list[WireRegularizer] = Field(min_length=1)
    released: dict[Annotated[Algorithm, Field(strict=False)], list[Name]] = Field(
        description="for each algorithm the name of every value that leaves the implementation; x always does"
    )
    declared: list[Name] = Field(default=[], description="algorithms of your own, which `declare` asks about")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if set(self.released) != set(self.algorithms):
            raise ValueError(f"released must have an entry for each of {[str(a) for a in self.algorithms]}")
        for algorithm, names in self.released.items():
            if "x" not in names or len(set(names)) != len(names):
                raise ValueError(f"released[{algorithm}] must name x and repeat nothing, got {names}")
        if not {Capability.REPLAY, Capability.TRIALS} & set(self.capabilities):
            raise ValueError("capabilities must hold replay, trials or both")
        if not {Capability.CLIP, Capability.NORMALISE} & set(self.capabilities):
            raise ValueError("capabilities must hold clip, normalise or both: else no gradient is bounded")
        solving = [str(algorithm) for algorithm in self.algorithms if not SCHEMES[algorithm].clips]
        if solving and Capability.NORMALISE not in self.capabilities:
            raise ValueError(f"{', '.join(solving)} needs the capability normalise: a clipped gradient has no minimum")
        return self


class DataResult(WireModel):
    """What was understood: the shape of the features."""

    records: NonNegativeInt
    columns: NonNegativeInt


class RunResult(WireModel):
    """Iterates 1..T after noise, and every other value that leaves the implementation.

    `replay`: shape [T, p], and x, z, y are all there (x alone for dpsgd and dpsvrg, which have no others; x and y of
    dpadmm have shape [T, parties, p]). `trials`: [count, T, p], or [count, p] for show "last", and
    exactly the declared names are there. Values under `released` may have any shape behind the leading axes.
    """

    x: WireArray
    z: WireArray | None = None
    y: WireArray | None = None
    released: dict[Name, WireArray] = Field(default_factory=dict)


class StopResult(WireModel):
    """Nothing to say."""


class Skipped(WireModel):
    """Not offered; the check that asked is reported as skipped, never as passed."""

    reason: Text


RefusalKind = Literal["invalid-data", "invalid-parameters", "internal"]


class Refusal(WireModel):
    """The request was understood and refused, or went wrong inside."""

    kind: RefusalKind
    message: Text


ResultT = TypeVar("ResultT", bound=WireModel)


class Answer(WireModel, Generic[ResultT]):
    """Exactly one of result, skipped, error."""

    id: int
    result: ResultT | None = None
    skipped: Skipped | None = None
    error: Refusal | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [part for part in (self.result, self.skipped, self.error) if part is not None]
        if len(given) != 1:
            raise ValueError(f"an answer holds exactly one of result, skipped, error; got {len(given)}")
        return self


def line_of(message: WireModel) -> bytes:
    """Return the message as one line, absent fields left out."""
    # as model_dump_json, but in bytes: a data set is long, and needs no copy as text
    return message.__pydantic_serializer__.to_json(message, by_alias=True, exclude_none=True) + b"\n"
