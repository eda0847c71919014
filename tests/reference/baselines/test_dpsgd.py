"""Proximal DP-SGD: the printed update, and the sensitivity its accounting rests on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from reference.arithmetic import NumberSystem
from reference.baselines.dpsgd import dpsgd
from reference.dataset import Dataset
from reference.errors import InvalidParameter, NotFinite
from reference.losses import HuberizedHinge, Loss
from reference.problem import Problem, State
from reference.randomness import Seeded
from reference.regularizers import L1
from tests.reference.baselines.enclosure import require_enclosed
from tests.reference.baselines.hard import (
    LOSSES,
    neighbours_at_random,
    opposing_neighbours,
    problem_of,
    random_data,
    small_problem,
)

ROUNDING = 1e-12  # relative; a step is a dozen operations on numbers of order one, each within 1.2e-16


def one_step(problem: Problem, x: np.ndarray, batch: list[int], eta: float) -> np.ndarray:
    start = State(x, x, np.zeros_like(x))
    silence = [np.zeros_like(x)]
    return next(dpsgd(problem, start, step_sizes=[eta], batches=[np.array(batch)], noise=silence)).x


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_each_step_is_the_printed_update_record_by_record(loss: Loss) -> None:
    data = random_data(3, 10, 4)
    problem = problem_of(data, loss, regularizer=L1(0.07))
    draws = Seeded(5)
    etas = [0.5, 1.5, 0.25, 2.0]
    batches, noise = list(draws.batches(10, 3, 4)), list(draws.noise(5, 0.2, 4))
    states = dpsgd(problem, State.zero(5), step_sizes=etas, batches=batches, noise=noise)
    x = np.zeros(5)
    for state, eta, batch, gamma in zip(states, etas, batches, noise, strict=True):
        g = np.zeros(5)
        for i in batch:
            s, label = data.features[i], data.labels[i]
            g += float(loss.slope(np.array([label * float(x @ s)]))[0]) * label * s / 3
        moved = x - eta * (g + gamma)
        x = np.sign(moved) * np.maximum(np.abs(moved) - 0.07 * eta, 0.0)
        np.testing.assert_allclose(state.x, x, rtol=0, atol=ROUNDING)
        np.testing.assert_array_equal(state.z, state.x)
        np.testing.assert_array_equal(state.y, 0)


def test_an_endless_schedule_ends_with_the_batches() -> None:
    problem, draws = small_problem(HuberizedHinge()), Seeded(5)
    batches, noise = list(draws.batches(12, 3, 4)), list(draws.noise(4, 0.2, 4))
    states = dpsgd(problem, State.zero(4), step_sizes=itertools.repeat(0.5), batches=batches, noise=noise)
    assert sum(1 for _ in states) == 4


@pytest.mark.parametrize("clip", [None, 0.3])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_balls_hold_the_float_run_and_the_sixty_digit_run(loss: Loss, clip: float | None) -> None:
    problem = small_problem(loss, clip=clip)
    draws = Seeded(2)
    batches, noise = list(draws.batches(12, 4, 5)), list(draws.noise(4, 0.1, 5))

    def run(system: NumberSystem) -> Iterator[State]:
        return dpsgd(
            problem.in_system(system),
            State.zero(4).in_system(system),
            step_sizes=[1.0, 0.5, 0.7, 0.3, 2.0],
            batches=batches,
            noise=[system.array(gamma) for gamma in noise],
        )

    require_enclosed(run, widest=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_one_record_moves_the_step_by_eta_times_two_c_over_m(loss: Loss) -> None:
    data, other, start = opposing_neighbours(8)
    eta, m = 1.5, 4
    moved = [one_step(problem_of(d, loss), start, [0, 3, 5, 6], eta) for d in (data, other)]
    reached = float(np.linalg.norm(moved[0] - moved[1]))
    bound = eta * 2 / m
    assert 0.999 * bound <= reached <= bound * (1 + 1e-9)  # beside coordinates of 1e6, 1e-16 of them is 1e-10


def test_the_hinge_reaches_the_bound_exactly_from_zero() -> None:
    row = np.array([0.6, 0.8])
    data = Dataset.of(np.tile(row, (5, 1)), np.ones(5))
    other = data.replace(0, -row, 1.0)
    moved = [one_step(problem_of(d, HuberizedHinge()), np.zeros(2), [0, 1], 1.0) for d in (data, other)]
    assert np.linalg.norm(moved[0] - moved[1]) == pytest.approx(2 / 2, rel=ROUNDING)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("clip", [None, 0.4])
def test_no_neighbours_move_a_step_further_than_the_bound(loss: Loss, clip: float | None) -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        data, other = neighbours_at_random(rng, 6)
        m, eta = int(rng.integers(1, 7)), float(10 ** rng.uniform(-2, 1))
        batch = [0, *rng.choice(np.arange(1, 6), size=m - 1, replace=False).tolist()]
        x = rng.normal(size=data.dimension) * 10 ** rng.uniform(-1, 3)
        reg = L1(float(10 ** rng.uniform(-4, 0)))
        moved = [one_step(problem_of(d, loss, regularizer=reg, clip=clip), x, batch, eta) for d in (data, other)]
        bound = eta * 2 * (1.0 if clip is None else clip) / m
        assert np.linalg.norm(moved[0] - moved[1]) <= bound + ROUNDING * (1 + np.abs(x).max())


def test_the_bound_of_one_c_is_refuted() -> None:
    """The mistake of accounting replace-one neighbours with C/m, as add-or-remove analyses do."""
    data, other, start = opposing_neighbours(8)
    moved = [one_step(problem_of(d, LOSSES[0]), start, [0, 1], 1.0) for d in (data, other)]
    assert np.linalg.norm(moved[0] - moved[1]) > 1.9 * (1 / 2)


def test_a_start_of_another_dimension_is_refused() -> None:
    problem = small_problem(LOSSES[0])
    with pytest.raises(InvalidParameter, match="initial x must have 4 entries"):
        next(dpsgd(problem, State.zero(3), step_sizes=[1.0], batches=[np.array([0])], noise=[np.zeros(4)]))


def test_noise_that_overflows_is_never_released() -> None:
    problem = small_problem(LOSSES[0])
    noise = [np.full(4, np.inf)]
    with pytest.raises(NotFinite):
        next(dpsgd(problem, State.zero(4), step_sizes=[1.0], batches=[np.array([0])], noise=noise))
