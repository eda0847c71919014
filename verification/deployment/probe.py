"""Put one mechanism through every question, within a budget of time and of false alarms, and say what was covered."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
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
_SECONDS_BETWEEN_LOOKS = 0.05
_FIRST = (("mixed", "marked"), ("rare", "silent"))
"""What each of two processes is asked first: what takes longest, so that none waits long for the other at the end, and
the same of every mechanism, so that records that it has are not sent again."""


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
    own, until = _own_updates(session, claimed, plan.seed), time.monotonic() + plan.seconds
    for number, question in enumerate(plan.questions):
        yield _asked(session, claimed, plan, question, _Time(until, len(plan.questions) - number), own=own)


def probe_with(sessions: Sequence[Session], claimed: Claimed, plan: ProbePlan) -> list[Answered]:
    """The same with several processes at once, each asked whatever is next; the answers in the order of the questions.

    Where updates differ late, or at the claimed size alone, everything is asked again, with noise read by replays.
    """
    own, until = _own_updates(sessions[0], claimed, plan.seed), time.monotonic() + plan.seconds
    answers = _asked_at_once(sessions, claimed, plan, until, own=own)
    differ = any(sighting.aspect is Aspect.UPDATES for found in answers for sighting in found.differences)
    if not differ or own or claimed.mode.algorithm not in READABLE:
        return answers
    return _asked_at_once(sessions, claimed, plan, until, own=True)


def _asked_at_once(
    sessions: Sequence[Session], claimed: Claimed, plan: ProbePlan, until: float, *, own: bool
) -> list[Answered]:
    waiting, answers, failed = _Waiting(plan.questions), dict[str, Answered](), list[BaseException]()

    def work(session: Session, first: tuple[str, ...]) -> None:
        # huge but finite answers are answers; what is ignored is a thread's own setting
        with np.errstate(over="ignore", invalid="ignore"):
            while (question := waiting.next(first)) is not None:
                share = _Time(until, 1 + len(waiting.questions) // len(sessions))
                answers[question.name] = _asked(session, claimed, plan, question, share, own=own)

    def guarded(session: Session, first: tuple[str, ...]) -> None:
        try:
            work(session, first)
        except BaseException as error:
            waiting.clear()
            failed.append(error)

    # daemons: neither a fault nor an interrupt waits for what the others are at
    threads = [
        threading.Thread(target=guarded, args=(session, first), daemon=True)
        for session, first in zip(sessions, itertools.cycle(_FIRST), strict=False)
    ]
    try:
        for thread in threads:
            thread.start()
        while not failed and any(thread.is_alive() for thread in threads):
            threads[0].join(_SECONDS_BETWEEN_LOOKS)
            threads[-1].join(_SECONDS_BETWEEN_LOOKS)
    finally:
        waiting.clear()
        if failed or any(thread.is_alive() for thread in threads):
            for session in sessions:
                session.kill()
    if failed:
        raise failed[0]
    return [answers[question.name] for question in plan.questions]


class _Waiting:
    """The questions that are still to be asked, for several threads."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.questions = list(questions)
        self._lock = threading.Lock()

    def next(self, first: tuple[str, ...]) -> Question | None:
        """Take one of these names, in their order, or else whatever is left."""
        with self._lock:
            if not self.questions:
                return None
            names = [question.name for question in self.questions]
            wanted = next((name for name in first if name in names), names[0])
            return self.questions.pop(names.index(wanted))

    def clear(self) -> None:
        """Ask no more."""
        with self._lock:
            self.questions.clear()


@dataclass(frozen=True, slots=True)
class _Time:
    """When all questions must have been asked, and how many are still to be asked one after the other."""

    until: float
    questions: int


def _asked(
    session: Session, claimed: Claimed, plan: ProbePlan, question: Question, share: _Time, *, own: bool
) -> Answered:
    left = share.until - time.monotonic()
    if left < _LEAST_SECONDS:
        reason = f"the budget of {plan.seconds:.3g} seconds was spent"
        return Answered(question, claimed, Outcome.INCONCLUSIVE, None, reason)
    rng, clock = generator(plan.seed, question, claimed), Clock(left / share.questions)
    context = Context(session, claimed.mode, rng, _nobody, scene_seed=plan.seed, own=own)
    session.tape = tape = Tape() if plan.record else None
    found = answer(question, context, claimed.fitting(), clock, plan.false_alarm / SHARES)
    session.tape = None
    return dataclasses.replace(found, tape=tape, clock=clock)


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
