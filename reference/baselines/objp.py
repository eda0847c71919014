r"""ADMM-objP: objective perturbation inside ADMM. Wang and Zhang 2019 (DPLL), after Chaudhuri et al. 2011.

Iteration k solves, *exactly*,

    x <- argmin  mean loss(x) + <y, x> + (rho/2) ||x - z||^2 + (ridge/2) ||x||^2 + <b, x>/n
    z <- prox_{lambda/rho}(x + y/rho),    y <- y + rho (x - z)

with b of density proportional to exp(-eps' ||b||/(2C)): uniform direction, norm Gamma(p, 2C/eps'). Releasing x costs
a pure eps_k. Proof sketch: at the minimiser b is a function of x whose values for neighbours differ by at most 2C, a
factor e^{eps'} in density, and the Jacobians differ by the one record that was replaced. With c = sup phi'' max||s||^2,

    eps' = eps_k - 2 log(1 + c/(n rho)),                               or, where that is not positive,
    eps' = eps_k/2 with ridge = c/(n (e^{eps_k/4} - 1)) - rho > 0.

The square in (1 + c/(n rho))^2 is generous: both Jacobians contain the n - 1 common records G, so their ratio is
det(G + a u u^T)/det(G + b v v^T) <= 1 + c/(n rho). We keep the published figure; the tests attain the smaller one.

The privacy holds **only if the solve is exact**. So each iterate comes with the residual that was left, and a solve
that does not reach the residual asked for is refused. A clipped gradient need not be the gradient of anything, so
clipping is refused as well: normalised records only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from reference.arithmetic import Vector
from reference.baselines.inner import Accuracy, Minimum, minimise
from reference.errors import InvalidParameter, require_count, require_not_negative, require_positive
from reference.losses import Loss
from reference.problem import Problem, State
from reference.randomness import Randomness
from reference.updates import update_y, update_z

NORM_SLACK = 1e-12  # normalising a row in binary64 leaves its length within a few units in the last place of 1


@dataclass(frozen=True, slots=True)
class Perturbation:
    """What one iteration adds to its objective: b with scale 2C/eps', and perhaps a ridge."""

    noise_epsilon: float  # eps'
    ridge: float
    scale: float  # 2C/eps', of the norm's Gamma distribution


def perturbation(epsilon: float, *, loss: Loss, records: int, rho: float, length: float = 1.0) -> Perturbation:
    """How to spend a pure epsilon on one iteration, for records no longer than the *public* ``length``."""
    require_positive("epsilon", epsilon)
    require_count("records", records)
    require_positive("rho", rho)
    require_positive("length", length)
    c = loss.curvature * length**2
    noise_epsilon, ridge = epsilon - 2 * math.log1p(c / (records * rho)), 0.0
    if noise_epsilon <= 0:
        noise_epsilon, ridge = epsilon / 2, c / (records * math.expm1(epsilon / 4)) - rho
    return Perturbation(noise_epsilon, ridge, 2 * loss.steepest * length / noise_epsilon)


def perturbations(randomness: Randomness, dimension: int, scale: float, iterations: int) -> Iterator[Vector]:
    r"""Independent b of uniform direction and norm Gamma(p, scale).

    From 3p standard normals each: p give the direction, and half the squared length of the other 2p is Gamma(p, 1).
    """
    require_not_negative("scale", scale)
    for draws in randomness.noise(3 * dimension, 1.0, iterations):
        direction, rest = draws[:dimension], draws[dimension:]
        yield direction / np.linalg.norm(direction) * (scale * float(rest @ rest) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """An iterate, and the residual on which its privacy depends: the gradient left by the inner solver."""

    state: State
    residual: float
    steps: int


def objp(
    problem: Problem,
    initial: State,
    *,
    perturbations: Iterable[Vector],
    ridge: float = 0.0,
    length: float = 1.0,
    accuracy: Accuracy | None = None,
) -> Iterator[Solved]:
    """Yield the iterate of each perturbed solve with its residual."""
    _require_solvable(problem, initial, length)
    require_not_negative("ridge", ridge)
    state = initial
    for b in perturbations:
        x = solve_x(problem, state, b / problem.records, ridge=ridge, length=length, accuracy=accuracy or Accuracy())
        z = update_z(x.x, state.y, rho=problem.rho, regularizer=problem.regularizer)
        state = State(x.x, z, update_y(state.y, x.x, z, rho=problem.rho))
        yield Solved(state.require_finite(), x.residual, x.steps)


def solve_x(problem: Problem, old: State, tilt: Vector, *, ridge: float, length: float, accuracy: Accuracy) -> Minimum:
    """The x step solved to the residual asked for, from the old x on."""
    rho = problem.rho

    def gradient(x: Vector) -> Vector:
        return problem.gradient(x) + old.y + rho * (x - old.z) + ridge * x + tilt

    convexity = rho + ridge
    smoothness = problem.loss.curvature * length**2 + convexity
    return minimise(gradient, old.x, smoothness=smoothness, convexity=convexity, accuracy=accuracy)


def _require_solvable(problem: Problem, initial: State, length: float) -> None:
    initial.require_dimension(problem.dimension)
    if problem.clip is not None:
        raise InvalidParameter(
            f"objective perturbation needs true gradients: normalise the records instead of clip={problem.clip}"
        )
    longest = float(problem.norms.max())
    if longest > length * (1 + NORM_SLACK):
        raise InvalidParameter(f"records must be no longer than length={length}, got one of length {longest}")
