"""The audit of a black box: run many pairs a little, the better ones more, and bet on every round by what is known."""

from __future__ import annotations

import math
import queue
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from pydantic import JsonValue

from audits.black_box.scores import Candidate, Chunk, candidate
from audits.curves import PrivacyCurve
from audits.eprocess.curve_test import Round, Wealth, distinguished
from audits.eprocess.lower_bounds import replayed_bound
from audits.eprocess.power import Shape, smallest_found, trials_needed
from audits.errors import AuditError, NothingToAudit
from verification.judge import Result, concluded
from verification.neighbours.neighbours import Neighbours
from verification.outcome import About, Aspect, Outcome, Stage
from verification.questions.question import Answer
from verification.statistics.test import Test
from verification.wire import Face
from verification.wire.faults import AdapterRefusal, AdapterSkipped, RefusedRequest
from verification.wire.process import Limits
from verification.wire.session import HiddenPair, Session, Values

_TASTE_SECONDS = 0.1
_LARGEST_CHUNK = 500
_CHUNK_SECONDS = 4.0
_USED, _LOOKED = 0.85, 0.4  # of the time for runs (the rest is to learn scores), and of the runs to compare pairs
_FEWEST = 20
_FEWEST_OF_A_PAIR = 8
_FINALISTS = 2
_AT_LEAST, _AT_MOST = 3000, 200_000  # trial pairs to test, where no number is given
_NO_TIME = 1e-6
_SLOW, _EVERY, _SLOW_LOOKED = 2000, 3, 0.1
"""Below so many affordable trial pairs only each third pair is run, and so much of them compares pairs: to tell many
pairs apart takes more runs than to use one that shows the leak, and most leaks show on several."""
BLACK_BOX = About("black-box", stage=Stage.GAMES)
_RUNNING, _TASTING = 0, 1  # tasting: which pairs are taken, and how long a run takes

Progress = Callable[[str], None]


# -- where runs come from: adapter processes, as many as there are workers -------------------------------------------


class PairSource(Protocol):
    """Runs of both neighbours, fresh ones at every call; may be called by ``workers`` threads at once."""

    @property
    def workers(self) -> int:
        """How many calls may be under way."""
        ...

    def runs(self, pair: Neighbours, count: int, rng: np.random.Generator) -> tuple[Values, Values]:
        """Return ``count`` runs of each neighbour."""
        ...


class WireSource(ExitStack):
    """Adapter processes behind the wire; a context manager that stops them all."""

    def __init__(
        self,
        command: Sequence[str],
        limits: Limits,
        *,
        workers: int,
        request: Mapping[str, JsonValue] | None = None,
        seeded: bool = False,
    ) -> None:
        if workers < 1:
            raise AuditError(f"workers must be at least 1, got workers={workers!r}")
        super().__init__()
        self.workers, self._seeded, self.name = workers, seeded, ""
        self._idle: queue.Queue[Session] = queue.Queue()
        with ExitStack() as started:
            for _ in range(workers):
                session = started.enter_context(Session(command, limits, Face.BLACK_BOX, members=request))
                self.name = session.description.name
                self._idle.put(session)
            self.push(started.pop_all())

    def runs(self, pair: Neighbours, count: int, rng: np.random.Generator) -> tuple[Values, Values]:
        """Return ``count`` runs of each neighbour; nothing says which is which."""
        session = self._idle.get()
        try:
            return HiddenPair(session, pair.first, pair.second, rng).black_box_trials(count, seeded=self._seeded)
        finally:
            self._idle.put(session)


