"""The gate: recompute epsilon, ask questions at two sizes, play games; within one budget of time and false alarms.

1. price: a claim below what a realisable pair attains is refuted before anything is run.
2. small: does the implementation do what the proof assumes? Questions at a few records, mostly exact.
3. claimed: the same questions at the claimed size, without a seed, on data that look like a test and that do not.
4. games: does it leak more than the claimed curve allows, and what would have been seen?

What a claim rests on and nobody could look at makes it inconclusive (`coverage`). The false-alarm probability is split
over the stages (`options`).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from concurrent.futures import Executor

import numpy as np

from accountant import Mechanism
from audits.errors import AuditError, ClaimFileError
from audits.games.subject import Subject
from audits.gate.account_stage import Account, account
from audits.gate.audit_stage import audit_stage
from audits.gate.claim_file import ClaimFile
from audits.gate.coverage import Coverage
from audits.gate.covered import coverage_findings
from audits.gate.declared_stage import declared_stage
from audits.gate.declared_table import DeclaredTable
from audits.gate.findings import GateReport
from audits.gate.observed import ObservedNoise
from audits.gate.options import GateOptions, GateRun
from audits.gate.provenance import provenance_of
from audits.gate.questions_stage import all_runs, questions_stage
from audits.gate.time_limit import TookTooLongError, time_limit
from audits.gate.waivers import decided, waived
from audits.trials.executors import Target
from audits.trials.sequential import AuditResult
from verification.declared.runner import NAMES as DECLARED_QUESTIONS
from verification.outcome import Finding, Outcome, Stage, worst
from verification.plain_text import harmless
from verification.questions.catalogue import QUESTIONS
from verification.questions.question import Size
from verification.wire.declared_session import DeclaredSession
from verification.wire.process import Limits

__all__ = ["GateOptions", "check_only", "run_gate"]


def run_gate(claims: ClaimFile, pool: Executor, options: GateOptions) -> GateReport:
    """Run all stages and return everything that was found; stops after a stage that refutes."""
    if claims.declared is not None:
        return _declared_gate(claims, claims.declared, options)
    began = time.monotonic()
    provenance = provenance_of(claims, options.source)
    findings: list[Finding] = []
    audits: list[AuditResult] = []
    accounts = []
    seen: ObservedNoise | None = None
    coverage = Coverage()
    for mechanism in claims.mechanism:
        if options.wants(f"{mechanism.title}/{Stage.PRICE}"):
            options.say(f"price of {mechanism.title}")
            priced = _account(claims, mechanism)
            accounts.append(priced)
            findings.append(priced.finding(options))
    needed = options.wants_an_adapter and not decided(findings, claims.waiver, options)
    if claims.implementation is not None and needed:
        subjects = list(dict.fromkeys(map(Subject.of, claims.mechanism)))
        target = Target(tuple(claims.implementation.command), limits_of(claims), options.seeded)
        run = GateRun(claims, target, subjects, pool, options, began + claims.gate.budget)
        provenance = provenance.described_by(target)
        # huge but finite answers are answers, whatever overflows on the way to a conclusion about them
        with np.errstate(over="ignore", invalid="ignore"):
            findings, coverage, audits, seen = _behind_the_wire(run, findings)
        if not (options.only or claims.claim.nothing or decided(findings, claims.waiver, options)):
            findings += coverage_findings(run, coverage)
    elif claims.implementation is None and not options.only:
        text = "the claim file names no [implementation]: only the price was checked"
        findings.append(Finding(f"implementation/{Stage.COVERAGE}", Outcome.INCONCLUSIVE, text, stage=Stage.COVERAGE))
    findings = [_strictly(f) for f in findings] if claims.gate.strict else findings
    findings = [_shown(f) for f in waived(findings, claims.waiver, options)]
    return GateReport(
        claims,
        tuple(findings),
        tuple(accounts),
        tuple(audits),
        seen,
        options.seed,
        time.monotonic() - began,
        _concluded(findings, options),
        coverage,
        provenance,
        partial=bool(options.only),
    )


def _declared_gate(claims: ClaimFile, table: DeclaredTable, options: GateOptions) -> GateReport:
    """Judge an algorithm by what its adapter declares."""
    began = time.monotonic()
    provenance = provenance_of(claims, options.source)
    if claims.implementation is not None:
        target = Target(tuple(claims.implementation.command), limits_of(claims))
        provenance = provenance.described_by(target, DeclaredSession)
    findings, coverage = declared_stage(claims, table, limits_of(claims), options)
    findings = [_strictly(f) for f in findings] if claims.gate.strict else findings
    findings = [_shown(f) for f in waived(findings, claims.waiver, options)]
    outcome, seconds = _concluded(findings, options), time.monotonic() - began
    partial = bool(options.only)
    return GateReport(
        claims, tuple(findings), (), (), None, options.seed, seconds, outcome, coverage, provenance, partial=partial
    )


def _account(claims: ClaimFile, mechanism: Mechanism) -> Account:
    """The price, within the whole budget; what takes longer is not concluded."""
    try:
        with time_limit(claims.gate.budget):
            return account(claims.claim, mechanism)
    except TookTooLongError as error:
        return Account(claims.claim, mechanism, None, Outcome.INCONCLUSIVE, f"nothing could be certified: {error}")


def limits_of(claims: ClaimFile) -> Limits:
    """The limits of the claim file, from `start` on."""
    if claims.implementation is None:
        return Limits()
    named = claims.implementation
    return Limits.of(named.timeout, named.memory, named.folder)


def _behind_the_wire(
    run: GateRun, findings: list[Finding]
) -> tuple[list[Finding], Coverage, list[AuditResult], ObservedNoise | None]:
    """The three stages that ask the implementation; a refutation by the first is followed by what its noise costs."""
    waivers, options = run.claims.waiver, run.options
    found, coverage = questions_stage(run, Size.SMALL)
    findings = [*findings, *found]
    if decided(findings, waivers, options):
        if any(f.outcome is Outcome.REFUTED for f in found) and not options.only:
            measured, _ = questions_stage(run, Size.CLAIMED, measure=True)
            findings += [f for f in measured if f.outcome is Outcome.REFUTED]
        return findings, coverage, [], None
    found, covered = questions_stage(run, Size.CLAIMED)
    findings, coverage = [*findings, *found], coverage.joined(covered)
    if decided(findings, waivers, options):
        return findings, coverage, [], None
    games, audits, seen, played = audit_stage(run)
    quiet, rare = all_runs(run)
    return [*findings, *games, *quiet], coverage.joined(played).joined(Coverage(rare=rare)), audits, seen


def _concluded(findings: Sequence[Finding], options: GateOptions) -> Outcome:
    """The worst that is not waived; a part of a gate never says that a claim stands."""
    outcome = worst(f.outcome for f in findings if f.waiver is None)
    if options.only and outcome in (Outcome.STANDS, Outcome.DEVIATES):
        return Outcome.INCONCLUSIVE
    return outcome


def _shown(finding: Finding) -> Finding:
    """Implementations choose some of these words; none of them may steer a terminal."""
    return dataclasses.replace(finding, detail=harmless(finding.detail))


def _strictly(finding: Finding) -> Finding:
    if finding.outcome is not Outcome.DEVIATES:
        return finding
    return dataclasses.replace(finding, outcome=Outcome.REFUTED, detail=f"strict: {finding.detail}")


def check_only(claims: ClaimFile, only: Sequence[str]) -> None:
    """Refuse a name that no finding could have: an id, a stage, a question, or what a mechanism is called."""
    stages = {str(stage) for stage in Stage if stage is not Stage.COVERAGE}
    known = {*stages, *(q.name for q in QUESTIONS), *(m.title for m in claims.mechanism), *DECLARED_QUESTIONS}
    for name in only:
        if name not in known and name.split("/")[-1] not in stages:
            parts = ", ".join(sorted(stages))
            raise AuditError(
                f"--only: {name!r} names no finding: say question/mechanism/stage, one of the stages {parts}, or a "
                "question by its name"
            )
    if claims.implementation is None and only and all(n.split("/")[-1] != Stage.PRICE for n in only):
        raise ClaimFileError("the claim file names no [implementation], so there is nothing to ask")
