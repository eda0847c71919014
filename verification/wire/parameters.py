"""One run of an algorithm of this protocol: its parameters, what gets noise, what a run shows, and its mechanism.

One `Parameters` describes one run completely; nothing is left to an implementation's defaults. `SCHEMES` is what the
mechanisms of the accountant say of themselves: to add an algorithm, add its mechanism there, its mathematics to
`verification.served`, and how to look inside it to `verification.reading.inverter`.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Self

from pydantic import Field, PositiveInt, StrictInt, model_validator

from accountant import Mechanism, exact_binary64, mechanism_from
from accountant.mechanisms.fields import fields_of
from accountant.mechanisms.registry import MECHANISMS
from accountant.mechanisms.words import Algorithm as Algorithm  # noqa: PLC0414 - the words of the wire
from accountant.mechanisms.words import Release as Release  # noqa: PLC0414
from accountant.mechanisms.words import Sampling, Sensitivity, Visibility
from verification.wire.arrays import WireArray, WireModel


class LossName(enum.StrEnum):
    """The loss phi of the margin l<x,s>."""

    LOGISTIC = "logistic"
    HUBER = "huber"


class RegularizerName(enum.StrEnum):
    """The regularizer h; its strength is `lambda`."""

    NONE = "none"
    L1 = "l1"
    ELASTIC_NET = "elastic-net"
    GROUP_L1 = "group-l1"
    NUCLEAR = "nuclear"
    SCAD = "scad"
    MCP = "mcp"


# Enumerations arrive as JSON strings; pydantic's strict mode would ask for members of the Python class.
WireAlgorithm = Annotated[Algorithm, Field(strict=False)]
WireLoss = Annotated[LossName, Field(strict=False)]
WireRegularizer = Annotated[RegularizerName, Field(strict=False)]
WireRelease = Annotated[Release, Field(strict=False)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]

_NEEDED_OPTIONS: dict[RegularizerName, frozenset[str]] = {
    RegularizerName.NONE: frozenset(),
    RegularizerName.L1: frozenset(),
    RegularizerName.ELASTIC_NET: frozenset({"l1_ratio"}),
    RegularizerName.GROUP_L1: frozenset({"groups"}),
    RegularizerName.NUCLEAR: frozenset({"shape"}),
    RegularizerName.SCAD: frozenset({"a"}),
    RegularizerName.MCP: frozenset({"gamma"}),
}


class RegularizerOptions(WireModel):
    """What a regularizer needs beside `lambda`; exactly the options of the regularizer named, no others."""

    l1_ratio: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="elastic-net: the share r in lambda (r |z|_1 + (1-r)/2 |z|_2^2)"
    )
    groups: list[list[StrictInt]] | None = Field(
        default=None,
        description="group-l1: disjoint lists of coordinates; lambda times the sum of the groups' |z_g|_2; "
        "a coordinate in no group is not penalised",
    )
    shape: tuple[PositiveInt, PositiveInt] | None = Field(
        default=None, description="nuclear: [rows, columns] of the matrix that z is, row-major", strict=False
    )
    a: Positive | None = Field(default=None, description="scad: the shape a, > 2 and > 1 + 1/rho")
    gamma: Positive | None = Field(default=None, description="mcp: the shape gamma, > 1 and > 1/rho")


class Initial(WireModel):
    """Where the iteration starts: three arrays of shape [p]."""

    x: WireArray
    z: WireArray
    y: WireArray


class Parameters(WireModel):
    """One run, completely described."""

    loss: WireLoss
    regularizer: WireRegularizer
    lambda_: NonNegative = Field(
        validation_alias="lambda", serialization_alias="lambda", description="strength of the regularizer"
    )
    options: RegularizerOptions = RegularizerOptions()
    rho: Positive = Field(description="penalty parameter of the augmented Lagrangian")
    eta: list[Positive] = Field(description="step sizes eta^0 ... eta^{T-1}, one for each iteration")
    iterations: PositiveInt = Field(
        description="T: iterations of ssADMM, epochs of mpADMM, rounds of DP-ADMM, inner steps of DP-SVRG in all"
    )
    batch: PositiveInt | None = Field(
        default=None, description="m, for ssadmm, dpsgd, dpsvrg and sadmm; absent for the others"
    )
    sampling: Annotated[Sampling, Field(strict=False)] | None = Field(
        default=None,
        description="for ssadmm and dpsgd: fixed-order or shuffle, where batches are the next ones of an epoch of "
        "floor(n/m) disjoint batches, records that fill none left out; absent: fresh without replacement",
    )
    parties: PositiveInt | None = Field(default=None, description="for dpadmm: how many parties hold the records")
    inner: PositiveInt | None = Field(
        default=None, description="for dpsvrg: steps between two full gradients, a divisor of iterations"
    )
    anchor_sigma: NonNegative | None = Field(
        default=None, description="for dpsvrg with sigma: standard deviation of the noise on the full gradient"
    )
    epsilon: Positive | None = Field(
        default=None, description="for objp, in place of sigma: the pure epsilon that each iteration may cost"
    )
    sigma: NonNegative | None = Field(default=None, description="standard deviation of each coordinate of the noise")
    noise_multiplier: NonNegative | None = Field(
        default=None,
        description="in place of sigma: the implementation computes sigma = multiplier * sensitivity itself",
    )
    clip: Positive | None = Field(default=None, description="C: each record's gradient is scaled down to norm C")
    normalise: Positive | None = Field(default=None, description="C: each record's features are scaled down to norm C")
    intercept: bool = Field(default=False, description="put a column of ones in front, before normalising")
    release: WireRelease | None = Field(default=None, description="for mpadmm; absent for the others")
    initial: Initial | None = Field(default=None, description="absent: x, z and y start at 0")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.eta) != self.iterations:
            raise ValueError(f"eta must hold iterations={self.iterations} step sizes, got {len(self.eta)}")
        if (self.clip is None) == (self.normalise is None):
            raise ValueError(f"exactly one of clip and normalise, got clip={self.clip}, normalise={self.normalise}")
        if (self.sigma, self.noise_multiplier, self.epsilon).count(None) != 2:
            raise ValueError(
                "exactly one of sigma and noise_multiplier, or for objp epsilon in their place, got "
                f"sigma={self.sigma}, noise_multiplier={self.noise_multiplier}, epsilon={self.epsilon}"
            )
        if self.inner is not None and self.iterations % self.inner:
            raise ValueError(f"iterations must be a multiple of inner={self.inner}, got iterations={self.iterations}")
        if self.sampling is not None and (self.batch is None or not self.sampling.by_epochs):
            raise ValueError(f"sampling is fixed-order or shuffle, and belongs to a batch, got {self.sampling}")
        given = frozenset(self.options.model_dump(exclude_none=True))
        needed = _NEEDED_OPTIONS[self.regularizer]
        if given != needed:
            raise ValueError(f"regularizer {self.regularizer} needs options {sorted(needed)}, got {sorted(given)}")
        return self

    @property
    def bound(self) -> float:
        """C: what each record's gradient is at most."""
        if self.clip is not None:
            return self.clip
        if self.normalise is not None:
            return self.normalise
        raise AssertionError("a validated Parameters has clip or normalise")


