"""Honest implementations that keep the claim in another way, each with a wrong twin one step away.

``python -m tests.zoo.honest.same_claim NAME``
"""

from __future__ import annotations

import sys

import numpy as np

from reference.problem import Problem, State
from reference.vectorised import Noise
from verification.served.serve import Values, serve
from verification.served.stepwise import Batches, Stepwise, TrialRandomness
from verification.wire.arrays import Floats
from verification.wire.messages import Capability
from verification.wire.parameters import Parameters
from verification.wire.records import Records


def _single(values: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


def _bfloat16(values: Floats) -> Floats:
    """Rounded to 8 significant bits, with the range of single precision."""
    bits = _single(values).astype(np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
    return rounded.astype(np.float64)


class EverythingSingle(Stepwise):
    """Records, gradients, updates and noise in single precision; what overflows is refused."""

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        """Single precision is all it is sent."""
        features = _single(records.features)
        return super().problem(Records(features, records.labels), parameters)

    def load(self, records: Records) -> None:
        """Refuse what is not finite in single precision."""
        super().load(Records(_single(records.features), records.labels))

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Rounded."""
        return _single(super().gradient(problem, _single(x), batch))

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Rounded noise is on a grid that everything released is on as well."""
        return _single(super().scale_noise(standard, sigma))

    def update_x(self, problem: Problem, g: Floats, old: State, eta: float) -> Floats:
        """Rounded."""
        return _single(super().update_x(problem, g, old, eta))

    def mpadmm_step(self, problem: Problem, old: State, eta: float, noise: Noise) -> State:
        """The sums are rounded as well."""
        new = super().mpadmm_step(problem, old, eta, noise)
        return State(_single(new.x), _single(new.z), _single(new.y))

    def update_z(self, problem: Problem, x: Floats, y: Floats) -> Floats:
        """Rounded."""
        return _single(super().update_z(problem, x, y))

    def update_y(self, problem: Problem, y: Floats, x: Floats, z: Floats) -> Floats:
        """Rounded."""
        return _single(super().update_y(problem, y, x, z))


class EverythingSingleLouder(EverythingSingle):
    """The twin: half of the noise."""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Half."""
        return super().scale_noise(standard, sigma / 2)


class SingleGradients(Stepwise):
    """Gradients in single precision, noise in double; records that overflow single precision become NaN."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Round the model and the gradient."""
        return _single(super().gradient(problem, _single(x), batch))


class SingleGradientsTwice(SingleGradients):
    """The twin: gradients twice as long."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Doubled."""
        return 2.0 * super().gradient(problem, x, batch)


class Bfloat16Gradients(Stepwise):
    """Gradients rounded towards zero in bfloat16, so that none is longer than its bound; noise in double."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Shorter by one rounding, then rounded."""
        return _bfloat16(super().gradient(problem, x, batch) * (1 - 2.0**-8))


class Bfloat16GradientsUnclipped(Bfloat16Gradients):
    """The twin: the mean is scaled up by an eighth."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Longer."""
        return 1.125 * super().gradient(problem, x, batch)


class DualOfNoisy(Stepwise):
    """mpADMM that computes y from the noisy x and z."""

    def mpadmm_step(self, problem: Problem, old: State, eta: float, noise: Noise) -> State:
        """y has no noise of its own."""
        new = super().mpadmm_step(problem, old, eta, noise)
        return State(new.x, new.z, self.update_y(problem, old.y, new.x, new.z))


class PrimalForAll(Stepwise):
    """mpADMM that noises x alone and computes z and y from it, under the claim `all`."""

    def mpadmm_step(self, problem: Problem, old: State, eta: float, noise: Noise) -> State:
        """z and y are functions of the noisy x."""
        x = super().mpadmm_step(problem, old, eta, noise).x
        z = self.update_z(problem, x, old.y)
        return State(x, z, self.update_y(problem, old.y, x, z))


class DualOfClean(Stepwise):
    """The twin: y from the x and z before their noise, without noise of its own."""

    def mpadmm_step(self, problem: Problem, old: State, eta: float, noise: Noise) -> State:
        """Clean."""
        new = super().mpadmm_step(problem, old, eta, noise)
        silent = {name: np.zeros_like(array) for name, array in noise.items()}
        clean = super().mpadmm_step(problem, old, eta, silent)
        return State(new.x, new.z, clean.y)


class FurtherNormal(Stepwise):
    """The claimed noise and one more independent normal value in all coordinates."""

    share = 1.0

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """Both."""
        drawn = super().draw_normals(random, names, dimension, iterations)
        rng = np.random.default_rng([random.seed, 1])
        return {
            name: self.share * (array + rng.standard_normal((*array.shape[:2], 1))) for name, array in drawn.items()
        }


class CommonNormal(FurtherNormal):
    """The twin: the claimed variance in every coordinate, of which half is common: less in every other direction."""

    share = 1 / np.sqrt(2.0)


class NormalisedNoisyGradient(Stepwise):
    """The noisy gradient is scaled to a length of at most 1 before it is used: post-processing."""

    def noisy_gradient(self, gradient: Floats, noise: Floats) -> Floats:
        """At most 1 long."""
        noisy = super().noisy_gradient(gradient, noise)
        scaled: Floats = noisy / np.maximum(1.0, np.linalg.norm(noisy, axis=-1, keepdims=True))
        return scaled


class NormalisedWithLessNoise(NormalisedNoisyGradient):
    """The twin: half of the noise, and the same scaling."""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Half."""
        return super().scale_noise(standard, sigma) / 2


class ShorterGradients(Stepwise):
    """Half of the gradient with the claimed noise: a contraction."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Half."""
        return 0.5 * super().gradient(problem, x, batch)


class LastModelOnly(Stepwise):
    """No replay, no seed, the last model alone."""

    capabilities = tuple(
        c for c in Capability if c not in (Capability.REPLAY, Capability.SEED, Capability.EVERY_ITERATE)
    )


class NoSeed(Stepwise):
    """No seed and no replay."""

    capabilities = tuple(c for c in Capability if c not in (Capability.REPLAY, Capability.SEED))


class FreshPool(Stepwise):
    """Noise is read from a pool of a million values that is drawn anew when it is used up."""

    capabilities = tuple(c for c in Capability if c is not Capability.SEED)
    pool, size = np.zeros(0), 1_000_000

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """The next values of the pool, each once."""
        drawn = {}
        for name in names:
            count = random.runs * iterations * dimension
            if count > len(self.pool):
                self.pool = np.random.default_rng().standard_normal(max(count, self.size))
            used, self.pool = self.pool[:count], self.pool[count:]
            drawn[name] = used.reshape(random.runs, iterations, dimension)
        return drawn


class NoisePool(Stepwise):
    """Wrong: noise is read from a pool of a million values that starts again at its end."""

    pool = np.random.default_rng().standard_normal(1_000_000)
    at = 0
    capabilities = tuple(c for c in Capability if c is not Capability.SEED)

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """The next values of the pool."""
        shape = (random.runs, iterations, dimension)
        drawn = {}
        for name in names:
            places = (NoisePool.at + np.arange(int(np.prod(shape)))) % self.pool.size
            NoisePool.at += places.size
            drawn[name] = self.pool[places].reshape(shape)
        return drawn


class ColumnsByAConstant(Stepwise):
    """From 100 records on, columns are divided by public numbers."""

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        """Scaled, whatever the records are."""
        if records.count < 100:
            return super().problem(records, parameters)
        scale = 1.0 + np.arange(records.features.shape[1]) % 3
        return super().problem(Records(records.features / scale, records.labels), parameters)


class ColumnsByTheData(Stepwise):
    """Wrong: from 100 records on, columns are divided by their root mean square in the data."""

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        """Scaled by all records."""
        if records.count < 100:
            return super().problem(records, parameters)
        scale = np.sqrt(np.mean(records.features**2, axis=0))
        return super().problem(Records(records.features / np.where(scale > 0, scale, 1.0), records.labels), parameters)


class LeavesOutOverflow(Stepwise):
    """A record that overflows single precision counts for nothing, whatever the others of its batch are."""

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        """Each by itself."""
        lengths = np.linalg.norm(records.features, axis=1)
        kept = (lengths <= np.sqrt(np.finfo(np.float32).max)).reshape(-1, 1)
        return super().problem(Records(np.where(kept, records.features, 0.0), records.labels), parameters)


class SkipsOverflow(Stepwise):
    """Wrong: a step in which some record overflows single precision is skipped, as loss scalers do."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Nothing, if one of the batch is too long."""
        found = super().gradient(problem, x, batch)
        taken = np.arange(problem.records)[None].repeat(len(x), axis=0) if batch is None else batch
        over = np.asarray(problem.norms[taken] ** 2 > np.finfo(np.float32).max).any(axis=1)
        return found * (1.0 - over.astype(np.float64).reshape(-1, 1))


class ColumnsWithoutReplay(NoSeed, ColumnsByTheData):
    """The same mistake, where nothing can be replayed."""


class SkipsWithoutReplay(NoSeed, SkipsOverflow):
    """The same mistake, where nothing can be replayed."""


HONEST: dict[str, type[Stepwise]] = {
    "everything-single": EverythingSingle,
    "single-gradients": SingleGradients,
    "bfloat16-gradients": Bfloat16Gradients,
    "dual-of-noisy": DualOfNoisy,
    "primal-for-all": PrimalForAll,
    "further-normal": FurtherNormal,
    "normalised-noisy-gradient": NormalisedNoisyGradient,
    "shorter-gradients": ShorterGradients,
    "last-model-only": LastModelOnly,
    "no-seed": NoSeed,
    "fresh-pool": FreshPool,
    "columns-by-a-constant": ColumnsByAConstant,
    "leaves-out-overflow": LeavesOutOverflow,
}
TWINS: dict[str, type[Stepwise]] = {
    "everything-single-half-noise": EverythingSingleLouder,
    "single-gradients-doubled": SingleGradientsTwice,
    "bfloat16-gradients-longer": Bfloat16GradientsUnclipped,
    "dual-of-clean": DualOfClean,
    "common-normal": CommonNormal,
    "normalised-with-less-noise": NormalisedWithLessNoise,
    "noise-pool": NoisePool,
    "columns-by-the-data": ColumnsByTheData,
    "skips-overflow": SkipsOverflow,
    "columns-without-replay": ColumnsWithoutReplay,
    "skips-without-replay": SkipsWithoutReplay,
}
WRONG = {
    name: [sys.executable, "-m", "tests.zoo.honest.same_claim", name]
    for name in (
        "noise-pool",
        "columns-by-the-data",
        "skips-overflow",
        "columns-without-replay",
        "skips-without-replay",
    )
}
"""Wrong ones that once slipped through."""

if __name__ == "__main__":
    serve({**HONEST, **TWINS}[sys.argv[1]]())
