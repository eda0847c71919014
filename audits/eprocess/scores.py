"""Models of the distribution of a mechanism's score, used to design bets.

A bet is sound whatever the model; a bad model only costs power.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from audits.curves import require_finite
from audits.errors import AuditError
from verification.wire.arrays import Floats

THRESHOLDS = 40
_OF_SAMPLES = 60


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTails:
    """P(score > t) at increasing thresholds t, when the first and when the second neighbour was used."""

    thresholds: Floats
    first: Floats
    second: Floats


class ScoreModel(Protocol):
    """The score's distribution if the mechanism were of a given strength (larger leaks more)."""

    def tails(self, strength: float) -> ScoreTails:
        """Return the tails at thresholds that resolve both distributions."""
        ...


@dataclass(frozen=True, slots=True)
class GaussianScores:
    """One observation of N(mu, 1) against N(0, 1), strength mu: the 1-D Gaussian mechanism itself."""

    def tails(self, strength: float) -> ScoreTails:
        """Return the exact Gaussian tails."""
        mu = require_finite("strength", strength)
        t = np.linspace(-4.0, 4.0 + mu, THRESHOLDS)
        return ScoreTails(t, ndtr(mu - t), ndtr(-t))


Simulator = Callable[[float, int, np.random.Generator], tuple[Floats, Floats]]


@dataclass(slots=True)
class SampledScores:
    """A simulated score: ``simulate(strength, count, rng)`` returns ``count`` scores of each neighbour.

    The same seed is used at every strength (common random numbers), so that designs vary smoothly with it.
    """

    simulate: Simulator
    count: int = 100_000
    seed: int = 0
    _cache: dict[float, ScoreTails] = field(default_factory=dict)

    def tails(self, strength: float) -> ScoreTails:
        """Return the simulated tails; each strength is simulated once."""
        if strength not in self._cache:
            rng = np.random.default_rng(np.random.SeedSequence(self.seed))
            self._cache[strength] = tails_of_samples(*self.simulate(strength, self.count, rng))
        return self._cache[strength]


def tails_of_samples(first: Floats, second: Floats, thresholds: int = THRESHOLDS) -> ScoreTails:
    """Return smoothed tails of two samples at quantiles of their mixture, evenly spaced on the normal scale."""
    checked_scores("first", first)
    checked_scores("second", second)
    pooled = np.sort(np.concatenate([first, second]))
    reach = math.sqrt(2.0 * math.log(pooled.size))
    levels = ndtr(np.linspace(-reach, reach, thresholds))
    index = np.minimum((levels * pooled.size).astype(np.int64), pooled.size - 1)
    t = np.unique(pooled[index])
    # {score > largest} is empty for every sample: an event that nothing was ever seen in carries no information
    t = t[t < pooled[-1]]
    if t.size == 0:
        # all scores equal: one event that splits them, so that a leak that shows later can still be bet on
        t = np.array([pooled[-1]])
    return ScoreTails(t, _tail(first, t), _tail(second, t))


def _tail(sample: Floats, thresholds: Floats) -> Floats:
    above = sample.size - np.searchsorted(np.sort(sample), thresholds, side="right")
    tail: Floats = np.asarray((above + 0.5) / (sample.size + 1.0), dtype=np.float64)
    return tail


def checked_scores(name: str, scores: Floats) -> Floats:
    """Return the scores as float64; refuse an empty sample and NaN, which no event could hold."""
    values = np.asarray(scores, dtype=np.float64)
    if values.size == 0:
        raise AuditError(f"{name} scores must not be empty")
    if np.isnan(values).any():
        raise AuditError(f"{name} scores must not contain NaN, got {int(np.isnan(values).sum())} of {values.size}")
    return values


def pessimistic(tails: ScoreTails, count: int, deviations: float) -> ScoreTails:
    """Shift both tails by standard errors in the unfavourable direction, so a design does not overfit its sample."""
    first = tails.first - deviations * np.sqrt(tails.first * (1.0 - tails.first) / count)
    second = tails.second + deviations * np.sqrt(tails.second * (1.0 - tails.second) / count)
    ordered = np.minimum.accumulate(np.clip(first, 0.0, 1.0)), np.minimum.accumulate(np.clip(second, 0.0, 1.0))
    return ScoreTails(tails.thresholds, *ordered)


def tails_of(first: Floats, second: Floats, deviations: float = 0.5) -> ScoreTails:
    """Return the tails that bets are designed for, so many standard errors worse than what was seen."""
    return pessimistic(tails_of_samples(first, second, _OF_SAMPLES), first.size, deviations)


def normal_tails_of(first: Floats, second: Floats, deviations: float) -> ScoreTails:
    """Return those of two normal distributions, their means nearer by standard errors: few runs settle these."""
    spread = math.sqrt(0.5 * float(first.var() + second.var()))
    gap, centre = float(first.mean() - second.mean()), 0.5 * float(first.mean() + second.mean())
    if spread == 0.0:
        return tails_of(first, second, deviations)
    kept = max(abs(gap) - deviations * spread * math.sqrt(2.0 / first.size), 0.0)
    half = math.copysign(0.5 * kept, gap)
    at = np.linspace(min(first.min(), second.min()), max(first.max(), second.max()), THRESHOLDS)
    return ScoreTails(at, ndtr((centre + half - at) / spread), ndtr((centre - half - at) / spread))


_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class StepwiseScores:
    r"""A simulator: step k shows N(b, (nu_k/strength)^2), b = 1 with probability ``rate`` under the first neighbour.

    The score is the log-likelihood ratio at the *claimed* noise nu_k, whatever the strength, as an auditor computes it.
    """

    rate: float
    multipliers: tuple[float, ...]

    def __call__(self, strength: float, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return ``count`` scores of each neighbour with the noise divided by ``strength``."""
        first, second = np.zeros(count), np.zeros(count)
        for start in range(0, count, _AT_ONCE):
            here = slice(start, min(start + _AT_ONCE, count))
            size = here.stop - here.start
            for nu in self.multipliers:
                taken = rng.random(size) < self.rate
                first[here] += self._step(taken + rng.normal(0.0, nu / strength, size), nu)
                second[here] += self._step(rng.normal(0.0, nu / strength, size), nu)
        return first, second

    def _step(self, seen: Floats, nu: float) -> Floats:
        exponent = (2.0 * seen - 1.0) / (2.0 * nu * nu)
        if self.rate == 1.0:
            return exponent
        mixed: Floats = np.logaddexp(np.log1p(-self.rate), np.log(self.rate) + exponent)
        return mixed
