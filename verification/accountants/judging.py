r"""Ask an accountant over the wire and judge every answer by our enclosure.

One process, one JSON object a line (docs/reference/accountants.md). A process that dies or does not answer is counted,
started again and asked the next question; after `MOST_DEATHS` in a row it is given up.
"""

from __future__ import annotations

import enum
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from accountant.errors import AccountantError
from accountant.mechanisms.quantities import failure_probability
from accountant.numbers import Bound, exact, fraction_of
from verification.accountants.questions import AccountantQuestion, Quantity
from verification.accountants.truth import confirmed, enclosure
from verification.outcome import Outcome, worst
from verification.wire.faults import AdapterFault, ProtocolStep
from verification.wire.process import AdapterProcess, Limits

PROTOCOL = 2
MOST_DEATHS = 5
ROUNDING = Fraction(1, 10**9)
"""An answer short of an end by less than this part of it is the end, rounded."""
LEAST_FLOAT = Fraction(1, 2**1074)
"""The least positive binary64: an answer short of an end by no more than this is the end, underflowed."""


class AnswerVerdict(enum.StrEnum):
    """What an answer is worth."""

    UNSOUND = "unsound"  # below what a concrete pair attains: refuted
    BETWEEN = "between the ends"
    VALID = "valid"
    REFUSED = "refused"
    CRASHED = "crashed"  # an error, no number, no answer
    NOT_JUDGED = "not judged"  # we have no enclosure


