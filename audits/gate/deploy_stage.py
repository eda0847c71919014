"""The third stage: the implementation as it will run, at the claimed size and without a seed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

from accountant import Mechanism
from accountant.mechanisms.words import Algorithm
from audits.gate.coverage import Coverage, Covered, Uncovered
from audits.gate.deployment import claimed_run
from audits.gate.evidence import of_finding
from audits.gate.findings import Stage
from audits.gate.options import DEPLOYMENT_SHARE, GateRun, adapter_failed
from audits.gate.price import REALLY, priced
from audits.trials.executors import workers_of
from verification.deployment.noise_tests import effective
from verification.deployment.probe import Answered, ProbePlan, probe_with
from verification.deployment.questions import QUESTIONS
from verification.deployment.rare import Census
from verification.deployment.sighting import Aspect, Sighting
from verification.outcome import Finding, Outcome
from verification.picture import Picture
from verification.wire.faults import AdapterError
from verification.wire.messages import Capability, StartResult
from verification.wire.session import Session

_PROCESSES = 2  # of the implementation, at most, that are asked at once
_TIME_SHARE = 0.5  # of the budget that is left; what the questions ask for is bounded, so that none is spent in vain


@dataclass(frozen=True, slots=True)
class Deployed:
    """What the stage found, and what it covered."""

    findings: list[Finding]
    coverage: Coverage


def deploy_stage(run: GateRun, *, measure: bool = False) -> Deployed:
    """Ask every question of every mechanism; a finding for each that refutes or deviates, one for the rest.

    ``measure``: only the noise on silent records, of an implementation that is already refuted.
    """
    mechanisms = [m for m in run.claims.mechanism if run.options.wants_any(f"{Stage.DEPLOY}: {m.title}")]
    if not mechanisms or run.claims.claim.nothing:  # where no privacy is claimed there is nothing to protect
        return Deployed([], Coverage())
    findings: list[Finding] = []
    coverage = Coverage()
    until = time.monotonic() + max(run.deadline - time.monotonic(), 0.0) * _TIME_SHARE
    try:
        with contextlib.ExitStack() as stack:
            count = min(_PROCESSES, workers_of(run.pool))
            sessions = [
                stack.enter_context(Session(run.target.command, run.target.limits, described=False))
                for _ in range(count)
            ]
            for session in sessions:
                session.describe()
            for number, mechanism in enumerate(mechanisms):
                run.options.say(f"deploy: {mechanism.title}")
                left = max(until - time.monotonic(), 0.0) / (len(mechanisms) - number)
                found, seen = _one_mechanism(run, sessions, mechanism, left, measure=measure)
                findings += found
                coverage = coverage.joined(seen)
    except AdapterError as error:
        findings.append(adapter_failed(Stage.DEPLOY, error, run.options))
    return Deployed(findings, coverage)


def _one_mechanism(
    run: GateRun, sessions: Sequence[Session], mechanism: Mechanism, seconds: float, *, measure: bool
) -> tuple[list[Finding], Coverage]:
    title, algorithm = mechanism.title, Algorithm(str(mechanism.algorithm))
    name = f"{Stage.DEPLOY}: {title}"
    offered = sessions[0].description
    if algorithm not in offered.algorithms or Capability.TRIALS not in offered.capabilities:
        reason = f"{algorithm} is not offered" if algorithm not in offered.algorithms else "no runs of its own (trials)"
        return [Finding(name, Outcome.SKIPPED, reason)], Coverage(skipped=(Uncovered(name, "", reason),))
    claimed = claimed_run(mechanism, run.claims.deployment, offered)
    share = float(run.claims.gate.false_alarm) * DEPLOYMENT_SHARE / max(1, len(run.claims.mechanism))
    wanted = tuple(q for q in QUESTIONS if run.options.wants(f"{name}, {q.name}"))
    wanted = tuple(q for q in wanted if q.name in ("silent", "last")) if measure else wanted
    plan = ProbePlan(share, seconds, run.options.seed, wanted, record=run.options.evidence is not None)
    answers = probe_with(sessions, claimed, plan)
    findings = []
    for answered in answers:
        found = _findings(run, name, mechanism, answered)
        findings += found
        _keep(run, offered, answered, found)
    census = Census.joined([a.asked.census for a in answers if a.asked is not None and a.asked.census is not None])
    run.census.setdefault(str(claimed.mode), []).append(census)
    coverage = _coverage(answers, str(claimed.mode))
    if not any(f.outcome in (Outcome.REFUTED, Outcome.DEVIATES) for f in findings):
        findings.append(_summary(name, answers, str(claimed.mode)))
    return findings, coverage


def _keep(run: GateRun, description: StartResult, answered: Answered, findings: Sequence[Finding]) -> None:
    """Keep what a question that refutes was answered."""
    evidence, options = run.options.evidence, run.options
    if evidence is None or answered.tape is None or answered.clock is None:
        return
    for finding in findings:
        kept = of_finding(
            finding,
            description,
            seed=options.seed,
            seeded=False,
            tapes=[answered.tape],
            seconds=answered.clock.seconds,
        )
        evidence.keep(finding, kept)


def _findings(run: GateRun, name: str, mechanism: Mechanism, answered: Answered) -> list[Finding]:
    """A finding for the tests that refute, and one for those that show a difference."""
    found: list[Finding] = []
    subject = str(answered.claimed.mode)
    size = answered.asked.look.size if answered.asked is not None else answered.claimed.size
    for sightings, outcome in ((answered.against, Outcome.REFUTED), (answered.differences, Outcome.DEVIATES)):
        if not sightings or (outcome is Outcome.DEVIATES and found):
            continue
        first = min(sightings, key=lambda sighting: sighting.p_value)
        lines = [_line(sighting) for sighting in sightings]
        if outcome is Outcome.REFUTED and first.aspect is Aspect.NOISE:
            lines += _costs(run, mechanism, answered)
        title = f"{name}, {answered.question.name}"
        found.append(
            Finding(
                title,
                outcome,
                "\n".join([f"without a seed, at {size}: {lines[0]}", *lines[1:]]),
                subject,
                answered.seconds,
                first.p_value,
                answered.false_alarm,
                reproduction=run.options.reproduce(title, run.options.seed) if outcome is Outcome.REFUTED else "",
                tags=(f"cause: {first.cause}",),
                picture=_picture(answered, first),
            )
        )
    return found


def _picture(answered: Answered, sighting: Sighting) -> Picture | None:
    draw = None if answered.asked is None else answered.asked.look.pictures.get(sighting.aspect)
    return None if draw is None else draw()


def _line(sighting: Sighting) -> str:
    exact = "exact" if sighting.deterministic else f"p = {sighting.p_value:.2g}"
    return f"{sighting.name}: {sighting.detail} ({exact})"


def _costs(run: GateRun, mechanism: Mechanism, answered: Answered) -> list[str]:
    """The noise it really has, and the epsilon that this costs."""
    noise = None if answered.asked is None else answered.asked.noise
    if not noise:
        return []
    really = effective(noise)
    text = f"{REALLY}{really.ratio:.4g} of the claimed (99.9 %: {really.low:.4g} to {really.high:.4g})"
    return [f"{text}; {priced(run.claims.claim, mechanism, really)}"]


def _summary(name: str, answers: Sequence[Answered], subject: str) -> Finding:
    asked = [a for a in answers if a.asked is not None and not a.reason]
    unfinished = [a for a in answers if a.outcome is Outcome.INCONCLUSIVE]
    outcome = Outcome.INCONCLUSIVE if unfinished else (Outcome.STANDS if asked else Outcome.SKIPPED)
    sizes = dict.fromkeys(a.asked.look.size for a in asked if a.asked is not None)
    text = f"without a seed, at {'; at '.join(sizes)}: " if sizes else ""
    text += ", ".join(f"{a.question.name} {a.outcome}" for a in answers if a.needed)
    text += "".join(f"; {a.question.name}: {a.reason}" for a in unfinished)
    return Finding(name, outcome, text, subject, sum(a.seconds for a in answers))


def _coverage(answers: Sequence[Answered], subject: str) -> Coverage:
    covered = tuple(
        Covered(f"deploy: {a.asked.look.scene}", subject, a.asked.look.size, a.asked.look.runs, a.asked.look.covers)
        for a in answers
        if a.asked is not None and a.asked.look.covers
    )
    skipped = tuple(
        Uncovered(f"deploy: {a.question.name}", subject, a.reason)
        for a in answers
        if a.needed and (a.asked is None or a.reason)
    )
    return Coverage(covered, skipped)
