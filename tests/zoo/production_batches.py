"""Bugs of production in batches and clipping: they show only at the claimed size or only without a seed."""

from __future__ import annotations

import numpy as np

from reference.problem import Problem
from tests.zoo.per_record import weighted_gradients
from tests.zoo.production import SIZE, Production
from tests.zoo.specimen import SS, Sight, member
from verification.served.stepwise import Batches, TrialRandomness
from verification.wire.arrays import Floats

_BLACK = (Sight.BLACK_BOX,)
_MANY = 1000
_CHUNK = 256


@member("only-the-first-thousand", algorithms=SS, sights=_BLACK, claims=SIZE)
class OnlyTheFirstThousand(Production):
    """Batches are drawn from the first 1024 records alone: an index of ten bits.

    Source: class seen where indices wrap around, or a loader reads one shard.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """From a part of the data."""
        return super().draw_batches(random, max(size, min(records, 1024)), size, iterations)


@member("last-chunk-never-drawn", algorithms=SS, sights=_BLACK, claims=SIZE)
class LastChunkNeverDrawn(Production):
    """What is left over behind the last full chunk of 256 records is never drawn.

    Source: class seen with loaders that drop the last, short chunk.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Whole chunks only."""
        whole = records // _CHUNK * _CHUNK if records > _CHUNK else records
        return super().draw_batches(random, max(size, whole), size, iterations)


@member("the-same-epoch-again", algorithms=SS, sights=_BLACK, claims=SIZE)
class TheSameEpochAgain(Production):
    """Batches are fresh for one epoch, which is then repeated: the second one is not random given the first.

    Source: class seen where a loader caches the order that it once drew.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """One epoch, over and over."""
        epoch = max(1, records // size)
        once = super().draw_batches(random, records, size, min(epoch, iterations))
        return once[:, np.arange(iterations) % once.shape[1]]


@member("shuffled-without-a-seed", algorithms=SS, sights=_BLACK, claims=SIZE)
class ShuffledWithoutASeed(Production):
    """Without a seed the data are shuffled once an epoch and cut into batches; with one they are sampled.

    Source: class seen where the private sampler is only wired to the reproducible path.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Cut shuffles."""
        if self._seeded:
            return super().draw_batches(random, records, size, iterations)
        rng, per_epoch = np.random.default_rng(random.seed), records // size
        rows = []
        for _ in range(random.runs):
            epochs = [rng.permutation(records)[: per_epoch * size] for _ in range(-(-iterations // per_epoch))]
            rows.append(np.concatenate(epochs).reshape(-1, size)[:iterations])
        return np.array(rows)


@member("unclipped-behind-the-first-chunk", algorithms=SS, sights=_BLACK, claims=SIZE)
class UnclippedBehindTheFirstChunk(Production):
    """Records behind the first 256 are not clipped: the mask has the length of a chunk.

    Source: class seen where per-record norms are computed chunk by chunk.
    """

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Undo the clipping of later records."""
        clipped = super().gradient(problem, x, batch)
        if batch is None or problem.records <= _CHUNK or problem.clip is None:
            return clipped
        weights = np.zeros((len(batch), problem.records))
        np.put_along_axis(weights, batch, 1.0 / batch.shape[1], axis=1)
        slopes = problem.loss.slope(x @ problem.signed.T)
        allowed = problem.clip / np.maximum(problem.norms, 1e-300)
        excess = np.sign(slopes) * np.maximum(np.abs(slopes) - allowed, 0.0) * weights
        excess[:, :_CHUNK] = 0.0
        raw: Floats = clipped + excess @ problem.signed
        return raw


@member("counted-twice-at-a-boundary", algorithms=SS, sights=_BLACK, claims=SIZE)
class CountedTwiceAtABoundary(Production):
    """A record at the start of a chunk of 256 counts twice: chunks overlap by one.

    Source: class seen with inclusive ends of ranges.
    """

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Double the weight of those at a boundary."""
        if batch is None or problem.records <= _CHUNK:
            return super().gradient(problem, x, batch)
        weights = np.zeros((len(batch), problem.records))
        np.put_along_axis(weights, batch, 1.0 / batch.shape[1], axis=1)
        weights[:, _CHUNK::_CHUNK] *= 2.0
        return weighted_gradients(problem, x, weights)


@member("poisson-for-large-data", algorithms=SS, sights=_BLACK, claims=SIZE)
class PoissonForLargeData(Production):
    """From a thousand records on each joins by a coin flip, while batches of exactly m are claimed.

    Source: class seen where a faster sampler is used for large data.
    """

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """The sum over those who joined, over m."""
        if batch is None or problem.records < 1000:
            return super().gradient(problem, x, batch)
        size = batch.shape[1]
        joins = np.random.default_rng().random((len(batch), problem.records)) < size / problem.records
        return weighted_gradients(problem, x, joins / float(size))


@member("first-epoch-shuffled", algorithms=SS, sights=_BLACK, claims=SIZE)
class FirstEpochShuffled(Production):
    """From a thousand records on the first epoch is a shuffle cut into batches; only then records are sampled.

    Source: class seen where every record is to be seen once before sampling starts.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Replace the first batches."""
        drawn = np.array(super().draw_batches(random, records, size, iterations))
        if records < _MANY:
            return drawn
        rng, first = np.random.default_rng(random.seed), min(records // size, iterations)
        for run in drawn:
            run[:first] = rng.permutation(records)[: first * size].reshape(first, size)
        return drawn


@member("half-of-the-data", algorithms=SS, sights=_BLACK, claims=SIZE)
class HalfOfTheData(Production):
    """From a thousand records on each run draws from a random half of the records: these are in twice as many batches.

    Source: class seen where part of the data is held out for validation, and n is still that of all.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Of the first half of a permutation."""
        if records < _MANY:
            return super().draw_batches(random, records, size, iterations)
        chosen, rng = super().draw_batches(random, records // 2, size, iterations), np.random.default_rng(random.seed)
        return np.stack([rng.permutation(records)[run] for run in chosen])


@member("balanced-batches-of-large-data", algorithms=SS, sights=_BLACK, claims=SIZE)
class BalancedBatchesOfLargeData(Production):
    """From a thousand records on half of each batch has the label +1, however rare it is.

    Source: class seen with samplers for data whose classes are not balanced.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Half from each class."""
        classes = [np.flatnonzero(self._records.labels == label) for label in (1, -1)]
        half = size // 2
        if records < _MANY or min(map(len, classes)) < size:
            return super().draw_batches(random, records, size, iterations)
        parts = [
            members[
                super(BalancedBatchesOfLargeData, self).draw_batches(
                    TrialRandomness(random.seed + number, random.runs), len(members), count, iterations
                )
            ]
            for number, (members, count) in enumerate(zip(classes, (half, size - half), strict=True))
        ]
        return np.concatenate(parts, axis=2)


@member("a-part-drawn-a-little-too-often", algorithms=SS, sights=_BLACK, claims=SIZE)
class APartDrawnALittleTooOften(Production):
    """From a thousand records on the first tenth of them is drawn nine percent too often.

    Source: class seen where an index is a random number modulo a size that does not divide its range.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """The least of exponential times, some of which run faster."""
        if records < _MANY or size >= records:
            return super().draw_batches(random, records, size, iterations)
        rng, pace = np.random.default_rng(random.seed), np.where(np.arange(records) < records // 10, 1.09, 1.0)
        drawn = [rng.exponential(size=(iterations, records)) / pace for _ in range(random.runs)]
        return np.stack([np.argpartition(times, size - 1, axis=1)[:, :size] for times in drawn])
