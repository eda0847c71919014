"""The games, with their share of the false alarms and what is left of the time."""

from __future__ import annotations

import contextlib
import dataclasses
import time

import numpy as np

from accountant.mechanisms.words import Release, Visibility
from audits.errors import NoPower, NothingClaimed, NothingToAudit
from audits.games.game import curve_of
from audits.games.learned import NAME as LEARNED
from audits.games.learned import SCORES, game_id, judged
from audits.games.own_pair import least_bound, own_pair_game
from audits.games.plans import COPIES, Planned, standard_games
from audits.games.subject import Subject
from audits.gate.coverage import Coverage, Covered, Uncovered
from audits.gate.evidence import of_finding
from audits.gate.examine import LEARNING
from audits.gate.observed import ObservedNoise, observe
from audits.gate.options import GAMES_SHARE, GateOptions, GateRun, adapter_failed
from audits.trials.sequential import AuditResult, plan_audit, run_audit
from verification.judge import Traits
from verification.outcome import Finding, Outcome, Stage
from verification.pictures import scores
from verification.reading.context import Mode
from verification.statistics.run_energies import RunEnergies
from verification.statistics.test import Aspect, Cause
from verification.wire.faults import AdapterError, RefusedRequest
from verification.wire.session import Session
from verification.wire.tape import Tape

# a pair that attains this much of the claim attains it: the rest is what was simulated
_WHOLE = 0.98


def audit_stage(run: GateRun) -> tuple[list[Finding], list[AuditResult], ObservedNoise | None, Coverage]:
    """Return what the games found, their paths, and a look at the noise for the plot; stops at a refutation."""
    findings: list[Finding] = []
    results: list[AuditResult] = []
    seen: ObservedNoise | None = None
    try:
        with Session(run.target.command, run.target.limits) as session:
            planned, findings = _planned(run, session)
            findings += _learned(run, session, len(planned) + len(run.subjects))
        if any(finding.outcome is Outcome.REFUTED for finding in findings):
            return findings, results, seen, _coverage(findings, results)
        for stream, (subject, plan) in enumerate(planned):
            name = game_id(subject.mode, plan.game.name)
            if not run.options.wants(name):
                continue
            try:
                plan, result = _first_accepted(  # noqa: PLW2901 - the game that was played
                    run, subject, plan, stream=stream, games=len(planned) + len(run.subjects)
                )
            except NoPower as error:
                findings.append(_undecided(name, subject, str(error)))
                continue
            except RefusedRequest as refused:
                findings.append(_undecided(name, subject, refused.reason))
                continue
            results.append(result)
            parts = [RunEnergies.counted(energies, degrees) for energies, degrees in result.noise]
            run.energies.setdefault(str(subject.mode), []).extend(parts)
            name = game_id(subject.mode, plan.game.name)
            finding = _audit_finding(name, subject, plan, result, run.options)
            findings.append(finding)
            _keep(run, finding, result, stream)
            if result.verdict.outcome is Outcome.REFUTED:
                break
        # the noise of several steps cannot be recovered from the last model alone
        games = [result.plan.game for result in results if result.plan.game.visibility is not Visibility.LAST_MODEL]
        if games:
            seen = observe(run.target, games[0], run.options.seed)
    except AdapterError as error:
        findings.append(adapter_failed(Stage.GAMES, error, run.options))
    return findings, results, seen, _coverage(findings, results)


def _undecided(name: str, subject: Subject, reason: str) -> Finding:
    return Finding(name, Outcome.INCONCLUSIVE, reason, str(subject.mode), stage=Stage.GAMES)


def _planned(run: GateRun, session: Session) -> tuple[list[tuple[Subject, Planned]], list[Finding]]:
    """Return the games of every subject, and a finding for each subject on which none can be played."""
    planned: list[tuple[Subject, Planned]] = []
    findings: list[Finding] = []
    for subject in run.subjects:
        try:
            traits = run.traits.get(subject.mode, Traits())
            for plan in standard_games(session, subject):
                game = dataclasses.replace(plan.game, reads=not traits.own, processed=traits.processed)
                planned.append((subject, dataclasses.replace(plan, game=game)))
            if run.options.pair is not None:
                bound = least_bound(run.claims.mechanism)
                planned.append((subject, own_pair_game(session, subject, run.options.pair, bound)))
        except NothingToAudit as error:
            name = game_id(subject.mode, "offered")
            if run.options.wants(name) or run.options.wants_any(str(Stage.GAMES)):
                honest = isinstance(error, NothingClaimed) and run.claims.claim.nothing
                outcome = Outcome.STANDS if honest else Outcome.INCONCLUSIVE
                findings.append(Finding(name, outcome, str(error), stage=Stage.GAMES))
    return planned, findings


def _keep(run: GateRun, finding: Finding, result: AuditResult, stream: int) -> None:
    """Keep the scores of a game that refutes."""
    evidence = run.options.evidence
    if evidence is None or finding.outcome is not Outcome.REFUTED:
        return
    with Session(run.target.command, run.target.limits) as session:
        description = session.description
    kept = of_finding(
        dataclasses.replace(finding, false_alarm=result.plan.alpha),
        description,
        seed=run.options.seed,
        seeded=run.options.seeded,
        scores=(result.first, result.second),
        stream=stream,
    )
    evidence.keep(finding, kept)


