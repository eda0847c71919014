"""Scores that are learned: high speaks for the first neighbour.

An adversary looks at every released number in one row, with the shapes that were released as well. Each score is taught
on runs of its own, so that a test on other runs is sound whatever was learned. Five kinds see different leaks: a shift,
from the fewest runs (means); a shift in any direction, also one in which there is no noise at all (linear); another
spread or shape (density); combinations of several values (boosted); rare runs that look like no other (extreme).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from audits.curves import PrivacyCurve
from audits.eprocess.bets import log_optimal
from audits.eprocess.curve_test import SEEN
from audits.eprocess.scores import ScoreTails, normal_tails_of, tails_of
from audits.errors import AuditFault
from verification.wire.arrays import Floats
from verification.wire.session import Values

_HUGE = 1e150


@dataclass(frozen=True, slots=True)
class Layout:
    """The names and widths of one row; fixed on the runs that teach, so that later runs give rows of the same width."""

    widths: tuple[tuple[str, int], ...]

    def rows(self, values: Mapping[str, Floats]) -> Floats:
        """Return one row a run; what is missing is 0.

        The number of values and of those that are not finite is part of the row: an output that is longer, or NaN, on
        one of the neighbours tells them apart.
        """
        count = len(next(iter(values.values())))
        columns: list[Floats] = []
        known = {name for name, _ in self.widths}
        for name, width in self.widths:
            flat = values[name].reshape(count, -1) if name in values else np.zeros((count, 0))
            finite = np.isfinite(flat)
            row = np.zeros((count, width))
            used = min(width, flat.shape[1])
            row[:, :used] = np.clip(np.where(finite, flat, 0.0), -_HUGE, _HUGE)[:, :used]
            sizes = np.full(count, float(flat.shape[1] if name in values else -1))
            columns += [row, sizes[:, None], (flat.shape[1] - finite.sum(axis=1))[:, None].astype(np.float64)]
        surplus = sum(array[0].size if count else 0 for name, array in values.items() if name not in known)
        return np.hstack([*columns, np.full((count, 1), float(surplus))])


def layout_of(chunks: Sequence[tuple[Mapping[str, Floats], Mapping[str, Floats]]]) -> Layout:
    """Return a layout that holds everything that either side released."""
    widths: dict[str, int] = {}
    for name, array in (item for chunk in chunks for values in chunk for item in values.items()):
        widths[name] = max(widths.get(name, 0), array.reshape(len(array), -1).shape[1])
    return Layout(tuple(sorted(widths.items())))


_RIDGE = 1e-9
_WIDEST = 150
_BINS = 24
_CLIP = 1e6


class Score(Protocol):
    """A function of what a run released."""

    @property
    def name(self) -> str:
        """The kind of score."""
        ...

    def of(self, rows: Floats) -> Floats:
        """Return one number a run."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """The columns that differ most, centred and scaled; a column without spread keeps its unit."""

    columns: Floats
    centre: Floats
    spread: Floats

    def of(self, rows: Floats) -> Floats:
        """Return the standardised columns."""
        chosen = rows[:, self.columns.astype(np.intp)]
        return np.clip((chosen - self.centre) / self.spread, -_CLIP, _CLIP)


def standard(first: Floats, second: Floats) -> Standard:
    """Return the scaling learned from both sides; of very many columns the most different ones."""
    both = np.vstack([first, second])
    centre = np.median(both, axis=0)
    deviation = np.median(np.abs(both - centre), axis=0) * 1.4826
    spread = np.where(deviation > 0.0, deviation, both.std(axis=0))
    spread = np.where(spread > 0.0, spread, np.where(centre != 0.0, np.abs(centre), 1.0))
    columns = np.arange(both.shape[1])
    if columns.size > _WIDEST:
        a, b = (np.clip((side - centre) / spread, -10.0, 10.0) for side in (first, second))
        apart = np.abs(a.mean(axis=0) - b.mean(axis=0)) + np.abs((a**2).mean(axis=0) - (b**2).mean(axis=0))
        columns = np.sort(np.argsort(-apart, kind="stable")[:_WIDEST])
    return Standard(columns.astype(np.float64), centre[columns], spread[columns])


@dataclass(frozen=True, slots=True, eq=False)
class LinearScore:
    """Fisher's discriminant; nearly no ridge, so that a direction without noise gets all the weight it deserves."""

    scale: Standard
    weights: Floats
    name: str = "linear"

    def of(self, rows: Floats) -> Floats:
        """Return the discriminant."""
        return np.asarray(self.scale.of(rows) @ self.weights)


