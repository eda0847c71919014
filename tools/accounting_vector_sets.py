"""The shape of the golden accounting vectors, from which their JSON schema is generated, and their parameter sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class ParameterSet:
    """Inputs as decimal strings or ratios, and why they are here."""

    kind: Kind
    flags: tuple[str, ...]
    inputs: dict[str, str]


def parameter_sets() -> Iterator[ParameterSet]:
    """Yield every parameter set, in the order of the file."""
    yield from _ordinary_batches()
    yield from _unlucky_batches()
    yield from _gaussians()
    yield from _poisson()
    yield from _single_steps()


def _batches(flag: str, rate: str, multiplier: str, count: str, delta: str, *orders: str) -> Iterator[ParameterSet]:
    for alpha in orders:
        flags = (flag,) if alpha.isdigit() else (flag, "real-order")
        inputs = {
            "sampling_rate": rate,
            "noise_multiplier": multiplier,
            "count": count,
            "delta": delta,
            "alpha": alpha,
        }
        yield ParameterSet("without-replacement", flags, inputs)


def _ordinary_batches() -> Iterator[ParameterSet]:
    rows = (
        ("221/48842", "4", "2210"),
        ("221/48842", "2", "2210"),
        ("200/40000", "1", "200"),
        ("100/1000", "8", "1000"),
    )
    for rate, multiplier, count in rows:
        yield from _batches(
            "ordinary", rate, multiplier, count, "1e-8", "2", "3", "4", "10", "25", "39", "64", "2.5", "17.3"
        )
    for rate in ("1/1000", "1/100", "1/10", "1/4"):
        for multiplier in ("0.7", "1.5", "3", "12"):
            yield from _batches("ordinary", rate, multiplier, "100", "1e-6", "2", "8", "32", "5.25")


def _unlucky_batches() -> Iterator[ParameterSet]:
    yield from _batches("tiny-rate", "1e-9", "1", "1", "1e-8", "2", "32", "1.5")
    yield from _batches("tiny-rate", "1e-20", "2", "1000", "1e-12", "2", "16", "3.5")
    yield from _batches("tiny-rate", "1e-100", "1/2", "1", "1e-8", "4", "8")
    yield from _batches("cancellation", "1/2", "1000", "1000", "1e-8", "16", "32", "100", "7.5")
    yield from _batches("cancellation", "1/10", "300", "10000", "1e-8", "64", "128")
    yield from _batches("large-noise", "1/200", "2e8", "1000", "1e-8", "3", "64", "200.5")
    yield from _batches("large-noise", "1/2", "1e12", "10", "1e-8", "2", "10")
    yield from _batches("small-noise", "1/200", "1/10", "1", "1e-8", "2", "9", "1.25")
    yield from _batches("small-noise", "1/2", "1/100", "1", "1e-8", "2", "5", "1.0625")
    yield from _batches("every-record", "1", "10", "10", "1e-8", "2", "12", "18.6")
    yield from _batches("every-record", "1", "1", "1", "1e-5", "2", "6", "4.5")
    yield from _batches("order-near-one", "1/100", "1", "10", "1e-8", "1.01", "1.0001", "1.000000001")
    yield from _batches("large-order", "1/200", "30", "1", "1e-8", "1000", "2000", "5000")
    yield from _batches("large-order", "1/1000", "100", "1", "1e-12", "10000", "9999.5")
    yield from _batches("tiny-delta", "221/48842", "4", "2210", "1e-300", "39", "90")
    yield from _batches("tiny-delta", "1/100", "2", "100", "1e-100", "20", "30.5")
    yield from _batches("large-delta", "1/100", "4", "1", "0.5", "2", "8", "3.5")
    yield from _batches("large-delta", "1/10", "2", "2", "0.1", "2", "4")


def _gaussians() -> Iterator[ParameterSet]:
    ordinary = [("1/18", "1e-8"), ("1", "1e-5"), ("4", "1e-8"), ("0.01", "1e-6"), ("0.3", "1e-10"), ("25", "1e-8")]
    for square, delta in ordinary:
        for epsilon in ("0", "0.5", "1", "3"):
            yield _gaussian(square, delta, epsilon, "ordinary")
    for delta in ("1e-12", "1e-50", "1e-100", "1e-300", "1e-1000"):
        yield _gaussian("1/18", delta, "5", "tiny-delta")
        yield _gaussian("4", delta, "40", "tiny-delta")
    for delta in ("0.1", "0.3", "0.5", "0.9"):
        yield _gaussian("1", delta, "0.25", "large-delta")
    for square, epsilon in (("1e-8", "1e-3"), ("1e-16", "1e-7"), ("1e-30", "1e-14")):
        yield _gaussian(square, "1e-25", epsilon, "tiny-mu")
        yield _gaussian(square, "1e-40", f"3{epsilon[1:]}", "tiny-mu")
    for square in ("1e4", "1e6", "1e10"):
        yield _gaussian(square, "1e-8", "1000", "large-mu")


def _gaussian(square: str, delta: str, epsilon: str, flag: str) -> ParameterSet:
    return ParameterSet("gaussian", (flag,), {"mu_squared": square, "delta": delta, "epsilon": epsilon})


def _poisson() -> Iterator[ParameterSet]:
    for rate, multiplier in (("1/100", "1"), ("1/1000", "0.6"), ("1/10", "4"), ("1/4", "2"), ("1", "3")):
        for alpha in ("2", "8", "32", "3.7"):
            flags = ("ordinary",) if alpha.isdigit() else ("ordinary", "real-order")
            yield ParameterSet(
                "poisson", flags, {"sampling_rate": rate, "noise_multiplier": multiplier, "alpha": alpha}
            )
    for rate, multiplier, alpha, flag in (
        ("1e-12", "1", "16", "tiny-rate"),
        ("1e-12", "1", "2.5", "tiny-rate"),
        ("1/2", "1000", "100", "large-noise"),
        ("1/10", "2e8", "50", "large-noise"),
        ("1/100", "1/10", "6", "small-noise"),
        ("1/100", "1", "1.001", "order-near-one"),
    ):
        inputs = {"sampling_rate": rate, "noise_multiplier": multiplier, "alpha": alpha}
        yield ParameterSet("poisson", (flag,), inputs)


def _single_steps() -> Iterator[ParameterSet]:
    for rate, multiplier in (("221/48842", "4"), ("1/10", "1"), ("1/2", "1/2")):
        for epsilon, delta in (("0", "1e-8"), ("0.1", "1e-5"), ("2", "1e-12")):
            yield _single(rate, multiplier, epsilon, delta, "ordinary")
    yield _single("1e-12", "1", "1e-6", "1e-20", "tiny-rate")
    yield _single("1/100", "2", "3", "1e-300", "tiny-delta")
    yield _single("1/100", "2", "0.01", "0.2", "large-delta")
    yield _single("1/2", "2e8", "1e-12", "1e-10", "large-noise")
    yield _single("1", "1", "1", "1e-5", "every-record")


def _single(rate: str, multiplier: str, epsilon: str, delta: str, flag: str) -> ParameterSet:
    inputs = {"sampling_rate": rate, "noise_multiplier": multiplier, "epsilon": epsilon, "delta": delta}
    return ParameterSet("single-step", (flag,), inputs)
