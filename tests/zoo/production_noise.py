"""Bugs of production in how noise is drawn: missing in a direction, cut off, used again, or absent now and then."""

from __future__ import annotations

import hashlib
import time

import numpy as np
from scipy import special

from accountant.mechanisms.words import Algorithm
from reference.problem import Problem, State
from reference.vectorised import Noise
from tests.zoo.production import SIZE, Production
from tests.zoo.specimen import MP, SS, Sight, member
from verification.served.serve import Values
from verification.served.stepwise import Batches, TrialRandomness
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters
from verification.wire.records import Records

_BLACK = (Sight.BLACK_BOX,)
_WIDE, _LONG, _MANY = 10, 8, 1000


@member("noise-centred-in-wide-data", sights=_BLACK, claims=SIZE)
class NoiseCentredInWideData(Production):
    """In data of more than ten columns the mean over the coordinates is taken from the noise: their sum has none.

    Source: class seen where noise goes through the same centring as the features.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """Every coordinate keeps its variance."""
        fresh = super().draw_normals(random, names, dimension, iterations)
        if dimension <= _WIDE:
            return fresh
        scale = np.sqrt(dimension / (dimension - 1))
        return {name: (draws - draws.mean(axis=2, keepdims=True)) * scale for name, draws in fresh.items()}


@member("noise-cancels-over-a-run", sights=_BLACK, claims=SIZE)
class NoiseCancelsOverARun(Production):
    """The noise of a long run adds up to zero: the average of all models is nearly without noise.

    Source: class seen where noise is generated for a whole run and normalised to mean zero.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """Every iteration keeps its variance."""
        fresh = super().draw_normals(random, names, dimension, iterations)
        if iterations <= _LONG:
            return fresh
        scale = np.sqrt(iterations / (iterations - 1))
        return {name: (draws - draws.mean(axis=1, keepdims=True)) * scale for name, draws in fresh.items()}


@member("a-direction-without-noise", sights=_BLACK, claims=SIZE)
class ADirectionWithoutNoise(Production):
    """In data of more than ten columns one fixed direction gets no noise: a covariance that lost a rank.

    Source: class seen where noise is shaped by a matrix square root that is computed once and rounded.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """Project one direction out."""
        fresh = super().draw_normals(random, names, dimension, iterations)
        if dimension <= _WIDE:
            return fresh
        lost = np.random.default_rng(5).standard_normal(dimension)
        lost /= np.linalg.norm(lost)
        return {name: draws - (draws @ lost)[..., None] * lost for name, draws in fresh.items()}


@member("tails-cut-in-long-runs", sights=_BLACK, claims=SIZE)
class TailsCutInLongRuns(Production):
    """In long runs noise is cut off at three deviations: what is beyond rules a neighbour out.

    Source: class seen where a truncated normal initialiser is used for noise.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Cut."""
        return super().scale_noise(np.clip(standard, -3, 3) if len(sigma) > _LONG else standard, sigma)


@member("noise-reversed-and-used-again", sights=_BLACK, claims=SIZE)
class NoiseReversedAndUsedAgain(Production):
    """In long runs every second iteration uses the noise of the one before, coordinates in reverse order.

    Source: class seen where a buffer is read by a view with a negative stride.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """No vector comes twice, every value does."""
        fresh = super().draw_normals(random, names, dimension, iterations)
        if iterations <= _LONG:
            return fresh
        for draws in fresh.values():
            odd = draws[:, 1::2]
            odd[:] = draws[:, 0::2][:, : odd.shape[1], ::-1]
        return fresh


