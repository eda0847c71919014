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
from scipy.special import ndtri

from audits.curves import PrivacyCurve
from audits.eprocess.bets import log_optimal
from audits.eprocess.confidence import binomial_at_least
from audits.eprocess.curve_test import STOP_EARLY, CurveTest, anytime_p_value, design_test, refuted_after
from audits.eprocess.scores import SampledScores, ScoreModel, Simulator
from audits.errors import AuditError, NoPower
from audits.games.attacks import Attack, LikelihoodRatio
from audits.games.checkpoint import Checkpoint
from audits.games.executors import Chunk, Scored, Target, chunks, score_chunk, workers_of
from audits.games.game import Game
from verification.judge import Result, concluded
from verification.outcome import Aspect, Cause, Power
from verification.pictures import scores
from verification.questions.question import Answer
from verification.statistics.test import Test
from verification.wire.arrays import Floats

_STEP = 1.05
_LARGEST_SEARCHED = 16.0
_SCORES_AT_ONCE = 400_000
# the search may be rough: what it finds is confirmed, or moved up, by simulations of its own
_SEARCH = 40


def caught(
    test: CurveTest,
    curve: PrivacyCurve,
    simulate: Simulator,
    strength: float,
    *,
    alpha: float,
    trials: int,
    simulations: int,
    rng: np.random.Generator,
) -> int:
    """Return how many of ``simulations`` simulated audits of a mechanism of ``strength`` refute ``curve``."""
    refuted, left = 0, simulations
    at_once = max(1, _SCORES_AT_ONCE // trials)
    while left > 0:
        now = min(left, at_once)
        first, second = simulate(strength, now * trials, rng)
        wealth = test.log_wealth(curve, first.reshape(now, trials), second.reshape(now, trials))
        refuted += int(np.isfinite(refuted_after(wealth, alpha)).sum())
        left -= now
    return refuted


def smallest_caught(
    test: CurveTest,
    curve: PrivacyCurve,
    simulate: Simulator,
    *,
    claimed: float = 1.0,
    alpha: float,
    trials: int,
    power: float = 0.9,
    simulations: int = 200,
    seed: int = 0,
    wanted: float | None = None,
) -> Power | None:
    """Return the smallest noise divisor caught with probability ``power`` (5 % apart, ``wanted`` among them), or None.

    The power of the divisor returned is bounded from below at 95 % by simulations of its own, which took no part in
    choosing it. Strength ``claimed`` is the claim's own; the divisor multiplies it.
    """
    if not 0.0 < power < 1.0:
        raise AuditError(f"power must be in (0, 1), got power={power!r}")
    if trials < 1:
        return None
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    divisors = _divisors(wanted)

    def refuted(index: int, number: int) -> int:
        strength = claimed * divisors[index]
        return caught(test, curve, simulate, strength, alpha=alpha, trials=trials, simulations=number, rng=rng)

    def enough(index: int) -> bool:
        return refuted(index, _SEARCH) >= power * _SEARCH

    low, high = _bracket(enough, divisors.index(_nearest(divisors, wanted)), len(divisors) - 1)
    if high == len(divisors):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    for index in range(high, len(divisors)):
        sure = binomial_at_least(refuted(index, simulations), simulations, 0.05)
        if sure >= power:
            return Power(divisors[index], sure, simulations)
    return None


def _bracket(enough: Callable[[int], bool], start: int, last: int) -> tuple[int, int]:
    """A divisor that is not caught, and one that is, in growing steps from ``start`` on; -1, last + 1 for none."""
    step = 1
    if enough(start):
        low, high = start - 1, start
        while low >= 0 and enough(low):
            low, high, step = max(-1, low - 2 * step), low, 2 * step
        return max(low, -1), high
    low, high = start, start + 1
    while high <= last and not enough(high):
        if high == last:
            return last, last + 1
        low, high, step = high, min(last, high + 2 * step), 2 * step
    return low, high


def _nearest(divisors: list[float], wanted: float | None) -> float:
    """The divisor asked for, or the middle one: where the search begins."""
    return divisors[len(divisors) // 2] if wanted is None else min(divisors, key=lambda each: abs(each - wanted))


def _divisors(wanted: float | None) -> list[float]:
    """Noise divisors 5 % apart between 1 and 16, the one asked for among them."""
    anchor = wanted if wanted is not None else _STEP
    if not anchor > 1.0:
        raise AuditError(f"the noise divisor asked for must be > 1, got {anchor!r}")
    below = math.floor(math.log(anchor) / math.log(_STEP) - 1e-9)
    above = max(0, math.floor(math.log(_LARGEST_SEARCHED / anchor) / math.log(_STEP)))
    return [anchor * _STEP**k for k in range(-below, above + 1)]


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
    limit: str = ""  # why no number of runs would detect less

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
    limit: str = "",
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
        limit,
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
        if anytime_p_value(float(wealth.max())) <= plan.alpha:
            break
    judged = judged_scores(plan, first, second)
    return AuditResult(plan, first, second, wealth, judged, time.monotonic() - began, noise)


def judged_scores(plan: AuditPlan, first: Floats, second: Floats) -> Result:
    """Hand the judge the test: a p-value, and what it would have detected where it does not reject."""
    wealth = plan.test.log_wealth(plan.curve, first, second) if first.size else np.zeros(0)
    game, trials = plan.game, wealth.size
    p_value = anytime_p_value(float(wealth.max(initial=0.0)))
    power, weakness = None, ""
    if p_value > plan.alpha:
        power = smallest_caught(
            plan.test, plan.curve, plan.simulate, alpha=plan.alpha, trials=trials, simulations=150, wanted=plan.wanted
        )
        weakness = lack_of_power(power, plan.wanted)
        shown = f"; {power.describe()}" if power is not None and not weakness else f", {weakness}"
        detail = f"not refuted by {trials} trial pairs{shown}" if trials else "no trial pair was run in the time left"
        detail += f"; {plan.limit}" if plan.limit else ""
    else:
        detail = f"refuted after {int(min(float(refuted_after(wealth, plan.alpha)), trials))} trial pairs"
    text = f"claim {plan.curve.describe()}: {detail}"
    test = Test(
        game.name,
        Aspect.RELEASED,
        p_value,
        text,
        Cause.DISTINGUISHED,
        draw=lambda: scores(game.name, first, second),
        power=power,
        weakness=text if weakness else "",
    )
    size = f"n = {game.records}, T = {game.parameters.iterations}"
    answer = Answer(game.name, size, 2 * trials, (test,), (Aspect.RELEASED,) if power is not None else ())
    return concluded(game.about, lambda: answer, plan.alpha)


def lack_of_power(power: Power | None, wanted: float | None) -> str:
    """Why an audit with this power decides nothing; ``wanted`` is the noise divisor that had to be detectable."""
    if power is None:
        return "too few to detect any violation that was simulated"
    if wanted is not None and power.divisor > wanted:
        return f"but noise/{wanted:.3g} had to be detectable; as it is, {power.describe()}"
    return ""


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
