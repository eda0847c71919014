"""An e-process against one (epsilon, delta): any mechanism, no curve assumed, valid at every time.

The bets are designed on the first trials and made on the others, so they are fixed in advance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from audits.curves.families import ClaimFamily, approximate_family
from audits.errors import AuditError
from audits.estimators.curve_eprocess import CurveTest
from audits.estimators.design import log_optimal
from audits.estimators.horizon import HorizonBet
from audits.estimators.result import Assumption, LowerBound, require_confidence
from audits.score_models.model import ScoreTails, checked_scores, tails_of_samples
from verification.wire.arrays import Floats

ASSUMES = (Assumption.FRESH_TRIALS, Assumption.FIXED_EVENTS)
_DESIGN_SHARE = 0.1
_CELL = 1.07
_PESSIMISM = 0.5


def point_test(family: ClaimFamily, strength: float, tails: ScoreTails, *, alpha: float, budget: int) -> CurveTest:
    """Return a test of the family's claim at ``strength``, designed for scores distributed as ``tails``."""
    curve = family.curve(strength)
    design = log_optimal(curve, tails)
    if not design.portfolio.stake.size:
        raise AuditError(f"no bet against {curve.describe()} wins on the design trials")
    risky = design.portfolio.scaled_to_risk(curve)
    moment = risky.second_moment(curve, tails)
    final = HorizonBet(risky, curve, moment, -math.log(alpha * 0.5), budget)
    return CurveTest((design.portfolio, final), (0.5, 0.5))


def pessimistic(tails: ScoreTails, count: int, deviations: float) -> ScoreTails:
    """Shift both tails by standard errors in the unfavourable direction, so a design does not overfit its sample."""
    first = tails.first - deviations * np.sqrt(tails.first * (1.0 - tails.first) / count)
    second = tails.second + deviations * np.sqrt(tails.second * (1.0 - tails.second) / count)
    ordered = np.minimum.accumulate(np.clip(first, 0.0, 1.0)), np.minimum.accumulate(np.clip(second, 0.0, 1.0))
    return ScoreTails(tails.thresholds, *ordered)


def lower_bound(first: Floats, second: Floats, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """Return the infimum of the epsilons for which (epsilon, ``delta``)-DP is not refuted."""
    alpha = require_confidence(confidence)
    split = _split(first, second)
    epsilon = _least_not_refuted(approximate_family(delta), split, alpha)
    return LowerBound("e-process on (epsilon, delta)", epsilon, delta, confidence, ASSUMES, first.size)


def refutes(first: Floats, second: Floats, *, epsilon: float, delta: float, alpha: float) -> bool:
    """Whether (epsilon, delta)-DP itself is refuted, with false-alarm probability at most ``alpha``."""
    split = _split(first, second)
    family = approximate_family(delta)
    try:
        test = point_test(family, epsilon, split.tails, alpha=alpha, budget=split.first.size)
    except AuditError:
        return False  # the design trials show nothing to bet on
    return test.refutes(family.curve(epsilon), split.first, split.second, alpha)


@dataclass(frozen=True, slots=True)
class _Split:
    """What the design trials showed, and the trials that are left to bet on."""

    tails: ScoreTails
    first: Floats
    second: Floats


def _split(first: Floats, second: Floats) -> _Split:
    checked_scores("first", first)
    checked_scores("second", second)
    cut = max(1, int(_DESIGN_SHARE * first.size))
    if first.size != second.size or cut >= first.size:
        raise AuditError(f"needs at least two trial pairs, got {first.size} and {second.size} scores")
    tails = pessimistic(tails_of_samples(first[:cut], second[:cut], 80), cut, _PESSIMISM)
    return _Split(tails, first[cut:], second[cut:])


def _least_not_refuted(family: ClaimFamily, split: _Split, alpha: float) -> float:
    low, high = 0.0, family.least
    while high < family.greatest:
        try:
            test = point_test(family, high, split.tails, alpha=alpha, budget=split.first.size)
        except AuditError:
            # the design trials show no excess over this claim, so nothing is bet on it and it stays unrefuted
            return low

        def refuted(strength: float, test: CurveTest = test) -> bool:
            return test.refutes(family.curve(strength), split.first, split.second, alpha)

        if not refuted(high):
            return _boundary(refuted, low, high)
        low, high = high, high * _CELL
    return low


def _boundary(refuted: Callable[[float], bool], low: float, high: float) -> float:
    # one design for the whole cell makes refutation monotone in it
    if low == 0.0 or not refuted(low):
        return low
    while high - low > 1e-3 * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
