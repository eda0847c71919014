"""DP-ADMM: parties, their consensus, and what one party's record can move."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from reference.arithmetic import NumberSystem
from reference.baselines.dpadmm import Consensus, dpadmm, initial_state, party_noise, split
from reference.baselines.dpsgd import dpsgd
from reference.baselines.optimum import optimum
from reference.errors import InvalidParameter
from reference.losses import Logistic, Loss
from reference.problem import State
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

EITHER = pytest.mark.parametrize("consensus", list(Consensus), ids=lambda consensus: consensus.value)


def silence(parties: int, dimension: int, rounds: int) -> list[np.ndarray]:
    return [np.zeros((parties, dimension))] * rounds


@EITHER
def test_rounds_are_the_printed_updates_party_by_party(consensus: Consensus) -> None:
    lam, rho, eta = 0.03, 0.4, 1.7
    data = random_data(4, 11, 2)
    problem = problem_of(data, Logistic(), regularizer=L1(lam), rho=rho)
    parties = split(problem, 3)
    assert [party.records for party in parties] == [4, 4, 3]
    noise = list(party_noise(Seeded(9), [0.1, 0.2, 0.3], 3, 4))
    states = dpadmm(parties, initial_state(3, 3), step_sizes=[eta] * 4, noise=noise, consensus=consensus)
    x, y, z = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(3)
    rows = data.features * data.labels[:, None]
    blocks = [rows[:4], rows[4:8], rows[8:]]
    for state, gamma in zip(states, noise, strict=True):
        for i, block in enumerate(blocks):
            g = np.mean([-u / (1 + np.exp(u @ x[i])) for u in block], axis=0)
            x[i] = (-g - y[i] + rho * z + x[i] / eta) / (rho + 1 / eta) + gamma[i]
            if consensus is Consensus.PLAIN:
                x[i] = np.sign(x[i]) * np.maximum(np.abs(x[i]) - lam / (rho + 1 / eta), 0)
        z = sum(len(block) / 11 * (x[i] + y[i] / rho) for i, block in enumerate(blocks))
        if consensus is Consensus.PROXIMAL:
            z = np.sign(z) * np.maximum(np.abs(z) - lam / rho, 0)
        y = y + rho * (x - z)
        for got, expected in ((state.x, x), (state.z, z), (state.y, y)):
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


def test_an_endless_schedule_ends_with_the_noise() -> None:
    parties = split(small_problem(Logistic()), 2)
    states = dpadmm(parties, initial_state(2, 4), step_sizes=itertools.repeat(0.5), noise=silence(2, 4, 3))
    assert sum(1 for _ in states) == 3


@EITHER
def test_balls_hold_the_float_run_and_the_sixty_digit_run(consensus: Consensus) -> None:
    parties = split(small_problem(Logistic()), 2)
    noise = list(party_noise(Seeded(3), [0.1, 0.1], 4, 4))

    def run(system: NumberSystem) -> Iterator[State]:
        return dpadmm(
            [party.in_system(system) for party in parties],
            initial_state(2, 4).in_system(system),
            step_sizes=[1.0, 0.5, 2.0, 0.5],
            noise=[system.array(gamma) for gamma in noise],
            consensus=consensus,
        )

    require_enclosed(run, widest=1e-11)


@pytest.mark.parametrize("parties", [1, 2, 3, pytest.param(5, marks=pytest.mark.slow)])
@EITHER
def test_without_noise_any_number_of_parties_reaches_the_optimum_of_all_records(
    parties: int, consensus: Consensus
) -> None:
    problem = problem_of(random_data(8, 31, 3), Logistic(), regularizer=L1(0.02), rho=0.1)
    rounds = 4000
    states = dpadmm(
        split(problem, parties),
        initial_state(parties, 4),
        step_sizes=[4.0] * rounds,
        noise=silence(parties, 4, rounds),
        consensus=consensus,
    )
    *_, last = states
    best = optimum(problem)
    assert problem.objective(last.z) == pytest.approx(best.objective, abs=1e-9)
    np.testing.assert_allclose(last.z, best.x, atol=1e-4)


def test_dividing_the_threshold_by_the_parties_solves_another_problem() -> None:
    """lambda/(N rho) would solve lambda/N; the optimum's objective tells them apart."""
    data = random_data(8, 30, 3)
    right = problem_of(data, Logistic(), regularizer=L1(0.02), rho=0.1)
    wrong = problem_of(data, Logistic(), regularizer=L1(0.02 / 2), rho=0.1)
    *_, last = dpadmm(split(wrong, 2), initial_state(2, 4), step_sizes=[4.0] * 4000, noise=silence(2, 4, 4000))
    assert right.objective(last.z) > optimum(right).objective + 1e-5


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_one_party_under_plain_averaging_is_dpsgd_on_all_records(loss: Loss) -> None:
    problem = problem_of(random_data(5, 9, 3), loss, regularizer=L1(0.05), rho=0.3)
    etas, rounds = [1.0, 0.4, 2.5, 0.7], 4
    noise = list(party_noise(Seeded(1), [0.2], 4, rounds))
    shared = dpadmm(split(problem, 1), initial_state(1, 4), step_sizes=etas, noise=noise, consensus=Consensus.PLAIN)
    steps = [eta / (1 + eta * 0.3) for eta in etas]
    alone = dpsgd(
        problem,
        State.zero(4),
        step_sizes=steps,
        batches=[np.arange(9)] * rounds,
        noise=[-gamma[0] / s for gamma, s in zip(noise, steps, strict=True)],
    )
    for a, b in zip(shared, alone, strict=True):
        np.testing.assert_allclose(a.x[0], b.x, rtol=0, atol=1e-13)
        np.testing.assert_allclose(a.y, 0, rtol=0, atol=1e-13)


