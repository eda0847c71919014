"""The gate: recompute epsilon, run conformance, audit; in this order of cost, within one budget of time and alarms.

1. `account`: a claim below what a realisable pair attains is refuted before anything is run.
2. `conform`: does the implementation do what the proof assumes?
3. `audit`: does it leak more than the claimed curve allows, and what would have been seen?

The false-alarm probability is split: half to conformance, half evenly over the games.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from concurrent.futures import Executor

from audits.errors import AuditError, ClaimFileError
from audits.games.subject import Subject
from audits.gate.account_stage import account
from audits.gate.audit_stage import audit_stage
from audits.gate.claim_file import ClaimFile, Waiver
from audits.gate.conform_stage import conform_stage
from audits.gate.findings import GateReport, Stage
from audits.gate.observed import ObservedNoise
from audits.gate.options import GateOptions, GateRun
from audits.trials.executors import Target
from audits.trials.sequential import AuditResult
from verification.conformance.registry import CHECKS
from verification.outcome import Finding, Outcome, Waived, worst
from verification.wire.process import Limits

__all__ = ["GateOptions", "check_only", "run_gate"]


def run_gate(claims: ClaimFile, pool: Executor, options: GateOptions) -> GateReport:
    """Run all three stages and return everything that was found; stops after a stage that refutes."""
    began = time.monotonic()
    findings: list[Finding] = []
    audits: list[AuditResult] = []
    accounts = []
    seen: ObservedNoise | None = None
    for mechanism in claims.mechanism:
        if options.wants(f"{Stage.ACCOUNT}: {mechanism.title}"):
            options.say(f"account: {mechanism.title}")
            priced = account(claims.claim, mechanism)
            accounts.append(priced)
            findings.append(priced.finding(options))
    if claims.implementation is not None and not _decided(findings, claims.waiver, options):
        target = Target(tuple(claims.implementation.command), Limits(request_seconds=claims.implementation.timeout))
        run = GateRun(claims, target, _subjects(claims), pool, options, began + claims.gate.budget)
        findings += conform_stage(run)
        if not _decided(findings, claims.waiver, options):
            found, audits, seen = audit_stage(run)
            findings += found
    elif claims.implementation is None and not options.only:
        text = "the claim file names no [implementation]: only the price was checked"
        findings.append(Finding(str(Stage.AUDIT), Outcome.INCONCLUSIVE, text))
    findings = _waived(findings, claims.waiver, options)
    outcome = worst(f.outcome for f in findings if f.waiver is None)
    return GateReport(
        claims, tuple(findings), tuple(accounts), tuple(audits), seen, options.seed, time.monotonic() - began, outcome
    )


def _decided(findings: Sequence[Finding], waivers: Sequence[Waiver], options: GateOptions) -> bool:
    """Whether something is already refuted, or broken, that no waiver covers: then the rest would change nothing."""
    return any(
        f.outcome in (Outcome.REFUTED, Outcome.ADAPTER_FAILED) and _waiver(f, waivers, options) is None
        for f in findings
    )


def _waiver(finding: Finding, waivers: Sequence[Waiver], options: GateOptions) -> Waiver | None:
    return next((w for w in waivers if w.finding == finding.name and w.holds(options.today)), None)


def _with_waiver(finding: Finding, waiver: Waiver | None) -> Finding:
    waived = None if waiver is None else Waived(waiver.reason, waiver.expires)
    return dataclasses.replace(finding, waiver=waived)


def _waived(findings: list[Finding], waivers: Sequence[Waiver], options: GateOptions) -> list[Finding]:
    names = {finding.name for finding in findings}
    known = names | {f"{Stage.CONFORM}: {check.name}" for check in CHECKS}
    for waiver in waivers:
        if waiver.finding not in known and not _decided(findings, [], options):
            raise ClaimFileError(
                f"waiver.finding: nothing is called {waiver.finding!r}; findings are {', '.join(sorted(names))}"
            )
    return [_with_waiver(f, _waiver(f, waivers, options)) if f.outcome is not Outcome.STANDS else f for f in findings]


def _subjects(claims: ClaimFile) -> list[Subject]:
    return list(dict.fromkeys(Subject.of(mechanism) for mechanism in claims.mechanism))


def check_only(claims: ClaimFile, only: Sequence[str]) -> None:
    """Refuse a name that no finding could have."""
    stages = {str(stage) for stage in Stage}
    for name in only:
        if name.partition(":")[0] not in stages:
            raise AuditError(f"--only: {name!r} names no stage; stages are {', '.join(sorted(stages))}")
    if claims.implementation is None and only and all(n.partition(":")[0] != Stage.ACCOUNT for n in only):
        raise ClaimFileError("the claim file names no [implementation], so there is nothing to conform or audit")
