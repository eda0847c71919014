"""Baselines with one thing wrong each, to see each check catch in them what it says it catches."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from reference.baselines.inner import Accuracy, minimise
from reference.gradients import full_gradients
from reference.problem import Problem, State
from verification.served.serve import Values
from verification.served.stepwise import BaselineStep, Batches, StepwiseBaselines, TrialRandomness
from verification.wire import messages as m
from verification.wire.arrays import Floats
from verification.wire.messages import Capability
from verification.wire.parameters import BASELINES, Algorithm, Parameters


class Honest(StepwiseBaselines):
    """All baselines, taken apart and whole again."""

    algorithms: ClassVar[tuple[Algorithm, ...]] = BASELINES


class StopsEarly(Honest):
    """The inner solver is content with a gradient of 1e-3."""

    def solve(self, problem: Problem, old: State, tilt: Floats, ridge: float, length: float) -> Floats:
        convexity = problem.rho + ridge

        def gradient(x: Floats) -> Floats:
            return full_gradients(problem, x) + old.y + problem.rho * (x - old.z) + ridge * x + tilt

        smoothness = problem.loss.curvature * length**2 + convexity
        accuracy = Accuracy(residual=1e-3)
        return minimise(gradient, old.x, smoothness=smoothness, convexity=convexity, accuracy=accuracy).x


class ForgetsTheRidge(Honest):
    """Where eps' is not positive it is halved, but the ridge that has to go with it is not added."""

    def solve(self, problem: Problem, old: State, tilt: Floats, ridge: float, length: float) -> Floats:
        return super().solve(problem, old, tilt, 0.0, length)


class GammaOfAnotherShape(Honest):
    """Gaussian noise of the right variance where the norm must be Gamma distributed."""

    algorithms = (Algorithm.OBJP,)

    def draw_noise(
        self, algorithm: Algorithm, random: TrialRandomness, parameters: Parameters, problem: Problem
    ) -> Values:
        p, T = problem.dimension, parameters.iterations
        scale = self.scales(algorithm, parameters, problem.records)["objective"]
        normal = self.draw_normals(random, ("objective",), p, T)["objective"]
        return {"objective": self.scale_noise(normal * np.sqrt(p + 1), scale)}


class PerturbsOnce(Honest):
    """The objective of every iteration has the same perturbation."""

    algorithms = (Algorithm.OBJP,)

    def draw_noise(
        self, algorithm: Algorithm, random: TrialRandomness, parameters: Parameters, problem: Problem
    ) -> Values:
        noise = super().draw_noise(algorithm, random, parameters, problem)
        return {name: np.repeat(array[:, :1], array.shape[1], axis=1) for name, array in noise.items()}


class DoubledBaselines(Honest):
    """Gradients twice too long."""

    algorithms = (Algorithm.DPSGD, Algorithm.DPADMM, Algorithm.DPSVRG)

    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        return 2 * super().gradient(problem, x, batch)

    def noisy_full_gradient(self, problem: Problem, x: Floats, noise: Floats) -> Floats:
        return 2 * full_gradients(problem, x) + noise


class AllRecordsForTheParty(Honest):
    """n where n_i belongs: noise too small by the number of parties."""

    algorithms = (Algorithm.DPADMM,)

    def scales(self, algorithm: Algorithm, parameters: Parameters, records: int) -> Values:
        right = super().scales(algorithm, parameters, records)
        if parameters.noise_multiplier is None:
            return right
        return {name: scale / (parameters.parties or 1) for name, scale in right.items()}


class SilentFullGradient(Honest):
    """Noise on the steps alone, not on the full gradient."""

    algorithms = (Algorithm.DPSVRG,)

    def noisy_full_gradient(self, problem: Problem, x: Floats, noise: Floats) -> Floats:
        return full_gradients(problem, x)


class ThresholdsBeforeTheNoise(Honest):
    """The noise is added to the model behind the proximal map."""

    algorithms = (Algorithm.DPSGD,)

    def dpsgd_step(self, problem: Problem, old: State, step: BaselineStep) -> State:
        x = self.proximal_step(problem, old.x, self.gradient(problem, old.x, step.batch), step.eta)
        x = x - step.eta * step.noise["gradient"]
        return State(x, x, old.y)


class KeepsTheAnchor(Honest):
    """The gradient at the anchor is never brought up to date."""

    algorithms = (Algorithm.DPSVRG,)

    def dpsvrg_step(self, problem: Problem, old: State, step: BaselineStep) -> State:
        new = super().dpsvrg_step(problem, old, step)
        kept = old.z if step.k else new.z
        return State(new.x, kept, new.y)


class DualsOfCleanModels(Honest):
    """z and y are computed from what the parties had before the noise."""

    algorithms = (Algorithm.DPADMM,)

    def dpadmm_step(self, problem: Problem, old: State, step: BaselineStep) -> State:
        noisy = super().dpadmm_step(problem, old, step)
        silence = {"x": np.zeros_like(step.noise["x"])}
        clean = super().dpadmm_step(problem, old, BaselineStep(step.parameters, step.k, None, silence))
        return State(noisy.x, clean.z, clean.y)


class OneBatchAnEpoch(Honest):
    """A batch is kept until the next full gradient."""

    algorithms = (Algorithm.DPSVRG,)

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        batches = super().draw_batches(random, records, size, iterations)
        return np.repeat(batches[:, :1], iterations, axis=1)


class BaselineReplacement(Honest):
    """Batches with replacement."""

    algorithms = (Algorithm.DPSGD, Algorithm.DPSVRG, Algorithm.SADMM)

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        return np.random.default_rng(random.seed).integers(records, size=(random.runs, iterations, size))


class HonestBlackBox(Honest):
    """Honest: trials of every iterate, nothing else."""

    def describe(self) -> m.StartResult:
        hidden = {Capability.REPLAY, Capability.SEED, Capability.INITIAL, Capability.MULTIPLIER}
        honest = super().describe()
        return honest.model_copy(update={"capabilities": [c for c in honest.capabilities if c not in hidden]})


class HonestLastModel(Honest):
    """Honest: nothing but the last x is ever shown."""

    def describe(self) -> m.StartResult:
        honest = super().describe()
        kept = [Capability.TRIALS, Capability.CLIP, Capability.NORMALISE]
        return honest.model_copy(update={"capabilities": kept, "released": {a: ["x"] for a in honest.algorithms}})
