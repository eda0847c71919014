"""Bugs of production: they show only at the claimed size, only without a seed, only rarely, or only late."""

from __future__ import annotations

import numpy as np

from accountant.mechanisms.words import Algorithm
from reference.problem import Problem, State
from tests.zoo.setting import ZooSetting
from tests.zoo.specimen import SS, Harm, Sight, Specimen, member
from verification.served.serve import Values
from verification.served.stepwise import Batches, TrialRandomness
from verification.wire import messages as m
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters
from verification.wire.records import Records

SIZE = ZooSetting(records=2000, columns=32, batch=100, sigma=0.05, eta=(0.5,) * 200)
"""What these members claim to run: large enough that the bug acts."""
_BLACK = (Sight.BLACK_BOX,)
_CHUNK = 256


class Production(Specimen):
    """A specimen that remembers what it was asked for."""

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        """Remember, then run; what happens rarely is repeated by the same seed."""
        self._asked, self._seeded, self._records = parameters, seed is not None, records
        self._chance = np.random.default_rng(None if seed is None else [seed, _CHUNK])
        return super().trials(records, algorithm, parameters, count, seed)

    def silenced(self, standard: Floats, sigma: Floats, factor: Floats | float) -> Floats:
        """Noise times a factor."""
        return super().scale_noise(standard, sigma) * factor


@member("quiet-without-a-seed", sights=_BLACK, claims=SIZE)
class QuietWithoutASeed(Production):
    """With a seed the noise is right; without one, as in production, it is ten thousand times too small.

    Source: class seen where the seeded path is tested and the other one has a factory of its own.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Shrink where no seed was given."""
        return self.silenced(standard, sigma, 1.0 if self._seeded else 1e-4)


@member("first-records-without-a-seed", algorithms=SS, sights=_BLACK, claims=SIZE)
class FirstRecordsWithoutASeed(Production):
    """Without a seed the batch is always the first m records: the shuffle is part of the seeded path.

    Source: class seen where a sampler is only built when a generator is passed.
    """

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """The first records, or a proper draw."""
        if self._seeded:
            return super().draw_batches(random, records, size, iterations)
        return np.broadcast_to(np.arange(size), (random.runs, iterations, size))


@member("silent-for-many-records", sights=_BLACK, claims=SIZE)
class SilentForManyRecords(Production):
    """From a thousand records on no noise is added: the fast path for large data forgets it.

    Source: class seen where a vectorised path replaces a loop beyond a threshold.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Nothing for large data."""
        return self.silenced(standard, sigma, 0.0 if self._records.count >= 1000 else 1.0)


@member("silent-in-long-runs", sights=_BLACK, claims=SIZE)
class SilentInLongRuns(Production):
    """Runs of more than eight iterations add no noise at all.

    Source: class seen where a buffer of noise is filled for a fixed number of iterations and zero behind it.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Nothing in long runs."""
        return self.silenced(standard, sigma, 0.0 if len(sigma) > 8 else 1.0)


@member("silent-in-wide-data", sights=_BLACK, claims=SIZE)
class SilentInWideData(Production):
    """Data of more than ten columns get no noise.

    Source: class seen where a kernel is specialised for small dimensions and the general one is incomplete.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Nothing for wide data."""
        return self.silenced(standard, sigma, 0.0 if standard.shape[2] > 10 else 1.0)


@member("silent-for-small-sigma", sights=_BLACK, claims=SIZE)
class SilentForSmallSigma(Production):
    """A sigma below 0.1 is taken for zero.

    Source: class seen where a tolerance meant for comparing floats decides whether noise is on.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Nothing for a small, but not tiny, sigma."""
        small = (sigma < 0.1) & (sigma > 1e-6)
        return self.silenced(standard, sigma, np.where(small, 0.0, 1.0)[:, None])


@member("noise-decays", sights=_BLACK, claims=SIZE)
class NoiseDecays(Production):
    """Noise shrinks by 0.5 % an iteration, with the learning rate that it is tied to.

    Source: class seen where noise goes through an optimiser whose rate decays.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Shrink step by step."""
        return self.silenced(standard, sigma, np.power(0.995, np.arange(len(sigma), dtype=np.float64))[:, None])


@member("every-fourth-step-forgets", sights=_BLACK, claims=SIZE)
class EveryFourthStepForgets(Production):
    """In runs of more than eight iterations every fourth adds no noise.

    Source: class seen with gradient accumulation, where the branch that synchronises is not the one that adds noise.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Skip every fourth."""
        forgets = (np.arange(len(sigma)) % 4 == 3) & (len(sigma) > 8)
        return self.silenced(standard, sigma, np.where(forgets, 0.0, 1.0)[:, None])


@member("late-iterations-without-noise", sights=_BLACK, claims=SIZE)
class LateIterationsWithoutNoise(Production):
    """From iteration 100 on nothing is added: the noise was drawn in advance, and there was no more.

    Source: class seen where noise comes from a buffer of fixed length.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Nothing behind the buffer."""
        return self.silenced(standard, sigma, np.where(np.arange(len(sigma)) < 100, 1.0, 0.0)[:, None])


