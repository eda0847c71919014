"""The accountant is told what is run: every sensitivity it is given must cover what neighbours can do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import accountant
from accountant.mechanisms.words import Algorithm
from dpadmm.privacy import PrivateRun, calibrated, priced
from dpadmm.training import ALGORITHMS, Training
from reference.mpadmm import ModelNoise, Release, mpadmm
from reference.problem import Problem, State
from reference.regularizers import L1, SCAD, Regularizer
from reference.schedules import Constant, InverseSquareRoot
from tests.reference.small import small_data, small_problem

GRID = 2.0**-6


def mechanism(algorithm: Algorithm = Algorithm.SSADMM, **changes: object) -> PrivateRun:
    training = Training(algorithm, Constant(0.5), 30, 10)
    for name, value in changes.items():
        training = replace(training, **{name: value})  # type: ignore[arg-type]  # names and types match by hand
    return PrivateRun(training, 100, 6, 0.75, 1.0, L1(0.05))


def test_ssadmm_is_priced_like_the_accountants_own_ledger() -> None:
    mine = priced(mechanism(), 0.8, "1e-6")
    theirs = accountant.SsADMM(records=100, batch=10, iterations=30, sigma="0.8", clip=1).ledger()
    report = accountant.epsilon(theirs, "1e-6", methods=[accountant.methods_for(theirs)[-1]], digits=6)
    upper = accountant.exact("epsilon", report.epsilon.upper)
    # Rounding costs 10 * 24 * 2^-52 of C, nothing that six digits show; 0.8 as a float differs by less.
    assert float(mine.epsilon) == pytest.approx(float(upper), rel=1e-6)
    assert mine.method == "profile"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_calibrated_noise_meets_the_target_and_a_hundredth_less_does_not(algorithm: Algorithm) -> None:
    found = calibrated(mechanism(algorithm), "1", "1e-6")
    assert found.epsilon <= 1
    assert priced(mechanism(algorithm), found.sigma, "1e-6").epsilon <= 1 + Fraction(1, 1000)
    assert priced(mechanism(algorithm), 0.99 * found.sigma, "1e-6").epsilon > 1


def test_releasing_less_costs_less() -> None:
    every = priced(mechanism(Algorithm.MPADMM, release=Release.ALL), 0.1, "1e-6")
    primal = priced(mechanism(Algorithm.MPADMM, release=Release.PRIMAL), 0.1, "1e-6")
    assert primal.epsilon < every.epsilon / Fraction(5, 4)


def test_steps_of_every_size_are_priced() -> None:
    constant = priced(mechanism(Algorithm.MPADMM), 0.1, "1e-6")
    falling = priced(mechanism(Algorithm.MPADMM, schedule=InverseSquareRoot(0.5)), 0.1, "1e-6")
    assert falling.epsilon < constant.epsilon


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_grid_costs_more_and_vanishes_with_its_size(algorithm: Algorithm) -> None:
    prices = [priced(mechanism(algorithm, grid=grid), 2.0, "1e-6").epsilon for grid in (2.0**-3, GRID, 2.0**-40)]
    assert prices[0] > prices[1] > prices[2] > 0


def largest_move(problem: Problem, other: Problem, release: Release, grid: float, eta: float) -> float:
    """How far one epoch's rounded release moves between neighbours, the worst of many starts."""
    worst = 0.0
    rng = np.random.default_rng(1)
    silence = ModelNoise(*(np.zeros(problem.dimension) for _ in range(3)))
    for _ in range(300):
        start = State(*rng.normal(scale=3, size=(3, problem.dimension)))
        moved = [
            next(mpadmm(p, start, step_sizes=[eta], noise=[silence], release=release, grid=grid))
            for p in (problem, other)
        ]
        gaps = [moved[0].x - moved[1].x]
        if release is Release.ALL:
            gaps += [moved[0].z - moved[1].z, moved[0].y - moved[1].y]
        worst = max(worst, float(np.linalg.norm(np.concatenate(gaps))))
    return worst


@pytest.mark.parametrize("release", Release)
@pytest.mark.parametrize("regularizer", [L1(0.05), SCAD(0.5)], ids=["l1", "scad"])
def test_rounding_to_the_grid_is_inside_the_sensitivity_that_is_priced(
    regularizer: Regularizer, release: Release
) -> None:
    eta, rho = 2.0, 1.0
    problem = small_problem(regularizer=regularizer, rho=rho)
    data = small_data()
    other = Problem.of(data.replace(0, -data.features[0], -data.labels[0]), problem.loss, regularizer, rho=rho)
    training = Training(Algorithm.MPADMM, Constant(eta), 1, 8, release, GRID)
    ledger = PrivateRun(training, 8, 6, rho, 1.0, regularizer).mechanism(Fraction(1)).ledger()
    (step,) = ledger.steps
    assert isinstance(step, accountant.GaussianStep)
    priced_move = float(step.ratio_squared) ** 0.5
    assert largest_move(problem, other, release, GRID, eta) <= priced_move