# -- what is claimed, and what was found ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BlackBoxPlan:
    """What is claimed and how hard is looked; fixed before the first run.

    Without a limit of ``seconds`` the same seed asks for the same runs. ``explore`` is the number of runs of a pair and
    neighbour that pairs are compared by, on average; ``confirm`` that of trial pairs of the best ones after that, None
    for as many as ``detect`` needs. ``detect`` is the epsilon that must have been detectable where noise is added, None
    for any. ``bound``: whether a lower bound on epsilon is computed.
    """

    curve: PrivacyCurve
    epsilon: float
    delta: float
    false_alarm: float = 1e-3
    bound: bool = True
    explore: int = 800
    confirm: int | None = None
    seconds: float = 300.0
    detect: float | None = None
    trees: int = 40
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.0 < self.false_alarm < 0.5:
            raise AuditError(f"need 0 < false alarm < 0.5, got {self.false_alarm!r}")
        if self.explore < _FEWEST or (self.confirm is not None and self.confirm < _FEWEST):
            raise AuditError(f"needs at least {_FEWEST} runs to look and to test, got {self.explore}, {self.confirm}")
        if self.detect is not None and not self.detect > self.epsilon:
            raise AuditError(
                f"the epsilon to be detected must exceed the claim, got {self.detect!r} for {self.epsilon!r}"
            )

    @property
    def confidence(self) -> float:
        """Of the lower bound: see `lower_bound`."""
        return 1.0 - 2.0 * self.false_alarm

    @property
    def noise(self) -> Shape:
        """The shape of a leak through added noise."""
        return Shape.of_noise(self.delta)

    def needed(self, epsilon: float) -> float:
        """About how many trial pairs find such an epsilon where noise is added."""
        return trials_needed(self.curve, self.noise.tails(epsilon, self.delta), alpha=self.false_alarm)

    def found(self, shape: Shape, trials: int) -> float:
        """The smallest epsilon of this shape that so many trial pairs find."""
        return smallest_found(self.curve, self.epsilon, self.delta, shape, alpha=self.false_alarm, trials=trials)

    @property
    def wanted(self) -> int:
        """How many trial pairs are to be tested if there is time."""
        if self.confirm is not None:
            return self.confirm
        needed = self.needed(self.detect) if self.detect is not None else 0.0
        return int(min(max(1.1 * needed, _AT_LEAST), _AT_MOST))


@dataclass(frozen=True, slots=True)
class Detectable:
    """What would have been found: an epsilon of added noise, one of worst cases; and what twice the claim takes."""

    noise: float
    worst: float
    twice: float  # trial pairs
    seconds: float  # for these and for the search of a pair, on this machine


@dataclass(frozen=True, slots=True, eq=False)
class BlackBoxResult:
    """The verdict, the lower bound, and what they rest on."""

    judged: Result
    plan: BlackBoxPlan
    refuted_after: int | None
    log_wealth: float
    epsilon: float
    by: str
    detectable: Detectable | None
    tested: int
    runs: int
    seconds: float
    parts: list[tuple[str, int, float]]  # what was bet on, in how many trial pairs, and by how much the log-wealth rose
    explored: list[tuple[str, str, float]]
    refused: dict[str, str]

    @property
    def outcome(self) -> Outcome:
        """What the judge concluded."""
        return self.judged.outcome


@dataclass(slots=True)
class _Running:
    """The runs of an audit, what they taught about each pair, and the bets on them."""

    source: PairSource
    pairs: Sequence[Neighbours]
    plan: BlackBoxPlan
    progress: Progress
    wealth: Wealth
    clock: Callable[[], float]
    began: float
    runs: int = 0
    left: int = 0  # trial pairs that may still come
    seen: dict[int, list[Chunk]] = field(default_factory=dict)
    known: dict[int, Candidate] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)
    won: list[float] = field(default_factory=list)
    slow: bool = False  # few runs are affordable

    def seconds_left(self) -> float:
        return self.plan.seconds - (self.clock() - self.began)

    def chunk(self, phase: int, pair: int, number: int, count: int) -> Chunk:
        key = np.random.SeedSequence(self.plan.seed, spawn_key=(phase, pair, number))
        return self.source.runs(self.pairs[pair], count, np.random.default_rng(key))

    def _chunks(self, tasks: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, Chunk]]:
        """Run tasks (pair, number, count) in their order, as many at once as there are workers, while there is time."""
        workers = self.source.workers
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, len(tasks), workers):
                if self.seconds_left() <= 0.0:
                    return
                now = tasks[start : start + workers]
                found = pool.map(lambda task: self.chunk(_RUNNING, *task), now)
                yield from zip((task[0] for task in now), found, strict=True)
                self.runs += 2 * sum(task[2] for task in now)

    def play(self, pairs: Sequence[int], count: int, size: int) -> None:
        """Run pairs, bet on the runs by what was known before, then learn from them."""
        parts = [min(size, count - start) for start in range(0, count, size)]
        tasks = [(pair, len(self.seen.get(pair, ())) + n, part) for n, part in enumerate(parts) for pair in pairs]
        fresh: dict[int, list[Chunk]] = {}
        for done, (pair, chunk) in enumerate(self._chunks(tasks), 1):
            fresh.setdefault(pair, []).append(chunk)
            told = f"{len(pairs)} pairs, part {done} of {len(tasks)}, log-wealth {self.wealth.log_now:.1f}"
            self.progress(f"{told}, {self.seconds_left():.0f} s left")
        for pair, chunks in fresh.items():
            known = self.known.get(pair)
            if known is not None:
                first, second = (np.concatenate([known.of(chunk[side]) for chunk in chunks]) for side in (0, 1))
                self.rounds.append(Round(pair, known.score.name, known.tails, first, second, self.left))
                self.won.append(self.wealth.add(self.rounds[-1]))
            self.left -= sum(part for part in parts[: len(chunks)])
            self.seen.setdefault(pair, []).extend(chunks)
            self.known[pair] = candidate(pair, self.seen[pair], self.plan.curve, trees=self.plan.trees, few=self.slow)

    def ranked(self, pairs: Sequence[int]) -> list[int]:
        return sorted(pairs, key=lambda pair: self.known[pair].rank if pair in self.known else (1.0, 0.0, pair))

    def part(self, number: int) -> str:
        return f"{self.pairs[self.rounds[number].pair].name}, {self.rounds[number].score} score"


