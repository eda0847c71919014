from __future__ import annotations

import numpy as np
import pytest

from reference.arithmetic import Vector
from reference.errors import InvalidParameter, NotFinite
from reference.losses import LOSSES
from reference.mpadmm import ModelNoise, Release, mpadmm
from reference.outputs import Output, finish
from reference.problem import Problem, State
from reference.randomness import Seeded, model_noise
from reference.regularizers import L1
from reference.schedules import Constant, InverseSquareRoot, PerEpoch, steps
from reference.ssadmm import ssadmm
from tests.reference import naive
from tests.reference.small import small_data, small_problem

LAM, RHO, P, N, M, T = 0.05, 0.75, 6, 8, 3, 30
# Two orders of summation differ by some 40 roundings of numbers below 10 a step, 1e-14 in 30 steps; a wrong formula
# differs by a part of the step itself, 1e-2. Anything in between tells them apart; test_number_systems.py proves the
# first figure step by step.
CLOSE = 1e-11


def start() -> State:
    rng = np.random.default_rng(5)
    return State(*rng.normal(size=(3, P)))


def records() -> naive.Records:
    data = small_data()
    return [(row.tolist(), float(label)) for row, label in zip(data.features, data.labels, strict=True)]


def lists(state: State) -> tuple[naive.Point, naive.Point, naive.Point]:
    return state.x.tolist(), state.z.tolist(), state.y.tolist()