def linear(scale: Standard, a: Floats, b: Floats) -> LinearScore:
    """Fit the discriminant on standardised rows."""
    scatter = 0.5 * (np.cov(a, rowvar=False) + np.cov(b, rowvar=False)).reshape(a.shape[1], a.shape[1])
    ridge = _RIDGE * max(float(np.trace(scatter)) / scatter.shape[0], 1e-12)
    return LinearScore(scale, np.linalg.solve(scatter + ridge * np.eye(len(scatter)), a.mean(axis=0) - b.mean(axis=0)))


@dataclass(frozen=True, slots=True, eq=False)
class Density:
    """The logarithm of the ratio of two smoothed histograms of one number."""

    edges: Floats
    ratio: Floats

    def of(self, numbers: Floats) -> Floats:
        """Return the log-ratio of each number's bin."""
        return np.asarray(self.ratio[np.searchsorted(self.edges, numbers, side="left")])


def density(a: Floats, b: Floats) -> Density:
    """Fit histograms with edges at quantiles of both sides together."""
    edges = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0.0, 1.0, _BINS + 1)))
    counts = [np.bincount(np.searchsorted(edges, side, side="left"), minlength=edges.size + 1) for side in (a, b)]
    smooth = [(count + 0.5) / (count.sum() + 0.5 * count.size) for count in counts]
    return Density(edges, np.log(smooth[0]) - np.log(smooth[1]))


@dataclass(frozen=True, slots=True, eq=False)
class DensityScore:
    """The sum of the log-ratios of several projections: a likelihood ratio as if they were independent."""

    scale: Standard
    directions: Floats
    densities: tuple[Density, ...]
    name: str = "density"

    def of(self, rows: Floats) -> Floats:
        """Return the summed log-ratio."""
        seen = projections(self.scale.of(rows), self.directions)
        return np.asarray(sum(fitted.of(seen[:, k]) for k, fitted in enumerate(self.densities)))


def projections(standardised: Floats, directions: Floats) -> Floats:
    """Return the projections, and how far the farthest column is from its centre."""
    farthest = np.abs(standardised).max(axis=1, keepdims=True)
    return np.hstack([standardised @ directions, farthest])


def densities(scale: Standard, a: Floats, b: Floats, discriminant: Floats) -> DensityScore:
    """Fit: the discriminant, the two directions whose spread differs most, and the farthest column."""
    spreads = [np.cov(np.clip(side, -20.0, 20.0), rowvar=False).reshape(a.shape[1], a.shape[1]) for side in (a, b)]
    values, vectors = np.linalg.eigh(spreads[0] - spreads[1])
    chosen = vectors[:, np.argsort(-np.abs(values), kind="stable")[:2]]
    length = float(np.linalg.norm(discriminant))
    directions = np.column_stack([discriminant / length if length > 0.0 else discriminant, chosen])
    p, q = projections(a, directions), projections(b, directions)
    return DensityScore(scale, directions, tuple(density(p[:, k], q[:, k]) for k in range(p.shape[1])))


