"""Equal records that are too long: the stated level by simulation, and bounds that are not kept."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from verification.questions.identical import Parted, along_test, excess_test, tails_of_excess

LEVEL, SIMULATIONS = 0.05, 400
RUNS, T, ACROSS, ALLOWED = 3, 20, 31, 13.0


def seen(
    rng: np.random.Generator, *, length: float = 1.0, noise: float = 1.0, start: float = 0.0, scale: float = 1.0
) -> Parted:
    """A gradient of this many times C, noise of this many times sigma; ``scale`` multiplies both, as a step would."""
    along = length * ALLOWED + noise * rng.standard_normal((RUNS, T))
    across = noise * rng.standard_normal((RUNS, T, ACROSS))
    along[:, 0] += start * rng.standard_normal(RUNS)
    across[:, 0] += start * rng.standard_normal((RUNS, ACROSS))
    return Parted(scale * along, scale * across, np.full(T, ALLOWED), scale * (along - length * ALLOWED))


def test_gradients_at_the_bound_alarm_at_most_as_often_as_stated() -> None:
    rng = np.random.default_rng(1)
    alarms = sum(excess_test({"here": seen(rng)}).p_value <= LEVEL for _ in range(SIMULATIONS))
    assert alarms <= int(stats.binom.isf(1e-6, SIMULATIONS, LEVEL)), alarms


@pytest.mark.parametrize(
    ("length", "noise", "start", "scale"),
    [(0.3, 1.0, 0.0, 1.0), (1.0, 1.5, 0.0, 1.0), (1.0, 1.0, 30.0, 1.0), (1.0, 1.0, 0.0, 7.0), (1.4, 1.5, 0.0, 0.2)],
    ids=["shorter", "more noise", "random start", "another step", "longer, and as much louder"],
)
def test_what_is_not_less_private_is_not_accused(length: float, noise: float, start: float, scale: float) -> None:
    rng = np.random.default_rng(2)
    found = excess_test({"here": seen(rng, length=length, noise=noise, start=start, scale=scale)})
    assert found.p_value > 1e-6


@pytest.mark.parametrize("length", [1.5, 2.0, 1e6])
def test_longer_gradients_are_detected(length: float) -> None:
    rng = np.random.default_rng(3)
    assert excess_test({"here": seen(rng, length=length)}).p_value <= 1e-9


def test_a_gradient_that_leaves_the_direction_is_not_taken_for_noise() -> None:
    rng = np.random.default_rng(4)
    plain = seen(rng, length=2.0)
    turned = Parted(plain.along, plain.across + 2 * ALLOWED * np.eye(ACROSS)[0], plain.allowed, plain.beside)
    assert float(tails_of_excess(turned).min()) <= 1e-9


def test_late_iterations_are_looked_at_one_by_one() -> None:
    rng = np.random.default_rng(5)
    late = seen(rng)
    late.along[:, 15:] *= 1.5
    assert excess_test({"here": late}).p_value <= 1e-9


def test_noise_along_the_gradient_is_looked_at() -> None:
    rng = np.random.default_rng(6)
    alarms = sum(along_test({"here": seen(rng)}).p_value <= LEVEL for _ in range(SIMULATIONS))
    assert alarms <= int(stats.binom.isf(1e-6, SIMULATIONS, LEVEL)), alarms
    shifted = seen(rng)
    shifted.beside[:] += 5.0  # a gradient that is not the reference's
    assert along_test({"here": shifted}).p_value > 1e-6
    shifted.beside[:] *= 0.02
    assert along_test({"here": shifted}).p_value <= 1e-9