@pytest.mark.parametrize("clip", [None, 0.3])
@pytest.mark.parametrize("loss", LOSSES)
def test_ssadmm_is_algorithm_1(loss: str, clip: float | None) -> None:
    problem = small_problem(LOSSES[loss], L1(LAM), rho=RHO, clip=clip)
    etas = [*steps(PerEpoch(2.0, N, M), T)]
    batches, noise = [*Seeded(1).batches(N, M, T)], [*Seeded(1).noise(P, 0.3, T)]
    states = [*ssadmm(problem, start(), step_sizes=etas, batches=batches, noise=noise)]
    x, z, y = lists(start())
    data = records()
    for state, eta, batch, gamma in zip(states, etas, batches, noise, strict=True):
        g = naive.plus(naive.gradient(loss, x, [data[i] for i in batch], clip), gamma.tolist())
        x, z, y = naive.step(g, x, z, y, rho=RHO, eta=eta, lam=LAM)
        np.testing.assert_allclose(np.array(lists(state)), np.array([x, z, y]), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("release", Release, ids=lambda release: release.value)
@pytest.mark.parametrize("clip", [None, 0.3])
@pytest.mark.parametrize("loss", LOSSES)
def test_mpadmm_is_algorithm_2(loss: str, clip: float | None, release: Release) -> None:
    problem = small_problem(LOSSES[loss], L1(LAM), rho=RHO, clip=clip)
    etas = [*steps(InverseSquareRoot(3.0), T)]
    noise = [*model_noise(Seeded(2), P, 0.3, T, release)]
    states = [*mpadmm(problem, start(), step_sizes=etas, noise=noise, release=release)]
    x, z, y = lists(start())
    for state, eta, gamma in zip(states, etas, noise, strict=True):
        g = naive.gradient(loss, x, records(), clip)
        if release is Release.ALL:
            assert gamma.z is not None
            assert gamma.y is not None
            x, z, y = naive.step(g, x, z, y, rho=RHO, eta=eta, lam=LAM)
            x, z, y = (naive.plus(a, b.tolist()) for a, b in ((x, gamma.x), (z, gamma.z), (y, gamma.y)))
        else:
            x, _, _ = naive.step(g, x, z, y, rho=RHO, eta=eta, lam=LAM)
            x = naive.plus(x, gamma.x.tolist())
            z = [naive.soft(a + b / RHO, LAM / RHO) for a, b in zip(x, y, strict=True)]
            y = [b + RHO * (a - c) for a, b, c in zip(x, y, z, strict=True)]
        np.testing.assert_allclose(np.array(lists(state)), np.array([x, z, y]), rtol=0, atol=CLOSE)


def test_the_generator_stops_with_its_inputs() -> None:
    problem = small_problem()
    zero = np.zeros(P)
    states = ssadmm(problem, State.zero(P), step_sizes=[1.0] * 5, batches=[np.arange(2)] * 3, noise=[zero] * 4)
    assert len([*states]) == 3
    triple = ModelNoise(zero, zero, zero)
    for count, sizes in ((3, [1.0] * 5), (2, [1.0] * 2)):
        assert len([*mpadmm(problem, State.zero(P), step_sizes=sizes, noise=[triple] * 3)]) == count


@pytest.mark.parametrize("given", [{}, {"z": np.zeros(P)}, {"y": np.zeros(P)}])
def test_mpadmm_refuses_to_release_without_noise_for_all_three(given: dict[str, Vector]) -> None:
    run = mpadmm(small_problem(), State.zero(P), step_sizes=[1.0], noise=[ModelNoise(np.zeros(P), **given)])
    with pytest.raises(InvalidParameter, match="noise for z or y is missing"):
        next(run)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy warns of the overflow that is refused here
@pytest.mark.parametrize("bad", [np.inf, np.nan, 1.7e308])
def test_an_iterate_that_is_not_finite_is_never_yielded(bad: float) -> None:
    problem = small_problem()
    noise = np.full(P, bad)
    with pytest.raises(NotFinite, match="not finite"):
        next(ssadmm(problem, State.zero(P), step_sizes=[1e3], batches=[np.arange(2)], noise=[noise]))
    start_far = State(np.full(P, 1e308), np.zeros(P), np.zeros(P))
    with pytest.raises(NotFinite, match="not finite"):
        next(mpadmm(problem, start_far, step_sizes=[1e-3], noise=[ModelNoise(noise, noise, noise)]))


def test_the_initial_point_must_fit_and_be_finite() -> None:
    problem = small_problem()
    with pytest.raises(InvalidParameter, match=r"initial x must have 6 entries, got shape \(5,\)"):
        next(ssadmm(problem, State.zero(5), step_sizes=[1.0], batches=[np.arange(2)], noise=[np.zeros(P)]))
    infinite = State(np.zeros(P), np.full(P, np.inf), np.zeros(P))
    with pytest.raises(InvalidParameter, match="initial z must be finite"):
        next(mpadmm(problem, infinite, step_sizes=[1.0], noise=[]))


def test_outputs_are_the_last_the_sparse_and_the_averages() -> None:
    problem, begin = small_problem(), start()
    noise = [*Seeded(1).noise(P, 0.3, T)]
    batches = [*Seeded(1).batches(N, M, T)]
    states = [*ssadmm(problem, begin, step_sizes=steps(Constant(0.5), T), batches=batches, noise=noise)]
    finished = finish(begin, iter(states))
    assert finished.iterations == T
    assert finished.model(Output.LAST) is states[-1].x
    assert finished.model(Output.SPARSE) is states[-1].z
    xs, zs = np.array([begin.x, *(s.x for s in states)]), np.array([s.z for s in states])
    # Sums of 30 numbers below 10 in another order.
    np.testing.assert_allclose(finished.model(Output.AVERAGE), xs[:-1].mean(axis=0), rtol=0, atol=1e-13)
    np.testing.assert_allclose(finished.averages.x_after, xs[1:].mean(axis=0), rtol=0, atol=1e-13)
    np.testing.assert_allclose(finished.averages.z_after, zs.mean(axis=0), rtol=0, atol=1e-13)


def test_an_empty_run_has_no_output() -> None:
    with pytest.raises(InvalidParameter, match="at least one iteration"):
        finish(State.zero(2), [])


@pytest.mark.parametrize(("name", "value"), [("rho", 0.0), ("rho", -1.0), ("rho", np.inf), ("clip", 0.0)])
def test_the_problem_refuses_parameters_outside_their_domain(name: str, value: float) -> None:
    rho, clip = (value, None) if name == "rho" else (1.0, value)
    with pytest.raises(InvalidParameter, match=f"{name} must be finite and > 0, got {name}={value}"):
        Problem.of(small_data(), LOSSES["huber"], L1(LAM), rho=rho, clip=clip)


def test_the_gradient_bound_is_the_longest_record_or_the_clip() -> None:
    assert small_problem().gradient_bound == pytest.approx(1.0, abs=2.0**-52)
    assert small_problem(clip=0.25).gradient_bound == 0.25
    # A clip above the longest record changes nothing, and the bound says so.
    assert small_problem(clip=5.0).gradient_bound == pytest.approx(1.0, abs=2.0**-52)


def test_the_objective_by_hand() -> None:
    problem, x = small_problem(), start().x
    margins = [label * sum(a * b for a, b in zip(x, s, strict=True)) for s, label in records()]
    by_hand = sum(np.log1p(np.exp(-v)) for v in margins) / N + LAM * sum(abs(v) for v in x)
    assert problem.objective(x) == pytest.approx(by_hand, rel=1e-14)


def test_x_update_is_the_minimiser_of_the_linearised_lagrangian() -> None:
    problem, old = small_problem(), start()
    g = problem.gradient(old.x)
    eta = 0.4

    def lagrangian(x: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        gap = x - old.z
        return float(g @ x + (x - old.x) @ (x - old.x) / (2 * eta) + old.y @ gap + RHO / 2 * gap @ gap)

    zero = np.zeros(P)
    new = next(ssadmm(problem, old, step_sizes=[eta], batches=[np.arange(N)], noise=[zero])).x
    best = lagrangian(new)
    for direction in np.random.default_rng(0).normal(size=(20, P)):
        assert lagrangian(new + 1e-3 * direction) > best
