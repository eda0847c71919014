"""One audit: chunks of trial pairs are run and scored, in order, until the claim is refuted or the budget is spent.

Its power is computed by simulation: the same test applied to the claimed mechanism with less noise.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass

import numpy as np

from accountant.mechanisms.words import Algorithm, Release
from audits.black_box.audit import BlackBoxPlan, audit
from audits.curves import PrivacyCurve
from audits.eprocess.curve_test import CurveTest, anytime_p_value, design_test, distinguished, refuted_after
from audits.eprocess.power import lack_of_power, smallest_caught, smallest_shown
from audits.eprocess.scores import SampledScores
from audits.errors import AuditError, NothingToAudit
from audits.games.executors import Checkpoint, Chunk, Scored, Target, chunks, score_chunk, workers_of
from audits.games.game import Game, Subject, about_game, curve_of
from audits.games.plans import BOUND, COPIES, Planned, ordinary_parameters, sees_every_iterate
from verification.judge import Result, concluded
from verification.neighbours.families import Domain, library
from verification.neighbours.neighbours import Neighbours
from verification.outcome import Aspect, Outcome
from verification.questions.question import Answer
from verification.served.translate import sensitivities
from verification.wire.arrays import Floats
from verification.wire.messages import Capability, Show
from verification.wire.parameters import NON_PRIVATE, SCHEMES, Law, Parameters
from verification.wire.session import HiddenPair, Session, Values

CHUNK = 250
DEFAULT_DIVISOR = 1.2
_DESIGN_SAMPLES = 40_000


@dataclass(frozen=True, slots=True, eq=False)
class AuditPlan:
    """Everything an audit's conclusion depends on, fixed before its first trial."""

    planned: Planned
    curve: PrivacyCurve
    test: CurveTest
    alpha: float
    pairs: int
    seed: int
    stream: int
    wanted: float | None  # the noise divisor that must be detectable
    limit: str = ""  # why no number of runs would detect less

    @property
    def game(self) -> Game:
        """What is played."""
        return self.planned.game

    def chunks(self) -> Sequence[Chunk]:
        """Return the chunks in the order in which they are bet on."""
        return chunks(self.seed, self.stream, self.pairs, CHUNK)


@dataclass(frozen=True, slots=True, eq=False)
class AuditResult:
    """The scores pair by pair, the wealth after each pair, and what the judge concluded."""

    plan: AuditPlan
    first: Floats
    second: Floats
    log_wealth: Floats
    judged: Result
    seconds: float
    noise: Sequence[tuple[Floats, int]] = ()  # of the runs on the second neighbour, as far as it can be read


def plan_audit(
    planned: Planned,
    subject: Subject,
    *,
    alpha: float,
    pairs: int | None = None,
    seed: int,
    stream: int = 0,
    power: float | None = None,
    limit: str = "",
) -> AuditPlan:
    """Design the bets from the claim alone (a simulation of it with less noise), for ``pairs`` trial pairs.

    By default as many as show the violation ``power`` (a noise divisor), where it is demanded of this game; where no
    audit of a bearable size can, as many as show the next larger one that can be shown. The verdict is still judged by
    what was demanded, so such an audit can refute but never stand.
    """
    if not 0.0 < alpha < 1.0:
        raise AuditError(f"alpha must be in (0, 1), got alpha={alpha!r}")
    curve = curve_of(subject.ledger(planned.game.records, planned.game.parameters))
    model = SampledScores(planned.simulate, _DESIGN_SAMPLES, seed=0)
    wanted = power if planned.demanded else None
    focus = wanted
    if pairs is None:
        least = wanted if wanted is not None else DEFAULT_DIVISOR
        shown, pairs = smallest_shown(curve, model, alpha, least)
        focus = wanted if shown == least else shown
    test = design_test(curve, model, 1.0, alpha=alpha, budget=pairs, focus=focus)
    return AuditPlan(planned, curve, test, alpha, pairs, seed, stream, wanted, limit)


Progress = Callable[[int, float], None]
"""Called with the trial pairs done and the present log-wealth."""


