"""Batches at the true n and m: the stated level by simulation, and samplers that are wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from verification.deployment.batch_tests import Table, batch_sightings, chernoff

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
    found = batch_sightings("here", table(draw, rng, where), where, records=N, batch=M)
    return {sighting.name: sighting.p_value for sighting in found}


def test_honest_batches_alarm_at_most_as_often_as_stated() -> None:
    rng = np.random.default_rng(1)
    alarms = dict.fromkeys(("batch-rate here", "batch-fresh here"), 0)
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
    assert p_values(draw, np.random.default_rng(12))["batch-rate here"] <= 1e-9


def test_strata_which_cost_nothing_are_not_accused() -> None:
    found = p_values(strata, np.random.default_rng(13))
    assert min(found.values()) > 1e-6, found


def test_batches_of_another_request_are_not_the_same() -> None:
    rng = np.random.default_rng(14)
    where = places(rng)
    first, other = table(honest, rng, where), table(honest, rng, where)
    for again, alarms in ((first[:, :128], True), (other[:, :128], False)):
        found = batch_sightings("here", first, where, records=N, batch=M, again=again)
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


WRONG: dict[str, tuple[Callable[[], Draw], str]] = {
    "first records": (lambda: lambda _rng, _k: np.arange(M), "batch-rate here"),
    "first half": (lambda: lambda rng, _k: rng.choice(N // 2, M, replace=False), "batch-rate here"),
    "last records never": (lambda: lambda rng, _k: rng.choice(N - 50, M, replace=False), "batch-rate here"),
    "shuffled epochs": (shuffled, "batch-fresh here"),
    "each batch twice": (lambda: kept(2), "batch-fresh here"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_batches_are_detected(name: str) -> None:
    make, test = WRONG[name]
    assert p_values(make(), np.random.default_rng(2))[test] <= 1e-6


def test_the_bound_is_a_bound() -> None:
    for count in (0, 3, 10, 40):
        exact = 2 * min(stats.binom.cdf(count, 200, 0.05), stats.binom.sf(count - 1, 200, 0.05))
        assert chernoff(count, 200, 0.05) >= min(1.0, float(exact)) * (1 - 1e-12)
