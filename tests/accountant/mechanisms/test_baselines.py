"""The baselines' ledgers, step by step, with numbers of which none is 1 and no two are alike."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from accountant import (
    DPADMM,
    DPSVRG,
    Gaussian,
    GaussianStep,
    Noise,
    ObjP,
    Poisson,
    PoissonGaussianStep,
    Proximal,
    PureStep,
    SsADMM,
    SubsampledGaussianStep,
    objective_perturbation,
)
from accountant.errors import InvalidQuantityError
from accountant.numbers import Bound, arb_precision, fraction_of
from accountant.renyi.moments import Subsampling, step_log_moment


def test_gaussian_releases() -> None:
    plain = Gaussian(noise_multiplier=3, iterations=7).ledger()
    assert plain.steps == plain.realisable == (GaussianStep(Fraction(1, 9), 7),)
    discrete = Gaussian(noise_multiplier=3, iterations=7, noise=Noise.DISCRETE).ledger()
    assert discrete.steps == (GaussianStep(Fraction(1, 9), 7, Noise.DISCRETE),)
    assert discrete.realisable == ()


def test_batches() -> None:
    steps = (SubsampledGaussianStep(Fraction(3, 10), Fraction(1, 2), 7),)  # nu = sigma m/(2C) = (1/2) 3 / 3
    ledger = SsADMM(records=10, batch=3, iterations=7, sigma="1/2", clip="3/2").ledger()
    assert ledger.steps == ledger.realisable == steps
    assert SsADMM(records=10, batch=3, iterations=7, noise_multiplier=2, noise=Noise.DISCRETE).ledger().realisable == ()
    assert Poisson(sampling_rate=1, noise_multiplier="5/2", iterations=7).ledger().steps == (
        PoissonGaussianStep(Fraction(1), Fraction(5, 2), 7),
    )


@pytest.mark.parametrize("given", [{"sigma": 1, "clip": 1}, {"sigma": 1}])
def test_noise_is_given_in_one_way(given: dict[str, int]) -> None:
    with pytest.raises(InvalidQuantityError):
        SsADMM(
            records=10, batch=3, iterations=7, noise_multiplier=2, sigma=given.get("sigma"), clip=given.get("clip")
        ).ledger()


def test_dp_svrg_has_a_full_gradient_an_epoch_and_corrected_batches() -> None:
    ledger = DPSVRG(records=10, batch=3, iterations=10, inner=5, anchor_sigma="1/7", sigma="1/3", clip="3/2").ledger()
    full = GaussianStep((2 * Fraction(3, 2) / 10 * 7) ** 2, 2)
    assert ledger.steps == (full, SubsampledGaussianStep(Fraction(3, 10), Fraction(1, 3) * 3 / 6, 10))
    assert ledger.realisable == (full,)


def test_dp_admm_costs_what_its_smallest_party_costs() -> None:
    changing = DPADMM(
        records=11, eta=["2", "1/2"], rho="1/3", clip="3/2", sigma="1/5", iterations=2, parties=3
    ).ledger()  # 3 records at least
    first, second = 3 / (3 * (Fraction(1, 3) + Fraction(1, 2))) * 5, 3 / (3 * (Fraction(1, 3) + 2)) * 5
    assert changing.steps == changing.realisable == (GaussianStep(first**2, 1), GaussianStep(second**2, 1))
    constant = DPADMM(records=11, eta=2, rho="1/3", clip="3/2", sigma="1/5", iterations=4, parties=3).ledger()
    assert constant.steps == constant.realisable == (GaussianStep(first**2, 4),)
    assert DPADMM(records=3, eta=2, rho=1, clip=1, sigma=1, iterations=1, parties=3).ledger().steps[0].count == 1


def test_admm_objp_is_pure() -> None:
    assert ObjP(records=1000, epsilon="1/3", iterations=7).ledger().steps == (PureStep(Fraction(1, 3), 7),)
    each = ObjP(records=1000, epsilon=["1/3", "1/5"], iterations=2).ledger()
    assert each.steps == (PureStep(Fraction(1, 3), 1), PureStep(Fraction(1, 5), 1))
    assert each.realisable == ()
    with pytest.raises(InvalidQuantityError, match="one value or 3 values for iterations=3, got 2"):
        ObjP(records=1000, epsilon=["1/3", "1/5"], iterations=3).ledger()


@pytest.mark.parametrize(("n", "rho", "c"), [(1000, "3/2", "1/4"), (10, "2", "1/4"), (7, "100", "3")])
def test_an_objective_spends_what_the_jacobian_leaves(n: int, rho: str, c: str) -> None:
    found = objective_perturbation(epsilon="3/2", records=n, rho=rho, curvature=c)
    assert_close(found.noise_epsilon, 1.5 - 2 * math.log1p(Fraction(c) / n / Fraction(rho)))
    assert found.ridge == Bound.from_fractions(Fraction(0), Fraction(0))


@pytest.mark.parametrize(("epsilon", "n", "rho", "c"), [("1/1000", 10, "1/100", "1/4"), ("1/7", 3, "1/5", "2")])
def test_an_objective_too_flat_is_made_convex_enough(epsilon: str, n: int, rho: str, c: str) -> None:
    found = objective_perturbation(epsilon=epsilon, records=n, rho=rho, curvature=c)
    half = Fraction(epsilon) / 2
    assert found.noise_epsilon == Bound.from_fractions(half, half)
    assert_close(found.ridge, float(Fraction(c)) / (n * math.expm1(Fraction(epsilon) / 4)) - float(Fraction(rho)))


@pytest.mark.parametrize("rho", [Fraction(1, 3), Fraction(3)])
def test_three_sensitivities_apart_cost_the_sum_of_their_squares(rho: Fraction) -> None:
    assert Proximal().separate_factor(rho) == 2 + rho**2
    assert Proximal(Fraction(5, 2)).separate_factor(rho) == 1 + Fraction(25, 4) + (rho * Fraction(3, 2)) ** 2
    assert Proximal().joint_factor(rho) == 1 + max(Fraction(1), rho**2)
    L = Fraction(5, 2)
    assert Proximal(L).joint_factor(rho) == 1 + max(rho**2, L**2 + rho**2 * (L - 1) ** 2)


@pytest.mark.parametrize("alpha", [Fraction(3, 2), Fraction(2), Fraction(7)])
def test_a_pure_step_costs_what_randomised_response_costs(alpha: Fraction) -> None:
    with arb_precision(128):
        found = float(step_log_moment(PureStep(Fraction(2, 5), 1), Subsampling.LEMMA2, alpha, 80).mid())
    e, a = 0.4, float(alpha)
    assert found == pytest.approx(math.log((math.exp(a * e) + math.exp((1 - a) * e)) / (1 + math.exp(e))), rel=1e-12)


def assert_close(bound: Bound, about: float) -> None:
    """The enclosure is narrow, and where binary64 says."""
    lower, upper = fraction_of(bound.lower), fraction_of(bound.upper)
    assert 0 <= upper - lower <= abs(lower) * Fraction(1, 10**30)
    assert float(lower) == pytest.approx(about, rel=1e-12)
