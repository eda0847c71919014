from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.curves import ApproximateCurve, GaussianCurve, PrivacyCurve, TableCurve
from audits.errors import AuditError
from benchmarks.estimators import LaplaceCurve
from tests.audits.mechanisms import SubsampledGaussianCurve

MP = mpmath.MPContext()
MP.dps = 60
Real = mpmath.mpf


def exact(value: float) -> Real:
    numerator, denominator = value.as_integer_ratio()
    return MP.mpf(numerator) / MP.mpf(denominator)


def normal_cdf(t: Real) -> Real:
    tail: Real = MP.erfc(-t / MP.sqrt(2))
    return tail / 2


def gaussian_delta(mu: Real, eps: Real) -> Real:
    with MP.workdps(400):
        return normal_cdf(mu / 2 - eps / mu) - MP.exp(eps) * normal_cdf(-mu / 2 - eps / mu)


def subsampled_delta(rate: Real, nu: Real, eps: Real) -> Real:
    with MP.workdps(400):
        return rate * gaussian_delta(1 / nu, MP.log(1 + (MP.exp(eps) - 1) / rate))


def upper_and_close(curve: PrivacyCurve, epsilon: float, truth: Real, relative: str) -> None:
    found = exact(float(curve.delta(np.array([epsilon]))[0]))
    assert found >= truth, f"{curve.describe()} at {epsilon}: {found} is below {truth}"
    assert found <= truth * (1 + MP.mpf(relative)) + MP.mpf("1e-290")


@pytest.mark.parametrize(
    ("mu", "epsilon"),
    list(itertools.product([1e-6, 1e-3, 0.1, 0.268, 1.0, 3.7, 12.0], [0.0, 1e-9, 1e-3, 0.3, 1.0, 4.0, 20.0, 60.0])),
)
def test_gaussian_curve_is_above_the_truth_and_close(mu: float, epsilon: float) -> None:
    curve = GaussianCurve(mu)
    if epsilon / mu > 37.0:
        # below 1e-300 float64 has nothing to be close with; above it must stay
        assert exact(float(curve.delta(np.array([epsilon]))[0])) >= gaussian_delta(exact(mu), exact(epsilon))
        return
    # the difference of two nearly equal tails costs up to (slack / mu): 1e-14 / 1e-6
    upper_and_close(curve, epsilon, gaussian_delta(exact(mu), exact(epsilon)), "1e-7" if mu < 1e-2 else "1e-9")


@given(st.floats(1e-3, 20.0), st.floats(0.0, 50.0))
def test_gaussian_curve_is_never_below_the_truth(mu: float, epsilon: float) -> None:
    found = exact(float(GaussianCurve(mu).delta(np.array([epsilon]))[0]))
    assert found >= gaussian_delta(exact(mu), exact(epsilon))


@given(st.floats(1e-6, 1.0), st.floats(0.2, 20.0), st.floats(0.0, 8.0))
def test_subsampled_curve_is_never_below_the_truth(rate: float, nu: float, epsilon: float) -> None:
    found = exact(float(SubsampledGaussianCurve(rate, nu).delta(np.array([epsilon]))[0]))
    assert found >= subsampled_delta(exact(rate), exact(nu), exact(epsilon))


def test_subsampled_curve_of_the_whole_data_set_is_the_gaussian_one() -> None:
    epsilon = np.linspace(0.0, 3.0, 31)
    whole, gaussian = SubsampledGaussianCurve(1.0, 2.0).delta(epsilon), GaussianCurve(0.5).delta(epsilon)
    np.testing.assert_allclose(whole, gaussian, rtol=1e-9)


@given(st.floats(0.0, 30.0), st.floats(0.0, 40.0), st.sampled_from([0.0, 1e-9, 0.3]))
def test_pure_and_approximate_curves_are_above_the_truth_and_close(claim: float, epsilon: float, delta: float) -> None:
    claimed: Real = MP.exp(exact(claim))
    asked: Real = MP.exp(exact(epsilon))
    gap = (claimed - asked) / (1 + claimed)
    truth = exact(delta) + (exact(1.0) - exact(delta)) * (gap if gap > 0 else exact(0.0))
    found = exact(float(ApproximateCurve(claim, delta).delta(np.array([epsilon]))[0]))
    assert truth <= found <= truth + MP.mpf("1e-13")


