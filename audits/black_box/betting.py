"""Choose pairs and scores on some runs, and bet against the claim on fresh ones.

First every pair is run, scores are learned on one part of the runs and compared on the other. Then the chosen pairs are
run again and bet on with fixed shares. Under the claim each wealth is a non-negative supermartingale; so is the sum of
several with fixed shares, whatever pairs and scores were chosen before, because all were chosen on other runs. That sum
ever reaches 1/alpha with probability at most alpha (Ville 1939).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from audits.black_box.scores import Layout, Score, layout_of, learned
from audits.curves import ClaimFamily, PrivacyCurve, approximate_family
from audits.eprocess.bets import HorizonBet, log_optimal
from audits.eprocess.curve_test import Bet, CurveTest, refuted_after
from audits.eprocess.lower_bounds import pessimistic
from audits.eprocess.scores import ScoreTails, tails_of_samples
from audits.errors import AuditFault
from verification.neighbours.neighbours import Neighbours
from verification.wire.arrays import Floats
from verification.wire.black_box import Values
from verification.wire.records import Records

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


def describe(pairs: Sequence[Neighbours[Records]], candidate: Candidate) -> str:
    """Return the candidate in words."""
    return f"{pairs[candidate.pair].name}, {candidate.score.name} score"


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
