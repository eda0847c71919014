r"""Ask questions within a budget of time and of false alarms, and turn their tests into findings.

The false-alarm probability is split evenly over the statistical questions of a size and over all runs of a mode
together; inside a question over its tests. A question has a share s. If s^2 < p <= s, it is asked again with fresh
randomness and refutes only if both refute; at p <= s^2 it refutes at once, so that a fault which shows in one run only
still counts. So a correct implementation is refuted with probability at most 2 s^2 where both were asked, and at most
s where there was no time for the second.

A question for which there is no time is `inconclusive`, one that lacks a capability, or whose sizes the implementation
refuses, `skipped`: neither is a pass.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from verification.outcome import About, Finding, Outcome, Stage, headlines
from verification.plain_text import harmless
from verification.questions.catalogue import at
from verification.questions.question import Answer, Question, Size
from verification.questions.scenes import EXTREME
from verification.questions.updates import (
    has_own_updates,
    hides_its_noise,
    longest_run,
    processed_values,
    working_unit,
)
from verification.reading.context import (
    ALL_MODES,
    DOUBLE,
    MPADMM_PRIMAL,
    Claimed,
    Clock,
    Context,
    Mode,
    NotApplicable,
    NotNeeded,
    Undecided,
)
from verification.reading.replayed import EFFORT, READABLE
from verification.statistics.test import Aspect, Cause, Cost, Test
from verification.wire.faults import AdapterFault, AdapterSkipped, Fault, RefusedRequest
from verification.wire.messages import Capability, StartResult
from verification.wire.parameters import Algorithm
from verification.wire.session import Session
from verification.wire.tape import Tape

_LEAST_SECONDS = 0.5
_SECONDS_BETWEEN_LOOKS = 0.05
_FRESH = 1 << 64
"""Added to the seed for a question that is asked again: no gate is given such a seed."""
_AT_HOME = (("mixed", "marked"), ("many-runs", "silent"))
"""What each of two processes prefers to be asked: records that it has are not sent again for another mechanism."""
_STAGES = {Size.SMALL: Stage.SMALL, Size.CLAIMED: Stage.CLAIMED}


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One question about one mode; ``claimed`` is the run at the claimed size, None at a few records."""

    question: Question
    mode: Mode
    claimed: Claimed | None = None
    title: str = ""  # of the mechanism, where it has one

    @property
    def size(self) -> Size:
        """At which size it is asked."""
        return Size.SMALL if self.claimed is None else Size.CLAIMED

    @property
    def about(self) -> About:
        """What its finding is about."""
        return About(self.question.name, self.title or str(self.mode), _STAGES[self.size], str(self.mode))


@dataclass(frozen=True, slots=True)
class Plan:
    """How much may be spent: false alarms over all questions of the size, seconds, and the seed of the questions.

    The implementation gets seeds only where ``seeded`` says so, and never at the claimed size.
    """

    false_alarm: float
    seconds: float
    seed: int
    seeded: bool = True
    effort: float = 1.0
    record: bool = False
    fail_fast: bool = False  # nothing more is asked after a refutation


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One question: what it showed, or why it could not be asked."""

    about: About
    outcome: Outcome
    answer: Answer | None = None
    reason: str = ""
    level: float = 0.0  # of each of its tests
    seconds: float = 0.0
    tapes: tuple[Tape, ...] = ()
    clock: Clock | None = None
    needed: bool = True  # whether leaving it out leaves something uncovered
    late: bool = False  # it was not asked, for lack of time
    before: str = ""  # what a first answer showed that a second one did not
    strict: bool = False  # whatever differs costs: objective perturbation is private only for the stated problem
    traits: Traits | None = None  # what was known of the implementation

    @property
    def against(self) -> list[Test]:
        """The tests that refute."""
        return [test for test in self._rejecting() if self._costs(test)]

    @property
    def differences(self) -> list[Test]:
        """The tests that show a difference that costs nothing."""
        return [test for test in self._rejecting() if not self._costs(test)]

    def _costs(self, test: Test) -> bool:
        return test.cost is Cost.PRIVACY or self.strict

    def _rejecting(self) -> list[Test]:
        return [test for test in (self.answer.tests if self.answer else ()) if test.rejects(self.level)]


def seconds_for_all(results: Sequence[Result], processes: int) -> float:
    """How long asking all of them takes so many processes, those that there was no time for at the pace of the others.

    Infinite where none was asked: then no pace is known.
    """
    asked = [result.seconds for result in results if not result.late]
    spent = sum(asked)
    return (spent / len(asked)) * len(results) / processes if spent else math.inf


def modes_of(description: StartResult) -> tuple[Mode, ...]:
    """The ways in which an implementation says it can be run."""
    return tuple(
        mode
        for mode in ALL_MODES
        if mode.algorithm in description.algorithms
        and (mode != MPADMM_PRIMAL or Capability.PRIMAL in description.capabilities)
    )


def shares(size: Size, modes: Sequence[Mode]) -> int:
    """Into how many shares the false alarms of a size are split: a question each, and all runs of each mode."""
    return sum(1 + sum(q.statistical and mode in q.modes for q in at(size)) for mode in modes)


def asked_small(questions: Sequence[Question], modes: Sequence[Mode]) -> list[Asked]:
    """The questions at a few records about these modes."""
    return [Asked(question, mode) for question in questions for mode in modes if mode in question.modes]


def generator(seed: int, asked: Asked) -> np.random.Generator:
    """A stream of the question's own, the same whichever others are asked: a finding can be repeated alone."""
    return np.random.default_rng([seed, zlib.crc32(f"{asked.question.name} {asked.mode} {asked.size}".encode())])


