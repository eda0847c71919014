r"""The exact minimiser of a convex problem, as ground truth: proximal Newton steps whose inner problem is an ADMM.

Each step minimises the quadratic model of the mean loss plus the regularizer, in p dimensions only, and a line search
keeps the objective falling. What comes back carries its distance from optimality; nothing here is private.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference.arithmetic import Matrix, Vector
from reference.baselines.inner import NotConverged
from reference.baselines.nonprivate import stationarity
from reference.errors import InvalidParameter
from reference.losses import HuberizedHinge, Logistic, Loss
from reference.problem import Problem

# Where the loss is flat (the hinge's two straight parts) the model needs a little curvature of its own; the line
# search makes any positive amount safe.
DAMPING = 1e-9
INNER_ITERATIONS = 5_000
HALVINGS = 40


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """A model, its objective, how far from stationary it is, and how many Newton steps it took."""

    x: Vector
    objective: float
    stationarity: float
    steps: int


def optimum(problem: Problem, *, residual: float = 1e-9, most_steps: int = 100) -> Optimum:
    """The minimiser of a convex problem up to the ``residual`` of :func:`.stationarity`, else NotConverged."""
    if problem.clip is not None or not problem.regularizer.convex:
        raise InvalidParameter("the optimum is computed for convex regularizers and gradients that are not clipped")
    x = np.zeros(problem.dimension)
    for step in range(most_steps):
        distance = stationarity(problem, x)
        if distance <= residual:
            return Optimum(x, problem.objective(x), distance, step)
        target = _minimise_model(problem, x)
        x = _line_search(problem, x, target)
    raise NotConverged(f"stationarity is {distance:.3g} after {most_steps} Newton steps, {residual} was asked for")


def second_derivative(loss: Loss, margin: Vector) -> Vector:
    """phi''(v), almost everywhere."""
    if isinstance(loss, Logistic):
        slope = loss.slope(margin)
        return -slope * (1 + slope)
    if isinstance(loss, HuberizedHinge):
        return np.where(np.abs(1 - margin) < loss.h, loss.curvature, 0.0)
    raise InvalidParameter(f"no second derivative is known for the loss {loss.name!r}")


def _minimise_model(problem: Problem, x: Vector) -> Vector:
    """ADMM on <g, v - x> + (v - x)^T H (v - x)/2 + lambda h(v); every step a product with one p x p inverse."""
    weights = second_derivative(problem.loss, problem.signed @ x) / problem.records
    hessian: Matrix = (problem.signed * weights[:, None]).T @ problem.signed
    hessian[np.diag_indices_from(hessian)] += DAMPING
    # Between the largest and the typical curvature: fast along stiff directions without freezing the others.
    rho = float(np.sqrt(np.linalg.norm(hessian, 2) * np.trace(hessian) / len(hessian)))
    inverse = np.linalg.inv(hessian + rho * np.eye(len(hessian)))
    shift = hessian @ x - problem.gradient(x)
    z = x
    u = np.zeros_like(x)
    for _ in range(INNER_ITERATIONS):
        v = inverse @ (shift + rho * (z - u))
        before, z = z, problem.regularizer.prox(v + u, rho)
        u = u + v - z
        if np.abs(z - before).max() + np.abs(v - z).max() < 1e-15:
            break
    return z


def _line_search(problem: Problem, x: Vector, target: Vector) -> Vector:
    """The first of target, halfway, a quarter of the way ... that does not raise the objective."""
    start, direction = problem.objective(x), target - x
    for halving in range(HALVINGS):
        candidate: Vector = x + direction / 2**halving
        if problem.objective(candidate) <= start:
            return candidate
    return x
