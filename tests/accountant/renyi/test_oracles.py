"""The oracles before they judge: against closed forms, 20-digit integration and mpmath."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from accountant.certificates import mpmath_route as second_route
from accountant.mechanisms.steps import SubsampledGaussianStep
from accountant.numbers import fraction_of
from accountant.profiles.gaussian import gaussian_delta
from accountant.renyi.moments import Subsampling
from tests.accountant import inversion, renyi_oracles
from tests.accountant.composition_oracles import TwoSteps
from tests.accountant.inversion import Inversion, fourier_log_delta
from tests.accountant.moments import CannotResolve, Which, log_one_step, step_tapered
from tests.accountant.nonuniform import nonuniform_transform


@pytest.mark.parametrize(("points", "size"), [(500, 256), (40, 359), (2000, 3000)])
def test_nonuniform_transform_is_the_sum_it_stands_for(points: int, size: int) -> None:
    rng = np.random.default_rng(points)
    angles, weights = rng.uniform(-20, 20, points), rng.random(points)
    direct = np.exp(1j * np.multiply.outer(np.arange(size), angles)) @ weights
    assert float(np.abs(nonuniform_transform(angles, weights, size) - direct).max()) <= 1e-12 * float(weights.sum())


@pytest.mark.parametrize("which", list(Which))
@pytest.mark.parametrize(
    ("nu", "count", "epsilon"), [(0.5, 1, 3.0), (8.0, 64, 0.0), (8.0, 64, 4.0), (30.0, 10**4, 25.0), (3.0, 30, 20.0)]
)
def test_inversion_is_the_gaussian_where_nothing_is_sampled(
    which: Which, nu: float, count: int, epsilon: float
) -> None:
    truth = fraction_of(gaussian_delta(count / Fraction(nu) ** 2, Fraction(epsilon), digits=25).lower)
    value = Inversion([(1.0, nu, count)], which, epsilon, math.log(truth)).log_delta(epsilon)
    assert value.error <= 1e-7
    assert abs(value.log_delta - math.log(truth)) <= value.error


@pytest.mark.parametrize("which", list(Which))
@pytest.mark.parametrize(("q", "nu", "epsilon"), [("0.1", "1", "0.15"), ("0.5", "3", "0.4"), ("0.02", "0.8", "0.015")])
def test_inversion_is_the_double_integral_for_two_steps(which: Which, q: str, nu: str, epsilon: str) -> None:
    truth = fraction_of(TwoSteps(q, nu).delta(which, epsilon))
    value = Inversion([(float(q), float(nu), 2)], which, float(epsilon), math.log(truth)).log_delta(float(epsilon))
    assert value.error <= 1e-6
    assert abs(value.log_delta - math.log(truth)) <= value.error


def test_one_step_is_the_closed_form_and_two_kinds_of_step_commute() -> None:
    one = fourier_log_delta([(0.3, 2.0, 1)], Which.FIRST, 0.5)
    assert abs(one - log_one_step(step_tapered(0.3, 2.0, 1, -50.0), 0.5)) <= 1e-7
    steps = [(0.3, 2.0, 5), (0.1, 4.0, 9), (1.0, 20.0, 2)]
    forwards = fourier_log_delta(steps, Which.DOMINATING, 1.0)
    assert abs(forwards - fourier_log_delta(steps[::-1], Which.DOMINATING, 1.0)) <= 1e-9


def test_where_no_line_suits_the_oracle_is_silent() -> None:
    with pytest.raises(CannotResolve):
        Inversion([(4.6e-10, 0.78, 7)], Which.DOMINATING, 1e-8, math.log(3e-10)).log_delta(1e-8)
    with pytest.raises(CannotResolve):
        Inversion([(0.1, 1.0, 3)], Which.SECOND, 1.0, -20.0)  # its losses stay below -3 log(0.9)


def test_a_line_that_ends_too_early_is_noticed_in_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [(0.0172, 1.504, 5)]
    honest = Inversion(steps, Which.DOMINATING, 0.0064, math.log(0.01)).log_delta(0.0064)
    monkeypatch.setattr(inversion, "TAIL", 1.0)
    early = Inversion(steps, Which.DOMINATING, 0.0064, math.log(0.01)).log_delta(0.0064)
    assert honest.error <= 1e-6
    assert abs(early.log_delta - honest.log_delta) <= early.error
    assert abs(early.log_delta - honest.log_delta) > 100 * honest.error


@pytest.mark.parametrize(
    ("q", "nu", "alpha"),
    [("1/2", "10", 100), ("3/1000", "25", 300), ("1/5", "1/2", 4), ("1", "2", 9)],
)
@pytest.mark.parametrize("theorem", [Subsampling.LEMMA2, Subsampling.WBK27, Subsampling.TIGHT])
def test_renyi_oracle_is_mpmath_to_twelve_digits(q: str, nu: str, alpha: int, theorem: Subsampling) -> None:
    check_oracle(q, nu, alpha, theorem)


@pytest.mark.parametrize(
    "theorem", [Subsampling.LEMMA2, Subsampling.WBK27, pytest.param(Subsampling.TIGHT, marks=pytest.mark.slow)]
)
def test_renyi_oracle_is_mpmath_where_its_quadrature_takes_long(theorem: Subsampling) -> None:
    check_oracle("1/100", "1", 20, theorem)


def check_oracle(q: str, nu: str, alpha: int, theorem: Subsampling) -> None:
    step = SubsampledGaussianStep(Fraction(q), Fraction(nu), 1)
    with second_route.mp.workdps(40):
        truth = float(fraction_of(second_route.log_moment(step, theorem, Fraction(alpha), 20)))
    assert abs(renyi_oracles.log_moment(step, theorem, Fraction(alpha)) / truth - 1) <= 2e-12


@pytest.mark.parametrize(("x", "order"), [("1/4", 2), ("1/4", 30), ("1/400", 300), ("3", 12), ("1/100", 900)])
def test_central_moments_are_the_alternating_sums(x: str, order: int) -> None:
    exact = second_route._difference(Fraction(x), order, 20)
    with second_route.mp.workdps(30):
        truth = float(fraction_of(second_route.mp.log(exact)))
    assert abs(renyi_oracles.log_central_moment(float(Fraction(x)), order) / truth - 1) <= 1e-12