PAPER = (Algorithm.SSADMM, Algorithm.MPADMM)
PRIVATE_BASELINES = (Algorithm.DPSGD, Algorithm.DPADMM, Algorithm.DPSVRG, Algorithm.OBJP)
NON_PRIVATE = (Algorithm.SADMM, Algorithm.ADMM)
BASELINES = (*PRIVATE_BASELINES, *NON_PRIVATE)


class Law(enum.Enum):
    """How the noise is distributed."""

    GAUSSIAN = "gaussian"
    OBJECTIVE = "uniform direction, norm Gamma(p, 2C/eps')"
    NONE = "none"


PECULIAR = ("batch", "release", "parties", "inner")
"""Parameters that belong to some algorithms and not to others."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """One algorithm on the wire."""

    takes: frozenset[str]
    noised: tuple[str, ...]
    law: Law
    iterates: tuple[str, ...]  # what a replay shows
    also_released: tuple[str, ...]  # what its privacy claim covers beside the iterates
    by_party: frozenset[str]  # values and noise with a row a party
    clips: bool  # whether the gradient may be clipped; else records are normalised
    proximal_x: bool  # x itself has gone through the proximal map, which hides the noise where it is not 1-1

    def noised_names(self, parameters: Parameters) -> tuple[str, ...]:
        """What noise is added to."""
        return ("x",) if parameters.release is Release.PRIMAL else self.noised

    def row_shape(self, name: str, parameters: Parameters, dimension: int) -> tuple[int, ...]:
        """The shape of one iterate or one draw of noise."""
        return (parameters.parties or 1, dimension) if name in self.by_party else (dimension,)

    def draws(self, name: str, parameters: Parameters) -> int:
        """How often noise of this name is drawn: once an iteration, or once an epoch."""
        return parameters.iterations // (parameters.inner or 1) if name == "anchor" else parameters.iterations

    def noise_shape(self, name: str, parameters: Parameters, dimension: int) -> tuple[int, ...]:
        """The shape of a whole run's noise."""
        return (self.draws(name, parameters), *self.row_shape(name, parameters, dimension))

    def averaged(self, parameters: Parameters, records: int) -> int:
        """Over how many records a gradient is averaged, at least: the batch, the smallest party, or all."""
        return parameters.batch or records // (parameters.parties or 1)

    def prox_weight(self, rho: float, etas: list[float]) -> float:
        """The least weight of the quadratic in the proximal map: rho, or 1/eta where the step itself is proximal."""
        return min(1 / eta for eta in etas) if self.proximal_x else rho


