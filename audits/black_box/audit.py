"""The audit of a black box: explore many pairs, choose pairs and scores on those runs, test on fresh ones."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from audits.black_box.betting import (
    LARGEST_NUMBER_OF_PAIRS,
    Candidate,
    Confirmed,
    Confirming,
    candidates,
    chosen,
)
from audits.black_box.source import PairSource
from audits.curves import PrivacyCurve
from audits.eprocess.curve_test import anytime_p_value
from audits.eprocess.point_test import smallest_detectable
from audits.errors import AuditError, NothingToAudit
from verification.judge import Result, concluded
from verification.neighbours.neighbours import Neighbours
from verification.outcome import About, Aspect, Cause, Outcome, Stage
from verification.pictures import scores
from verification.questions.question import Answer
from verification.statistics.test import Test
from verification.wire.faults import AdapterRefusal, AdapterSkipped, RefusedRequest
from verification.wire.session import Values

_TASTE_SECONDS = 0.1
_LARGEST_CHUNK = 500
_CHUNK_SECONDS = 4.0
_EXPLORE_SHARE, _CONFIRM_SHARE = 0.4, 0.5
_FEWEST = 20
_NO_TIME = 1e-6
BLACK_BOX = About("black-box", stage=Stage.GAMES)
_LOOKING, _TASTING, _TESTING = 0, 1, 2  # tasting: which pairs are taken, and how long a run takes

Chunk = tuple[Values, Values]
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BlackBoxPlan:
    """What is claimed and how hard is looked; fixed before the first run.

    Without a limit of ``seconds`` the same seed asks for the same runs. ``detect`` is the epsilon that must have been
    detectable, None for any; ``confidence`` that of the lower bound on epsilon, None for no bound.
    """

    curve: PrivacyCurve
    epsilon: float
    delta: float
    false_alarm: float = 1e-3
    confidence: float | None = 0.95
    explore: int = 800
    confirm: int = 3000
    seconds: float = 300.0
    detect: float | None = 4.0
    trees: int = 40
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.0 < self.false_alarm < 1.0 or not (self.confidence is None or 0.0 < self.confidence < 1.0):
            raise AuditError(f"need 0 < false alarm, confidence < 1, got {self.false_alarm!r} and {self.confidence!r}")
        if self.explore < _FEWEST or self.confirm < _FEWEST:
            raise AuditError(f"needs at least {_FEWEST} runs to look and to test, got {self.explore}, {self.confirm}")
        if self.detect is not None and not self.detect > self.epsilon:
            raise AuditError(
                f"the epsilon to be detected must exceed the claim, got {self.detect!r} for {self.epsilon!r}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class BlackBoxResult:
    """The verdict, the lower bound, and what they rest on."""

    judged: Result
    plan: BlackBoxPlan
    confirmed: Confirmed
    detectable: float
    runs: int
    seconds: float
    explored: list[tuple[str, str, float]]
    refused: dict[str, str]

    @property
    def outcome(self) -> Outcome:
        """What the judge concluded."""
        return self.judged.outcome


@dataclass(slots=True)
class _Running:
    source: PairSource
    pairs: Sequence[Neighbours]
    plan: BlackBoxPlan
    progress: Progress
    began: float = field(default_factory=time.monotonic)
    runs: int = 0

    def left(self) -> float:
        return self.plan.seconds - (time.monotonic() - self.began)

    def chunk(self, phase: int, pair: int, number: int, count: int) -> Chunk:
        key = np.random.SeedSequence(self.plan.seed, spawn_key=(phase, pair, number))
        return self.source.runs(self.pairs[pair], count, np.random.default_rng(key))

    def chunks(self, phase: int, tasks: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, Chunk]]:
        """Run tasks (pair, number, count), as many at once as there are workers; in their own order."""
        if self.source.workers == 1:
            for task in tasks:
                yield task[0], self.chunk(phase, *task)
        else:
            with ThreadPoolExecutor(self.source.workers) as pool:
                yield from zip((t[0] for t in tasks), pool.map(lambda t: self.chunk(phase, *t), tasks), strict=True)
        self.runs += 2 * sum(count for _, _, count in tasks)


def audit(
    source: PairSource,
    pairs: Sequence[Neighbours],
    plan: BlackBoxPlan,
    progress: Progress | None = None,
    about: About = BLACK_BOX,
) -> BlackBoxResult:
    """Audit; raises `NothingToAudit` where no pair is taken or the code is too slow for the time allowed."""
    running = _Running(source, pairs, plan, progress or (lambda _: None))
    taken, refused, seconds = _taste(running)
    found = _explore(running, taken, seconds)
    picked = chosen(found)
    budget = _affordable(running, seconds, LARGEST_NUMBER_OF_PAIRS, _CONFIRM_SHARE, plan.confirm)
    confirming = Confirming(picked, plan.curve, plan.false_alarm, budget)
    _confirm(running, confirming, seconds, budget)
    confirmed = confirming.concluded(delta=plan.delta, confidence=plan.confidence, pairs=pairs)
    share = max(each.share for each in picked)
    tested = max(confirming.done(), 1)
    detectable = math.inf
    if plan.detect is not None:
        detectable = smallest_detectable(
            plan.curve, claimed=plan.epsilon, alpha=plan.false_alarm * share, budget=min(tested, budget)
        )
    test = _test(plan, confirming, confirmed, detectable, tested)
    covers = (Aspect.RELEASED,) if confirmed.refuted_after is None else ()
    answer = Answer("neighbours", f"n = {pairs[0].count}", running.runs, (test,), covers)
    judged = concluded(about, lambda: answer, plan.false_alarm)
    looked = [(pairs[each.pair].name, each.score.name, each.growth) for each in found]
    spent = time.monotonic() - running.began
    return BlackBoxResult(judged, plan, confirmed, detectable, running.runs, spent, looked, refused)


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
    running.runs += 2 * len(taken)
    if not taken:
        raise NothingToAudit(f"the implementation takes none of the pairs: {next(iter(refused.values()), 'no pairs')}")
    return taken, refused, _seconds_of_a_run(running, taken[0])


def _seconds_of_a_run(running: _Running, pair: int) -> float:
    """Return how long one run takes, measured on enough of them that what a request costs by itself hardly counts."""
    if math.isinf(running.plan.seconds):
        return _NO_TIME
    count = 1
    while True:
        began = time.monotonic()
        running.chunk(_TASTING, pair, count, count)
        running.runs += 2 * count
        took = time.monotonic() - began
        if took > _TASTE_SECONDS or count >= _LARGEST_CHUNK:
            return max(took / (2 * count), _NO_TIME)
        count *= 8


def _affordable(running: _Running, seconds: float, pairs: int, share: float, wanted: int) -> int:
    """Return how many runs a pair and neighbour fit into a share of the time."""
    within = share * running.plan.seconds * running.source.workers / (2.0 * seconds * pairs)
    return max(0, int(min(wanted, within)))


def _explore(running: _Running, taken: Sequence[int], seconds: float) -> list[Candidate]:
    plan = running.plan
    count = _affordable(running, seconds, len(taken), _EXPLORE_SHARE, plan.explore)
    if count < _FEWEST:
        raise NothingToAudit(
            f"one run takes {seconds:.3g} s: {plan.seconds:g} s allow {count} runs of each neighbour, {_FEWEST} are "
            "needed; allow more time or fewer pairs"
        )
    size = _chunk_size(seconds, count)
    numbers = range(-(-count // size))
    tasks = [(pair, n, min(size, count - n * size)) for n in numbers for pair in taken]
    seen: dict[int, list[Chunk]] = {pair: [] for pair in taken}
    for done, (pair, chunk) in enumerate(running.chunks(_LOOKING, tasks), 1):
        seen[pair].append(chunk)
        running.progress(f"looking: {done} of {len(tasks)} parts, {running.left():.0f} s left")
    found: list[Candidate] = []
    for pair in taken:
        running.progress(f"learning scores: {running.pairs[pair].name}, {running.left():.0f} s left")
        found += candidates(pair, seen[pair], plan.curve, trees=plan.trees)
    return found


def _confirm(running: _Running, confirming: Confirming, seconds: float, budget: int) -> None:
    size = _chunk_size(seconds, budget)
    number = 0
    while confirming.done() < budget and running.left() > 0.0:
        count = min(size, budget - confirming.done())
        tasks = [(pair, number, count) for pair in confirming.pairs]
        for pair, chunk in running.chunks(_TESTING, tasks):
            confirming.add(pair, chunk)
        number += 1
        wealth = confirming.bet()
        done = f"{confirming.done()} of {budget} trial pairs"
        running.progress(f"testing: {done}, log-wealth {wealth:.1f}, {running.left():.0f} s left")


def _chunk_size(seconds: float, wanted: int) -> int:
    return max(1, min(wanted, _LARGEST_CHUNK, int(_CHUNK_SECONDS / seconds)))


def _test(plan: BlackBoxPlan, confirming: Confirming, confirmed: Confirmed, detectable: float, tested: int) -> Test:
    """The test for the judge: a p-value, and what it would have detected where it does not reject."""
    claim, weakness = plan.curve.describe(), ""
    bets = f"{tested} trial pairs of each of {len(confirming.pairs)} pairs of neighbours"
    if confirmed.refuted_after is not None:
        text = f"{claim} is refuted after {confirmed.refuted_after} trial pairs, by {confirmed.best}"
    elif plan.detect is None:
        text = f"{claim} is not refuted by {bets}"
    elif not detectable <= plan.detect:
        seen = "no leak" if not math.isfinite(detectable) else f"only an epsilon of {detectable:.3g}"
        text = weakness = (
            f"{claim} is not refuted, but {seen} could have been detected in {tested} trial pairs, not {plan.detect:g}"
        )
    else:
        text = (
            f"{claim} is not refuted by {bets}; an epsilon of {detectable:.3g} that one of them shows in a score would "
            "have been detected. This is no proof"
        )
    first, second = confirming.best_scores()
    return Test(
        "learned scores",
        Aspect.RELEASED,
        anytime_p_value(confirmed.log_wealth),
        text,
        Cause.DISTINGUISHED,
        draw=lambda: scores(confirmed.best, first, second),
        weakness=weakness,
    )