@given(st.floats(1e-6, 30.0), st.floats(0.0, 40.0))
def test_laplace_curve_is_above_the_truth_and_close(claim: float, epsilon: float) -> None:
    truth = exact(1.0) - MP.exp((exact(epsilon) - exact(claim)) / 2)
    found = exact(float(LaplaceCurve(claim).delta(np.array([epsilon]))[0]))
    assert found >= truth
    assert found <= (truth if truth > 0 else MP.mpf(0)) + MP.mpf("1e-13")


CURVES: list[PrivacyCurve] = [
    GaussianCurve(0.3),
    GaussianCurve(2.0),
    ApproximateCurve(1.0),
    ApproximateCurve(0.5, 1e-3),
    LaplaceCurve(1.5),
    SubsampledGaussianCurve(0.1, 0.7),
]


@pytest.mark.parametrize("curve", CURVES, ids=lambda c: c.describe())
def test_a_table_of_points_is_an_upper_bound_between_and_beyond_them(curve: PrivacyCurve) -> None:
    knots = np.array([0.0, 0.11, 0.4, 0.9, 2.0])
    table = TableCurve(tuple(knots.tolist()), tuple(curve.delta(knots).tolist()))
    everywhere = np.linspace(0.0, 5.0, 1001)
    assert np.all(table.delta(everywhere) >= curve.delta(everywhere) * (1 - 1e-12))
    np.testing.assert_allclose(table.delta(knots), curve.delta(knots), rtol=1e-9, atol=1e-15)


def test_a_dense_table_is_tight() -> None:
    curve = GaussianCurve(1.0)
    knots = np.linspace(0.0, 4.0, 400)
    table = TableCurve(tuple(knots.tolist()), tuple(curve.delta(knots).tolist()))
    between = knots[:-1] + 0.005
    assert float(np.max(table.delta(between) / curve.delta(between))) < 1.001


def test_interpolating_the_logarithm_instead_would_lie() -> None:
    # the wrong thing the chord rule must not be confused with: log-linear interpolation falls below a real curve
    curve = ApproximateCurve(2.0)
    low, middle, high = curve.delta(np.array([0.0, 1.0, 1.9]))
    wrong = np.exp(np.interp(1.0, [0.0, 1.9], np.log([low, high])))
    assert wrong < middle
    table = TableCurve((0.0, 1.9), (float(low), float(high)))
    assert float(table.delta(np.array([1.0]))[0]) >= middle


def test_a_table_drops_points_that_others_already_beat() -> None:
    loose = TableCurve((0.0, 0.5, 1.0), (0.2, 0.2, 0.01))
    assert float(loose.delta(np.array([0.5]))[0]) < 0.2


@pytest.mark.parametrize("curve", CURVES, ids=lambda c: c.describe())
def test_epsilon_at_inverts_delta(curve: PrivacyCurve) -> None:
    for delta in (0.05, 1e-2, 2e-3):
        epsilon = curve.epsilon_at(delta)
        assert float(curve.delta(np.array([epsilon]))[0]) <= delta
        if epsilon > 0.0:
            assert float(curve.delta(np.array([epsilon * (1 - 1e-9)]))[0]) >= delta * (1 - 1e-9)


def test_a_curve_that_never_comes_down_is_refused() -> None:
    with pytest.raises(AuditError, match="never reaches delta=1e-05"):
        ApproximateCurve(1.0, 1e-3).epsilon_at(1e-5)


def test_gaussian_trade_off_is_below_and_close_to_the_known_function() -> None:
    from scipy.special import ndtr, ndtri

    alpha = np.linspace(0.001, 0.999, 200)
    known = ndtr(ndtri(1.0 - alpha) - 1.0)
    found = GaussianCurve(1.0).trade_off(alpha)
    assert np.all(found <= known + 1e-12)
    assert float(np.max(known - found)) < 1e-4


@pytest.mark.parametrize("mu", [0.0, -1.0, float("nan"), float("inf")])
def test_an_impossible_mu_is_refused_with_its_value(mu: float) -> None:
    with pytest.raises(AuditError, match=r"mu must be finite and > 0, got mu="):
        GaussianCurve(mu)


@pytest.mark.parametrize(
    ("epsilons", "deltas"),
    [((), ()), ((0.0,), (0.1, 0.2)), ((0.0, 0.0), (0.1, 0.1)), ((-1.0,), (0.1,)), ((0.0,), (float("nan"),))],
)
def test_an_impossible_table_is_refused(epsilons: tuple[float, ...], deltas: tuple[float, ...]) -> None:
    with pytest.raises(AuditError):
        TableCurve(epsilons, deltas)