def _scheme(kind: type[Mechanism]) -> Scheme:
    """What a mechanism says of itself, as the wire needs it.

    Parameters and noise are those of the mechanism; where the model takes no penalty, its step is the proximal map.
    What is peculiar to runs: DP-ADMM's x and y have a row a party, and DP-SVRG shows its noisy full gradients.
    """
    fields = fields_of(kind)
    takes = frozenset(name for name in PECULIAR if name in fields)
    law = Law.OBJECTIVE if kind.calibrated == "epsilon" else Law.GAUSSIAN
    shown = {*kind.whole, *kind.computed}
    return Scheme(
        takes,
        (*kind.whole, *kind.batched) if kind.private else (),
        law if kind.private else Law.NONE,
        tuple(name for name in ("x", "z", "y") if name in shown),
        ("full_gradient",) if "inner" in takes else (),
        frozenset({"x", "y"}) if "parties" in takes else frozenset(),
        clips="clip" in fields,
        proximal_x="rho" not in fields,
    )


SCHEMES: dict[Algorithm, Scheme] = {algorithm: _scheme(MECHANISMS[algorithm]) for algorithm in Algorithm}


def noised_names(algorithm: Algorithm, parameters: Parameters) -> tuple[str, ...]:
    """Return what noise is added to."""
    return SCHEMES[algorithm].noised_names(parameters)


def require_complete(algorithm: Algorithm, parameters: Parameters) -> None:
    """Refuse parameters that lack what the algorithm needs, or hold what belongs to another one."""
    scheme = SCHEMES[algorithm]
    for name in PECULIAR:
        if (getattr(parameters, name) is not None) != (name in scheme.takes):
            owners = ", ".join(sorted(a for a, row in SCHEMES.items() if name in row.takes))
            raise ValueError(
                f"{name} belongs to {owners} and to nothing else, got {algorithm}, {name}={getattr(parameters, name)}"
            )
    if (parameters.epsilon is not None) != (scheme.law is Law.OBJECTIVE):
        raise ValueError(f"epsilon belongs to objp and to nothing else, got {algorithm}, epsilon={parameters.epsilon}")
    if scheme.law is Law.NONE and parameters.sigma != 0:
        raise ValueError(f"{algorithm} adds no noise: sigma must be 0, got sigma={parameters.sigma}")
    needs_anchor = algorithm is Algorithm.DPSVRG and parameters.sigma is not None
    if (parameters.anchor_sigma is not None) != needs_anchor:
        raise ValueError(
            "anchor_sigma belongs to dpsvrg with a sigma and to nothing else, "
            f"got {algorithm}, anchor_sigma={parameters.anchor_sigma}"
        )
    if parameters.clip is not None and not scheme.clips:
        raise ValueError(f"{algorithm} solves with true gradients: normalise the records instead of clip")


# -- the mechanism -------------------------------------------------------------------------------------------------

_SAME = ("rho", "sigma", "noise_multiplier", "anchor_sigma", "clip", "normalise")


def mechanism_of(
    algorithm: Algorithm,
    parameters: Parameters,
    records: int,
    *,
    sensitivity: Sensitivity = Sensitivity.CORRECTED,
    visibility: Visibility = Visibility.EVERY_ITERATE,
) -> Mechanism:
    """Return what a run of the algorithm with these parameters on so many records is.

    The wire does not say whose sensitivities are claimed (mpadmm) nor what the adversary sees: the caller does.
    """
    described: dict[str, object] = {
        "algorithm": algorithm.value,
        "records": records,
        "iterations": parameters.iterations,
        "released": visibility,
        "batch": parameters.batch,
        "sampling": None if parameters.batch is None else parameters.sampling or Sampling.WITHOUT_REPLACEMENT,
        "parties": parameters.parties,
        "inner": parameters.inner,
        "release": parameters.release,
        "epsilon": _exactly("epsilon", parameters.epsilon),
        "eta": _schedule(parameters.eta, one_more=sensitivity is Sensitivity.PRINTED),
    }
    described |= {name: _exactly(name, getattr(parameters, name)) for name in _SAME}
    if SCHEMES[algorithm].law is Law.NONE:
        described["sigma"] = None  # the wire says sigma = 0
    if SCHEMES[algorithm].proximal_x:
        described["rho"] = None  # there is no penalty term
    if algorithm is Algorithm.MPADMM:
        described |= {"sensitivity": sensitivity, **_penalty(parameters)}
    return mechanism_from(described)


def _exactly(name: str, value: float | None) -> Fraction | None:
    return None if value is None else exact_binary64(name, value)


def _schedule(eta: Sequence[float], *, one_more: bool) -> Fraction | list[Fraction]:
    """Return one step size where all are equal, else all; the last twice where the printed bound needs eta^T (E2)."""
    steps = [exact_binary64("eta", step) for step in eta]
    if len(set(steps)) == 1:
        return steps[0]
    return [*steps, steps[-1]] if one_more else steps


def _penalty(parameters: Parameters) -> dict[str, object]:
    """Return the shape of a non-convex regularizer where it moves z: nothing does at lambda = 0."""
    if parameters.lambda_ == 0.0 or parameters.release is not Release.ALL:
        return {}
    if parameters.regularizer is RegularizerName.SCAD:
        return {"a": _exactly("a", parameters.options.a)}
    if parameters.regularizer is RegularizerName.MCP:
        return {"gamma": _exactly("gamma", parameters.options.gamma)}
    return {}
