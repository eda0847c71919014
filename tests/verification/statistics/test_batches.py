"""Batches at the true n and m: the stated level by simulation, and samplers that are wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from verification.statistics.batches import PartCounts, Table, batch_tests, chernoff

N, M, T, MARKS = 2000, 100, 400, 30
LEVEL, SIMULATIONS = 0.05, 150
Draw = Callable[[np.random.Generator, int], np.ndarray[tuple[int, ...], np.dtype[np.intp]]]


def table(draw: Draw, rng: np.random.Generator, places: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Table:
    held = np.zeros((1, T, N), dtype=np.bool_)
    for k in range(T):
        held[0, k, draw(rng, k)] = True
    return held[:, :, places]


def honest(rng: np.random.Generator, _: int) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    return rng.choice(N, M, replace=False)


def places(rng: np.random.Generator) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    return np.concatenate([[0, 1, N - 2, N - 1], rng.permutation(np.arange(2, N - 2))[: MARKS - 4]])


def p_values(draw: Draw, rng: np.random.Generator) -> dict[str, float]:
    where = places(rng)
    found = batch_tests(table(draw, rng, where), where, records=N, batch=M)
    return {test.name: test.p_value for test in found}


def test_honest_batches_alarm_at_most_as_often_as_stated() -> None:
    rng = np.random.default_rng(1)
    alarms = dict.fromkeys(("batch-rate", "batch-fresh"), 0)
    for _ in range(SIMULATIONS):
        for name, value in p_values(honest, rng).items():
            alarms[name] += value <= LEVEL
    assert max(alarms.values()) <= int(stats.binom.isf(1e-6, SIMULATIONS, LEVEL)), alarms


def windows(rng: np.random.Generator, _: int) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    return (rng.integers(N) + np.arange(M)) % N


def chunks_of_four(rng: np.random.Generator, _: int) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    return (rng.choice(N // 4, M // 4, replace=False)[:, None] * 4 + np.arange(4)).ravel()


def strata(rng: np.random.Generator, _: int) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    return np.arange(M) * (N // M) + rng.integers(N // M, size=M)


@pytest.mark.parametrize("draw", [windows, chunks_of_four])
def test_records_that_come_together_are_detected(draw: Draw) -> None:
    assert p_values(draw, np.random.default_rng(12))["batch-rate"] <= 1e-9


def test_strata_which_cost_nothing_are_not_accused() -> None:
    found = p_values(strata, np.random.default_rng(13))
    assert min(found.values()) > 1e-6, found


def test_batches_of_another_request_are_not_the_same() -> None:
    rng = np.random.default_rng(14)
    where = places(rng)
    first, other = table(honest, rng, where), table(honest, rng, where)
    for again, alarms in ((first[:, :128], True), (other[:, :128], False)):
        found = batch_tests(first, where, records=N, batch=M, again=again)
        (fresh,) = [s.p_value for s in found if s.name.startswith("batch-fresh")]
        assert (fresh <= 1e-9) == alarms


def shuffled() -> Draw:
    order: list[int] = []

    def draw(rng: np.random.Generator, _: int) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        if len(order) < M:
            order[:] = rng.permutation(N).tolist()
        batch = order[:M]
        del order[:M]
        return np.array(batch)

    return draw


def kept(times: int) -> Draw:
    last: list[np.ndarray[tuple[int, ...], np.dtype[np.intp]]] = []

    def draw(rng: np.random.Generator, k: int) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        if k % times == 0:
            last[:] = [honest(rng, k)]
        return last[0]

    return draw


def first_epoch_shuffled() -> Draw:
    epoch = shuffled()
    return lambda rng, k: epoch(rng, k) if k < N // M else honest(rng, k)


def from_a_random_part(share: float) -> Draw:
    part: list[int] = []

    def draw(rng: np.random.Generator, _: int) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        if not part:
            part[:] = rng.permutation(N)[: int(share * N)].tolist()
        return rng.choice(np.array(part), M, replace=False)

    return draw


def test_a_first_epoch_that_is_shuffled_is_detected() -> None:
    rng = np.random.default_rng(17)
    where = places(rng)
    for make, alarms in ((first_epoch_shuffled, True), (lambda: honest, False)):
        held = np.concatenate([table(make(), rng, where) for _ in range(4)])
        found = batch_tests(held, where, records=N, batch=M)
        assert (found[1].p_value <= 1e-9) == alarms, found[1].detail


def smaller(rng: np.random.Generator, _: int) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    return rng.choice(N, rng.integers(M // 2, M), replace=False)


def test_smaller_batches_cost_nothing_and_preferred_records_in_them_do() -> None:
    rng = np.random.default_rng(15)
    where = places(rng)
    for draw, alarms in ((smaller, False), (lambda rng, _k: rng.choice(N // 4, M // 2, replace=False), True)):
        held = table(draw, rng, where)
        found = batch_tests(held, where, records=N, batch=M, short=True)
        assert (min(s.p_value for s in found) <= 1e-6) == alarms


def test_a_sampler_that_looks_at_the_label_is_detected() -> None:
    rng = np.random.default_rng(16)
    where, positive = places(rng), rng.random(N) < 0.25
    yes, no = np.flatnonzero(positive), np.flatnonzero(~positive)
    groups = {"positive": positive[where], "negative": ~positive[where]}

    def balanced(rng: np.random.Generator, _: int) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        return np.concatenate([rng.choice(each, M // 2, replace=False) for each in (yes, no)])

    for draw, alarms in ((balanced, True), (honest, False)):
        found = batch_tests(table(draw, rng, where), where, records=N, batch=M, groups=groups)
        assert (found[0].p_value <= 1e-9) == alarms, found[0].detail


WRONG: dict[str, tuple[Callable[[], Draw], str]] = {
    "first records": (lambda: lambda _rng, _k: np.arange(M), "batch-rate"),
    "first half": (lambda: lambda rng, _k: rng.choice(N // 2, M, replace=False), "batch-rate"),
    "last records never": (lambda: lambda rng, _k: rng.choice(N - 50, M, replace=False), "batch-rate"),
    "shuffled epochs": (shuffled, "batch-fresh"),
    "each batch twice": (lambda: kept(2), "batch-fresh"),
    "a random half of the records": (lambda: from_a_random_part(0.5), "batch-rate"),
    "all but a random tenth": (lambda: from_a_random_part(0.9), "batch-rate"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_batches_are_detected(name: str) -> None:
    make, test = WRONG[name]
    assert p_values(make(), np.random.default_rng(2))[test] <= 1e-6


def test_the_bound_is_a_bound() -> None:
    for count in (0, 3, 10, 40):
        exact = 2 * min(stats.binom.cdf(count, 200, 0.05), stats.binom.sf(count - 1, 200, 0.05))
        assert chernoff(count, 200, 0.05) >= min(1.0, float(exact)) * (1 - 1e-12)


def test_a_part_that_comes_a_little_too_often_is_detected() -> None:
    rng = np.random.default_rng(31)
    where, records = places(rng), np.full(4, N // 4)
    held = table(honest, rng, where)

    def found(came: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> float:
        parts = PartCounts(came, records)
        return batch_tests(held, where, records=N, batch=M, parts=parts)[0].p_value

    fair = np.array([rng.hypergeometric(N // 4, 3 * N // 4, M, T).sum() for _ in range(4)])
    assert found(fair) > 1e-6
    assert found(fair + np.array([T * M // 40, 0, 0, 0])) <= 1e-9
