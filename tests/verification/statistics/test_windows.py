"""Noise that is used again at another place, wherever it was read."""

from __future__ import annotations

import numpy as np
import pytest

from verification.statistics.noise_shape import windows_fresh


def test_a_pool_that_starts_again_is_found_at_any_offset() -> None:
    pool = np.random.default_rng(1).standard_normal(100_003)
    vectors = np.resize(pool, 120_000).reshape(-1, 120)
    assert windows_fresh([vectors[:500], vectors[500:]]).p_value == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_fresh_noise_and_noise_on_a_grid_are_not_accused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert windows_fresh([rng.standard_normal((2000, 24)), rng.standard_normal((500, 3))]).p_value == 1.0
    for decimals in (1, 3, 5):
        assert windows_fresh([np.round(rng.standard_normal((2000, 24)), decimals)]).p_value > 0.05


def test_too_few_values_say_nothing() -> None:
    assert windows_fresh([]).p_value == 1.0
    assert windows_fresh([np.ones((1, 2))]).p_value == 1.0
