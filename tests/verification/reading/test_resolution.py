"""What rounding of released values hides is not called noise that was used twice."""

from __future__ import annotations

import numpy as np

from verification.questions.many_runs import ManyRuns
from verification.reading.values import resolution
from verification.statistics.noise_shape import twins

VALUES = np.random.default_rng(1).standard_normal((1, 500, 64))


def test_the_rounding_of_released_values_is_seen() -> None:
    largest = float(np.abs(VALUES).max())
    assert resolution(VALUES) == 2.0**-52 * largest
    assert resolution(VALUES.astype(np.float32).astype(np.float64)) >= 2.0**-25 * largest
    assert resolution(np.round(VALUES, 6)) == 1e-6
    assert resolution(np.zeros(4)) == 0.0


def test_rounded_values_are_not_called_used_twice_and_coarse_noise_is() -> None:
    rounded = np.round(VALUES, 6)
    assert twins("rounded", rounded.ravel(), 8 * resolution(rounded)).p_value > 1e-3
    coarse = VALUES.astype(np.float16).astype(np.float64) + np.pi  # added to something that is not rounded
    assert twins("coarse", coarse.ravel() - np.pi, 8 * resolution(coarse)).p_value <= 1e-9


def test_runs_that_start_elsewhere_are_not_called_heavy_tailed() -> None:
    rng = np.random.default_rng(2)
    noise = rng.standard_normal((500, 2, 64))
    noise[:, 0] += 100.0
    tally = ManyRuns(rng, first=1)
    tally.add({"gradient": noise}, whole=False)
    assert min(s.p_value for s in tally.tests()) > 1e-6
    tally.add({"gradient": np.clip(noise, -2.0, 2.0)}, whole=False)
    assert min(s.p_value for s in tally.tests()) <= 1e-9
