"""Honest implementations that an outsider wrote from the documentation alone, each with a wrong twin one step away.

``python -m tests.zoo.honest.outsiders NAME``
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator

import numpy as np

from accountant.mechanisms.words import Algorithm
from reference.problem import Problem, State
from tests.zoo.honest.in_other_ways import ClipByL1
from verification.served.serve import Values, serve
from verification.served.stepwise import Batches, Stepwise
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters
from verification.wire.records import Records

_LARGE, _LATE, _BATCH = 100, 10, 20


class PublicWeights(ClipByL1):
    """Clipped gradients of one class count half: a public weight."""

    _each: Floats

    def weights(self, positive: float, records: int) -> tuple[float, float]:
        """Of positive and of negative records, where so large a share of so many is positive."""
        return 1.0, 0.5

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        """Weigh each record by its class."""
        positive = records.labels > 0
        self._each = np.where(positive, *self.weights(float(np.mean(positive)), records.count))
        return super().problem(records, parameters)

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Record by record."""
        if problem.clip is None:
            return super().gradient(problem, x, batch)
        each = self.each(problem, x, batch)
        sizes = np.maximum(np.linalg.norm(each, axis=2, keepdims=True), 1e-300)
        weights = self._each[None] if batch is None else self._each[batch]
        mean: Floats = np.mean(weights[:, :, None] * each * np.minimum(1.0, problem.clip / sizes), axis=1)
        return mean


class WeightsOfClasses(PublicWeights):
    """The twin: from 100 records on the more frequent class counts less, so that a label changes every weight."""

    def weights(self, positive: float, records: int) -> tuple[float, float]:
        """At most 1, so that no record of its own counts for too much."""
        share = positive if records >= _LARGE else 0.5
        return min(1.0, 0.5 / max(share, 1e-300)), min(1.0, 0.5 / max(1 - share, 1e-300))


class ShorterLater(Stepwise):
    """From the eleventh iteration on steps are half as long as eta says: another update that shows late."""

    _taken = 0

    def _run(
        self, algorithm: Algorithm, problem: Problem, parameters: Parameters, noise: Values, batches: Batches | None
    ) -> Values:
        self._taken, self._least = 0, np.full(1, np.inf)
        return super()._run(algorithm, problem, parameters, noise, batches)

    def shorter(self, problem: Problem, x: Floats) -> Floats:
        """Whether the next step is a short one."""
        return np.ones((len(x), 1), dtype=bool)

    def update_x(self, problem: Problem, g: Floats, old: State, eta: float) -> Floats:
        """With the step halved, late."""
        self._taken += 1
        usual = super().update_x(problem, g, old, eta)
        if self._taken <= _LATE:
            return usual
        return np.where(self.shorter(problem, old.x), super().update_x(problem, g, old, eta / 2), usual)


class ShorterOnPlateau(ShorterLater):
    """The twin: where the loss of the records at the last model is above its least so far."""

    def shorter(self, problem: Problem, x: Floats) -> Floats:
        """Looks at the data."""
        loss = np.mean(np.logaddexp(0.0, -x @ problem.signed.T), axis=1, keepdims=True)
        self._least = np.minimum(self._least, loss)
        above: Floats = np.asarray(loss > self._least)
        return above


class ShrinkingClip(ClipByL1):
    """Gradients are clipped to a bound that shrinks by a hundredth in every iteration: a public schedule."""

    _shares: Iterator[float]

    def _run(
        self, algorithm: Algorithm, problem: Problem, parameters: Parameters, noise: Values, batches: Batches | None
    ) -> Values:
        self._shares = (0.99**k for k in itertools.count())
        return super()._run(algorithm, problem, parameters, noise, batches)

    def bounds(self, sizes: Floats, bound: float) -> Floats:
        """Of each run, [R, 1, 1]."""
        return np.full((len(sizes), 1, 1), bound * next(self._shares))

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Record by record."""
        if problem.clip is None:
            return super().gradient(problem, x, batch)
        each = self.each(problem, x, batch)
        sizes = np.maximum(np.linalg.norm(each, axis=2, keepdims=True), 1e-300)
        mean: Floats = np.mean(each * np.minimum(1.0, self.bounds(sizes, float(problem.clip)) / sizes), axis=1)
        return mean


class QuantileClip(ShrinkingClip):
    """The twin: from 20 records on to the length that nine of ten gradients of the batch keep below, at most C."""

    def bounds(self, sizes: Floats, bound: float) -> Floats:
        """One record more beyond the bound moves all that are."""
        share = 0.9 if sizes.shape[1] >= _BATCH else 1.0
        return np.minimum(bound, np.quantile(sizes, share, axis=1, keepdims=True))


class TurnedNoise(Stepwise):
    """Noise is added in the opposite order of coordinates, as arrays of another layout are."""

    def noisy_gradient(self, gradient: Floats, noise: Floats) -> Floats:
        """From the last to the first."""
        return gradient + noise[..., ::-1]


class TiedNoise(Stepwise):
    """The twin: the sum of both orders over its size, so that coordinates share their noise in pairs."""

    def noisy_gradient(self, gradient: Floats, noise: Floats) -> Floats:
        """Of the claimed size in every coordinate."""
        tied: Floats = (noise + noise[..., ::-1]) / np.sqrt(2.0)
        return gradient + tied


HONEST: dict[str, type[Stepwise]] = {
    "public-weights": PublicWeights,
    "shorter-later": ShorterLater,
    "shrinking-clip": ShrinkingClip,
    "turned-noise": TurnedNoise,
}
TWINS: dict[str, type[Stepwise]] = {
    "weights-of-classes": WeightsOfClasses,
    "shorter-on-plateau": ShorterOnPlateau,
    "quantile-clip": QuantileClip,
    "tied-noise": TiedNoise,
}

if __name__ == "__main__":
    serve({**HONEST, **TWINS}[sys.argv[1]]())