_OUTCOMES = {
    AnswerVerdict.UNSOUND: Outcome.REFUTED,
    AnswerVerdict.BETWEEN: Outcome.STANDS,
    AnswerVerdict.VALID: Outcome.STANDS,
    AnswerVerdict.REFUSED: Outcome.SKIPPED,
    AnswerVerdict.CRASHED: Outcome.ADAPTER_FAILED,
    AnswerVerdict.NOT_JUDGED: Outcome.SKIPPED,
}


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer: the number, our ends, how loose it is (answer/upper - 1) and how a refutation was confirmed."""

    question: AccountantQuestion
    verdict: AnswerVerdict
    answer: Fraction | None
    ends: Bound | None
    detail: str
    seconds: float

    @property
    def loose(self) -> Fraction | None:
        """How far above our upper end a valid answer lies, relative to it; None where there is no such ratio."""
        if self.verdict is not AnswerVerdict.VALID or self.answer is None or self.ends is None:
            return None
        upper = fraction_of(self.ends.upper)
        return max(self.answer / upper - 1, Fraction(0)) if upper > 0 else None


@dataclass(frozen=True, slots=True)
class AccountantReport:
    """Who answered, and every answer judged."""

    name: str
    judged: tuple[Judged, ...]

    def count(self, verdict: AnswerVerdict) -> int:
        """Return how many answers have this verdict."""
        return sum(each.verdict is verdict for each in self.judged)

    @property
    def outcome(self) -> Outcome:
        """Refuted by one unsound answer; what is refused or crashed is never a pass."""
        return worst(_OUTCOMES[each.verdict] for each in self.judged)


class AskedAccountant:
    """The process behind the wire, started when it is needed and again after it died."""

    def __init__(self, command: Sequence[str], limits: Limits) -> None:
        self.command, self.limits = tuple(command), limits
        self._process: AdapterProcess | None = None
        self.name = "unknown"
        self.deaths = 0

    def ask(self, request: dict[str, object]) -> dict[str, object]:
        """Return the answer; raise `AdapterFault` where there is none."""
        try:
            if self._process is None:
                self._process = AdapterProcess(self.command, self.limits)
                described = _sent(self._process, {"ask": "describe", "protocol": PROTOCOL}, ProtocolStep.START)
                self.name = f"{described.get('name', 'unknown')} {described.get('version', '')}".strip()
            answer = _sent(self._process, request, ProtocolStep.TRIALS)
        except (AdapterFault, ValueError):
            self.close()
            self.deaths += 1
            raise
        self.deaths = 0
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.__exit__(None, None, None)
            self._process = None


def _sent(process: AdapterProcess, request: dict[str, object], step: ProtocolStep) -> dict[str, object]:
    answer = json.loads(process.ask(json.dumps(request).encode() + b"\n", step), parse_float=str, parse_int=str)
    if not isinstance(answer, dict):
        raise ValueError(f"an answer is a JSON object, got {answer!r:.100}")  # noqa: TRY004
    return answer


def request_of(question: AccountantQuestion) -> dict[str, object]:
    """Return a question as it goes over the wire; reals are decimal strings or ratios."""
    given = {Quantity.EPSILON: "delta", Quantity.DELTA: "epsilon", Quantity.RENYI: "alpha"}[question.quantity]
    return {
        "ask": str(question.quantity),
        "id": question.id,
        "sampling": str(question.sampling),
        "neighbours": question.neighbours.value,
        "records": question.records,
        "batch": question.batch,
        "noise": str(question.noise),
        "steps": question.steps,
        given: str(question.at),
    }


def judge_all(
    command: Sequence[str],
    questions: Sequence[AccountantQuestion],
    limits: Limits,
    progress: Callable[[Judged], None] | None = None,
) -> AccountantReport:
    """Ask every question and judge every answer."""
    accountant, judged = AskedAccountant(command, limits), list[Judged]()
    try:
        for question in questions:
            if accountant.deaths >= MOST_DEATHS:
                judged.append(
                    Judged(question, AnswerVerdict.CRASHED, None, None, "given up after repeated failures", 0.0)
                )
                continue
            judged.append(_one(accountant, question))
            if progress is not None:
                progress(judged[-1])
    finally:
        accountant.close()
    return AccountantReport(accountant.name, tuple(judged))


def _one(accountant: AskedAccountant, question: AccountantQuestion) -> Judged:
    started = time.monotonic()
    try:
        answer = accountant.ask(request_of(question))
    except (AdapterFault, ValueError) as fault:
        lines = str(fault).splitlines() or [""]
        return Judged(question, AnswerVerdict.CRASHED, None, None, lines[0], time.monotonic() - started)
    seconds = time.monotonic() - started
    if "refused" in answer:
        return Judged(question, AnswerVerdict.REFUSED, None, None, str(answer["refused"])[:200], seconds)
    if "value" not in answer:
        reason = str(answer.get("error", "neither value nor refused nor error"))[:200]
        return Judged(question, AnswerVerdict.CRASHED, None, None, reason, seconds)
    return judge(question, answer["value"], seconds)


def judge(question: AccountantQuestion, value: object, seconds: float = 0.0) -> Judged:
    """Judge one answer; what is no number is no answer."""
    text = str(value).strip().lower()
    if text in {"inf", "+inf", "infinity"}:
        return Judged(question, AnswerVerdict.VALID, None, None, "infinite: says nothing", seconds)
    try:
        number = exact("value", text)
    except AccountantError:
        return Judged(question, AnswerVerdict.CRASHED, None, None, f"no number: {text[:60]!r}", seconds)
    if number < 0:
        return Judged(
            question, AnswerVerdict.CRASHED, None, None, f"a negative {question.quantity}: {text[:60]}", seconds
        )
    try:
        ends = _ends(question)
    except (AccountantError, OverflowError) as reason:
        return Judged(question, AnswerVerdict.NOT_JUDGED, number, None, f"we have no enclosure: {reason}", seconds)
    lower, upper = fraction_of(ends.lower), fraction_of(ends.upper)
    if number + LEAST_FLOAT < lower * (1 - ROUNDING):
        return _unsound(question, number, ends, seconds)
    verdict = AnswerVerdict.VALID if number >= upper * (1 - ROUNDING) else AnswerVerdict.BETWEEN
    return Judged(question, verdict, number, ends, "", seconds)


def _ends(question: AccountantQuestion) -> Bound:
    if question.quantity is Quantity.EPSILON:
        failure_probability(question.at)
    return enclosure(question)


def _unsound(question: AccountantQuestion, number: Fraction, ends: Bound, seconds: float) -> Judged:
    """Refute only what a second route confirms."""
    try:
        how = confirmed(question, fraction_of(ends.lower))
    except AccountantError as reason:
        return Judged(question, AnswerVerdict.NOT_JUDGED, number, ends, f"not confirmed: {reason}", seconds)
    return Judged(question, AnswerVerdict.UNSOUND, number, ends, f"confirmed by {how}", seconds)
