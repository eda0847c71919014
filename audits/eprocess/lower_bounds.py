"""Lower bounds on epsilon, or on a Renyi divergence, by every estimator that applies to a claim.

* held out: one event chosen on one half of the runs, two exact binomial bounds on the other half; no assumption;
* at one point: an e-process against one (epsilon, delta). The bets are designed on the first trials and made on the
  others, so they are fixed in advance;
* Renyi: for every bounded function g and alpha > 1 (the variational formula of Donsker-Varadhan type, Birrell et al.
  2021),

      D_alpha(P||Q) >= alpha/(alpha-1) log E_P[e^{(alpha-1) g}] - log E_Q[e^{alpha g}],

  with equality at the log-likelihood ratio. g is a step function of the score fitted on one half of the runs; both
  expectations are of bounded variables and are bounded by betting on the other half.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from audits.eprocess.bands import band_point_bound
from audits.eprocess.confidence import (
    Assumption,
    LowerBound,
    binomial_at_least,
    binomial_at_most,
    mean_at_least,
    mean_at_most,
    require_confidence,
)
from audits.eprocess.pair_bound import pair_lower_bound
from audits.eprocess.point_test import lower_bound_at, tails_of
from audits.eprocess.scores import ScoreTails, Simulator, StepwiseScores, checked_scores
from audits.errors import AuditError
from verification.wire.arrays import Floats

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HeldOutRates:
    """Counts of one event on runs that did not choose it."""

    hits: int
    hit_trials: int
    false_hits: int
    false_trials: int


Merit = Callable[[Floats, Floats], Floats]


def held_out_rates(first: Floats, second: Floats, *, merit: Merit, miss: float) -> HeldOutRates:
    """Choose threshold and direction on the even runs, count on the odd ones.

    ``merit(at_least, at_most)`` is the value of bounds on the hit rate and the false hit rate.
    """
    checked_scores("first", first)
    checked_scores("second", second)
    if min(first.size, second.size) < 4:
        raise AuditError(f"held-out selection needs at least 4 runs a side, got {first.size} and {second.size}")
    threshold, reverse = _choose(first[::2], second[::2], merit, miss)
    a, b = first[1::2], second[1::2]
    above_a, above_b = int((a > threshold).sum()), int((b > threshold).sum())
    if reverse:
        return HeldOutRates(b.size - above_b, b.size, a.size - above_a, a.size)
    return HeldOutRates(above_a, a.size, above_b, b.size)


def _choose(first: Floats, second: Floats, merit: Merit, miss: float) -> tuple[float, bool]:
    """Return the threshold and direction with the best Clopper-Pearson bounds on the selection half."""
    a, b = np.sort(first), np.sort(second)
    pooled = np.sort(np.concatenate([a, b]))
    thresholds = np.unique(pooled[np.linspace(0, pooled.size - 1, min(pooled.size, 1000)).astype(np.int64)])
    above_a = a.size - np.searchsorted(a, thresholds, side="right")
    above_b = b.size - np.searchsorted(b, thresholds, side="right")
    forward = merit(*_bounds(above_a, a.size, above_b, b.size, miss))
    backward = merit(*_bounds(b.size - above_b, b.size, a.size - above_a, a.size, miss))
    reverse = bool(backward.max() > forward.max())
    best = int(np.argmax(backward if reverse else forward))
    return float(thresholds[best]), reverse


def _bounds(
    hits: IntArray, hit_trials: int, false_hits: IntArray, false_trials: int, miss: float
) -> tuple[Floats, Floats]:
    at_least = np.where(hits > 0, betaincinv(np.maximum(hits, 1), hit_trials - hits + 1, miss), 0.0)
    spared = false_trials - false_hits
    at_most = 1.0 - np.where(spared > 0, betaincinv(np.maximum(spared, 1), false_trials - spared + 1, miss), 0.0)
    return at_least, at_most


def held_out_bound(first: Floats, second: Floats, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """Return log((hit rate - delta)/false hit rate) from exact bounds on runs that did not choose the event."""
    miss = 0.5 * require_confidence(confidence)

    def merit(hit: Floats, false_hit: Floats) -> Floats:
        return np.log(np.maximum(hit - delta, 1e-300) / false_hit)

    rates = held_out_rates(first, second, merit=merit, miss=miss)
    at_least = binomial_at_least(rates.hits, rates.hit_trials, miss)
    at_most = binomial_at_most(rates.false_hits, rates.false_trials, miss)
    epsilon = max(0.0, math.log((at_least - delta) / at_most)) if at_least > delta else 0.0
    runs = min(first.size, second.size)
    return LowerBound("held-out Clopper-Pearson", epsilon, delta, confidence, (Assumption.FRESH_TRIALS,), runs)


_ASSUMES = (Assumption.FRESH_TRIALS, Assumption.FIXED_EVENTS)
_DESIGN_SHARE = 0.1
_CELL = 1.07


def point_bound(first: Floats, second: Floats, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """Return the infimum of the epsilons for which (epsilon, ``delta``)-DP is not refuted."""
    alpha = require_confidence(confidence)
    split = split_trials(first, second)
    budget = split.first.size
    epsilon = lower_bound_at(delta, split.tails, split.first, split.second, alpha=alpha, budget=budget, cell=_CELL)
    return LowerBound("e-process on (epsilon, delta)", epsilon, delta, confidence, _ASSUMES, first.size)


@dataclass(frozen=True, slots=True)
class SplitTrials:
    """What the design trials showed, and the trials that are left to bet on."""

    tails: ScoreTails
    first: Floats
    second: Floats


def split_trials(first: Floats, second: Floats) -> SplitTrials:
    """Design bets on the first trials, so that they are fixed before the others."""
    checked_scores("first", first)
    checked_scores("second", second)
    cut = max(1, int(_DESIGN_SHARE * first.size))
    if first.size != second.size or cut >= first.size:
        raise AuditError(f"needs at least two trial pairs, got {first.size} and {second.size} scores")
    tails = tails_of(first[:cut], second[:cut])
    return SplitTrials(tails, first[cut:], second[cut:])


_BINS = 24
Samples = tuple[Floats, Floats]


def renyi_bound(first: Floats, second: Floats, *, order: float, confidence: float = 0.95) -> LowerBound:
    """Return a lower bound of the Renyi divergence of the given order, in the direction the selection half prefers."""
    if not (math.isfinite(order) and order > 1.0):
        raise AuditError(f"order must be finite and > 1, got order={order!r}")
    alpha = require_confidence(confidence)
    checked_scores("first", first)
    checked_scores("second", second)
    if min(first.size, second.size) < 8:
        raise AuditError(f"needs at least 8 runs a side, got {first.size} and {second.size}")
    select = (first[::2], second[::2])
    judge = (first[1::2], second[1::2])
    options = [
        (_certified(s, s, order=order, alpha=alpha, clip=clip), reverse, clip)
        for reverse, s in ((False, select), (True, select[::-1]))
        for clip in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
    ]
    _, reverse, clip = max(options)
    chosen, other = (select[::-1], judge[::-1]) if reverse else (select, judge)
    value = max(0.0, _certified(chosen, other, order=order, alpha=alpha, clip=clip))
    runs = min(first.size, second.size)
    return LowerBound("Donsker-Varadhan", value, None, confidence, _ASSUMES, runs, order)


def _certified(fit: Samples, judged: Samples, *, order: float, alpha: float, clip: float) -> float:
    """Return the bound with g fitted on ``fit`` (samples of P and Q) and judged on ``judged``, |g| at most ``clip``."""
    edges, g = _log_ratio(*fit, clip)
    on_p, on_q = (g[np.searchsorted(edges, sample)] for sample in judged)
    first = _log_mean_at_least((order - 1.0) * on_p, 0.5 * alpha)
    second = _log_mean_at_most(order * on_q, 0.5 * alpha)
    return order / (order - 1.0) * first - second


def _log_ratio(first: Floats, second: Floats, clip: float) -> tuple[Floats, Floats]:
    pooled = np.sort(np.concatenate([first, second]))
    edges = np.unique(pooled[np.linspace(0, pooled.size - 1, _BINS + 1).astype(np.int64)[1:-1]])
    p = np.bincount(np.searchsorted(edges, first), minlength=edges.size + 1) + 1.0
    q = np.bincount(np.searchsorted(edges, second), minlength=edges.size + 1) + 1.0
    ratio: Floats = np.clip(np.log(p / p.sum()) - np.log(q / q.sum()), -clip, clip)
    return edges, ratio


def _log_mean_at_least(logs: Floats, miss: float) -> float:
    return _log_mean(logs, lambda scaled: mean_at_least(scaled, miss), slack=-1e-9)


def _log_mean_at_most(logs: Floats, miss: float) -> float:
    return _log_mean(logs, lambda scaled: mean_at_most(scaled, miss), slack=1e-9)


def _log_mean(logs: Floats, bound: Callable[[Floats], float], *, slack: float) -> float:
    """Return the logarithm of a bound on the mean of exp(logs), which is scaled into [0, 1]; slack covers rounding."""
    low, high = float(logs.min()), float(logs.max())
    if high - low < 1e-12:
        return low if slack < 0 else high
    floor = math.exp(low - high)
    scaled = np.clip((np.exp(logs - high) - floor) / (1.0 - floor), 0.0, 1.0)
    return high + math.log(floor + (1.0 - floor) * bound(scaled)) + slack


_RENYI_ORDERS = (2.0, 8.0)


def estimates(
    first: Floats,
    second: Floats,
    delta: float,
    *,
    confidence: float = 0.95,
    pair: Simulator | None = None,
) -> list[LowerBound]:
    """Return every applicable bound, each at its own ``confidence`` (they are not jointly valid at it).

    ``pair`` says what the game's pair shows: where it does so step by step, the curve that it attains is used, too.
    """
    bounds = [
        held_out_bound(first, second, delta=delta, confidence=confidence),
        band_point_bound(first, second, delta=delta, confidence=confidence),
        point_bound(first, second, delta=delta, confidence=confidence),
    ]
    if isinstance(pair, StepwiseScores):
        bounds.insert(0, pair_lower_bound(pair, first, second, delta=delta, confidence=confidence))
    renyi = [renyi_bound(first, second, order=order, confidence=confidence) for order in _RENYI_ORDERS]
    return [*bounds, *renyi]
