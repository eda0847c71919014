"""The games, with their share of the false alarms and what is left of the time."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time

from accountant.mechanisms.words import Release
from audits.errors import NoPower, NothingClaimed, NothingToAudit
from audits.games.game import Subject, about_game
from audits.games.plans import COPIES, Planned, least_bound, own_pair_game, standard_games
from audits.games.sequential import LEARNED, AuditResult, learned_game, plan_audit, run_audit
from audits.gate.options import GAMES_SHARE, GateRun, adapter_failed
from verification.judge import Result, Traits, finding
from verification.outcome import Finding, Outcome, Stage
from verification.statistics.run_energies import RunEnergies
from verification.wire.faults import AdapterError, RefusedRequest
from verification.wire.session import Session
from verification.wire.tape import Tape

# a pair that attains this much of the claim attains it: the rest is what was simulated
_WHOLE = 0.98


def games_stage(run: GateRun) -> tuple[list[Finding], list[AuditResult], list[Result]]:
    """Return what the games found, their paths and results; stops at a refutation."""
    results: list[Result] = []
    audits: list[AuditResult] = []
    failed: list[Finding] = []
    try:
        with Session(run.target.command, run.target.limits) as session:
            run.options.described.append(session.description)
            planned = _planned(run, session, results)
            results += _learned(run, session, len(planned) + len(run.subjects))
        for stream, (subject, plan) in enumerate(planned):
            if any(result.outcome is Outcome.REFUTED for result in results):
                break
            if run.options.wants(plan.game.about):
                results.append(_played(run, subject, plan, audits, stream=stream, games=len(planned)))
                run.options.conclude(finding(results[-1]))
    except AdapterError as error:
        failed.append(adapter_failed(Stage.GAMES, error, run.options))
    findings = [run.options.reproducible(finding(result)) for result in results]
    return [*findings, *failed], audits, results


def _planned(run: GateRun, session: Session, results: list[Result]) -> list[tuple[Subject, Planned]]:
    """Return the games of every subject, and add a result for each subject on which none can be played."""
    planned: list[tuple[Subject, Planned]] = []
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
            about = about_game(subject.mode, "offered")
            if run.options.wants(about) or run.options.may_want(Stage.GAMES):
                honest = isinstance(error, NothingClaimed) and run.claims.claim.nothing
                results.append(Result(about, Outcome.STANDS if honest else Outcome.INCONCLUSIVE, reason=str(error)))
    return planned


def _learned(run: GateRun, session: Session, games: int) -> list[Result]:
    """The library of pairs and learned scores, of every subject."""
    results, options = [], run.options
    alpha = float(run.claims.gate.false_alarm) * GAMES_SHARE / games
    for subject in run.subjects:
        about = about_game(subject.mode, LEARNED)
        if not options.wants(about):
            continue
        options.say(str(about))
        began = time.monotonic()
        session.tape = tape = Tape() if options.evidence is not None else None
        played = learned_game(session, subject, options.seed, seeded=options.seeded, alpha=alpha)
        session.tape = None
        result = dataclasses.replace(played, seconds=time.monotonic() - began)
        if tape is not None:
            options.keep(finding(result), tapes=[tape])
        if result.outcome is not Outcome.SKIPPED:
            results.append(result)
            options.conclude(finding(result))
    return results


def _played(
    run: GateRun, subject: Subject, planned: Planned, audits: list[AuditResult], *, stream: int, games: int
) -> Result:
    """Play one game; its path is added to the audits."""
    count = games + len(run.subjects)
    try:
        audit = _first_accepted(run, subject, planned, stream=stream, games=count)
    except NoPower as error:
        return Result(planned.game.about, Outcome.INCONCLUSIVE, reason=str(error))
    except RefusedRequest as refused:
        return Result(planned.game.about, Outcome.INCONCLUSIVE, reason=refused.reason)
    audits.append(audit)
    done, planned_pairs = audit.first.size, audit.plan.pairs
    late = done < planned_pairs and audit.judged.outcome is Outcome.INCONCLUSIVE
    parts = [RunEnergies.counted(energies, degrees) for energies, degrees in audit.noise]
    run.energies.setdefault(str(subject.mode), []).extend(parts)
    run.options.keep(finding(audit.judged), scores=(audit.first, audit.second))
    judged = dataclasses.replace(audit.judged, seconds=audit.seconds)
    if not late:
        return judged
    needed = audit.seconds * planned_pairs / done if done else math.inf
    short = f"{done} of {planned_pairs} trial pairs in time; {run.enough_time(needed, audit.seconds)}"
    return dataclasses.replace(judged, reason=f"{short}; {judged.reason}")


def _first_accepted(run: GateRun, subject: Subject, planned: Planned, *, stream: int, games: int) -> AuditResult:
    """Play a game, on more records where so few are refused."""
    try:
        return _one_audit(run, subject, planned, stream=stream, games=games)
    except RefusedRequest:
        for copies in COPIES[1:]:
            with Session(run.target.command, run.target.limits) as session:
                names = [p.game.name for p in standard_games(session, subject)]
                larger = dict(zip(names, standard_games(session, subject, copies), strict=False))
            if planned.game.name in larger:
                with contextlib.suppress(RefusedRequest):
                    return _one_audit(run, subject, larger[planned.game.name], stream=stream, games=games)
        raise


def _one_audit(run: GateRun, subject: Subject, planned: Planned, *, stream: int, games: int) -> AuditResult:
    """Audit one game with its share of the false alarms and of the time that is left."""
    game, options, gate = planned.game, run.options, run.claims.gate
    plan = plan_audit(
        planned,
        subject,
        alpha=float(gate.false_alarm) * GAMES_SHARE / games,
        seed=options.seed,
        stream=stream,
        power=gate.power,
        limit=_limit(subject, planned) if planned.attained < _WHOLE else "",
    )

    def progress(pairs: int, log_wealth: float) -> None:
        options.say(f"{game.about}: {pairs} of {plan.pairs} trial pairs, log-wealth {log_wealth:.2f}")

    now = time.monotonic()
    until = now + max(run.deadline - now, 0.0) / (games - stream)
    return run_audit(plan, run.target, run.pool, deadline=until, progress=progress)


def _limit(subject: Subject, planned: Planned) -> str:
    """Why no number of runs would show more, and what to do about it."""
    text = (
        f"what is shown of this pair attains {planned.attained:.3g} of the claim: in no number of runs does anything "
        f"below noise/{1.0 / planned.attained:.3g} exceed it"
    )
    if subject.release is Release.ALL and planned.demanded:
        text += ". x, z and y are paid for and x alone is shown: ask for less power, show all, or claim release primal"
    return text
