"""Noise that is tied is called so, not small; a value that post-processing shows again and again is told apart."""

from __future__ import annotations

import numpy as np

from verification.outcome import Cause
from verification.statistics.noise_shape import commonest, shape_tests
from verification.statistics.noise_size import size_tests
from verification.wire.arrays import Floats


def test_noise_that_is_missing_in_a_combination_alone_is_tied_and_less_of_all_of_it_is_small() -> None:
    rng = np.random.default_rng(1)
    own, common = rng.standard_normal((40, 50, 6)), rng.standard_normal((40, 50, 1))
    many, tied = (
        rng.standard_normal((2000, 3, 8)),
        rng.standard_normal((2000, 3, 1)),
    )  # single vectors are short as well
    rare = np.where(np.arange(2000) % 50, 1.0, 0.01)[:, None, None]
    for noise, cause in (
        ((own + common) / np.sqrt(2), Cause.NOISE_DEPENDENT),
        ((many + tied) / np.sqrt(2), Cause.NOISE_DEPENDENT),
        (own / 2, Cause.NOISE_SMALL),
        (rare * many, Cause.NOISE_SMALL),
    ):
        found = size_tests({"x": noise})[0]
        assert (found.cause, found.p_value < 1e-12) == (cause, True)


def test_a_constant_in_place_of_small_values_is_found_and_is_no_noise_that_is_used_again() -> None:
    rng = np.random.default_rng(2)
    noise = rng.standard_normal((1, 4000, 4))
    assert commonest(noise.ravel(), 1e-12) is None
    sparse = np.where(np.abs(noise) < 5e-3, 0.0, noise)
    assert commonest(sparse.ravel(), 1e-12) == 0.0

    def fresh(noise: Floats, constant: float | None) -> tuple[float, Cause]:
        tests = shape_tests({"x": noise}, rng, 1e-12, constant=constant)
        return next((test.p_value, test.cause) for test in tests if test.name == "noise-values-fresh")

    missing, used_again = fresh(sparse, None), fresh(np.tile(noise[:, :2000], (1, 2, 1)), None)
    assert max(missing[0], used_again[0]) < 1e-12
    assert (missing[1], used_again[1]) == (Cause.NOISE_SMALL, Cause.NOISE_REUSED)
    assert fresh(sparse, 0.0) == (1.0, Cause.NOISE_REUSED)