def run_audit(
    plan: AuditPlan,
    target: Target,
    pool: Executor,
    *,
    deadline: float | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Run until refuted, finished, or past ``deadline`` (of time.monotonic); then compute its power.

    Stopping at any of these moments is sound: the e-process is valid at every time. Chunks are bet on in their own
    order whoever finishes first, so the result does not depend on the executor.
    """
    began = time.monotonic()
    first, second = np.zeros(0), np.zeros(0)
    wealth, noise = np.zeros(0), []
    for scored in _in_order(plan, target, pool, deadline, checkpoint):
        first, second = np.concatenate([first, scored.first]), np.concatenate([second, scored.second])
        wealth = plan.test.log_wealth(plan.curve, first, second)
        if scored.noise is not None:
            noise.append(scored.noise)
        if progress is not None:
            progress(first.size, float(wealth[-1]))
        if anytime_p_value(float(wealth.max())) <= plan.alpha:
            break
    judged = judged_scores(plan, first, second)
    return AuditResult(plan, first, second, wealth, judged, time.monotonic() - began, noise)


def judged_scores(plan: AuditPlan, first: Floats, second: Floats) -> Result:
    """Hand the judge the test: a p-value, and what it would have detected where it does not reject."""
    wealth = plan.test.log_wealth(plan.curve, first, second) if first.size else np.zeros(0)
    game, trials = plan.game, wealth.size
    largest = float(wealth.max(initial=0.0))
    power, weakness = None, ""
    if anytime_p_value(largest) > plan.alpha:
        simulate, wanted = plan.planned.simulate, plan.wanted
        power = smallest_caught(
            plan.test, plan.curve, simulate, alpha=plan.alpha, trials=trials, simulations=150, wanted=wanted
        )
        weakness = lack_of_power(power, plan.wanted)
        shown = f"; {power.describe()}" if power is not None and not weakness else f", {weakness}"
        detail = f"not refuted by {trials} trial pairs{shown}" if trials else "no trial pair was run in the time left"
        detail += f"; {plan.limit}" if plan.limit else ""
    else:
        detail = f"refuted after {int(min(float(refuted_after(wealth, plan.alpha)), trials))} trial pairs"
    text = f"claim {plan.curve.describe()}: {detail}"
    test = distinguished(game.name, largest, text, (game.name, first, second), power=power, weak=bool(weakness))
    size = f"n = {game.records}, T = {game.parameters.iterations}"
    answer = Answer(game.name, size, 2 * trials, (test,), (Aspect.RELEASED,) if power is not None else ())
    return concluded(game.about, lambda: answer, plan.alpha)


def _in_order(
    plan: AuditPlan, target: Target, pool: Executor, deadline: float | None, checkpoint: Checkpoint | None
) -> Iterator[Scored]:
    """Yield the chunks in order, keeping a few under way; none is started after the deadline."""
    waiting: list[Future[Scored] | Scored] = []
    todo = iter(plan.chunks())
    done = checkpoint.done if checkpoint is not None else {}
    ahead = workers_of(pool) + (0 if workers_of(pool) == 1 else 2)
    try:
        while True:
            while len(waiting) < ahead and (chunk := _next(todo, deadline)) is not None:
                ready = done.get(chunk.number)
                if ready is not None:
                    waiting.append(ready)
                else:
                    waiting.append(pool.submit(score_chunk, target, plan.game, plan.planned.attack, chunk))
            if not waiting:
                return
            head = waiting.pop(0)
            scored = head if isinstance(head, Scored) else head.result()
            if checkpoint is not None:
                checkpoint.add(scored)
            yield scored
    finally:
        for rest in waiting:
            if not isinstance(rest, Scored):
                rest.cancel()


def _next(todo: Iterator[Chunk], deadline: float | None) -> Chunk | None:
    if deadline is not None and time.monotonic() > deadline:
        return None
    return next(todo, None)


# -- the game that presumes nothing about the implementation: an audit of a black box, of an algorithm of the paper --
# The pairs are those at which unknown code tends to leak, the scores are learned, and the bets are made on fresh runs
# (`audits/black_box`). What is known is the claim: the whole curve of the mechanism at a few records.

LEARNED = "learned-scores"
EXPLORED, CONFIRMED = 400, 1000
"""Runs of each neighbour: of every pair to learn from, and of the chosen pairs to bet on."""
_MU = 0.5
_DIMENSION = 3
_OTHERS = 3


@dataclass(frozen=True, slots=True)
class SessionRuns:
    """Runs of an algorithm of the protocol, from one session."""

    session: Session
    algorithm: Algorithm
    parameters: Parameters
    show: Show
    seeded: bool
    workers: int = 1

    def runs(self, pair: Neighbours, count: int, rng: np.random.Generator) -> tuple[Values, Values]:
        """Return ``count`` runs of each neighbour; nothing tells the implementation which is which."""
        hidden = HiddenPair(self.session, pair.first, pair.second, rng)
        both = hidden.trials(self.algorithm, self.parameters, count, show=self.show, seeded=self.seeded)
        return dict(both[0].values), dict(both[1].values)


def learned_game(session: Session, subject: Subject, seed: int, *, seeded: bool, alpha: float) -> Result:
    """Play at this false-alarm probability, on more records where few are refused; skipped where nothing is offered."""
    about = about_game(subject.mode, LEARNED)
    if subject.algorithm not in session.description.algorithms or not session.can(Capability.TRIALS):
        reason = f"the implementation offers no trials of {subject.algorithm}"
        return Result(about, Outcome.SKIPPED, reason=reason)
    if subject.algorithm in NON_PRIVATE or (subject.release is Release.PRIMAL and not session.can(Capability.PRIMAL)):
        return Result(about, Outcome.SKIPPED, reason=f"{subject.mode} is not offered, or claims nothing")
    refused = ""
    for copies in COPIES:
        records = 1 + _OTHERS * copies
        parameters = _parameters(session, subject, records)
        show = Show.EVERY_ITERATE if sees_every_iterate(subject, session) else Show.LAST
        source = SessionRuns(session, subject.algorithm, parameters, show, seeded)
        plan = BlackBoxPlan(
            curve_of(subject.ledger(records, parameters)),
            0.0,
            0.0,
            false_alarm=alpha,
            bound=False,
            explore=EXPLORED,
            confirm=CONFIRMED,
            seconds=math.inf,
            trees=0,
            seed=seed,
        )
        try:
            return audit(source, library(Domain(records, _DIMENSION, 8.0 * BOUND)), plan, about=about).judged
        except NothingToAudit as reason:
            refused = str(reason)
    return Result(about, Outcome.INCONCLUSIVE, reason=refused)


def _parameters(session: Session, subject: Subject, count: int) -> Parameters:
    steps = 2 if sees_every_iterate(subject, session) else 1

    def with_sigma(sigma: float) -> Parameters:
        return ordinary_parameters(session, subject, (count, _DIMENSION), [0.5] * steps, sigma, epsilon=_MU)

    unit = with_sigma(1.0)
    if SCHEMES[subject.algorithm].law is not Law.GAUSSIAN:
        return unit
    moved = float(np.linalg.norm(sensitivities(subject.algorithm, unit, count)))
    if subject.algorithm is Algorithm.DPSVRG:
        moved *= math.sqrt(2.0)
    return with_sigma(moved / _MU)
