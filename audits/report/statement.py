"""What NIST SP 800-226 asks of anybody who makes such a claim, line by line: stated where, backed by what.

Guidelines for Evaluating Differential Privacy Guarantees (NIST, March 2025) ask for the unit of privacy and the
neighbouring relation, the parameters, the mechanism, what is composed, the trust model, what was tuned on the data,
and the hazards of the implementation. What no check can find out is taken from [statement] of the claim file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from accountant import decimal_string
from accountant.mechanisms.words import Neighbours
from audits.gate.claim_file import ClaimFile
from audits.gate.report import GateReport
from verification.outcome import About, Finding, Outcome, Stage
from verification.statistics.test import Aspect, Cause
from verification.wire.messages import StartResult

NOT_STATED = "not stated"
NOT_CHECKED = "not checked"
BEYOND = "taken as stated: it cannot be checked"
ADD = "nothing: say it in [statement] of the claim file"
RELATIONS = {
    Neighbours.REPLACE_ONE: "one record is replaced by another, the number of records is public",
    Neighbours.ADD_OR_REMOVE: "one record is added or removed",
    Neighbours.ZERO_OUT: "one record contributes nothing, the number of records is public",
}
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Hazard:
    """A hazard of an implementation: the questions that look for it, and the causes under which they report it."""

    name: str
    questions: tuple[str, ...]
    causes: tuple[Cause, ...] = ()  # any, where none is named

    def looked_for(self, about: About) -> bool:
        """Whether this question looks for it."""
        return about.question in self.questions

    def shown_by(self, finding: Finding) -> bool:
        """Whether a finding, if it does not stand, is about it."""
        return self.looked_for(finding.about) and (not self.causes or finding.cause in self.causes)


_AGAIN = (Cause.NOISE_REUSED, Cause.NOISE_DEPENDENT)
HAZARDS = (
    Hazard("noise on a coarse grid of floating-point numbers", ("silent",), (Cause.NOISE_GRID,)),
    Hazard("draws that are used again, a fixed seed", ("silent", "processes", "seeds-differ"), _AGAIN),
    Hazard("NaN and infinity", ("refuses-not-finite",)),
    Hazard("overflow and records of extreme size", ("clips-each-record", "normalises-each-record")),
    Hazard("released values that never got noise", ("coupled-releases", "post-processing")),
)
NEVER = "timing and other side channels, and the quality of the random numbers, are not checked"


@dataclass(frozen=True, slots=True)
class StatementLine:
    """One line: what is asked, what is stated, and what backs it."""

    asked: str
    stated: str
    backing: str

    @property
    def missing(self) -> bool:
        """Whether nothing is stated."""
        return self.stated == NOT_STATED

    def document(self) -> dict[str, str | None]:
        """The line as JSON; null where nothing is stated."""
        return {"asked": self.asked, "stated": None if self.missing else self.stated, "backing": self.backing}


def claimed(claims: ClaimFile) -> dict[str, str]:
    """Epsilon and delta as decimals, and the relation."""
    claim = claims.claim
    delta = decimal_string(claim.delta, _DIGITS, "up")
    return {"epsilon": claim.epsilon_text(_DIGITS), "delta": delta, "neighbours": str(claim.neighbours)}


def statement(report: GateReport) -> list[StatementLine]:
    """Every line, in the order of the guidelines."""
    claim, own = report.claims.claim, report.claims.statement
    epsilon, delta, neighbours = claimed(report.claims).values()
    k = report.claims.group_size
    relation = f"{neighbours}: {RELATIONS[claim.neighbours]}" + f"; up to {k} records at once" * (k > 1)
    return [
        _own("unit of privacy", own.unit),
        StatementLine("neighbouring relation", relation, _looked(report, Aspect.RELEASED)),
        StatementLine("parameters", f"epsilon = {epsilon}, delta = {delta}", _findings(report, Stage.PRICE)),
        StatementLine("mechanism", _joined(_mechanisms(report)), _looked(report, Aspect.NOISE)),
        StatementLine("composition within a run", _joined(_iterations(report)), _findings(report, Stage.PRICE)),
        _own("composition with other releases", own.composition),
        _own("trust model", own.trust),
        StatementLine("what the adversary sees", _joined(_released(report)), _seen(report)),
        _own("tuned on the data", own.tuned),
        StatementLine("hazards of the implementation", own.hazards or NOT_STATED, _hazards(report)),
    ]


def _own(asked: str, stated: str | None) -> StatementLine:
    """A line that only the claimant can fill in."""
    return StatementLine(asked, NOT_STATED, ADD) if stated is None else StatementLine(asked, stated, BEYOND)


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(parts) or NOT_STATED


def _mechanisms(report: GateReport) -> Iterable[str]:
    if report.claims.declared is not None:
        yield f"{report.claims.declared.algorithm}, as its adapter declares it"
    for mechanism in report.claims.mechanism:
        noise = (f"{name} = {value}" for name in ("sigma", "noise_multiplier") if (value := _decimal(mechanism, name)))
        bounds = (f"{name} = {value}" for name in ("clip", "normalise") if (value := _decimal(mechanism, name)))
        yield ", ".join([mechanism.title, *noise, *bounds])


def _decimal(mechanism: object, name: str) -> str:
    value = getattr(mechanism, name, None)
    return "" if value is None else decimal_string(value, _DIGITS, "down")


def _iterations(report: GateReport) -> Iterable[str]:
    if report.claims.declared is not None:
        yield f"{report.claims.declared.algorithm}: all releases of one run that its adapter declares"
    for mechanism in report.claims.mechanism:
        count = getattr(mechanism, "iterations", None)
        yield f"{mechanism.title}: " + (f"{count} iterations" if count is not None else NOT_STATED)


def _released(report: GateReport) -> Iterable[str]:
    described = report.provenance.implementation
    if report.claims.declared is not None:
        yield f"{report.claims.declared.algorithm}: every release that its adapter declares"
    for mechanism in report.claims.mechanism:
        shown = str(getattr(mechanism, "released", NOT_STATED))
        released = described.released if isinstance(described, StartResult) else {}
        names = [v for a, v in released.items() if str(a) == mechanism.algorithm]
        values = f" ({', '.join(names[0])})" if names else ""
        yield f"{mechanism.title}: {shown}{values}"


def _findings(report: GateReport, stage: Stage) -> str:
    # a declared algorithm has one stage for everything, and the price is one of its questions
    declared = stage is Stage.PRICE and report.claims.declared is not None
    wanted = [f for f in report.findings if f.stage is stage or (declared and f.cause is Cause.PRICE)]
    wanted = wanted or ([f for f in report.findings if f.stage is Stage.DECLARED][:1] if declared else [])
    found = [f"{f.name} ({f.outcome})" for f in wanted]
    return "; ".join(found) or NOT_CHECKED


def _seen(report: GateReport) -> str:
    return _looked(report, Aspect.RELEASED) if report.claims.declared is not None else _findings(report, Stage.GAMES)


def _looked(report: GateReport, aspect: Aspect) -> str:
    """What looked at an aspect, and whether that stands."""
    looks = list(dict.fromkeys(str(item.about) for item in report.coverage.covered if aspect in item.aspects))
    wrong = [f"{f.name} ({f.outcome})" for f in report.findings if f.name in looks and f.outcome is not Outcome.STANDS]
    if not looks:
        return NOT_CHECKED
    if wrong:
        return "; ".join(wrong)
    return f"{len(looks)} check{'s' if len(looks) > 1 else ''}: {', '.join(looks)}"


def _hazards(report: GateReport) -> str:
    asked = [f for f in report.findings if f.cause is not None]
    lines = []
    for hazard in HAZARDS:
        wrong = [f"{f.name} ({f.outcome})" for f in asked if f.outcome is not Outcome.STANDS and hazard.shown_by(f)]
        seen = [str(item.about) for item in report.coverage.covered if hazard.looked_for(item.about)]
        lines.append(f"{hazard.name}: {', '.join(dict.fromkeys(wrong or seen)) or 'not checked'}")
    return "; ".join([*lines, NEVER])