def test_one_party_under_proximal_consensus_is_not_dpsgd() -> None:
    problem = problem_of(random_data(5, 9, 3), Logistic(), regularizer=L1(0.05), rho=0.3)
    noise = silence(1, 4, 3)
    *_, shared = dpadmm(split(problem, 1), initial_state(1, 4), step_sizes=[1.0] * 3, noise=noise)
    batches = [np.arange(9)] * 3
    *_, alone = dpsgd(problem, State.zero(4), step_sizes=[1 / 1.3] * 3, batches=batches, noise=[np.zeros(4)] * 3)
    assert np.abs(shared.x[0] - alone.x).max() > 1e-3


@pytest.mark.parametrize("eta", [0.5, 4.0])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_one_record_moves_its_own_party_by_the_stated_bound_and_no_other(loss: Loss, eta: float) -> None:
    rho, per_party = 0.5, 5
    data, other, start = opposing_neighbours(2 * per_party)
    begin = State(np.stack([start, start]), start, np.zeros((2, 2)))
    moved = []
    for d in (data, other):
        parties = split(problem_of(d, loss, rho=rho), 2)
        moved.append(next(dpadmm(parties, begin, step_sizes=[eta], noise=silence(2, 2, 1))).x)
    reached = np.linalg.norm(moved[0] - moved[1], axis=1)
    bound = 2 * eta / (per_party * (1 + eta * rho))
    assert 0.999 * bound <= reached[0] <= bound * (1 + 1e-9)
    assert reached[1] == 0


@EITHER
def test_no_neighbours_move_a_party_further_than_the_bound(consensus: Consensus) -> None:
    rng = np.random.default_rng(11)
    for _ in range(200):
        data, other = neighbours_at_random(rng, 7)
        loss, rho, eta = LOSSES[int(rng.integers(2))], float(10 ** rng.uniform(-2, 1)), float(10 ** rng.uniform(-2, 1))
        count, p = int(rng.integers(1, 4)), data.dimension
        begin = State(rng.normal(size=(count, p)), rng.normal(size=p), rng.normal(size=(count, p)))
        moved = []
        for d in (data, other):
            parties = split(problem_of(d, loss, regularizer=L1(0.1), rho=rho), count)
            round_ = dpadmm(parties, begin, step_sizes=[eta], noise=silence(count, p, 1), consensus=consensus)
            moved.append(next(round_).x)
        bound = 2 * eta / (parties[0].records * (1 + eta * rho))
        reached = np.linalg.norm(moved[0] - moved[1], axis=1)
        assert reached[0] <= bound * (1 + 1e-12) + 1e-13
        assert not reached[1:].any()


def test_parties_that_do_not_fit_together_are_refused() -> None:
    problem = small_problem(Logistic())
    with pytest.raises(InvalidParameter, match="parties must be at most 12"):
        split(problem, 13)
    with pytest.raises(InvalidParameter, match="initial x must have one row a party"):
        next(dpadmm(split(problem, 2), initial_state(3, 4), step_sizes=[1.0], noise=silence(3, 4, 1)))
    stranger = problem_of(random_data(1, 4, 3), Logistic(), rho=0.9)
    with pytest.raises(InvalidParameter, match="party 1 must share"):
        next(dpadmm([problem, stranger], initial_state(2, 4), step_sizes=[1.0], noise=silence(2, 4, 1)))
    with pytest.raises(InvalidParameter, match="at least one"):
        next(dpadmm([], initial_state(1, 4), step_sizes=[1.0], noise=silence(1, 4, 1)))


def test_parties_draw_independent_noise_of_their_own_scale() -> None:
    draws = np.stack(list(party_noise(Seeded(3), [1.0, 10.0], 8, 2000)))
    # 16,000 entries a party: the sample deviation is within 5 sd = 5/sqrt(32,000) = 2.8 % (probability 6e-7 each).
    assert draws[:, 0].std() == pytest.approx(1.0, rel=0.028)
    assert draws[:, 1].std() == pytest.approx(10.0, rel=0.028)
    # Independent: a correlation of 16,000 pairs has sd 1/sqrt(16,000); 5 of them are 0.04.
    assert abs(np.corrcoef(draws[:, 0].ravel(), draws[:, 1].ravel())[0, 1]) < 0.04
