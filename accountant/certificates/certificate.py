r"""A certificate: what was priced, by which theorem, at which order, to how many digits, with a digest.

This is also what `dpadmm account --format json` prints: one versioned shape, reals as decimal strings (or ratios,
where a decimal would not be exact). `read_certificate` reads one as strictly as it is written;
`accountant.certificates.recheck` re-derives it by an independent route.

A mechanism as a certificate writes it down: the entry of a ledger file that describes it exactly.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from accountant.errors import InvalidQuantityError
from accountant.mechanisms.fields import fields_of
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import Mechanism
from accountant.mechanisms.quantities import MOST_COUNT
from accountant.mechanisms.registry import mechanism_from
from accountant.mechanisms.steps import (
    GaussianStep,
    GroupStep,
    LaplaceStep,
    PoissonGaussianStep,
    PureStep,
    ShuffledStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Neighbours, Noise, Sampling
from accountant.numbers import decimal_string, exact, exact_string
from accountant.pricing import THEOREMS, MethodResult, Report

if TYPE_CHECKING:
    from pydantic import TypeAdapter

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
_GroupKind = Literal["group-without-replacement", "group-with-replacement", "group-poisson"]
_AS_WRITTEN: Final[dict[str, object]] = {"strict": True, "extra": "forbid"}
"""How `read_certificate` validates a record: nothing converted, nothing unknown."""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step; which fields are set depends on the kind."""

    __pydantic_config__: ClassVar[dict[str, object]] = _AS_WRITTEN

    kind: Literal[
        "gaussian",
        "subsampled-gaussian",
        "with-replacement-gaussian",
        "poisson-gaussian",
        "group-without-replacement",
        "group-with-replacement",
        "group-poisson",
        "shuffled-gaussian",
        "pure",
        "laplace",
    ]
    count: int
    ratio_squared: str | None = None
    sampling_rate: str | None = None
    noise_multiplier: str | None = None
    epsilon: str | None = None
    noise: Literal["gaussian", "discrete"] | None = None
    records: int | None = None
    batch: int | None = None
    group: int | None = None  # left out where there is none


_GROUPS: Final[Mapping[Sampling, _GroupKind]] = MappingProxyType(
    {
        Sampling.WITHOUT_REPLACEMENT: "group-without-replacement",
        Sampling.WITH_REPLACEMENT: "group-with-replacement",
        Sampling.POISSON: "group-poisson",
    }
)


@dataclass(frozen=True, slots=True)
class LedgerRecord:
    """The ledger that was priced."""

    __pydantic_config__: ClassVar[dict[str, object]] = _AS_WRITTEN

    neighbours: Literal["replace-one", "add-or-remove", "zero-out"]
    steps: tuple[StepRecord, ...]
    realisable: tuple[StepRecord, ...]
    corrected: tuple[StepRecord, ...]
    notes: tuple[str, ...]
    ordered: Literal[False] | None = None  # left out where the steps were taken in this order


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
    plain: dict[str, object] = json.loads(json.dumps(dataclasses.asdict(record)), object_hook=_without_defaults)
    return plain


def _without_defaults(entry: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in entry.items() if value is not None or name not in {"group", "ordered"}}


def ledger_record(ledger: Ledger) -> LedgerRecord:
    """Write a ledger down exactly."""
    return LedgerRecord(
        neighbours=ledger.neighbours.value,
        steps=tuple(map(step_record, ledger.steps)),
        realisable=tuple(map(step_record, ledger.realisable)),
        corrected=tuple(map(step_record, ledger.corrected)),
        notes=ledger.notes,
        ordered=None if ledger.ordered else False,
    )


def read_ledger(record: LedgerRecord) -> Ledger:
    """Read a ledger back; what no mechanism has is refused as anywhere else."""

    def read(steps: tuple[StepRecord, ...]) -> tuple[Step, ...]:
        return tuple(_related(read_step(step), Neighbours(record.neighbours)) for step in steps)

    ledger = Ledger(read(record.steps), read(record.realisable), read(record.corrected), record.notes)
    ledger = dataclasses.replace(ledger, ordered=record.ordered is None)
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
                kind=_GROUPS[step.sampling] if isinstance(step, GroupStep) else "with-replacement-gaussian",
                count=step.count,
                noise_multiplier=exact_string(step.noise_multiplier),
                records=step.records,
                batch=step.batch,
                group=step.group if isinstance(step, GroupStep) else None,
            )
        case ShuffledStep():
            return StepRecord(
                kind="shuffled-gaussian",
                count=step.count,
                sampling_rate=exact_string(step.present),
                noise_multiplier=exact_string(step.noise_multiplier),
                records=step.batches,
                batch=step.taken,
            )
        case PureStep():
            kind: Literal["laplace", "pure"] = "laplace" if isinstance(step, LaplaceStep) else "pure"
            return StepRecord(kind=kind, count=step.count, epsilon=exact_string(step.epsilon))


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
        case "pure" | "laplace":
            kind = LaplaceStep if record.kind == "laplace" else PureStep
            return kind(field("epsilon", record.epsilon), record.count)
    multiplier = field("noise_multiplier", record.noise_multiplier)
    size, batch = record.records or 0, record.batch or 0
    grouped = [sampling for sampling, named in _GROUPS.items() if named == record.kind]
    if grouped or record.kind == "with-replacement-gaussian":
        step = WithReplacementStep(size, batch, multiplier, record.count)
        if grouped:
            step = GroupStep(size, batch, multiplier, record.count, group=record.group or 0, sampling=grouped[0])
        return step
    rate = field("sampling_rate", record.sampling_rate)
    if record.kind == "shuffled-gaussian":
        return ShuffledStep(size, batch, rate, multiplier, record.count)
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


MOST_DIGITS: Final = 1000
MOST_STEPS: Final = 10_000
LONGEST_TEXT: Final = 50_000_000


@functools.cache
def _schema() -> TypeAdapter[Certificate]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - a price needs none of it

    return TypeAdapter(Certificate)


def read_certificate(text: str | bytes) -> Certificate:
    """Parse a certificate as strictly as it is written; an unreadable one is a usage error that says where."""
    if len(text) > LONGEST_TEXT:
        raise InvalidQuantityError(f"not a certificate: longer than {LONGEST_TEXT} characters")
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidQuantityError(f"not a certificate: not UTF-8: {error}") from None
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    try:
        document = _schema().validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise InvalidQuantityError(f"not a certificate: {where}: {first['msg']}") from None
    json.loads(text, object_pairs_hook=_require_each_once)
    _require_as_written(document)
    return document


def _require_each_once(pairs: list[tuple[str, object]]) -> None:
    """Refuse a key that stands twice: another reader may take the other value."""
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidQuantityError(f"not a certificate: the key {twice[:60]!r} stands twice")


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
    if max(map(len, (book.steps, book.realisable, book.corrected, document.mechanisms))) > MOST_STEPS:
        raise InvalidQuantityError(f"not a certificate: more than {MOST_STEPS} steps")
    for mechanism in document.mechanisms:
        read_mechanism(mechanism)
    for step in (*book.steps, *book.realisable, *book.corrected):
        if step.count > MOST_COUNT or step_record(read_step(step)) != step:
            raise InvalidQuantityError(f"not a certificate: this step is not as it is written: {step}")


def _require_end(name: str, text: str, digits: int) -> None:
    _require_spelling(name, text, decimal_string(exact(name, text), digits, "down"))


def _require_spelling(name: str, text: str, expected: str) -> None:
    if text != expected:
        raise InvalidQuantityError(f"not a certificate: {name}: expected {expected[:60]!r}, got {text[:60]!r}")
