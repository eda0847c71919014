"""Implementations with one thing wrong each, to see each check catch what it says it catches.

``python -m tests.zoo.conformance.wrong NAME`` serves one. The zoo of documented bugs is in tests/zoo; these
exist so that no check is without a witness that it can fail.
"""

from __future__ import annotations

import dataclasses
import sys

import numpy as np

from reference.arithmetic import Scalar
from reference.gradients import full_gradients
from reference.problem import Problem, State
from reference.regularizers import SCAD
from tests.zoo.conformance import wrong_baselines, wrong_draws
from tests.zoo.honest import same_claim
from verification.served.serve import Values, serve
from verification.served.stepwise import Batches, Stepwise
from verification.served.translate import problem_of
from verification.wire import messages as m
from verification.wire.arrays import Floats
from verification.wire.messages import Capability
from verification.wire.parameters import Algorithm, LossName, Parameters, RegularizerOptions
from verification.wire.records import Records


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


class ClipsAHairTooLong(Stepwise):
    """Clips at C (1 + 1e-5): more than single precision explains."""

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        return super().gradient(problem, x, batch) * (1 + 1e-5)


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
        return super().describe().model_copy(update={"losses": [LossName.LOGISTIC]})


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


def named(name: str) -> Stepwise:
    """The implementation of this name."""
    modules = (wrong_draws, wrong_baselines, same_claim, sys.modules[__name__])
    found: type[Stepwise] = next(vars(module)[name] for module in modules if name in vars(module))
    return found()


if __name__ == "__main__":
    serve(named(sys.argv[1]))
