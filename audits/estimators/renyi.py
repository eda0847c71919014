r"""A confidence lower bound on the Renyi divergence itself, since the paper's claims are RDP claims.

For every bounded function g and alpha > 1 (the variational formula of Donsker-Varadhan type, Birrell et al. 2021),

    D_alpha(P||Q) >= alpha/(alpha-1) log E_P[e^{(alpha-1) g}] - log E_Q[e^{alpha g}],

with equality at the log-likelihood ratio. g is a step function of the score fitted on one half of the runs; both
expectations are of bounded variables and are bounded by betting on the other half.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from audits.errors import AuditError
from audits.estimators.bounded_mean import mean_at_least, mean_at_most
from audits.estimators.result import Assumption, require_confidence
from audits.score_models.model import checked_scores
from verification.wire.arrays import Floats

ASSUMES = (Assumption.FRESH_TRIALS, Assumption.FIXED_EVENTS)
_BINS = 24
Samples = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True)
class RenyiLowerBound:
    """With probability at least ``confidence`` the larger of D(P||Q), D(Q||P) of order ``order`` is at least this."""

    order: float
    divergence: float
    confidence: float
    assumes: tuple[Assumption, ...]
    runs: int


def lower_bound(first: Floats, second: Floats, *, order: float, confidence: float = 0.95) -> RenyiLowerBound:
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
    return RenyiLowerBound(order, value, confidence, ASSUMES, min(first.size, second.size))


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