def audit(
    source: PairSource,
    pairs: Sequence[Neighbours],
    plan: BlackBoxPlan,
    progress: Progress | None = None,
    about: About = BLACK_BOX,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> BlackBoxResult:
    """Audit; raises `NothingToAudit` where no pair is taken or the code is too slow for the time allowed."""
    wealth = Wealth(plan.curve, plan.false_alarm)
    running = _Running(source, pairs, plan, progress or (lambda _: None), wealth, clock, clock())
    taken, refused, seconds = _taste(running)
    taken, looked, confirm = _split(running, taken, seconds)
    size = max(1, min(_LARGEST_CHUNK, int(_CHUNK_SECONDS / seconds)))
    running.left = looked + confirm
    finalists = _search(running, taken, looked, size)
    tested = _confirm(running, finalists, confirm, size)
    detectable = None
    if plan.detect:
        twice = plan.needed(2.0 * plan.epsilon) if plan.epsilon > 0.0 else math.inf
        noise, worst = (plan.found(shape, tested) for shape in (plan.noise, Shape.WORST_CASE))
        detectable = Detectable(noise, worst, twice, (twice + looked) * 2.0 * seconds / (source.workers * _USED))
    refuted = wealth.refuted_after is not None
    test = _test(running, tested, detectable)
    covers = () if refuted else (Aspect.RELEASED,)
    answer = Answer("neighbours", f"n = {pairs[0].count}", running.runs, (test,), covers)
    judged = concluded(about, lambda: answer, plan.false_alarm)
    epsilon = 0.0
    if plan.bound:
        epsilon = replayed_bound(running.rounds, plan.epsilon, plan.delta, plan.false_alarm, refuted=refuted)
    parts: dict[str, tuple[int, float]] = {}
    for number, played in enumerate(running.rounds):
        trials, won = parts.get(running.part(number), (0, 0.0))
        parts[running.part(number)] = trials + played.first.size, won + running.won[number]
    return BlackBoxResult(
        judged,
        plan,
        wealth.refuted_after,
        wealth.log_largest,
        epsilon,
        running.part(int(np.argmax(running.won))) if running.rounds and epsilon else "nothing",
        detectable,
        tested,
        running.runs,
        clock() - running.began,
        [(what, *each) for what, each in parts.items()],
        [(pairs[pair].name, known.score.name, known.growth) for pair, known in sorted(running.known.items())],
        refused,
    )


def _taste(running: _Running) -> tuple[list[int], dict[str, str], float]:
    """Return the pairs that the implementation takes, the others with its reason, and the seconds of one run."""
    taken, refused = [], {}
    for number, pair in enumerate(running.pairs):
        try:
            running.chunk(_TASTING, number, 0, 1)
        except (AdapterRefusal, AdapterSkipped, RefusedRequest) as refusal:
            refused[pair.name] = refusal.reason if isinstance(refusal, RefusedRequest) else str(refusal)
            continue
        taken.append(number)
        running.runs += 2
    if not taken:
        raise NothingToAudit(f"the implementation takes none of the pairs: {next(iter(refused.values()), 'no pairs')}")
    return taken, refused, _seconds_of_a_run(running, taken[0])


def _seconds_of_a_run(running: _Running, pair: int) -> float:
    """Return how long one run takes, measured on enough of them that what a request costs by itself hardly counts."""
    if math.isinf(running.plan.seconds):
        return _NO_TIME
    count = 1
    while True:
        began = running.clock()
        running.chunk(_TASTING, pair, count, count)
        running.runs += 2 * count
        took = running.clock() - began
        if took > _TASTE_SECONDS or count >= _LARGEST_CHUNK:
            return max(took / (2 * count), _NO_TIME)
        count *= 8


def _split(running: _Running, taken: list[int], seconds: float) -> tuple[list[int], int, int]:
    """Return the pairs to run, and how many trial pairs are for comparing them and for testing the best."""
    plan = running.plan
    affordable = _USED * running.seconds_left() * running.source.workers / (2.0 * seconds)
    if affordable < 2 * _FEWEST:
        raise NothingToAudit(
            f"one run takes {seconds:.3g} s: {plan.seconds:g} s allow {max(int(affordable), 0)} trial pairs, "
            f"{2 * _FEWEST} are needed; allow more time"
        )
    running.slow = affordable < _SLOW
    if running.slow:
        kept = taken[::_EVERY]
        looked = max(min(plan.explore * len(kept), _SLOW_LOOKED * affordable), _FEWEST_OF_A_PAIR * len(kept))
        return kept, int(looked), int(min(plan.wanted, affordable - looked))
    looked = min(plan.explore * len(taken), _LOOKED * affordable)
    kept = taken[: max(_FINALISTS, int(looked / (_stages(len(taken)) * _FEWEST_OF_A_PAIR)))]
    return kept, int(looked), int(min(plan.wanted, affordable - looked))


def _stages(pairs: int) -> int:
    """How often half of the pairs are left out, until two are left; the first comparison counts for itself."""
    return max(1, math.ceil(math.log2(max(pairs, 1) / _FINALISTS)))


def _search(running: _Running, taken: Sequence[int], looked: int, size: int) -> list[int]:
    """Run all pairs, then the better half of them twice as often, and so on; return the best two.

    Where the implementation is slow all are run once, and none is left out.
    """
    stages, active = _stages(len(taken)), list(taken)
    if running.slow:
        running.play(active, max(looked // len(active), _FEWEST_OF_A_PAIR), size)
        return active
    for _ in range(stages):
        running.play(active, max(looked // (stages * len(active)), _FEWEST_OF_A_PAIR), size)
        active = running.ranked(active)[: max(_FINALISTS, math.ceil(len(active) / 2))]
    return active


def _confirm(running: _Running, finalists: Sequence[int], confirm: int, size: int) -> int:
    """Run the better of the finalists, as often again as it was run before; return the number of trial pairs tested."""
    tested = 0
    while tested < confirm and running.seconds_left() > 0.0:
        if running.wealth.refuted_after is not None and tested >= _AT_LEAST:
            break  # enough for a lower bound
        pair = running.ranked(finalists)[0]
        known = sum(len(next(iter(chunk[0].values()))) for chunk in running.seen.get(pair, ()))
        before = running.wealth.trials
        running.play([pair], min(max(known, _FEWEST), confirm - tested), size)
        tested += running.wealth.trials - before
        if running.wealth.trials == before:
            break  # no time was left for a single run
    return tested


def _test(running: _Running, tested: int, detectable: Detectable | None) -> Test:
    """The test for the judge: a p-value, and what it would have detected where it does not reject."""
    plan, wealth = running.plan, running.wealth
    claim, weak = plan.curve.describe(), False
    best = int(np.argmax(running.won)) if running.rounds else None
    shown = "nothing" if best is None else running.part(best)
    if wealth.refuted_after is not None:
        text = f"{claim} is refuted after {wealth.refuted_after} trial pairs, by {shown}"
    elif detectable is None:
        text = f"{claim} is not refuted by {wealth.trials} trial pairs of {len(running.known)} pairs of neighbours"
    else:
        shapes = (f"{each:.3g}" if math.isfinite(each) else "none" for each in (detectable.noise, detectable.worst))
        noise, worst, at = *shapes, f" at delta = {plan.delta:g}" if plan.delta else ""
        text = (
            f"{claim} is not refuted. Smallest epsilon that {tested} trial pairs would have found, if a score shows "
            f"all of it: {noise} for {plan.noise.value} leaks{at}, {worst} for worst-case leaks"
        )
        if not detectable.noise <= (plan.detect or math.inf):
            weak, text = True, f"{text}: too little to say anything about an epsilon of {plan.detect:.3g}"
        if not detectable.noise <= 2.0 * plan.epsilon:
            text += f". Twice the claim needs {_more(detectable)}"
    played = running.rounds[best] if best is not None else None
    scored = None if played is None else (shown, played.first, played.second)
    return distinguished("learned scores", wealth.log_largest, text, scored, weak=weak)


def _more(detectable: Detectable) -> str:
    if not math.isfinite(detectable.seconds):
        return "more than can be run"
    seconds = detectable.seconds
    span = f"{seconds / 60:.0f}m" if seconds < 7200 else f"{seconds / 3600:.0f}h"
    return f"about {detectable.twice:.2g} trial pairs, here --budget {span if seconds >= 60 else '1m'}"
