"""Bets against a claim, round by round: all that is bet on fresh runs follows from the runs before them.

A round is fresh runs of one pair of neighbours. Which pair that is, the score, the thresholds and the stakes are fixed
by earlier rounds. So the wealth is, under the claim, one non-negative supermartingale over all rounds of all pairs, and
nothing is paid for having searched: it ever reaches 1/alpha with probability at most alpha (Ville 1939). Rounds are
kept, so that the same bets can be made against any other claim: that gives the lower bound on epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from audits.black_box.scores import Layout, LinearScore, Score, layout_of, learned
from audits.curves import ApproximateCurve, PrivacyCurve
from audits.eprocess.curve_test import LOG_WEALTH_SLACK
from audits.eprocess.point_test import SHARES, bets_for, growth_of, normal_tails_of, tails_of
from audits.eprocess.scores import ScoreTails
from audits.errors import AuditFault
from verification.wire.arrays import Floats
from verification.wire.session import Values

_PESSIMISM = 1.0  # standard errors by which tails are worse than what was seen
_MANY = 1000  # runs that show the tails of a sum as they are; fewer are taken as normal
_POINTS = 5  # of a curve that events are compared with
_TAUGHT = 4000  # runs of each neighbour that a score is taught on, at most
_LEAST, _CELL, _CLAIMS = 0.05, 1.1, 58  # claims that a bound is found by: 0.05 to 11.4

Chunk = tuple[Values, Values]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A pair with its best score, and how the score was distributed on runs that did not teach it."""

    pair: int
    score: Score
    layout: Layout
    tails: ScoreTails
    growth: float
    excess: float

    @property
    def rank(self) -> tuple[float, float, int]:
        """Least for the pair that is most worth running."""
        return -self.growth, -self.excess, self.pair

    def of(self, values: Values) -> Floats:
        """Return the scores of runs."""
        scores = self.score.of(self.layout.rows(values))
        if np.isnan(scores).any():
            raise AuditFault(f"the {self.score.name} score is not a number")
        return scores


def candidate(pair: int, chunks: Sequence[Chunk], curve: PrivacyCurve, *, trees: int, few: bool = False) -> Candidate:
    """Teach scores on the first half of the runs, compare them on the second, and return the best.

    Where runs are few, each half is compared by the scores of the other, and the best is taught on all.
    """
    layout = layout_of(chunks)
    first, second = (np.vstack([layout.rows(chunk[side]) for chunk in chunks]) for side in (0, 1))
    half = min(len(first) // 2, _TAUGHT)
    if few:
        return _candidate_of_few(pair, layout, first, second, curve)
    found = []
    for score in learned(first[:half], second[:half], trees=trees):
        sides = score.of(first[half:]), score.of(second[half:])
        linear = isinstance(score, LinearScore) and sides[0].size < _MANY
        tails = (normal_tails_of if linear else tails_of)(*sides, _PESSIMISM)
        found.append(Candidate(pair, score, layout, tails, growth_of(curve, tails), _excess(curve, tails)))
    return min(found, key=lambda each: each.rank)


def _candidate_of_few(pair: int, layout: Layout, first: Floats, second: Floats, curve: PrivacyCurve) -> Candidate:
    folds = [(slice(k, None, 2), slice(1 - k, None, 2)) for k in (0, 1)]
    taught = [learned(first[teach], second[teach], trees=0) for teach, _ in folds]
    found = []
    for score, *halves in zip(learned(first, second, trees=0), *taught, strict=True):
        centre, spread = _scale(score.of(first), score.of(second))
        fresh: tuple[list[Floats], list[Floats]] = ([], [])
        for half, (_, test) in zip(halves, folds, strict=True):
            sides = half.of(first[test]), half.of(second[test])
            from_centre, from_spread = _scale(*sides)
            for into, each in zip(fresh, sides, strict=True):
                into.append(centre + spread * (each - from_centre) / from_spread)
        few = normal_tails_of if isinstance(score, LinearScore) else tails_of
        tails = few(np.concatenate(fresh[0]), np.concatenate(fresh[1]), _PESSIMISM)
        found.append(Candidate(pair, score, layout, tails, growth_of(curve, tails), _excess(curve, tails)))
    return min(found, key=lambda each: each.rank)


def _scale(first: Floats, second: Floats) -> tuple[float, float]:
    """The centre of both sides and the deviation within them, 1 where there is none."""
    spread = math.sqrt(0.5 * float(first.var() + second.var()))
    return 0.5 * float(first.mean() + second.mean()), spread or 1.0


def _excess(curve: PrivacyCurve, tails: ScoreTails) -> float:
    """Return by how much an event is more likely than the claim allows, most of all; negative where none is."""
    epsilons = curve.betting_epsilons(_POINTS)[:, None]
    growth, allowed = np.exp(epsilons), curve.delta(epsilons)
    forward = tails.first - growth * tails.second - allowed
    backward = (1.0 - tails.second) - growth * (1.0 - tails.first) - allowed
    return float(np.maximum(forward, backward).max())


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
    """What bets against one claim have come to."""

    def __init__(self, curve: PrivacyCurve, alpha: float) -> None:
        self._curve, self._target = curve, -math.log(alpha)
        self._logs = [math.log(share) for share in SHARES]
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
        target = self._target - self._logs[1]
        bets = bets_for(self._curve, played.tails, log_target=target, budget=max(played.left, 1))
        paths = [
            np.full(played.first.size, log)
            if bet is None
            else log + bet.log_path(self._curve, played.first, played.second)
            for bet, log in zip(bets, self._logs, strict=True)
        ]
        total = np.logaddexp.reduce(paths) - LOG_WEALTH_SLACK
        if self.refuted_after is None and bool((total >= self._target).any()):
            self.refuted_after = self.trials + int(np.argmax(total >= self._target)) + 1
        self.log_largest = max(self.log_largest, float(total.max()))
        self.trials += played.first.size
        self._logs = [float(path[-1]) for path in paths]
        return self.log_now - before


def lower_bound(rounds: Sequence[Round], claimed: float, delta: float, alpha: float, *, refuted: bool) -> float:
    """Return an epsilon below which every claim at this delta is refuted; above the claim only if that is refuted.

    Claims are tested upwards, from the claimed one if it is refuted, else from the least, until one is not refuted. The
    bound exceeds the true epsilon only if one of two true claims is refuted, the claimed one or the least tested one
    that holds: with probability at most 2 alpha.
    """

    def refutes(epsilon: float) -> bool:
        wealth = Wealth(ApproximateCurve(epsilon, delta), alpha)
        for played in rounds:
            wealth.add(played)
            if wealth.refuted_after is not None:
                return True
        return False

    best, tested = 0.0, [_LEAST * _CELL**k for k in range(_CLAIMS)]
    if not refuted:
        tested = [epsilon for epsilon in tested if epsilon < claimed]
    elif refutes(claimed):
        best, tested = claimed, [epsilon for epsilon in tested if epsilon > claimed]
    for epsilon in tested:
        if not refutes(epsilon):
            break
        best = epsilon
    return best
