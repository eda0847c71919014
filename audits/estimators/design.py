r"""Stakes of largest expected log-growth under a given alternative (a mechanism that leaks more than claimed).

Maximises the expected logarithm of the wealth over all portfolios (a concave problem): sequential quadratic steps
with non-negative least squares, then, when the optimum risks nearly everything, Cover's multiplicative
steps, which keep the risk constraint by themselves. Nothing here affects soundness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from audits.curves.privacy_curve import PrivacyCurve
from audits.estimators.portfolio import LARGEST_RISK, Portfolio
from audits.score_models.model import ScoreTails
from verification.wire.arrays import Floats

_SHIFTS = (-2, 0, 2)
_SMALL_STAKE = 1e-12


@dataclass(frozen=True, slots=True)
class Design:
    """A portfolio and the log-wealth per trial pair it gains under the alternative it was made for."""

    portfolio: Portfolio
    growth: float


def log_optimal(curve: PrivacyCurve, tails: ScoreTails) -> Design:
    """Return the portfolio of (nearly) largest expected log-growth if scores are distributed as ``tails``."""
    bets = _candidates(curve, tails)
    payoff = _payoffs(bets, curve)
    weight = np.outer(_masses(tails.first), _masses(tails.second)).ravel()
    risk = np.exp(bets.epsilon) + curve.delta(bets.epsilon)
    stake = _newton(payoff, weight, risk)
    if float(risk @ stake) > 0.5 * LARGEST_RISK:
        stake = _multiplicative(payoff, weight, risk, stake)
    kept = stake > _SMALL_STAKE
    portfolio = Portfolio(bets.thresholds, bets.index[kept], bets.epsilon[kept], bets.reverse[kept], stake[kept])
    return Design(portfolio, max(_objective(payoff, weight, stake), 0.0))


def _candidates(curve: PrivacyCurve, tails: ScoreTails) -> Portfolio:
    """Candidate bets: for each epsilon the event of largest excess under the alternative, and neighbours."""
    last = tails.thresholds.size - 1
    chosen: set[tuple[float, int, bool]] = set()
    for epsilon in curve.betting_epsilons():
        growth = np.exp(epsilon)
        forward = int(np.argmax(tails.first - growth * tails.second))
        backward = int(np.argmax((1.0 - tails.second) - growth * (1.0 - tails.first)))
        for shift in _SHIFTS:
            chosen.add((float(epsilon), min(max(forward + shift, 0), last), False))
            chosen.add((float(epsilon), min(max(backward + shift, 0), last), True))
    epsilons, index, reverse = zip(*sorted(chosen), strict=True)
    return Portfolio(
        tails.thresholds,
        np.array(index, dtype=np.int64),
        np.array(epsilons),
        np.array(reverse, dtype=np.bool_),
        np.zeros(len(chosen)),
    )


def _masses(tail: Floats) -> Floats:
    masses: Floats = np.maximum(-np.diff(np.concatenate([[1.0], tail, [0.0]])), 0.0)
    return np.asarray(masses / masses.sum(), dtype=np.float64)


def _payoffs(bets: Portfolio, curve: PrivacyCurve) -> Floats:
    """Return the payoff of each bet (rows) for each pair of bins (columns)."""
    bins = np.arange(bets.thresholds.size + 1)
    above = (bins[None, :] > bets.index[:, None]).astype(np.float64)
    growth = np.exp(bets.epsilon)[:, None]
    reverse = bets.reverse[:, None]
    first = np.where(reverse, -growth * (1.0 - above), above)
    second = np.where(reverse, above - 1.0, growth * above)
    pairs = (first[:, :, None] - second[:, None, :]).reshape(len(bets.epsilon), -1)
    payoff: Floats = pairs - curve.delta(bets.epsilon)[:, None]
    return payoff


def _objective(payoff: Floats, weight: Floats, stake: Floats) -> float:
    multiplier = 1.0 + stake @ payoff
    if not bool(np.all(multiplier > 0.0)):
        return -np.inf
    return float(weight @ np.log(multiplier))


def _newton(payoff: Floats, weight: Floats, risk: Floats) -> Floats:
    stake = np.zeros(payoff.shape[0])
    value = 0.0
    root = np.sqrt(weight)
    for _ in range(12):
        multiplier = 1.0 + stake @ payoff
        gradient = payoff @ (weight / multiplier)
        scaled = payoff * (root / multiplier)
        hessian = scaled @ scaled.T
        hessian[np.diag_indices_from(hessian)] += 1e-10 * (1.0 + hessian.diagonal())
        factor = np.linalg.cholesky(hessian)
        target, _ = nnls(factor.T, np.linalg.solve(factor, gradient + hessian @ stake))
        target *= min(1.0, LARGEST_RISK / max(float(risk @ target), 1e-300))
        stake, gained = _line_search(payoff, weight, stake, target, value)
        value += gained
        if gained <= 1e-6 * value:
            break
    return stake


def _line_search(payoff: Floats, weight: Floats, stake: Floats, target: Floats, value: float) -> tuple[Floats, float]:
    step = 1.0
    while step > 1e-4:
        moved = (1.0 - step) * stake + step * target
        gained = _objective(payoff, weight, moved) - value
        if gained > 0.0:
            return moved, gained
        step *= 0.5
    return stake, 0.0


def _multiplicative(payoff: Floats, weight: Floats, risk: Floats, start: Floats, rounds: int = 300) -> Floats:
    returns = payoff / risk[:, None] + 1.0
    share = np.maximum(start * risk, 1e-4 / len(risk))
    share *= LARGEST_RISK / max(float(share.sum()), LARGEST_RISK)
    cash = 1.0 - float(share.sum())
    for _ in range(rounds):
        total = cash + share @ returns
        cash, share = cash * float(weight @ (1.0 / total)), share * (returns @ (weight / total))
    share = np.asarray(share) * min(1.0, LARGEST_RISK / float(share.sum()))
    stake: npt.NDArray[np.float64] = share / risk
    return stake
