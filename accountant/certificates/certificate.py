"""A certificate: what was priced, by which theorem, at which order, to how many digits, with a digest.

This is also what `dpadmm account --format json` prints: one versioned shape, reals as decimal strings (or ratios,
where a decimal would not be exact). `accountant.certificates.recheck` re-derives it by an independent route.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from accountant.errors import InvalidQuantityError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import GaussianStep, PoissonGaussianStep, PureStep, Step, SubsampledGaussianStep
from accountant.mechanisms.words import Neighbours, Noise
from accountant.numbers import decimal_string, exact
from accountant.pricing import THEOREMS, MethodResult, Report

VERSION: Final = 1
MOST_DIGITS: Final = 500
MOST_STEPS: Final = 10_000
MOST_COUNT: Final = 10**18
LONGEST_TEXT: Final = 50_000_000


class _Model(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class StepRecord(_Model):
    """One step; which fields are set depends on the kind."""

    kind: Literal["gaussian", "subsampled-gaussian", "poisson-gaussian", "pure"]
    count: int
    ratio_squared: str | None = None
    sampling_rate: str | None = None
    noise_multiplier: str | None = None
    epsilon: str | None = None
    noise: Literal["gaussian", "discrete"] | None = None


class LedgerRecord(_Model):
    """The ledger that was priced."""

    neighbours: Literal["replace-one", "add-or-remove-one"]
    steps: tuple[StepRecord, ...]
    realisable: tuple[StepRecord, ...]
    corrected: tuple[StepRecord, ...]
    notes: tuple[str, ...]


class Interval(_Model):
    """An enclosure, its ends rounded outwards."""

    lower: str
    upper: str


class MethodRecord(_Model):
    """One method: `epsilon` is the end that may be quoted, the same as `upper`."""

    epsilon: str
    lower: str
    upper: str
    alpha: str | None
    theorem: str


class Certificate(_Model):
    """The whole document; `digest` is SHA-256 over everything else in canonical form."""

    format: Literal["dpadmm-account"]
    version: Literal[1]
    sound: bool
    delta: str
    digits: int
    epsilon: Interval
    methods: dict[str, MethodRecord]
    refused: dict[str, str]
    ledger: LedgerRecord
    digest: str

    def to_json(self) -> dict[str, object]:
        """Return the document as plain JSON values."""
        document: dict[str, object] = self.model_dump(mode="json", exclude_none=False)
        return document

    def expected_digest(self) -> str:
        """Return the digest that the rest of the document has."""
        return _digest({key: value for key, value in self.to_json().items() if key != "digest"})


def certificate(report: Report) -> Certificate:
    """Write a report down."""
    unsigned = Certificate(
        format="dpadmm-account",
        version=VERSION,
        sound=report.ledger.sound,
        delta=exact_string(report.delta),
        digits=report.digits,
        epsilon=_interval(report),
        methods={name: _method(result, report.digits) for name, result in report.methods.items()},
        refused=dict(report.refused),
        ledger=ledger_record(report.ledger),
        digest="",
    )
    return unsigned.model_copy(update={"digest": unsigned.expected_digest()})


def read_certificate(text: str) -> Certificate:
    """Parse a certificate as strictly as it is written; an unreadable one is a usage error that says where."""
    if len(text) > LONGEST_TEXT:
        raise InvalidQuantityError(f"not a certificate: longer than {LONGEST_TEXT} characters")
    try:
        document = Certificate.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise InvalidQuantityError(f"not a certificate: {where}: {first['msg']}") from None
    _require_as_written(document)
    return document


def _require_as_written(document: Certificate) -> None:
    """Refuse what `certificate` never writes: other digits, other spellings, other names, numbers beyond reason."""
    if not 1 <= document.digits <= MOST_DIGITS:
        raise InvalidQuantityError(f"not a certificate: digits must be in 1..{MOST_DIGITS}, got {document.digits}")
    if not document.methods:
        raise InvalidQuantityError("not a certificate: methods: none is named, so nothing is certified")
    _require_spelling("delta", document.delta, exact_string(exact("delta", document.delta)))
    for name, record in document.methods.items():
        if name not in THEOREMS:
            raise InvalidQuantityError(f"not a certificate: methods: there is no method {name!r}")
        if record.alpha is not None:
            _require_spelling(f"{name}.alpha", record.alpha, exact_string(exact("alpha", record.alpha)))
        _require_end(f"{name}.lower", record.lower, document.digits)
        _require_end(f"{name}.upper", record.upper, document.digits)
    _require_end("epsilon.lower", document.epsilon.lower, document.digits)
    _require_end("epsilon.upper", document.epsilon.upper, document.digits)
    book = document.ledger
    if len(book.steps) > MOST_STEPS:
        raise InvalidQuantityError(f"not a certificate: more than {MOST_STEPS} steps")
    for step in (*book.steps, *book.realisable, *book.corrected):
        if step.count > MOST_COUNT or step_record(read_step(step)) != step:
            raise InvalidQuantityError(f"not a certificate: this step is not as it is written: {step}")


def _require_end(name: str, text: str, digits: int) -> None:
    _require_spelling(name, text, decimal_string(exact(name, text), digits, "down"))


def _require_spelling(name: str, text: str, expected: str) -> None:
    if text != expected:
        raise InvalidQuantityError(f"not a certificate: {name}: expected {expected[:60]!r}, got {text[:60]!r}")


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


def _related(step: Step, relation: Neighbours) -> Step:
    """Return the step; a pure one is for the relation of its ledger, every other kind has one of its own."""
    return PureStep(step.epsilon, step.count, relation) if isinstance(step, PureStep) else step


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
    rate = field("sampling_rate", record.sampling_rate)
    multiplier = field("noise_multiplier", record.noise_multiplier)
    if record.kind == "poisson-gaussian":
        return PoissonGaussianStep(rate, multiplier, record.count)
    return SubsampledGaussianStep(rate, multiplier, record.count, noise)


def exact_string(value: Fraction) -> str:
    """Return an exact decimal where there is a short one, else a ratio."""
    twos_and_fives = value.denominator
    for prime in (2, 5):
        while twos_and_fives % prime == 0:
            twos_and_fives //= prime
    if twos_and_fives == 1:
        text = decimal_string(value, 60, "down")
        if Fraction(text) == value:
            return text
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 10_000:
        raise InvalidQuantityError("a ratio of more than 3000 digits is not written down: give fewer digits")
    return str(value)


def _interval(report: Report) -> Interval:
    lower, upper = report.epsilon.decimal_strings(report.digits)
    return Interval(lower=lower, upper=upper)


def _method(result: MethodResult, digits: int) -> MethodRecord:
    lower, upper = result.epsilon.decimal_strings(digits)
    alpha = None if result.alpha is None else exact_string(result.alpha)
    return MethodRecord(epsilon=upper, lower=lower, upper=upper, alpha=alpha, theorem=result.theorem)


def _digest(document: dict[str, object]) -> str:
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
