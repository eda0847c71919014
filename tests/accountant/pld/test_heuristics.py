"""Guesses of tilts: many nodes are summed in less time and memory, and to the same bit."""

from __future__ import annotations

import numpy as np
import pytest

from accountant.pld import heuristics
from accountant.pld.heuristics import log_moment, sketch
from accountant.pld.types import BinaryStep, Pair


@pytest.mark.parametrize("pair", list(Pair))
def test_many_nodes_have_the_same_moments_one_by_one(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    sketches = [sketch(BinaryStep(0.1, 1.0, 1000), pair, 4000.0), sketch(BinaryStep(1.0, 3900.0, 1), pair, 4000.0)]
    theta = np.exp(np.linspace(-20.0, 5.0, 33))
    assert min(one.losses.size for one in sketches) > heuristics._MANY
    one_by_one = log_moment(sketches, theta)
    monkeypatch.setattr(heuristics, "_MANY", 1 << 40)
    assert np.array_equal(one_by_one, log_moment(sketches, theta))
