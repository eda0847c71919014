"""Tests of noise and batches: what is honest is let stand, what is not is seen; no test here can fail by bad luck."""

from __future__ import annotations

import numpy as np
import pytest

from accountant.mechanisms.words import Sampling
from tests.verification.declared.test_declaration import VALUE
from verification.declared.draws import (
    Runs,
    fresh_size,
    malformed,
    measured_scale,
    noise_tests,
    sampling_tests,
    shared_draws,
    standard_normal,
)
from verification.statistics.tails import Side, two_samples
from verification.statistics.test import Cause, Cost, Test
from verification.wire.arrays import Floats
from verification.wire.declaration import DeclaredSampling, DeclaredValue, NoiseKind

RUNS, RELEASES, NUMBERS = 60, 4, 6
LEVEL = 1e-9
KINDS = (NoiseKind.GAUSSIAN, NoiseKind.LAPLACE, NoiseKind.GAMMA_NORM, NoiseKind.DISCRETE)


def value(kind: NoiseKind) -> DeclaredValue:
    norm = "l1" if kind is NoiseKind.LAPLACE else "l2"
    grid = 0.5 if kind is NoiseKind.DISCRETE else None
    fields = {**VALUE, "noise": kind, "norm": norm, "grid": grid, "scale": 2.0}
    return DeclaredValue.model_validate(fields, strict=False)


def drawn(kind: NoiseKind, scale: float, rng: np.random.Generator) -> Floats:
    shape = (RUNS, RELEASES, NUMBERS)
    if kind is NoiseKind.LAPLACE:
        return rng.laplace(0.0, scale, shape)
    normal = rng.standard_normal(shape)
    if kind is NoiseKind.GAMMA_NORM:
        lengths = rng.gamma(NUMBERS, scale, shape[:2])
        scaled: Floats = normal * (lengths / np.linalg.norm(normal, axis=2))[:, :, None]
        return scaled
    if kind is NoiseKind.DISCRETE:
        points = np.arange(-400, 401) * 0.5
        weights = np.exp(-(points**2) / (2 * scale**2))
        chosen: Floats = rng.choice(points, size=shape, p=weights / weights.sum())
        return chosen
    return scale * normal


def least(kind: NoiseKind, noise: Floats, cost: Cost) -> float:
    tests = noise_tests({"w": noise}, {"w": value(kind)}, {"w": RELEASES}, np.random.default_rng(1))
    return min(s.p_value for s in tests if s.cost is cost)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_as_declared_is_let_stand(kind: NoiseKind) -> None:
    noise = drawn(kind, 2.0, np.random.default_rng(7))
    assert least(kind, noise, Cost.PRIVACY) > LEVEL
    assert least(kind, noise, Cost.NOTHING) > LEVEL
    assert abs(measured_scale(value(kind), noise, RELEASES) - 1) < 0.2


@pytest.mark.parametrize("kind", KINDS)
def test_too_little_is_seen_and_too_much_only_differs(kind: NoiseKind) -> None:
    rng = np.random.default_rng(7)
    assert least(kind, drawn(kind, 1.2, rng), Cost.PRIVACY) < LEVEL
    large = drawn(kind, 3.5, rng)
    assert least(kind, large, Cost.PRIVACY) > LEVEL
    assert least(kind, large, Cost.NOTHING) < LEVEL


@pytest.mark.parametrize("kind", KINDS[:3])
def test_noise_of_another_kind_is_seen_at_the_same_size(kind: NoiseKind) -> None:
    rng = np.random.default_rng(7)
    signs = np.where(rng.random((RUNS, RELEASES, NUMBERS)) < 0.5, -1.0, 1.0)
    assert least(kind, 2.0 * signs, Cost.PRIVACY) < LEVEL


@pytest.mark.parametrize("kind", KINDS[:3])
def test_one_draw_for_all_releases_is_seen(kind: NoiseKind) -> None:
    noise = drawn(kind, 2.0, np.random.default_rng(7))
    noise[:, 1:] = noise[:, :1]
    assert least(kind, noise, Cost.PRIVACY) < LEVEL
    assert shared_draws({"w": noise}) == "w 1 and w 2"