def judge(
    sessions: Sequence[Session],
    everything: Sequence[Asked],
    plan: Plan,
    another: Callable[[], Session],
    progress: Callable[[Result], None] = lambda _: None,
    *,
    known: dict[Mode, Traits] | None = None,
) -> list[Result]:
    """Ask everything, of several processes at once; the results in the order of the questions.

    ``known`` are traits that were found out before; those of further modes are added. Where updates differ late, or at
    the claimed size alone, everything is asked again, with noise read by replays.
    """
    modes = dict.fromkeys(asked.mode for asked in everything)
    known = {} if known is None else known
    for mode in modes:
        if mode not in known:
            known[mode] = traits_of(sessions[0], mode, plan.seed)
    traits = {mode: known[mode] for mode in modes}
    asking = _Asking(sessions, plan, another, progress, time.monotonic() + plan.seconds)
    results = asking.all(everything, traits)
    late = {
        asked.mode
        for asked, result in results.items()
        if asked.claimed is not None and any(test.aspect is Aspect.UPDATES for test in result.differences)
    }
    late = {mode for mode in late if not traits[mode].own and mode.algorithm in READABLE}
    again = [asked for asked in everything if asked.mode in late]
    if again:
        differing = {mode: dataclasses.replace(traits[mode], own=True) for mode in late}
        results |= asking.all(again, traits | differing)
    return _with_floor(results)


def _with_floor(results: dict[Asked, Result]) -> list[Result]:
    """Another update is harmless where what it depends on was looked at: inconclusive where it could not be."""
    other = {
        asked.mode for asked, result in results.items() if any(t.cause is Cause.UPDATE for t in result.differences)
    }
    return [
        dataclasses.replace(
            result,
            outcome=Outcome.INCONCLUSIVE,
            reason=f"updates are not the reference's, and what they depend on was not seen: {result.reason}",
        )
        if asked.mode in other and asked.question.settles_updates and result.outcome is Outcome.SKIPPED
        else result
        for asked, result in results.items()
    ]


