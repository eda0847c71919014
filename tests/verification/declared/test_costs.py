"""What wrong noise costs, and which differences cost nothing: figures that are known, no test can fail by bad luck."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tests.verification.declared.test_declaration import VALUE, declared
from tests.verification.declared.test_draws import value
from verification.declared.draws import dependent_weight, missing_draws, shape_epsilon, used_again
from verification.declared.inside import _no_function, is_sum
from verification.statistics.noise_shape import atoms, light_tails
from verification.wire.arrays import Floats
from verification.wire.declaration import DeclaredValue, NoiseKind
from verification.wire.session import Recorded, RecordedValue

RUNS, RELEASES, NUMBERS = 2000, 3, 2
LEVEL = 1e-9
GAUSSIAN = value(NoiseKind.GAUSSIAN)  # of scale 2 and sensitivity 0.5


def normal(seed: int = 3) -> Floats:
    return np.random.default_rng(seed).normal(0.0, 2.0, (RUNS, RELEASES, NUMBERS))


def test_noise_that_is_cut_off_is_seen_and_more_noise_is_not_accused() -> None:
    fine, large = light_tails({"w": normal() / 2}), light_tails({"w": normal()})
    assert min(fine.p_value, large.p_value) > LEVEL
    assert light_tails({"w": np.clip(normal() / 2, -2.0, 2.0)}).p_value < LEVEL


@pytest.mark.parametrize("single", [False, True])
def test_only_sizes_that_occur_again_and_again_are_atoms(*, single: bool) -> None:
    noise = normal().astype(np.float32).astype(np.float64) if single else normal()
    assert atoms({"w": noise}, ()).p_value > LEVEL
    assert atoms({"w": np.clip(noise, -5.0, 5.0)}, ()).p_value < LEVEL


def test_independent_noise_has_the_declared_price_and_a_combination_without_noise_none() -> None:
    assert dependent_weight(GAUSSIAN, normal(), RELEASES) == 0.0
    shared = normal()
    shared[:, 1] = shared[:, 0]
    assert dependent_weight(GAUSSIAN, shared, RELEASES) == math.inf
    assert dependent_weight(GAUSSIAN, 0.0 * shared, RELEASES) == math.inf


def test_dependent_noise_costs_what_its_covariance_says() -> None:
    a = 0.9  # every release has variance 1 and correlation a with the others: d = (1, -1, 0) is the worst movement
    noise, common = normal(), normal(4)[:, :1]
    mixed = math.sqrt(1 - a) * noise + math.sqrt(a) * common
    assert dependent_weight(GAUSSIAN, mixed, RELEASES) ** 2 == pytest.approx(1 / (1 - a), rel=0.35)


def test_noise_of_one_sign_costs_more_than_noise_as_declared() -> None:
    declaration = declared(VALUE | {"scale": 2.0, "sensitivity": 0.5}, iterations=RELEASES)
    noise = normal()
    honest = shape_epsilon(declaration, declaration.values[0], noise, 1e-5)
    exact = max(stats.norm.logsf(t - 0.25) - stats.norm.logsf(t) for t in np.linspace(-3, 3, 61))
    assert honest <= exact  # no event of the search has more
    assert shape_epsilon(declaration, declaration.values[0], np.abs(noise), 1e-5) > 3.0


def test_noise_that_is_missing_or_was_used_before_is_named() -> None:
    noise = normal()
    assert missing_draws({"w": noise}) == used_again({"w": noise}) == ""
    noise[7] = noise[3]
    assert used_again({"w": noise}).startswith(f"1 of {RUNS} runs")
    noise[7, 0] = 0.0
    assert missing_draws({"w": noise}).startswith(f"1 of {RUNS * RELEASES} releases")


def recorded(released: Floats, before: Floats, noise: Floats) -> list[Recorded]:
    return [
        Recorded({"w": RecordedValue(r, b, n, (NUMBERS,))}, [], {})
        for r, b, n in zip(released, before, noise, strict=True)
    ]


def excused(released: Floats, before: Floats, noise: Floats, of: DeclaredValue = GAUSSIAN) -> bool:
    runs = recorded(released, before, noise)
    return all(is_sum(run, of) for run in runs) or not _no_function(of, runs)


def test_rounding_and_clamping_are_post_processing_and_everything_else_is_not() -> None:
    noise, before = normal(), np.random.default_rng(5).normal(0.0, 3.0, (RUNS, RELEASES, NUMBERS))
    total = before + noise
    single = (before.astype(np.float32) + noise.astype(np.float32)).astype(np.float64)
    for honest in (total, single, np.round(total, 1), np.clip(total, -6.0, 6.0), np.maximum(total, -1.0)):
        assert excused(honest, before, noise)
    for wrong in (before, before + 0.97 * noise, total + 0.01 * before, np.round(before, 1) + 0.5 * noise, -total):
        assert not excused(wrong, before, noise)


def test_noise_that_single_precision_swallows_is_no_noise() -> None:
    noise, before = normal(), np.full((RUNS, RELEASES, NUMBERS), 1e9)
    assert not excused((before.astype(np.float32) + noise.astype(np.float32)).astype(np.float64), before, noise)