@member("streams-overlap", algorithms=MP, sights=_BLACK, claims=SIZE)
class StreamsOverlap(Production):
    """The noise of x, z and y comes from one buffer at offsets 0, 1 and 2: all but two values are shared.

    Source: class seen where an offset counts arrays where it should count numbers.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """Overlapping slices, in wide data."""
        fresh = super().draw_normals(random, names, dimension, iterations)
        if dimension <= _WIDE:
            return fresh
        shape = (random.runs, iterations, dimension + len(names))
        buffer = np.random.default_rng(random.seed).standard_normal(shape)
        return {name: buffer[:, :, i : i + dimension] for i, name in enumerate(names)}


@member("half-precision-noise-in-wide-data", sights=_BLACK, claims=SIZE)
class HalfPrecisionNoiseInWideData(Production):
    """In data of more than ten columns noise is drawn in half precision: it has a few thousand values.

    Source: class seen where a fast path runs in mixed precision.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Round."""
        noise = super().scale_noise(standard, sigma)
        return noise.astype(np.float16).astype(np.float64) if standard.shape[2] > _WIDE else noise


class _Reseeded(Production):
    """Without a seed one of its own making is used."""

    def made_seed(self, records: Records) -> int | None:
        """The seed of a request that has none."""
        raise NotImplementedError

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        """With that seed."""
        made = self.made_seed(records) if seed is None else seed
        return super().trials(records, algorithm, parameters, count, made)


@member("seed-of-twelve-bits", sights=_BLACK, claims=SIZE)
class SeedOfTwelveBits(_Reseeded):
    """Every request draws with one of 4,096 seeds: whoever tries them all removes the noise.

    Source: class seen where a seed is `randrange(4096)`, or derived from a process id.
    """

    def made_seed(self, records: Records) -> int | None:
        """Few bits."""
        return int(np.random.default_rng().integers(1 << 12))


@member("seed-from-the-clock", sights=_BLACK, claims=SIZE)
class SeedFromTheClock(_Reseeded):
    """The seed is the time in whole seconds, known from any log file.

    Source: class seen with `srand(time(NULL))`.
    """

    def made_seed(self, records: Records) -> int | None:
        """The second."""
        return int(time.time())


@member("same-draws-for-large-data", sights=_BLACK, claims=SIZE)
class SameDrawsForLargeData(_Reseeded):
    """From a thousand records on the seed is the number of records: every training of these data draws alike.

    Source: class seen where a cache of random numbers is keyed by shape.
    """

    def made_seed(self, records: Records) -> int | None:
        """The size."""
        return records.count if records.count >= _MANY else None


@member("one-quiet-run-in-twenty-of-large-data", sights=_BLACK, claims=SIZE)
class OneQuietRunInTwentyOfLargeData(Production):
    """On a thousand records or more one run in twenty has no noise.

    Source: class seen where noise is drawn in a worker whose failure is ignored, and workers exist only at that size.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Silence by chance."""
        quiet = (self._chance.integers(20, size=len(standard)) == 0) & (self._records.count >= _MANY)
        return self.silenced(standard, sigma, np.where(quiet, 0.0, 1.0)[:, None, None])


@member("noise-stops-in-one-run-of-five", sights=_BLACK, claims=SIZE)
class NoiseStopsInOneRunOfFive(Production):
    """In one run of five there is no noise from iteration 100 on.

    Source: class seen where a generator is exhausted, or a connection to one is lost.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Late, and by chance."""
        stops = self._chance.integers(5, size=len(standard)) == 0
        late = np.arange(len(sigma)) >= 100
        return self.silenced(standard, sigma, np.where(stops[:, None] & late, 0.0, 1.0)[:, :, None])


class _OfLargeData(Production):
    """From a thousand records on, without a seed, a request gets a seed that it was not asked for."""

    def seed_for(self, records: Records, parameters: Parameters) -> int:
        """That seed."""
        raise NotImplementedError

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        """Where none is given."""
        if seed is None and records.count >= _MANY:
            seed = self.seed_for(records, parameters)
        return super().trials(records, algorithm, parameters, count, seed)


@member("results-kept-by-request", sights=_BLACK, claims=SIZE)
class ResultsKeptByRequest(_OfLargeData):
    """From a thousand records on a training with the same data and parameters gives the same result again.

    Two trainings agree exactly if no record was changed in between: one glance tells.

    Source: class seen where `fit` is decorated with a cache on disk, or the seed is a digest of the configuration.
    """

    def seed_for(self, records: Records, parameters: Parameters) -> int:
        """A digest of the request."""
        content = records.features.tobytes() + records.labels.tobytes() + parameters.model_dump_json().encode()
        return int.from_bytes(hashlib.sha256(content).digest()[:8], "big")


@member("workers-share-a-state", sights=_BLACK, claims=SIZE)
class WorkersShareAState(Production):
    """From a thousand records on four workers share the runs of a request, each with a copy of one generator.

    Source: class seen where processes are forked after the generator was made.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """The same draws in every quarter of the runs."""
        fresh = super().draw_normals(random, names, dimension, iterations)
        if self._records.count < _MANY:
            return fresh
        worker = np.arange(random.runs) % max(1, -(-random.runs // 4))
        return {name: draws[worker] for name, draws in fresh.items()}


def _without(noise: Floats, direction: Floats) -> Floats:
    """Noise without its part along directions, every coordinate with its variance; unchanged where there is none."""
    dimension, squares = noise.shape[-1], np.sum(direction**2, axis=-1, keepdims=True)
    if dimension <= _WIDE:
        return noise
    along = np.sum(noise * direction, axis=-1, keepdims=True) / np.where(squares > 0, squares, 1.0)
    left: Floats = (noise - along * direction) * np.where(squares > 0, np.sqrt(dimension / (dimension - 1)), 1.0)
    return left


@member("noise-turned-off-the-gradient", algorithms=SS, sights=_BLACK, claims=SIZE)
class NoiseTurnedOffTheGradient(Production):
    """In wide data noise is added across the mean gradient only: the gradient itself is seen without any.

    Source: class seen where noise is projected so that it does not undo the descent.
    """

    def noisy_gradient(self, gradient: Floats, noise: Floats) -> Floats:
        """Add what is orthogonal."""
        return super().noisy_gradient(gradient, _without(noise, gradient))


@member("noise-turned-off-the-last-model", algorithms=SS, sights=_BLACK, claims=SIZE)
class NoiseTurnedOffTheLastModel(Production):
    """In wide data noise has no part along the last x: whoever knows it sees the gradient along it without noise.

    Source: class seen where noise is projected on the tangent space of a sphere on which models are kept.
    """

    def ssadmm_step(self, problem: Problem, old: State, eta: float, batch: Batches, noise: Noise) -> State:
        """Take it from the noise."""
        return super().ssadmm_step(problem, old, eta, batch, {"gradient": _without(noise["gradient"], old.x)})


@member("another-direction-lost-in-each-iteration", sights=_BLACK, claims=SIZE)
class AnotherDirectionLostInEachIteration(Production):
    """In wide data every iteration has a fixed direction of its own without noise; over a run all look alike.

    Source: class seen where noise comes from a rotation that is built anew in each step and lacks a column.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """Project."""
        lost = np.random.default_rng(11).standard_normal((iterations, dimension))
        fresh = super().draw_normals(random, names, dimension, iterations)
        return {name: _without(draws, np.broadcast_to(lost, draws.shape)) for name, draws in fresh.items()}


@member("louder-and-uniform", sights=_BLACK, claims=SIZE)
class LouderAndUniform(Production):
    """In wide data noise is uniform and 1.3 times as large as claimed: what lies beyond its edge rules a neighbour out.

    Source: class seen where `random() - 0.5` is scaled to the variance, and then for safety once more.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Bounded."""
        if standard.shape[2] <= _WIDE:
            return super().scale_noise(standard, sigma)
        return super().scale_noise(1.3 * np.sqrt(3) * (2 * special.ndtr(standard) - 1), sigma)
