"""Guesses of tilts: where nodes are many, most of them are not looked at, and the sums are the same."""

from __future__ import annotations

import numpy as np
import pytest

from accountant.pld import guesses
from accountant.pld.guesses import Outline, log_moment, sketch
from accountant.pld.types import BinaryStep, Pair


@pytest.mark.parametrize("pair", list(Pair))
def test_many_nodes_have_the_same_moments(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    sketches = [sketch(BinaryStep(0.1, 1.0, 1000), pair, 4000.0), sketch(BinaryStep(1.0, 3900.0, 1), pair, 4000.0)]
    theta = np.exp(np.linspace(-20.0, 5.0, 33))
    assert min(one.losses.size for one in sketches) > guesses._MANY
    outlined = log_moment(sketches, theta)
    monkeypatch.setattr(guesses, "_MANY", 1 << 40)
    whole = [sketch(BinaryStep(0.1, 1.0, 1000), pair, 4000.0), sketch(BinaryStep(1.0, 3900.0, 1), pair, 4000.0)]
    assert all(one.outline is None for one in whole)
    np.testing.assert_allclose(outlined, log_moment(whole, theta), rtol=1e-13, atol=1e-11)


@pytest.mark.parametrize("theta", [-30.0, -1.0, 0.0, 1e-3, 1.0, 30.0])
def test_an_outline_leaves_nothing_out_that_counts(theta: float) -> None:
    chance = np.random.default_rng(5)
    for size in (17, 100, 1000):
        losses, log_weights = 100 * chance.standard_normal(size), 50 * chance.standard_normal(size)
        exponent = log_weights + theta * losses
        expected = exponent.max() + np.log(np.exp(exponent - exponent.max()).sum())
        assert Outline.of(losses, log_weights).log_sum(theta) == pytest.approx(expected, rel=1e-13)
