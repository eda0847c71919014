"""Put one mechanism through every question, within a budget of time and of false alarms, and say what was covered."""

from __future__ import annotations

import contextlib
import dataclasses
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from verification.conformance.check import NotApplicable
from verification.conformance.context import Context
from verification.conformance.own_updates import READABLE
from verification.conformance.updates import has_own_updates
from verification.deployment.asking import Asked, Clock, NotNeeded, Question
from verification.deployment.claimed import Claimed
from verification.deployment.questions import QUESTIONS
from verification.deployment.sighting import Aspect, Cost, Sighting
from verification.outcome import Outcome
from verification.wire.faults import AdapterSkipped, RefusedRequest
from verification.wire.session import Session
from verification.wire.tape import Tape

SHARES = len(QUESTIONS) + 1
"""Each question has an even share of the false alarms, and so have all runs of a gate together."""
_LEAST_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """How much may be spent: false alarms over all questions, seconds, and the seed of the questions themselves."""

    false_alarm: float
    seconds: float
    seed: int
    questions: tuple[Question, ...] = QUESTIONS
    record: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """One question: what it showed, or why it could not be asked."""

    question: Question
    claimed: Claimed
    outcome: Outcome
    asked: Asked | None
    reason: str = ""
    false_alarm: float = 0.0
    seconds: float = 0.0
    tape: Tape | None = None
    clock: Clock | None = None
    needed: bool = True  # whether leaving it out leaves something uncovered

    @property
    def against(self) -> list[Sighting]:
        """The tests that refute."""
        return [s for s in self._significant() if s.cost is Cost.PRIVACY]

    @property
    def differences(self) -> list[Sighting]:
        """The tests that show a difference that costs nothing."""
        return [s for s in self._significant() if s.cost is Cost.NOTHING]

    def _significant(self) -> list[Sighting]:
        sightings = [] if self.asked is None else self.asked.look.sightings
        # this way round, a probability that is not a number is no pass
        return [s for s in sightings if not s.p_value > (0.0 if s.deterministic else self.false_alarm)]


def generator(seed: int, question: Question, claimed: Claimed) -> np.random.Generator:
    """The question's own randomness: its data and its tests; the implementation draws without a seed."""
    return np.random.default_rng([seed, zlib.crc32(f"{question.name} {claimed.mode}".encode())])


def probe(session: Session, claimed: Claimed, plan: ProbePlan) -> Iterator[Answered]:
    """Ask every question; each has an even share of the false alarms and of the time that is left."""
    until = time.monotonic() + plan.seconds
    own = _own_updates(session, claimed, plan.seed)
    for number, question in enumerate(plan.questions):
        left = until - time.monotonic()
        rng = generator(plan.seed, question, claimed)
        context = Context(session, claimed.mode, rng, _nobody, scene_seed=plan.seed, own=own)
        if left < _LEAST_SECONDS:
            reason = f"the budget of {plan.seconds:.3g} seconds was spent"
            yield Answered(question, claimed, Outcome.INCONCLUSIVE, None, reason)
            continue
        clock = Clock(left / (len(plan.questions) - number))
        session.tape = tape = Tape() if plan.record else None
        found = answer(question, context, claimed.fitting(), clock, plan.false_alarm / SHARES)
        differ = any(sighting.aspect is Aspect.UPDATES for sighting in found.differences)
        if differ and not own and claimed.mode.algorithm in READABLE:
            # they differ late, or at this size alone: the noise is read again, by replays
            own = True
            again = dataclasses.replace(context, rng=generator(plan.seed, question, claimed), own=True)
            session.tape = tape = Tape() if plan.record else None
            found = answer(question, again, claimed.fitting(), clock, plan.false_alarm / SHARES)
        session.tape = None
        yield dataclasses.replace(found, tape=tape, clock=clock)


def answer(question: Question, context: Context, claimed: Claimed, clock: Clock, false_alarm: float) -> Answered:
    """Ask one question and judge it."""
    began = time.monotonic()
    try:
        asked = question.ask(context, claimed, clock)
    except NotApplicable as reason:
        needed = not isinstance(reason, NotNeeded)
        seconds = time.monotonic() - began
        return Answered(question, claimed, Outcome.SKIPPED, None, str(reason), seconds=seconds, needed=needed)
    except AdapterSkipped as skipped:
        why = f"declared, but answered skipped: {skipped.reason}"
        return Answered(question, claimed, Outcome.INCONCLUSIVE, None, why, seconds=time.monotonic() - began)
    except RefusedRequest as refused:
        # at the claimed size it must run
        outcome = Outcome.INCONCLUSIVE if question.as_claimed else Outcome.SKIPPED
        return Answered(question, claimed, outcome, None, refused.reason, seconds=time.monotonic() - began)
    tests = sum(not s.deterministic for s in asked.look.sightings)
    share = false_alarm / max(1, tests)
    seconds = time.monotonic() - began
    judged = Answered(question, claimed, Outcome.STANDS, asked, asked.look.missing, share, seconds)
    outcome = Outcome.STANDS if not asked.look.missing else Outcome.SKIPPED
    if judged.differences:
        outcome = Outcome.DEVIATES
    if judged.against:
        outcome = Outcome.REFUTED
    return Answered(question, claimed, outcome, asked, asked.look.missing, share, seconds)


def _own_updates(session: Session, claimed: Claimed, seed: int) -> bool:
    context = Context(session, claimed.mode, np.random.default_rng(seed), _nobody)
    with contextlib.suppress(NotApplicable, AdapterSkipped, RefusedRequest):
        return has_own_updates(context)
    return False


def _nobody() -> Session:
    raise AssertionError("a question at the claimed size starts no further process")
