r"""One text in float64, with 60 digits, and in balls: the balls must hold the other two.

The ball run proves a tolerance for every iterate (issue "Must show" 3). It must be an enclosure (60 digits and every
binary64 evaluation inside), it must be narrow, and it must notice single precision and a wrong formula.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference.gradients as gradients_module
import reference.ssadmm as ssadmm_module
from reference.arithmetic import FLOAT64, NumberSystem, Scalar, Vector, balls, digits, number_system
from reference.arithmetic.in_balls import Ball
from reference.errors import InvalidParameter, NotExpressible, NotFinite
from reference.losses import LOSSES
from reference.mpadmm import ModelNoise, Release, mpadmm
from reference.problem import Problem, State
from reference.randomness import Seeded, model_noise
from reference.schedules import InverseSquareRoot, steps
from reference.ssadmm import ssadmm
from reference.vectorised import Show, mpadmm_many, ssadmm_many
from tests.reference.small import REGULARIZERS, small_problem

SEED, N, P, M, T, SIGMA = 17, 8, 6, 3, 5, 0.3
SCHEDULE = InverseSquareRoot(2.0)
ALGORITHMS = ["ssadmm", "mpadmm-all", "mpadmm-primal"]
IN_BALLS = [name for name in REGULARIZERS if name != "nuclear"]
# Enclosures of quantities of size 1 after 5 steps: wide enough for any order of summation, 1e-11 at most.
NARROW = 1e-11


def started() -> State:
    return State(*np.random.default_rng(2).normal(size=(3, P)))


def run_in(system: NumberSystem, problem: Problem, algorithm: str, run: int = 0) -> list[State]:
    """The same inputs, exactly, in any number system."""
    inside, begin = problem.in_system(system), started().in_system(system)
    draws, etas = Seeded(SEED, run), steps(SCHEDULE, T)
    if algorithm == "ssadmm":
        noise = (system.array(gamma) for gamma in draws.noise(P, SIGMA, T))
        return [*ssadmm(inside, begin, step_sizes=etas, batches=draws.batches(N, M, T), noise=noise)]
    release = Release(algorithm.removeprefix("mpadmm-"))
    gammas = (_noise_in(system, gamma) for gamma in model_noise(draws, P, SIGMA, T, release))
    return [*mpadmm(inside, begin, step_sizes=etas, noise=gammas, release=release)]


def _noise_in(system: NumberSystem, gamma: ModelNoise) -> ModelNoise:
    z = None if gamma.z is None else system.array(gamma.z)
    y = None if gamma.y is None else system.array(gamma.y)
    return ModelNoise(system.array(gamma.x), z, y)


def entries(states: list[State]) -> Iterator[object]:
    for state in states:
        for vector in (state.x, state.z, state.y):
            yield from vector.tolist()


def as_arb(value: object) -> flint.arb:
    """A float or a 60-digit number, exactly."""
    if isinstance(value, float):
        return flint.arb(value)
    sign, mantissa, exponent, _ = cast(mpmath.mpf, value)._mpf_  # a private context has a class of its own
    return flint.arb(-int(mantissa) if sign else int(mantissa)) * flint.arb(2) ** int(exponent)


def outside(enclosures: list[State], values: list[State]) -> int:
    """How many entries certainly or possibly escape their ball."""
    with flint.ctx.workprec(400):
        pairs = [*zip(entries(enclosures), entries(values), strict=True)]
        assert pairs
        return sum(not (isinstance(ball, Ball) and ball.contains(as_arb(value))) for ball, value in pairs)


def radius(enclosures: list[State]) -> float:
    return max(float(ball.arb.rad()) for ball in entries(enclosures) if isinstance(ball, Ball))


@pytest.mark.parametrize("clip", [None, 0.4], ids=["normalised", "clipped"])
@pytest.mark.parametrize("regularizer", IN_BALLS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_balls_hold_sixty_digits_and_float64(algorithm: str, loss: str, regularizer: str, clip: float | None) -> None:
    # SCAD and MCP need rho > 1/(a - 1) and 1/gamma, both below 0.75.
    problem = small_problem(LOSSES[loss], REGULARIZERS[regularizer], rho=0.75, clip=clip)
    enclosures = run_in(balls(), problem, algorithm)
    assert outside(enclosures, run_in(digits(60), problem, algorithm)) == 0
    assert outside(enclosures, run_in(FLOAT64, problem, algorithm)) == 0
    assert radius(enclosures) <= NARROW


@pytest.mark.parametrize("regularizer", IN_BALLS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_many_runs_at_once_stay_inside_the_balls_of_each_run(algorithm: str, loss: str, regularizer: str) -> None:
    problem = small_problem(LOSSES[loss], REGULARIZERS[regularizer], rho=0.75, clip=0.4)
    runs = range(3, 5)
    if algorithm == "ssadmm":
        many = ssadmm_many(
            problem, started(), schedule=SCHEDULE, batch=M, sigma=SIGMA, iterations=T, seed=SEED, runs=runs
        )
    else:
        release = Release(algorithm.removeprefix("mpadmm-"))
        many = mpadmm_many(
            problem, started(), schedule=SCHEDULE, sigma=SIGMA, epochs=T, release=release, seed=SEED, runs=runs
        )
    for row, run in enumerate(runs):
        states = [State(many.x[row, k], many.z[row, k], many.y[row, k]) for k in range(T)]
        assert outside(run_in(balls(), problem, algorithm, run), states) == 0


@pytest.mark.parametrize("ratio", [0, 1000], ids=["gathered", "scattered"])
def test_both_ways_to_many_gradients_stay_inside_the_balls(monkeypatch: pytest.MonkeyPatch, ratio: int) -> None:
    monkeypatch.setattr(gradients_module, "DENSE_RATIO", ratio)
    problem = small_problem(rho=0.75, clip=0.4)
    many = ssadmm_many(
        problem, started(), schedule=SCHEDULE, batch=M, sigma=SIGMA, iterations=T, seed=SEED, runs=range(3)
    )
    for run in range(3):
        states = [State(many.x[run, k], many.z[run, k], many.y[run, k]) for k in range(T)]
        assert outside(run_in(balls(), problem, "ssadmm", run), states) == 0


@pytest.mark.parametrize("clip", [None, 0.4])
def test_many_gradients_are_those_of_each_point_and_batch_and_refused_where_not_finite(clip: float | None) -> None:
    problem, rng = small_problem(clip=clip), np.random.default_rng(5)
    x = rng.normal(size=(4, P))
    batches = np.stack([rng.choice(problem.records, M, replace=False) for _ in range(4)])
    some, every = gradients_module.batch_gradients(problem, x, batches), gradients_module.full_gradients(problem, x)
    for row in range(4):
        np.testing.assert_allclose(some[row], problem.gradient(x[row], batches[row]), rtol=0, atol=1e-14)
        np.testing.assert_allclose(every[row], problem.gradient(x[row]), rtol=0, atol=1e-14)
    x[2, 0] = np.nan
    with pytest.raises(NotFinite, match="gradient"):
        gradients_module.batch_gradients(problem, x, batches)
    with pytest.raises(NotFinite, match="gradient"):
        gradients_module.full_gradients(problem, x)


@pytest.mark.parametrize("runs", [range(0), range(0, 4, 2), range(-1, 3)])
def test_runs_must_be_consecutive_from_zero_on(runs: range) -> None:
    with pytest.raises(InvalidParameter, match="runs must be consecutive, from 0 on, at least one"):
        ssadmm_many(
            small_problem(), started(), schedule=SCHEDULE, batch=M, sigma=SIGMA, iterations=T, seed=SEED, runs=runs
        )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy warns of the overflow that is refused here
def test_many_refuses_iterates_that_are_not_finite() -> None:
    problem = small_problem()
    far = State(np.full(P, 1e308), np.full(P, 1e308), np.zeros(P))
    with pytest.raises(NotFinite, match="not finite"):
        ssadmm_many(problem, far, schedule=SCHEDULE, batch=M, sigma=SIGMA, iterations=T, seed=SEED, runs=range(3))
    with pytest.raises(NotFinite, match="not finite"):
        mpadmm_many(
            problem,
            State.zero(P),
            schedule=SCHEDULE,
            sigma=1e308,
            epochs=1,
            release=Release.ALL,
            seed=SEED,
            runs=range(50),
        )


@given(st.integers(0, 2**32))
def test_choosing_by_bits_is_choosing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask = rng.random((70, 64)) < 0.5
    a = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.0, -1e308], size=mask.shape)
    # a scalar, and a row that is chosen again and again: both smaller than the mask
    for first, second in ((a, a[::-1]), (a, 1.0), (a, -0.0), (1.0, -0.0), (a[0], a[1]), (a[0], 2.0)):
        chosen = FLOAT64.where(mask, first, second)
        assert chosen.tobytes() == np.where(mask, first, second).tobytes()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_nuclear_norm_agrees_between_float64_and_sixty_digits(loss: str, algorithm: str) -> None:
    problem = small_problem(LOSSES[loss], REGULARIZERS["nuclear"], rho=0.75)
    in_float, in_digits = (run_in(system, problem, algorithm) for system in (FLOAT64, digits(60)))
    difference = max(
        abs(float(str(exact)) - float(str(value)))
        for exact, value in zip(entries(in_digits), entries(in_float), strict=True)
    )
    # The singular value decomposition is backward stable and the proximal map nonexpansive: some p^2 = 36 roundings of
    # numbers below 4 a step.
    assert 0 < difference <= 36 * 4 * T * 2.0**-52
    with pytest.raises(NotExpressible, match="balls have none"):
        run_in(balls(), problem, algorithm)


def test_single_precision_falls_outside() -> None:
    problem = small_problem(rho=0.75)
    single = [
        State(*(vector.astype(np.float32).astype(np.float64) for vector in (s.x, s.z, s.y)))
        for s in run_in(FLOAT64, problem, "ssadmm")
    ]
    # Every entry that single precision cannot hold escapes; those at a soft threshold (z = 0) are the exception.
    assert outside(run_in(balls(), problem, "ssadmm"), single) > 0.8 * T * 2 * P


def printed_x_update(g: Vector, x: Vector, z: Vector, y: Vector, *, rho: Scalar, eta: Scalar) -> Vector:
    """A wrong formula: the denominator 1/eta + rho replaced by 1 + eta rho, as in the paper's sensitivity (E1)."""
    return (-g - y + rho * z + x / eta) / (1 + eta * rho)


