"""The parameters object of the wire: everything an implementation needs to know, in one place.

One `Parameters` describes one run completely; nothing is left to an implementation's defaults. Its docstrings are
the reference of docs/reference/protocol.md, and its JSON schema is generated from here.
"""

from __future__ import annotations

import enum
from typing import Annotated, Self

from pydantic import Field, PositiveInt, StrictInt, model_validator

from accountant.mechanisms.words import Algorithm, Release
from verification.wire.arrays import WireArray, WireModel

__all__ = [
    "Algorithm",
    "Initial",
    "LossName",
    "NonNegative",
    "Parameters",
    "Positive",
    "RegularizerName",
    "RegularizerOptions",
    "Release",
    "WireAlgorithm",
    "WireLoss",
    "WireRegularizer",
    "WireRelease",
]


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
