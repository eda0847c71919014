"""Requests and answers of protocol 1; one JSON object per line.

An answer echoes the request's `id` and holds exactly one of `result`, `skipped`, `error`. docs/reference/protocol.md
describes them; docs/reference/protocol.schema.json is generated from here, and a test keeps it current.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Annotated, Generic, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    JsonValue,
    NonNegativeInt,
    PositiveInt,
    model_serializer,
    model_validator,
)

from accountant.mechanisms.words import Sampling
from verification.plain_text import harmless
from verification.wire.arrays import Floats, WireArray, WireModel, pack
from verification.wire.parameters import (
    SCHEMES,
    Algorithm,
    Initial,
    Law,
    LossName,
    Parameters,
    RegularizerName,
    RegularizerOptions,
    Release,
    WireAlgorithm,
    WireLoss,
    WireRegularizer,
    noised_names,
    require_complete,
)

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


class NumberedRequest(WireModel):
    """What a request begins with; its answer repeats the number."""

    id: NonNegativeInt


class StartRequest(NumberedRequest):
    """Ask who answers, and what it can do."""

    request: Literal["start"] = "start"
    protocol: Literal[1] = 1


class DataRequest(NumberedRequest):
    """Keep these records under this name; the same name again replaces them."""

    request: Literal["data"] = "data"
    name: Name
    features: WireArray = Field(description="shape [n, p]")
    labels: list[Literal[-1, 1]] = Field(description="n labels")


class ReplayRequest(NumberedRequest):
    """Run with these batches and this noise; no randomness of your own."""

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


class TrialsRequest(NumberedRequest):
    """Run `count` times with your own randomness, each run independent of the others."""

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


class StopRequest(NumberedRequest):
    """Answer, then exit with status 0."""

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


class DeclaredStart(AdapterDescription, extra="ignore"):
    """What is read of the answer to `start`; the algorithms of the protocol's own may be there or not."""

    declared: list[Name] = Field(min_length=1)


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


# -- a black box: nothing is declared ----------------------------------------------------------------------------------


class OpaqueStart(AdapterName, extra="ignore"):
    """All that is asked of an adapter before it is run."""


class OpaqueData(WireModel, extra="ignore"):
    """How many records were understood; may be left out."""

    records: int | None = None


class OpaqueTrialsRequest(NumberedRequest):
    """Run `count` times with your own randomness; `more` are the members that the caller adds, null ones included."""

    request: Literal["trials"] = "trials"
    data: Name
    count: PositiveInt
    seed: Seed | None
    more: dict[str, JsonValue]

    @model_serializer
    def _flat(self) -> dict[str, JsonValue]:
        own: dict[str, JsonValue] = {"id": self.id, "request": self.request, "data": self.data, "count": self.count}
        return own | self.more | ({} if self.seed is None else {"seed": self.seed})


class OpaqueRun(WireModel, extra="allow", strict=False, allow_inf_nan=True):
    """Named arrays, beside each other or under `released`."""

    __pydantic_extra__: dict[str, WireArray | dict[str, WireArray]]

    def arrays(self) -> dict[str, WireArray]:
        """All of them."""
        found: dict[str, WireArray] = {}
        for name, part in self.__pydantic_extra__.items():
            found |= part if isinstance(part, dict) else {name: part}
        return found


class OpaqueStop(StopResult):
    """Whatever it says last."""

    @model_validator(mode="before")
    @classmethod
    def _anything(cls, _said: object) -> dict[str, object]:
        return {}


class OpaqueAnswer(Answer[ResultT], Generic[ResultT], extra="ignore"):
    """An answer that may hold members of its own beside result, skipped or error."""


def described(said: AdapterName) -> StartResult:
    """What an adapter with any face said of itself; of what its face does not say there is nothing."""
    if isinstance(said, StartResult):
        return said
    nothing: dict[str, object] = {field: [] for field in StartResult.model_fields}
    nothing |= {"version": "", "language": "", "released": {}}
    return StartResult.model_construct(**{**nothing, **dict(said)})


