"""The baselines in many digits: the reference's own cores, and for objp and admm Newton's method on their x step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np

from reference.arithmetic import FLOAT64, NumberSystem, Vector
from reference.baselines.dpadmm import dpadmm, split
from reference.baselines.dpsgd import dpsgd
from reference.baselines.dpsvrg import Epoch, dpsvrg
from reference.baselines.inner import Accuracy
from reference.baselines.objp import perturbation, solve_x
from reference.baselines.optimum import second_derivative
from reference.losses import LOSSES
from reference.problem import Problem, State
from reference.ssadmm import ssadmm
from reference.updates import update_y, update_z
from tools.golden_vectors.exact import problem_in
from verification.vectors.recipe import POINT, Recipe, given

SOLVING = ("objp", "admm")
NEWTON_STEPS = 8  # from 1e-11 on, each doubles the digits
Values = dict[str, list[Vector]]


def baseline_trace(recipe: Recipe, system: NumberSystem) -> Values:
    """Every value that a case shows, by name; one array an iteration."""
    problem = problem_in(recipe, system)
    start = State(*(system.array(recipe.initial[name]) for name in POINT))
    noise = {name: [system.array(row) for row in rows] for name, rows in recipe.noise.items()}
    run = {"dpsgd": _dpsgd, "dpadmm": _dpadmm, "dpsvrg": _dpsvrg, "sadmm": _sadmm}.get(recipe.algorithm, _solved)
    found: Values = {}
    for values in run(recipe, problem, start, noise):
        for name, value in values.items():
            found.setdefault(name, []).append(value.reshape(-1))
    return found


def _batches(recipe: Recipe) -> list[np.ndarray]:
    return [np.array(batch) for batch in given(recipe.batches)]


def _dpsgd(recipe: Recipe, problem: Problem, start: State, noise: Values) -> Iterator[dict[str, Vector]]:
    x, batches = start.x, _batches(recipe)
    for state, batch in zip(
        dpsgd(problem, start, step_sizes=recipe.eta, batches=batches, noise=noise["gradient"]), batches, strict=True
    ):
        yield {"gradient": problem.gradient(x, batch), "x": state.x}
        x = state.x


def _sadmm(recipe: Recipe, problem: Problem, start: State, _noise: Values) -> Iterator[dict[str, Vector]]:
    x, batches = start.x, _batches(recipe)
    none = [x - x for _ in batches]
    for state, batch in zip(
        ssadmm(problem, start, step_sizes=recipe.eta, batches=batches, noise=none), batches, strict=True
    ):
        yield {"gradient": problem.gradient(x, batch), "x": state.x, "z": state.z, "y": state.y}
        x = state.x


def _dpadmm(recipe: Recipe, problem: Problem, start: State, noise: Values) -> Iterator[dict[str, Vector]]:
    count = given(recipe.parties)
    parties = split(problem, count)
    x = np.stack([start.x] * count)
    drawn = [row.reshape(count, -1) for row in noise["x"]]
    initial = State(x, start.z, np.stack([start.y] * count))
    for state in dpadmm(parties, initial, step_sizes=recipe.eta, noise=drawn):
        gradients = np.stack([party.gradient(x[i]) for i, party in enumerate(parties)])
        yield {"gradient": gradients, "x": state.x, "z": state.z, "y": state.y}
        x = state.x


def _dpsvrg(recipe: Recipe, problem: Problem, start: State, noise: Values) -> Iterator[dict[str, Vector]]:
    inner, batches, x = given(recipe.inner), _batches(recipe), start.x
    for epoch, anchor_noise in enumerate(noise["anchor"]):
        here, anchor = slice(epoch * inner, (epoch + 1) * inner), x
        inputs = Epoch(anchor_noise, recipe.eta[here], batches[here], noise["gradient"][here])
        full = problem.gradient(anchor) + anchor_noise
        states = dpsvrg(problem, State(anchor, anchor, start.y), epochs=[inputs])
        for state, batch in zip(states, batches[here], strict=True):
            change = problem.gradient(x, batch) - problem.gradient(anchor, batch)
            yield {"gradient": change, "full_gradient": full, "x": state.x}
            x = state.x


def ridge_of(recipe: Recipe) -> float:
    """The ridge that the epsilon of an iteration asks for; admm has none."""
    if recipe.epsilon is None:
        return 0.0
    length = given(recipe.normalise)
    loss = LOSSES[recipe.loss]
    return perturbation(recipe.epsilon, loss=loss, records=len(recipe.labels), rho=recipe.rho, length=length).ridge


def _solved(recipe: Recipe, problem: Problem, start: State, noise: Values) -> Iterator[dict[str, Vector]]:
    state, ridge = start, ridge_of(recipe)
    zero = start.x - start.x
    for k in range(len(recipe.eta)):
        tilt = noise["objective"][k] / problem.records if noise else zero
        x = solved_x(recipe, problem, state, tilt, ridge)
        z = update_z(x, state.y, rho=problem.rho, regularizer=problem.regularizer)
        state = State(x, z, update_y(state.y, x, z, rho=problem.rho))
        yield {"x": x, "z": z, "y": state.y}


def solved_x(recipe: Recipe, problem: Problem, old: State, tilt: Vector, ridge: float) -> Vector:
    """The x step to all digits: Newton from what binary64 finds. Logistic loss: its second derivative is smooth."""
    plain = problem_in(recipe, FLOAT64)
    near = State(*(_plain(getattr(old, name)) for name in POINT))
    first = solve_x(plain, near, _plain(tilt), ridge=ridge, length=given(recipe.normalise), accuracy=Accuracy())
    x = old.x - old.x + first.x
    for _ in range(NEWTON_STEPS):
        slope = problem.gradient(x) + old.y + problem.rho * (x - old.z) + ridge * x + tilt
        weights = second_derivative(problem.loss, problem.signed @ x) / problem.records
        hessian = (problem.signed * weights[:, None]).T @ problem.signed
        hessian = hessian + np.eye(len(x)) * (problem.rho + ridge)
        x = x - _solution(hessian, slope)
    return x


def _plain(values: Vector) -> Vector:
    return np.array([float(value) for value in values])


def _solution(matrix: np.ndarray, right: Vector) -> Vector:
    """Gaussian elimination without pivots: the matrix is positive definite."""
    rows = np.concatenate([matrix, right[:, None]], axis=1)
    for i in range(len(rows)):
        rows[i] = rows[i] / rows[i, i]
        for j in range(len(rows)):
            if j != i:
                rows[j] = rows[j] - rows[i] * rows[j, i]
    return cast(Vector, rows[:, -1])
