r"""A bet that maximises the probability of reaching 1/alpha *at the end of the budget*.

Constant stakes need an excess of about sqrt(2 log(1/alpha)) standard deviations to win; a fixed-size test needs only
Phi^{-1}(1 - alpha). The difference is how the stakes move. In the diffusion limit the wealth that replicates "pay
``target`` if the sum ends above c, else nothing" is target * Phi(d), and it stakes the fraction
phi(d) / (Phi(d) sqrt(remaining variance)) of itself. Following that rule by blocks, d read off the present wealth, is
predictable, hence as sound as any other bet: only its power rests on the diffusion limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from audits.curves.privacy_curve import PrivacyCurve
from audits.estimators.portfolio import Portfolio
from verification.wire.arrays import Floats

_BLOCKS = 400
# aiming slightly above 1/alpha lets the wealth pass 1/alpha before the last trial when the case is clear
_OVERSHOOT = 1.03


@dataclass(frozen=True, slots=True)
class HorizonBet:
    """Multiples in [0, 1] of ``portfolio``, chosen block by block to reach exp(``log_target``) after ``budget`` pairs.

    ``design_curve`` is the claim the stakes are steered by; against a smaller claim the same stakes are used, so the
    wealth decreases with the claim.
    """

    portfolio: Portfolio
    design_curve: PrivacyCurve
    variance: float
    log_target: float
    budget: int

    def log_path(self, curve: PrivacyCurve, first: Floats, second: Floats) -> Floats:
        """Return the log-wealth after each trial pair (last axis); the stakes of a block use earlier blocks only."""
        pairs = first.shape[-1]
        rows, columns = self.portfolio.bins(first), self.portfolio.bins(second)
        steering = np.expm1(self.portfolio.log_multipliers(self.design_curve))
        tested = steering if curve is self.design_curve else np.expm1(self.portfolio.log_multipliers(curve))
        block = max(1, self.budget // _BLOCKS)
        state = np.zeros(first.shape[:-1])
        wealth = np.zeros(first.shape[:-1])
        path = np.empty(first.shape)
        for start in range(0, pairs, block):
            here = (..., slice(start, min(start + block, pairs)))
            fraction = self._fraction(state, start)[..., None]
            path[here] = wealth[..., None] + np.cumsum(np.log1p(fraction * tested[rows[here], columns[here]]), axis=-1)
            wealth = path[here][..., -1]
            state = state + np.log1p(fraction * steering[rows[here], columns[here]]).sum(axis=-1)
        return path

    def _fraction(self, log_wealth: Floats, done: int) -> Floats:
        remaining = max(self.budget - done, 1) * self.variance
        log_share = np.minimum(log_wealth - self.log_target - math.log(_OVERSHOOT), -1e-3)
        d = ndtri_exp(log_share)
        log_density = -0.5 * d * d - 0.5 * math.log(2.0 * math.pi)
        wanted = np.exp(log_density - log_ndtr(d)) / math.sqrt(remaining)
        out_of_time = done >= self.budget
        return np.zeros_like(wanted) if out_of_time else np.minimum(wanted, 1.0)
