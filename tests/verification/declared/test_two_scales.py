"""Noise whose scale depends on a record: the bounds are true ones, wrong code is refuted, harmless code is not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from tests.verification.declared.inprocess import named_epsilon
from tests.verification.declared.test_mechanisms import judge
from verification.declared.two_scales import LEVEL, tail_epsilon, two_scales_epsilon
from verification.outcome import Outcome
from verification.statistics.tails import counted_epsilon
from verification.wire.declaration import NoiseKind

DELTA = 1e-5


def test_the_size_of_the_noise_tells_more_the_further_apart_the_scales_are() -> None:
    for kind in (NoiseKind.GAUSSIAN, NoiseKind.LAPLACE, NoiseKind.GAMMA_NORM):
        assert tail_epsilon(kind, 1.0, 5, DELTA) < 1e-6
        assert tail_epsilon(kind, 2.0, 5, DELTA) > tail_epsilon(kind, 1.5, 5, DELTA) > 1.0
        assert tail_epsilon(kind, 1.5, 5, DELTA) > tail_epsilon(kind, 1.5, 1, DELTA)
        assert tail_epsilon(kind, 1.5, 5, 0.0) == math.inf


@pytest.mark.parametrize("dimension", [1, 4])
def test_of_gaussian_noise_around_one_value_the_size_tells_all(dimension: int) -> None:
    """The likelihood ratio grows with the length, so that the bound is the epsilon at delta itself."""
    factor = 1.3
    found = tail_epsilon(NoiseKind.GAUSSIAN, factor, dimension, DELTA)
    law = stats.chi(dimension)

    def excess(r: float) -> float:
        return max(float(law.pdf(r / factor) / factor - math.exp(found) * law.pdf(r)), 0.0)

    assert integrate.quad(excess, 0.0, 40.0, limit=500)[0] == pytest.approx(DELTA, rel=2e-3)


def test_a_distance_of_the_values_never_makes_the_size_tell_less() -> None:
    """Anderson: a ball holds most about the centre of the law."""
    rng = np.random.default_rng(4)
    for kind in (NoiseKind.GAUSSIAN, NoiseKind.LAPLACE):
        noise = rng.standard_normal((200_000, 3)) if kind is NoiseKind.GAUSSIAN else rng.laplace(size=(200_000, 3))
        norm = 2 if kind is NoiseKind.GAUSSIAN else 1
        for t in (1.0, 3.0, 5.0):
            centred = np.mean(np.linalg.norm(noise, norm, axis=1) > t)
            for shift in rng.standard_normal((5, 3)):
                assert np.mean(np.linalg.norm(noise + shift, norm, axis=1) > t) >= centred - 0.006  # 5 deviations


def test_two_scales_cost_the_gaussian_price_where_they_are_equal_and_more_where_not() -> None:
    mu = 0.5
    equal = two_scales_epsilon(mu, 1.0, DELTA)
    left = stats.norm.cdf(mu / 2 - equal / mu) - math.exp(equal) * stats.norm.cdf(-mu / 2 - equal / mu)
    assert left == pytest.approx(DELTA, rel=1e-3)
    assert two_scales_epsilon(mu, 1.2, DELTA) > two_scales_epsilon(mu, 1.1, DELTA) > equal
    assert two_scales_epsilon(0.6, 1.1, DELTA) > two_scales_epsilon(mu, 1.1, DELTA)
    assert two_scales_epsilon(0.0, 1.2, DELTA) == pytest.approx(
        tail_epsilon(NoiseKind.GAUSSIAN, 1.2, 1, DELTA), rel=1e-3
    )


def test_counting_finds_what_there_is_and_no_more() -> None:
    rng = np.random.default_rng(5)

    def sizes(scale: float) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
        return tuple(np.abs(scale * rng.standard_normal(2000)) for _ in range(2))

    same, far = (sizes(1.0), sizes(1.0)), (sizes(1.0), sizes(1000.0))
    assert counted_epsilon((same[0][0], same[1][0]), (same[0][1], same[1][1]), DELTA, LEVEL) == 0.0
    assert counted_epsilon((far[0][0], far[1][0]), (far[0][1], far[1][1]), DELTA, LEVEL) > 4.0
    assert counted_epsilon((far[1][0], far[0][0]), (far[1][1], far[0][1]), 0.0, LEVEL) > 4.0


def _cases() -> list[object]:
    cases = [
        ("dual_admm", "scale by the largest norm"),
        ("dual_admm", "data-dependent scale"),
        ("poisson_sgd", "scale by the largest norm"),
        ("squared_loss", "scale by the norm of the batch"),
        ("laplace_gradient", "scale by the norm of the batch"),
    ]
    return [pytest.param(*case, marks=pytest.mark.slow if k else ()) for k, case in enumerate(cases)]


@pytest.mark.parametrize(("name", "mistake"), _cases())
def test_a_scale_from_the_data_is_refuted_with_its_epsilon(name: str, mistake: str) -> None:
    found, claimed = judge(name, mistake)
    finding = found["data-independence"]
    assert finding.outcome is Outcome.REFUTED, finding
    assert "depends on a record" in finding.detail
    assert named_epsilon(finding.detail) > claimed, finding.detail


@pytest.mark.parametrize("name", ["dual_admm", pytest.param("squared_loss", marks=pytest.mark.slow)])
def test_a_scale_that_gives_away_less_than_the_claim_is_inconclusive(name: str) -> None:
    """Three times the declared noise, of a scale that differs by less than a hundredth: the claim may well hold."""
    found, claimed = judge(name, "more noise, of a scale that hardly moves")
    finding = found["data-independence"]
    assert finding.outcome is Outcome.INCONCLUSIVE, finding
    assert "no theorem here prices that from above" in finding.detail
    assert named_epsilon(finding.detail) < claimed
    assert not [other for other in found.values() if other.outcome is Outcome.REFUTED], found


@pytest.mark.slow
def test_at_delta_zero_any_difference_of_scales_is_refuted() -> None:
    found, _ = judge("laplace_gradient", "more noise, of a scale that hardly moves")
    assert named_epsilon(found["data-independence"].detail) == math.inf
