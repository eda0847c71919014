r"""A test of a claim that is designed on some runs and made on others: any mechanism, any score.

The bets are fixed before the runs that they are made on, so that the wealth is a non-negative supermartingale under the
claim, whatever the design runs showed.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from audits.curves import ApproximateCurve, PrivacyCurve
from audits.eprocess.bets import HorizonBet, log_optimal
from audits.eprocess.curve_test import Bet, CurveTest, refuted_after
from audits.eprocess.scores import ScoreTails, tails_of_samples
from verification.wire.arrays import Floats

_THRESHOLDS = 60
_COARSE = 3  # of so many thresholds one is used to rank candidates
_RANKING, _BETTING = 5, 8  # points of a curve that are bet against, where it is not known by one alone
_PESSIMISM = 0.5
_LEAK = 0.01
_LEAST, _GREATEST = 0.05, 12.0


def pessimistic(tails: ScoreTails, count: int, deviations: float) -> ScoreTails:
    """Shift both tails by standard errors in the unfavourable direction, so a design does not overfit its sample."""
    first = tails.first - deviations * np.sqrt(tails.first * (1.0 - tails.first) / count)
    second = tails.second + deviations * np.sqrt(tails.second * (1.0 - tails.second) / count)
    ordered = np.minimum.accumulate(np.clip(first, 0.0, 1.0)), np.minimum.accumulate(np.clip(second, 0.0, 1.0))
    return ScoreTails(tails.thresholds, *ordered)


def tails_of(first: Floats, second: Floats) -> ScoreTails:
    """Return the tails that bets are designed for, half a standard error worse than what was seen."""
    return pessimistic(tails_of_samples(first, second, _THRESHOLDS), first.size, _PESSIMISM)


def growth_of(curve: PrivacyCurve, tails: ScoreTails) -> float:
    """Return about the log-wealth that the best bets gain per trial pair if the tails are right; it ranks scores."""
    every = slice(_COARSE // 2, None, _COARSE) if tails.thresholds.size > 2 * _COARSE else slice(None)
    coarse = ScoreTails(tails.thresholds[every], tails.first[every], tails.second[every])
    return log_optimal(curve, coarse, _RANKING).growth


def designed(curve: PrivacyCurve, tails: ScoreTails, *, alpha: float, budget: int) -> CurveTest | None:
    """Return bets for these tails and for a rare total leak; None where neither could win."""
    bets: list[Bet] = []
    shares: list[float] = []
    main = log_optimal(curve, tails, _BETTING).portfolio
    if main.stake.size:
        risky = main.scaled_to_risk(curve)
        moment = risky.second_moment(curve, tails)
        bets += [main, HorizonBet(risky, curve, moment, -math.log(alpha * 0.4), budget)]
        shares += [0.4, 0.4]
    rare = log_optimal(curve, _leaking(tails), _RANKING).portfolio
    if rare.stake.size:
        bets.append(rare)
        shares.append(0.2)
    return CurveTest(tuple(bets), tuple(shares)) if bets else None


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


@functools.lru_cache(maxsize=64)
def smallest_detectable(curve: PrivacyCurve, *, claimed: float, alpha: float, budget: int, power: float = 0.9) -> float:
    """Return the least epsilon (in steps) of randomised response that ``budget`` pairs refute; infinite if none.

    This is the power of the test for a score that shows the whole leak, not of the choice of pair and score.
    """
    rng = np.random.default_rng(np.random.SeedSequence(0))
    simulations = 200
    for excess in (*np.geomspace(0.1, 2.0, 8), *np.geomspace(2.5, 12.0, 8)):
        epsilon = claimed + float(excess)
        hit = 1.0 / (1.0 + math.exp(-epsilon))
        tails = ScoreTails(np.array([0.5]), np.array([hit]), np.array([1.0 - hit]))
        test = designed(curve, tails, alpha=alpha, budget=budget)
        if test is None:
            continue
        first, second = (rng.random((simulations, budget)) < p for p in (hit, 1.0 - hit))
        wealth = test.log_wealth(curve, first.astype(np.float64), second.astype(np.float64))
        if np.isfinite(refuted_after(wealth, alpha)).mean() >= power:
            return epsilon
    return math.inf
