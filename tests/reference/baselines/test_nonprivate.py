"""Without noise: the optimum, against scikit-learn and against the published optima of Adult."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from reference.baselines.inner import NotConverged
from reference.baselines.nonprivate import admm, sadmm, stationarity
from reference.baselines.optimum import optimum, second_derivative
from reference.dataset import Dataset
from reference.errors import InvalidParameter
from reference.losses import Logistic, Loss
from reference.problem import State
from reference.randomness import Seeded
from reference.regularizers import L1, MCP, ElasticNet
from reference.schedules import PerEpoch, steps
from reference.ssadmm import ssadmm
from tests.reference.baselines.hard import LOSSES, problem_of, random_data

# Mean logistic loss + lambda ||w||_1 over all of Adult, rows divided by their norm after the column of ones.
ADULT_OPTIMA = {1e-2: (0.5517242657, 5), 1e-3: (0.3839447828, 20), 1e-4: (0.3337758740, 53)}


@pytest.mark.parametrize("lam", [0.1, 0.01])
def test_the_optimum_is_scikit_learns(lam: float) -> None:
    data = random_data(2, 60, 5)
    best = optimum(problem_of(data, Logistic(), regularizer=L1(lam)))
    model = LogisticRegression(
        C=1 / (lam * 60), l1_ratio=1, solver="saga", fit_intercept=False, tol=1e-12, max_iter=100_000, random_state=0
    )
    model.fit(data.features, data.labels)
    np.testing.assert_allclose(best.x, model.coef_[0], atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_batch_admm_converges_to_the_optimum(loss: Loss) -> None:
    problem = problem_of(random_data(2, 60, 5), loss, regularizer=L1(0.02), rho=0.05)
    *_, last = admm(problem, State.zero(6), iterations=400)
    best = optimum(problem)
    assert problem.objective(last.z) == pytest.approx(best.objective, abs=1e-10)
    assert stationarity(problem, last.z) < 1e-6
    assert np.count_nonzero(last.z) == np.count_nonzero(best.x)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_no_nearby_model_is_better_than_the_optimum(loss: Loss) -> None:
    problem = problem_of(random_data(9, 40, 4), loss, regularizer=ElasticNet(0.03, 0.5))
    best = optimum(problem)
    rng = np.random.default_rng(1)
    for size in (1.0, 1e-2, 1e-4):
        for _ in range(50):
            assert problem.objective(best.x + size * rng.normal(size=5)) >= best.objective - 1e-12


def test_stochastic_admm_is_ssadmm_without_noise_and_approaches_the_optimum() -> None:
    data = random_data(3, 200, 4)
    data = Dataset.of(data.features, np.sign(data.features[:, 1] - data.features[:, 2]))
    problem = problem_of(data, Logistic(), regularizer=L1(0.01), rho=0.25)
    schedule, draws = PerEpoch(8.0, 200, 20), Seeded(4)
    etas = list(steps(schedule, 600))
    batches = list(draws.batches(200, 20, 600))
    states = list(sadmm(problem, State.zero(5), step_sizes=etas, batches=batches))
    silent = ssadmm(problem, State.zero(5), step_sizes=etas, batches=batches, noise=draws.noise(5, 0.0, 600))
    for a, b in zip(states, silent, strict=True):
        np.testing.assert_array_equal(a.x, b.x)
    start, reached = problem.objective(np.zeros(5)), problem.objective(states[-1].z)
    best = optimum(problem).objective
    assert reached - best < 0.02 * (start - best)


def test_second_derivatives_are_the_slopes_derivatives() -> None:
    margins = np.array([-3.0, -0.2, 0.45, 0.55, 1.2, 1.6, 30.0])
    for loss in LOSSES:
        numeric = (loss.slope(margins + 1e-6) - loss.slope(margins - 1e-6)) / 2e-6
        np.testing.assert_allclose(second_derivative(loss, margins), numeric, atol=1e-8)


def test_what_has_no_certain_optimum_is_refused() -> None:
    data = random_data(3, 20, 2)
    with pytest.raises(InvalidParameter, match="convex"):
        optimum(problem_of(data, Logistic(), regularizer=MCP(0.1), rho=1.0))
    with pytest.raises(InvalidParameter, match="clipped"):
        optimum(problem_of(data, Logistic(), regularizer=L1(0.1), clip=0.1))
    with pytest.raises(NotConverged, match="Newton"):
        optimum(problem_of(data, Logistic(), regularizer=L1(0.01)), most_steps=1)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("lam", sorted(ADULT_OPTIMA))
def test_adults_optimum_is_the_published_one(adult: Dataset, lam: float) -> None:
    objective, support = ADULT_OPTIMA[lam]
    best = optimum(problem_of(adult, Logistic(), regularizer=L1(lam)))
    assert best.objective == pytest.approx(objective, abs=1e-10)
    assert int(np.count_nonzero(np.abs(best.x) > 1e-6)) == support


@pytest.mark.data
@pytest.mark.slow
def test_stochastic_admm_comes_close_to_adults_optimum(adult: Dataset) -> None:
    problem = problem_of(adult, Logistic(), regularizer=L1(1e-3), rho=0.25)
    m, iterations = 221, 221 * 40
    states = sadmm(
        problem,
        State.zero(124),
        step_sizes=steps(PerEpoch(30.0, adult.records, m), iterations),
        batches=Seeded(1).batches(adult.records, m, iterations),
    )
    *_, last = states
    assert problem.objective(last.x) - ADULT_OPTIMA[1e-3][0] < 0.01
