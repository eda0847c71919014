"""The gate: recompute epsilon, ask questions at two sizes, play games; within one budget of time and false alarms.

1. price: a claim below what a realisable pair attains is refuted before anything is run.
2. small: does the implementation do what the proof assumes? Questions at a few records, mostly exact.
3. claimed: the same questions at the claimed size, without a seed, on data that look like a test and that do not.
4. games: does it leak more than the claimed curve allows, and what would have been seen?

What a claim rests on and no check could look at makes it inconclusive (`coverage`). The false-alarm probability is
split over the stages (`options`).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

import numpy as np

from audits.errors import AuditError, ClaimFileError
from audits.games.executors import Target
from audits.games.game import Subject
from audits.games.sequential import AuditResult
from audits.gate.claim_file import ClaimFile, DeclaredTable, Waiver
from audits.gate.coverage import Coverage, coverage_findings
from audits.gate.declared import declared_stage
from audits.gate.games import games_stage
from audits.gate.history import History
from audits.gate.options import GateOptions, GateRun, stage_named
from audits.gate.price import account
from audits.gate.questions import all_runs, questions_stage
from audits.gate.report import GateReport, ObservedNoise, Provenance, provenance_of
from verification.declared.questions import QUESTIONS as DECLARED_QUESTIONS
from verification.judge import finding, not_asked
from verification.outcome import About, Finding, Outcome, Stage, Waived, worst
from verification.plain_text import harmless
from verification.questions.catalogue import QUESTIONS
from verification.questions.question import Size
from verification.wire.faces import Face
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
        if options.wants(About("", mechanism.title, Stage.PRICE)):
            options.say(f"price of {mechanism.title}")
            accounts.append(account(claims.claim, mechanism, claims.gate.budget))
            findings.append(options.reproducible(finding(accounts[-1].judged)))
            options.tell(findings[-1])
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
            findings += coverage_findings(claims, coverage)
        if options.history is not None and not options.only:
            findings.append(_with_history(options.history, provenance, claims, options))
    elif claims.implementation is None and not options.only:
        text = "the claim file names no [implementation]: only the price was checked"
        findings.append(not_asked(About("implementation", stage=Stage.COVERAGE), Outcome.INCONCLUSIVE, text))
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
        asked=options.asked,
    )


def _with_history(path: Path, provenance: Provenance, claims: ClaimFile, options: GateOptions) -> Finding:
    """Add this gate's evidence to that of the nights before."""
    history = History.of(path, provenance).with_night(options.night)
    history.append(provenance)
    return history.finding(float(claims.gate.false_alarm))


def _declared_gate(claims: ClaimFile, table: DeclaredTable, options: GateOptions) -> GateReport:
    """Judge an algorithm by what its adapter declares."""
    began = time.monotonic()
    provenance = provenance_of(claims, options.source)
    if claims.implementation is not None:
        target = Target(tuple(claims.implementation.command), limits_of(claims))
        provenance = provenance.described_by(target, Face.DECLARED)
    findings, coverage = declared_stage(claims, table, limits_of(claims), options)
    findings = [_strictly(f) for f in findings] if claims.gate.strict else findings
    findings = [_shown(f) for f in waived(findings, claims.waiver, options)]
    outcome, seconds = _concluded(findings, options), time.monotonic() - began
    partial = bool(options.only)
    return GateReport(
        claims,
        tuple(findings),
        (),
        (),
        None,
        options.seed,
        seconds,
        outcome,
        coverage,
        provenance,
        partial=partial,
        asked=options.asked,
    )


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
    games, audits, seen, played = games_stage(run)
    quiet, rare = all_runs(run)
    return [*findings, *games, *quiet], coverage.joined(played).joined(Coverage(rare=rare)), audits, seen


def _concluded(findings: Sequence[Finding], options: GateOptions) -> Outcome:
    """The worst that is not waived; a part of a gate never says that a claim stands."""
    outcome = worst([f.outcome for f in findings if f.waiver is None])
    if options.only and outcome in (Outcome.STANDS, Outcome.DEVIATES):
        return Outcome.INCONCLUSIVE
    return outcome


def decided(findings: Sequence[Finding], waivers: Sequence[Waiver], options: GateOptions) -> bool:
    """Whether something is already refuted, or broken, that no waiver covers: then the rest would change nothing."""
    return any(
        f.outcome in (Outcome.REFUTED, Outcome.ADAPTER_FAILED, Outcome.FAULT) and _waiver(f, waivers, options) is None
        for f in findings
    )


def waived(findings: list[Finding], waivers: Sequence[Waiver], options: GateOptions) -> list[Finding]:
    """Attach each waiver to the findings that it covers; refuses one that covers nothing there could be."""
    if not waivers:
        return findings
    names = {finding.name for finding in findings}
    questions = {q.name for q in QUESTIONS}
    for waiver in waivers:
        known = waiver.finding.question in questions or str(waiver.finding) in names
        if not known and not decided(findings, [], options):
            raise ClaimFileError(
                f"waiver.finding: nothing is called {str(waiver.finding)!r}; findings are {', '.join(sorted(names))}"
            )
    return [_with_waiver(f, _waiver(f, waivers, options)) for f in findings]


def _waiver(finding: Finding, waivers: Sequence[Waiver], options: GateOptions) -> Waiver | None:
    """The waiver that covers a finding: only what was seen can be tolerated, never a fault or what was not finished."""
    if finding.outcome not in (Outcome.REFUTED, Outcome.DEVIATES):
        return None
    return next((w for w in waivers if w.covers(finding) and w.holds(options.today)), None)


def _with_waiver(finding: Finding, waiver: Waiver | None) -> Finding:
    if waiver is None:
        return finding
    return dataclasses.replace(finding, waiver=Waived(waiver.reason, waiver.expires))


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
    known = {
        *stages,
        *(q.name for q in QUESTIONS),
        *(q.name for q in DECLARED_QUESTIONS),
        *(m.title for m in claims.mechanism),
    }
    for word in only:
        if word not in known and stage_named(word) is None:
            parts = ", ".join(sorted(stages))
            raise AuditError(
                f"--only: {word!r} names no finding: say question/mechanism/stage, one of the stages {parts}, or a "
                "question by its name"
            )
    if claims.implementation is None and only and all(stage_named(word) is not Stage.PRICE for word in only):
        raise ClaimFileError("the claim file names no [implementation], so there is nothing to ask")
