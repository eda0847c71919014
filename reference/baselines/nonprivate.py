r"""ADMM without noise, the non-private baseline.

* :func:`sadmm` is ssADMM with sigma = 0 (Ouyang et al. 2013).
* :func:`admm` solves every x step exactly, on all records: classical ADMM, which converges to the optimum.
* :func:`stationarity` says how far a model is from optimal, without knowing the optimum.

Nothing here is private.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from reference.arithmetic import Indices, Scalar, Vector
from reference.baselines.inner import Accuracy
from reference.baselines.objp import solve_x
from reference.problem import Problem, State
from reference.ssadmm import ssadmm
from reference.updates import update_y, update_z


def sadmm(
    problem: Problem, initial: State, *, step_sizes: Iterable[Scalar], batches: Iterable[Indices]
) -> Iterator[State]:
    """Yield (x, z, y) after each iteration of stochastic ADMM: ssADMM with the noise 0."""
    silence = itertools.repeat(np.zeros(problem.dimension))
    return ssadmm(problem, initial, step_sizes=step_sizes, batches=batches, noise=silence)


def admm(problem: Problem, initial: State, *, iterations: int, accuracy: Accuracy | None = None) -> Iterator[State]:
    """Yield (x, z, y) after each iteration of batch ADMM, every x step solved to ``accuracy``."""
    initial.require_dimension(problem.dimension)
    longest = float(problem.norms.max())
    state, none = initial, np.zeros(problem.dimension)
    for _ in range(iterations):
        x = solve_x(problem, state, none, ridge=0.0, length=longest, accuracy=accuracy or Accuracy()).x
        z = update_z(x, state.y, rho=problem.rho, regularizer=problem.regularizer)
        state = State(x, z, update_y(state.y, x, z, rho=problem.rho))
        yield state.require_finite()


def stationarity(problem: Problem, x: Vector) -> float:
    """||x - prox(x - grad f(x))||: zero exactly at the minimisers of a convex problem."""
    moved = problem.regularizer.prox(x - problem.gradient(x), 1.0)
    return float(np.linalg.norm(x - moved))
