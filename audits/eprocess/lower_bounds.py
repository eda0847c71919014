r"""Lower bounds on epsilon, or on a Renyi divergence, by every estimator that applies to a claim.

*Inverted tests*: every smaller claim is refuted by bets fixed before the runs. Claims are cut into cells, each with
bets of its own, so that the bound exceeds the truth only if the bets against the true claim won: nothing is paid for
the number of claims. Within a cell refutation is monotone, and its boundary is bisected; cells are tested upwards.
Valid at every time, hence also when the runs were stopped early. At one point each claim of a grid has its own bets.

*The pair of a game*: the claims are the curves that the pair itself attains with less noise, not those that hold for
every pair: with the latter the bound would stay below what the pair attains, however many runs are made. In each of T
independent steps the hardest pair of ssADMM (opposite records of largest gradients) shows
(1-q) N(0, nu^2) + q N(1, nu^2) against N(0, nu^2); this is the pair of the accountant's lower end. The log-likelihood
ratio of one step, l(x) = log((1-q) + q e^((2x-1)/(2 nu^2))), increases with x; x is N(0, scale^2), or with probability
q N(1, scale^2). It is put on a lattice, and the sum of T of them is computed instead of simulated: where a small excess
must be detected (many steps, a small rate), bets designed on simulated tails would fit the noise of the simulation.
delta(eps) = E[(1 - e^(eps - L))_+], L the sum of the losses of T steps, in the worse of both orders. Each loss is
rounded up to a lattice, what lies beyond counts as infinite, and the error of the transform that convolves is added.

*Held out*: one event chosen on one half of the runs, two exact binomial bounds on the other half; no assumption.

*Renyi*: for every bounded function g and alpha > 1 (the variational formula of Donsker-Varadhan type, Birrell et al.
2021),

    D_alpha(P||Q) >= alpha/(alpha-1) log E_P[e^{(alpha-1) g}] - log E_Q[e^{alpha g}],

with equality at the log-likelihood ratio. g is a step function of the score fitted on one half of the runs; both
expectations are of bounded variables and are bounded by betting on the other half.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtr

from audits.curves import ApproximateCurve, ClaimFamily, GaussianCurve, TableCurve, require_finite
from audits.eprocess.confidence import (
    Assumption,
    LowerBound,
    band_point_bound,
    mean_at_least,
    mean_at_most,
    require_confidence,
)
from audits.eprocess.curve_test import (
    CLOSE_RUNGS,
    FIXED_SAMPLE,
    BettingPlan,
    CurveTest,
    Round,
    Wealth,
    design_test,
    smallest_excess,
)
from audits.eprocess.scores import (
    THRESHOLDS,
    ScoreModel,
    ScoreTails,
    Simulator,
    StepwiseScores,
    checked_scores,
    tails_of,
)
from audits.errors import AuditError
from verification.statistics.tails import counted_epsilon
from verification.wire.arrays import Floats

METHOD = "e-process against the curve"
ASSUMES = (Assumption.FRESH_TRIALS, Assumption.FIXED_EVENTS)
BOUND_ASSUMES = (*ASSUMES, Assumption.CLAIMED_CURVE, Assumption.FAMILY)
_CELL, _PARTS, _COARSE_SHARE = 1.07, 4, 0.1
_LEAST, _GREATEST = 0.05, 12.0  # epsilons at one delta


class EveryClaimRefuted(AuditError):
    """Every claim of the family is refuted, also that of the greatest strength."""


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

    def cell_test(strength: float, level: float, excess: float, plan: BettingPlan) -> CurveTest:
        curve, budget, focus = family.curve(strength), first.size, 1.0 + excess
        return design_test(curve, model, strength, alpha=level, budget=budget, focus=focus, plan=plan)

    while low < family.greatest:
        high = min(low * _CELL, family.greatest)
        if high > anchor:
            # far below the boundary anything refutes: the excess that can be shown is computed anew at every doubling
            anchor = 2.0 * high
            excess = smallest_excess(family.curve(high), model, high, alpha, first.size)
        coarse = cell_test(high, alpha * _COARSE_SHARE, excess, FIXED_SAMPLE)
        if not coarse.refutes(family.curve(high), first, second, alpha * _COARSE_SHARE):
            nearby = smallest_excess(family.curve(high), model, high, alpha, first.size)
            for end in (low * (high / low) ** (k / _PARTS) for k in range(1, _PARTS + 1)):
                test = _mixed(coarse, cell_test(end, alpha * (1.0 - _COARSE_SHARE), nearby, CLOSE_RUNGS))

                def refutes(strength: float, test: CurveTest = test) -> bool:
                    return test.refutes(family.curve(strength), first, second, alpha)

                if not refutes(end):
                    found = _boundary(refutes, low, end, 1e-4)
                    # the cell below was refuted up to here, unless there is none
                    return (None if low == family.least else low) if found is None else found
                low = end
        low = high
    raise EveryClaimRefuted(
        f"every claim of {family.name} up to strength {family.greatest:g} is refuted; extend the family"
    )


def _mixed(coarse: CurveTest, fine: CurveTest) -> CurveTest:
    shares = (*(_COARSE_SHARE * s for s in coarse.shares), *((1.0 - _COARSE_SHARE) * s for s in fine.shares))
    return CurveTest((*coarse.bets, *fine.bets), shares)


def _boundary(refutes: Callable[[float], bool], low: float, high: float, within: float) -> float | None:
    """Return a strength that is refuted with one not refuted so little above it; None where ``low`` is not."""
    if not refutes(low):
        return None
    while high - low > within * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refutes(middle) else (low, middle)
    return low


def replayed_bound(
    rounds: Sequence[Round], claimed: float, delta: float, alpha: float, *, refuted: bool, step: float = 1.1
) -> float:
    """Return an epsilon below which every claim at this delta is refuted; above the claim only if that is refuted.

    Claims are tested upwards, from the claimed one if it is refuted, else from the least, until one is not refuted. The
    bound exceeds the true epsilon only if one of two true claims is refuted, the claimed one or the least tested one
    that holds: with probability at most 2 alpha, and at most alpha where none is claimed.
    """

    def refutes(epsilon: float) -> bool:
        wealth = Wealth(ApproximateCurve(epsilon, delta), alpha)
        for played in rounds:
            wealth.add(played)
            if wealth.refuted_after is not None:
                return True
        return False

    best, tested = 0.0, [_LEAST * step**k for k in range(math.ceil(math.log(_GREATEST / _LEAST) / math.log(step)))]
    if not refuted:
        tested = [epsilon for epsilon in tested if epsilon < claimed]
    elif refutes(claimed):
        best, tested = claimed, [epsilon for epsilon in tested if epsilon > claimed]
    for epsilon in tested:
        if not refutes(epsilon):
            break
        best = epsilon
    return best


# -- the pair of a game, with less noise ------------------------------------------------------------------------------

LARGEST_LATTICE = 1 << 24
_REACH = 8.3  # P(N(0, 1) > 8.3) < 1e-16
_UNIT = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class RatioCells:
    """P(l <= k width) for k = first, first + 1, ...; nothing lies below the first, next to nothing above the last."""

    below: Floats
    first: int

    @property
    def last(self) -> int:
        """The last multiple."""
        return self.first + self.below.size - 1


def cells_of(rate: float, nu: float, scale: float, width: float, *, taking_part: bool) -> RatioCells:
    """Return the law of l where the record takes part with probability ``rate``, or not at all."""
    first = math.floor(math.log1p(-rate) / width)
    top = 1.0 + _REACH * scale
    highest = float(np.logaddexp(math.log1p(-rate), math.log(rate) + (2.0 * top - 1.0) / (2.0 * nu * nu)))
    last = math.ceil(highest / width)
    if last - first > LARGEST_LATTICE:
        raise AuditError(f"nu={nu!r} is too small: one step needs more than {LARGEST_LATTICE} log-ratios")
    ratios = width * np.arange(first, last + 1)
    with np.errstate(divide="ignore"):
        x = nu * nu * (np.log(np.maximum(np.expm1(ratios) + rate, 0.0)) - math.log(rate)) + 0.5
    absent: Floats = ndtr(x / scale)
    mixed: Floats = (1.0 - rate) * absent + rate * ndtr((x - 1.0) / scale)
    return RatioCells(mixed if taking_part else absent, first)


def convolved(masses: Floats, steps: int) -> tuple[Floats, float]:
    """Return the masses of the sum of ``steps`` independent values, and a bound of the sum of all their errors."""
    size = next_fast_len(steps * (masses.size - 1) + 1, real=True)
    if size > LARGEST_LATTICE:
        raise AuditError(f"{steps} steps need a lattice of {size} log-ratios, which is beyond {LARGEST_LATTICE}")
    total: Floats = irfft(rfft(masses, size) ** steps, size)
    # the relative error of a transform in the Euclidean norm, T times for the power, and by Cauchy-Schwarz as a sum
    relative = 8.0 * _UNIT * math.log2(size)
    lengths = (steps + 1) * float(np.linalg.norm(masses)) + float(np.linalg.norm(total))
    return np.maximum(total, 0.0), math.sqrt(size) * relative * lengths


_SCORE_WIDTH = 0.02
_THRESHOLD_REACH = 4.9  # of the thresholds, in normal deviates: a hundred thousand runs hardly go beyond
_LEAST_TAIL = 2.0**-50


@dataclass(frozen=True, slots=True)
class ComposedScores:
    """The log-likelihood ratio of ``steps`` steps at the claimed ``multiplier``; strength divides the noise."""

    rate: float
    multiplier: float
    steps: int

    def tails(self, strength: float) -> ScoreTails:
        """Return the tails at quantiles of the mixture of both neighbours."""
        scale = self.multiplier / require_finite("strength", strength, strictly=True)
        return _tails(self.rate, self.multiplier, self.steps, scale)


@functools.lru_cache(maxsize=256)
def _tails(rate: float, nu: float, steps: int, scale: float) -> ScoreTails:
    first, start = _law(rate, nu, steps, scale, taking_part=True)
    second, _ = _law(rate, nu, steps, scale, taking_part=False)
    scores: Floats = np.asarray(start + np.arange(first.size), dtype=np.float64) * (_SCORE_WIDTH / steps)
    below = np.cumsum(first), np.cumsum(second)
    levels = ndtr(np.linspace(-_THRESHOLD_REACH, _THRESHOLD_REACH, THRESHOLDS))
    index = np.unique(np.searchsorted(0.5 * (below[0] + below[1]), levels))
    index = index[index < first.size - 1]
    above = [np.asarray(np.clip(1.0 - side[index], _LEAST_TAIL, 1.0), dtype=np.float64) for side in below]
    return ScoreTails(scores[index], above[0], above[1])


def _law(rate: float, nu: float, steps: int, scale: float, *, taking_part: bool) -> tuple[Floats, int]:
    cells = cells_of(rate, nu, scale, _SCORE_WIDTH / steps, taking_part=taking_part)
    total, _ = convolved(np.diff(cells.below, prepend=0.0), steps)
    return total / total.sum(), steps * cells.first


# all steps' cells together: by so much, at most, epsilon is too large
_WIDTH = 0.01
_POINTS = 200


def attained_curve(rate: float, multiplier: float, steps: int) -> TableCurve:
    """Return at least the delta(epsilon) that the hardest pair attains in ``steps`` steps on batches of ``rate``.

    ``multiplier`` is nu = sigma m / (2C). Epsilon is too large by at most 0.01, half of that on average.
    """
    require_finite("multiplier", multiplier, strictly=True)
    if not 0.0 < rate < 1.0:
        raise AuditError(f"rate must be in (0, 1), got rate={rate!r}; with every record in every batch it is Gaussian")
    if steps < 1:
        raise AuditError(f"steps must be at least 1, got steps={steps!r}")
    both = [_Composed(rate, multiplier, steps, reverse=reverse) for reverse in (False, True)]
    last = 1.0
    while max(float(order.delta(np.array([last]))[0]) for order in both) > 1e-8 and last < 300.0:
        last *= 1.25
    epsilons = last * (np.arange(_POINTS) / (_POINTS - 1)) ** 1.5
    deltas = np.minimum(np.maximum(both[0].delta(epsilons), both[1].delta(epsilons)), 1.0)
    name = f"hardest pair of {steps} Gaussian steps at nu={multiplier:.4g} on batches of rate {rate:.4g}"
    return TableCurve(tuple(epsilons.tolist()), tuple(deltas.tolist()), name)


class _Composed:
    """The composed loss in one order: its positive part, and by how much everything else may raise delta."""

    def __init__(self, rate: float, nu: float, steps: int, *, reverse: bool) -> None:
        width = _WIDTH / steps
        masses, first, infinite = _one_step(rate, nu, width, reverse)
        total, error = convolved(masses, steps)
        losses = width * (steps * first + np.arange(total.size))
        positive = losses > 0.0
        self._losses = losses[positive]
        self._lost = steps * infinite + error
        # from the top: sums over all losses above each one
        kept = total[positive]
        self._above = np.append(np.cumsum(kept[::-1])[::-1], 0.0)
        self._weighed = np.append(np.cumsum((kept * np.exp(-self._losses))[::-1])[::-1], 0.0)

    def delta(self, epsilon: Floats) -> Floats:
        """Return at least delta at each epsilon >= 0."""
        at = np.searchsorted(self._losses, epsilon, side="right")
        found: Floats = np.maximum(self._above[at] - np.exp(epsilon) * self._weighed[at], 0.0) + self._lost
        return found


def _one_step(rate: float, nu: float, width: float, reverse: bool) -> tuple[Floats, int, float]:
    """The masses of one step's loss, rounded up to multiples of ``width``, from which multiple on, and what is lost."""
    law = cells_of(rate, nu, nu, width, taking_part=not reverse)
    inside, beyond = np.diff(law.below), max(1.0 - float(law.below[-1]), 0.0)
    if not reverse:
        return np.append(law.below[:1], inside), law.first, beyond + _UNIT
    # the loss is -l: a cell (a, b] of l is [-b, -a), rounded up to -a; below the last of them, to the last
    return np.append(beyond, inside[::-1]), -law.last, float(law.below[0]) + _UNIT


