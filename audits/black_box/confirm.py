"""Second half: fresh runs of the chosen pairs, bet on with fixed shares, and the lower bound that they give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from audits.black_box.explore import Chosen, describe
from audits.black_box.tests_of_claims import designed, lower_bound
from audits.curves.privacy_curve import PrivacyCurve
from audits.errors import AuditFault
from audits.estimators.curve_eprocess import CurveTest
from verification.neighbours.neighbours import Neighbours
from verification.wire.arrays import Floats
from verification.wire.black_box import Values
from verification.wire.records import Records


@dataclass(frozen=True, slots=True)
class Confirmed:
    """After how many trial pairs the claim was refuted (None: not), and what bounds epsilon."""

    refuted_after: int | None
    log_wealth: float
    epsilon: float
    by: str
    parts: tuple[tuple[str, float, float], ...]  # what was bet on, its share, its log-wealth


class Confirming:
    """The wealth of all bets together; a test at the end of each round, which may be the last at any time."""

    def __init__(self, picked: Sequence[Chosen], curve: PrivacyCurve, alpha: float, budget: int) -> None:
        self._picked = tuple(picked)
        self._curve = curve
        self._alpha = alpha
        self._budget = budget
        self._tests: list[CurveTest | None] = [
            designed(curve, each.candidate.tails, alpha=alpha * each.share, budget=max(budget, 1)) for each in picked
        ]
        self._first: list[Floats] = [np.zeros(0) for _ in picked]
        self._second: list[Floats] = [np.zeros(0) for _ in picked]
        self._log_wealth = [0.0 for _ in picked]
        self._largest = 0.0
        self._refuted_after: int | None = None

    @property
    def pairs(self) -> list[int]:
        """The numbers of the pairs that are run."""
        return list(dict.fromkeys(each.candidate.pair for each in self._picked))

    def done(self) -> int:
        """How many trial pairs there were of each pair of neighbours."""
        return min(scores.size for scores in self._first)

    def add(self, pair: int, chunk: tuple[Values, Values]) -> None:
        """Score fresh runs of one pair."""
        for number, each in enumerate(self._picked):
            if each.candidate.pair == pair:
                first, second = (each.candidate.of(side) for side in chunk)
                if np.isnan(first).any() or np.isnan(second).any():
                    raise AuditFault(f"the {each.candidate.score.name} score is not a number")
                self._first[number] = np.append(self._first[number], first)
                self._second[number] = np.append(self._second[number], second)

    def bet(self) -> float:
        """Return the logarithm of the total wealth after all rounds so far; refutes where it is large enough."""
        for number, test in enumerate(self._tests):
            if test is not None and self._first[number].size:
                path = test.log_wealth(self._curve, self._first[number], self._second[number])
                self._log_wealth[number] = float(path[-1])
        shares = [math.log(each.share) for each in self._picked]
        total = float(np.logaddexp.reduce(np.add(self._log_wealth, shares)))
        self._largest = max(self._largest, total)
        if self._refuted_after is None and total >= -math.log(self._alpha):
            self._refuted_after = self.done()
        return total

    def concluded(self, *, delta: float, alpha: float, pairs: Sequence[Neighbours[Records]]) -> Confirmed:
        """Return the conclusion; the bound is the largest of all, each with its share of ``alpha``."""
        best, by = 0.0, "nothing"
        for number, each in enumerate(self._picked):
            scores = self._first[number], self._second[number]
            level = alpha * each.share
            epsilon = lower_bound(each.candidate.tails, *scores, delta=delta, alpha=level, budget=self._budget)
            if epsilon > best:
                best, by = epsilon, describe(pairs, each.candidate)
        parts = tuple(
            (describe(pairs, each.candidate), each.share, wealth)
            for each, wealth in zip(self._picked, self._log_wealth, strict=True)
        )
        return Confirmed(self._refuted_after, self._largest, best, by, parts)
