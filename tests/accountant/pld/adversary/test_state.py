"""States on a lattice: hulls that hold exactly, atoms spread with P-mass and Q-mass kept, extensions from above."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.pld.adversary.state import (
    BoundState,
    extended_step,
    falling_hull,
    spreading_step,
    symmetric_step,
    unimodal,
)

H, THETA = 0.01, 3.0


@pytest.mark.parametrize("rate", [0.0, 1e-6, 0.3, 40.0, 299.0])
def test_a_hull_falls_no_faster_than_it_may(rate: float) -> None:
    values = np.exp(np.random.default_rng(1).normal(size=4000) * 30)
    hull = falling_hull(values, rate)
    assert np.all(hull >= values)
    for j in np.random.default_rng(2).integers(1, values.size, size=300):
        assert Fraction(float(hull[j])) >= Fraction(float(hull[j - 1])) * _lower(-rate)
    assert falling_hull(values[:1], rate) == pytest.approx(values[:1], rel=1e-11)


def _lower(exponent: float) -> Fraction:
    man, exp = arb(exponent).exp().lower().mid().man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exp)


def test_a_hull_is_the_least_one() -> None:
    values, rate = np.array([1.0, 0.1, 5.0, 1e-3, 1e-3]), 0.5
    wanted = [1.0, math.exp(-0.5), 5.0, 5 * math.exp(-0.5), 5 * math.exp(-1.0)]
    assert falling_hull(values, rate) == pytest.approx(wanted, rel=1e-10)


def test_a_hull_that_falls_too_fast_is_refused() -> None:
    for rate in (-1.0, 301.0, math.nan):
        with pytest.raises(CannotCertifyError):
            falling_hull(np.ones(3), rate)


@pytest.mark.parametrize("rise", [0.0, 0.3, 7.0, 200.0])
def test_an_atom_is_spread_with_its_masses_kept(rise: float) -> None:
    """P-mass kept or larger, Q-mass kept; the spread function is above the atom's (1 - y)_+ everywhere."""
    spread = spreading_step(H, 0.0, rise)
    y = np.exp(H * np.array([-1.0, 0.0, 1.0]))
    assert float(spread.masses.sum()) >= 1 - 1e-15
    assert float(spread.masses.sum()) <= 1 + rise * H**2 + 1e-15
    assert float((spread.masses / y).sum()) == pytest.approx(1.0, abs=1e-14)
    for point in np.exp(np.linspace(-0.03, 0.03, 61)):
        function = float((spread.masses * np.maximum(1 - point / y, 0.0)).sum())
        assert function >= max(1 - point, 0.0) - 1e-15


@pytest.mark.parametrize("rise", [0.0, 2.0, 50.0])
def test_an_extension_is_above_the_symmetric_one_and_rises_as_it_may(rise: float) -> None:
    x = H * np.arange(1, 200)
    state = unimodal(BoundState(5, H, THETA, 0.01 * np.exp((THETA + 0.5) * x - x**2 / 0.2), arb(0), arb(0)))
    symmetric, extended = symmetric_step(state, 10**4), extended_step(state, rise)
    left = np.array([extended.masses[j - extended.first] for j in range(symmetric.first, 0)])
    scale = math.exp(float((extended.log_scale - symmetric.log_scale).mid()))
    assert np.all(left * scale >= symmetric.masses[: left.size] * (1 - 1e-12))
    m = extended.masses * np.exp(-(THETA + 0.5) * H * np.arange(extended.first, extended.first + extended.masses.size))
    inside = np.log(m[1 : 1 - extended.first])
    assert np.all(np.diff(inside) <= rise * H + 1e-9)
