"""The shape of the golden accounting vectors; the JSON schema is generated from it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["without-replacement", "gaussian", "poisson", "single-step"]

FLAGS: dict[str, str] = {
    "ordinary": "Parameters of the paper's experiments and their neighbourhood.",
    "tiny-rate": "log(1 + x) where log1p is needed returns epsilon 0 for a positive number.",
    "cancellation": "Theorem 27's alternating sum loses every digit of binary64 and may come out far too large.",
    "large-noise": "Noise so large that moments differ from 1 by less than a binary64 can hold.",
    "small-noise": "Moments beyond the range of binary64: overflow must not become a finite or NaN epsilon.",
    "every-record": "q = 1: subsampling theorems must not return more than not subsampling at all costs.",
    "order-near-one": "alpha - 1 small: 0/0 in the definition of the divergence.",
    "large-order": "alpha up to 10^4: binomials beyond the range of binary64.",
    "real-order": "An order between integers, where the integer theorems say nothing by themselves.",
    "tiny-delta": "delta below an FFT's absolute error, or below the smallest binary64.",
    "large-delta": "delta so large that a conversion goes negative: epsilon is 0, not less.",
    "tiny-mu": "The two normal tails agree in almost all digits.",
    "large-mu": "The two normal tails are 1 and 0 to binary64.",
}


class _VectorModel(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class Enclosure(_VectorModel):
    """lower <= the exact value <= upper, decimal, rounded outwards to `digits` significant digits."""

    lower: str
    upper: str


class Vector(_VectorModel):
    """One parameter set and the certified values of what it implies."""

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    kind: Kind
    flags: tuple[str, ...]
    inputs: dict[str, str]
    values: dict[str, Enclosure]


class Vectors(_VectorModel):
    """The whole file; nobody edits it by hand."""

    format: Literal["dpadmm-accounting-vectors"]
    version: Literal[1]
    digits: int
    generator: str
    neighbours: dict[str, str]
    quantities: dict[str, str]
    flags: dict[str, str]
    vectors: tuple[Vector, ...]