@dataclass(frozen=True, slots=True, eq=False)
class ExtremeScore:
    """How far the farthest column is from its centre; signed by the neighbour on which that was larger."""

    scale: Standard
    sign: float
    name: str = "extreme"

    def of(self, rows: Floats) -> Floats:
        """Return the signed distance."""
        return np.asarray(self.sign * np.abs(self.scale.of(rows)).max(axis=1))


def extreme(scale: Standard, a: Floats, b: Floats) -> ExtremeScore:
    """Choose the sign by the largest fiftieth of both sides together."""
    far, near = np.abs(a).max(axis=1), np.abs(b).max(axis=1)
    top = np.quantile(np.concatenate([far, near]), 0.98)
    return ExtremeScore(scale, 1.0 if (far > top).sum() >= (near > top).sum() else -1.0)


@dataclass(frozen=True, slots=True, eq=False)
class BoostedScore:
    """Gradient-boosted trees on the columns, their absolute values and the linear score."""

    scale: Standard
    helper: LinearScore
    decide: Callable[[Floats], Floats]
    name: str = "boosted"

    def of(self, rows: Floats) -> Floats:
        """Return the log-odds that the trees give."""
        return np.asarray(self.decide(tree_columns(self.scale.of(rows), self.helper.of(rows))), dtype=np.float64)


def tree_columns(standardised: Floats, helper: Floats) -> Floats:
    """Return what the trees see."""
    return np.hstack([standardised, np.abs(standardised).max(axis=1, keepdims=True), helper[:, None]])


def boosted(scale: Standard, a: Floats, b: Floats, helper: LinearScore, trees: int) -> BoostedScore | None:
    """Fit the trees; None where scikit-learn is not installed."""
    try:
        from sklearn.ensemble import GradientBoostingClassifier  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    x = np.vstack([tree_columns(side, side @ helper.weights) for side in (a, b)])
    y = np.concatenate([np.ones(len(a)), np.zeros(len(b))])
    model = GradientBoostingClassifier(n_estimators=trees, max_depth=3, subsample=0.7, max_features=12, random_state=0)
    if x.shape[1] < 12:
        model.set_params(max_features=None)
    model.fit(x, y)
    return BoostedScore(scale, helper, model.decision_function)


def learned(first: Floats, second: Floats, *, trees: int = 40) -> list[Score]:
    """Teach every score on these runs, which must not be used again."""
    scale = standard(first, second)
    a, b = scale.of(first), scale.of(second)
    discriminant = linear(scale, a, b)
    means = LinearScore(scale, a.mean(axis=0) - b.mean(axis=0), "means")
    found: list[Score] = [means, discriminant, densities(scale, a, b, discriminant.weights), extreme(scale, a, b)]
    trained = boosted(scale, a, b, discriminant, trees) if trees else None
    return [*found, trained] if trained is not None else found


# -- the best score of a pair --------------------------------------------------------------------------------------

_PESSIMISM = 1.0  # standard errors by which tails are worse than what was seen
_MANY = 1000  # runs that show the tails of a sum as they are; fewer are taken as normal
_COARSE = 3  # of so many thresholds one is used to rank candidates
_POINTS = 5  # of a curve that events are compared with
_TAUGHT = 4000  # runs of each neighbour that a score is taught on, at most

Chunk: TypeAlias = tuple[Values, Values]


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
        found.append(Candidate(pair, score, layout, tails, _growth(curve, tails), _excess(curve, tails)))
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
        found.append(Candidate(pair, score, layout, tails, _growth(curve, tails), _excess(curve, tails)))
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


def _growth(curve: PrivacyCurve, tails: ScoreTails) -> float:
    """Return about the log-wealth that the best bets gain per trial pair if the tails are right; it ranks scores."""
    every = slice(_COARSE // 2, None, _COARSE) if tails.thresholds.size > 2 * _COARSE else slice(None)
    coarse = ScoreTails(tails.thresholds[every], tails.first[every], tails.second[every])
    return log_optimal(curve, coarse, SEEN.leak_points).growth
