"""The other estimators: honest on what is known exactly, tight where they should be, and refusing the rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import beta, binom

from audits.curves import ClaimFamily, GaussianCurve
from audits.eprocess.confidence import (
    LowerBound,
    band_point_bound,
    binomial_at_least,
    mean_at_least,
    mean_at_most,
    roc_band,
    tail_band,
)
from audits.eprocess.lower_bounds import held_out_bound, point_bound, renyi_bound
from audits.errors import AuditError
from benchmarks.estimators import (
    LaplaceCurve,
    UnsupportedClaim,
    band_bound,
    gaussian_family,
    gaussian_shaped_bound,
    laplace_family,
    point_refutes,
)
from tests.audits.eprocess.test_curve_eprocess import assert_alarms_at_most_as_stated
from tests.audits.mechanisms import (
    HONEST,
    NU,
    RATE,
    Honest,
    SubsampledGaussianCurve,
    gaussian,
    laplace,
    mu_of,
    subsampled,
)
from verification.wire.arrays import Floats

Estimator = Callable[[Floats, Floats], LowerBound]


def estimators(delta: float, confidence: float) -> dict[str, Estimator]:
    return {
        "held-out Clopper-Pearson": lambda a, b: held_out_bound(a, b, delta=delta, confidence=confidence),
        "Berk-Jones point": lambda a, b: band_point_bound(a, b, delta=delta, confidence=confidence),
        "e-process point": lambda a, b: point_bound(a, b, delta=delta, confidence=confidence),
    }


@pytest.mark.parametrize("name", ["held-out Clopper-Pearson", "Berk-Jones point"])
@pytest.mark.parametrize("honest", HONEST, ids=lambda h: h.name)
def test_point_bounds_exceed_the_truth_at_most_as_often_as_stated(honest: Honest, name: str) -> None:
    delta, confidence = 1e-2, 0.9
    repetitions = 150
    truth = honest.claim.epsilon_at(delta)
    estimate = estimators(delta, confidence)[name]
    exceeded = 0
    for seed in range(repetitions):
        first, second = honest.draw((300,), seed)
        exceeded += estimate(first, second).epsilon > truth
    assert_alarms_at_most_as_stated(exceeded, repetitions, 1.0 - confidence)


@pytest.mark.parametrize("honest", HONEST, ids=lambda h: h.name)
def test_the_point_e_process_refutes_a_true_claim_at_most_as_often_as_stated(honest: Honest) -> None:
    delta, alpha, repetitions = 1e-2, 0.1, 60
    truth = honest.claim.epsilon_at(delta)
    refuted = 0
    for seed in range(repetitions):
        first, second = honest.draw((300,), 30_000 + seed)
        refuted += point_refutes(first, second, epsilon=truth, delta=delta, alpha=alpha)
    assert_alarms_at_most_as_stated(refuted, repetitions, alpha)


@pytest.mark.parametrize("honest", HONEST, ids=lambda h: h.name)
def test_the_band_refutes_a_true_curve_at_most_as_often_as_stated(honest: Honest) -> None:
    repetitions = 150
    refuted = 0
    for seed in range(repetitions):
        first, second = honest.draw((400,), 10_000 + seed)
        refuted += roc_band(first, second, confidence=0.9).excess(honest.claim) > 0.0
    assert_alarms_at_most_as_stated(refuted, repetitions, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("honest", HONEST, ids=lambda h: h.name)
def test_the_band_refutes_a_true_curve_at_most_as_often_as_stated_over_2000_audits(honest: Honest) -> None:
    refuted = 0
    for seed in range(2000):
        first, second = honest.draw((400,), 20_000 + seed)
        refuted += roc_band(first, second, confidence=0.95).excess(honest.claim) > 0.0
    assert_alarms_at_most_as_stated(refuted, 2000, 0.05)


@pytest.mark.parametrize("count", [5, 60, 901])
def test_the_uniform_band_covers_exactly_as_computed(count: int) -> None:
    miss, repetitions = 0.1, 4000
    band = tail_band(count, miss)
    uniforms = np.sort(np.random.default_rng(8).random((repetitions, count)), axis=1)
    missed = int((uniforms < band[1:]).any(axis=1).sum())
    assert_alarms_at_most_as_stated(missed, repetitions, miss)
    # and tight: a band that misses half as often as allowed would fail this (once in a million seeds)
    assert binom.cdf(missed, repetitions, 0.6 * miss) > 1.0 - 1e-6 or binom.sf(missed, repetitions, 0.6 * miss) < 1e-3


def test_the_uniform_band_is_stricter_than_one_rank_and_milder_than_the_union_bound() -> None:
    band, count, miss = tail_band(200, 0.05), 200, 0.05
    ranks = np.arange(1, count + 1)
    assert np.all(band[1:] < beta.ppf(miss, ranks, count - ranks + 1))
    assert np.all(band[1:] > beta.ppf(miss / count, ranks, count - ranks + 1))


@pytest.mark.parametrize(
    ("name", "at_least"),
    [("held-out Clopper-Pearson", 0.45), ("Berk-Jones point", 0.50), ("e-process point", 0.50)],
)
def test_point_bounds_are_as_tight_as_they_should_be(name: str, at_least: float) -> None:
    first, second = gaussian(mu_of(1.0, 1e-5), 100_000, np.random.default_rng(9))
    assert at_least <= estimators(1e-5, 0.95)[name](first, second).epsilon <= 1.0


def subsampled_family() -> ClaimFamily:
    return ClaimFamily("one subsampled step", lambda s: SubsampledGaussianCurve(RATE, NU / s), 0.2, 4.0)


def test_the_band_is_tight_against_the_curve_on_a_subsampled_step() -> None:
    first, second = subsampled(1.0, 100_000, np.random.default_rng(10))
    truth = SubsampledGaussianCurve(RATE, NU).epsilon_at(1e-5)
    found = band_bound(subsampled_family(), first, second, delta=1e-5).epsilon
    assert 0.9 * truth <= found <= truth


@pytest.mark.parametrize(("epsilon", "at_least"), [(1.0, 0.75), (4.0, 0.92)])
def test_gdp_shaped_is_tight_on_the_gaussian(epsilon: float, at_least: float) -> None:
    mu = mu_of(epsilon, 1e-5)
    first, second = gaussian(mu, 100_000, np.random.default_rng(12))
    found = gaussian_shaped_bound(GaussianCurve(mu), first, second, delta=1e-5).epsilon
    assert at_least * epsilon <= found <= epsilon


def test_gdp_shaped_exceeds_a_gaussian_truth_at_most_as_often_as_stated() -> None:
    exceeded = 0
    for seed in range(400):
        first, second = gaussian(1.0, 400, np.random.default_rng(seed))
        found = gaussian_shaped_bound(GaussianCurve(1.0), first, second, delta=1e-3, confidence=0.9)
        exceeded += found.epsilon > GaussianCurve(1.0).epsilon_at(1e-3)
    assert_alarms_at_most_as_stated(exceeded, 400, 0.1)


def test_gdp_shaped_refuses_laplace_on_which_it_would_lie() -> None:
    first, second = laplace(1.0, 20_000, np.random.default_rng(13))
    with pytest.raises(UnsupportedClaim, match="Gaussian claims only"):
        gaussian_shaped_bound(LaplaceCurve(1.0), first, second, delta=1e-5)
    # and the refusal is needed: taken for Gaussian, a correct Laplace mechanism is accused
    assert gaussian_shaped_bound(GaussianCurve(1.0), first, second, delta=1e-5).epsilon > 1.0


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0])
def test_renyi_bound_is_below_the_truth_and_most_of_it(order: float) -> None:
    mu = mu_of(1.0, 1e-5)
    first, second = gaussian(mu, 100_000, np.random.default_rng(14))
    truth = order * mu * mu / 2
    found = renyi_bound(first, second, order=order).epsilon
    assert 0.6 * truth <= found <= truth


def test_renyi_bound_exceeds_the_truth_at_most_as_often_as_stated() -> None:
    exceeded = 0
    for seed in range(60):
        first, second = gaussian(0.7, 300, np.random.default_rng(seed))
        exceeded += renyi_bound(first, second, order=2.0, confidence=0.8).epsilon > 0.49
    assert_alarms_at_most_as_stated(exceeded, 60, 0.2)


@pytest.mark.parametrize("p", [0.02, 0.5, 0.97])
def test_the_mean_by_betting_covers_and_is_close(p: float) -> None:
    wrong = 0
    for seed in range(200):
        sample = (np.random.default_rng(seed).random(500) < p).astype(np.float64)
        low, high = mean_at_least(sample, 0.1), mean_at_most(sample, 0.1)
        wrong += low > p
        # the wealth may pass 1/alpha at any time, so the ends may even cross the final mean; they stay close to it
        reach = 4.0 * np.sqrt(p * (1 - p) / 500) + 0.02
        assert abs(sample.mean() - low) < reach
        assert abs(high - sample.mean()) < reach
    assert_alarms_at_most_as_stated(wrong, 200, 0.1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: renyi_bound(np.zeros(9), np.zeros(9), order=1.0),
        lambda: held_out_bound(np.zeros(2), np.zeros(2), delta=0.0),
        lambda: binomial_at_least(3, 2, 0.1),
        lambda: roc_band(np.zeros(3), np.zeros(3), confidence=1.0),
        lambda: mean_at_least(np.array([0.0, 1.5]), 0.1),
        lambda: gaussian_family(2.0, 1.0),
        lambda: laplace_family(0.0, 1.0),
    ],
)
def test_impossible_input_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(AuditError):
        call()
