"""The format of the vector files, version 1; ``data/schema.json`` is generated from here."""

from __future__ import annotations

import math
import struct
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, model_validator

VERSION = 1
FORMAT = "dpadmm-vectors"

Bits = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$", description="a binary64 as big-endian hexadecimal")]
Number = Annotated[
    tuple[str, Bits],
    Field(strict=False, description="a binary64: the shortest decimal that reads back to it, and its bits"),
]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=80)]


class VectorModel(BaseModel):
    """Strict, immutable, no field that is not in the schema."""

    model_config: ClassVar[ConfigDict] = ConfigDict(strict=True, frozen=True, extra="forbid", populate_by_name=True)


class RegularizerEntry(VectorModel):
    """Its name, strength and options; exactly the options that it needs are there."""

    name: Literal["none", "l1", "elastic-net", "group-l1", "nuclear", "scad", "mcp"]
    lam: Number = Field(alias="lambda")
    l1_ratio: Number | None = None
    groups: list[list[int]] | None = None
    shape: Annotated[tuple[int, int], Field(strict=False)] | None = None
    a: Number | None = None
    gamma: Number | None = None


class Point(VectorModel):
    """The initial point."""

    x: list[Number]
    z: list[Number]
    y: list[Number]


class NoiseEntry(VectorModel):
    """What is added, already scaled: to the gradient (ssadmm), to x alone (release primal), or to x, z and y."""

    gradient: list[list[Number]] | None = None
    x: list[list[Number]] | None = None
    z: list[list[Number]] | None = None
    y: list[list[Number]] | None = None


class Value(VectorModel):
    """An expected value and which binary64 are admissible in its place; zeros of either sign are one number."""

    exact: str = Field(description="the exact result to 40 significant digits")
    bits: Bits = Field(description="the binary64 nearest to that decimal")
    kind: Literal["bits", "ulp", "enclosure"] = Field(
        description="bits: exactly that binary64; ulp: at most `ulp` steps from it in the order of binary64; "
        "enclosure: from `low` to `high`, both included"
    )
    ulp: PositiveInt | None = None
    low: Number | None = None
    high: Number | None = None

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        given = (self.ulp is not None, self.low is not None, self.high is not None)
        needed = {"bits": (False, False, False), "ulp": (True, False, False), "enclosure": (False, True, True)}
        if given != needed[self.kind]:
            raise ValueError(f"kind {self.kind} needs ulp, low, high as {needed[self.kind]}, got {given}")
        return self

    def admits(self, got: float) -> bool:
        """Whether this binary64 is admissible."""
        if not math.isfinite(got):
            return False
        if self.low is not None and self.high is not None:
            return value_of(self.low) <= got <= value_of(self.high)
        return abs(place(got) - place(from_bits(self.bits))) <= (self.ulp or 0)


class Expected(VectorModel):
    """One row an iteration: the mean gradient before any noise, then the state as released."""

    tolerance: Literal["proved", "stated"] = Field(
        description="proved: by ball arithmetic; stated: also rests on a singular value decomposition's usual accuracy"
    )
    gradient: list[list[Value]]
    x: list[list[Value]]
    z: list[list[Value]]
    y: list[list[Value]]


class RefusalEntry(VectorModel):
    """What must be answered instead of a result."""

    kinds: list[Literal["invalid-data", "invalid-parameters"]] = Field(min_length=1)
    about: str = Field(description="what is wrong")


class Case(VectorModel):
    """One run, or one refusal."""

    id: Name
    comment: str
    flags: list[Name] = Field(min_length=1)
    result: Literal["valid", "invalid"]
    algorithm: Literal["ssadmm", "mpadmm"]
    release: Literal["all", "primal"] | None = None
    loss: Literal["logistic", "huber"]
    regularizer: RegularizerEntry
    rho: Number
    eta: list[Number]
    sigma: Number = Field(description="for the wire; a replay does not use it, its noise is already scaled")
    clip: Number | None = None
    normalise: Number | None = None
    intercept: bool
    features: list[list[Number]]
    labels: list[int]
    batch: int | None = None
    batches: list[list[int]] | None = None
    noise: NoiseEntry
    initial: Point | None = Field(default=None, description="absent: 0")
    expected: Expected | None = None
    error: RefusalEntry | None = None

    @model_validator(mode="after")
    def _one_result(self) -> Self:
        if (self.result == "valid", self.result == "invalid") != (self.expected is not None, self.error is not None):
            raise ValueError("valid cases have expected values, invalid ones an error, and neither has both")
        return self


class Flag(VectorModel):
    """What a flag means: the class of bug that its cases catch, and what such a bug does."""

    bug: str
    effect: str


class VectorFile(VectorModel):
    """A file of cases."""

    format: Literal["dpadmm-vectors"]
    version: Literal[1]
    generator: str
    note: str
    count: PositiveInt
    flags: dict[Name, Flag]
    cases: list[Case] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        ids = [case.id for case in self.cases]
        if len(ids) != self.count:
            raise ValueError(f"count says {self.count} cases, there are {len(ids)}: the file was cut or edited")
        repeated = sorted({name for name in ids if ids.count(name) > 1})
        if repeated:
            raise ValueError(f"ids are used twice: {repeated}")
        used = {flag for case in self.cases for flag in case.flags}
        if used != set(self.flags):
            raise ValueError(f"flags and their notes differ: {sorted(used ^ set(self.flags))}")
        return self


def number(value: float) -> Number:
    """A binary64 in both forms."""
    return (repr(float(value)), bits_of(float(value)))


def bits_of(value: float) -> str:
    """The bits, big-endian."""
    return struct.pack(">d", value).hex()


def from_bits(bits: str) -> float:
    """The binary64 of these bits."""
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    return float(value)


def value_of(pair: Number) -> float:
    """The binary64 of a number; refuses one whose two forms disagree."""
    text, bits = pair
    value = from_bits(bits)
    if bits_of(float(text)) != bits and not (math.isnan(value) and text == "nan"):
        raise ValueError(f"{text} is not the binary64 with bits {bits}")
    return value


def place(value: float) -> int:
    """The place of a finite binary64 in their order; both zeros have place 0."""
    (magnitude,) = struct.unpack(">q", struct.pack(">d", abs(value)))
    return -int(magnitude) if value < 0 else int(magnitude)
