"""Implementations with one thing wrong each, to see each check catch what it says it catches.

``python -m tests.verification.conformance.wrong NAME`` serves one. The zoo of documented bugs is in audits/zoo; these
exist so that no check is without a witness that it can fail.
"""

from __future__ import annotations

import dataclasses
import sys

import numpy as np

from reference.arithmetic import Scalar
from reference.many import full_gradients
from reference.problem import Problem, State
from reference.regularizers import SCAD
from verification.adapter import messages as m
from verification.adapter.arrays import Floats
from verification.adapter.messages import Capability
from verification.adapter.parameters import Algorithm, Loss, Parameters, RegularizerOptions
from verification.adapter.records import Records
from verification.adapter.serve import Values, serve
from verification.adapter.stepwise import Batches, Randomness, Stepwise
from verification.adapter.translate import problem_of


class WrongThreshold(Stepwise):
    """The soft threshold is lambda, not lambda/rho."""

    def update_z(self, problem: Problem, x: Floats, y: Floats) -> Floats:
        return super().update_z(dataclasses.replace(problem, rho=1.0), x, y / problem.rho)


class MeanOverAll(Stepwise):
    """The batch gradient is divided by n."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        g = super().gradient(problem, x, batch)
        return g if batch is None else g * batch.shape[1] / problem.records


class NoClipping(Stepwise):
    def problem(self, records: Records, parameters: Parameters) -> Problem:
        return dataclasses.replace(super().problem(records, parameters), clip=None)


class ClipsTheBatch(Stepwise):
    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        g = super().gradient(dataclasses.replace(problem, clip=None), x, batch)
        if problem.clip is None:
            return g
        shrink: Floats = np.minimum(1.0, problem.clip / np.maximum(np.linalg.norm(g, axis=1), 1e-300))
        return g * shrink[:, None]


class NormalisesColumns(Stepwise):
    def problem(self, records: Records, parameters: Parameters) -> Problem:
        if parameters.normalise is not None:
            scale = np.maximum(np.abs(records.features).max(axis=0), 1e-300)
            clipped = parameters.model_copy(update={"normalise": None, "clip": 1e300})
            problem = problem_of(Records(records.features / scale * parameters.normalise, records.labels), clipped)
            return dataclasses.replace(problem, clip=None)
        return super().problem(records, parameters)


class InterceptAfterwards(Stepwise):
    def problem(self, records: Records, parameters: Parameters) -> Problem:
        if not parameters.intercept or parameters.normalise is None:
            return super().problem(records, parameters)
        norms = np.linalg.norm(records.features, axis=1, keepdims=True)
        rows = records.features / norms * parameters.normalise
        raw = Records(np.hstack([np.ones((records.count, 1)), rows]), records.labels)
        bare = parameters.model_copy(update={"intercept": False, "normalise": None, "clip": 1e300})
        return dataclasses.replace(problem_of(raw, bare), clip=None)


class LetsNaNThrough(Stepwise):
    """Records are not looked at, and NaN comes out as it went in."""

    def load(self, records: Records) -> None:
        pass

    def replay(
        self,
        records: Records,
        algorithm: Algorithm,
        parameters: Parameters,
        noise: Values,
        batches: Batches | None,
    ) -> Values:
        broken = not np.isfinite(records.features).all()
        values = super().replay(
            Records(np.nan_to_num(records.features), records.labels), algorithm, parameters, noise, batches
        )
        return {name: array * np.nan if broken else array for name, array in values.items()}


class ForgetsSeed(Stepwise):
    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        return super().trials(records, algorithm, parameters, count, None)


class FixedSeed(Stepwise):
    """A default seed where none was given."""

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        return super().trials(records, algorithm, parameters, count, 0 if seed is None else seed)


class ShortSeed(Stepwise):
    """Only 32 bits of a seed are used."""

    def trials(
        self, records: Records, algorithm: Algorithm, parameters: Parameters, count: int, seed: int | None
    ) -> Values:
        short = None if seed is None else seed % (1 << 32)
        return super().trials(records, algorithm, parameters, count, short)


class RandomReplay(Stepwise):
    def update_y(self, problem: Problem, y: Floats, x: Floats, z: Floats) -> Floats:
        return super().update_y(problem, y, x, z) + 1e-3 * np.random.default_rng().standard_normal(y.shape)


class DoubleGradient(Stepwise):
    """Twice the gradient: twice the sensitivity."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        return 2 * super().gradient(problem, x, batch)


class CleanDual(Stepwise):
    """The dual update uses the x before noise."""

    def ssadmm_step(self, problem: Problem, old: State, eta: float, batch: Batches, noise: Values) -> State:
        new = super().ssadmm_step(problem, old, eta, batch, noise)
        clean = self.update_x(problem, self.gradient(problem, old.x, batch), old, eta)
        return State(new.x, new.z, self.update_y(problem, old.y, clean, new.z))

    def mpadmm_step(self, problem: Problem, old: State, eta: float, noise: Values) -> State:
        new = super().mpadmm_step(problem, old, eta, noise)
        if set(noise) != {"x"}:
            return new
        clean = self.update_x(problem, self.gradient(problem, old.x, None), old, eta)
        return State(new.x, new.z, self.update_y(problem, old.y, clean, new.z))


