"""Baselines with one thing wrong each, and the flag that names the bug.

``python -m tests.zoo.vectors.wrong_baselines NAME`` serves one over the wire.
"""

from __future__ import annotations

import dataclasses
import sys

import numpy as np

from reference.problem import Problem, State
from verification.served.serve import serve
from verification.served.stepwise import BaselineStep, Batches, StepwiseBaselines
from verification.wire.arrays import Floats


class PenaltyWithoutStep(StepwiseBaselines):
    """The proximal step has threshold lambda."""

    def proximal_step(self, problem: Problem, x: Floats, g: Floats, eta: float) -> Floats:
        return problem.regularizer.prox(x - eta * g, 1.0)


class PlainMean(StepwiseBaselines):
    """Parties count alike, whatever their size."""

    def consensus(self, problem: Problem, parties: tuple[Problem, ...], x: list[Floats], y: list[Floats]) -> Floats:
        mean = sum((x_i + y_i / problem.rho for x_i, y_i in zip(x, y, strict=True)), np.zeros_like(x[0])) / len(x)
        return problem.regularizer.prox(mean, problem.rho)


class NoCorrection(StepwiseBaselines):
    """The batch's gradient at the anchor is added, not taken away."""

    def corrected_gradient(
        self, problem: Problem, x: Floats, anchor: Floats, batch: Batches | None, noise: Floats
    ) -> Floats:
        return self.gradient(problem, x, batch) + self.gradient(problem, anchor, batch) + noise


class FirstAnchor(StepwiseBaselines):
    """The anchor is never renewed, the full gradient is."""

    def dpsvrg_step(self, problem: Problem, old: State, step: BaselineStep) -> State:
        new = super().dpsvrg_step(problem, old, step)
        return State(new.x, old.z if step.k else new.z, new.y)


class SilentAnchor(StepwiseBaselines):
    """The full gradient has no noise."""

    def noisy_full_gradient(self, problem: Problem, x: Floats, noise: Floats) -> Floats:
        return super().noisy_full_gradient(problem, x, 0 * noise)


class WholePerturbation(StepwiseBaselines):
    """b is not divided by n."""

    def solve(self, problem: Problem, old: State, tilt: Floats, ridge: float, length: float) -> Floats:
        return super().solve(problem, old, tilt * problem.records, ridge, length)


class NoRidge(StepwiseBaselines):
    def solve(self, problem: Problem, old: State, tilt: Floats, ridge: float, length: float) -> Floats:
        return super().solve(problem, old, tilt, 0.0, length)


class HalfSolved(StepwiseBaselines):
    """The x step stops early: within 1e-4 of the minimiser."""

    def solve(self, problem: Problem, old: State, tilt: Floats, ridge: float, length: float) -> Floats:
        return super().solve(problem, old, tilt, ridge, length) + 1e-4


class SumOverBatch(StepwiseBaselines):
    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        g = super().gradient(problem, x, batch)
        return g if batch is None else g * batch.shape[1]


class NoClipping(StepwiseBaselines):
    def gradient(self, problem: Problem, x: Floats, batch: Batches | None) -> Floats:
        return super().gradient(dataclasses.replace(problem, clip=None), x, batch)


WRONG_BASELINES: dict[type[StepwiseBaselines], str] = {
    PenaltyWithoutStep: "proximal-step",
    PlainMean: "party-mean",
    NoCorrection: "control-variate",
    FirstAnchor: "control-variate",
    SilentAnchor: "anchor-noise",
    WholePerturbation: "objective",
    NoRidge: "objective",
    HalfSolved: "objective",
    SumOverBatch: "batch-mean",
    NoClipping: "clipping",
}

if __name__ == "__main__":
    serve({kind.__name__: kind for kind in WRONG_BASELINES}[sys.argv[1]]())
