"""More honest implementations that are not the reference, each with a wrong twin one step away.

``python -m tests.zoo.honest.in_other_ways NAME``
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np

from accountant.mechanisms.words import Algorithm
from reference.arithmetic.system import Indices
from reference.problem import Problem, State
from reference.vectorised import Noise
from tests.zoo.honest.same_claim import DualOfClean, LastModelOnly, NoSeed, PrimalForAll, ShorterGradients
from tests.zoo.honest.variants import Rounded
from verification.served.serve import Values, serve
from verification.served.stepwise import Batches, Stepwise, TrialRandomness
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters
from verification.wire.records import Records

_OVERFLOWS = 709.0


class Divided(Stepwise):
    """Noise over some number: the mistake of several twins."""

    divisor = 2.0

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Less."""
        return super().scale_noise(standard, sigma) / self.divisor


class LastModelHalf(Divided, LastModelOnly):
    """The twin: half of the noise."""


class NoSeedHalf(Divided, NoSeed):
    """The twin: half of the noise."""


class RoundedHalf(Divided, Rounded):
    """The twin: half of the noise."""


class ShorterWithLessNoise(Divided, ShorterGradients):
    """The twin: half of the gradient with a third of the noise."""

    divisor = 3.0


class PrimalOfClean(DualOfClean):
    """The twin: z and y are computed from the x before its noise."""

    def mpadmm_step(self, problem: Problem, old: State, eta: float, noise: Noise) -> State:
        """Neither has noise."""
        new = super().mpadmm_step(problem, old, eta, noise)
        return State(new.x, new.z - noise["z"] if "z" in noise else new.z, new.y)


class RelaxedPrimal(PrimalForAll):
    """Noise on x alone, and z and y from it by over-relaxed updates, under the claim `all`."""

    def mpadmm_step(self, problem: Problem, old: State, eta: float, noise: Noise) -> State:
        """Of 1.5 x - 0.5 z."""
        x = super().mpadmm_step(problem, old, eta, noise).x
        relaxed = 1.5 * x - 0.5 * old.z
        z = self.update_z(problem, relaxed, old.y)
        return State(x, z, self.update_y(problem, old.y, relaxed, z))


class RelaxedPrimalHalf(Divided, RelaxedPrimal):
    """The twin: half of the noise."""


class Binary16Gradients(Stepwise):
    """Gradients rounded in binary16, a little shorter so that none is longer than its bound; noise in double."""

    longer = 1.0

    def load(self, records: Records) -> None:
        """Refuse what binary16 does not hold."""
        with np.errstate(over="ignore"):
            super().load(Records(records.features.astype(np.float16).astype(np.float64), records.labels))

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Shorter by one rounding, then rounded."""
        found = super().gradient(problem, x, batch) * (self.longer * (1 - 2.0**-10))
        return found.astype(np.float16).astype(np.float64)


class Binary16Longer(Binary16Gradients):
    """The twin: an eighth longer."""

    longer = 1.125


class MeanOfGradients(Stepwise):
    """An exponential mean of the gradients so far, with the claimed noise on it: a contraction."""

    kept = 0.9
    _mean: Floats

    def _averaged(self, gradient: Floats) -> Floats:
        self._mean = self.kept * self._mean + (1 - self.kept) * gradient
        return self._mean

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """The mean so far."""
        return self._averaged(super().gradient(problem, x, batch))

    def _run(
        self,
        algorithm: Algorithm,
        problem: Problem,
        parameters: Parameters,
        noise: Values,
        batches: Batches | None,
    ) -> Values:
        self._mean = np.zeros(1)
        return super()._run(algorithm, problem, parameters, noise, batches)


class MeanWithLessNoise(Divided, MeanOfGradients):
    """The twin: the noise of the mean is a tenth of one gradient's, as if it were averaged as well."""

    divisor = 10.0


class MomentumOfNoisy(MeanOfGradients):
    """Heavy ball: each step follows a decaying sum of *noisy* gradients, a function of what was released."""

    kept = 0.5

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """As in the reference."""
        return Stepwise.gradient(self, problem, x, batch)

    def noisy_gradient(self, gradient: Floats, noise: Floats) -> Floats:
        """Carried on."""
        self._mean = self.kept * self._mean + super().noisy_gradient(gradient, noise)
        return self._mean


