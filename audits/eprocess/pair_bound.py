"""A lower bound on epsilon from the curves that the pair of a game attains with less noise.

The claims of this family are the curves that the pair itself attains, not those that hold for every pair: with the
latter the bound would stay below what the pair attains, however many runs are made.

In each of T independent steps the hardest pair of ssADMM (opposite records of largest gradients) shows
(1-q) N(0, nu^2) + q N(1, nu^2) against N(0, nu^2); this is the pair of the accountant's lower end. The log-likelihood
ratio of one step, l(x) = log((1-q) + q e^((2x-1)/(2 nu^2))), increases with x; x is N(0, scale^2), or with probability
q N(1, scale^2). It is put on a lattice, and the sum of T of them is computed instead of simulated: where a small excess
must be detected (many steps, a small rate), bets designed on simulated tails would fit the noise of the simulation.

delta(eps) = E[(1 - e^(eps - L))_+], L the sum of the losses of T steps, in the worse of both orders. Each loss is
rounded up to a lattice, what lies beyond counts as infinite, and the error of the transform that convolves is added.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtr

from audits.curves import ClaimFamily, GaussianCurve, TableCurve, require_finite
from audits.eprocess.confidence import LowerBound
from audits.eprocess.curve_test import BOUND_ASSUMES, METHOD, EveryClaimRefuted, lower_bound
from audits.eprocess.scores import THRESHOLDS, ScoreModel, ScoreTails, StepwiseScores
from audits.errors import AuditError
from verification.wire.arrays import Floats

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
_LEAST = 2.0**-50


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
    above = [np.asarray(np.clip(1.0 - side[index], _LEAST, 1.0), dtype=np.float64) for side in below]
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
