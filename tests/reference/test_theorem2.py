r"""[CL20] Theorem 2, as corrected by E8, E9, E10 and E14, on a problem whose optimum is known in closed form.

Records are one-hot, so the objective separates: coordinate i with a positive and b negative records of n has its
minimum where ((a + b) sigma(x) - a)/n + lambda sign(x) = 0, that is x = logit((a -+ lambda n)/(a + b)), or 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from reference.arithmetic import Vector
from reference.dataset import Dataset
from reference.losses import Logistic
from reference.outputs import Averages, finish
from reference.problem import Problem, State
from reference.regularizers import L1
from reference.schedules import Constant, InverseSquareRoot, Schedule
from reference.ssadmm import ssadmm
from reference.vectorised import ssadmm_many

LAM, RHO, SIGMA, M, C = 0.05, 0.5, 0.3, 5, 1.0
COUNTS = [(8, 2), (5, 5), (1, 9)]  # positive and negative records of each coordinate
N, P = 30, 3
BETA = LAM * math.sqrt(P)  # E8: for L1 this beta makes the bounded quantity at least F at the averaged z
RUNS, T = 400, 2000


def logit(q: float) -> float:
    return math.log(q / (1 - q))


def problem(rho: float = RHO) -> Problem:
    features = np.repeat(np.eye(P), 10, axis=0)
    labels = np.concatenate([[1] * a + [-1] * b for a, b in COUNTS])
    return Problem.of(Dataset.of(features, labels), Logistic(), L1(LAM), rho=rho)


def optimum() -> Vector:
    x = np.zeros(P)
    for i, (a, b) in enumerate(COUNTS):
        if a - b > 2 * LAM * N:
            x[i] = logit((a - LAM * N) / (a + b))
        elif b - a > 2 * LAM * N:
            x[i] = logit((a + LAM * N) / (a + b))
    return x


def loss_of(x: Vector) -> Vector:
    """f at the last axis of x."""
    values: Vector = np.mean(np.logaddexp(0, -(x @ problem().signed.T)), axis=-1)
    return values


def bounded_quantity(means: Averages) -> Vector:
    """f(x_before) + h(z_after) + beta ||x_after - z_after|| - F*."""
    h = LAM * np.abs(means.z_after).sum(axis=-1)
    residual = BETA * np.linalg.norm(means.x_after - means.z_after, axis=-1)
    gap: Vector = loss_of(means.x_before) + h + residual - problem().objective(optimum())
    return gap


def running_averages(states: State, start: State) -> Averages:
    count = np.arange(1, states.x.shape[1] + 1)[:, None]
    before = np.concatenate([np.broadcast_to(start.x, states.x[:, :1].shape), states.x[:, :-1]], axis=1)
    return Averages(*(np.cumsum(a, axis=1) / count for a in (before, states.x, states.z)))


def corrected_bound(t: Vector, eta: float, start: State, rho: float = RHO, sigma: float = SIGMA) -> Vector:
    """The theorem's bound for a constant step: no bounded domain, z^0 for y^0 (E9), and any y^0 (E14)."""
    best = optimum()
    steps = eta * (C**2 + P * sigma**2) / 2 + np.sum((start.x - best) ** 2) / (2 * eta * t)
    dual = (BETA + np.linalg.norm(start.y)) ** 2 / (2 * rho * t)
    total: Vector = steps + rho * np.sum((start.z - best) ** 2) / (2 * t) + dual
    return total


def run_many(schedule: Schedule, start: State) -> State:
    return ssadmm_many(
        problem(), start, schedule=schedule, batch=M, sigma=SIGMA, iterations=T, seed=8, runs=range(RUNS)
    )


def starts() -> dict[str, State]:
    far = np.array([2.0, -2.0, 2.0])
    return {"zero": State.zero(P), "far": State(far, -far, np.array([0.2, -0.1, 0.3]))}


