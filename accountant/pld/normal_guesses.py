r"""The normal distribution in plain Python, for guesses: where to cut, where to truncate. Never trusted.

Two scalars a composition need these; a library of special functions would cost more to import than the composition.
"""

from __future__ import annotations

import math
from typing import Final

_LOG_ROOT_TWO_PI: Final = 0.5 * math.log(2 * math.pi)
_ERFC_UNDERFLOWS: Final = -37.0
_NEWTON_STEPS: Final = 60


def log_normal_cdf(x: float) -> float:
    """Return log Phi(x), to about 1e-13 of it."""
    if x > 0:
        return math.log1p(-0.5 * math.erfc(x / math.sqrt(2)))
    if x > _ERFC_UNDERFLOWS:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2)))
    square = 1 / (x * x)
    series = square * (-1 + square * (3 + square * (-15 + 105 * square)))
    return -x * x / 2 - _LOG_ROOT_TWO_PI - math.log(-x) + math.log1p(series)


def normal_quantile_of_log(log_mass: float) -> float:
    r"""Return the x with log Phi(x) = log_mass <= -1, by Newton's method.

    log Phi is concave and Phi(-t) <= e^{-t^2/2}: the start lies below the root, and the iterates rise to it.
    """
    x = -math.sqrt(-2 * log_mass)
    for _ in range(_NEWTON_STEPS):
        value = log_normal_cdf(x)
        step = (log_mass - value) * math.exp(value + x * x / 2 + _LOG_ROOT_TWO_PI)
        x += step
        if abs(step) <= 1e-14 * abs(x):
            break
    return x
