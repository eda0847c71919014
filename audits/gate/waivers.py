"""Waivers: a named refutation is tolerated until a date; never a fault, nor what could not be finished."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from audits.errors import ClaimFileError
from audits.gate.claim_file import Waiver
from audits.gate.options import GateOptions
from verification.outcome import Finding, Outcome, Waived
from verification.questions.catalogue import QUESTIONS

WAIVABLE = (Outcome.REFUTED, Outcome.DEVIATES)
"""What can be tolerated: something that was seen. What was not looked at is accepted in [gate], by name."""


def decided(findings: Sequence[Finding], waivers: Sequence[Waiver], options: GateOptions) -> bool:
    """Whether something is already refuted, or broken, that no waiver covers: then the rest would change nothing."""
    return any(
        f.outcome in (Outcome.REFUTED, Outcome.ADAPTER_FAILED, Outcome.FAULT) and _waiver(f, waivers, options) is None
        for f in findings
    )


def waived(findings: list[Finding], waivers: Sequence[Waiver], options: GateOptions) -> list[Finding]:
    """Attach each waiver to the findings that it covers; refuses one that covers nothing there could be."""
    names = {finding.name for finding in findings}
    known = names | {q.name for q in QUESTIONS}
    for waiver in waivers:
        if (
            waiver.finding.split("/")[0] not in known
            and waiver.finding not in known
            and not decided(findings, [], options)
        ):
            raise ClaimFileError(
                f"waiver.finding: nothing is called {waiver.finding!r}; findings are {', '.join(sorted(names))}"
            )
    return [_with_waiver(f, _waiver(f, waivers, options)) for f in findings]


def _waiver(finding: Finding, waivers: Sequence[Waiver], options: GateOptions) -> Waiver | None:
    if finding.outcome not in WAIVABLE:
        return None
    return next((w for w in waivers if w.covers(finding.name, finding.subject) and w.holds(options.today)), None)


def _with_waiver(finding: Finding, waiver: Waiver | None) -> Finding:
    if waiver is None:
        return finding
    return dataclasses.replace(finding, waiver=Waived(waiver.reason, waiver.expires))
