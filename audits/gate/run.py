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

import numpy as np

from audits.errors import AuditError, ClaimFileError
from audits.games.executors import Target
from audits.games.game import Subject
from audits.games.sequential import AuditResult
from audits.gate.claim_file import ClaimFile, Waiver
from audits.gate.declared import declared_stage
from audits.gate.games import games_stage
from audits.gate.history import History
from audits.gate.options import GateOptions, GateRun, limits_of, stage_named
from audits.gate.price import Account, account
from audits.gate.questions import all_runs, questions_stage
from audits.gate.report import GateReport, Provenance, provenance_of
from verification.declared.questions import QUESTIONS as DECLARED_QUESTIONS
from verification.judge import Coverage, Result, finding, not_asked, strictly
from verification.outcome import About, Finding, Outcome, Stage, Waived, needed_aspects, worst
from verification.plain_text import harmless
from verification.questions.catalogue import QUESTIONS
from verification.questions.question import Size
from verification.wire.arrays import Floats

__all__ = ["GateOptions", "check_only", "run_gate"]


@dataclasses.dataclass(slots=True, eq=False)
class _Found:
    """What the stages of a gate found, so far."""

    provenance: Provenance
    findings: list[Finding] = dataclasses.field(default_factory=list)
    results: list[Result] = dataclasses.field(default_factory=list)
    coverage: Coverage = dataclasses.field(default_factory=Coverage)
    accounts: list[Account] = dataclasses.field(default_factory=list)
    audits: list[AuditResult] = dataclasses.field(default_factory=list)
    noise: dict[str, list[Floats]] = dataclasses.field(default_factory=dict)


def run_gate(claims: ClaimFile, pool: Executor, options: GateOptions) -> GateReport:
    """Run all stages and return everything that was found; stops after a stage that refutes."""
    began = time.monotonic()
    found = _Found(provenance_of(claims, options.source))
    if claims.declared is not None:
        found.findings, found.coverage = declared_stage(claims, claims.declared, limits_of(claims), options)
    else:
        _stages(claims, pool, options, found)
    if options.described:
        found.provenance = dataclasses.replace(found.provenance, implementation=options.described[0])
    if options.history is not None and not options.only:
        history = History.of(options.history, found.provenance).append(options.night, found.provenance)
        found.findings.append(finding(history.result(float(claims.gate.false_alarm))))
        options.tell(found.findings[-1])
    findings = [strictly(f) for f in found.findings] if claims.gate.strict else found.findings
    findings = [_shown(f) for f in waived(findings, claims.waiver, options)]
    return GateReport(
        claims,
        tuple(findings),
        tuple(found.accounts),
        tuple(found.audits),
        options.seed,
        time.monotonic() - began,
        _concluded(findings, options),
        found.coverage,
        found.provenance,
        partial=bool(options.only),
        asked=options.asked,
        noise=found.noise,
    )


def _stages(claims: ClaimFile, pool: Executor, options: GateOptions, found: _Found) -> None:
    """The price, and the stages behind the wire, of an algorithm of the paper or a baseline."""
    began = time.monotonic()
    for mechanism in claims.mechanism:
        if options.wants(About("", mechanism.title, Stage.PRICE)):
            options.say(f"price of {mechanism.title}")
            found.accounts.append(account(claims.claim, mechanism, claims.gate.budget))
            found.findings.append(options.conclude(finding(found.accounts[-1].judged)))
    needed = options.wants_an_adapter and not decided(found.findings, claims.waiver, options)
    if claims.implementation is not None and needed:
        subjects = list(dict.fromkeys(map(Subject.of, claims.mechanism)))
        target = Target(tuple(claims.implementation.command), limits_of(claims), options.seeded)
        run = GateRun(claims, target, subjects, pool, options, began + claims.gate.budget)
        found.noise = run.vectors
        # huge but finite answers are answers, whatever overflows on the way to a conclusion about them
        with np.errstate(over="ignore", invalid="ignore"):
            rare = _behind_the_wire(run, found)
        found.coverage = Coverage.of(found.results, rare)
        if not (options.only or claims.claim.nothing or decided(found.findings, claims.waiver, options)):
            found.findings += coverage_findings(claims, found.coverage)
    elif claims.implementation is None and not options.only:
        text = "the claim file names no [implementation]: only the price was checked"
        found.findings.append(not_asked(About("implementation", stage=Stage.COVERAGE), Outcome.INCONCLUSIVE, text))


def coverage_findings(claims: ClaimFile, coverage: Coverage) -> list[Finding]:
    """One for each mechanism of which a part was not looked at and is not accepted by name."""
    findings = []
    for mechanism in claims.mechanism:
        batch = getattr(mechanism, "batch", None)
        sampled = batch is not None and batch < getattr(mechanism, "records", batch)
        about = About("aspects", mechanism.title, Stage.COVERAGE, str(Subject.of(mechanism).mode))
        needed = needed_aspects(private=mechanism.private, sampled=sampled)
        findings += coverage.gaps(about, needed, claims.gate.accepts)
    return findings


def _behind_the_wire(run: GateRun, found: _Found) -> str:
    """The three stages that ask the implementation, and how rare failures are at most; what is refuted ends them.

    A refutation by the first is followed by what its noise costs.
    """
    waivers, options = run.claims.waiver, run.options
    asked, results = questions_stage(run, Size.SMALL)
    found.findings, found.results = [*found.findings, *asked], [*found.results, *results]
    if decided(found.findings, waivers, options):
        if any(f.outcome is Outcome.REFUTED for f in asked) and not options.only:
            measured, _ = questions_stage(run, Size.CLAIMED, measure=True)
            found.findings += [f for f in measured if f.outcome is Outcome.REFUTED]
        return ""
    asked, results = questions_stage(run, Size.CLAIMED)
    found.findings, found.results = [*found.findings, *asked], [*found.results, *results]
    if decided(found.findings, waivers, options):
        return ""
    games, found.audits, results = games_stage(run)
    quiet, rare = all_runs(run)
    found.findings, found.results = [*found.findings, *games, *quiet], [*found.results, *results]
    return rare


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


_STAGES = tuple(str(stage) for stage in Stage if stage is not Stage.COVERAGE)


def names_of(claims: ClaimFile | None = None) -> list[str]:
    """What `--only` takes beside ids: stages, questions, and the mechanisms of a claim file."""
    if claims is not None and claims.declared is not None:
        return [str(Stage.DECLARED), *(q.name for q in DECLARED_QUESTIONS)]
    titles = [] if claims is None else [mechanism.title for mechanism in claims.mechanism]
    return [*_STAGES, *(q.name for q in QUESTIONS), *(q.name for q in DECLARED_QUESTIONS), *titles]


def check_only(claims: ClaimFile, only: Sequence[str]) -> None:
    """Refuse a name that no finding could have: an id, a stage, a question, or what a mechanism is called."""
    known = {*names_of(), *names_of(claims)}
    for word in only:
        if word not in known and stage_named(word) is None:
            parts = ", ".join(sorted(_STAGES))
            raise AuditError(
                f"--only: {word!r} names no finding: say question/mechanism/stage, one of the stages {parts}, or a "
                "question by its name"
            )
    if claims.implementation is None and only and all(stage_named(word) is not Stage.PRICE for word in only):
        raise ClaimFileError("the claim file names no [implementation], so there is nothing to ask")
