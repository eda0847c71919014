"""Noise that is drawn wrongly: once, too seldom, from the wrong distribution, from too few seeds, or twice."""

from __future__ import annotations

import numpy as np

from reference.randomness import seeded_noise
from tests.zoo.setting import ZooSetting
from tests.zoo.specimen import EVERY_SIGHT, MP, Sight, Specimen, member
from verification.served.serve import Values
from verification.served.stepwise import TrialRandomness
from verification.wire.arrays import Floats
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.records import Records

_THREE_STEPS = ZooSetting(eta=(0.5, 0.5, 0.5))


@member("noise-drawn-once", claims=_THREE_STEPS)
class NoiseDrawnOnce(Specimen):
    """Noise is drawn once, outside the loop, and added in every iteration: differences of iterates are exact.

    Source: class seen in training loops where the sample is a member set up in the constructor.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """The first iteration's draws, over and over."""
        once = super().draw_normals(random, names, dimension, 1)
        return {name: np.repeat(draws, iterations, axis=1) for name, draws in once.items()}


@member("one-draw-for-all-coordinates", sights=EVERY_SIGHT)
class OneDrawForAllCoordinates(Specimen):
    """One scalar is drawn and broadcast to all coordinates: every difference of two coordinates is exact.

    Source: class seen where `normal(0, s)` is called without a shape and array arithmetic broadcasts the scalar.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """One draw an iteration."""
        scalar = super().draw_normals(random, names, 1, iterations)
        return {name: np.repeat(draws, dimension, axis=2) for name, draws in scalar.items()}


@member("one-key-for-x-z-and-y", algorithms=MP)
class OneKeyForAllVariables(Specimen):
    """The same random key is used for x, z and y: x - z is exact.

    Source: class seen with counter-based generators (JAX keys) whose key is not split between uses.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """One draw for all variables."""
        first = super().draw_normals(random, names[:1], dimension, iterations)[names[0]]
        return dict.fromkeys(names, first)


@member("noise-shared-by-runs", sights=EVERY_SIGHT)
class NoiseSharedByRuns(Specimen):
    """The generator is seeded again at the start of every run, so all runs add the same noise.

    Source: class seen where a fixed `random_state` is the default argument of a private estimator.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """The first run's draws for every run."""
        one_run = super().draw_normals(TrialRandomness(random.seed, 1), names, dimension, iterations)
        return {name: np.repeat(draws, random.runs, axis=0) for name, draws in one_run.items()}


@member("sixteen-bit-seeds", sights=EVERY_SIGHT)
class SixteenBitSeeds(Specimen):
    """Every run seeds its generator with sixteen bits, so an adversary can try all noise there is.

    Source: class seen where a generator is seeded from a process id or a clock; the famous relative is
    Debian's OpenSSL of 2008.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """Draws of one of 65,536 runs, chosen for each run."""
        keys = np.random.default_rng(random.seed).integers(1 << 16, size=random.runs)
        width = len(names) * dimension
        draws = np.concatenate([seeded_noise(0, range(key, key + 1), width, 1.0, iterations) for key in keys.tolist()])
        return dict(zip(names, np.split(draws, len(names), axis=2), strict=True))


@member("same-seed-every-process", sights=EVERY_SIGHT)
class SameSeedEveryProcess(Specimen):
    """The generator is seeded with a constant when the module is imported, so every process draws the same noise.

    Source: class seen in research code that fixes all seeds at the top for reproducibility and is then deployed.
    """

    def __init__(self, sight: Sight = Sight.WHITE_BOX) -> None:
        super().__init__(sight)
        self._module_level = np.random.default_rng(0)

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        """Fresh draws within one process, the same ones in the next."""
        own = int(self._module_level.integers(1 << 53)) if seed is None else seed
        return super().trials(records, algorithm, parameters, count, own)


@member("laplace-of-equal-deviation", sights=EVERY_SIGHT)
class LaplaceOfEqualDeviation(Specimen):
    """Laplace noise of the same standard deviation, accounted as Gaussian.

    Source: class seen where the mechanism was exchanged (APPFL's ADMM trainers add Laplace noise to vectors whose
    sensitivity is measured in the Euclidean norm) and the accounting was not.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """Laplace draws of variance one."""
        rng = np.random.default_rng(random.seed)
        shape = (random.runs, iterations, dimension)
        return {name: rng.laplace(0.0, 1 / np.sqrt(2), shape) for name in names}


@member("truncated-at-three-sigma", sights=EVERY_SIGHT)
class TruncatedAtThreeSigma(Specimen):
    """Draws beyond three standard deviations are cut off: an output out of reach proves which neighbour was used.

    Source: class seen where "outliers" are clamped for the sake of utility; truncated normal initialisers are at hand.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Clamp, then scale."""
        return super().scale_noise(np.clip(standard, -3.0, 3.0), sigma)


@member("half-precision-noise", sights=EVERY_SIGHT)
class HalfPrecisionNoise(Specimen):
    """Noise is drawn in half precision: its grid is so coarse that the low bits of an output are the data's.

    Source: class seen in mixed-precision training; Mironov (CCS 2012) is the attack on binary64.
    """

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Round to the nearest half-precision number."""
        return super().scale_noise(standard.astype(np.float16).astype(np.float64), sigma)


@member("noise-cancels-in-pairs", sights=EVERY_SIGHT, claims=_THREE_STEPS)
class NoiseCancelsInPairs(Specimen):
    """Antithetic noise: every second iteration subtracts what the one before added.

    Source: class seen where variance reduction is applied to all of a program's draws, the private ones included.
    """

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """Each draw, then its negative."""
        half = super().draw_normals(random, names, dimension, (iterations + 1) // 2)
        sign = np.where(np.arange(iterations) % 2 == 0, 1.0, -1.0)[:, None]
        return {name: sign * np.repeat(draws, 2, axis=1)[:, :iterations] for name, draws in half.items()}
