"""What every estimator returns, and confidence bounds: on a probability, a mean of [0, 1]-valued samples, all tails.

The mean is bounded by betting (Waudby-Smith and Ramdas 2024). For each candidate mean m the wealth
prod(1 + lambda_t (x_t - m)) is a non-negative martingale if m is the mean and a supermartingale if the mean is smaller,
for any predictable lambda_t in [0, 1); m is rejected when the wealth ever reaches 1/alpha. The stakes do not depend on
m, so rejection is monotone in m and the bound is found by bisection.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import betaincinv, gammaln

from audits.curves import PrivacyCurve, default_epsilons
from audits.eprocess.scores import checked_scores
from audits.errors import AuditError, AuditFault
from verification.statistics.tails import probability_at_least
from verification.wire.arrays import Floats


class Assumption(Enum):
    """What an estimator assumes, as a phrase for reports."""

    FRESH_TRIALS = "trials are independent, each with fresh randomness"
    FIXED_EVENTS = "events and bets were fixed before the trials they are used on"
    FAMILY = "the mechanism obeys some member of the family of claims"
    GAUSSIAN_SHAPE = "the claim is Gaussian (mu-GDP); meaningless for any other"
    CANARY_COINS = "each canary was included by its own fair coin, unknown to the guesser"
    CLAIMED_CURVE = "the mechanism is held to its whole claimed curve, not to one point of it"


@dataclass(frozen=True, slots=True)
class LowerBound:
    """With probability at least ``confidence`` the mechanism costs at least ``epsilon`` at ``delta``.

    Where ``order`` is given, ``epsilon`` bounds the Renyi divergence of that order, the larger of both directions.
    """

    method: str
    epsilon: float
    delta: float | None
    confidence: float
    assumes: tuple[Assumption, ...]
    runs: int
    order: float | None = None

    def __post_init__(self) -> None:
        # A bound that is not a number would compare as "not above the claim" and read as a pass.
        if math.isnan(self.epsilon) or self.epsilon < 0.0:
            raise AuditFault(f"{self.method} returned epsilon={self.epsilon!r}; a lower bound is a number >= 0")

    def describe(self) -> str:
        """Return one line for a report."""
        what = f"epsilon at delta {self.delta:g}" if self.order is None else f"Renyi divergence of order {self.order:g}"
        return f"{what} is at least {self.epsilon:.4g} ({self.confidence:.0%}, {self.method}, {self.runs} runs a side)"

    def document(self) -> dict[str, object]:
        """Return plain data; reals as decimal strings."""
        return {
            "method": self.method,
            "at_least": repr(self.epsilon),
            "delta": None if self.delta is None else repr(self.delta),
            "order": None if self.order is None else repr(self.order),
            "confidence": repr(self.confidence),
            "runs": self.runs,
            "assumes": [assumption.value for assumption in self.assumes],
        }


def require_confidence(confidence: float) -> float:
    """Return 1 - confidence, the probability of being wrong, if it lies in (0, 1)."""
    if not 0.0 < confidence < 1.0:
        raise AuditError(f"confidence must be in (0, 1), got confidence={confidence!r}")
    return 1.0 - confidence


_LARGEST_STAKE = 0.9


def binomial_at_least(successes: int, trials: int, miss: float) -> float:
    """Return the Clopper-Pearson lower bound: the success probability is smaller with probability <= ``miss``."""
    if not 0 <= successes <= trials or trials < 1:
        raise AuditError(f"successes must be in [0, trials], got successes={successes!r}, trials={trials!r}")
    value = float(probability_at_least(np.array(successes), trials, miss))
    if math.isnan(value):
        raise AuditFault(f"beta quantile failed for {successes} of {trials} at level {miss!r}")
    return value


def mean_at_least(samples: Floats, miss: float) -> float:
    """Return a number that exceeds the mean with probability at most ``miss``; samples independent, in [0, 1]."""
    x = np.asarray(samples, dtype=np.float64)
    if x.ndim != 1 or x.size == 0 or not bool(np.all((x >= 0.0) & (x <= 1.0))):
        raise AuditError("samples must be a non-empty vector of numbers in [0, 1]")
    if not 0.0 < miss < 1.0:
        raise AuditError(f"miss must be in (0, 1), got miss={miss!r}")
    stakes = _stakes(x, miss)
    threshold = -math.log(miss) + 1e-9

    def rejected(mean: float) -> bool:
        return bool(np.cumsum(np.log1p(stakes * (x - mean))).max() >= threshold)

    low, high = 0.0, 1.0
    if not rejected(0.0):
        return 0.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low


def mean_at_most(samples: Floats, miss: float) -> float:
    """Return a number that the mean exceeds with probability at most ``miss``."""
    return 1.0 - mean_at_least(1.0 - np.asarray(samples, dtype=np.float64), miss)


def _stakes(x: Floats, miss: float) -> Floats:
    """Stakes from past samples only: sqrt(2 log(1/miss) / (n * running variance))."""
    steps = np.arange(1, x.size + 1)
    mean = (0.5 + np.cumsum(x)) / (steps + 1.0)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (steps + 1.0)
    before = np.concatenate([[0.25], variance[:-1]])
    stakes: Floats = np.minimum(np.sqrt(2.0 * -math.log(miss) / (x.size * before)), _LARGEST_STAKE)
    return stakes


# -- simultaneous bands on both score distributions: a fixed-size test of every point of a curve at once ---------------

_LARGEST_CHAIN = 900
# FFT rounding, amplified by 1/P(Poisson(n) = n) <= sqrt(2 pi n) + 1 and by the number of steps, stays below this
_ARITHMETIC = 1e-8


@functools.lru_cache(maxsize=32)
def tail_band(count: int, miss: float) -> Floats:
    """Return ``lower[k]``, k = 0..count: the tail probability is at least that wherever k of the sample lie above.

    Holds for all thresholds at once with probability at least ``1 - miss``; ``lower[0] = 0``.
    """
    if count < 1:
        raise AuditError(f"count must be at least 1, got count={count!r}")
    if not 0.0 < miss < 1.0:
        raise AuditError(f"miss must be in (0, 1), got miss={miss!r}")
    ranks = _ranks(count)
    # between the union bound (always valid) and a single rank (never valid)
    low, high = math.log(miss / len(ranks)), math.log(miss)
    for _ in range(9):
        middle = 0.5 * (low + high)
        held = _coverage(count, ranks, math.exp(middle))
        low, high = (middle, high) if held - _ARITHMETIC >= 1.0 - miss else (low, middle)
    bounds = _quantiles(count, ranks, math.exp(low))
    at = np.searchsorted(ranks, np.arange(1, count + 1), side="right") - 1
    band: Floats = np.concatenate([[0.0], bounds[at]])
    band.setflags(write=False)
    return band


def _quantiles(count: int, ranks: npt.NDArray[np.int64], level: float) -> Floats:
    bounds: Floats = np.asarray(betaincinv(ranks, count - ranks + 1, level), dtype=np.float64)
    if np.isnan(bounds).any():
        raise AuditFault(f"beta quantiles failed for count={count}, level={level!r}")
    return bounds


def _ranks(count: int) -> npt.NDArray[np.int64]:
    """Every rank of a small sample; ranks about evenly spaced in standard deviations of a large one."""
    if count <= _LARGEST_CHAIN:
        return np.arange(1, count + 1, dtype=np.int64)
    # k = n sin^2(angle) makes the standard deviation sqrt(k(1-k/n)) proportional to dk/d(angle)
    angles = np.linspace(0.0, 0.5 * math.pi, _LARGEST_CHAIN)
    ranks = np.rint(count * np.sin(angles) ** 2).astype(np.int64)
    return np.unique(np.clip(np.concatenate([np.arange(1, 31), ranks]), 1, count))


def _coverage(count: int, ranks: npt.NDArray[np.int64], level: float) -> float:
    """Return P(at most k-1 of ``count`` uniforms lie below b_k, for every rank k), rounded down up to arithmetic."""
    bounds = _quantiles(count, ranks, level)
    offset, state = 0, np.ones(1)
    previous = 0.0
    for rank, bound in zip(ranks.tolist(), bounds.tolist(), strict=True):
        first, step = _poisson_window(count * max(bound - previous, 0.0))
        state = _convolved(state, step)
        offset += first
        previous = bound
        # states above rank - 1 are violations; states far below are rare and dropped, which only lowers the result
        expected = count * bound
        floor = max(0, math.floor(expected - 10.0 * math.sqrt(expected + 1.0)) - 10)
        begin, end = max(0, floor - offset), rank - offset
        state = np.maximum(state[begin : max(end, 0)], 0.0)
        offset += begin
        if state.size == 0:
            return 0.0
    missing = count - (offset + np.arange(len(state)))
    return float(state @ np.exp(_log_poisson(missing, count * (1.0 - previous)) - _log_poisson(count, float(count))))


def _convolved(a: Floats, b: Floats) -> Floats:
    if min(a.size, b.size) <= 40:
        return np.convolve(a, b)
    size = a.size + b.size - 1
    fast = next_fast_len(size, real=True)
    product: Floats = irfft(rfft(a, fast) * rfft(b, fast), fast)[:size]
    return product


def _poisson_window(mean: float) -> tuple[int, Floats]:
    """Return the Poisson masses around their mean, from which index on; what is cut off is below 1e-20."""
    reach = 10.0 * math.sqrt(mean + 1.0) + 30.0
    first = max(0, math.floor(mean - reach))
    values = np.arange(first, math.ceil(mean + reach) + 1)
    masses: Floats = np.exp(_log_poisson(values, mean))
    return first, masses


def _log_poisson(values: npt.NDArray[np.int64] | int, mean: float) -> Floats:
    if mean <= 0.0:
        return np.where(np.asarray(values) == 0, 0.0, -np.inf)
    logs: Floats = values * math.log(mean) - mean - gammaln(np.asarray(values) + 1.0)
    return logs


@dataclass(frozen=True, slots=True)
class RocBand:
    """At each threshold, with joint confidence: P(score > t) of the first at least, of the second at most, this."""

    thresholds: Floats
    first_at_least: Floats
    second_at_most: Floats
    runs: int

    def excess(self, curve: PrivacyCurve, epsilons: Floats | None = None) -> float:
        """Return the largest certified P(S) - e^eps Q(S) - delta(eps), over events and directions; > 0 refutes."""
        eps = default_epsilons(curve, 120, 1e-9) if epsilons is None else epsilons
        growth = np.exp(eps)[:, None]
        forward = (self.first_at_least[None, :] - growth * self.second_at_most[None, :]).max(axis=1)
        backward = ((1.0 - self.second_at_most)[None, :] - growth * (1.0 - self.first_at_least)[None, :]).max(axis=1)
        # float rounding of the two products, charged to the auditor
        slack = 1e-13 * np.exp(eps)
        return float((np.maximum(forward, backward) - slack - curve.delta(eps)).max())

    def epsilon_at(self, delta: float) -> float:
        """Return the largest epsilon that the band certifies at one delta, assuming no curve (0 if none)."""
        hits = [(self.first_at_least, self.second_at_most), (1.0 - self.second_at_most, 1.0 - self.first_at_least)]
        best = 0.0
        for seen, unseen in hits:
            possible = (seen > delta) & (unseen > 0.0)
            if possible.any():
                best = max(best, float(np.log((seen[possible] - delta) / unseen[possible]).max()))
        return best


def roc_band(first: Floats, second: Floats, *, confidence: float) -> RocBand:
    """Return the band on both tails; each side may miss with probability (1 - confidence)/2.

    The reversed direction, on {score <= t}, needs the same two one-sided bands, so nothing is paid for it.
    """
    miss = 0.5 * require_confidence(confidence)
    a, b = np.sort(checked_scores("first", first)), np.sort(checked_scores("second", second))
    thresholds = np.unique(np.concatenate([a, b]))
    above_first = a.size - np.searchsorted(a, thresholds, side="right")
    above_second = b.size - np.searchsorted(b, thresholds, side="right")
    at_least = tail_band(a.size, miss)[above_first]
    at_most = 1.0 - tail_band(b.size, miss)[b.size - above_second]
    # thresholds between which neither bound changes are the same constraint: nothing is lost by keeping one
    moves = (np.diff(at_least) != 0.0) | (np.diff(at_most) != 0.0)
    kept = np.concatenate([[True], moves])
    return RocBand(thresholds[kept], at_least[kept], at_most[kept], min(a.size, b.size))


def band_point_bound(first: Floats, second: Floats, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """Return the epsilon that the band certifies at ``delta`` for any mechanism whatever."""
    band = roc_band(first, second, confidence=confidence)
    epsilon = band.epsilon_at(delta)
    return LowerBound(
        "Berk-Jones band on (epsilon, delta)", epsilon, delta, confidence, (Assumption.FRESH_TRIALS,), band.runs
    )