def _learned(run: GateRun, session: Session, games: int) -> list[Finding]:
    """Several kinds of neighbours and a learned score, of every subject."""
    findings = []
    alpha = float(run.claims.gate.false_alarm) * GAMES_SHARE / games
    wanted = [s for s in run.subjects if run.options.wants(game_id(s.mode, LEARNED))]
    for number, subject in enumerate(wanted):
        began = time.monotonic()
        run.options.say(game_id(subject.mode, LEARNED))
        rng = np.random.default_rng([run.options.seed, LEARNING, number])
        session.tape = tape = Tape() if run.options.evidence is not None else None
        found = judged(session, subject, rng, seeded=run.options.seeded, alpha=alpha)
        session.tape = None
        again = run.options.reproduce(found.name, run.options.seed) if found.outcome is Outcome.REFUTED else ""
        finding = dataclasses.replace(found, reproduction=again, seconds=time.monotonic() - began)
        findings.append(finding)
        if run.options.evidence is not None and tape is not None:
            kept = of_finding(
                finding,
                session.description,
                seed=run.options.seed,
                seeded=run.options.seeded,
                tapes=[tape],
                stream=number,
            )
            run.options.evidence.keep(finding, kept)
    return [f for f in findings if f.outcome is not Outcome.SKIPPED]


def _first_accepted(
    run: GateRun, subject: Subject, planned: Planned, *, stream: int, games: int
) -> tuple[Planned, AuditResult]:
    """Play a game, on more records where so few are refused."""
    try:
        return planned, _one_audit(run, subject, planned, stream=stream, games=games)
    except RefusedRequest:
        for copies in COPIES[1:]:
            with Session(run.target.command, run.target.limits) as session:
                names = [p.game.name for p in standard_games(session, subject)]
                larger = dict(zip(names, standard_games(session, subject, copies), strict=False))
            if planned.game.name in larger:
                plan = larger[planned.game.name]
                with contextlib.suppress(RefusedRequest):
                    return plan, _one_audit(run, subject, plan, stream=stream, games=games)
        raise


def _one_audit(run: GateRun, subject: Subject, planned: Planned, *, stream: int, games: int) -> AuditResult:
    """Audit one game with its share of the false alarms and of the time that is left."""
    game, options, gate = planned.game, run.options, run.claims.gate
    curve = curve_of(subject.ledger(game.records, game.parameters))
    alpha = float(gate.false_alarm) * GAMES_SHARE / games
    plan = plan_audit(
        game,
        curve,
        planned.simulate,
        alpha=alpha,
        seed=options.seed,
        stream=stream,
        wanted=gate.power if planned.demanded else None,
        attack=planned.attack,
    )

    def progress(pairs: int, log_wealth: float) -> None:
        options.say(
            f"{game_id(subject.mode, game.name)}: {pairs} of {plan.pairs} trial pairs, log-wealth {log_wealth:.2f}"
        )

    now = time.monotonic()
    until = now + max(run.deadline - now, 0.0) / (games - stream)
    return run_audit(plan, run.target, run.pool, deadline=until, progress=progress)


def _audit_finding(name: str, subject: Subject, planned: Planned, result: AuditResult, options: GateOptions) -> Finding:
    outcome = result.verdict.outcome
    claim = result.plan.curve.describe()
    limit = f"; {_limit(subject, planned)}" if outcome is not Outcome.REFUTED and planned.attained < _WHOLE else ""
    return Finding(
        name,
        outcome,
        f"claim {claim}: {result.verdict.summary}{limit}",
        reproduction=options.reproduce(name, options.seed) if outcome is Outcome.REFUTED else "",
        seconds=result.seconds,
        trials=result.verdict.trials,
        power=result.verdict.power,
        subject=str(subject.mode),
        stage=Stage.GAMES,
        cause=Cause.DISTINGUISHED if outcome is Outcome.REFUTED else None,
        picture=None
        if outcome is not Outcome.REFUTED
        else scores(planned.game.name, result.first, result.second, SCORES),
    )


def _coverage(findings: list[Finding], results: list[AuditResult]) -> Coverage:
    """The games that were played to a conclusion, and those that were not."""
    covered = tuple(
        Covered(
            game_id(mode, r.plan.game.name),
            str(mode),
            f"n = {r.plan.game.records}, T = {r.plan.game.parameters.iterations}",
            2 * r.verdict.trials,
            (Aspect.RELEASED,),
        )
        for r in results
        for mode in [Mode(r.plan.game.algorithm, r.plan.game.parameters.release)]
        if r.verdict.power is not None
    )
    learned = tuple(
        Covered(f.name, f.subject, "n = 4", f.trials or 0, (Aspect.RELEASED,))
        for f in findings
        if f.trials is not None and f.power is None and f.outcome is Outcome.STANDS and f.p_value is not None
    )
    covered = (*covered, *learned)
    unplayed = (f for f in findings if f.outcome in (Outcome.INCONCLUSIVE, Outcome.SKIPPED))
    return Coverage(covered, tuple(Uncovered(f.name, f.subject, f.detail) for f in unplayed))


def _limit(subject: Subject, planned: Planned) -> str:
    """Why no number of runs would show more, and what to do about it."""
    text = (
        f"what is shown of this pair attains {planned.attained:.3g} of the claim: in no number of runs does anything "
        f"below noise/{1.0 / planned.attained:.3g} exceed it"
    )
    if subject.release is Release.ALL and planned.demanded:
        text += ". x, z and y are paid for and x alone is shown: ask for less power, show all, or claim release primal"
    return text
