"""What every estimator returns, and confidence bounds on a probability and on the mean of [0, 1]-valued samples.

The mean is bounded by betting (Waudby-Smith and Ramdas 2024). For each candidate mean m the wealth
prod(1 + lambda_t (x_t - m)) is a non-negative martingale if m is the mean and a supermartingale if the mean is smaller,
for any predictable lambda_t in [0, 1); m is rejected when the wealth ever reaches 1/alpha. The stakes do not depend on
m, so rejection is monotone in m and the bound is found by bisection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy.special import betaincinv

from audits.errors import AuditError, AuditFault
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
    value = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, miss))
    if math.isnan(value):
        raise AuditFault(f"beta quantile failed for {successes} of {trials} at level {miss!r}")
    return value


def binomial_at_most(successes: int, trials: int, miss: float) -> float:
    """Return the Clopper-Pearson upper bound: the success probability is larger with probability <= ``miss``."""
    return 1.0 - binomial_at_least(trials - successes, trials, miss)


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
