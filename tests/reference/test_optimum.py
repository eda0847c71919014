"""Without noise both algorithms are plain ADMM: they must find the optimum that other solvers find."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from reference.arithmetic import Vector
from reference.dataset import Dataset
from reference.losses import HuberizedHinge, Logistic
from reference.mpadmm import ModelNoise, Release, mpadmm
from reference.outputs import Output, finish
from reference.problem import Problem, State
from reference.randomness import Seeded
from reference.regularizers import L1, ElasticNet
from reference.schedules import PerEpoch, steps
from reference.ssadmm import ssadmm

ADULT_OPTIMUM = 0.3839447828  # three solvers agree, KKT residual below 4e-11; rows normalised after the ones column


def simulated(records: int = 200, dimension: int = 6) -> Dataset:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(records, dimension))
    truth = np.array([2.0, -1.0, 0.5, 0, 0, 0])
    labels = np.where(rng.random(records) < 1 / (1 + np.exp(-features @ truth)), 1, -1)
    return Dataset.of(features, labels).with_intercept().normalised()


def batch_admm(problem: Problem, eta: float, epochs: int) -> State:
    silence = itertools.repeat(ModelNoise(np.zeros(problem.dimension)))
    run = mpadmm(
        problem,
        State.zero(problem.dimension),
        step_sizes=itertools.repeat(eta, epochs),
        noise=silence,
        release=Release.PRIMAL,
    )
    return finish(State.zero(problem.dimension), run).last


def scikit(data: Dataset, solver: str, *, lam: float, l1_ratio: float = 1.0) -> Vector:
    model = LogisticRegression(
        l1_ratio=l1_ratio,
        C=1 / (lam * data.records),
        solver=solver,
        fit_intercept=False,
        tol=1e-12,
        max_iter=100_000,
        random_state=0,
    ).fit(data.features, data.labels)
    coefficients: Vector = model.coef_[0]
    return coefficients


@pytest.mark.parametrize("solver", ["saga", "liblinear"])
@pytest.mark.parametrize("lam", [1e-3, 1e-2])
def test_batch_admm_finds_scikit_learns_optimum(solver: str, lam: float) -> None:
    data = simulated()
    problem = Problem.of(data, Logistic(), L1(lam), rho=0.02)
    last = batch_admm(problem, eta=8.0, epochs=4000)
    theirs = scikit(data, solver, lam=lam)
    assert problem.objective(last.z) == pytest.approx(problem.objective(theirs), abs=1e-9)
    # The objective is strongly convex around its optimum: x agrees to about the root of that.
    np.testing.assert_allclose(last.z, theirs, rtol=0, atol=1e-3)
    assert np.linalg.norm(last.x - last.z) < 1e-6


def test_batch_admm_finds_the_elastic_nets_optimum() -> None:
    data = simulated()
    problem = Problem.of(data, Logistic(), ElasticNet(0.01, 0.5), rho=0.02)
    theirs = scikit(data, "saga", lam=0.01, l1_ratio=0.5)
    assert problem.objective(batch_admm(problem, 8.0, 4000).z) == pytest.approx(problem.objective(theirs), abs=1e-9)


def test_batch_admm_satisfies_the_optimality_conditions_of_the_huberized_svm() -> None:
    lam = 5e-3
    problem = Problem.of(simulated(), HuberizedHinge(), L1(lam), rho=0.02)
    z = batch_admm(problem, 1.0, 20_000).z
    slope = problem.gradient(z)
    assert np.all(np.abs(slope) <= lam + 1e-7)
    assert np.all(np.abs(slope + lam * np.sign(z))[z != 0] <= 1e-7)


def test_a_wrong_penalty_would_be_caught() -> None:
    data = simulated()
    wrong = batch_admm(Problem.of(data, Logistic(), L1(1.1e-2), rho=0.02), 8.0, 4000).z
    right = Problem.of(data, Logistic(), L1(1e-2), rho=0.02)
    assert right.objective(wrong) - right.objective(scikit(data, "saga", lam=1e-2)) > 1e-6


@pytest.mark.data
@pytest.mark.slow
def test_batch_admm_reaches_adults_optimum(adult: Dataset) -> None:
    assert adult.features.shape == (48_842, 124)
    problem = Problem.of(adult, Logistic(), L1(1e-3), rho=0.002)
    # eta: three quarters of what still converged; the largest curvature at the optimum is far below the bound 1/8.2.
    last = batch_admm(problem, eta=30.0, epochs=1300)
    assert problem.objective(last.z) == pytest.approx(ADULT_OPTIMUM, abs=1e-8)
    assert np.count_nonzero(last.z) == 20


@pytest.mark.data
def test_stochastic_admm_approaches_adults_optimum(adult: Dataset) -> None:
    problem = Problem.of(adult, Logistic(), L1(1e-3), rho=0.25)
    n, m, start = adult.records, 221, State.zero(adult.dimension)
    gaps = []
    for iterations in (221, 2210):
        run = ssadmm(
            problem,
            start,
            step_sizes=steps(PerEpoch(8.0, n, m), iterations),
            batches=Seeded(1).batches(n, m, iterations),
            noise=Seeded(1).noise(adult.dimension, 0.0, iterations),
        )
        gaps.append(problem.objective(finish(start, run).model(Output.LAST)) - ADULT_OPTIMUM)
    assert 0 < gaps[1] < gaps[0] / 2
    assert gaps[1] < 0.02
