"""One audit: chunks of trial pairs are run and scored, in order, until the claim is refuted or the budget is spent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from audits.curves.privacy_curve import PrivacyCurve
from audits.errors import AuditError, NoPower
from audits.estimators.curve_eprocess import STOP_EARLY, CurveTest, design_test, refuted_after
from audits.estimators.design import log_optimal
from audits.games.attacks import Attack, LikelihoodRatio
from audits.games.game import Game
from audits.score_models.model import SampledScores, ScoreModel, Simulator
from audits.trials.checkpoint import Checkpoint
from audits.trials.executors import Chunk, Scored, Target, chunks, score_chunk, workers_of
from audits.trials.power import smallest_caught
from audits.trials.verdict import Verdict, judge
from verification.wire.arrays import Floats

CHUNK = 250
DEFAULT_DIVISOR = 1.2
LARGEST_AUDIT = 200_000
_LARGEST_DIVISOR = 16.0
_LADDER = 1.25
_DESIGN_SAMPLES = 40_000


@dataclass(frozen=True, slots=True, eq=False)
class AuditPlan:
    """Everything an audit's conclusion depends on, fixed before its first trial."""

    game: Game
    curve: PrivacyCurve
    test: CurveTest
    simulate: Simulator
    alpha: float
    pairs: int
    seed: int
    stream: int
    wanted: float | None
    attack: Attack

    def chunks(self) -> Sequence[Chunk]:
        """Return the chunks in the order in which they are bet on."""
        return chunks(self.seed, self.stream, self.pairs, CHUNK)


@dataclass(frozen=True, slots=True, eq=False)
class AuditResult:
    """The scores pair by pair, the wealth after each pair, and the verdict."""

    plan: AuditPlan
    first: Floats
    second: Floats
    log_wealth: Floats
    verdict: Verdict
    seconds: float
    noise: Sequence[tuple[Floats, int]] = ()  # of the runs on the second neighbour, as far as it can be read


def plan_audit(
    game: Game,
    curve: PrivacyCurve,
    simulate: Simulator,
    *,
    alpha: float,
    pairs: int | None = None,
    seed: int,
    stream: int = 0,
    wanted: float | None = None,
    attack: Attack | None = None,
) -> AuditPlan:
    """Design the bets from the claim alone (a simulation of it with less noise), for ``pairs`` trial pairs.

    By default as many as show the violation ``wanted`` (a noise divisor) with a probability of about 0.95; where no
    audit of a bearable size can, as many as show the next larger one that can be shown. ``wanted`` stays what the
    verdict is judged by, so such an audit can refute but never stand.
    """
    if not 0.0 < alpha < 1.0:
        raise AuditError(f"alpha must be in (0, 1), got alpha={alpha!r}")
    model = SampledScores(simulate, _DESIGN_SAMPLES, seed=0)
    focus = wanted
    if pairs is None:
        least = wanted if wanted is not None else DEFAULT_DIVISOR
        shown, pairs = smallest_shown(curve, model, alpha, least)
        focus = wanted if shown == least else shown
    test = design_test(curve, model, 1.0, alpha=alpha, budget=pairs, focus=focus)
    return AuditPlan(
        game,
        curve,
        test,
        simulate,
        alpha,
        pairs,
        seed,
        stream,
        wanted,
        attack if attack is not None else LikelihoodRatio(),
    )


def smallest_shown(curve: PrivacyCurve, model: ScoreModel, alpha: float, least: float) -> tuple[float, int]:
    """Return the first noise divisor from ``least`` on (in steps of 25 %) that can be shown, and the trial pairs."""
    divisor = least
    while True:
        try:
            return divisor, enough_pairs(curve, model, alpha, divisor)
        except NoPower:
            if divisor >= _LARGEST_DIVISOR:
                raise
        divisor = min(divisor * _LADDER, _LARGEST_DIVISOR)


def enough_pairs(curve: PrivacyCurve, model: ScoreModel, alpha: float, divisor: float) -> int:
    r"""Return how many trial pairs show noise/``divisor`` with probability about 0.95.

    A drift of g nats a pair is a shift of sqrt(2 g n) standard deviations after n pairs (the diffusion limit);
    the final bet needs the quantile of its share of alpha, and 1.645 more for the power.
    """
    growth = log_optimal(curve, model.tails(divisor)).growth
    needed = (-float(ndtri(alpha * STOP_EARLY.final_share)) + 1.645) ** 2 / 2.0
    if growth * LARGEST_AUDIT < needed:
        raise NoPower(f"noise/{divisor:g} cannot be shown against {curve.describe()} in {LARGEST_AUDIT} trial pairs")
    return math.ceil(1.5 * needed / growth)


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
        if float(wealth.max()) >= -math.log(plan.alpha):
            break
    return AuditResult(plan, first, second, wealth, _verdict(plan, wealth), time.monotonic() - began, noise)


def _verdict(plan: AuditPlan, wealth: Floats) -> Verdict:
    trials = wealth.size
    after = float(refuted_after(wealth, plan.alpha)) if trials else math.inf
    power = None
    if not math.isfinite(after) and trials:
        power = smallest_caught(
            plan.test, plan.curve, plan.simulate, alpha=plan.alpha, trials=trials, simulations=150, wanted=plan.wanted
        )
    return judge(
        refuted_after=after,
        trials=trials,
        log_wealth=float(wealth.max()) if trials else 0.0,
        alpha=plan.alpha,
        power=power,
        wanted=plan.wanted,
    )


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
                    waiting.append(pool.submit(score_chunk, target, plan.game, plan.attack, chunk))
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
