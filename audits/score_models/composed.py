"""The scores of ssADMM's hardest pair, with their distribution computed instead of simulated.

Where a small excess must be detected (many steps, a small rate), bets designed on simulated tails would fit the noise
of the simulation.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from audits.curves.privacy_curve import require_finite
from audits.score_models.log_ratios import cells_of, convolved
from audits.score_models.model import THRESHOLDS, ScoreTails
from verification.wire.arrays import Floats

_WIDTH = 0.02
_REACH = 4.9  # of the thresholds, in normal deviates: a hundred thousand runs hardly go beyond
_LEAST = 2.0**-50


@dataclass(frozen=True, slots=True)
class ComposedScores:
    """The log-likelihood ratio of ``steps`` steps at the claimed ``multiplier``; strength divides the noise."""

    rate: float
    multiplier: float
    steps: int

    def tails(self, strength: float) -> ScoreTails:
        """Return the tails at quantiles of the mixture of both neighbours."""
        scale = self.multiplier / require_finite("strength", strength, strictly=True)
        return _tails(self.rate, self.multiplier, self.steps, scale)


@functools.lru_cache(maxsize=256)
def _tails(rate: float, nu: float, steps: int, scale: float) -> ScoreTails:
    first, start = _law(rate, nu, steps, scale, taking_part=True)
    second, _ = _law(rate, nu, steps, scale, taking_part=False)
    scores: Floats = np.asarray(start + np.arange(first.size), dtype=np.float64) * (_WIDTH / steps)
    below = np.cumsum(first), np.cumsum(second)
    levels = ndtr(np.linspace(-_REACH, _REACH, THRESHOLDS))
    index = np.unique(np.searchsorted(0.5 * (below[0] + below[1]), levels))
    index = index[index < first.size - 1]
    above = [np.asarray(np.clip(1.0 - side[index], _LEAST, 1.0), dtype=np.float64) for side in below]
    return ScoreTails(scores[index], above[0], above[1])


def _law(rate: float, nu: float, steps: int, scale: float, *, taking_part: bool) -> tuple[Floats, int]:
    cells = cells_of(rate, nu, scale, _WIDTH / steps, taking_part=taking_part)
    total, _ = convolved(np.diff(cells.below, prepend=0.0), steps)
    return total / total.sum(), steps * cells.first
