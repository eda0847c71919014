"""The gate: recompute epsilon, run conformance, audit; in this order of cost, within one budget of time and alarms.

1. `account`: a claim below what a realisable pair attains is refuted before anything is run.
2. `conform`: does the implementation do what the proof assumes?
3. `audit`: does it leak more than the claimed curve allows, and what would have been seen?

The false-alarm probability is split: half to conformance, half evenly over the games.
"""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from audits.account import account
from audits.audit import AuditResult, plan_audit, run_audit
from audits.claimfile import ClaimFile, MechanismTable, Waiver
from audits.errors import AuditError, ClaimFileError, NoPower, NothingToAudit
from audits.executors import Target
from audits.findings import Finding, GateReport, Stage
from audits.games import Threat, curve_of
from audits.observed import Observed, observe
from audits.plans import Planned, Subject, Wording, standard_games
from audits.verdict import Outcome, worst
from verification.adapter.faults import AdapterError
from verification.adapter.parameters import Algorithm, Release
from verification.adapter.process import Limits
from verification.adapter.session import Session
from verification.conformance.check import Check, Mode, Result
from verification.conformance.check import Verdict as CheckVerdict
from verification.conformance.registry import CHECKS
from verification.conformance.runner import Conclusion, Plan, conform
from verification.conformance.runner import Report as ConformanceReport

Say = Callable[[str], None]
_CONFORMANCE_SHARE = 0.5
_CONFORMANCE_TIME = 0.5


@dataclasses.dataclass(frozen=True, slots=True)
class GateOptions:
    """What a run of the gate is told beside the claim file."""

    seed: int
    only: tuple[str, ...] = ()
    today: datetime.date = dataclasses.field(default_factory=lambda: datetime.datetime.now(datetime.UTC).date())
    say: Say = lambda _: None
    reproduce: Callable[[str, int], str] = lambda finding, seed: f"dpadmm gate --seed {seed} --only {finding!r}"

    def wants(self, name: str) -> bool:
        """Whether a finding of this name (or stage) was asked for."""
        return not self.only or any(name == o or name.startswith(f"{o}:") for o in self.only)


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    """What the stages behind the wire share."""

    claims: ClaimFile
    target: Target
    subjects: Sequence[Subject]
    pool: Executor
    options: GateOptions
    deadline: float


def run_gate(claims: ClaimFile, pool: Executor, options: GateOptions) -> GateReport:
    """Run all three stages and return everything that was found; stops after a stage that refutes."""
    began = time.monotonic()
    findings: list[Finding] = []
    audits: list[AuditResult] = []
    accounts = []
    seen: Observed | None = None
    for mechanism in claims.mechanism:
        if options.wants(f"{Stage.ACCOUNT}: {mechanism.title}"):
            options.say(f"account: {mechanism.title}")
            priced = account(claims.claim, mechanism)
            accounts.append(priced)
            findings.append(priced.finding(options))
    if claims.implementation is not None and not _decided(findings, claims.waiver, options):
        target = Target(tuple(claims.implementation.command), Limits(request_seconds=claims.implementation.timeout))
        run = _Run(claims, target, _subjects(claims.mechanism), pool, options, began + claims.gate.budget)
        findings += _conformance(run)
        if not _decided(findings, claims.waiver, options):
            found, audits, seen = _audits(run)
            findings += found
    elif claims.implementation is None and not options.only:
        text = "the claim file names no [implementation]: only the price was checked"
        findings.append(Finding(str(Stage.AUDIT), Stage.AUDIT, Outcome.INCONCLUSIVE, text))
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


def _waived(findings: list[Finding], waivers: Sequence[Waiver], options: GateOptions) -> list[Finding]:
    names = {finding.name for finding in findings}
    known = names | {f"{Stage.CONFORM}: {check.name}" for check in CHECKS}
    for waiver in waivers:
        if waiver.finding not in known and not _decided(findings, [], options):
            raise ClaimFileError(
                f"waiver.finding: nothing is called {waiver.finding!r}; findings are {', '.join(sorted(names))}"
            )
    return [
        dataclasses.replace(f, waiver=_waiver(f, waivers, options)) if f.outcome is not Outcome.STANDS else f
        for f in findings
    ]


def _subjects(mechanisms: Sequence[MechanismTable]) -> list[Subject]:
    subjects: list[Subject] = []
    for mechanism in mechanisms:
        release = None if mechanism.release is None else Release(mechanism.release)
        wording = Wording.PRINTED if mechanism.sensitivity == "printed" else Wording.CORRECTED
        subject = Subject(Algorithm(mechanism.algorithm), release, wording)
        if subject not in subjects:
            subjects.append(subject)
    return subjects


def _conformance(run: _Run) -> list[Finding]:
    options = run.options
    modes = tuple(subject.mode for subject in run.subjects)
    checks = tuple(limited for check in CHECKS if (limited := _limited(check, modes)) is not None)
    checks = tuple(check for check in checks if options.wants(f"{Stage.CONFORM}: {check.name}"))
    if not checks:
        return []
    options.say(f"conform: {len(checks)} checks")
    share = float(run.claims.gate.false_alarm) * _CONFORMANCE_SHARE
    time_left = max(run.deadline - time.monotonic(), 0.0)
    plan = Plan(checks, share, time_left * _CONFORMANCE_TIME, options.seed)
    target = run.target
    report = conform(target.command, plan, target.limits, lambda result: options.say(f"conform: {result.check.name}"))
    return _conformance_findings(report, options)


def _limited(check: Check, modes: tuple[Mode, ...]) -> Check | None:
    kept = tuple(mode for mode in check.modes if mode in modes)
    return dataclasses.replace(check, modes=kept) if kept else None