LEAST, GREATEST = 0.25, 8.0


@dataclass(frozen=True, slots=True)
class GaussianRatios:
    """The log-likelihood ratio of a mu-GDP pair at the claimed noise; strength divides the noise."""

    mu: float

    def tails(self, strength: float) -> ScoreTails:
        """Return the exact tails."""
        centre, spread = 0.5 * self.mu**2, self.mu / require_finite("strength", strength, strictly=True)
        t = np.linspace(-centre - 4.5 * spread, centre + 4.5 * spread, THRESHOLDS)
        return ScoreTails(t, ndtr((centre - t) / spread), ndtr((-centre - t) / spread))


def with_less_noise(pair: StepwiseScores) -> tuple[ClaimFamily, ScoreModel]:
    """Return what the pair attains with its noise divided by ``strength``, and how its scores are then distributed."""
    name = "the pair with its noise divided"
    if pair.rate == 1.0:
        mu = math.sqrt(math.fsum(nu**-2 for nu in pair.multipliers))
        return ClaimFamily(name, lambda s: GaussianCurve(mu * s), LEAST, GREATEST), GaussianRatios(mu)
    nu, steps = pair.multipliers[0], len(pair.multipliers)
    if max(pair.multipliers) - min(pair.multipliers) > 1e-9 * nu:
        raise AuditError(f"with batches every step needs the same noise multiplier, got {pair.multipliers!r}")
    family = ClaimFamily(name, lambda s: attained_curve(pair.rate, nu / s, steps), LEAST, GREATEST)
    return family, ComposedScores(pair.rate, nu, steps)