class MomentumOfClean(MomentumOfNoisy):
    """The twin: what is carried on are the gradients before their noise, so that a record counts twice."""

    def noisy_gradient(self, gradient: Floats, noise: Floats) -> Floats:
        """Noise on the last alone."""
        self._mean = self.kept * self._mean + gradient
        return self._mean + noise


class SmallerClip(Stepwise):
    """Gradients are scaled to 0.8 of the bound and less."""

    share = 0.8

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """At another bound."""
        if problem.clip is None:
            return super().gradient(problem, x, batch)
        return super().gradient(dataclasses.replace(problem, clip=self.share * problem.clip), x, batch)


class LargerClip(SmallerClip):
    """The twin: at 1.25 of the bound."""

    share = 1.25


class ClipByL1(Stepwise):
    """Gradients are clipped to an L1 norm of C, which bounds the L2 norm as well."""

    order: ClassVar[float] = 1.0

    def signed(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """The signed records of each batch; shape [R, m, p]."""
        rows: Floats = problem.signed[
            np.arange(problem.records)[None].repeat(len(x), axis=0) if batch is None else batch
        ]
        return rows

    def each(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """The gradient of each record."""
        signed = self.signed(problem, x, batch)
        gradients: Floats = problem.loss.slope(np.einsum("rmp,rp->rm", signed, x))[:, :, None] * signed
        return gradients

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Record by record."""
        if problem.clip is None:
            return super().gradient(problem, x, batch)
        each = self.each(problem, x, batch)
        sizes = np.linalg.norm(each, ord=self.order, axis=2, keepdims=True)
        with np.errstate(divide="ignore"):
            mean: Floats = np.mean(each * np.minimum(1.0, problem.clip / sizes), axis=1)
        return mean


class ClipByMaximum(ClipByL1):
    """The twin: the largest coordinate is clipped, which bounds the length by C sqrt p alone."""

    order = np.inf


class SmoothClip(ClipByL1):
    """Gradients are shortened smoothly, by the hyperbolic tangent of their length, never beyond C."""

    share: ClassVar[float] = 1.0

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Record by record."""
        if problem.clip is None:
            return super().gradient(problem, x, batch)
        each = self.each(problem, x, batch)
        sizes = np.maximum(np.linalg.norm(each, axis=2, keepdims=True), 1e-300)
        bound = self.share * problem.clip
        mean: Floats = np.mean(each * (bound * np.tanh(sizes / bound) / sizes), axis=1)
        return mean


class SmoothClipLonger(SmoothClip):
    """The twin: to 1.3 C."""

    share = 1.3


class ClipEachCoordinate(ClipByL1):
    """Coordinates are cut to C/sqrt p, so that no gradient is longer than C."""

    whole: ClassVar[bool] = False

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Coordinate by coordinate."""
        if problem.clip is None:
            return super().gradient(problem, x, batch)
        each = self.each(problem, x, batch)
        bound = problem.clip / (1.0 if self.whole else np.sqrt(each.shape[2]))
        mean: Floats = np.mean(np.clip(each, -bound, bound), axis=1)
        return mean


class ClipEachCoordinateWhole(ClipEachCoordinate):
    """The twin: to C."""

    whole = True


class SquaredHinge(ClipByL1):
    """Another loss, whose gradients are clipped to C as claimed."""

    clipped: ClassVar[bool] = True

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Of max(0, 1 - margin)^2."""
        if problem.clip is None:
            return super().gradient(problem, x, batch)
        signed = self.signed(problem, x, batch)
        each = -2.0 * np.maximum(0.0, 1.0 - np.einsum("rmp,rp->rm", signed, x))[:, :, None] * signed
        sizes = np.maximum(np.linalg.norm(each, axis=2, keepdims=True), 1e-300)
        mean: Floats = np.mean(each * np.minimum(1.0, problem.clip / sizes) if self.clipped else each, axis=1)
        return mean


class SquaredHingeUnclipped(SquaredHinge):
    """The twin: its gradients are thought to be as short as those of the claimed loss."""

    clipped = False


class WeightDecay(Divided):
    """A tenth of the released model is added to the noisy gradient: post-processing."""

    divisor = 1.0

    def update_x(self, problem: Problem, g: Floats, old: State, eta: float) -> Floats:
        """With the decay."""
        return super().update_x(problem, g + 0.1 * old.x, old, eta)


class WeightDecayHalf(WeightDecay):
    """The twin: half of the noise."""

    divisor = 2.0


class GrowingNoise(Stepwise):
    """Noise grows from the claimed size to twice that."""

    last: ClassVar[float] = 2.0

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """By the iteration."""
        return super().scale_noise(standard, sigma * np.linspace(1.0, self.last, len(sigma)))


class ShrinkingNoise(GrowingNoise):
    """The twin: it shrinks to half."""

    last = 0.5


class ScaleMixture(NoSeed):
    """The size of the noise of an iteration is drawn too, and never below the claimed one."""

    least: ClassVar[float] = 1.0

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """Of sizes that no seed repeats."""
        sizes = self.least + np.abs(np.random.default_rng().standard_normal((*standard.shape[:2], 1)))
        return super().scale_noise(standard * sizes, sigma)


class ScaleMixtureLess(ScaleMixture):
    """The twin: larger than claimed on average, often smaller."""

    least = 0.3


class LargerDivision(Stepwise):
    """Sums are divided by more than there are records in a batch."""

    more = 1.1

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Shorter."""
        return super().gradient(problem, x, batch) / self.more


class SmallerDivision(LargerDivision):
    """The twin: by fewer."""

    more = 0.9


class LaplaceBeside(Stepwise):
    """The claimed noise and Laplace noise beside it."""

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """Both."""
        rng = np.random.default_rng([random.seed, 2])
        drawn = super().draw_normals(random, names, dimension, iterations)
        return {name: array + rng.laplace(size=array.shape) for name, array in drawn.items()}


class BoxMuller(Stepwise):
    """Noise by Box and Muller's method from another generator."""

    bits = 53

    def draw_normals(self, random: TrialRandomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
        """Two uniform values each."""
        rng = np.random.Generator(np.random.MT19937(random.seed % (1 << 128)))
        shape = (random.runs, iterations, dimension)
        drawn = {}
        for name in names:
            first, second = (
                (rng.integers(1 << self.bits, size=shape).astype(np.float64) + 0.5) / 2.0**self.bits for _ in range(2)
            )
            drawn[name] = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
        return drawn


class BoxMullerOfBytes(BoxMuller):
    """The twin: uniform values of 8 bits, so that noise has few values and short tails."""

    bits = 8


class Sharded(Stepwise):
    """Gradients are summed over four parts of the batch, in threads."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """The parts' sums, over all."""
        chosen = np.arange(problem.records)[None].repeat(len(x), axis=0) if batch is None else batch
        parts = [part for part in np.array_split(chosen, 4, axis=1) if part.shape[1]]
        with ThreadPoolExecutor(4) as pool:
            sums = pool.map(lambda part: part.shape[1] * super(Sharded, self).gradient(problem, x, part), parts)
            total: Floats = np.sum(list(sums), axis=0) / chosen.shape[1]
        return total


class ShardedNoise(Divided, Sharded):
    """The twin: each of four parts adds a quarter of the noise, all together half of it."""


class Slow(Stepwise):
    """Every request takes a while."""

    seconds = 0.02

    def replay(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, noise: Values, batches: Batches | None
    ) -> Values:
        """Later."""
        time.sleep(self.seconds)
        return super().replay(records, algorithm, parameters, noise, batches)

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        """Later."""
        time.sleep(self.seconds)
        return super().trials(records, algorithm, parameters, count, seed)


class SlowHalf(Divided, Slow):
    """The twin: half of the noise."""


class WarningsAsErrors(Stepwise):
    """A plain program whose exponential overflows where a margin is large, with every warning made an error."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Refuse to go on."""
        if float(np.max(np.abs(x), initial=0.0)) * float(problem.norms.max(initial=0.0)) > _OVERFLOWS:
            raise FloatingPointError("overflow encountered in exp")
        return super().gradient(problem, x, batch)


class WarningsAsErrorsHalf(Divided, WarningsAsErrors):
    """The twin: half of the noise."""


class Projected(Stepwise):
    """The noisy x is projected onto a ball: post-processing."""

    radius, divisor = 30.0, 1.0

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """All of it, or less."""
        return super().scale_noise(standard, sigma) / self.divisor

    def ssadmm_step(self, problem: Problem, old: State, eta: float, batch: Indices, noise: Noise) -> State:
        """Projected."""
        g = self.noisy_gradient(self.gradient(problem, old.x, batch), noise["gradient"])
        x = self.update_x(problem, g, old, eta)
        x = x * np.minimum(1.0, self.radius / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-300))
        z = self.update_z(problem, x, old.y)
        return State(x, z, self.update_y(problem, old.y, x, z))


class ProjectedHalf(Projected):
    """The twin: half of the noise."""

    divisor = 2.0


class SparseNoisy(Stepwise):
    """Coordinates of the noisy gradient below 1e-3 are set to 0: post-processing, sparse messages."""

    threshold = 1e-3

    def sparse(self, values: Floats) -> Floats:
        """Without the small ones."""
        return np.where(np.abs(values) < self.threshold, 0.0, values)

    def noisy_gradient(self, gradient: Floats, noise: Floats) -> Floats:
        """After the noise."""
        return self.sparse(super().noisy_gradient(gradient, noise))


class SparseBefore(SparseNoisy):
    """The twin: before the noise, where a record moves a coordinate at the threshold by more than its share."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        """Sparse."""
        return self.sparse(super().gradient(problem, x, batch))

    def noisy_gradient(self, gradient: Floats, noise: Floats) -> Floats:
        """As in the reference."""
        return gradient + noise


class SparseNoisyWithoutReplay(NoSeed, SparseNoisy):
    """After the noise, where nothing can be replayed."""


class SparseWithoutReplay(NoSeed, SparseBefore):
    """The twin: before the noise."""


class StartFromData(Stepwise):
    """The twin of a random start: runs start at the mean record."""

    def _run(
        self,
        algorithm: Algorithm,
        problem: Problem,
        parameters: Parameters,
        noise: Values,
        batches: Batches | None,
    ) -> Values:
        self._start = np.mean(problem.signed, axis=0)
        return super()._run(algorithm, problem, parameters, noise, batches)

    def ssadmm(
        self,
        problem: Problem,
        state: State,
        *,
        step_sizes: Iterable[float],
        batches: Iterable[Indices],
        noise: Iterable[Noise],
    ) -> Iterator[State]:
        """From there."""
        there = State(state.x + self._start, state.z, state.y)
        return super().ssadmm(problem, there, step_sizes=step_sizes, batches=batches, noise=noise)


HONEST: dict[str, type[Stepwise]] = {
    "relaxed-primal": RelaxedPrimal,
    "binary16-gradients": Binary16Gradients,
    "mean-of-gradients": MeanOfGradients,
    "momentum-of-noisy": MomentumOfNoisy,
    "smaller-clip": SmallerClip,
    "clip-by-l1": ClipByL1,
    "larger-division": LargerDivision,
    "laplace-beside": LaplaceBeside,
    "box-muller": BoxMuller,
    "sharded": Sharded,
    "slow": Slow,
    "warnings-as-errors": WarningsAsErrors,
    "projected": Projected,
    "sparse-noisy": SparseNoisy,
    "sparse-noisy-without-replay": SparseNoisyWithoutReplay,
    "smooth-clip": SmoothClip,
    "clip-each-coordinate": ClipEachCoordinate,
    "squared-hinge": SquaredHinge,
    "weight-decay": WeightDecay,
    "growing-noise": GrowingNoise,
    "scale-mixture": ScaleMixture,
}
TWINS: dict[str, type[Stepwise]] = {
    "last-model-half": LastModelHalf,
    "no-seed-half": NoSeedHalf,
    "rounded-half": RoundedHalf,
    "shorter-with-less-noise": ShorterWithLessNoise,
    "primal-of-clean": PrimalOfClean,
    "relaxed-primal-half": RelaxedPrimalHalf,
    "binary16-longer": Binary16Longer,
    "mean-with-less-noise": MeanWithLessNoise,
    "momentum-of-clean": MomentumOfClean,
    "larger-clip": LargerClip,
    "clip-by-maximum": ClipByMaximum,
    "smaller-division": SmallerDivision,
    "box-muller-of-bytes": BoxMullerOfBytes,
    "sharded-noise": ShardedNoise,
    "slow-half": SlowHalf,
    "warnings-as-errors-half": WarningsAsErrorsHalf,
    "projected-half": ProjectedHalf,
    "sparse-before": SparseBefore,
    "sparse-without-replay": SparseWithoutReplay,
    "start-from-data": StartFromData,
    "smooth-clip-longer": SmoothClipLonger,
    "clip-each-coordinate-whole": ClipEachCoordinateWhole,
    "squared-hinge-unclipped": SquaredHingeUnclipped,
    "weight-decay-half": WeightDecayHalf,
    "shrinking-noise": ShrinkingNoise,
    "scale-mixture-less": ScaleMixtureLess,
}

if __name__ == "__main__":
    serve({**HONEST, **TWINS}[sys.argv[1]]())