def stale_dual(y: Vector, x: Vector, z: Vector, *, rho: Scalar) -> Vector:
    """A wrong formula: the dual moves by x - z without rho."""
    return y + (x - z) + 0 * rho


@pytest.mark.parametrize(("name", "wrong"), [("update_x", printed_x_update), ("update_y", stale_dual)])
def test_a_wrong_formula_falls_outside(monkeypatch: pytest.MonkeyPatch, name: str, wrong: object) -> None:
    problem = small_problem(rho=0.75)
    enclosures = run_in(balls(), problem, "ssadmm")
    monkeypatch.setattr(ssadmm_module, name, wrong)
    assert outside(enclosures, run_in(FLOAT64, problem, "ssadmm")) > T * P


def test_an_error_of_1e_11_falls_outside() -> None:
    # The balls are honest about binary64, not generous.
    problem = small_problem(rho=0.75)
    shifted = [State(s.x * (1 + 1e-11), s.z, s.y) for s in run_in(FLOAT64, problem, "ssadmm")]
    assert outside(run_in(balls(), problem, "ssadmm"), shifted) > 0


@pytest.mark.parametrize("loss", LOSSES)
def test_objectives_agree_in_all_three(loss: str) -> None:
    for regularizer in IN_BALLS:
        problem = small_problem(LOSSES[loss], REGULARIZERS[regularizer], rho=0.75)
        values = {}
        for system in (FLOAT64, digits(60), balls()):
            values[system.name] = problem.in_system(system).objective(started().in_system(system).x)
        enclosure = values["balls"]
        assert isinstance(enclosure, Ball)
        with flint.ctx.workprec(400):
            assert enclosure.contains(as_arb(values["60 digits"]))
            assert enclosure.contains(as_arb(float(values["float64"])))