def _conformance_findings(report: ConformanceReport, options: GateOptions) -> list[Finding]:
    findings = [_refuted_check(result, options) for result in report.results if result.verdict is CheckVerdict.REFUTED]
    if report.fault is not None:
        findings.append(_adapter_failed(Stage.CONFORM, report.fault, options))
        return findings
    counts = {v: sum(r.verdict is v for r in report.results) for v in CheckVerdict}
    text = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "nothing was checked"
    outcome = {
        Conclusion.CONFORMS: Outcome.STANDS,
        Conclusion.INCONCLUSIVE: Outcome.INCONCLUSIVE,
        Conclusion.REFUTED: Outcome.STANDS,  # the refuted checks are findings of their own
        Conclusion.ADAPTER_FAILED: Outcome.ADAPTER_FAILED,
    }[report.conclusion]
    if not findings:
        name = str(Stage.CONFORM)
        findings.append(Finding(name, Stage.CONFORM, outcome, text, seconds=report.seconds))
    return findings


def _refuted_check(result: Result, options: GateOptions) -> Finding:
    name = f"{Stage.CONFORM}: {result.check.name}"
    return Finding(
        name,
        Stage.CONFORM,
        Outcome.REFUTED,
        f"{result.detail} ({result.mode}); catches: {result.check.catches}",
        reproduction=options.reproduce(name, options.seed),
        seconds=result.seconds,
    )


def _adapter_failed(stage: Stage, error: AdapterError, options: GateOptions) -> Finding:
    name = f"{stage}: adapter"
    text = str(error)
    return Finding(name, stage, Outcome.ADAPTER_FAILED, text, reproduction=options.reproduce(str(stage), options.seed))


def _audits(run: _Run) -> tuple[list[Finding], list[AuditResult], Observed | None]:
    findings: list[Finding] = []
    results: list[AuditResult] = []
    seen: Observed | None = None
    try:
        planned, findings = _planned(run)
        for stream, (subject, plan) in enumerate(planned):
            name = f"{Stage.AUDIT}: {subject.mode}, {plan.game.name}"
            if not run.options.wants(name):
                continue
            try:
                result = _one_audit(run, subject, plan, stream=stream, games=len(planned))
            except NoPower as error:
                findings.append(Finding(name, Stage.AUDIT, Outcome.INCONCLUSIVE, str(error)))
                continue
            results.append(result)
            findings.append(_audit_finding(name, result, run.options))
            if result.verdict.outcome is Outcome.REFUTED:
                break
        # the noise of several steps cannot be recovered from the last model alone
        games = [result.plan.game for result in results if result.plan.game.threat is not Threat.LAST_MODEL]
        if games:
            seen = observe(run.target, games[0], run.options.seed)
    except AdapterError as error:
        findings.append(_adapter_failed(Stage.AUDIT, error, run.options))
    return findings, results, seen


def _planned(run: _Run) -> tuple[list[tuple[Subject, Planned]], list[Finding]]:
    """Return the games of every subject, and a finding for each subject on which none can be played."""
    planned: list[tuple[Subject, Planned]] = []
    findings: list[Finding] = []
    with Session(run.target.command, run.target.limits) as session:
        for subject in run.subjects:
            try:
                planned += [(subject, plan) for plan in standard_games(session, subject)]
            except NothingToAudit as error:
                name = f"{Stage.AUDIT}: {subject.mode}"
                if run.options.wants(name) or any(o.startswith(name) for o in run.options.only):
                    findings.append(Finding(name, Stage.AUDIT, Outcome.INCONCLUSIVE, str(error)))
    return planned, findings


def _one_audit(run: _Run, subject: Subject, planned: Planned, *, stream: int, games: int) -> AuditResult:
    """Audit one game with its share of the false alarms and of the time that is left."""
    game, options, gate = planned.game, run.options, run.claims.gate
    curve = curve_of(subject.ledger(game.records, game.parameters))
    alpha = float(gate.false_alarm) * (1.0 - _CONFORMANCE_SHARE) / games
    plan = plan_audit(
        game,
        curve,
        planned.simulate,
        alpha=alpha,
        seed=options.seed,
        stream=stream,
        wanted=gate.power,
        attack=planned.attack,
    )

    def progress(pairs: int, log_wealth: float) -> None:
        options.say(f"audit: {game.name}, {pairs} of {plan.pairs} trial pairs, log-wealth {log_wealth:.2f}")

    now = time.monotonic()
    until = now + max(run.deadline - now, 0.0) / (games - stream)
    return run_audit(plan, run.target, run.pool, deadline=until, progress=progress)


def _audit_finding(name: str, result: AuditResult, options: GateOptions) -> Finding:
    refuted = result.verdict.outcome is Outcome.REFUTED
    claim = result.plan.curve.describe()
    return Finding(
        name,
        Stage.AUDIT,
        result.verdict.outcome,
        f"claim {claim}: {result.verdict.summary}",
        reproduction=options.reproduce(name, options.seed) if refuted else "",
        seconds=result.seconds,
        trials=result.verdict.trials,
        power=result.verdict.power,
    )


def check_only(claims: ClaimFile, only: Sequence[str]) -> None:
    """Refuse a name that no finding could have."""
    stages = {str(stage) for stage in Stage}
    for name in only:
        if name.partition(":")[0] not in stages:
            raise AuditError(f"--only: {name!r} names no stage; stages are {', '.join(sorted(stages))}")
    if claims.implementation is None and only and all(n.partition(":")[0] != Stage.ACCOUNT for n in only):
        raise ClaimFileError("the claim file names no [implementation], so there is nothing to conform or audit")