def test_the_optimum_is_the_optimum() -> None:
    x, slope = optimum(), problem().gradient(optimum())
    assert x[0] > 0 == x[1] > x[2]
    # -gradient lies in lambda times the subdifferential of the absolute value.
    np.testing.assert_allclose(-slope[[0, 2]], LAM * np.sign(x[[0, 2]]), rtol=0, atol=1e-16)
    assert abs(slope[1]) <= LAM


@pytest.mark.parametrize("start", starts())
@pytest.mark.parametrize("eta", [0.05, pytest.param(0.5, marks=pytest.mark.slow)])
def test_the_expected_gap_stays_below_the_corrected_bound(eta: float, start: str) -> None:
    begin = starts()[start]
    gaps = bounded_quantity(running_averages(run_many(Constant(eta), begin), begin))
    bound = corrected_bound(np.arange(1.0, T + 1), eta, begin)
    # The mean of 400 runs plus 7 standard errors: above the expectation but for a probability of 2e-12 at each t.
    upper = gaps.mean(axis=0) + 7 * gaps.std(axis=0) / math.sqrt(RUNS)
    assert np.all(upper <= bound)


def test_the_fitted_rate_is_about_one_over_the_root_of_t(record_property: Callable[[str, object], None]) -> None:
    start = State(np.array([2.0, -2.0, 2.0]), np.zeros(P), np.zeros(P))
    gap = bounded_quantity(running_averages(run_many(InverseSquareRoot(4.0), start), start)).mean(axis=0)
    t = np.arange(1, T + 1)
    late = t >= 50
    rate = np.polyfit(np.log(t[late]), np.log(gap[late]), 1)[0]
    record_property("fitted rate of the averaged gap, t^", f"{rate:.3f}")
    print(f"\nfitted rate: t^{rate:.3f} over t = 50..{T}")
    # O(1/sqrt t) is an upper bound on the rate: -1/2 or steeper, and an average of t terms cannot beat 1/t.
    assert -1.05 < rate < -0.5


def one_step(start: State, eta: float, rho: float) -> tuple[float, State]:
    """The bounded quantity after one full, noiseless step, and the state."""
    step = ssadmm(problem(rho), start, step_sizes=[eta], batches=[np.arange(N)], noise=[np.zeros(P)])
    finished = finish(start, step)
    return float(bounded_quantity(finished.averages)), finished.last


def dual_optimum() -> Vector:
    return -problem().gradient(optimum())


def test_e10_the_printed_averages_fail_at_the_first_step_from_the_optimum() -> None:
    eta, rho = 1e-3, 100.0
    start = State(optimum(), optimum(), dual_optimum())
    bound = corrected_bound(np.array([1.0]), eta, start, rho, sigma=0.0)[0]
    gap, _ = one_step(start, eta, rho)
    assert gap <= bound
    # Printed: (1/k) sum over i = 1..k-1, which at k = 1 is 0 whatever the iterates are.
    nothing = np.zeros(P)
    printed = float(bounded_quantity(Averages(nothing, nothing, nothing)))
    assert printed > 10 * bound


def test_e9_the_printed_distance_fails_from_the_dual_optimum() -> None:
    eta, rho = 1e-3, 10.0
    best = optimum()
    start = State(best, best + 100.0, dual_optimum())
    gap, _ = one_step(start, eta, rho)
    assert gap <= corrected_bound(np.array([1.0]), eta, start, rho, sigma=0.0)[0]
    dual_distance = np.linalg.norm(start.y - dual_optimum())  # the printed d_{y*}: 0 here
    printed = eta * C**2 / 2 + 0.0 + rho * dual_distance**2 / 2 + (BETA + np.linalg.norm(start.y)) ** 2 / (2 * rho)
    assert gap > 10 * printed


def test_e14_the_printed_dual_term_fails_from_another_dual() -> None:
    eta, rho = 10.0, 0.05
    start = State(optimum(), optimum(), np.array([3.0, 0.0, -3.0]))
    gap, _ = one_step(start, eta, rho)
    assert gap <= corrected_bound(np.array([1.0]), eta, start, rho, sigma=0.0)[0]
    assert gap > 10 * BETA**2 / (2 * rho)
