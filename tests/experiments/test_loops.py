"""A cell trained among many is the model that the reference computes alone from the same inputs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import numpy as np
import pytest

from experiments import loops
from experiments.cells import CellTable
from experiments.data import prepared
from experiments.runner import signed_rows
from experiments.synthetic import simulate
from reference.arithmetic import Vector
from reference.baselines.dpadmm import dpadmm, initial_state, split
from reference.baselines.dpsgd import dpsgd
from reference.baselines.dpsvrg import Epoch, dpsvrg
from reference.baselines.inner import Accuracy
from reference.baselines.objp import objp, perturbations
from reference.errors import NotFinite
from reference.losses import LOSSES
from reference.mpadmm import ModelNoise, Release, mpadmm
from reference.problem import Problem, State
from reference.randomness import Seeded
from reference.regularizers import L1
from reference.ssadmm import ssadmm

DATA = prepared(simulate(3, 60), "none")
SIGNED = signed_rows(DATA)
P = DATA.dimension
KINDS = [("logistic", 1e-3, 0.1), ("logistic", 1e-2, 0.5), ("huber", 1e-3, 0.2), ("huber", 5e-2, 0.0)]
ETAS = [2.0, 1.0, 4.0, 0.5, 1.5]
T = len(ETAS)
# Sums over up to 60 records of numbers below 10, five iterations of gain at most 4: far below 1e-11.
ROUNDING = 1e-11

CELLS = CellTable.of(
    [k[0] for k in KINDS],
    [k[1] for k in KINDS],
    [k[2] for k in KINDS],
    anchor_noise=[2 * k[2] for k in KINDS],
    ridge=[0.0, 0.3, 0.0, 0.1],
)
DRAWS = list(Seeded(8).noise(3 * P, 1.0, T))
BATCHES = list(Seeded(8).batches(60, 7, T))


def problem(cell: int, rho: float = 0.3) -> Problem:
    loss, lam, _ = KINDS[cell]
    return Problem.of(DATA, LOSSES[loss], L1(lam), rho=rho)


def noise(cell: int, part: int = 0) -> list[Vector]:
    return [KINDS[cell][2] * draw[part * P : (part + 1) * P] for draw in DRAWS]


def same(models: Vector, expected: Iterable[Vector]) -> None:
    np.testing.assert_allclose(models, np.stack(list(expected)), rtol=0, atol=ROUNDING)
    assert np.abs(models).max() > 1e-3


def first(draws: list[Vector]) -> list[Vector]:
    return [draw[:P] for draw in draws]


def test_ssadmm() -> None:
    models = loops.ssadmm(SIGNED, CELLS, rho=0.3, etas=ETAS, batches=BATCHES, draws=first(DRAWS))
    runs = (
        list(ssadmm(problem(c), State.zero(P), step_sizes=ETAS, batches=BATCHES, noise=noise(c)))[-1].x
        for c in range(len(KINDS))
    )
    same(models, runs)


def test_dpsgd() -> None:
    models = loops.dpsgd(SIGNED, CELLS, etas=ETAS, batches=BATCHES, draws=first(DRAWS))
    runs = (
        list(dpsgd(problem(c), State.zero(P), step_sizes=ETAS, batches=BATCHES, noise=noise(c)))[-1].x
        for c in range(len(KINDS))
    )
    same(models, runs)


@pytest.mark.parametrize("release", list(Release), ids=lambda release: release.value)
def test_mpadmm(release: Release) -> None:
    primal = release is Release.PRIMAL
    draws = first(DRAWS) if primal else DRAWS
    models = loops.mpadmm(SIGNED, CELLS, rho=0.3, eta=2.0, draws=draws, primal_only=primal)

    def run(cell: int) -> Vector:
        parts = zip(*(noise(cell, part) for part in range(3)), strict=True)
        listed = [ModelNoise(x) if primal else ModelNoise(x, z, y) for x, z, y in parts]
        states = mpadmm(problem(cell), State.zero(P), step_sizes=[2.0] * T, noise=listed, release=release)
        return list(states)[-1].x

    same(models, (run(c) for c in range(len(KINDS))))


def test_dpadmm() -> None:
    draws = [draw[: 2 * P].reshape(2, P) for draw in DRAWS]
    models = loops.dpadmm(SIGNED, CELLS, parties=2, rho=0.3, eta=2.0, draws=draws)

    def run(cell: int) -> Vector:
        listed = [np.stack([a, b]) for a, b in zip(noise(cell, 0), noise(cell, 1), strict=True)]
        states = dpadmm(split(problem(cell), 2), initial_state(2, P), step_sizes=[2.0] * T, noise=listed)
        return list(states)[-1].z

    same(models, (run(c) for c in range(len(KINDS))))


def test_dpsvrg() -> None:
    anchors, draws = first(DRAWS)[:2], [draw[P : 2 * P] for draw in DRAWS][:4]
    models = loops.dpsvrg(SIGNED, CELLS, eta=1.5, inner=2, anchor_draws=anchors, batches=BATCHES[:4], draws=draws)

    def run(cell: int) -> Vector:
        steps, listed = iter(zip(BATCHES, draws, strict=False)), []
        for anchor in anchors:
            pairs = list(islice(steps, 2))
            gammas = [KINDS[cell][2] * draw for _, draw in pairs]
            listed.append(Epoch(2 * KINDS[cell][2] * anchor, [1.5] * 2, [batch for batch, _ in pairs], gammas))
        return list(dpsvrg(problem(cell), State.zero(P), epochs=listed))[-1].x

    same(models, (run(c) for c in range(len(KINDS))))


def test_objp_solved_for_long_is_the_exact_solution() -> None:
    cells = CellTable.of([k[0] for k in KINDS], [k[1] for k in KINDS], [5.0, 1.0, 3.0, 2.0], ridge=[0.0, 0.3, 0.0, 0.1])
    drawn = list(perturbations(Seeded(2), P, 1.0, 3))
    models, residuals = loops.objp(SIGNED, cells, rho=0.3, inner_steps=120, perturbations=drawn)
    assert residuals.max() < 1e-10

    def run(cell: int) -> Vector:
        scaled = [float(cells.noise[cell, 0]) * b for b in drawn]
        ridge = float(cells.ridge[cell, 0])
        solved = objp(problem(cell), State.zero(P), perturbations=scaled, ridge=ridge, accuracy=Accuracy(1e-13))
        return list(solved)[-1].state.z

    np.testing.assert_allclose(models, np.stack([run(c) for c in range(len(KINDS))]), atol=1e-8)


def test_objp_solved_in_haste_says_so() -> None:
    drawn = list(perturbations(Seeded(2), P, 1.0, 1))
    residuals = [loops.objp(SIGNED, CELLS, rho=0.3, inner_steps=k, perturbations=drawn)[1].max() for k in (1, 5, 40)]
    assert residuals[0] > 3 * residuals[1] > 30 * residuals[2] > 0


def test_full_gradients_are_the_same_however_the_rows_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(1).normal(size=(len(KINDS), P))
    whole = CELLS.full_gradient(SIGNED, x)
    monkeypatch.setattr("experiments.cells.ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(CELLS.full_gradient(SIGNED, x), whole, rtol=0, atol=1e-14)
    expected = [problem(c).gradient(x[c]) for c in range(len(KINDS))]
    np.testing.assert_allclose(whole, expected, rtol=0, atol=1e-14)


def test_noise_that_overflows_is_an_error_not_a_result() -> None:
    wild = CellTable.of(["logistic"], [1e-3], [1e308])
    with pytest.raises(NotFinite), np.errstate(all="ignore"):
        loops.ssadmm(SIGNED, wild, rho=0.3, etas=ETAS, batches=BATCHES, draws=first(DRAWS))
