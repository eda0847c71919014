"""Noise that is tied is called so, not small; a value that post-processing shows again and again is told apart."""

from __future__ import annotations

import numpy as np

from verification.outcome import Cause
from verification.statistics.noise_shape import commonest, shape_tests
from verification.statistics.noise_size import size_tests


def test_noise_that_is_missing_in_a_combination_alone_is_tied_and_less_of_all_of_it_is_small() -> None:
    rng = np.random.default_rng(1)
    own, common = rng.standard_normal((40, 50, 6)), rng.standard_normal((40, 50, 1))
    for noise, cause in (((own + common) / np.sqrt(2), Cause.NOISE_DEPENDENT), (own / 2, Cause.NOISE_SMALL)):
        found = size_tests({"x": noise})[0]
        assert (found.cause, found.p_value < 1e-12) == (cause, True)


def test_a_constant_in_place_of_small_values_is_found_and_is_no_noise_that_is_used_again() -> None:
    rng = np.random.default_rng(2)
    noise = rng.standard_normal((1, 4000, 4))
    assert commonest(noise.ravel(), 1e-12) is None
    sparse = np.where(np.abs(noise) < 5e-3, 0.0, noise)
    assert commonest(sparse.ravel(), 1e-12) == 0.0

    def fresh(constant: float | None) -> float:
        tests = shape_tests({"x": sparse}, rng, 1e-12, constant=constant)
        return next(test.p_value for test in tests if test.cause is Cause.NOISE_REUSED and "values" in test.detail)

    assert fresh(None) < 1e-12
    assert fresh(0.0) == 1.0