def line_of(message: WireModel) -> bytes:
    """Return the message as one line, absent fields left out."""
    # as model_dump_json, but in bytes: a data set is long, and needs no copy as text
    return message.__pydantic_serializer__.to_json(message, by_alias=True, exclude_none=True) + b"\n"


# -- the simplest parameters ----------------------------------------------------------------------------------------

PARTIES = 2
EPSILON = 1.0


def options_for(regularizer: RegularizerName, dimension: int, rho: float) -> RegularizerOptions:
    """Admissible options: for SCAD and MCP well inside the region where their proximal map is continuous."""
    match regularizer:
        case RegularizerName.ELASTIC_NET:
            return RegularizerOptions(l1_ratio=0.5)
        case RegularizerName.GROUP_L1:
            return RegularizerOptions(groups=[[j for j in (i, i + 1) if j < dimension] for i in range(0, dimension, 2)])
        case RegularizerName.NUCLEAR:
            rows = 2 if dimension % 2 == 0 else 1
            return RegularizerOptions(shape=(rows, dimension // rows))
        case RegularizerName.SCAD:
            return RegularizerOptions(a=3.7 + 2 / rho)
        case RegularizerName.MCP:
            return RegularizerOptions(gamma=3.0 + 2 / rho)
        case _:
            return RegularizerOptions()


def initial_point(x: Floats, z: Floats, y: Floats) -> Initial:
    """An initial point, packed."""
    return Initial(x=pack(x), z=pack(z), y=pack(y))


def parameters_for(
    description: StartResult,
    algorithm: Algorithm,
    dimension: int,
    *,
    eta: Sequence[float],
    batch: int | None = None,
    sigma: float | None = None,
    noise_multiplier: float | None = None,
    bound: float = 1.0,
    rho: float = 1.0,
    lambda_: float = 0.0,
    loss: LossName | None = None,
    regularizer: RegularizerName | None = None,
    release: Release = Release.ALL,
    initial: Initial | None = None,
    normalise: bool | None = None,
    intercept: bool = False,
    parties: int = PARTIES,
    inner: int | None = None,
    anchor_sigma: float | None = None,
    epsilon: float = EPSILON,
    sampling: Sampling | None = None,
) -> Parameters:
    """Return complete parameters, in the implementation's own terms where the caller leaves them open.

    Clipping is preferred to normalising (`normalise=None`), the loss and regularizer that it named first to others.
    What does not belong to the algorithm is left out: noise is what it calls noise, an `epsilon` an iteration for
    objp, none for those that are not private. DP-SVRG has two epochs where it can, and one sigma, by default.
    """
    scheme = SCHEMES[algorithm]
    by_normalising = Capability.CLIP not in description.capabilities if normalise is None else normalise
    by_normalising = by_normalising or not scheme.clips
    chosen = regularizer or description.regularizers[0]
    gaussian = scheme.law is Law.GAUSSIAN
    full_gradients = "inner" in scheme.takes
    return Parameters(
        loss=loss or description.losses[0],
        regularizer=chosen,
        lambda_=lambda_,
        options=options_for(chosen, dimension, min(rho, scheme.prox_weight(rho, list(eta)))),
        rho=rho,
        eta=list(eta),
        iterations=len(eta),
        batch=batch if "batch" in scheme.takes else None,
        sampling=sampling if "batch" in scheme.takes else None,
        parties=parties if "parties" in scheme.takes else None,
        inner=(inner or len(eta) // (1 + (len(eta) % 2 == 0))) if full_gradients else None,
        sigma=sigma if gaussian else (0.0 if scheme.law is Law.NONE else None),
        anchor_sigma=(sigma if anchor_sigma is None else anchor_sigma) if full_gradients else None,
        noise_multiplier=noise_multiplier if gaussian else None,
        epsilon=epsilon if scheme.law is Law.OBJECTIVE else None,
        clip=None if by_normalising else bound,
        normalise=bound if by_normalising else None,
        intercept=intercept,
        release=release if "release" in scheme.takes else None,
        initial=initial,
    )
