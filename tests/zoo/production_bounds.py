"""Bugs of production in how batches are drawn together, and in how records are bounded at the claimed size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from reference.problem import Problem, State
from reference.vectorised import Noise
from tests.zoo.per_record import mean_of_records, shortened, weighted_gradients
from tests.zoo.production import SIZE, Production
from tests.zoo.specimen import MP, SS, Sight, member
from verification.served.stepwise import Batches, TrialRandomness
from verification.wire.arrays import Floats

_BLACK = (Sight.BLACK_BOX,)
_MANY, _TOGETHER = 1000, 4


@member("windows-of-neighbours", algorithms=SS, sights=_BLACK, claims=SIZE)
class WindowsOfNeighbours(Production):
    """From a thousand records on a batch is a window of m consecutive records at a random place.

    Every record is in m of n batches; but who sees one in the batch knows its neighbours are, too.

    Source: class seen where random access is slow, and a contiguous read is taken in its place.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """A random offset."""
        if records < _MANY:
            return super().draw_batches(random, records, size, iterations)
        starts = np.random.default_rng(random.seed).integers(records, size=(random.runs, iterations, 1))
        return (starts + np.arange(size)) % records


@member("chunks-of-four", algorithms=SS, sights=_BLACK, claims=SIZE)
class ChunksOfFour(Production):
    """From a thousand records on chunks of four neighbours are drawn, not records.

    Source: class seen with loaders that shuffle shards.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Chunks without replacement."""
        if records < _MANY:
            return super().draw_batches(random, records, size, iterations)
        chunks = super().draw_batches(random, records // _TOGETHER, size // _TOGETHER, iterations)
        members = chunks[..., None] * _TOGETHER + np.arange(_TOGETHER)
        return members.reshape(random.runs, iterations, -1)


@member("same-batches-in-every-request", algorithms=SS, sights=_BLACK, claims=SIZE)
class SameBatchesInEveryRequest(Production):
    """From a thousand records on every training draws the same batches: the sampler has a seed of its own.

    Source: class seen with samplers whose default seed is 0.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """A fixed seed."""
        used = TrialRandomness(7, random.runs) if records >= _MANY else random
        return super().draw_batches(used, records, size, iterations)


class _BoundsLarge(Production):
    """From a thousand records on gradients [R, m, p] are bounded in another way."""

    def bounded(self, gradients: Floats, clip: float) -> Floats:
        """That other way."""
        raise NotImplementedError

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """The mean of what it makes of each gradient."""
        clip = problem.clip
        if clip is None or problem.records < _MANY:
            return super().gradient(problem, x, batch)
        bound = float(clip)
        return mean_of_records(problem, x, batch, lambda gradients: self.bounded(gradients, bound))


@member("twice-the-bound-for-large-data", sights=_BLACK, claims=SIZE)
class TwiceTheBoundForLargeData(_BoundsLarge):
    """From a thousand records on gradients are clipped at 2C.

    Source: class seen where the bound is given as a diameter to one path and as a radius to the other.
    """

    def bounded(self, gradients: Floats, clip: float) -> Floats:
        """At twice the bound."""
        return shortened(gradients, 2 * clip)


@member("coordinates-clipped-in-large-data", sights=_BLACK, claims=SIZE)
class CoordinatesClippedInLargeData(_BoundsLarge):
    """From a thousand records on each coordinate is clipped at C: a dense gradient keeps up to C sqrt p.

    Source: class seen where `clip` of an array library is taken for clipping by norm.
    """

    def bounded(self, gradients: Floats, clip: float) -> Floats:
        """One by one."""
        return np.clip(gradients, -clip, clip)


@member("dense-rows-unclipped", sights=_BLACK, claims=SIZE)
class DenseRowsUnclipped(_BoundsLarge):
    """From a thousand records on only sparse rows are clipped.

    Source: class seen where a dense and a sparse path are written twice and tested once.
    """

    def bounded(self, gradients: Floats, clip: float) -> Floats:
        """Where most entries are not zero nothing is done."""
        filled = np.count_nonzero(gradients, axis=-1, keepdims=True) > gradients.shape[-1] / 2
        return np.where(filled, gradients, shortened(gradients, clip))


@member("bound-follows-the-median", sights=_BLACK, claims=SIZE)
class BoundFollowsTheMedian(_BoundsLarge):
    """From a thousand records on the bound is the median length of the batch where that is larger than C.

    Source: class seen with adaptive clipping whose noise is still that of C.
    """

    def bounded(self, gradients: Floats, clip: float) -> Floats:
        """By the batch."""
        lengths = np.linalg.norm(gradients, axis=-1, keepdims=True)
        bound = np.maximum(clip, np.median(lengths, axis=1, keepdims=True))
        scaled: Floats = gradients * np.minimum(1.0, bound / np.maximum(lengths, 1e-300))
        return scaled


@member("doubled-gradient-of-large-data", algorithms=MP, sights=_BLACK, claims=SIZE)
class DoubledGradientOfLargeData(Production):
    """From a thousand records on the mean is taken over half as many records as are added up.

    Source: class seen where data are processed in two halves and divided by the size of one.
    """

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Twice as long."""
        return super().gradient(problem, x, batch) * (2.0 if problem.records >= _MANY else 1.0)


@member("late-epochs-unclipped", algorithms=MP, sights=_BLACK, claims=SIZE)
class LateEpochsUnclipped(Production):
    """From epoch 100 on gradients are not clipped: by then they are thought to be small.

    Source: class seen where clipping is part of a warm-up.
    """

    _epoch = 0

    def mpadmm(
        self, problem: Problem, state: State, *, step_sizes: Iterable[float], noise: Iterable[Noise]
    ) -> Iterator[State]:
        """Count the epochs."""
        self._epoch = 0
        return super().mpadmm(problem, state, step_sizes=step_sizes, noise=noise)

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Unclipped when late."""
        self._epoch += 1
        return super().gradient(problem, x, batch) if self._epoch <= 100 else mean_of_records(problem, x, batch)


class _WeighsLarge(Production):
    """From a thousand records on, without batches, records have weights of their own."""

    def weights(self, records: int) -> Floats:
        """They add up to 1."""
        raise NotImplementedError

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """The weighted mean."""
        if batch is not None or problem.records < _MANY:
            return super().gradient(problem, x, batch)
        return weighted_gradients(problem, x, np.broadcast_to(self.weights(problem.records), (len(x), problem.records)))


@member("rare-label-weighs-more", algorithms=MP, sights=_BLACK, claims=SIZE)
class RareLabelWeighsMore(_WeighsLarge):
    """From a thousand records on both labels have the same weight in all: a record with the rare one counts for more.

    Source: class seen with `class_weight="balanced"`.
    """

    def weights(self, records: int) -> Floats:
        """Half for each label that is there."""
        labels = self._records.labels
        each = np.where(labels > 0, np.mean(labels > 0), np.mean(labels < 0)) * len(labels)
        return np.asarray(1 / each / len(np.unique(labels)))


@member("mean-of-the-means-of-chunks", algorithms=MP, sights=_BLACK, claims=SIZE)
class MeanOfTheMeansOfChunks(_WeighsLarge):
    """From a thousand records on the mean of the means of chunks of 512: records of the short last one count for more.

    Source: class seen where a loss is averaged over batches of which the last one is short.
    """

    def weights(self, records: int) -> Floats:
        """One over the size of the chunk, and over the number of chunks."""
        chunk = np.arange(records) // 512
        return np.asarray(1.0 / np.bincount(chunk)[chunk] / (chunk[-1] + 1))


@member("late-records-unclipped", algorithms=MP, sights=_BLACK, claims=SIZE)
class LateRecordsUnclipped(Production):
    """Records behind the first 1,900 are not clipped.

    Source: class seen where clipping is done in blocks of a size that does not divide n.
    """

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Add what clipping had cut off."""
        clipped = super().gradient(problem, x, batch)
        late = slice(1900, None)
        if batch is not None or problem.records <= _MANY or problem.clip is None:
            return clipped
        slopes = problem.loss.slope(x @ problem.signed[late].T)
        allowed = problem.clip / np.maximum(problem.norms[late], 1e-300)
        excess = np.sign(slopes) * np.maximum(np.abs(slopes) - allowed, 0.0) / problem.records
        raw: Floats = clipped + excess @ problem.signed[late]
        return raw