def pair_lower_bound(
    pair: StepwiseScores, first: Floats, second: Floats, *, delta: float, confidence: float = 0.95
) -> LowerBound:
    """Return the confidence lower bound on epsilon at ``delta``: the default e-process over the family above."""
    family, model = with_less_noise(pair)
    try:
        return lower_bound(family, model, first, second, delta=delta, confidence=confidence)
    except EveryClaimRefuted:
        epsilon = family.curve(family.greatest).epsilon_at(delta)
        return LowerBound(METHOD, epsilon, delta, confidence, BOUND_ASSUMES, first.size)


# -- at one point, and of a Renyi divergence --------------------------------------------------------------------------


def held_out_bound(first: Floats, second: Floats, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """Return log((hit rate - delta)/false hit rate) of an event that one half of the runs chooses, on the other."""
    miss = require_confidence(confidence)
    checked_scores("first", first)
    checked_scores("second", second)
    if min(first.size, second.size) < 4:
        raise AuditError(f"held-out selection needs at least 4 runs a side, got {first.size} and {second.size}")
    epsilon = counted_epsilon((first[::2], second[::2]), (first[1::2], second[1::2]), delta, miss)
    runs = min(first.size, second.size)
    return LowerBound("held-out Clopper-Pearson", epsilon, delta, confidence, (Assumption.FRESH_TRIALS,), runs)


_DESIGN_SHARE, _FINE_STEP = 0.1, 1.03


def point_bound(first: Floats, second: Floats, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """Return an epsilon below which (epsilon, ``delta``)-DP is refuted, by bets designed on the first trials."""
    alpha, played = require_confidence(confidence), split_trials(first, second)
    epsilon = replayed_bound([played], math.inf, delta, alpha, refuted=False, step=_FINE_STEP)
    return LowerBound("e-process on (epsilon, delta)", epsilon, delta, confidence, ASSUMES, first.size)


def split_trials(first: Floats, second: Floats) -> Round:
    """The trials that are left to bet on, with the tails that the first ones had."""
    checked_scores("first", first)
    checked_scores("second", second)
    cut = max(1, int(_DESIGN_SHARE * first.size))
    if first.size != second.size or cut >= first.size:
        raise AuditError(f"needs at least two trial pairs, got {first.size} and {second.size} scores")
    return Round(0, "", tails_of(first[:cut], second[:cut]), first[cut:], second[cut:], first.size - cut)


_BINS = 24
Samples = tuple[Floats, Floats]


def renyi_bound(first: Floats, second: Floats, *, order: float, confidence: float = 0.95) -> LowerBound:
    """Return a lower bound of the Renyi divergence of the given order, in the direction the selection half prefers."""
    if not (math.isfinite(order) and order > 1.0):
        raise AuditError(f"order must be finite and > 1, got order={order!r}")
    alpha = require_confidence(confidence)
    checked_scores("first", first)
    checked_scores("second", second)
    if min(first.size, second.size) < 8:
        raise AuditError(f"needs at least 8 runs a side, got {first.size} and {second.size}")
    select = (first[::2], second[::2])
    judge = (first[1::2], second[1::2])
    options = [
        (_certified(s, s, order=order, alpha=alpha, clip=clip), reverse, clip)
        for reverse, s in ((False, select), (True, select[::-1]))
        for clip in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
    ]
    _, reverse, clip = max(options)
    chosen, other = (select[::-1], judge[::-1]) if reverse else (select, judge)
    value = max(0.0, _certified(chosen, other, order=order, alpha=alpha, clip=clip))
    runs = min(first.size, second.size)
    return LowerBound("Donsker-Varadhan", value, None, confidence, ASSUMES, runs, order)


def _certified(fit: Samples, judged: Samples, *, order: float, alpha: float, clip: float) -> float:
    """Return the bound with g fitted on ``fit`` (samples of P and Q) and judged on ``judged``, |g| at most ``clip``."""
    edges, g = _log_ratio(*fit, clip)
    on_p, on_q = (g[np.searchsorted(edges, sample)] for sample in judged)
    first = _log_mean_at_least((order - 1.0) * on_p, 0.5 * alpha)
    second = _log_mean_at_most(order * on_q, 0.5 * alpha)
    return order / (order - 1.0) * first - second


def _log_ratio(first: Floats, second: Floats, clip: float) -> tuple[Floats, Floats]:
    pooled = np.sort(np.concatenate([first, second]))
    edges = np.unique(pooled[np.linspace(0, pooled.size - 1, _BINS + 1).astype(np.int64)[1:-1]])
    p = np.bincount(np.searchsorted(edges, first), minlength=edges.size + 1) + 1.0
    q = np.bincount(np.searchsorted(edges, second), minlength=edges.size + 1) + 1.0
    ratio: Floats = np.clip(np.log(p / p.sum()) - np.log(q / q.sum()), -clip, clip)
    return edges, ratio


def _log_mean_at_least(logs: Floats, miss: float) -> float:
    return _log_mean(logs, lambda scaled: mean_at_least(scaled, miss), slack=-1e-9)


def _log_mean_at_most(logs: Floats, miss: float) -> float:
    return _log_mean(logs, lambda scaled: mean_at_most(scaled, miss), slack=1e-9)


def _log_mean(logs: Floats, bound: Callable[[Floats], float], *, slack: float) -> float:
    """Return the logarithm of a bound on the mean of exp(logs), which is scaled into [0, 1]; slack covers rounding."""
    low, high = float(logs.min()), float(logs.max())
    if high - low < 1e-12:
        return low if slack < 0 else high
    floor = math.exp(low - high)
    scaled = np.clip((np.exp(logs - high) - floor) / (1.0 - floor), 0.0, 1.0)
    return high + math.log(floor + (1.0 - floor) * bound(scaled)) + slack


_RENYI_ORDERS = (2.0, 8.0)


def estimates(
    first: Floats,
    second: Floats,
    delta: float,
    *,
    confidence: float = 0.95,
    pair: Simulator | None = None,
) -> list[LowerBound]:
    """Return every applicable bound, each at its own ``confidence`` (they are not jointly valid at it).

    ``pair`` says what the game's pair shows: where it does so step by step, the curve that it attains is used, too.
    """
    bounds = [
        held_out_bound(first, second, delta=delta, confidence=confidence),
        band_point_bound(first, second, delta=delta, confidence=confidence),
        point_bound(first, second, delta=delta, confidence=confidence),
    ]
    if isinstance(pair, StepwiseScores):
        bounds.insert(0, pair_lower_bound(pair, first, second, delta=delta, confidence=confidence))
    renyi = [renyi_bound(first, second, order=order, confidence=confidence) for order in _RENYI_ORDERS]
    return [*bounds, *renyi]
