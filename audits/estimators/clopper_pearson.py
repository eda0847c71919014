"""Bound without assumptions: one event chosen on one half of the runs, two exact binomial bounds on the other half."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from audits.errors import AuditError, AuditFault
from audits.estimators.result import Assumption, LowerBound, require_confidence
from audits.score_models.model import checked_scores
from verification.wire.arrays import Floats

IntArray = npt.NDArray[np.int64]


def binomial_at_least(successes: int, trials: int, miss: float) -> float:
    """Return the Clopper-Pearson lower bound: the success probability is smaller with probability <= ``miss``."""
    if not 0 <= successes <= trials or trials < 1:
        raise AuditError(f"successes must be in [0, trials], got successes={successes!r}, trials={trials!r}")
    value = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, miss))
    if math.isnan(value):
        raise AuditFault(f"beta quantile failed for {successes} of {trials} at level {miss!r}")
    return value


def binomial_at_most(successes: int, trials: int, miss: float) -> float:
    """Return the Clopper-Pearson upper bound: the success probability is larger with probability <= ``miss``."""
    return 1.0 - binomial_at_least(trials - successes, trials, miss)


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


def lower_bound(first: Floats, second: Floats, *, delta: float, confidence: float = 0.95) -> LowerBound:
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
