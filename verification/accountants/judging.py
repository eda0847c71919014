r"""Ask an accountant over the wire and judge every answer by our enclosure.

One process, one JSON object a line (docs/reference/accountants.md). A process that dies or does not answer is counted,
started again and asked the next question; after `MOST_DEATHS` in a row it is given up.

`upper` holds for every data set, so an answer from it on is valid; `lower` is attained by a concrete pair of
neighbouring data sets, so an answer below it is wrong. The pair of both sampled schemes is (1-q) N(0, nu^2) + q N(1,
nu^2) against N(0, nu^2), in units of the sensitivity: with batches of fixed size and one record replaced it is attained
where all other records are equal, with Poisson batches and one record added or removed where they are zero. The
dominating profile of the replaced record dominates both orders of that pair, so its composition bounds either scheme;
Poisson batches are bounded by the pair itself, in both orders.
"""

from __future__ import annotations

import enum
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from accountant.certificates.mpmath_route import gaussian_delta as second_gaussian_delta
from accountant.certificates.mpmath_route import log_moment as second_log_moment
from accountant.certificates.profile_check import require_profile_lower
from accountant.errors import AccountantError, CertificateError
from accountant.mechanisms.quantities import failure_probability
from accountant.mechanisms.steps import PoissonGaussianStep, SubsampledGaussianStep
from accountant.mechanisms.words import Sampling
from accountant.numbers import Bound, arb_from_fraction, arb_precision, exact, fraction_of
from accountant.pld.composition import SubsampledGaussian, compose
from accountant.pld.ledger_steps import composed_epsilon_upper, known_delta_upper
from accountant.profiles.gaussian import gaussian_delta, gaussian_epsilon
from accountant.renyi.integrals import poisson_moment, tight_moment
from accountant.renyi.moments import Subsampling
from verification.accountants.questions import AccountantQuestion, Quantity
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


DIGITS = 20
_BITS = 160
_TOLERANCE = Fraction(1, 10**4)
_CONFIRMED_TO = Fraction(1, 10**9)


def enclosure(question: AccountantQuestion) -> Bound:
    """Return [lower, upper] of the true answer; raise `CannotCertifyError` where we have none."""
    nu = question.noise_multiplier
    if question.sampling is Sampling.ALL or question.rate == 1:
        mu_squared = question.steps / nu**2
        if question.quantity is Quantity.RENYI:
            value = question.at * mu_squared / 2
            return Bound.from_fractions(value, value)
        exact = gaussian_epsilon if question.quantity is Quantity.EPSILON else gaussian_delta
        return exact(mu_squared, question.at, digits=DIGITS)
    if question.quantity is Quantity.RENYI:
        return _renyi(question)
    composed = compose([SubsampledGaussian(question.rate, nu, question.steps)])
    ends = composed.delta(question.at) if question.quantity is Quantity.DELTA else composed.epsilon(question.at)
    if question.sampling is not Sampling.POISSON:
        return ends
    step = (PoissonGaussianStep(question.rate, nu, question.steps),)  # the pair itself, in both orders: tighter
    if question.quantity is Quantity.DELTA:
        upper = known_delta_upper(step, question.at)
    else:
        upper = composed_epsilon_upper(step, question.at, _TOLERANCE)
    upper = max(min(upper, fraction_of(ends.upper)), fraction_of(ends.lower))
    return Bound.from_fractions(fraction_of(ends.lower), upper)


def _renyi(question: AccountantQuestion) -> Bound:
    """Return the divergence of the attained pair and, for batches of fixed size, that of the dominating one."""
    q, nu, alpha = question.rate, question.noise_multiplier, question.at
    with arb_precision(_BITS):
        order = arb_from_fraction(alpha - 1)

        def of(moment: arb) -> Bound:
            return Bound.from_arb(question.steps * moment.log1p() / order)

        attained = of(poisson_moment(q, nu, alpha, _BITS))
        if question.sampling is Sampling.POISSON:
            return attained  # Mironov, Talwar and Zhang 2019, Theorem 5: this order of the pair is the larger
        dominating = of(tight_moment(q, nu, alpha, _BITS))
    return Bound(attained.lower, max(dominating.upper, attained.upper))


def confirmed(question: AccountantQuestion, lower: Fraction) -> str:
    """Confirm by a route that shares nothing with the first that `lower` is attained; return which, or raise."""
    nu, digits = question.noise_multiplier, 30
    below = lower * (1 - _CONFIRMED_TO)
    if question.quantity is Quantity.RENYI:
        return _confirmed_renyi(question, below)
    epsilon, delta = (below, question.at) if question.quantity is Quantity.EPSILON else (question.at, below)
    if question.sampling is Sampling.ALL or question.rate == 1:
        if fraction_of(second_gaussian_delta(question.steps / nu**2, epsilon, digits)) < delta:
            raise CertificateError(f"mpmath does not confirm the lower end of {question.id}")
        return "the Gaussian profile in mpmath"
    step = SubsampledGaussianStep(question.rate, nu, question.steps)
    return require_profile_lower((step,), delta, epsilon).how


def _confirmed_renyi(question: AccountantQuestion, below: Fraction) -> str:
    nu, alpha = question.noise_multiplier, question.at
    if question.sampling is Sampling.ALL or question.rate == 1:
        value = question.at * question.steps / nu**2 / 2
    else:
        step = PoissonGaussianStep(question.rate, nu, question.steps)
        moment = fraction_of(second_log_moment(step, Subsampling.LEMMA2, alpha, DIGITS))
        value = question.steps * moment / (alpha - 1)
    if value < below:
        raise CertificateError(f"mpmath does not confirm the lower end of {question.id}")
    return "the divergence of the attained pair in mpmath"
