"""First half: every pair is run, scores are learned on one part of the runs, and judged on the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from audits.black_box.scores import Score, learned
from audits.black_box.tests_of_claims import growth_of, tails_of
from audits.black_box.views import Layout, layout_of
from audits.curves.privacy_curve import PrivacyCurve
from audits.score_models.model import ScoreTails
from verification.neighbours.neighbours import Neighbours
from verification.wire.arrays import Floats
from verification.wire.black_box import Values
from verification.wire.records import Records

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
