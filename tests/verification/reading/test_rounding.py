"""Rounded values: the noise under them is read as it is, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from verification.reading.context import NotApplicable
from verification.reading.replayed import off_the_grid
from verification.statistics.noise_shape import shape_tests
from verification.statistics.noise_size import size_tests
from verification.statistics.test import Cost
from verification.wire.arrays import Floats


def rounded(rng: np.random.Generator, step: float, size: float = 1.0) -> Floats:
    """Noise on a grid that is shifted in every draw, as what it is added to shifts it."""
    noise = size * rng.standard_normal((1, 2000, 32))
    shift = rng.random(noise.shape)
    return step * (np.rint(noise / step + shift) - shift)


@pytest.mark.parametrize("step", [1e-4, 0.01, 0.1])
def test_rounded_noise_is_not_accused(step: float) -> None:
    rng = np.random.default_rng(1)
    noise = off_the_grid({"x": rounded(rng, step)}, step, rng)
    for found in [*size_tests(noise), *shape_tests(noise, rng)]:
        assert found.p_value > 1e-6 or found.cost is Cost.NOTHING, found


def test_noise_on_a_fixed_grid_is_not_accused_either() -> None:
    rng = np.random.default_rng(2)
    grid = 0.1 * np.rint(rng.standard_normal((1, 2000, 32)) / 0.1)
    for found in shape_tests(off_the_grid({"x": grid}, 0.1, rng), rng):
        assert found.p_value > 1e-6, found


@pytest.mark.parametrize("step", [1e-4, 0.1])
def test_rounding_hides_no_missing_noise(step: float) -> None:
    rng = np.random.default_rng(3)
    noise = off_the_grid({"x": rounded(rng, step, 1 / 1.1)}, step, rng)
    assert size_tests(noise)[0].p_value <= 1e-9


def test_what_is_too_coarse_is_not_read() -> None:
    with pytest.raises(NotApplicable, match="rounded"):
        off_the_grid({"x": np.zeros((1, 2, 3))}, 0.2, np.random.default_rng(4))
