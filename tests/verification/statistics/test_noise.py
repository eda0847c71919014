"""Noise at the claimed size: the stated level by simulation, what is detected, and that size alone accuses nobody."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from verification.statistics.noise_shape import length_test, shape_tests, without_scale
from verification.statistics.noise_size import Grams, effective, interval, parts, size_tests
from verification.statistics.run_energies import RunEnergies
from verification.statistics.test import Cost, Test, union
from verification.wire.arrays import Floats

LEVEL = 0.02
SIMULATIONS = 400
DRAWS, COLUMNS = 64, 8


def normal(rng: np.random.Generator, runs: int = 1, draws: int = DRAWS, columns: int = COLUMNS) -> Floats:
    return rng.standard_normal((runs, draws, columns))


def by_name(noise: Floats, rng: np.random.Generator) -> dict[str, Test]:
    found = [*size_tests({"x": noise}), *shape_tests({"x": noise}, rng, grain=1e-14)]
    return {test.name: test for test in found}


def test_every_test_alarms_at_most_as_often_as_stated() -> None:
    """Seeded; beyond this many alarms of a true level of LEVEL there is a chance of 1e-6."""
    rng = np.random.default_rng(1)
    alarms: dict[str, int] = {}
    for _ in range(SIMULATIONS):
        for name, test in by_name(normal(rng), rng).items():
            alarms[name] = alarms.get(name, 0) + int(test.p_value <= LEVEL)
    allowed = int(stats.binom.isf(1e-6, SIMULATIONS, LEVEL))
    assert set(alarms) == {
        "noise-size",
        "noise-excess",
        "noise-law",
        "noise-shape",
        "noise-centring",
        "noise-independence",
        "noise-freshness",
        "noise-values-fresh",
    }
    assert max(alarms.values()) <= allowed, alarms


@pytest.mark.parametrize("scale", [0.01, 1.5, 40.0])
def test_size_alone_never_accuses_the_shape(scale: float) -> None:
    rng = np.random.default_rng(2)
    found = by_name(scale * normal(rng, draws=512), rng)
    for name, test in found.items():
        if name not in ("noise-size", "noise-excess"):
            assert test.p_value > 1e-6, (name, test)
    assert found["noise-excess"].cost is Cost.NOTHING
    assert (found["noise-size"].p_value <= 1e-9) == (scale < 1)
    assert (found["noise-excess"].p_value <= 1e-9) == (scale > 1)


def test_the_scale_is_taken_away_exactly() -> None:
    rng = np.random.default_rng(3)
    values = np.ravel(without_scale(7.0 * normal(rng, draws=4000), rng))
    assert stats.kstest(values, "norm").pvalue > 1e-6


LOST = np.random.default_rng(9).standard_normal(32)
LOST /= np.linalg.norm(LOST)


def _some_again(noise: Floats, one_in: int) -> Floats:
    values = noise.ravel().copy()
    values[::one_in] = values[7::one_in][: values[::one_in].size]
    return values.reshape(noise.shape)


WRONG: dict[str, tuple[Callable[[Floats], Floats], str]] = {
    "uniformly smaller": (lambda u: u / 1.2, "noise-size"),
    "decays": (lambda u: u * 0.998 ** np.arange(u.shape[1])[None, :, None], "noise-size"),
    "every fourth missing": (lambda u: np.where((np.arange(u.shape[1]) % 4 == 3)[None, :, None], 0.0, u), "noise-size"),
    "missing from 1000 on": (lambda u: np.where((np.arange(u.shape[1]) >= 1000)[None, :, None], 0.0, u), "noise-size"),
    "one iteration missing": (lambda u: np.where((np.arange(u.shape[1]) == 700)[None, :, None], 0.0, u), "noise-size"),
    "a coordinate quieter": (lambda u: u * np.where(np.arange(u.shape[2]) == 3, 0.8, 1.0), "noise-size"),
    "used again": (lambda u: u[:, np.arange(u.shape[1]) % 800], "noise-freshness"),
    "carried over": (lambda u: u + np.roll(u, 1, axis=1) * 0.2, "noise-independence"),
    "one draw for two coordinates": (lambda u: u[:, :, np.arange(u.shape[2]) // 2], "noise-independence"),
    "not centred": (lambda u: u + 0.1, "noise-centring"),
    "clamped": (lambda u: np.clip(u, -2.5, 2.5), "noise-shape"),
    "cut off at 3": (lambda u: np.clip(u, -3, 3), "noise-shape"),
    "centred over coordinates": (lambda u: (u - u.mean(axis=2, keepdims=True)) * np.sqrt(32 / 31), "noise-size"),
    "cancels over the run": (lambda u: (u - u.mean(axis=1, keepdims=True)) * np.sqrt(2210 / 2209), "noise-size"),
    "a direction missing": (lambda u: u - (u @ LOST)[..., None] * LOST, "noise-size"),
    "reversed and used again": (lambda u: np.concatenate([u, u[:, :, ::-1]], axis=1), "noise-values-fresh"),
    "in half precision": (lambda u: u.astype(np.float16).astype(np.float64), "noise-values-fresh"),
    "a value in a thousand used again": (lambda u: _some_again(u, 1000), "noise-values-fresh"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_noise_is_detected_at_a_false_alarm_probability_of_1e_9(name: str) -> None:
    rng = np.random.default_rng(4)
    change, test = WRONG[name]
    assert by_name(change(normal(rng, draws=2210, columns=32)), rng)[test].p_value <= 1e-9


@pytest.mark.parametrize(
    ("shared", "own", "detected"),
    [(slice(0, 1), 30.0, False), (slice(0, None, 4), 0.5, True), (slice(0, None, 4), 30.0, False)],
    ids=["a start", "draws", "further noise"],
)
def test_streams_that_share_draws_are_tied_and_those_that_share_more_than_is_claimed_are_not(
    shared: slice, own: float, detected: bool
) -> None:
    rng = np.random.default_rng(5)
    noise = {name: rng.standard_normal((200, 30, 8)) for name in ("x", "z")}
    common = rng.standard_normal(noise["x"][:, shared].shape)
    for array in noise.values():
        if own > 1:
            array[:, shared] += own * common
        else:
            array[:, shared] = own * array[:, shared] + np.sqrt(1 - own**2) * common
    (tie,) = (s for s in shape_tests(noise, rng) if s.name == "noise-independence")
    assert (tie.p_value <= 1e-9) == detected
    assert detected or tie.p_value > 1e-2


def test_the_noise_that_is_really_there_and_its_limits() -> None:
    rng = np.random.default_rng(5)
    found = effective({"x": 0.5 * normal(rng, draws=1000)})
    assert found.low <= 0.5 <= found.high
    assert found.high / found.low < 1.3
    # half of the iterations with all of the noise, half with a quarter: what that costs is set by the quieter ones
    uneven = np.where(np.arange(1000) % 2 == 0, 1.0, 0.25)[None, :, None] * normal(rng, draws=1000)
    expected = float(np.sqrt(2 / (1 + 16)))
    found = effective({"x": uneven})
    assert found.low <= expected <= found.high
    assert effective({"x": np.zeros((1, 10, 3))}).ratio == 0.0


def test_the_limits_of_a_deviation_hold_as_often_as_stated() -> None:
    rng = np.random.default_rng(6)
    degrees, confidence = 40, 0.9
    inside = 0
    for total in rng.chisquare(degrees, 1000):
        low, high = interval(4.0 * float(total), degrees, confidence)
        inside += low <= 2.0 <= high
    assert stats.binom.cdf(inside, 1000, confidence) > 1e-6


def test_rare_failures_are_bounded_and_the_bound_holds() -> None:
    rng = np.random.default_rng(7)
    census = RunEnergies.of({"x": normal(rng, runs=4000, draws=2, columns=100)})
    assert census.test().p_value > 1e-6
    bound = census.share_bound(1e-6)
    # none of 4000 runs failed: 1 - 0.001^(1/4000)
    assert bound == pytest.approx(1 - 0.001 ** (1 / 4000), rel=1e-3)
    assert "at most 1 run in 579 has noise/2 or less" in census.statement(1e-6)
    assert "0 of them of the claimed size and length, too few for a bound of their own" in census.statement(1e-6)
    whole = RunEnergies.of({"x": normal(rng, runs=200, draws=2, columns=100)}, whole=True)
    assert "of which at most 1 in 29 has noise/2 or less" in RunEnergies.joined([census, whole]).statement(1e-6)
    assert RunEnergies.joined([]).share_bound(1e-6) == 1.0


def test_runs_of_few_values_bound_the_share_without_noise() -> None:
    """Eighteen values a run, as in conformance: noise/2 is hardly seen in one, next to no noise always."""
    rng = np.random.default_rng(10)
    census = RunEnergies.of({"x": normal(rng, runs=10_000, draws=3, columns=6)})
    assert census.share_bound(1e-6, 100.0) == pytest.approx(1 - 0.001 ** (1 / 10_000), rel=1e-2)
    assert "at most 1 in 1,4" in census.statement(1e-6)


@pytest.mark.parametrize(("share", "divisor"), [(0.01, 1000.0), (0.02, 2.0)])
def test_rare_failures_are_detected(share: float, divisor: float) -> None:
    """Mixtures: a share of the runs with noise/divisor; seeded, each of 200 simulations with 1000 runs."""
    rng = np.random.default_rng(8)
    detected = 0
    for _ in range(200):
        noise = normal(rng, runs=1000, draws=2, columns=64)
        noise[rng.random(1000) < share] /= divisor
        detected += RunEnergies.of({"x": noise}).test().p_value <= 1e-9
    # among 1000 runs none fails with probability below 5e-5
    assert detected >= 199


FURTHER: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "Laplace": lambda u, rng: rng.laplace(size=u.shape),
    "a sign": lambda u, rng: np.where(rng.random(u.shape) < 0.5, -1.0, 1.0),
    "a little of a sign": lambda u, rng: 0.4 * np.where(rng.random(u.shape) < 0.5, -1.0, 1.0),
    "one value for a vector": lambda u, rng: rng.standard_normal(u.shape[:2])[:, :, None] + np.zeros(u.shape),
    "one vector for a run": lambda u, rng: rng.standard_normal(u.shape[2]) + np.zeros(u.shape),
    "a constant": lambda u, _: np.full(u.shape, 0.5),
    "a random scale": lambda u, rng: 2 * rng.random(u.shape[:2])[:, :, None] * rng.standard_normal(u.shape),
    "now and then": lambda u, rng: np.where(rng.random(u.shape) < 1e-2, 5.0, 0.0),
}


@pytest.mark.parametrize("law", FURTHER)
def test_claimed_noise_with_further_noise_is_not_accused(law: str) -> None:
    rng = np.random.default_rng(21)
    noise = normal(rng, draws=2000, columns=16)
    for name, test in by_name(noise + FURTHER[law](noise, rng), rng).items():
        assert test.p_value > 1e-6 or test.cost is Cost.NOTHING, (name, test)


LOUD: dict[str, tuple[Callable[[Floats], Floats], str]] = {
    "uniform": (lambda u: 1.3 * np.sqrt(3) * (2 * stats.norm.cdf(u) - 1), "noise-law"),
    "Laplace": (lambda u: 1.3 / np.sqrt(2) * stats.laplace.ppf(stats.norm.cdf(u)), "noise-law"),
    "carried over": (lambda u: 1.2 * (u + 0.6 * np.roll(u, 1, axis=1)), "noise-size"),
    "differences": (lambda u: 1.3 * (u - np.roll(u, 1, axis=1)), "noise-size"),
    "a direction is missing": (lambda u: 2.0 * (u - u.mean(axis=2, keepdims=True)), "noise-size"),
}


@pytest.mark.parametrize("law", LOUD)
def test_loud_noise_that_does_not_hold_the_claimed_one_is_detected(law: str) -> None:
    rng = np.random.default_rng(22)
    change, test = LOUD[law]
    assert by_name(change(normal(rng, draws=2000, columns=16)), rng)[test].p_value <= 1e-9


def test_a_direction_that_is_lost_in_each_iteration_is_detected() -> None:
    rng = np.random.default_rng(23)
    lost = rng.standard_normal((20, 16))
    lost /= np.linalg.norm(lost, axis=1, keepdims=True)
    fair, less = Grams(), Grams()
    for _ in range(4):
        noise = normal(rng, runs=50, draws=20, columns=16)
        fair.add("x", noise)
        less.add("x", noise - np.einsum("rdp,dp->rd", noise, lost)[:, :, None] * lost)
    assert union(fair.families())[0] > 1e-6
    assert union(less.families())[0] <= 1e-9


def test_noise_that_avoids_what_was_released_is_detected() -> None:
    rng = np.random.default_rng(24)
    noise = normal(rng, draws=500, columns=16)
    x = np.cumsum(noise, axis=1)
    assert size_tests({"x": noise}, {"x": x})[0].p_value > 1e-6
    last = x[:, :-1] / np.linalg.norm(x[:, :-1], axis=2, keepdims=True)
    turned = noise.copy()
    turned[:, 1:] -= np.einsum("rdp,rdp->rd", noise[:, 1:], last)[:, :, None] * last
    assert size_tests({"x": turned}, {"x": x})[0].p_value <= 1e-9


def test_one_draw_for_a_whole_run_is_too_small_in_a_combination_and_nowhere_less_than_nothing() -> None:
    """The difference of two draws is nothing: rounding must not leave a sum of squares below 0."""
    for seed in range(20):
        one = normal(np.random.default_rng(seed), draws=1)
        noise = np.repeat(one, 8, axis=1)
        assert all((part.totals >= 0.0).all() for part in parts(noise))
        assert size_tests({"x": noise})[0].p_value <= 1e-9


def test_lengths_of_another_law_are_detected_and_chi_distributed_ones_alarm_at_most_as_often_as_stated() -> None:
    rng = np.random.default_rng(25)
    alarms = sum(length_test({"x": normal(rng)}).p_value <= LEVEL for _ in range(SIMULATIONS))
    assert alarms <= int(stats.binom.isf(1e-6, SIMULATIONS, LEVEL)), alarms
    noise = normal(rng, runs=100)
    constant = noise / np.linalg.norm(noise, axis=2, keepdims=True) * np.sqrt(COLUMNS)
    assert length_test({"x": constant}).p_value <= 1e-9
    assert length_test({"x": np.zeros_like(noise)}).p_value <= 1e-9
