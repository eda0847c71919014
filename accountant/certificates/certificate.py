r"""A certificate: what was priced, by which theorem, at which order, to how many digits, with a digest.

This is also what `dpadmm account --format json` prints: one versioned shape, reals as decimal strings (or ratios,
where a decimal would not be exact). `accountant.certificates.reading` reads one,
`accountant.certificates.recheck` re-derives it by an independent route.

A mechanism as a certificate writes it down: the entry of a ledger file that describes it exactly.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Literal

from accountant.errors import InvalidQuantityError
from accountant.mechanisms.fields import fields_of
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import Mechanism
from accountant.mechanisms.registry import mechanism_from
from accountant.mechanisms.steps import (
    GaussianStep,
    LaplaceStep,
    PoissonGaussianStep,
    PureStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Neighbours, Noise
from accountant.numbers import exact, exact_string
from accountant.pricing import MethodResult, Report

MechanismRecord = dict[str, str | int | tuple[str, ...]]


def mechanism_record(mechanism: Mechanism) -> MechanismRecord:
    """Write down every field that the price may depend on and that is not its default."""
    record: MechanismRecord = {"algorithm": mechanism.algorithm}
    for name, field in fields_of(type(mechanism)).items():
        value: object = getattr(mechanism, name)
        if field.priced and value is not None and value != field.default:
            record[name] = _plain(value)
    return record


def _plain(value: object) -> str | int | tuple[str, ...]:
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, Fraction):
        return exact_string(value)
    if isinstance(value, tuple):
        return exact_string(value[0]) if len(value) == 1 else tuple(map(exact_string, value))
    if isinstance(value, int):
        return value
    raise AssertionError(f"no priced field holds {value!r}")


def read_mechanism(record: Mapping[str, str | int | tuple[str, ...]]) -> Mechanism:
    """Read a mechanism back; what is not spelt as it is written is refused."""
    mechanism = mechanism_from(record)
    if not mechanism.private:
        raise InvalidQuantityError(f"not a certificate: {mechanism.algorithm} has no price")
    if mechanism_record(mechanism) != record:
        raise InvalidQuantityError(f"not a certificate: this mechanism is not as it is written: {str(record)[:200]}")
    return mechanism


VERSION: Final = 2
_AS_WRITTEN: Final[dict[str, object]] = {"strict": True, "extra": "forbid"}
"""How `reading` validates a record: nothing converted, nothing unknown."""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step; which fields are set depends on the kind."""

    __pydantic_config__: ClassVar[dict[str, object]] = _AS_WRITTEN

    kind: Literal["gaussian", "subsampled-gaussian", "with-replacement-gaussian", "poisson-gaussian", "pure", "laplace"]
    count: int
    ratio_squared: str | None = None
    sampling_rate: str | None = None
    noise_multiplier: str | None = None
    epsilon: str | None = None
    noise: Literal["gaussian", "discrete"] | None = None
    records: int | None = None
    batch: int | None = None


