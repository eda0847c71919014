"""The questions behind the wire: at a few records, then at the claimed size, as production runs it, without a seed."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Sequence

from accountant import Mechanism
from accountant.mechanisms.words import Algorithm
from audits.games.executors import workers_of
from audits.games.game import Subject
from audits.gate.claim_file import claimed_run
from audits.gate.options import GateRun, adapter_failed
from audits.gate.price import epochs_cost, measured_cost
from audits.gate.report import about_all_runs, about_offered
from verification.judge import (
    Asked,
    Plan,
    Result,
    asked_small,
    concluded,
    finding,
    judge,
    not_asked,
    seconds_for_all,
    shares,
)
from verification.outcome import About, Finding, Outcome, Stage, counted
from verification.questions.catalogue import at
from verification.questions.noise import last, silent
from verification.questions.question import Answer, Size
from verification.statistics.noise_shape import windows_fresh
from verification.statistics.run_energies import RunEnergies
from verification.statistics.test import Aspect
from verification.wire.faults import AdapterError, RefusedRequest
from verification.wire.messages import Capability, StartResult
from verification.wire.session import Session
from verification.wire.smoke import smoke_session

_PROCESSES = 2  # of the implementation, at most, that are asked at once
_TIME_SHARE = 0.5  # of the budget that is left; what the questions ask for is bounded, so that none is spent in vain
SHARE = {Size.SMALL: 0.4, Size.CLAIMED: 0.2}
"""Of the false alarms; the games have the rest."""
_STAGE = {Size.SMALL: Stage.SMALL, Size.CLAIMED: Stage.CLAIMED}


def questions_stage(run: GateRun, size: Size, *, measure: bool = False) -> tuple[list[Finding], list[Result]]:
    """Ask every question of every mechanism: a finding for each that refutes or deviates, one for the rest.

    ``measure``: only the noise on silent records, of an implementation that is already refuted.
    """
    stage, options = _STAGE[size], run.options
    if not options.may_want(stage) or (size is Size.CLAIMED and run.claims.claim.nothing):
        return [], []  # not asked for, or nothing is claimed: then there is nothing to protect
    left = max(run.deadline - time.monotonic(), 0.0) * _TIME_SHARE
    plan = Plan(
        float(run.claims.gate.false_alarm) * SHARE[size],
        left,
        options.seed,
        seeded=options.seeded,
        record=options.evidence is not None,
    )
    try:
        with contextlib.ExitStack() as stack:
            sessions = _sessions(run, stack)
            description = sessions[0].description
            if size is Size.SMALL:
                # what refuses the small sizes of the smoke test is judged by what it does run
                with contextlib.suppress(RefusedRequest):
                    for _ in smoke_session(sessions[0]):
                        pass
            everything, unasked = _everything(run, size, description, measure=measure)
            results = judge(
                sessions,
                everything,
                plan,
                functools.partial(Session, run.target.command, run.target.limits),
                functools.partial(_heard, run),
                known=run.traits,
            )
            needed = seconds_for_all(results, len(sessions))
    except AdapterError as error:
        return [adapter_failed(stage, error, options)], []
    _count(run, results)
    for result in results:
        options.night.question(result)
    findings = [*map(finding, unasked), *_findings(run, results)]
    if not measure and not any(f.outcome in (Outcome.REFUTED, Outcome.DEVIATES) for f in findings):
        findings.append(_summary(stage, results, unasked, run.enough_time(needed, left)))
    return findings, [*results, *unasked]


def _heard(run: GateRun, result: Result) -> None:
    """Tell of a conclusion as it comes; what refutes narrowly may be asked again, and is told of then."""
    run.options.say(str(result.about))
    run.options.tell(finding(result))


def _sessions(run: GateRun, stack: contextlib.ExitStack) -> list[Session]:
    count = min(_PROCESSES, workers_of(run.pool))
    target = run.target
    sessions = [stack.enter_context(Session(target.command, target.limits, described=False)) for _ in range(count)]
    for session in sessions:
        session.describe()
    run.options.described.append(sessions[0].description)
    return sessions


def _everything(
    run: GateRun, size: Size, description: StartResult, *, measure: bool
) -> tuple[list[Asked], list[Result]]:
    """All questions that were asked for, and a result for each mechanism that the implementation does not offer."""
    if size is Size.SMALL:
        modes = [s.mode for s in run.subjects if s.algorithm in description.algorithms]
        return [asked for asked in asked_small(at(size), modes) if run.options.wants(asked.about)], []
    everything, unasked = [], []
    for mechanism in run.claims.mechanism:
        about, reason = about_offered(mechanism.title), _not_offered(mechanism, description)
        if reason:
            unasked.append(Result(about, Outcome.SKIPPED, reason=reason))
            continue
        if run.options.wants(about):
            run.options.tell(not_asked(about, Outcome.STANDS, "the implementation offers it"))
        claimed = claimed_run(mechanism, run.claims.deployment, description)
        asked = [Asked(q, claimed.mode, claimed, mechanism.title) for q in at(size) if claimed.mode in q.modes]
        everything += [a for a in asked if a.question.ask in (silent, last) or not measure]
    return [asked for asked in everything if run.options.wants(asked.about)], unasked


def _not_offered(mechanism: Mechanism, description: StartResult) -> str:
    algorithm = Algorithm(str(mechanism.algorithm))
    if algorithm not in description.algorithms:
        return f"{algorithm} is not offered"
    return "" if Capability.TRIALS in description.capabilities else "the capability trials is not declared"


def _count(run: GateRun, results: Sequence[Result]) -> None:
    """Keep the noise of all runs that were read, by mode."""
    for result in results:
        if result.answer is not None:
            run.vectors.setdefault(result.about.subject, []).extend(result.answer.vectors)
        if result.answer is not None and result.answer.energies is not None:
            run.energies.setdefault(result.about.subject, []).append(result.answer.energies)


def _findings(run: GateRun, results: Sequence[Result]) -> list[Finding]:
    """A finding for each question that refutes or deviates, with its evidence."""
    by_title = {str(Subject.of(mechanism).mode): mechanism for mechanism in run.claims.mechanism[::-1]}
    by_title |= {mechanism.title: mechanism for mechanism in run.claims.mechanism}

    def measured(result: Result) -> str:
        mechanism, answer = by_title.get(result.about.mechanism), result.answer
        aspects = {test.aspect for test in result.against}
        if mechanism is None or answer is None:
            return ""
        if answer.by_epochs and Aspect.BATCHES in aspects:
            return epochs_cost(run.claims.claim, mechanism)
        if not answer.noise or Aspect.NOISE not in aspects or result.about.stage is not Stage.CLAIMED:
            return ""
        return measured_cost(run.claims.claim, mechanism, answer.noise)

    found = []
    for result in results:
        if result.outcome not in (Outcome.REFUTED, Outcome.DEVIATES):
            continue
        found.append(run.options.reproducible(finding(result, measured)))
        seconds = 0.0 if result.clock is None else result.clock.seconds
        run.options.keep(found[-1], tapes=result.tapes, seconds=seconds, traits=result.traits)
    return found


def _summary(stage: Stage, results: Sequence[Result], unasked: Sequence[Result], enough: str) -> Finding:
    """One finding for all questions of which none refutes; ``enough`` says which budget reaches all of them."""
    found = [finding(result) for result in results if result.needed]
    open_ones = [finding(r) for r in results if r.needed and not r.late and r.outcome is Outcome.INCONCLUSIVE]
    late = [str(r.about) for r in results if r.late]
    passed = any(f.outcome is Outcome.STANDS for f in found)
    outcome = Outcome.INCONCLUSIVE if late or open_ones else Outcome.STANDS if passed else Outcome.SKIPPED
    text = counted([*found, *map(finding, unasked)]) or "nothing was checked"
    if stage is Stage.CLAIMED:
        sizes = list(dict.fromkeys(r.answer.size for r in results if r.answer is not None and not r.reason))
        rest = f" and {len(sizes) - 1} sizes below (see the coverage)" if len(sizes) > 1 else ""
        text = f"without a seed, at {sizes[0]}{rest}: {text}" if sizes else text
    text = f"{enough}; {text}" if late else text
    notes = (
        [f"not reached: {', '.join(late)}"] * bool(late)
        + [f"{f.name}: {f.detail}" for f in open_ones]
        + [r.before for r in results if r.before]
    )
    seconds = sum(result.seconds for result in results)
    return finding(Result(About(stage=stage), outcome, reason="; ".join([text, *notes]), seconds=seconds))


def all_runs(run: GateRun) -> tuple[list[Finding], str]:
    """Every run of every stage whose noise could be read, of one mechanism together.

    A finding for each mechanism of which a run was too quiet, and the bounds on the share of such runs.
    """
    modes = list(dict.fromkeys(subject.mode for subject in run.subjects))
    share = float(run.claims.gate.false_alarm) * SHARE[Size.CLAIMED] / shares(Size.CLAIMED, modes)
    findings, sentences = [], []
    for mode in modes:
        about = about_all_runs(mode)
        energies = RunEnergies.joined(run.energies.get(str(mode), []))
        if not energies.runs:
            continue
        run.options.night.noise(str(mode), energies)
        sentences.append(f"{mode}: {energies.statement(share)}")
        tests = (energies.test(), windows_fresh(run.vectors.get(str(mode), [])))
        answer = Answer("all runs of the gate", "every size", energies.runs, tests, (Aspect.NOISE,))
        result = concluded(about, answer, share)
        if not run.options.wants(about):
            continue
        run.options.tell(finding(result))
        if result.outcome is Outcome.REFUTED:
            again = run.options.reproduce(str(Stage.CLAIMED), run.options.seed)
            findings.append(dataclasses.replace(finding(result), reproduction=again))
    return findings, "; ".join(sentences)
