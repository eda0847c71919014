"""The default audit: an e-process against the whole claimed curve, valid at every time, stopping early.

Wealth starts at 1 and is split over several bets by fixed shares; each multiplies its share by 1 + payoff at every
trial pair (see ``bets.py``). Under the claim the total is a non-negative supermartingale, so it ever reaches 1/alpha
with probability at most alpha (Ville 1939). The claim is refuted as soon as it does.

Bets on a score that is known are fixed before the first run (`CurveTest`). Where scores are learned, they are fixed
round by round (`Wealth`): a round is fresh runs of one pair of neighbours, and which pair that is, the score, the
thresholds and the stakes follow from earlier rounds. The wealth is one supermartingale over all rounds of all pairs,
and nothing is paid for having searched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from audits.curves import PrivacyCurve
from audits.eprocess.bets import HorizonBet, log_optimal
from audits.eprocess.scores import ScoreModel, ScoreTails, checked_scores
from audits.errors import AuditError, NoPower
from verification.outcome import Aspect, Cause, Power
from verification.pictures import scores
from verification.statistics.test import Test
from verification.wire.arrays import Floats

# float64 sums of at most 1e9 logarithms err by far less than this; it is charged to the bettor
LOG_WEALTH_SLACK = 1e-6
_RARE = 0.01  # runs that reveal the record, in the rare leak that is bet on


class Bet(Protocol):
    """One betting strategy against a curve: its wealth starts at 1 and is never negative."""

    def log_path(self, curve: PrivacyCurve, first: Floats, second: Floats) -> Floats:
        """Return the log-wealth after each trial pair (last axis)."""
        ...


@dataclass(frozen=True, slots=True)
class CurveTest:
    """Bets and the share of the initial wealth that each is given; None stakes nothing."""

    bets: tuple[Bet | None, ...]
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
        logs = [math.log(share) for share in self.shares]
        return _total(_paths(self.bets, logs, curve, first, second))

    def refutes(self, curve: PrivacyCurve, first: Floats, second: Floats, alpha: float) -> bool:
        """Whether the wealth ever reaches 1/alpha; stops at the first bet that alone suffices."""
        total = np.full(first.shape, -np.inf)
        for bet, share in zip(self.bets, self.shares, strict=True):
            (path,) = _paths((bet,), (math.log(share),), curve, first, second)
            total = np.logaddexp(total, path)
            if float(total.max()) - LOG_WEALTH_SLACK >= -math.log(alpha):
                return True
        return False


def _paths(
    bets: Sequence[Bet | None], logs: Sequence[float], curve: PrivacyCurve, first: Floats, second: Floats
) -> list[Floats]:
    """The log-wealth of each bet after each trial pair, from what it has before them."""
    return [
        np.full(first.shape, log) if bet is None else log + bet.log_path(curve, first, second)
        for bet, log in zip(bets, logs, strict=True)
    ]


def _total(paths: Sequence[Floats]) -> Floats:
    return np.asarray(np.logaddexp.reduce(paths) - LOG_WEALTH_SLACK)


def refuted_after(log_wealth: Floats, alpha: float) -> Floats:
    """Return after how many trial pairs the wealth reached 1/alpha (infinity if it never did)."""
    reached = log_wealth >= -math.log(alpha)
    first = np.argmax(reached, axis=-1) + 1.0
    return np.where(reached.any(axis=-1), first, np.inf)


def anytime_p_value(largest_log_wealth: float) -> float:
    """Return 1/e-value: under the claim the wealth ever reaches w with probability at most 1/w, whenever one stops."""
    return math.exp(-max(largest_log_wealth, 0.0))


def distinguished(
    name: str,
    largest_log_wealth: float,
    text: str,
    scored: tuple[str, Floats, Floats] | None,
    *,
    power: Power | None = None,
    weak: bool = False,
) -> Test:
    """What bets hand to the judge: their p-value, what was said of it, and the scores of both neighbours, by name."""
    return Test(
        name,
        Aspect.RELEASED,
        anytime_p_value(largest_log_wealth),
        text,
        Cause.DISTINGUISHED,
        draw=None if scored is None else lambda: scores(*scored),
        power=power,
        weakness=text if weak else "",
    )


@dataclass(frozen=True, slots=True)
class BettingPlan:
    """How the initial wealth is split between early stopping (rungs), the end of the budget, and rare total leaks.

    At most ``points`` of a curve are bet against, at most ``leak_points`` by the bets on rare leaks.
    """

    final_share: float = 0.5
    leak_share: float = 0.05
    rungs: int = 4
    ladder: float = 2.5
    points: int = 20
    leak_points: int = 20

    @property
    def shares(self) -> tuple[float, ...]:
        """Of every rung, of the bet steered to the end of the budget, and, where there is one, of rare leaks."""
        rung = (1.0 - self.final_share - self.leak_share) / self.rungs
        return (*[rung] * self.rungs, self.final_share, *([self.leak_share] if self.leak_share else []))


STOP_EARLY = BettingPlan()
FIXED_SAMPLE = BettingPlan(final_share=0.8, leak_share=0.0, rungs=2, ladder=6.0)
# for scores at which a bet on a small excess may lose at a large one, as those of many steps do
CLOSE_RUNGS = BettingPlan(final_share=0.8, leak_share=0.0, rungs=5, ladder=2.0)
# for tails that were seen, not computed: there is one alternative, and the rest is for what was not seen
SEEN = BettingPlan(final_share=0.4, leak_share=0.2, rungs=1, points=8, leak_points=5)


def bets_for(
    curve: PrivacyCurve,
    alternatives: Sequence[ScoreTails],
    claimed: ScoreTails,
    plan: BettingPlan,
    *,
    log_target: float,
    budget: int,
) -> tuple[Bet | None, ...]:
    """Return a bet for each of the plan's shares, None where it could not win; the steered one is to reach its target.

    ``alternatives`` are the tails to win at, a rung each; ``claimed`` those of which the variance is paid for.
    """
    rungs = [log_optimal(curve, tails, plan.points).portfolio for tails in alternatives]
    early: list[Bet | None] = [rung if rung.stake.size else None for rung in rungs]
    final = None
    if rungs[0].stake.size:
        risky = rungs[0].scaled_to_risk(curve)
        final = HorizonBet(risky, curve, risky.second_moment(curve, claimed), log_target, budget)
    if not plan.leak_share:
        return (*early, final)
    leak = log_optimal(curve, _leaking(claimed), plan.leak_points).portfolio
    return (*early, final, leak if leak.stake.size else None)


def _leaking(tails: ScoreTails) -> ScoreTails:
    """The least of both tails on each side, except that one run in a hundred reveals the record."""
    common = np.minimum(tails.first, tails.second)
    return ScoreTails(tails.thresholds, (1.0 - _RARE) * common + _RARE, (1.0 - _RARE) * common)


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
    budget can detect. The rungs of the plan are constant stakes for that excess and for larger ones.
    """
    if budget < 1:
        raise AuditError(f"budget must be at least one trial pair, got budget={budget!r}")
    if focus is not None and not focus > 1.0:
        raise AuditError(f"focus must be > 1, got focus={focus!r}")
    excess = smallest_excess(curve, model, strength, alpha, budget) if focus is None else focus - 1.0
    tails = [model.tails(strength * (1.0 + excess * plan.ladder**k)) for k in range(plan.rungs)]
    log_target = -math.log(alpha * plan.final_share)
    bets = bets_for(curve, tails, model.tails(strength), plan, log_target=log_target, budget=budget)
    if bets[0] is None:
        raise NoPower(f"no bet against {curve.describe()} could win at {1 + excess:g} times its strength")
    return CurveTest(bets, plan.shares)


