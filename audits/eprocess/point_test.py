r"""A test of a claim that is designed on some runs and made on others: any mechanism, any score.

The bets are fixed before the runs that they are made on, so that the wealth is a non-negative supermartingale under the
claim, whatever the design runs showed.
"""

from __future__ import annotations

import enum
import functools
import math

import numpy as np
from scipy.special import ndtr, ndtri

from audits.curves import ApproximateCurve, PrivacyCurve, gaussian_delta_upper
from audits.eprocess.bets import HorizonBet, bin_masses, log_optimal
from audits.eprocess.curve_test import Bet, CurveTest
from audits.eprocess.scores import THRESHOLDS, GaussianScores, ScoreTails, tails_of_samples
from verification.wire.arrays import Floats

_THRESHOLDS = 60
_COARSE = 3  # of so many thresholds one is used to rank candidates
_RANKING, _BETTING = 5, 8  # points of a curve that are bet against, where it is not known by one alone
_LEAK = 0.01
_LEAST, _GREATEST = 0.05, 12.0


def pessimistic(tails: ScoreTails, count: int, deviations: float) -> ScoreTails:
    """Shift both tails by standard errors in the unfavourable direction, so a design does not overfit its sample."""
    first = tails.first - deviations * np.sqrt(tails.first * (1.0 - tails.first) / count)
    second = tails.second + deviations * np.sqrt(tails.second * (1.0 - tails.second) / count)
    ordered = np.minimum.accumulate(np.clip(first, 0.0, 1.0)), np.minimum.accumulate(np.clip(second, 0.0, 1.0))
    return ScoreTails(tails.thresholds, *ordered)


def tails_of(first: Floats, second: Floats, deviations: float = 0.5) -> ScoreTails:
    """Return the tails that bets are designed for, so many standard errors worse than what was seen."""
    return pessimistic(tails_of_samples(first, second, _THRESHOLDS), first.size, deviations)


def normal_tails_of(first: Floats, second: Floats, deviations: float) -> ScoreTails:
    """Return those of two normal distributions, their means nearer by standard errors: few runs settle these."""
    spread = math.sqrt(0.5 * float(first.var() + second.var()))
    gap, centre = float(first.mean() - second.mean()), 0.5 * float(first.mean() + second.mean())
    if spread == 0.0:
        return tails_of(first, second, deviations)
    kept = max(abs(gap) - deviations * spread * math.sqrt(2.0 / first.size), 0.0)
    half = math.copysign(0.5 * kept, gap)
    at = np.linspace(min(first.min(), second.min()), max(first.max(), second.max()), THRESHOLDS)
    return ScoreTails(at, ndtr((centre + half - at) / spread), ndtr((centre - half - at) / spread))


