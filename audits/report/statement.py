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
from audits.gate.findings import GateReport, Stage
from verification.deployment.sighting import Aspect
from verification.outcome import Outcome
from verification.wire.messages import StartResult

NOT_STATED = "not stated"
NOT_CHECKED = "not checked by anything here"
BEYOND = "taken as stated: no check can find it out"
ADD = "nothing: say it in [statement] of the claim file"
RELATIONS = {
    Neighbours.REPLACE_ONE: "one record is replaced by another, the number of records is public",
    Neighbours.ADD_OR_REMOVE: "one record is added or removed",
}
_DIGITS = 12
HAZARDS = {
    "noise on a coarse grid of floating-point numbers": ("conform: noise-grid",),
    "draws that are used again, a fixed seed": (
        "conform: noise-never-repeats",
        "conform: noise-differs-between-processes",
        "conform: seeds-differ",
    ),
    "NaN and infinity": ("conform: refuses-not-finite",),
    "overflow and records of extreme size": ("conform: clips-each-record", "conform: normalises-each-record"),
    "released values that never got noise": (
        "conform: coupled-releases",
        "conform: post-processing",
        "declared: post-processing",
    ),
}
"""Hazards of an implementation, and the checks that look for each."""
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


def statement(report: GateReport) -> list[StatementLine]:
    """Every line, in the order of the guidelines."""
    claim, own = report.claims.claim, report.claims.statement
    delta = decimal_string(claim.delta, _DIGITS, "up")
    return [
        _own("unit of privacy", own.unit),
        StatementLine(
            "neighbouring relation",
            f"{claim.neighbours}: {RELATIONS[claim.neighbours]}",
            _looked(report, Aspect.RELEASED),
        ),
        StatementLine(
            "parameters", f"epsilon = {claim.epsilon_text(_DIGITS)}, delta = {delta}", _findings(report, Stage.ACCOUNT)
        ),
        StatementLine("mechanism", _joined(_mechanisms(report)), _looked(report, Aspect.NOISE)),
        StatementLine("composition within a run", _joined(_iterations(report)), _findings(report, Stage.ACCOUNT)),
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
        names = (
            []
            if not isinstance(described, StartResult)
            else [v for a, v in described.released.items() if str(a) == mechanism.algorithm]
        )
        values = f" ({', '.join(names[0])})" if names else ""
        yield f"{mechanism.title}: {shown}{values}"


def _findings(report: GateReport, stage: Stage) -> str:
    declared = f"{Stage.DECLARED}: {stage}"  # a declared algorithm has one stage for everything
    found = [f"{f.name} ({f.outcome})" for f in report.findings if f.stage == stage or f.name == declared]
    return "; ".join(found) or NOT_CHECKED


def _seen(report: GateReport) -> str:
    return _looked(report, Aspect.RELEASED) if report.claims.declared is not None else _findings(report, Stage.AUDIT)


def _looked(report: GateReport, aspect: Aspect) -> str:
    """What looked at an aspect, and whether that stands."""
    looks = list(dict.fromkeys(item.what for item in report.coverage.covered if aspect in item.aspects))
    wrong = [f"{f.name} ({f.outcome})" for f in report.findings if f.name in looks and f.outcome is not Outcome.STANDS]
    if not looks:
        return NOT_CHECKED
    if wrong:
        return "; ".join(wrong)
    return f"{len(looks)} check{'s' if len(looks) > 1 else ''}: {', '.join(looks)}"


def _hazards(report: GateReport) -> str:
    covered = {item.what for item in report.coverage.covered}
    outcomes = {f.name: f.outcome for f in report.findings}
    lines = []
    for hazard, checks in HAZARDS.items():
        seen = [check for check in checks if check in covered or check in outcomes]
        wrong = [check for check in seen if outcomes.get(check, Outcome.STANDS) is not Outcome.STANDS]
        words = f"{', '.join(wrong)} ({outcomes[wrong[0]]})" if wrong else (", ".join(seen) or "not checked")
        lines.append(f"{hazard}: {words}")
    return "; ".join([*lines, NEVER])
