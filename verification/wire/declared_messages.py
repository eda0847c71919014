"""Requests and answers about an algorithm that the adapter declares itself; additive to protocol 1.

`start` names it under `declared`; `declare` asks what it releases at some parameters, `record` for one run that also
shows what was there before the noise, `trials` for runs as they are in production. Parameters are opaque: what the
claim file holds, unchanged.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue, NonNegativeInt, PositiveInt

from verification.wire.arrays import WireArray, WireModel
from verification.wire.messages import AdapterDescription, Name, Seed

OpaqueParameters = dict[str, JsonValue]


class DeclaredStart(AdapterDescription, extra="ignore"):
    """What is read of the answer to `start`; the algorithms of the protocol's own may be there or not."""

    declared: list[Name] = Field(min_length=1)


class DeclareRequest(WireModel):
    """Say what the algorithm releases at these parameters, on so many records of so many features."""

    id: NonNegativeInt
    request: Literal["declare"] = "declare"
    algorithm: Name
    parameters: OpaqueParameters
    records: PositiveInt
    columns: PositiveInt


class DeclaredDataRequest(WireModel):
    """Keep these records under this name; labels are numbers of the declared range."""

    id: NonNegativeInt
    request: Literal["data"] = "data"
    name: Name
    features: WireArray = Field(description="shape [n, p]")
    labels: list[float] = Field(description="n labels")


class RecordRequest(WireModel):
    """One run, shown from the inside.

    With `seed`, equal requests get equal answers, and noise and batches do not depend on the data. `outputs` holds, for
    every value with noise, what is to be taken as released in each release, in place of what the run would release.
    `batches` holds the records of each step, in place of drawn ones.
    """

    id: NonNegativeInt
    request: Literal["record"] = "record"
    data: Name
    algorithm: Name
    parameters: OpaqueParameters
    seed: Seed | None = Field(default=None, description="absent: fresh entropy of the system")
    outputs: dict[Name, WireArray] | None = Field(default=None, description="[releases, ...] for each noised value")
    batches: list[list[NonNegativeInt]] | None = None


class OwnTrialsRequest(WireModel):
    """Run `count` times with your own randomness."""

    id: NonNegativeInt
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
