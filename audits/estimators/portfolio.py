r"""A fixed set of bets against one claimed curve: sound for every mechanism, whatever the bets are.

One bet is an event S = {score > t}, an epsilon and a stake w >= 0. A trial pair (one run on each neighbour) pays

    1[M(D) in S] - e^epsilon 1[M(D') in S] - delta(epsilon),

of mean <= 0 under the claim; the reversed bet is on {score <= t} with the neighbours exchanged. A portfolio adds
several bets within one trial, so its multiplier 1 + sum of w * payoff has mean <= 1, and it stays positive because
the stakes obey sum of w (e^epsilon + delta) <= ``LARGEST_RISK`` < 1. Betting on many events *together* follows the
likelihood ratio, where betting on one event follows a single point of the curve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from audits.curves.privacy_curve import PrivacyCurve
from audits.errors import AuditError
from audits.score_models.model import ScoreTails
from verification.wire.arrays import Floats

LARGEST_RISK = 0.98
_EPS64 = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Bets (threshold index, epsilon, reversed or not) with their stakes."""

    thresholds: Floats
    index: npt.NDArray[np.int64]
    epsilon: Floats
    reverse: npt.NDArray[np.bool_]
    stake: Floats

    def __post_init__(self) -> None:
        if np.isnan(self.thresholds).any() or not bool(np.all(np.diff(self.thresholds) > 0)):
            raise AuditError("thresholds must be strictly increasing numbers")
        if bool(np.any(self.stake < 0)) or bool(np.any(self.epsilon < 0)) or np.isnan(self.stake).any():
            raise AuditError("stakes and epsilons must be >= 0")

    def log_multipliers(self, curve: PrivacyCurve) -> Floats:
        """Return log(1 + payoff) for each pair (bin of the first score, bin of the second score), rounded down."""
        gain, loss, cost = self._tables(curve)
        multiplier = 1.0 + gain[:, None] - loss[None, :] - cost
        if not bool(np.all(multiplier > 0.0)):
            raise AuditError("the stakes risk more than the wealth; sum of stake * (e^epsilon + delta) must be < 1")
        logs: Floats = np.log(multiplier)
        return logs

    def log_path(self, curve: PrivacyCurve, first: Floats, second: Floats) -> Floats:
        """Return the log-wealth after each trial pair (last axis) of one unit staked on this portfolio."""
        table = self.log_multipliers(curve)
        path: Floats = np.cumsum(table[self.bins(first), self.bins(second)], axis=-1)
        return path

    def scaled_to_risk(self, curve: PrivacyCurve, risk: float = LARGEST_RISK) -> Portfolio:
        """Return the same bets with stakes such that sum of stake * (e^epsilon + delta) equals ``risk``."""
        present = float(self.stake @ (np.exp(self.epsilon) + curve.delta(self.epsilon)))
        stake = self.stake * (risk / present)
        return Portfolio(self.thresholds, self.index, self.epsilon, self.reverse, stake)

    def second_moment(self, curve: PrivacyCurve, tails: ScoreTails) -> float:
        """Return the mean square of the payoff if the scores are distributed as ``tails``."""
        payoff = np.expm1(self.log_multipliers(curve))
        first, second = (
            bin_masses(self, tails.thresholds, tails.first),
            bin_masses(self, tails.thresholds, tails.second),
        )
        return float(first @ (payoff * payoff) @ second)

    def bins(self, scores: Floats) -> npt.NDArray[np.int64]:
        """Return for each score how many thresholds lie below it."""
        return np.searchsorted(self.thresholds, scores, side="left").astype(np.int64)

    def _tables(self, curve: PrivacyCurve) -> tuple[Floats, Floats, float]:
        growth = np.exp(self.epsilon)
        delta = curve.delta(self.epsilon)
        above = np.arange(self.thresholds.size + 1)[None, :] > self.index[:, None]
        forward, backward = self.stake * ~self.reverse, self.stake * self.reverse
        gain = forward @ above - (backward * growth) @ ~above
        loss = (forward * growth) @ above - backward @ ~above
        risk = float(self.stake @ (growth + delta + 1.0))
        # every sum above has at most len(stake) terms, each within a few units: charge all of it to the bettor
        rounding = 8.0 * (self.stake.size + 4) * _EPS64 * risk
        return gain, loss, float(self.stake @ delta) + rounding


def bin_masses(portfolio: Portfolio, thresholds: Floats, tail: Floats) -> Floats:
    """Return the probability of each bin of the portfolio when P(score > t) is ``tail`` at ``thresholds``."""
    at = np.interp(portfolio.thresholds, thresholds, tail)
    masses: Floats = np.maximum(-np.diff(np.concatenate([[1.0], at, [0.0]])), 0.0)
    return np.asarray(masses / masses.sum(), dtype=np.float64)
