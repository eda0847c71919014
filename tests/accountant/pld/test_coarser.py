"""A composed lattice as one step on a coarser one: dominating upwards, dominated downwards, and close to either."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.numbers import arb_precision
from accountant.pld.certified_floats import Floats
from accountant.pld.convolution import ComposedLattice, Window, compose_lattices
from accountant.pld.multiscale import coarser, grouped, split
from accountant.pld.types import LatticeStep, Stray

THETA, SPACING = 1.5, 1 / 64


def deltas(first: int, masses: Floats, spacing: float, epsilons: Floats) -> Floats:
    """Return delta(epsilon) of tilted masses at the losses (first + i) spacing."""
    losses = spacing * np.arange(first, first + masses.size)
    plain = masses * np.exp(-THETA * losses)
    return np.array([float((plain * np.maximum(0.0, -np.expm1(epsilon - losses))).sum()) for epsilon in epsilons])


def bell(width: float, points: int) -> Floats:
    places = np.arange(points) - points / 2.3
    return np.asarray(np.exp(-((places / width) ** 2) / 2) / width, dtype=np.float64)


weights = st.lists(st.floats(0, 1), min_size=1, max_size=60).map(lambda values: np.array([*values, 1e-3]))
ratios = st.integers(0, 4).map(lambda k: 2 * k + 1)
firsts = st.integers(-200, 200)


@settings(max_examples=150)
@given(weights, firsts, ratios)
def test_connecting_the_dots_dominates_and_keeps_both_masses(fine: Floats, first: int, ratio: int) -> None:
    start, masses = split(fine, first, ratio, THETA, SPACING)
    epsilons = np.linspace(SPACING * (first - 5), SPACING * (first + fine.size + 5), 40)
    before = deltas(first, fine, SPACING, epsilons)
    after = deltas(start, masses, SPACING * ratio, epsilons)
    assert np.all(after >= before * (1 - 1e-12) - 1e-15)
    for power in (0.0, 1.0):  # the masses under either distribution
        old = float((fine * np.exp(-(THETA + power) * SPACING * np.arange(first, first + fine.size))).sum())
        places = SPACING * ratio * np.arange(start, start + masses.size)
        assert float((masses * np.exp(-(THETA + power) * places)).sum()) == pytest.approx(old, rel=1e-12)


def test_moving_every_loss_down_would_be_seen() -> None:
    fine, ratio = bell(20.0, 200), 7
    epsilons = np.linspace(0.5, 2.5, 30)
    floor = np.array([fine[k : k + ratio].sum() for k in range(0, fine.size, ratio)])
    assert np.any(deltas(0, floor, SPACING * ratio, epsilons) < deltas(0, fine, SPACING, epsilons) * (1 - 1e-3))


@settings(max_examples=150)
@given(weights, firsts, ratios)
def test_groups_are_dominated(fine: Floats, first: int, ratio: int) -> None:
    start, masses, missed = grouped(fine, first, ratio, THETA, SPACING)
    assert 0 <= missed <= 1e-12
    epsilons = np.linspace(SPACING * (first - 5), SPACING * (first + fine.size + 5), 40)
    before = deltas(first, fine, SPACING, epsilons)
    after = deltas(start, masses, SPACING * ratio, epsilons + missed)
    assert np.all(after <= before * (1 + 1e-12) + 1e-15)


def test_joining_with_the_nearest_coarse_point_would_be_seen() -> None:
    """Without the balance a group's loss is not that of its point: steep masses below a point count too much."""
    fine, ratio = np.exp(-0.3 * np.arange(70.0)), 7
    epsilons = np.linspace(0.0, 1.0, 50)
    nearest = np.zeros(12)
    np.add.at(nearest, (np.arange(70) + 3) // ratio, fine)
    assert np.any(deltas(0, nearest, SPACING * ratio, epsilons) > deltas(0, fine, SPACING, epsilons) * (1 + 1e-3))
    start, masses, _ = grouped(fine, 0, ratio, THETA, SPACING)
    assert np.all(
        deltas(start, masses, SPACING * ratio, epsilons) <= deltas(0, fine, SPACING, epsilons) * (1 + 1e-12) + 1e-15
    )


@pytest.mark.parametrize("ratio", [3, 7, 15])
def test_either_side_is_close_where_the_coarse_lattice_still_resolves_the_losses(ratio: int) -> None:
    """Both move epsilon by about (1 + theta) H^2/12 a step, and no more than a few times that."""
    fine = bell(60.0, 600)
    epsilons = np.linspace(3.0, 5.0, 9)
    before = deltas(0, fine, SPACING, epsilons)
    tolerated = 4 * (1 + THETA) ** 2 * (SPACING * ratio) ** 2
    start, masses = split(fine, 0, ratio, THETA, SPACING)
    assert np.all(deltas(start, masses, SPACING * ratio, epsilons) <= before * (1 + tolerated))
    start, masses, _ = grouped(fine, 0, ratio, THETA, SPACING)
    assert np.all(deltas(start, masses, SPACING * ratio, epsilons) >= before * (1 - tolerated))


def composed(count: int, stray: Stray | None = None) -> tuple[LatticeStep, ComposedLattice]:
    step = LatticeStep(count, 0.0, -3, bell(2.0, 8) / bell(2.0, 8).sum(), arb(0), 0.0, arb(0), stray)
    return step, compose_lattices([step], THETA, SPACING, Window(-3 * count, 64, 8.0, 8.0))


def test_what_is_lost_on_the_way_is_carried_on() -> None:
    step, lattice = composed(4)
    found = coarser(lattice, 3, arb(0), arb(0), upwards=True)
    assert found.stray is not None
    lost = math.sqrt(64) * float(lattice.error) + 2 * float(lattice.outside)
    assert lost > 0
    assert lost * 0.999 <= float(found.stray.growth) <= lost * 1.01  # of a mass of about 1
    assert step.stray is None
    again = coarser(lattice, 3, arb(0), arb("0.25"), upwards=True)
    assert again.stray is not None
    assert float(again.stray.growth) == pytest.approx(0.25 + float(found.stray.growth), rel=1e-12)


def test_steps_that_lost_something_widen_both_ends() -> None:
    _, honest = composed(4)
    _, stray = composed(4, Stray(arb("0.001"), arb("0.1")))
    with arb_precision(64):
        assert honest.astray == 0
        bound = (4 * arb("0.1")).exp() * (4 * arb("0.001")).expm1()
        assert float(stray.astray) == pytest.approx(float(bound), rel=1e-9)
    epsilon = Fraction(1, 8)
    assert stray.delta_upper(epsilon) > honest.delta_upper(epsilon)
    assert stray.delta_lower(epsilon) < honest.delta_lower(epsilon)
