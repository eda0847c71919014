"""`dpadmm.testing`: planted bugs are found and shrunk, honest code passes, and our own code is tested with it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from dpadmm.testing import (
    Neighbours,
    Records,
    StepSetting,
    admm_settings,
    assert_contracts,
    assert_noise,
    assert_sensitivity,
    neighbours,
    records,
)
from reference.clipping import clipped_slopes
from reference.regularizers import L1, MCP, SCAD, ElasticNet
from reference.regularizers.base import Regularizer
from verification.wire.arrays import Floats


def mean_of_clipped(features: Floats, labels: Floats) -> Floats:
    slopes = clipped_slopes(labels, np.linalg.norm(features, axis=1), 1.0)
    return np.asarray((slopes[:, None] * features).mean(axis=0))


def clipped_mean(features: Floats, labels: Floats) -> Floats:
    mean = (labels[:, None] * features).mean(axis=0)
    return np.asarray(mean * min(1.0, 1.0 / max(float(np.linalg.norm(mean)), 1e-12)))


def unclipped(features: Floats, labels: Floats) -> Floats:
    return np.asarray((labels[:, None] * features).mean(axis=0))


def total(features: Floats, labels: Floats) -> Floats:
    return np.asarray((labels[:, None] * features).sum(axis=0))


def test_the_reference_clips_each_record() -> None:
    assert_sensitivity(mean_of_clipped, lambda n: 2 / n, clips=True, max_examples=150)
    assert_sensitivity(total, 1.0, relation="add-or-remove", max_examples=100)
    assert_sensitivity(unclipped, lambda n: 2 / n, max_examples=100)


@pytest.mark.parametrize(
    ("value", "bound", "clips"),
    [
        (clipped_mean, lambda n: 2 / n, True),  # clips the mean, not each record
        (unclipped, lambda n: 2 / n, True),  # does not clip
        (unclipped, lambda n: 1 / n, False),  # half the sensitivity
        (mean_of_clipped, lambda n: 2 / (n + 1), True),  # one record too many
    ],
)
def test_a_planted_bug_is_shrunk_to_two_records_and_one_column(
    value: Callable[[Floats, Floats], Floats], bound: Callable[[int], float], clips: bool
) -> None:
    with pytest.raises(AssertionError, match=r"more than its bound.*(one record|two records), one column"):
        assert_sensitivity(value, bound, clips=clips)


def test_adding_a_record_moves_a_sum_further_than_half_its_bound() -> None:
    with pytest.raises(AssertionError, match="is removed"):
        assert_sensitivity(total, 0.5, relation="add-or-remove")


@pytest.mark.parametrize("regularizer", [L1(0.3), ElasticNet(0.3, 0.25)])
def test_convex_proximal_maps_contract(regularizer: Regularizer) -> None:
    assert_contracts(lambda point: regularizer.prox(point, 0.5), max_examples=150)


@pytest.mark.parametrize("regularizer", [SCAD(1.0), MCP(1.0)])
def test_weakly_convex_proximal_maps_stretch_by_their_constant(regularizer: Regularizer) -> None:
    assert_contracts(lambda point: regularizer.prox(point, 1.0), factor=float(regularizer.lipschitz(1.0)))
    with pytest.raises(AssertionError, match="more than 1 times that"):
        assert_contracts(lambda point: regularizer.prox(point, 1.0), max_examples=2000)


def test_hard_thresholding_does_not_contract() -> None:
    def hard(point: Floats) -> Floats:
        return np.where(np.abs(point) > 0.3, point, 0.0)

    with pytest.raises(AssertionError, match=r"hard moves two points"):
        assert_contracts(hard)


RNG = np.random.default_rng(7)


@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_correct_and_larger_noise_passes(scale: float) -> None:
    assert_noise(lambda: RNG.normal(0.0, 0.5 * scale, 4), 0.5)


@pytest.mark.parametrize(
    ("draw", "cause"),
    [
        (lambda: RNG.normal(0.0, 0.45, 4), "too small"),
        (lambda: RNG.laplace(0.0, 0.5 / 2**0.5, 4), "not of the claimed law"),
        (lambda: np.full(4, RNG.normal(0.0, 0.5)), "noise"),
        (lambda: RNG.normal(0.1, 0.5, 4), "not centred"),
        (lambda: np.zeros(4), "noise"),
    ],
)
def test_wrong_noise_fails(draw: Callable[[], Floats], cause: str) -> None:
    with pytest.raises(AssertionError, match=cause):
        assert_noise(draw, 0.5)


@given(neighbours(bound=2.0))
@settings(max_examples=60, deadline=None)
def test_neighbours_stay_within_the_bound_and_differ_in_one_record(pair: Neighbours) -> None:
    for side in (pair.first, pair.second):
        assert np.linalg.norm(side.features, axis=1).max(initial=0.0) <= 2.0 * (1 + 1e-9)
    assert pair.first.count == pair.second.count


@given(records(box=(0.0, 1.0)), admm_settings())
@settings(max_examples=60, deadline=None)
def test_records_and_settings_are_what_they_say(data: Records, setting: StepSetting) -> None:
    assert 0.0 <= data.features.min(initial=0.0) <= data.features.max(initial=0.0) <= 1.0
    assert setting.rho > 0
    assert setting.eta > 0
