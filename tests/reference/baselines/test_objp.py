"""ADMM-objP: the density ratio behind its pure epsilon, its noise, and the residual beside the claim."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from reference.arithmetic import Vector
from reference.baselines.inner import Accuracy, NotConverged, minimise
from reference.baselines.objp import Perturbation, objp, perturbation, perturbations
from reference.baselines.optimum import second_derivative
from reference.dataset import Dataset
from reference.errors import InvalidParameter
from reference.losses import HuberizedHinge, Logistic, Loss
from reference.problem import Problem, State
from reference.randomness import Seeded
from reference.regularizers import L1
from tests.reference.baselines.hard import LOSSES, neighbours_at_random, problem_of, random_data, small_problem


def hidden_noise(problem: Problem, old: State, x: Vector, ridge: float) -> Vector:
    """The one b for which x is the minimiser."""
    return -problem.records * (problem.gradient(x) + old.y + problem.rho * (x - old.z) + ridge * x)


def log_density(problem: Problem, old: State, x: Vector, spent: Perturbation) -> float:
    """log density of the released x, up to a constant that neighbours share: that of b plus log |db/dx|."""
    weights = second_derivative(problem.loss, problem.signed @ x)
    jacobian = (problem.signed * weights[:, None]).T @ problem.signed
    jacobian += problem.records * (problem.rho + spent.ridge) * np.eye(problem.dimension)
    b = hidden_noise(problem, old, x, spent.ridge)
    return -float(np.linalg.norm(b)) / spent.scale + float(np.linalg.slogdet(jacobian)[1])


def attained(epsilon: float, records: int, rho: float, spent: Perturbation) -> float:
    """The log density ratio at the hardest neighbours we know: one dimension, huberized hinge.

    Just above margin 1 - h the record has the largest slope *and* the largest curvature; its replacement, of the
    opposite label, has the opposite gradient and no curvature. The dual puts both b on one side of zero.
    """
    data = Dataset.of(np.ones((records, 1)), np.ones(records))
    data = Dataset.of(data.features, np.where(np.arange(records) == 0, 1.0, -1.0))
    other = data.replace(0, np.ones(1), -1.0)
    x = np.array([0.5 + 1e-9])
    old = State(np.zeros(1), np.zeros(1), np.array([50.0]))
    problems = [problem_of(d, HuberizedHinge(), rho=rho) for d in (data, other)]
    ratio = [log_density(problem, old, x, spent) for problem in problems]
    assert epsilon > 0
    return abs(ratio[0] - ratio[1])


@pytest.mark.parametrize(("epsilon", "rho"), [(1.0, 0.5), (0.2, 2.0), (3.0, 0.1)])
def test_the_density_ratio_reaches_epsilon_less_one_jacobian_factor(epsilon: float, rho: float) -> None:
    n = 7
    spent = perturbation(epsilon, loss=HuberizedHinge(), records=n, rho=rho)
    factor = math.log1p(1 / (n * (rho + spent.ridge)))
    reached = attained(epsilon, n, rho, spent)
    assert reached <= epsilon + 1e-9
    assert reached == pytest.approx(spent.noise_epsilon + factor, abs=1e-6)


def test_forgetting_the_jacobian_or_half_the_sensitivity_is_refuted() -> None:
    n, rho, epsilon = 7, 0.5, 1.0
    assert attained(epsilon, n, rho, Perturbation(epsilon, 0.0, 2 / epsilon)) > epsilon + 0.1
    right = perturbation(epsilon, loss=HuberizedHinge(), records=n, rho=rho)
    assert attained(epsilon, n, rho, Perturbation(right.noise_epsilon, 0.0, 1 / right.noise_epsilon)) > epsilon


def test_no_neighbours_exceed_epsilon_anywhere() -> None:
    rng = np.random.default_rng(17)
    for _ in range(400):
        data, other = neighbours_at_random(rng, int(rng.integers(1, 6)))
        loss, rho, epsilon = (
            LOSSES[int(rng.integers(2))],
            float(10 ** rng.uniform(-2, 1)),
            float(10 ** rng.uniform(-1, 1)),
        )
        spent = perturbation(epsilon, loss=loss, records=data.records, rho=rho)
        p = data.dimension
        old = State(*rng.normal(size=(3, p)))
        x = rng.normal(size=p) * 10 ** rng.uniform(-1, 1)
        ratio = [log_density(problem_of(d, loss, rho=rho), old, x, spent) for d in (data, other)]
        assert abs(ratio[0] - ratio[1]) <= epsilon + 1e-9


@pytest.mark.parametrize("epsilon", [0.05, 5.0])
def test_the_solution_is_the_one_whose_hidden_noise_was_drawn(epsilon: float) -> None:
    problem = small_problem(Logistic())
    spent = perturbation(epsilon, loss=problem.loss, records=12, rho=0.5)
    assert (spent.ridge > 0) is (epsilon < 1)
    b = list(perturbations(Seeded(1), 4, spent.scale, 3))
    old = State.zero(4)
    for solved, drawn in zip(objp(problem, old, perturbations=b, ridge=spent.ridge), b, strict=True):
        np.testing.assert_allclose(hidden_noise(problem, old, solved.state.x, spent.ridge), drawn, atol=12 * 1e-11)
        assert solved.residual <= 1e-11
        w = solved.state.x + old.y / 0.5
        np.testing.assert_allclose(solved.state.z, np.sign(w) * np.maximum(np.abs(w) - 0.05 / 0.5, 0), atol=1e-15)
        np.testing.assert_allclose(solved.state.y, old.y + 0.5 * (solved.state.x - solved.state.z), atol=1e-15)
        old = solved.state


@pytest.mark.parametrize("length", [1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_the_budget_is_the_published_one(epsilon: float, length: float) -> None:
    n, rho, c = 10, 0.5, 0.25 * length**2
    spent = perturbation(epsilon, loss=Logistic(), records=n, rho=rho, length=length)
    published = epsilon - math.log(1 + 2 * c / (n * rho) + c**2 / (n * rho) ** 2)
    if published > 0:
        assert spent.noise_epsilon == pytest.approx(published, rel=1e-12)
        assert spent.ridge == 0
    else:
        assert spent.noise_epsilon == epsilon / 2
        assert spent.ridge == pytest.approx(c / (n * (math.exp(epsilon / 4) - 1)) - rho, rel=1e-9)
        assert spent.ridge > 0
    assert spent.scale == pytest.approx(2 * length / spent.noise_epsilon)


def test_the_noise_has_a_gamma_norm_and_a_uniform_direction() -> None:
    draws = np.stack(list(perturbations(Seeded(6), 3, 2.5, 20_000)))
    norms = np.linalg.norm(draws, axis=1)
    # False alarms at most 1e-6 each, and the seed is fixed.
    assert stats.kstest(norms, stats.gamma(3, scale=2.5).cdf).pvalue > 1e-6
    for axis in range(3):  # in three dimensions a coordinate of a uniform direction is uniform on [-1, 1]
        assert stats.kstest(draws[:, axis] / norms, stats.uniform(-1, 2).cdf).pvalue > 1e-6
    # Direction and norm are independent.
    assert stats.spearmanr(draws[:, 0] / norms, norms).pvalue > 1e-6


def test_gaussian_noise_in_its_place_would_be_seen() -> None:
    draws = np.stack(list(Seeded(6).noise(3, 2.5, 20_000)))
    assert stats.kstest(np.linalg.norm(draws, axis=1), stats.gamma(3, scale=2.5).cdf).pvalue < 1e-6


def test_a_solve_that_stops_early_is_refused() -> None:
    problem = small_problem(Logistic())
    hasty = Accuracy(residual=1e-11, most_steps=2)
    with pytest.raises(NotConverged, match="residual"):
        next(objp(problem, State.zero(4), perturbations=[np.ones(4)], accuracy=hasty))


def test_clipping_and_long_records_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="true gradients"):
        next(objp(small_problem(Logistic(), clip=0.5), State.zero(4), perturbations=[np.ones(4)]))
    long = problem_of(Dataset.of(2 * random_data(1, 5, 3).features, np.ones(5)), Logistic(), regularizer=L1(0.1))
    with pytest.raises(InvalidParameter, match="no longer than length"):
        next(objp(long, State.zero(4), perturbations=[np.ones(4)]))


@pytest.mark.parametrize("length", [0.01, 5.0, 100.0])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_records_of_any_public_length_are_solved_for(loss: Loss, length: float) -> None:
    data = random_data(8, 12, 3)
    problem = problem_of(Dataset.of(length * data.features, data.labels), loss, rho=0.5)
    [solved] = objp(problem, State.zero(4), perturbations=[np.ones(4)], length=length)
    np.testing.assert_allclose(hidden_noise(problem, State.zero(4), solved.state.x, 0.0), np.ones(4), atol=12 * 1e-11)


@pytest.mark.parametrize("smoothness", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize("convexity", [1.0, 1e-2, 1e-4])
def test_the_inner_solver_contracts_as_its_theory_says(convexity: float, smoothness: float) -> None:
    """A function times a constant is as hard, if its gradients may be so much longer."""
    eigenvalues = smoothness * np.geomspace(convexity, 1.0, 30)
    target = np.linspace(-1, 1, 30)
    asked = []

    def gradient(x: Vector) -> Vector:
        asked.append(x)
        return np.asarray(eigenvalues * (x - target))

    solved = minimise(
        gradient,
        np.zeros(30),
        smoothness=smoothness,
        convexity=smoothness * convexity,
        accuracy=Accuracy(smoothness * 1e-10),
    )
    assert solved.steps == len(asked)
    assert np.linalg.norm(solved.x - target) <= solved.residual / (smoothness * convexity)
    # f - f* <= (L + mu)/2 |x0 - x*|^2 (1 - sqrt(mu/L))^k, and |g|^2 <= 2L (f - f*); momentum points add a constant.
    contraction = -math.log1p(-math.sqrt(convexity)) if convexity < 1 else math.inf
    most = 2 + (2 * math.log(1e10) + math.log(2 * 4 * float(target @ target))) / contraction
    assert solved.steps <= most + 2