def test_noise_of_few_seeds_is_used_again_also_where_vectors_are_short() -> None:
    def freshness(noise: Floats) -> Test:
        tests = noise_tests({"w": noise}, {"w": value(NoiseKind.GAUSSIAN)}, {"w": 2}, np.random.default_rng(1))
        return min((each for each in tests if each.cause is Cause.NOISE_REUSED), key=lambda each: each.p_value)

    rng = np.random.default_rng(7)
    noise = 2.0 * rng.standard_normal((RUNS, 2, 1))
    assert freshness(noise).p_value > LEVEL
    assert freshness(noise[rng.integers(8 * RUNS, size=RUNS) % RUNS]).p_value < LEVEL
    coarse = np.round(2.0 * rng.standard_normal((RUNS, 2, 1)), 2)  # as where values are far larger than their noise
    assert freshness(coarse).p_value > LEVEL
    noise[:5] = 0.0  # missing, and not used again
    assert freshness(noise).p_value > LEVEL


@pytest.mark.parametrize("kind", KINDS[:3])
def test_the_transformations_give_standard_normal_values(kind: NoiseKind) -> None:
    rng = np.random.default_rng(3)
    noise = np.concatenate([drawn(kind, 1.0, rng) for _ in range(20)])
    for normal in (
        standard_normal(value(kind), noise),
        standard_normal(value(kind), fresh_size(value(kind), noise, rng)),
    ):
        for power, moment in ((1, 0.0), (2, 1.0), (4, 3.0)):
            assert abs(np.mean(normal**power) - moment) < 0.15


def batch(scheme: Sampling, rng: np.random.Generator) -> list[int]:
    if scheme is Sampling.WITHOUT_REPLACEMENT:
        return [int(i) for i in rng.permutation(30)[:6]]
    if scheme is Sampling.POISSON:
        return [int(i) for i in np.flatnonzero(rng.random(30) < 0.2)]
    return [int(i) for i in rng.integers(0, 30, 6)]


def batches(scheme: Sampling, rng: np.random.Generator) -> Runs:
    if scheme.by_epochs:
        orders = [rng.permutation(30) if scheme is Sampling.SHUFFLE else np.arange(30) for _ in range(160)]
        cut = [[[int(i) for i in part] for part in order.reshape(5, 6)] for order in orders]
        return [cut[r] + cut[r + 80] for r in range(80)]
    return [[batch(scheme, rng) for _ in range(5)] for _ in range(80)]


SCHEMES = {
    Sampling.WITHOUT_REPLACEMENT: DeclaredSampling(kind=Sampling.WITHOUT_REPLACEMENT, batch=6),
    Sampling.POISSON: DeclaredSampling(kind=Sampling.POISSON, rate=0.2),
    Sampling.WITH_REPLACEMENT: DeclaredSampling(kind=Sampling.WITH_REPLACEMENT, batch=6),
    Sampling.FIXED_ORDER: DeclaredSampling(kind=Sampling.FIXED_ORDER, batch=6),
    Sampling.SHUFFLE: DeclaredSampling(kind=Sampling.SHUFFLE, batch=6),
}


@pytest.mark.parametrize("scheme", list(SCHEMES))
def test_batches_as_declared_are_let_stand_and_frozen_ones_seen(scheme: Sampling) -> None:
    rng = np.random.default_rng(5)
    honest = batches(scheme, rng)
    assert malformed(honest, SCHEMES[scheme], 30) == ""
    assert min(s.p_value for s in sampling_tests(honest, SCHEMES[scheme], 30, rng)) > LEVEL
    frozen = [[honest[0][0]] * 5 for _ in honest]
    assert min(s.p_value for s in sampling_tests(frozen, SCHEMES[scheme], 30, rng)) < LEVEL


def test_batches_of_a_fixed_size_are_not_poisson_and_repeats_not_without_replacement() -> None:
    rng = np.random.default_rng(5)
    fixed = batches(Sampling.WITHOUT_REPLACEMENT, rng)
    assert min(s.p_value for s in sampling_tests(fixed, SCHEMES[Sampling.POISSON], 30, rng)) < LEVEL
    assert "drawn twice" in malformed([[[1, 1, 2, 3, 4, 5]]], SCHEMES[Sampling.WITHOUT_REPLACEMENT], 30)
    assert "declared are 6" in malformed([[[1, 2]]], SCHEMES[Sampling.WITHOUT_REPLACEMENT], 30)
    assert "no record 30" in malformed([[[30]]], SCHEMES[Sampling.POISSON], 30)


def test_samples_that_are_nearly_the_same_are_no_error() -> None:
    """scipy's exact value fails near 1, with a warning; two signs of 50 runs each often are as near as that."""
    signs = np.repeat([-1.0, 1.0], 25)
    assert two_samples(signs, np.where(np.arange(50) < 26, -1.0, 1.0), Side.EITHER) == pytest.approx(1.0)
    assert two_samples(-np.ones(50), np.ones(50), Side.EITHER) < 1e-20