def smallest_excess(curve: PrivacyCurve, model: ScoreModel, strength: float, alpha: float, budget: int) -> float:
    """Return the excess of strength whose optimal growth reaches 1/alpha (and the cost of mixing) within the budget."""
    wanted = (-math.log(alpha) + 1.0) / budget
    low, high = 1e-3, 16.0
    for _ in range(7):
        middle = math.sqrt(low * high)
        growth = log_optimal(curve, model.tails(strength * (1.0 + middle))).growth
        low, high = (low, middle) if growth >= wanted else (middle, high)
    return high


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """Scores of fresh runs, the tails that earlier runs had, and how many trial pairs are left from its first on."""

    pair: int
    score: str
    tails: ScoreTails
    first: Floats
    second: Floats
    left: int


class Wealth:
    """What bets against one claim have come to, round by round."""

    def __init__(self, curve: PrivacyCurve, alpha: float) -> None:
        self._curve, self._target = curve, -math.log(alpha)
        self._logs = [math.log(share) for share in SEEN.shares]
        self.trials = 0
        self.log_largest = 0.0
        self.refuted_after: int | None = None

    @property
    def log_now(self) -> float:
        """The logarithm of the wealth."""
        return float(np.logaddexp.reduce(self._logs))

    def add(self, played: Round) -> float:
        """Bet on a round; return by how much the log-wealth rose."""
        before = self.log_now
        target, budget = self._target - self._logs[SEEN.rungs], max(played.left, 1)
        bets = bets_for(self._curve, [played.tails], played.tails, SEEN, log_target=target, budget=budget)
        paths = _paths(bets, self._logs, self._curve, played.first, played.second)
        total = _total(paths)
        if self.refuted_after is None and bool((total >= self._target).any()):
            self.refuted_after = self.trials + int(np.argmax(total >= self._target)) + 1
        self.log_largest = max(self.log_largest, float(total.max()))
        self.trials += played.first.size
        self._logs = [float(path[-1]) for path in paths]
        return self.log_now - before
