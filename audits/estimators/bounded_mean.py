r"""A confidence lower bound on the mean of [0, 1]-valued samples, by betting (Waudby-Smith and Ramdas 2024).

For each candidate mean m the wealth prod(1 + lambda_t (x_t - m)) is a non-negative martingale if m is the mean and a
supermartingale if the mean is smaller, for any predictable lambda_t in [0, 1); m is rejected when the wealth ever
reaches 1/alpha. The stakes do not depend on m, so rejection is monotone in m and the bound is found by bisection.
"""

from __future__ import annotations

import math

import numpy as np

from audits.errors import AuditError
from verification.wire.arrays import Floats

_LARGEST_STAKE = 0.9


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
