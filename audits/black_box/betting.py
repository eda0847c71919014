"""Choose pairs and scores on some runs, and bet against the claim on fresh ones.

First every pair is run, scores are learned on one part of the runs and compared on the other. Then the chosen pairs are
run again and bet on with fixed shares. Under the claim each wealth is a non-negative supermartingale; so is the sum of
several with fixed shares, whatever pairs and scores were chosen before, because all were chosen on other runs. That sum
ever reaches 1/alpha with probability at most alpha (Ville 1939).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from audits.black_box.scores import Layout, Score, layout_of, learned
from audits.curves import PrivacyCurve
from audits.eprocess.curve_test import CurveTest, anytime_p_value
from audits.eprocess.point_test import designed, growth_of, lower_bound_at, tails_of
from audits.eprocess.scores import ScoreTails
from audits.errors import AuditFault
from verification.neighbours.neighbours import Neighbours
from verification.wire.arrays import Floats
from verification.wire.session import Values

LARGEST_NUMBER_OF_PAIRS = 3
_SCORES_PER_PAIR = 2
_SHARES = (0.6, 0.25, 0.15)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A pair with a score, and how the score was distributed on runs that did not teach it."""

    pair: int
    score: Score
    layout: Layout
    tails: ScoreTails
    growth: float
    apart: float

    def of(self, values: Values) -> Floats:
        """Return the scores of runs."""
        return self.score.of(self.layout.rows(values))


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A candidate with its share of the initial wealth."""

    candidate: Candidate
    share: float


def candidates(
    number: int, chunks: Sequence[tuple[Values, Values]], curve: PrivacyCurve, *, trees: int
) -> list[Candidate]:
    """Teach on the first half of the chunks' runs; judge on the second."""
    layout = layout_of(*chunks[0])
    first, second = (np.vstack([layout.rows(chunk[side]) for chunk in chunks]) for side in (0, 1))
    half = len(first) // 2
    found = []
    for score in learned(first[:half], second[:half], trees=trees):
        a, b = score.of(first[half:]), score.of(second[half:])
        tails = tails_of(a, b)
        apart = float(np.abs(tails.first - tails.second).max())
        found.append(Candidate(number, score, layout, tails, growth_of(curve, tails), apart))
    return found


def chosen(found: Sequence[Candidate]) -> list[Chosen]:
    """Return the candidates that are bet on: the two best scores of the best three pairs, the best with most."""
    ranked = sorted(found, key=lambda each: (-each.growth, -each.apart, each.pair, each.score.name))
    by_pair: dict[int, list[Candidate]] = {}
    for each in ranked:
        if each.pair in by_pair or len(by_pair) < LARGEST_NUMBER_OF_PAIRS:
            by_pair.setdefault(each.pair, []).append(each)
    picked = []
    for rank, group in enumerate(by_pair.values()):
        used = group[:_SCORES_PER_PAIR]
        picked += [Chosen(each, _SHARES[rank] / len(used)) for each in used]
    return picked


def describe(pairs: Sequence[Neighbours], candidate: Candidate) -> str:
    """Return the candidate in words."""
    return f"{pairs[candidate.pair].name}, {candidate.score.name} score"


@dataclass(frozen=True, slots=True)
class Confirmed:
    """After how many trial pairs the claim was refuted (None: not), and what bounds epsilon."""

    refuted_after: int | None
    log_wealth: float
    best: str  # what won most
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
        if self._refuted_after is None and anytime_p_value(self._largest) <= self._alpha:
            self._refuted_after = self.done()
        return total

    def best_scores(self) -> tuple[Floats, Floats]:
        """The scores of both neighbours on which most was won."""
        best = self._best()
        return self._first[best], self._second[best]

    def _best(self) -> int:
        return int(
            np.argmax([wealth + math.log(e.share) for wealth, e in zip(self._log_wealth, self._picked, strict=True)])
        )

    def concluded(self, *, delta: float, confidence: float | None, pairs: Sequence[Neighbours]) -> Confirmed:
        """Return the wealth and the bound: the largest of all, each with its share of what may be wrong."""
        best, by = 0.0, "nothing"
        for number, each in enumerate(self._picked if confidence is not None else ()):
            scores = self._first[number], self._second[number]
            level = (1.0 - (confidence or 0.0)) * each.share
            epsilon = lower_bound_at(delta, each.candidate.tails, *scores, alpha=level, budget=self._budget)
            if epsilon > best:
                best, by = epsilon, describe(pairs, each.candidate)
        parts = tuple(
            (describe(pairs, each.candidate), each.share, wealth)
            for each, wealth in zip(self._picked, self._log_wealth, strict=True)
        )
        won = describe(pairs, self._picked[self._best()].candidate)
        return Confirmed(self._refuted_after, self._largest, won, best, by, parts)