def growth_of(curve: PrivacyCurve, tails: ScoreTails) -> float:
    """Return about the log-wealth that the best bets gain per trial pair if the tails are right; it ranks scores."""
    every = slice(_COARSE // 2, None, _COARSE) if tails.thresholds.size > 2 * _COARSE else slice(None)
    coarse = ScoreTails(tails.thresholds[every], tails.first[every], tails.second[every])
    return log_optimal(curve, coarse, _RANKING).growth


SHARES = (0.4, 0.4, 0.2)
"""Of the initial wealth: for constant stakes, for those that are steered to the end of the budget, for rare leaks."""


def bets_for(curve: PrivacyCurve, tails: ScoreTails, *, log_target: float, budget: int) -> tuple[Bet | None, ...]:
    """Return a bet for each of `SHARES`, None where it could not win; the second is to reach its target."""
    main = log_optimal(curve, tails, _BETTING).portfolio
    rare = log_optimal(curve, _leaking(tails), _RANKING).portfolio
    last = rare if rare.stake.size else None
    if not main.stake.size:
        return None, None, last
    risky = main.scaled_to_risk(curve)
    return main, HorizonBet(risky, curve, risky.second_moment(curve, tails), log_target, budget), last


def designed(curve: PrivacyCurve, tails: ScoreTails, *, alpha: float, budget: int) -> CurveTest | None:
    """Return bets for these tails and for a rare total leak; None where neither could win."""
    bets = bets_for(curve, tails, log_target=-math.log(alpha * SHARES[1]), budget=budget)
    kept = [(bet, share) for bet, share in zip(bets, SHARES, strict=True) if bet is not None]
    return CurveTest(tuple(bet for bet, _ in kept), tuple(share for _, share in kept)) if kept else None


def _leaking(tails: ScoreTails) -> ScoreTails:
    """The least of both tails on each side, except that one run in a hundred reveals the record."""
    common = np.minimum(tails.first, tails.second)
    return ScoreTails(tails.thresholds, (1.0 - _LEAK) * common + _LEAK, (1.0 - _LEAK) * common)


def lower_bound_at(
    delta: float, tails: ScoreTails, first: Floats, second: Floats, *, alpha: float, budget: int, cell: float = 1.2
) -> float:
    """Return an epsilon below which every claim at this delta is refuted, wrong with probability at most ``alpha``.

    Epsilon is cut into cells; each has bets designed for its upper end before the trials, so that the true epsilon is
    passed over only if the bets against it won. Within a cell refutation is monotone, and its boundary is bisected.
    Valid at every time, hence also when the trials were stopped early.
    """
    low, high = 0.0, _LEAST
    while high < _GREATEST and first.size:
        test = designed(ApproximateCurve(high, delta), tails, alpha=alpha, budget=budget)
        if test is None:
            return low

        def refuted(epsilon: float, test: CurveTest = test) -> bool:
            return test.refutes(ApproximateCurve(epsilon, delta), first, second, alpha)

        if not refuted(high):
            if low == 0.0 or not refuted(low):
                return low
            while high - low > 1e-3 * low:
                middle = 0.5 * (low + high)
                low, high = (middle, high) if refuted(middle) else (low, middle)
            return low
        low, high = high, high * cell
    return low


# -- power: how many trial pairs a leak of a known shape needs, and the smallest that so many find --------------------


class Shape(enum.Enum):
    """The shape of a leak: what one number that shows all of it looks like on both neighbours."""

    GAUSSIAN = "Gaussian-shaped"
    LAPLACE = "Laplace-shaped"
    WORST_CASE = "worst-case"

    @classmethod
    def of_noise(cls, delta: float) -> Shape:
        """The shape that added noise gives: Gaussian noise has no epsilon at delta = 0."""
        return cls.GAUSSIAN if delta > 0.0 else cls.LAPLACE

    def tails(self, epsilon: float, delta: float) -> ScoreTails:
        """Return the tails of the leak that is just (epsilon, delta)-DP."""
        if self is Shape.WORST_CASE:
            hit = (1.0 - delta) / (1.0 + math.exp(-epsilon))  # Kairouz et al. (2015): four outcomes
            first, second = (
                np.array(each) for each in ((1.0, hit + delta, delta), (1.0 - delta, 1.0 - hit - delta, 0.0))
            )
            return ScoreTails(np.array([0.5, 1.5, 2.5]), first, second)
        if self is Shape.LAPLACE:
            at = np.linspace(-4.0, 4.0 + epsilon, THRESHOLDS)
            return ScoreTails(at, _laplace_tail(at - epsilon), _laplace_tail(at))
        low, high = 1e-6, 100.0
        while high - low > 1e-6 * high:
            mu = 0.5 * (low + high)
            low, high = (low, mu) if float(gaussian_delta_upper(mu, np.array([epsilon]))[0]) > delta else (mu, high)
        return GaussianScores().tails(low)


def _laplace_tail(at: Floats) -> Floats:
    half = 0.5 * np.exp(-np.abs(at))
    return np.where(at > 0, half, 1.0 - half)


@functools.lru_cache(maxsize=256)
def trials_needed(
    curve: PrivacyCurve, epsilon: float, delta: float, shape: Shape, *, alpha: float, power: float = 0.9
) -> float:
    """Return about how many trial pairs refute the claim if the leak is just (epsilon, delta)-DP; infinite if none do.

    Of the log-wealth of constant stakes the mean and the deviation are exact, and their sum is taken as normal. The
    other bets only help. It is the power for a score that shows the whole leak, not that of finding pair and score.
    """
    tails = shape.tails(epsilon, delta)
    portfolio = log_optimal(curve, tails, _BETTING).portfolio
    if not portfolio.stake.size:
        return math.inf
    won = portfolio.log_multipliers(curve)
    first, second = (bin_masses(portfolio, tails.thresholds, side) for side in (tails.first, tails.second))
    mean, square = float(first @ won @ second), float(first @ won**2 @ second)
    if mean <= 0.0:
        return math.inf
    spread = float(ndtri(power)) * math.sqrt(max(square - mean * mean, 0.0))
    target = -math.log(alpha * SHARES[0])
    return max(1.0, ((spread + math.sqrt(spread * spread + 4.0 * mean * target)) / (2.0 * mean)) ** 2)


def smallest_found(
    curve: PrivacyCurve, claimed: float, delta: float, shape: Shape, *, alpha: float, trials: int
) -> float:
    """Return the least epsilon above the claim that so many trial pairs refute (within 1 %); infinite above 50."""
    low, high = claimed, 50.0
    if not trials_needed(curve, high, delta, shape, alpha=alpha) <= trials:
        return math.inf
    while high - low > 0.01 * high:
        middle = 0.5 * (low + high)
        found = trials_needed(curve, middle, delta, shape, alpha=alpha) <= trials
        low, high = (low, middle) if found else (middle, high)
    return high
