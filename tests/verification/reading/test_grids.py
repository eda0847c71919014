"""Values on a grid are told from values on none, also where they can only be read to a few roundings."""

from __future__ import annotations

import numpy as np
import pytest

from verification.reading.values import common_step, on_grid


@pytest.mark.parametrize("step", [2.0**-24, 1e-6, 0.01])
@pytest.mark.parametrize("grain", [0.0, 1e-11])
def test_the_step_of_a_grid_is_found(step: float, grain: float) -> None:
    rng = np.random.default_rng(1)
    values = step * np.rint(rng.standard_normal(20_000) / step) + grain * rng.uniform(-1, 1, 20_000)
    found = common_step(values, grain)
    # the least gap may be a multiple where the values are far apart
    assert found > 0
    assert abs(found / step - np.rint(found / step)) < 1e-6
    assert on_grid(values, found, grain)
    assert not on_grid(values + 0.3 * found * rng.uniform(-1, 1, 20_000), found, grain)


@pytest.mark.parametrize("count", [20, 1_000, 200_000])
def test_values_on_no_grid_have_no_step(count: int) -> None:
    rng = np.random.default_rng(2)
    assert common_step(rng.standard_normal(count), 0.0) == 0.0
    assert common_step(rng.standard_normal(count), 1e-9) == 0.0


def test_half_precision_is_no_grid_to_speak_of() -> None:
    values = np.random.default_rng(3).standard_normal(70_000).astype(np.float16).astype(np.float64)
    assert common_step(values, 0.0) <= 2.0**-20