class _Asking:
    """Several processes that are asked whatever is next, each in a thread of its own."""

    def __init__(
        self,
        sessions: Sequence[Session],
        plan: Plan,
        another: Callable[[], Session],
        progress: Callable[[Result], None],
        until: float,
    ) -> None:
        self._sessions, self._plan, self._another = sessions, plan, another
        self._progress, self._until = progress, until
        self._lock = threading.Lock()
        self._waiting: list[Asked] = []

    def all(self, everything: Sequence[Asked], traits: dict[Mode, Traits]) -> dict[Asked, Result]:
        """The results in the order of the questions; without those that came after a refutation, if it ends there."""
        self._waiting = list(everything)
        results: dict[Asked, Result] = {}
        failed: list[BaseException] = []
        share = self._plan.false_alarm / max(1, shares(everything[0].size, list(traits))) if everything else 0.0

        def work(session: Session, at_home: tuple[str, ...]) -> None:
            # huge but finite answers are answers; what is ignored is a thread's own setting
            with np.errstate(over="ignore", invalid="ignore"):
                while (asked := self._next(at_home)) is not None:
                    result = self._asked(session, asked, share, traits[asked.mode])
                    with self._lock:
                        results[asked] = result
                        self._progress(result)
                    if self._plan.fail_fast and result.outcome is Outcome.REFUTED:
                        self._clear()

        def guarded(session: Session, at_home: tuple[str, ...]) -> None:
            try:
                work(session, at_home)
            except BaseException as error:
                self._clear()
                failed.append(error)

        if len(self._sessions) == 1:
            work(self._sessions[0], ())
        else:
            self._together(guarded, failed)
        if failed:
            raise failed[0]
        return {asked: results[asked] for asked in everything if asked in results}

    def _together(self, guarded: Callable[[Session, tuple[str, ...]], None], failed: list[BaseException]) -> None:
        # daemons: neither a fault nor an interrupt waits for what the others are at
        threads = [
            threading.Thread(target=guarded, args=(session, _AT_HOME[i % len(_AT_HOME)]), daemon=True)
            for i, session in enumerate(self._sessions)
        ]
        try:
            for thread in threads:
                thread.start()
            while not failed and any(thread.is_alive() for thread in threads):
                threads[0].join(_SECONDS_BETWEEN_LOOKS)
                threads[-1].join(_SECONDS_BETWEEN_LOOKS)
        finally:
            self._clear()
            if failed or any(thread.is_alive() for thread in threads):
                for session in self._sessions:
                    session.kill()

    def _next(self, at_home: tuple[str, ...]) -> Asked | None:
        """Take the first that is at home here among those about the first mechanism, or else whatever is first."""
        with self._lock:
            if not self._waiting:
                return None
            first = [a for a in self._waiting if (a.mode, a.title) == (self._waiting[0].mode, self._waiting[0].title)]
            chosen = next((a for name in at_home for a in first if a.question.name == name), self._waiting[0])
            self._waiting.remove(chosen)
            return chosen

    def _clear(self) -> None:
        with self._lock:
            self._waiting.clear()

    def _asked(self, session: Session, asked: Asked, share: float, traits: Traits) -> Result:
        """Ask one question, and again where it refutes narrowly."""
        missing = asked.question.missing(frozenset(session.description.capabilities))
        if missing is not None:
            return Result(asked.about, Outcome.SKIPPED, reason=missing)
        left = self._until - time.monotonic()
        if left < min(_LEAST_SECONDS, self._plan.seconds):
            reason = f"the budget of {self._plan.seconds:.3g} seconds was spent"
            return Result(asked.about, Outcome.INCONCLUSIVE, reason=reason, late=True)
        clock = Clock(left / (1 + len(self._waiting) // len(self._sessions)))
        first = self._once(session, asked, traits, share=share, clock=clock, seed=self._plan.seed)
        narrow = first.against and all(not t.deterministic and t.p_value > first.level**2 for t in first.against)
        if not narrow or time.monotonic() > self._until:
            return first
        second = self._once(session, asked, traits, share=share, clock=clock, seed=self._plan.seed + _FRESH)
        if second.outcome not in (Outcome.STANDS, Outcome.DEVIATES):
            return first
        seen = f"p = {first.against[0].p_value:.2g}, not confirmed by fresh runs"
        return dataclasses.replace(second, before=f"{asked.question.name} ({asked.mode}) showed {seen}")

    def _once(self, session: Session, asked: Asked, traits: Traits, *, share: float, clock: Clock, seed: int) -> Result:
        plan = self._plan
        tapes = [Tape()] if plan.record else []

        def another() -> Session:
            further = self._another()
            if plan.record:
                further.tape = Tape()
                tapes.append(further.tape)
            return further

        session.tape = tapes[0] if tapes else None
        result = ask(asked, in_hand(session, asked, plan, traits, another, seed=seed), clock, share)
        session.tape = None
        return dataclasses.replace(result, tapes=tuple(tapes), clock=clock, traits=traits)


def in_hand(
    session: Session, asked: Asked, plan: Plan, traits: Traits, another: Callable[[], Session], *, seed: int
) -> Context:
    """What a question has in hand: the same whether it is asked or its kept answers are examined."""
    small = asked.claimed is None
    return Context(
        session,
        asked.mode,
        generator(seed, asked),
        another,
        effort=plan.effort * (EFFORT if traits.own and small else 1.0),
        seeded=plan.seeded and small,
        scene_seed=plan.seed,
        own=traits.own,
        unit=traits.unit,
        processed=traits.processed,
        hides=traits.hides,
        reach=traits.reach,
    )


def ask(asked: Asked, context: Context, clock: Clock, share: float, *, level: float | None = None) -> Result:
    """Ask one question and draw the conclusion from its tests, each at its part of the share or at a known level."""
    question, claimed = asked.question, None if asked.claimed is None else asked.claimed.fitting()
    must = claimed is not None and question.as_claimed  # at the claimed size it must run
    strict = asked.mode.algorithm is Algorithm.OBJP
    answer = functools.partial(question.ask, context, claimed, clock)
    return concluded(asked.about, answer, share, level=level, must_run=must, strict=strict)


def concluded(
    about: About,
    question: Answer | Callable[[], Answer],
    share: float,
    *,
    level: float | None = None,
    must_run: bool = False,
    strict: bool = False,
) -> Result:
    """What the tests of an answer come to, each at an even part of the share or a known level; or why none are."""
    began = time.monotonic()

    def without(outcome: Outcome, reason: str, *, needed: bool = True) -> Result:
        return Result(about, outcome, reason=reason, seconds=time.monotonic() - began, needed=needed)

    try:
        answer = question if isinstance(question, Answer) else question()
    except NotApplicable as reason:
        return without(Outcome.SKIPPED, str(reason), needed=not isinstance(reason, NotNeeded))
    except Undecided as reason:
        return without(Outcome.INCONCLUSIVE, str(reason))
    except AdapterSkipped as skipped:
        return without(Outcome.INCONCLUSIVE, f"declared, but answered skipped: {skipped.reason}")
    except RefusedRequest as refused:
        return without(Outcome.INCONCLUSIVE if must_run else Outcome.SKIPPED, refused.reason)
    except AdapterFault as fault:
        if fault.fault is not Fault.REFUSED:
            raise
        # an error of its own on data that it may not be made for: no pass, and others may still be asked
        return without(Outcome.INCONCLUSIVE if must_run else Outcome.SKIPPED, fault.detail)
    level = share / max(1, sum(not test.deterministic for test in answer.tests)) if level is None else level
    seconds = time.monotonic() - began
    result = Result(about, Outcome.STANDS, answer, answer.missing, level, seconds, strict=strict)
    weak = next((test.weakness for test in answer.tests if test.weakness), "")
    if result.against or result.differences:
        outcome = Outcome.REFUTED if result.against else Outcome.DEVIATES
    elif weak:
        outcome, result = Outcome.INCONCLUSIVE, dataclasses.replace(result, reason=weak)
    else:
        outcome = Outcome.SKIPPED if answer.missing else Outcome.STANDS
    return dataclasses.replace(result, outcome=outcome)


@dataclass(frozen=True, slots=True)
class Traits:
    """What is found out about an implementation before it is judged, so that it is judged on its own terms.

    ``own``: its updates are not the reference's, so that noise is read by replays. ``unit``: the rounding of its
    arithmetic. ``processed``: values without noise of their own that are functions of what was released. ``hides``:
    its updates hide how large the noise was. ``reach``: the length over C of the longest records that it runs.
    """

    own: bool = False
    unit: float = DOUBLE
    processed: frozenset[str] = frozenset()
    hides: bool = False
    reach: float = max(EXTREME)


def traits_of(session: Session, mode: Mode, seed: int) -> Traits:
    """Ask for them; what cannot be found out is as in the reference."""
    rng = np.random.default_rng([seed, zlib.crc32(str(mode).encode())])
    found = Traits()
    with contextlib.suppress(NotApplicable, AdapterSkipped, RefusedRequest):
        found = dataclasses.replace(found, unit=working_unit(Context(session, mode, rng, _no_other)))
    context = Context(session, mode, rng, _no_other, unit=found.unit)
    with contextlib.suppress(NotApplicable, AdapterSkipped, RefusedRequest):
        found = dataclasses.replace(found, processed=processed_values(context))
    context = dataclasses.replace(context, processed=found.processed)
    if session.can(Capability.TRIALS):
        with contextlib.suppress(NotApplicable, AdapterSkipped):
            found = dataclasses.replace(found, reach=longest_run(context))
    with contextlib.suppress(NotApplicable, AdapterSkipped, RefusedRequest):
        found = dataclasses.replace(found, own=has_own_updates(context))
    if found.own and mode.algorithm in READABLE and session.can(Capability.REPLAY):
        with contextlib.suppress(NotApplicable, AdapterSkipped, RefusedRequest):
            found = dataclasses.replace(found, hides=hides_its_noise(context))
    if found.hides:
        with contextlib.suppress(NotApplicable, AdapterSkipped, RefusedRequest):
            found = dataclasses.replace(found, unit=working_unit(dataclasses.replace(context, hides=True)))
    return found


def _no_other() -> Session:
    raise AssertionError("no further process is started for this")


def finding(result: Result, measured: Callable[[Result], str] = lambda _: "") -> Finding:
    """The conclusion of one question as a finding; its cause is the one that explains the others, if one does.

    ``measured`` says what the noise that was measured costs, for a refutation.
    """
    about, answer, tests = result.about, result.answer, result.against or result.differences
    seen = answer.tests if answer is not None else ()
    blank = Finding(
        about,
        result.outcome,
        result.before or result.reason or (seen[0].detail if seen else ""),
        result.seconds,
        min((test.p_value for test in seen), default=None),
        result.level,
        trials=answer.runs or None if answer is not None else None,
        power=next((test.power for test in seen if test.power is not None), None),
        tightness=None if answer is None else answer.tightness,
    )
    if not tests:
        return blank
    under = headlines(test.cause for test in sorted(tests, key=lambda test: test.p_value))
    tests = sorted(tests, key=lambda test: (under[test.cause] is not test.cause, test.p_value))
    first, refuted = tests[0], result.outcome is Outcome.REFUTED
    lines = [_line(test) for test in tests]
    lines += [test.price() for test in tests if refuted and test.price is not None][:1]
    cost = measured(result) if refuted else ""
    where = f"without a seed, at {answer.size}: " if about.stage is Stage.CLAIMED and answer is not None else ""
    return dataclasses.replace(
        blank,
        detail="\n".join([f"{where}{lines[0]}", *lines[1:], *([cost] if cost else [])]),
        p_value=first.p_value,
        cause=first.cause,
        witness=first.witness,
        measured=cost,
        picture=None if first.draw is None else first.draw(),
    )


def _line(test: Test) -> str:
    chance = "" if test.deterministic else f" (p = {test.p_value:.2g})"
    shown = f"\n{test.witness}" if test.witness and test.witness != test.detail else ""
    return f"{test.name}: {test.detail}{chance}{shown}"


def not_asked(about: About, outcome: Outcome, reason: str) -> Finding:
    """A finding without a test: what could not be asked, or was not, and why."""
    return finding(Result(about, outcome, reason=reason))


@dataclass(frozen=True, slots=True)
class Covered:
    """One thing that was looked at, and at which size."""

    about: About
    size: str
    runs: int
    aspects: tuple[Aspect, ...]


@dataclass(frozen=True, slots=True)
class Uncovered:
    """One thing that was not looked at, and why."""

    about: About
    reason: str


def described(skipped: Iterable[Uncovered]) -> list[str]:
    """As a report prints them: those of one subject and one reason together."""
    together: dict[tuple[str, str], dict[str, None]] = {}
    for item in skipped:
        about = f" ({item.about.subject})" if item.about.subject else ""
        together.setdefault((about, harmless(" ".join(item.reason.split()))), {})[str(item.about)] = None
    return [f"{', '.join(names)}{about}: {reason}" for (about, reason), names in together.items()]


@dataclass(frozen=True, slots=True)
class Coverage:
    """The third part of a verdict, beside the outcome and the power: what was checked, at which size, and what not."""

    covered: tuple[Covered, ...] = ()
    skipped: tuple[Uncovered, ...] = ()
    rare: str = ""

    @classmethod
    def of(cls, results: Iterable[Result], rare: str = "") -> Coverage:
        """What questions and games looked at, and what they could not."""
        covered, skipped = [], []
        for result in results:
            answer = result.answer
            # a question may cover no aspect that a claim rests on, and was asked all the same
            if answer is not None and not answer.missing and (answer.covers or answer.tests):
                covered.append(Covered(result.about, answer.size, answer.runs, answer.covers))
            if result.needed and result.reason and result.outcome is not Outcome.STANDS:
                skipped.append(Uncovered(result.about, result.reason))
        return cls(tuple(covered), tuple(skipped), rare)

    def missing(self, subject: str, needed: Iterable[Aspect]) -> list[Aspect]:
        """What the claim about a subject rests on and no check looked at."""
        seen = {aspect for item in self.covered if item.about.subject == subject for aspect in item.aspects}
        return [aspect for aspect in needed if aspect not in seen]

    def gaps(self, about: About, needed: Iterable[Aspect], accepted: Sequence[Aspect]) -> list[Finding]:
        """A finding if no check looked at something that the claim rests on and that is not accepted unseen."""
        missing = [aspect for aspect in self.missing(about.subject, needed) if aspect not in accepted]
        if not missing:
            return []
        why = "; ".join(described(item for item in self.skipped if item.about.subject in ("", about.subject)))
        each = "it" if len(missing) == 1 else "them"
        text = f"the claim rests on {', '.join(missing)}, and no check looked at {each}: {why or 'no check ran'}"
        return [not_asked(about, Outcome.INCONCLUSIVE, text)]


def strictly(found: Finding) -> Finding:
    """The same, refuted where it deviates: for a claim file whose gate is strict."""
    if found.outcome is not Outcome.DEVIATES:
        return found
    return dataclasses.replace(found, outcome=Outcome.REFUTED, detail=f"strict: {found.detail}")
