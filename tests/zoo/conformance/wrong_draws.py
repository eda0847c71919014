"""Implementations that draw the wrong batches or the wrong noise; served by `wrong.py`."""

from __future__ import annotations

import numpy as np

from reference.problem import Problem
from verification.served.serve import Values
from verification.served.stepwise import Batches, Stepwise, TrialRandomness
from verification.wire.arrays import Floats
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.records import Records


class WithReplacement(Stepwise):
    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        rng = np.random.default_rng(random.seed)
        return rng.integers(records, size=(random.runs, iterations, size)).astype(np.intp)


class PrefersEarlyRecords(Stepwise):
    """Record 0 is drawn a fifth more often than its share."""

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        batches = super().draw_batches(random, records, size, iterations)
        rng = np.random.default_rng(random.seed)
        lacking = (batches != 0).all(axis=2) & (rng.random(batches.shape[:2]) < 0.1)
        batches[lacking, 0] = 0
        return batches


class Blocks(Stepwise):
    """Batches are blocks of consecutive records, all equally likely."""

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        start = np.random.default_rng(random.seed).integers(records, size=(random.runs, iterations, 1))
        return ((start + np.arange(size)) % records).astype(np.intp)


class EpochShuffle(Stepwise):
    """The data are shuffled once and taken in turn."""

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        rng = np.random.default_rng(random.seed)
        epochs = -(-iterations * size // records) + 1
        order = rng.permuted(np.tile(np.arange(records), (random.runs, epochs, 1)), axis=2)
        per_epoch = records // size
        taken = order[:, :, : per_epoch * size].reshape(random.runs, -1, size)
        return taken[:, :iterations].astype(np.intp)


class SameBatches(Stepwise):
    """Every run of a request sees the batches of the first."""

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        one = super().draw_batches(TrialRandomness(random.seed, 1), records, size, iterations)
        return np.repeat(one, random.runs, axis=0)


class VarianceAsDeviation(Stepwise):
    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        return (sigma**2)[:, None] * standard


class TwentyPercentLess(Stepwise):
    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        return super().scale_noise(standard, sigma) / 1.2


class QuietWhereLoud(Stepwise):
    """Noise shrinks where the records are long."""

    def sigmas(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        return super().sigmas(algorithm, parameters, records) / self._loudness

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        problem = super().problem(records, parameters)
        self._loudness = max(1.0, float(np.linalg.norm(records.features, axis=1).max()))
        return problem


class Biased(Stepwise):
    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        return super().scale_noise(standard + 0.15, sigma)


class Uniform(Stepwise):
    """Uniform noise of the right variance."""

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        draws = super().draw_normals(random, names, dimension, iterations)
        rng = np.random.default_rng(random.seed)
        return {name: np.sqrt(3) * rng.uniform(-1, 1, array.shape) for name, array in draws.items()}


class OneDrawForAll(Stepwise):
    """One scalar for all coordinates."""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        return super().scale_noise(np.repeat(standard[:, :, :1], standard.shape[2], axis=2), sigma)


class DrawnOnce(Stepwise):
    """The noise of the first iteration in every iteration."""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        return super().scale_noise(np.repeat(standard[:, :1], standard.shape[1], axis=1), sigma)


class SharedByXZY(Stepwise):
    """One draw for x, z and y."""

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        draws = super().draw_normals(random, names, dimension, iterations)
        return dict.fromkeys(draws, next(iter(draws.values())))


class CarriedOver(Stepwise):
    """Each run's noise keeps half of the last run's."""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        mixed = np.sqrt(0.5) * (standard + np.roll(standard, 1, axis=0))
        return super().scale_noise(mixed, sigma)


class EveryTenthRepeats(Stepwise):
    """Run 10 k has the noise of run 0."""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        repeated = standard.copy()
        repeated[::10] = standard[0]
        return super().scale_noise(repeated, sigma)


class SinglePrecision(Stepwise):
    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        return super().scale_noise(standard, sigma).astype(np.float32).astype(np.float64)


class TimesBoundSquared(Stepwise):
    """The deviation is multiplied by C^2."""

    def sigmas(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        return super().sigmas(algorithm, parameters, records) * parameters.bound**2


class PaperSensitivity(Stepwise):
    """The sensitivity as printed, without eta; and half of what replacement needs for ssADMM."""

    def sigmas(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Floats:
        right = super().sigmas(algorithm, parameters, records)
        if parameters.noise_multiplier is None:
            return right
        return right / 2 if algorithm is Algorithm.SSADMM else right / np.array(parameters.eta)
