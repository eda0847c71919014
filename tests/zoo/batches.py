"""Batches that are not fresh uniform subsets, though amplification by subsampling is claimed (ssADMM)."""

from __future__ import annotations

import numpy as np

from reference.problem import Problem
from tests.zoo.per_record import weighted_gradients
from tests.zoo.setting import ZooSetting
from tests.zoo.specimen import EVERY_SIGHT, SS, Specimen, member
from verification.served.serve import Values
from verification.served.stepwise import Batches, TrialRandomness
from verification.wire.arrays import Floats
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.records import Records

_ONE_EPOCH = ZooSetting(eta=(0.5,) * 5)


def _generator(random: TrialRandomness) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(random.seed, spawn_key=(1,)))


def _shuffled_epochs(random: TrialRandomness, records: int, length: int) -> Batches:
    """So many record numbers for each run, cut from one shuffle of all records after the other; [R, length]."""
    epochs = -(-length // records)
    rng, ordered = _generator(random), np.tile(np.arange(records), (random.runs * epochs, 1))
    return rng.permuted(ordered, axis=1).reshape(random.runs, epochs * records)[:, :length]


@member("epoch-wise-shuffle", algorithms=SS, claims=_ONE_EPOCH)
class EpochWiseShuffle(Specimen):
    """Records are shuffled once an epoch and cut into batches: each record is seen exactly once, not by chance.

    Source: class seen in almost all deep-learning code, where a shuffling data loader meets a subsampling accountant
    (Chua et al. 2024 measure what it costs).
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Cut whole batches from each shuffle; what is left over at its end is dropped."""
        per_epoch = records // size
        epochs = -(-iterations // per_epoch)
        shuffles = _shuffled_epochs(random, records, epochs * records).reshape(random.runs, epochs, records)
        cut = shuffles[:, :, : per_epoch * size].reshape(random.runs, epochs * per_epoch, size)
        return cut[:, :iterations]


@member("with-replacement", algorithms=SS, sights=EVERY_SIGHT)
class WithReplacement(Specimen):
    """Batches are drawn with replacement: a record drawn twice counts twice, and the sensitivity with it.

    Source: class seen where `choice(n, m)` is called and its default is to replace.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Independent record numbers."""
        return _generator(random).integers(records, size=(random.runs, iterations, size))


@member("batch-used-twice", algorithms=SS, claims=_ONE_EPOCH)
class BatchUsedTwice(Specimen):
    """Each batch serves two iterations, the second of which is not subsampled at all given the first.

    Source: class seen where several local steps are taken on one batch and accounted as one round each.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Every batch, twice."""
        half = super().draw_batches(random, records, size, (iterations + 1) // 2)
        return np.repeat(half, 2, axis=1)[:, :iterations]


@member("file-order-batches", algorithms=SS, sights=EVERY_SIGHT, claims=_ONE_EPOCH)
class FileOrderBatches(Specimen):
    """Batches are consecutive rows of the file: nothing is random, and nothing is amplified.

    Source: class seen where `shuffle` is left at its default, false.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Row after row, round and round."""
        rows = (np.arange(iterations * size) % records).reshape(iterations, size)
        return np.broadcast_to(rows, (random.runs, iterations, size))


@member("one-batch-for-all-runs", algorithms=SS, sights=EVERY_SIGHT)
class OneBatchForAllRuns(Specimen):
    """The sampler keeps a fixed seed of its own while the noise does not: an adversary knows every batch.

    Source: class seen where the data loader's generator is fixed so that experiments compare, and then deployed.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """The same batches in every run."""
        return super().draw_batches(TrialRandomness(0, 1), records, size, iterations).repeat(random.runs, axis=0)


@member("poisson-divided-by-m", algorithms=SS, sights=EVERY_SIGHT)
class PoissonDividedByM(Specimen):
    """Each record joins with probability m/n and the sum is divided by m, while batches of exactly m are claimed.

    Source: class seen the other way round throughout: Poisson accounting for fixed-size batches. Either way the claim
    is about another mechanism.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Record numbers, padded with n for nobody to n + 1, a width that no batch has."""
        self._size = size
        joins = _generator(random).random((random.runs, iterations, records)) < size / records
        numbers = np.where(joins, np.arange(records), records)
        return np.pad(numbers, ((0, 0), (0, 0), (0, 1)), constant_values=records)

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """The sum over those who joined, divided by m."""
        if batch is None or batch.shape[1] <= problem.records:  # of a replay
            return super().gradient(problem, x, batch)
        weights = np.zeros((len(batch), problem.records + 1))
        np.put_along_axis(weights, batch, 1.0 / self._size, axis=1)
        return weighted_gradients(problem, x, weights[:, :-1])


@member("classes-in-balance", algorithms=SS, sights=EVERY_SIGHT, claims=_ONE_EPOCH)
class ClassesInBalance(Specimen):
    """Batches hold both labels in equal numbers: the only record of its label is in every batch.

    Source: class seen with balanced samplers for skewed data, under an accountant that assumes q = m/n.
    """

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        """Remember the labels."""
        self._labels = records.labels
        return super().trials(records, algorithm, parameters, count, seed)

    def draw_batches(
        self,
        random: TrialRandomness,
        records: int,
        size: int,
        iterations: int,
    ) -> Batches:
        """Half of the batch from each class, or as many as it has."""
        positive = np.flatnonzero(self._labels > 0)
        negative = np.flatnonzero(self._labels <= 0)
        wanted = min(max(size // 2, size - len(negative)), len(positive))
        rng, draws = _generator(random), random.runs * iterations
        parts = [
            rng.permuted(np.tile(members, (draws, 1)), axis=1)[:, :count]
            for members, count in ((positive, wanted), (negative, size - wanted))
        ]
        return np.concatenate(parts, axis=1).reshape(random.runs, iterations, size)


@member("short-last-batch", algorithms=SS, claims=ZooSetting(records=10, eta=(0.5,) * 5))
class ShortLastBatch(Specimen):
    """The last batch of a shuffled epoch holds what is left over, and its mean divides by that small number.

    Source: class seen with data loaders whose `drop_last` is left at its default, false.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Cut each shuffle to the end; a short batch is padded with n for nobody."""
        per_epoch = -(-records // size)
        epochs = -(-iterations // per_epoch)
        shuffles = _shuffled_epochs(random, records, epochs * records).reshape(random.runs, epochs, records)
        padded = np.full((random.runs, epochs, per_epoch * size), records)
        padded[:, :, :records] = shuffles
        return padded.reshape(random.runs, epochs * per_epoch, size)[:, :iterations]

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """The mean over those who are there."""
        if batch is None:
            return super().gradient(problem, x, batch)
        weights = np.zeros((len(batch), problem.records + 1))
        there = (batch < problem.records).sum(axis=1, keepdims=True)
        np.put_along_axis(weights, batch, 1.0 / there, axis=1)
        return weighted_gradients(problem, x, weights[:, :-1])
