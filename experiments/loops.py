r"""Every algorithm, all cells at once: the engine of :mod:`reference.vectorised` on arrays of shape cells x dimension.

Step sizes, batches and *standard* normal draws come in, the released model of each cell comes out. A cell's model is
the one that the reference computes from the same inputs, to rounding (tests/experiments/test_loops.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from experiments.cells import CellTable, Rows
from reference.arithmetic import Indices, Matrix, Vector
from reference.problem import State
from reference.regularizers import Regularizer
from reference.updates import update_x, update_y, update_z
from reference.vectorised import Vectorised


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """The training records, and the cells that are trained on them."""

    signed: Rows
    cells: CellTable
    rho: float
    regularizer: Regularizer

    @property
    def zero(self) -> State:
        """Every cell at the origin."""
        origin = np.zeros((self.cells.count, self.signed.shape[1]))
        return State(origin, origin, origin)


class CellSteps(Vectorised[Fold]):
    """The engine with a model for each cell, all on the same batches."""

    def gradient(self, problem: Fold, x: Matrix, batch: Indices | None) -> Matrix:
        """The mean gradient of each cell."""
        cells, signed = problem.cells, problem.signed
        return cells.full_gradient(signed, x) if batch is None else cells.batch_gradient(signed, batch, x)


def ssadmm(
    signed: Rows,
    cells: CellTable,
    *,
    rho: float,
    etas: Iterable[float],
    batches: Iterable[Indices],
    draws: Iterable[Vector],
) -> Matrix:
    """x^T of [CL20] Algorithm 1."""
    fold = Fold(signed, cells, rho, cells.regularizer)
    noise = ({"gradient": cells.noise * draw} for draw in draws)
    return _last(CellSteps().ssadmm(fold, fold.zero, step_sizes=etas, batches=batches, noise=noise), fold.zero).x


def mpadmm(
    signed: Rows, cells: CellTable, *, rho: float, eta: float, draws: Iterable[Vector], primal_only: bool
) -> Matrix:
    """x^T of [CL20] Algorithm 2; draws hold 3p normals an epoch, or p where x alone is perturbed."""
    fold = Fold(signed, cells, rho, cells.regularizer)
    names = ("x",) if primal_only else ("x", "z", "y")
    drawn = list(draws)
    noise = (dict(zip(names, np.split(cells.noise * draw, len(names), axis=1), strict=True)) for draw in drawn)
    return _last(CellSteps().mpadmm(fold, fold.zero, step_sizes=[eta] * len(drawn), noise=noise), fold.zero).x


def _last(states: Iterable[State], initial: State) -> State:
    state = initial
    for state in states:  # noqa: B007 - only the last one counts
        pass
    return state


def dpsgd(
    signed: Rows, cells: CellTable, *, etas: Iterable[float], batches: Iterable[Indices], draws: Iterable[Vector]
) -> Matrix:
    """The last iterate of proximal DP-SGD."""
    x = np.zeros((cells.count, signed.shape[1]))
    regularizer = cells.regularizer
    for eta, batch, draw in zip(etas, batches, draws, strict=True):
        g = cells.batch_gradient(signed, batch, x) + cells.noise * draw
        x = regularizer.prox(x - eta * g, 1 / eta)
    return x


def dpadmm(signed: Rows, cells: CellTable, *, parties: int, rho: float, eta: float, draws: Iterable[Matrix]) -> Matrix:
    """The centre's last z of DP-ADMM; draws hold a row of p normals for each party."""
    ends = np.cumsum([0, *(len(part) for part in np.array_split(range(len(signed)), parties))])
    blocks = [signed[start:end] for start, end in itertools.pairwise(ends)]
    p = signed.shape[1]
    regularizer = cells.regularizer
    z = np.zeros((cells.count, p))
    x, y = [z] * parties, [z] * parties
    for draw in draws:
        for i, (block, part) in enumerate(zip(blocks, draw, strict=True)):
            x[i] = update_x(cells.full_gradient(block, x[i]), x[i], z, y[i], rho=rho, eta=eta) + cells.noise * part
        mean = sum(len(block) * (x[i] + y[i] / rho) for i, block in enumerate(blocks)) / len(signed)
        z = regularizer.prox(np.asarray(mean), rho)
        y = [update_y(y[i], x[i], z, rho=rho) for i in range(parties)]
    return z


def objp(
    signed: Rows, cells: CellTable, *, rho: float, inner_steps: int, perturbations: Iterable[Vector]
) -> tuple[Matrix, Vector]:
    """The last z of ADMM-objP, and the largest residual any solve of a cell left; ``cells.noise`` is 2C/eps'.

    *Deviates* from :mod:`reference.baselines.objp`: a fixed number of gradient steps a solve, as in the paper, so the
    residual is an outcome. ``perturbations`` have uniform direction and norm Gamma(p, 1).
    """
    n, p = signed.shape
    x = z = y = np.zeros((cells.count, p))
    convexity = rho + cells.ridge
    smoothness = cells.curvature + convexity
    root = np.sqrt(convexity / smoothness)
    momentum = (1 - root) / (1 + root)
    residual = np.zeros(cells.count)
    for b in perturbations:
        tilt = y - rho * z + cells.noise * b / n
        ahead = x
        for _ in range(inner_steps):
            g = cells.full_gradient(signed, ahead) + convexity * ahead + tilt
            following = ahead - g / smoothness
            ahead, x = following + momentum * (following - x), following
        g = cells.full_gradient(signed, x) + convexity * x + tilt
        residual = np.maximum(residual, np.linalg.norm(g, axis=1))
        z = update_z(x, y, rho=rho, regularizer=cells.regularizer)
        y = update_y(y, x, z, rho=rho)
    return z, residual


def dpsvrg(
    signed: Rows,
    cells: CellTable,
    *,
    eta: float,
    inner: int,
    anchor_draws: Iterable[Vector],
    batches: Iterable[Indices],
    draws: Iterable[Vector],
) -> Matrix:
    """The last iterate of DP-SVRG; an epoch for each anchor draw, of ``inner`` steps."""
    x = np.zeros((cells.count, signed.shape[1]))
    regularizer, steps = cells.regularizer, zip(batches, draws, strict=True)
    for anchor_draw in anchor_draws:
        anchor = x
        full = cells.full_gradient(signed, anchor) + cells.anchor_noise * anchor_draw
        for _ in range(inner):
            batch, draw = next(steps)
            change = cells.batch_gradient(signed, batch, x) - cells.batch_gradient(signed, batch, anchor)
            x = regularizer.prox(x - eta * (change + full + cells.noise * draw), 1 / eta)
    return x
