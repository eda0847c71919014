"""Many equal steps composed in levels: sound and close by inversion, short lattices, and the same as at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from accountant.pld import multiscale, plan
from accountant.pld.certified_floats import Floats
from accountant.pld.composition import SubsampledGaussian, compose
from accountant.pld.convolution import ComposedLattice, Window, compose_lattices
from accountant.pld.types import LatticeStep, Pair
from tests.accountant.inversion import Inversion
from tests.accountant.moments import Which

DELTA = Fraction(1, 10**8)
RATE, NOISE = Fraction(221, 48842), Fraction(4)
CLOSE = 3e-4
"""The accountant aims at 1e-4 of epsilon for each end."""


def inverted(count: int, which: Which, near: float) -> float:
    """Return epsilon at DELTA by Fourier inversion, which shares nothing with lattices."""
    oracle = Inversion([(float(RATE), float(NOISE), count)], which, near, math.log(DELTA))
    return oracle.epsilon(math.log(DELTA), near)


@pytest.mark.parametrize("count", [10**6 + 7, pytest.param(10**8 + 1, marks=pytest.mark.slow)])
def test_both_ends_agree_with_inversion(count: int) -> None:
    profile = compose([SubsampledGaussian(RATE, NOISE, count)])
    assert multiscale.chosen(profile._plan(Pair.DOMINATING, math.log(DELTA))) is not None
    upper, lower = float(profile.epsilon_upper(DELTA)), float(profile.epsilon_lower(DELTA))
    assert 1 <= upper / inverted(count, Which.DOMINATING, upper) <= 1 + CLOSE
    assert 1 - CLOSE <= lower / inverted(count, Which.FIRST, lower) <= 1


def test_a_level_that_moved_losses_down_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def floor(weights: Floats, first: int, ratio: int, theta: float, spacing: float) -> tuple[int, Floats]:
        start = first // ratio
        padded = np.zeros(-(-(first - start * ratio + weights.size) // ratio) * ratio)
        padded[first - start * ratio :][: weights.size] = weights
        tilt = np.exp(-theta * spacing * np.arange(ratio))
        return start, (padded.reshape(-1, ratio) * tilt).sum(axis=1)

    monkeypatch.setattr(multiscale, "split", floor)
    upper = float(compose([SubsampledGaussian(RATE, NOISE, 10**6)]).epsilon_upper(DELTA))
    assert upper < inverted(10**6, Which.DOMINATING, upper)


@pytest.mark.parametrize("phases", [1, 2])
def test_in_levels_and_at_once_agree(monkeypatch: pytest.MonkeyPatch, phases: int) -> None:
    steps = [SubsampledGaussian(RATE, NOISE, 60_000), SubsampledGaussian(Fraction(1, 50), Fraction(9), 3_001)][:phases]
    levelled = compose(steps)
    monkeypatch.setattr(multiscale, "chosen", lambda _: None)
    at_once = compose(steps)
    assert float(levelled.epsilon_upper(DELTA) / at_once.epsilon_upper(DELTA)) == pytest.approx(1, abs=CLOSE)
    assert float(levelled.epsilon_lower(DELTA) / at_once.epsilon_lower(DELTA)) == pytest.approx(1, abs=CLOSE)


@pytest.mark.parametrize("count", [10**5, 10**7, 10**9, 10**12])
def test_no_lattice_grows_with_the_number_of_steps(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    lengths: list[int] = []

    def recorded(steps: Sequence[LatticeStep], theta: float, spacing: float, window: Window) -> ComposedLattice:
        lengths.append(window.length)
        return compose_lattices(steps, theta, spacing, window)

    monkeypatch.setattr(plan, "compose_lattices", recorded)
    compose([SubsampledGaussian(RATE, NOISE, count)]).epsilon(DELTA)
    assert max(lengths, default=0) <= multiscale.LONGEST


def test_few_steps_and_short_lattices_are_composed_at_once() -> None:
    for step in (SubsampledGaussian(RATE, NOISE, 2210), SubsampledGaussian(Fraction(1, 10**9), Fraction(1, 2), 215)):
        profile = compose([step])
        assert multiscale.chosen(profile._plan(Pair.DOMINATING, math.log(DELTA))) is None