def test_values_exactly_at_a_threshold_are_enclosed_on_both_sides() -> None:
    lam_over_rho = REGULARIZERS["l1"].prox(np.array([1.0]), 1.0)  # 1 - lambda
    assert lam_over_rho[0] == 0.95
    system = balls()
    for name in IN_BALLS:
        for at in (0.05, -0.05, 0.1, 0.15, 0.185, 0.0, 5e-324):
            z = REGULARIZERS[name].prox(np.full(P, at), 1.0)
            ball = REGULARIZERS[name].prox(system.array(np.full(P, at)), system.scalar(1.0))
            assert number_system(ball).name == "balls"
            assert all(b.contains(flint.arb(float(v))) for b, v in zip(ball, z, strict=True))


def test_many_shows_the_last_iterate_alone_when_asked() -> None:
    problem = small_problem()
    whole, last = (
        ssadmm_many(
            problem,
            started(),
            schedule=SCHEDULE,
            batch=M,
            sigma=SIGMA,
            iterations=T,
            seed=SEED,
            runs=range(2000),
            show=show,
        )
        for show in Show
    )
    assert whole.x.shape == (2000, T, P)
    assert last.x.shape == (2000, 1, P)
    assert np.array_equal(whole.x[:, -1:], last.x)
    assert np.array_equal(whole.y[:, -1:], last.y)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (2, 3, 0)])
def test_a_norm_over_no_coordinates_is_zero_for_each_of_the_others(shape: tuple[int, ...]) -> None:
    np.testing.assert_array_equal(FLOAT64.norm(np.ones(shape)), np.zeros(shape[:-1]))


@pytest.mark.parametrize("spread", [0, 90, 700])
def test_norms_of_ordinary_rows_have_the_bits_of_scaled_ones(spread: int) -> None:
    """Rows whose squares neither over- nor underflow are not scaled: it would change no bit."""
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((400, 37)) * 2.0 ** rng.integers(-200, 200, (400, 1))
    rows *= 2.0 ** rng.integers(-spread, 1, rows.shape)
    rows[0] = 0.0
    exponent = np.frexp(np.abs(rows).max(axis=1, keepdims=True))[1]
    scaled = np.ldexp(rows, -exponent)
    wanted = np.ldexp(np.sqrt(np.sum(scaled * scaled, axis=1)), exponent[:, 0])
    np.testing.assert_array_equal(FLOAT64.norm(rows), wanted)


@pytest.mark.parametrize("size", [2.0**-1000, 2.0**-500, 2.0**500, 2.0**1000])
def test_norms_near_both_ends_of_binary64_neither_vanish_nor_overflow(size: float) -> None:
    rows = np.array([[3.0, 4.0], [0.3, 0.4]]) * size
    np.testing.assert_allclose(FLOAT64.norm(rows) / size, [5.0, 0.5], rtol=1e-15)
