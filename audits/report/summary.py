"""The result for a reader who does not know the field: what was promised, whether it holds, what to do."""

from __future__ import annotations

import math

from accountant import decimal_string
from accountant.mechanisms.words import Neighbours
from audits.gate.causes import grouped
from audits.gate.findings import GateReport
from audits.gate.price import REALLY
from verification.outcome import Outcome
from verification.plain_text import harmless

_DIGITS = 12


def summary(report: GateReport) -> str:
    """One paragraph of plain sentences."""
    return " ".join([_promised(report), _found(report), _advice(report)])


def _who(report: GateReport) -> str:
    described = report.provenance.implementation
    return "The tested program" if described is None else f"The program {described.name} {described.version}"


def _promised(report: GateReport) -> str:
    claim = report.claims.claim
    if claim.nothing:
        return f"{_who(report)} promises no privacy."
    change = (
        "replacing one record by another"
        if claim.neighbours is Neighbours.REPLACE_ONE
        else "adding or removing one record"
    )
    exception = (
        f"apart from a probability of at most {decimal_string(claim.delta, _DIGITS, 'up')} (delta)"
        if claim.delta
        else "without exception (delta = 0)"
    )
    factor = math.exp(min(float(claim.epsilon), 700.0))
    return (
        f"{_who(report)} promises a limit on what can be learned about any single record of its data from what it "
        f"releases: {change} changes the probability of any outcome by a factor of at most "
        f"{factor:.3g} (epsilon = {float(claim.epsilon):g}), {exception}."
    )


def _found(report: GateReport) -> str:
    outcome = report.outcome
    if outcome is Outcome.REFUTED:
        causes = list(dict.fromkeys(g.cause for g in grouped(report.findings) if g.findings[0].outcome is outcome))
        why = f" What was found: {harmless('; '.join(causes))}." if causes else ""
        return f"This promise is not kept: it was refuted, with evidence that is shown below.{why}{_costs(report)}"
    if report.partial:
        return "Only a part of the checks was asked for, so nothing can be said about the promise as a whole."
    return {
        Outcome.STANDS: "The checks listed below tried to refute this promise, and none of them did. "
        + _would_have(report),
        Outcome.DEVIATES: "What is run differs from what is stated, but nothing showed that it is less private. "
        + _would_have(report),
        Outcome.INCONCLUSIVE: "Nothing refuted this promise, but not enough could be checked to let it stand.",
        Outcome.ADAPTER_FAILED: "The program stopped or answered wrongly, so nothing can be said about the promise.",
        Outcome.FAULT: "The checks themselves failed, so nothing can be said about the promise.",
    }[outcome]


def _costs(report: GateReport) -> str:
    """What the noise that was measured costs, where a finding says it."""
    lines = (line for f in report.findings if f.outcome is Outcome.REFUTED for line in f.detail.splitlines())
    costs = next((line for line in lines if line.startswith(REALLY)), "")
    return f" Measured: {harmless(costs)}." if costs else ""


def _would_have(report: GateReport) -> str:
    powers = [f.power for f in report.findings if f.power is not None]
    if not powers:
        return "It is a result of tests, not a proof."
    widest = max(powers, key=lambda power: power.divisor)
    return (
        f"It is a result of tests, not a proof: noise too small by a factor of {widest.divisor:.3g} would have been "
        f"detected with a probability of at least {widest.at_least:.2f} in each of the games that were played."
    )


def _advice(report: GateReport) -> str:
    return {
        Outcome.REFUTED: "Do not rely on the promise, and do not release anything more, until the cause is mended.",
        Outcome.STANDS: "",
        Outcome.DEVIATES: "Change the statement or the program, so that both say the same.",
        Outcome.INCONCLUSIVE: "Do not take this page for a pass; the findings say what is missing.",
        Outcome.ADAPTER_FAILED: "Mend the program or its adapter, and check again.",
        Outcome.FAULT: "Please report this as a fault of dpadmm.",
    }[report.outcome]