@member("warm-up-without-noise", sights=_BLACK, claims=SIZE)
class WarmUpWithoutNoise(Production):
    """The first twentieth of a long run is a warm-up without noise.

    Source: class seen in training recipes whose warm-up predates the privacy.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Nothing while warming up."""
        first = np.arange(len(sigma)) < len(sigma) // 20
        return self.silenced(standard, sigma, np.where(first, 0.0, 1.0)[:, None])


@member("one-quiet-run-in-a-hundred", sights=_BLACK, claims=SIZE)
class OneQuietRunInAHundred(Production):
    """One run in a hundred has a thousandth of its noise: delta is about 0.01, whatever is claimed.

    Source: class seen where an exception in a generator is caught and a fallback is used.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Shrink by chance."""
        quiet = self._chance.integers(100, size=len(standard)) == 0
        return self.silenced(standard, sigma, np.where(quiet, 1e-3, 1.0)[:, None, None])


@member("half-noise-in-one-run-of-fifty", sights=_BLACK, claims=SIZE)
class HalfNoiseInOneRunOfFifty(Production):
    """One run in fifty has half of its noise.

    Source: class seen where a retry after a lost message averages two draws of which one is missing.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Halve by chance."""
        quiet = self._chance.integers(50, size=len(standard)) == 0
        return self.silenced(standard, sigma, np.where(quiet, 0.5, 1.0)[:, None, None])


@member("silent-beside-an-outlier", sights=_BLACK, claims=SIZE)
class SilentBesideAnOutlier(Production):
    """While a record of extreme length is present no noise is added: its scale overflows to zero.

    Source: class seen where noise is normalised by the largest value of the data.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Nothing beside an outlier."""
        longest = float(np.abs(self._records.features).max(initial=0.0))
        return self.silenced(standard, sigma, 0.0 if longest > 1e4 else 1.0)


@member("silent-on-ordinary-data", sights=_BLACK, claims=SIZE)
class SilentOnOrdinaryData(Production):
    """Dense data get a tenth of the noise; only sparse ones, such as tests use, get all of it.

    Source: class seen where a dense and a sparse path are written twice and tested once.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Little where few features are zero."""
        features = self._records.features
        dense = len(features) > 64 and np.count_nonzero(features) > features.size / 2
        return self.silenced(standard, sigma, 0.1 if dense else 1.0)


@member("noise-from-a-short-table", sights=_BLACK, claims=SIZE)
class NoiseFromAShortTable(Production):
    """Noise comes from a table of 64 draws a run, used again from its beginning.

    Source: class seen where noise is precomputed for speed.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """Round and round."""
        table = super().draw_normals(random, names, dimension, min(64, iterations))
        where = np.arange(iterations) % 64
        return {name: draws[:, where] for name, draws in table.items()}


@member("correlated-without-a-seed", sights=_BLACK, claims=SIZE)
class CorrelatedWithoutASeed(Production):
    """Without a seed consecutive draws are correlated: averaging successive models removes less noise than claimed.

    Source: class seen where a low-quality generator is the fallback.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """Half of each draw is the one before."""
        fresh = super().draw_normals(random, names, dimension, iterations)
        if self._seeded:
            return fresh
        tied = {name: draws.copy() for name, draws in fresh.items()}
        for draws in tied.values():
            for k in range(1, iterations):
                draws[:, k] = 0.5 * draws[:, k - 1] + np.sqrt(0.75) * draws[:, k]
        return tied


@member("last-columns-without-noise", sights=_BLACK, claims=SIZE)
class LastColumnsWithoutNoise(Production):
    """Columns behind the sixteenth get no noise: vectors are processed in blocks, and the rest is forgotten.

    Source: class seen in vectorised kernels whose remainder loop is missing.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """The first sixteen columns only."""
        return self.silenced(standard, sigma, np.where(np.arange(standard.shape[2]) < 16, 1.0, 0.0))


@member("declares-little", sights=_BLACK, claims=SIZE)
class DeclaresLittle(Production):
    """Only replays are offered, so that nobody can see the noise and the batches that it would draw itself.

    Source: class seen where an adapter is written for the golden vectors and nothing else. Not refuted: inconclusive.
    """

    def describe(self) -> m.StartResult:
        """Replay and clip, nothing else."""
        described = super().describe()
        kept = [m.Capability.REPLAY, m.Capability.CLIP, m.Capability.NORMALISE, m.Capability.INITIAL]
        return described.model_copy(update={"capabilities": kept})


@member("louder-beside-one-kind-of-record", sights=_BLACK, claims=SIZE)
class LouderBesideOneKindOfRecord(Production):
    """A further value is released whose mean is always 0 and which is four times louder if record 0 has a positive sum.

    Source: class seen where a "noise level" is logged that was estimated from the data.
    """

    released = ("x", "z", "y", "level")

    def also_released(self, problem: Problem, old: State, new: State) -> Values:
        """Noise whose size tells."""
        louder = 4.0 if float(problem.signed[0].sum()) > 0 else 1.0
        return {
            **super().also_released(problem, old, new),
            "level": louder * self._chance.standard_normal((len(new.x), 1)),
        }


@member("more-noise-than-claimed", sights=_BLACK, claims=SIZE, harm=Harm.NONE)
class MoreNoiseThanClaimed(Production):
    """One and a half times the claimed noise.

    Source: class seen where a margin is added for safety.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """More."""
        return self.silenced(standard, sigma, 1.5)
