"""The default audit: an e-process against the whole claimed curve, valid at every time, stopping early.

Wealth starts at 1 and is split over several portfolios by fixed weights; each multiplies its share by 1 + payoff
at every trial pair (see ``bets.py``). Under the claim the total is a non-negative supermartingale, so it ever
reaches 1/alpha with probability at most alpha (Ville 1939). The claim is refuted as soon as it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from audits.curves import ClaimFamily, PrivacyCurve
from audits.eprocess.bets import Design, HorizonBet, log_optimal
from audits.eprocess.confidence import Assumption, LowerBound, require_confidence
from audits.eprocess.scores import ScoreModel, ScoreTails, checked_scores
from audits.errors import AuditError, NoPower
from verification.wire.arrays import Floats

METHOD = "e-process against the curve"
ASSUMES = (Assumption.FRESH_TRIALS, Assumption.FIXED_EVENTS, Assumption.CLAIMED_CURVE)
BOUND_ASSUMES = (*ASSUMES, Assumption.FAMILY)
# float64 sums of at most 1e9 logarithms err by far less than this; it is charged to the bettor
LOG_WEALTH_SLACK = 1e-6
_CELL = 1.07
_PARTS = 4
_COARSE_SHARE = 0.1


class EveryClaimRefuted(AuditError):
    """Every claim of the family is refuted, also that of the greatest strength."""


class Bet(Protocol):
    """One betting strategy against a curve: its wealth starts at 1 and is never negative."""

    def log_path(self, curve: PrivacyCurve, first: Floats, second: Floats) -> Floats:
        """Return the log-wealth after each trial pair (last axis)."""
        ...


@dataclass(frozen=True, slots=True)
class CurveTest:
    """Bets and the share of the initial wealth that each is given."""

    bets: tuple[Bet, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.bets or len(self.bets) != len(self.shares):
            raise AuditError("a test needs at least one bet and as many shares as bets")
        if min(self.shares) <= 0.0 or math.fsum(self.shares) > 1.0 + 1e-12:
            raise AuditError(f"shares must be > 0 and sum to at most 1, got {self.shares!r}")

    def log_wealth(self, curve: PrivacyCurve, first: Floats, second: Floats) -> Floats:
        """Return the log-wealth after each trial pair (last axis); leading axes are independent repetitions.

        ``first`` and ``second`` are the scores of the runs on the two neighbours, pair by pair.
        """
        if first.shape != second.shape:
            raise AuditError(f"each trial needs both neighbours, got shapes {first.shape} and {second.shape}")
        checked_scores("first", first)
        checked_scores("second", second)
        total = np.full(first.shape, -np.inf)
        for bet, share in zip(self.bets, self.shares, strict=True):
            total = np.logaddexp(total, bet.log_path(curve, first, second) + math.log(share))
        return total - LOG_WEALTH_SLACK

    def refutes(self, curve: PrivacyCurve, first: Floats, second: Floats, alpha: float) -> bool:
        """Whether the wealth ever reaches 1/alpha; stops at the first bet that alone suffices."""
        total = np.full(first.shape, -np.inf)
        for bet, share in zip(self.bets, self.shares, strict=True):
            total = np.logaddexp(total, bet.log_path(curve, first, second) + math.log(share))
            if float(total.max()) - LOG_WEALTH_SLACK >= -math.log(alpha):
                return True
        return False


def refuted_after(log_wealth: Floats, alpha: float) -> Floats:
    """Return after how many trial pairs the wealth reached 1/alpha (infinity if it never did)."""
    reached = log_wealth >= -math.log(alpha)
    first = np.argmax(reached, axis=-1) + 1.0
    return np.where(reached.any(axis=-1), first, np.inf)


def anytime_p_value(largest_log_wealth: float) -> float:
    """Return 1/e-value: under the claim the wealth ever reaches w with probability at most 1/w, whenever one stops."""
    return math.exp(-max(largest_log_wealth, 0.0))


@dataclass(frozen=True, slots=True)
class BettingPlan:
    """How the initial wealth is split between the end of the budget, early stopping, and rare total leaks."""

    final_share: float = 0.5
    leak_share: float = 0.05
    rungs: int = 4
    ladder: float = 2.5


STOP_EARLY = BettingPlan()
FIXED_SAMPLE = BettingPlan(final_share=0.8, leak_share=0.0, rungs=2, ladder=6.0)
# for scores at which a bet on a small excess may lose at a large one, as those of many steps do
CLOSE_RUNGS = BettingPlan(final_share=0.8, leak_share=0.0, rungs=5, ladder=2.0)


def design_test(
    curve: PrivacyCurve,
    model: ScoreModel,
    strength: float,
    *,
    alpha: float,
    budget: int,
    focus: float | None = None,
    plan: BettingPlan = STOP_EARLY,
) -> CurveTest:
    """Return a test of ``curve`` (the claim of ``strength``) designed for ``budget`` trial pairs.

    ``focus`` is the ratio of strength to claimed strength that must be detected, by default the smallest that the
    budget can detect. One share of the wealth is for the end of the budget; most of the rest goes to constant stakes
    for that excess and for larger ones, to stop early; a little to rare total leaks, which less noise does not
    resemble.
    """
    if budget < 1:
        raise AuditError(f"budget must be at least one trial pair, got budget={budget!r}")
    if focus is not None and not focus > 1.0:
        raise AuditError(f"focus must be > 1, got focus={focus!r}")
    excess = smallest_excess(curve, model, strength, alpha, budget) if focus is None else focus - 1.0
    tails = [model.tails(strength * (1.0 + excess * plan.ladder**k)) for k in range(plan.rungs)]
    designs = [log_optimal(curve, t) for t in tails]
    early: list[Bet] = [d.portfolio for d in designs if d.portfolio.stake.size]
    if not designs[0].portfolio.stake.size:
        raise NoPower(f"no bet against {curve.describe()} could win at {1 + excess:g} times its strength")
    final = _final_bet(curve, model.tails(strength), designs[0], alpha=alpha * plan.final_share, budget=budget)
    share = (1.0 - plan.final_share - plan.leak_share) / len(early)
    bets, shares = [*early, final], [*[share] * len(early), plan.final_share]
    if plan.leak_share > 0.0:
        leak = log_optimal(curve, _rare_leak(model.tails(strength)))
        if leak.portfolio.stake.size:
            bets.append(leak.portfolio)
            shares.append(plan.leak_share)
    return CurveTest(tuple(bets), tuple(shares))


def _final_bet(curve: PrivacyCurve, claimed: ScoreTails, design: Design, *, alpha: float, budget: int) -> HorizonBet:
    portfolio = design.portfolio.scaled_to_risk(curve)
    return HorizonBet(portfolio, curve, portfolio.second_moment(curve, claimed), -math.log(alpha), budget)


def smallest_excess(curve: PrivacyCurve, model: ScoreModel, strength: float, alpha: float, budget: int) -> float:
    """Return the excess of strength whose optimal growth reaches 1/alpha (and the cost of mixing) within the budget."""
    wanted = (-math.log(alpha) + 1.0) / budget
    low, high = 1e-3, 16.0
    for _ in range(7):
        middle = math.sqrt(low * high)
        design: Design = log_optimal(curve, model.tails(strength * (1.0 + middle)))
        low, high = (low, middle) if design.growth >= wanted else (middle, high)
    return high


def _rare_leak(tails: ScoreTails, share: float = 0.01) -> ScoreTails:
    """The claimed mechanism, except that one run in a hundred reveals the record."""
    first = (1.0 - share) * tails.first + share
    second = (1.0 - share) * tails.second
    return ScoreTails(tails.thresholds, first, second)


def lower_bound(
    family: ClaimFamily,
    model: ScoreModel,
    first: Floats,
    second: Floats,
    *,
    delta: float,
    confidence: float = 0.95,
) -> LowerBound:
    """Return the epsilon (at ``delta``) of the infimum of the claims of the family that are not refuted.

    The strengths are cut into cells, those into smaller ones. A claim is bet against with a tenth of the wealth by the
    design of its cell and with the rest by that of its smaller cell; both are fixed before any score is seen, so the
    bound exceeds the true strength only if the true claim's own test refuted it: confidence holds without a union
    bound. Within a smaller cell all claims share their designs, so refutation is monotone there and its boundary is
    found by bisection; cells are tested upwards from the least, and the smaller ones only where the large one's
    tenth does not suffice.
    """
    alpha = require_confidence(confidence)
    strength = _least_not_refuted(family, model, first, second, alpha)
    epsilon = 0.0 if strength is None else family.curve(strength).epsilon_at(delta)
    return LowerBound(METHOD, epsilon, delta, confidence, BOUND_ASSUMES, first.size)


def _least_not_refuted(
    family: ClaimFamily, model: ScoreModel, first: Floats, second: Floats, alpha: float
) -> float | None:
    low = family.least
    anchor, excess = 0.0, 0.0

    def designed(strength: float, level: float, excess: float, plan: BettingPlan) -> CurveTest:
        curve, budget, focus = family.curve(strength), first.size, 1.0 + excess
        return design_test(curve, model, strength, alpha=level, budget=budget, focus=focus, plan=plan)

    while low < family.greatest:
        high = min(low * _CELL, family.greatest)
        if high > anchor:
            # far below the boundary anything refutes: the excess that can be shown is computed anew at every doubling
            anchor = 2.0 * high
            excess = smallest_excess(family.curve(high), model, high, alpha, first.size)
        coarse = designed(high, alpha * _COARSE_SHARE, excess, FIXED_SAMPLE)
        if not coarse.refutes(family.curve(high), first, second, alpha * _COARSE_SHARE):
            nearby = smallest_excess(family.curve(high), model, high, alpha, first.size)
            for end in (low * (high / low) ** (k / _PARTS) for k in range(1, _PARTS + 1)):
                test = _mixed(coarse, designed(end, alpha * (1.0 - _COARSE_SHARE), nearby, CLOSE_RUNGS))

                def refutes(strength: float, test: CurveTest = test) -> bool:
                    return test.refutes(family.curve(strength), first, second, alpha)

                if not refutes(end):
                    return _boundary(refutes, low, end, family.least)
                low = end
        low = high
    raise EveryClaimRefuted(
        f"every claim of {family.name} up to strength {family.greatest:g} is refuted; extend the family"
    )


def _mixed(coarse: CurveTest, fine: CurveTest) -> CurveTest:
    shares = (*(_COARSE_SHARE * s for s in coarse.shares), *((1.0 - _COARSE_SHARE) * s for s in fine.shares))
    return CurveTest((*coarse.bets, *fine.bets), shares)


def _boundary(refutes: Callable[[float], bool], low: float, high: float, least: float) -> float | None:
    """Return a strength that is refuted (or the cell's end) with one not refuted at most 1e-4 above it."""
    if not refutes(low):
        # the cell below was refuted up to here, unless there is none
        return None if low == least else low
    while high - low > 1e-4 * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refutes(middle) else (low, middle)
    return low