class LossBeside(Stepwise):
    """The training loss is released beside the model, without noise."""

    released = ("x", "z", "y", "loss")

    def also_released(self, problem: Problem, old: State, new: State) -> Values:
        margins = new.x @ problem.signed.T
        return {"loss": problem.loss.value(margins).mean(axis=1)}


class GradientBeside(Stepwise):
    """The full gradient at each iterate is released beside the model, without noise."""

    released = ("x", "z", "y", "gradient")

    def also_released(self, problem: Problem, old: State, new: State) -> Values:
        return {"gradient": full_gradients(problem, old.x)}


class AverageBeside(Stepwise):
    """Honest: a running average of the noisy x is post-processing, and a constant is nothing at all."""

    released = ("x", "z", "y", "average", "step")

    def also_released(self, problem: Problem, old: State, new: State) -> Values:
        return {"average": (old.x + new.x) / 2, "step": np.ones(len(new.x))}


class WithReplacement(Stepwise):
    def draw_batches(self, random: Randomness, records: int, size: int, iterations: int) -> Batches:
        rng = np.random.default_rng(random.seed)
        return rng.integers(records, size=(random.runs, iterations, size)).astype(np.intp)


class PrefersEarlyRecords(Stepwise):
    """Record 0 is drawn a fifth more often than its share."""

    def draw_batches(self, random: Randomness, records: int, size: int, iterations: int) -> Batches:
        batches = super().draw_batches(random, records, size, iterations)
        rng = np.random.default_rng(random.seed)
        lacking = (batches != 0).all(axis=2) & (rng.random(batches.shape[:2]) < 0.1)
        batches[lacking, 0] = 0
        return batches


class Blocks(Stepwise):
    """Batches are blocks of consecutive records, all equally likely."""

    def draw_batches(self, random: Randomness, records: int, size: int, iterations: int) -> Batches:
        start = np.random.default_rng(random.seed).integers(records, size=(random.runs, iterations, 1))
        return ((start + np.arange(size)) % records).astype(np.intp)


class EpochShuffle(Stepwise):
    """The data are shuffled once and taken in turn."""

    def draw_batches(self, random: Randomness, records: int, size: int, iterations: int) -> Batches:
        rng = np.random.default_rng(random.seed)
        epochs = -(-iterations * size // records) + 1
        order = rng.permuted(np.tile(np.arange(records), (random.runs, epochs, 1)), axis=2)
        per_epoch = records // size
        taken = order[:, :, : per_epoch * size].reshape(random.runs, -1, size)
        return taken[:, :iterations].astype(np.intp)


class SameBatches(Stepwise):
    """Every run of a request sees the batches of the first."""

    def draw_batches(self, random: Randomness, records: int, size: int, iterations: int) -> Batches:
        one = super().draw_batches(Randomness(random.seed, 1), records, size, iterations)
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

    def draw_normals(self, random: Randomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
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

    def draw_normals(self, random: Randomness, names: tuple[str, ...], dimension: int, iterations: int) -> Values:
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


class AnyShape(SCAD):
    def lipschitz(self, rho: Scalar) -> Scalar:
        return 1.0


class AcceptsJumps(Stepwise):
    """SCAD whatever its shape."""

    def problem(self, records: Records, parameters: Parameters) -> Problem:
        if parameters.options.a is None:
            return super().problem(records, parameters)
        admissible = parameters.model_copy(update={"options": RegularizerOptions(a=1e3)})
        shape = AnyShape(parameters.lambda_, parameters.options.a)
        return dataclasses.replace(super().problem(records, admissible), regularizer=shape)


class CountBeside(Stepwise):
    """How many records were clipped is released as it is; two opposite ones count alike."""

    released = ("x", "z", "y", "clipped")

    def also_released(self, problem: Problem, old: State, new: State) -> Values:
        lengths = np.abs(problem.loss.slope(old.x @ problem.signed.T)) * problem.norms
        bound = np.inf if problem.clip is None else problem.clip
        return {"clipped": np.sum(lengths > bound, axis=1, keepdims=True).astype(np.float64)}


class OnlyNormalises(Stepwise):
    """Honest: logistic loss and normalised records only, so that the hardest pair needs a far start."""

    capabilities = tuple(c for c in m.Capability if c not in (Capability.CLIP, Capability.INTERCEPT))

    def describe(self) -> m.StartResult:
        return super().describe().model_copy(update={"losses": [Loss.LOGISTIC]})


class OnlyNormalisesDoubled(OnlyNormalises):
    """The gradient of a normalised record is twice too long, seen only where the sigmoid saturates."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        far = np.abs(x).max() > 1e3
        return super().gradient(problem, x, batch) * (2.0 if far else 1.0)


class BlackBox(Stepwise):
    """Honest: trials of every iterate, x alone, nothing else."""

    released = ("x",)
    capabilities: tuple[m.Capability, ...] = (Capability.TRIALS, Capability.EVERY_ITERATE, Capability.CLIP)


class LastModel(BlackBox):
    """Honest: nothing but the last x is ever shown."""

    capabilities = (Capability.TRIALS, Capability.CLIP)


class ReplayOnly(Stepwise):
    """Honest: no randomness of its own on offer."""

    capabilities = (Capability.REPLAY, Capability.CLIP)


if __name__ == "__main__":
    served: type[Stepwise] = getattr(sys.modules[__name__], sys.argv[1])
    serve(served())