@dataclass(frozen=True, slots=True)
class LedgerRecord:
    """The ledger that was priced."""

    __pydantic_config__: ClassVar[dict[str, object]] = _AS_WRITTEN

    neighbours: Literal["replace-one", "add-or-remove"]
    steps: tuple[StepRecord, ...]
    realisable: tuple[StepRecord, ...]
    corrected: tuple[StepRecord, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Interval:
    """An enclosure, its ends rounded outwards."""

    __pydantic_config__: ClassVar[dict[str, object]] = _AS_WRITTEN

    lower: str
    upper: str


@dataclass(frozen=True, slots=True)
class MethodRecord:
    """One method: `epsilon` is the end that may be quoted, the same as `upper`."""

    __pydantic_config__: ClassVar[dict[str, object]] = _AS_WRITTEN

    epsilon: str
    lower: str
    upper: str
    alpha: str | None
    theorem: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """The whole document; `digest` is SHA-256 over everything else in canonical form.

    `mechanisms` are the parameters that the ledger follows from; empty for a ledger that was put together by hand.
    """

    __pydantic_config__: ClassVar[dict[str, object]] = _AS_WRITTEN

    format: Literal["dpadmm-account"]
    version: Literal[2]
    sound: bool
    delta: str
    digits: int
    epsilon: Interval
    methods: dict[str, MethodRecord]
    refused: dict[str, str]
    mechanisms: tuple[MechanismRecord, ...]
    ledger: LedgerRecord
    digest: str

    def to_json(self) -> dict[str, object]:
        """Return the document as plain JSON values."""
        return record_json(self)

    def expected_digest(self) -> str:
        """Return the digest that the rest of the document has."""
        return _digest({key: value for key, value in self.to_json().items() if key != "digest"})


def certificate(report: Report) -> Certificate:
    """Write a report down."""
    draft = unsigned(report)
    return dataclasses.replace(draft, digest=draft.expected_digest())


def unsigned(report: Report) -> Certificate:
    """Write a report down without its digest: for those who only print it."""
    methods = {name: _method(result, report.digits) for name, result in report.methods.items()}
    return Certificate(
        format="dpadmm-account",
        version=VERSION,
        sound=report.ledger.sound,
        delta=exact_string(report.delta),
        digits=report.digits,
        epsilon=_interval(report, methods),
        methods=methods,
        refused=dict(report.refused),
        mechanisms=tuple(map(mechanism_record, report.ledger.mechanisms)),
        ledger=ledger_record(report.ledger),
        digest="",
    )


def record_json(record: Certificate | LedgerRecord) -> dict[str, object]:
    """Return a record as plain JSON values."""
    plain: dict[str, object] = json.loads(json.dumps(dataclasses.asdict(record)))
    return plain


def ledger_record(ledger: Ledger) -> LedgerRecord:
    """Write a ledger down exactly."""
    return LedgerRecord(
        neighbours=ledger.neighbours.value,
        steps=tuple(map(step_record, ledger.steps)),
        realisable=tuple(map(step_record, ledger.realisable)),
        corrected=tuple(map(step_record, ledger.corrected)),
        notes=ledger.notes,
    )


def read_ledger(record: LedgerRecord) -> Ledger:
    """Read a ledger back; what no mechanism has is refused as anywhere else."""

    def read(steps: tuple[StepRecord, ...]) -> tuple[Step, ...]:
        return tuple(_related(read_step(step), Neighbours(record.neighbours)) for step in steps)

    ledger = Ledger(read(record.steps), read(record.realisable), read(record.corrected), record.notes)
    if ledger.neighbours.value != record.neighbours:
        raise InvalidQuantityError(
            f"ledger.neighbours must be {ledger.neighbours.value!r} for these steps, got {record.neighbours!r}"
        )
    return ledger


def _related(step: Step, neighbours: Neighbours) -> Step:
    """Return the step for the relation of its ledger; Poisson batches have one of their own."""
    return step if isinstance(step, PoissonGaussianStep) else dataclasses.replace(step, neighbours=neighbours)


def step_record(step: Step) -> StepRecord:
    """Write a step down exactly."""
    match step:
        case GaussianStep():
            return StepRecord(
                kind="gaussian",
                count=step.count,
                ratio_squared=exact_string(step.ratio_squared),
                noise=step.noise.value,
            )
        case SubsampledGaussianStep():
            return StepRecord(
                kind="subsampled-gaussian",
                count=step.count,
                sampling_rate=exact_string(step.sampling_rate),
                noise_multiplier=exact_string(step.noise_multiplier),
                noise=step.noise.value,
            )
        case PoissonGaussianStep():
            return StepRecord(
                kind="poisson-gaussian",
                count=step.count,
                sampling_rate=exact_string(step.sampling_rate),
                noise_multiplier=exact_string(step.noise_multiplier),
            )
        case WithReplacementStep():
            return StepRecord(
                kind="with-replacement-gaussian",
                count=step.count,
                noise_multiplier=exact_string(step.noise_multiplier),
                records=step.records,
                batch=step.batch,
            )
        case LaplaceStep():
            return StepRecord(kind="laplace", count=step.count, epsilon=exact_string(step.epsilon))
        case PureStep():
            return StepRecord(kind="pure", count=step.count, epsilon=exact_string(step.epsilon))


def read_step(record: StepRecord) -> Step:
    """Read a step back."""

    def field(name: str, value: str | None) -> Fraction:
        if value is None:
            raise InvalidQuantityError(f"a step of kind {record.kind!r} needs {name}")
        return exact(name, value)

    noise = Noise(record.noise or "gaussian")
    match record.kind:
        case "gaussian":
            return GaussianStep(field("ratio_squared", record.ratio_squared), record.count, noise)
        case "pure":
            return PureStep(field("epsilon", record.epsilon), record.count)
        case "laplace":
            return LaplaceStep(field("epsilon", record.epsilon), record.count)
    multiplier = field("noise_multiplier", record.noise_multiplier)
    if record.kind == "with-replacement-gaussian":
        return WithReplacementStep(record.records or 0, record.batch or 0, multiplier, record.count)
    rate = field("sampling_rate", record.sampling_rate)
    if record.kind == "poisson-gaussian":
        return PoissonGaussianStep(rate, multiplier, record.count)
    return SubsampledGaussianStep(rate, multiplier, record.count, noise)


def _interval(report: Report, methods: dict[str, MethodRecord]) -> Interval:
    """Return the printed enclosure; its upper end is never below what the methods' printed ends support."""
    lower, upper = report.epsilon.printed(report.digits)
    if report.ledger.sound and upper != "inf":
        supported = min((record.upper for record in methods.values() if record.upper != "inf"), key=Fraction)
        upper = max(upper, supported, key=Fraction)
    return Interval(lower=lower, upper=upper)


def _method(result: MethodResult, digits: int) -> MethodRecord:
    lower, upper = result.epsilon.printed(digits)
    alpha = None if result.alpha is None else exact_string(result.alpha)
    return MethodRecord(epsilon=upper, lower=lower, upper=upper, alpha=alpha, theorem=result.theorem)


def _digest(document: dict[str, object]) -> str:
    import hashlib  # noqa: PLC0415 - loads a cryptographic library, which printing a price does not need

    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
