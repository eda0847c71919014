"""Bets against one claimed curve: sound for every mechanism, whatever the bets are.

One bet is an event S = {score > t}, an epsilon and a stake w >= 0. A trial pair (one run on each neighbour) pays

    1[M(D) in S] - e^epsilon 1[M(D') in S] - delta(epsilon),

of mean <= 0 under the claim; the reversed bet is on {score <= t} with the neighbours exchanged. A portfolio adds
several bets within one trial, so its multiplier 1 + sum of w * payoff has mean <= 1, and it stays positive because
the stakes obey sum of w (e^epsilon + delta) <= ``LARGEST_RISK`` < 1. Betting on many events *together* follows the
likelihood ratio, where betting on one event follows a single point of the curve.

`log_optimal` maximises the expected logarithm of the wealth under an alternative (a mechanism that leaks more than
claimed), a concave problem: sequential quadratic steps with non-negative least squares, then, when the optimum risks
nearly everything, Cover's multiplicative steps, which keep the risk constraint by themselves.

`HorizonBet` maximises the probability of reaching 1/alpha *at the end of the budget*. Constant stakes need an excess of
about sqrt(2 log(1/alpha)) standard deviations to win; a fixed-size test needs only Phi^{-1}(1 - alpha). In the
diffusion limit the wealth that replicates "pay ``target`` if the sum ends above c, else nothing" is target * Phi(d),
and it stakes the fraction phi(d) / (Phi(d) sqrt(remaining variance)) of itself. Following that rule by blocks, d read
off the present wealth, is predictable, hence as sound as any other bet: only its power rests on the diffusion limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls
from scipy.special import log_ndtr, ndtri_exp

from audits.curves import PrivacyCurve
from audits.eprocess.scores import ScoreTails
from audits.errors import AuditError
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


_SHIFTS = (-2, 0, 2)
_SMALL_STAKE = 1e-12


@dataclass(frozen=True, slots=True)
class Design:
    """A portfolio and the log-wealth per trial pair it gains under the alternative it was made for."""

    portfolio: Portfolio
    growth: float


def log_optimal(curve: PrivacyCurve, tails: ScoreTails, epsilons: int = 20) -> Design:
    """Return the portfolio of (nearly) largest expected log-growth if scores are distributed as ``tails``.

    At most ``epsilons`` points of the curve are bet against: the time grows with the third power of their number.
    """
    bets = _candidates(curve, tails, epsilons)
    payoff = _payoffs(bets, curve)
    weight = np.outer(_masses(tails.first), _masses(tails.second)).ravel()
    risk = np.exp(bets.epsilon) + curve.delta(bets.epsilon)
    stake = _newton(payoff, weight, risk)
    if float(risk @ stake) > 0.5 * LARGEST_RISK:
        stake = _multiplicative(payoff, weight, risk, stake)
    kept = stake > _SMALL_STAKE
    portfolio = Portfolio(bets.thresholds, bets.index[kept], bets.epsilon[kept], bets.reverse[kept], stake[kept])
    return Design(portfolio, max(_objective(payoff, weight, stake), 0.0))


def _candidates(curve: PrivacyCurve, tails: ScoreTails, epsilons: int) -> Portfolio:
    """Candidate bets: for each epsilon the event of largest excess under the alternative, and neighbours."""
    last = tails.thresholds.size - 1
    chosen: set[tuple[float, int, bool]] = set()
    for epsilon in curve.betting_epsilons(epsilons):
        growth = np.exp(epsilon)
        forward = int(np.argmax(tails.first - growth * tails.second))
        backward = int(np.argmax((1.0 - tails.second) - growth * (1.0 - tails.first)))
        for shift in _SHIFTS:
            chosen.add((float(epsilon), min(max(forward + shift, 0), last), False))
            chosen.add((float(epsilon), min(max(backward + shift, 0), last), True))
    chosen_epsilons, index, reverse = zip(*sorted(chosen), strict=True)
    return Portfolio(
        tails.thresholds,
        np.array(index, dtype=np.int64),
        np.array(chosen_epsilons),
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
