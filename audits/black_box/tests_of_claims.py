r"""Bets against the claim for one score, designed on runs of their own.

Under the claim each wealth is a non-negative supermartingale; so is the sum of several with fixed shares, whatever
pairs and scores were chosen before, because all were chosen on other runs. That sum ever reaches 1/alpha with
probability at most alpha (Ville 1939).
"""

from __future__ import annotations

import functools
import math

import numpy as np

from audits.curves.families import ClaimFamily, approximate_family
from audits.curves.privacy_curve import PrivacyCurve
from audits.estimators.curve_eprocess import Bet, CurveTest, refuted_after
from audits.estimators.design import log_optimal
from audits.estimators.horizon import HorizonBet
from audits.estimators.point_eprocess import pessimistic
from audits.score_models.model import ScoreTails, tails_of_samples
from verification.wire.arrays import Floats

_THRESHOLDS = 60
_PESSIMISM = 0.5
_LEAK = 0.01
_CELL = 1.2
_LEAST, _GREATEST = 0.05, 12.0


def tails_of(first: Floats, second: Floats) -> ScoreTails:
    """Return the tails that bets are designed for, half a standard error worse than what was seen."""
    return pessimistic(tails_of_samples(first, second, _THRESHOLDS), first.size, _PESSIMISM)


def growth_of(curve: PrivacyCurve, tails: ScoreTails) -> float:
    """Return the log-wealth that the best bets gain per trial pair if the tails are right."""
    return log_optimal(curve, tails).growth


def designed(curve: PrivacyCurve, tails: ScoreTails, *, alpha: float, budget: int) -> CurveTest | None:
    """Return bets for these tails and for a rare total leak; None where neither could win."""
    bets: list[Bet] = []
    shares: list[float] = []
    main = log_optimal(curve, tails).portfolio
    if main.stake.size:
        risky = main.scaled_to_risk(curve)
        moment = risky.second_moment(curve, tails)
        bets += [main, HorizonBet(risky, curve, moment, -math.log(alpha * 0.4), budget)]
        shares += [0.4, 0.4]
    rare = log_optimal(curve, _leaking(tails)).portfolio
    if rare.stake.size:
        bets.append(rare)
        shares.append(0.2)
    return CurveTest(tuple(bets), tuple(shares)) if bets else None


def _leaking(tails: ScoreTails) -> ScoreTails:
    """The least of both tails on each side, except that one run in a hundred reveals the record."""
    common = np.minimum(tails.first, tails.second)
    return ScoreTails(tails.thresholds, (1.0 - _LEAK) * common + _LEAK, (1.0 - _LEAK) * common)


def lower_bound(tails: ScoreTails, first: Floats, second: Floats, *, delta: float, alpha: float, budget: int) -> float:
    """Return an epsilon below which every claim at this delta is refuted, wrong with probability at most ``alpha``.

    Epsilon is cut into cells; each has bets designed for its upper end before the trials, so that the true epsilon is
    passed over only if the bets against it won. Within a cell refutation is monotone, and its boundary is bisected.
    Valid at every time, hence also when the trials were stopped early.
    """
    family = approximate_family(delta)
    low, high = 0.0, _LEAST
    while high < _GREATEST and first.size:
        test = designed(family.curve(high), tails, alpha=alpha, budget=budget)
        if test is None:
            return low
        if not test.refutes(family.curve(high), first, second, alpha):
            return _boundary(test, family, (low, high), (first, second), alpha)
        low, high = high, high * _CELL
    return low


def _boundary(
    test: CurveTest,
    family: ClaimFamily,
    cell: tuple[float, float],
    scores: tuple[Floats, Floats],
    alpha: float,
) -> float:
    low, high = cell
    if low == 0.0 or not test.refutes(family.curve(low), *scores, alpha):
        return low
    while high - low > 1e-3 * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if test.refutes(family.curve(middle), *scores, alpha) else (low, middle)
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
