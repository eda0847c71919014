r"""ADMM-objP and batch ADMM: x+ minimises a known objective, so its optimality condition shows the perturbation b.

b = -n (mean gradient at x+ + y + rho (x+ - z) + ridge x+)
"""

from __future__ import annotations

import numpy as np

from reference.gradients import full_gradients
from reference.problem import Problem
from verification.conformance.inside.admm import Linearised, admm_moves
from verification.conformance.inside.base import Pair, with_count
from verification.served.serve import Values
from verification.served.slack import rounding_slack
from verification.served.translate import perturbation_of
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters
from verification.wire.records import Run
from verification.wire.schemes import SCHEMES, Law

SOLVED = 1e-9
"""The longest gradient that a solver may leave: what the protocol asks for."""


class InsideSolved(Linearised):
    """ADMM-objP, and ADMM without noise."""

    __slots__ = ()

    def ridge(self, parameters: Parameters, records: int) -> float:
        """The extra ridge of objective perturbation."""
        return perturbation_of(parameters, records).ridge if SCHEMES[self.algorithm].law is Law.OBJECTIVE else 0.0

    def conditions(self, parameters: Parameters, problem: Problem, run: Run) -> Floats:
        """The gradient of what is minimised, without the perturbation; [count, T, p], 0 at an unperturbed minimum."""
        old = self.previous(parameters, problem, run)
        gradients = full_gradients(problem, run.x.reshape(-1, problem.dimension)).reshape(run.x.shape)
        ridge = self.ridge(parameters, problem.records)
        left: Floats = gradients + old.y + problem.rho * (run.x - old.z) + ridge * run.x
        return left

    def noise(self, parameters: Parameters, problem: Problem, run: Run) -> Values:
        """What makes x the minimiser."""
        if SCHEMES[self.algorithm].law is Law.NONE:
            return {}
        return {"objective": -problem.records * self.conditions(parameters, problem, run)}

    def residuals(self, parameters: Parameters, problem: Problem, run: Run, noise: Values) -> Floats:
        """The length of the gradient that the solver left, with the perturbation that was given; [count, T]."""
        b = noise.get("objective", np.zeros(run.x.shape[1:]))
        left: Floats = np.linalg.norm(self.conditions(parameters, problem, run) + b / problem.records, axis=2)
        return left

    def mean_gradient(self, parameters: Parameters, run: Run) -> Floats:
        """At the minimiser, from 0 and without a ridge: -rho x. A ridge only shortens it."""
        gradient: Floats = -parameters.rho * run.x[:1]
        return gradient

    def moves(self, parameters: Parameters, records: int) -> dict[str, float]:
        """Minimisers of strongly convex functions whose gradients are 2C/n apart."""
        convexity = parameters.rho + self.ridge(parameters, records)
        return admm_moves(parameters, 2 * parameters.bound / (records * convexity))

    def couple(self, parameters: Parameters, other: Problem, runs: Pair, noise: Values, k: int) -> None:
        """The b for which the run's x minimises the other data set's objective."""
        alone = with_count(runs[0])
        noise["objective"][k] = self.noise(parameters, other, alone)["objective"][0, k]

    def slack(self, parameters: Parameters, problem: Problem, values: Values, added: float) -> float:
        """Two solvers' residuals, over the convexity, and through z and y."""
        convexity = problem.rho + self.ridge(parameters, problem.records)
        apart = 2 * SOLVED / convexity * (2 + problem.rho + 1 / problem.rho)
        return rounding_slack(parameters, problem, list(values.values()), added) + apart
