from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reference.errors import InvalidParameter
from reference.losses import LOSSES, HuberizedHinge, Logistic, Loss
from tests.reference.hostile import LARGEST, finite

ULP = 2.0**-52
MP = mpmath.MPContext()
MP.dps = 60


def exactly(value: float) -> mpmath.mpf:
    numerator, denominator = value.as_integer_ratio()
    return MP.mpf(numerator) / denominator


def logistic_value(v: mpmath.mpf) -> mpmath.mpf:
    # For huge |v| the exponential itself would need 1e308 digits: there the loss is max(-v, 0) to 60 digits and more.
    small = MP.exp(-abs(v)) if abs(v) < 10**6 else MP.mpf(0)
    rest = -v if v < 0 else MP.mpf(0)
    return MP.log1p(small) + rest


def logistic_slope(v: mpmath.mpf) -> mpmath.mpf:
    if v > 10**6:
        return MP.mpf(0)
    return MP.mpf(-1) / (1 + MP.exp(v)) if v > -(10**6) else MP.mpf(-1)


@given(finite)
@example(1e308)
@example(-1e308)
@example(LARGEST)
@example(-745.2)
@example(709.8)
@example(1e-300)
def test_logistic_agrees_with_60_digits_at_every_margin(v: float) -> None:
    margin = np.array([v])
    value, slope = Logistic().value(margin)[0], Logistic().slope(margin)[0]
    # exp and log1p are within 4 ulp, and each of the few operations after them adds half of one: 8 ulp in all; the
    # last term is for results below the normal range.
    for computed, truth in ((value, logistic_value(exactly(v))), (slope, logistic_slope(exactly(v)))):
        assert abs(exactly(float(computed)) - truth) <= 8 * exactly(ULP) * abs(truth) + 8 * exactly(2.0**-1074)


def paper_huber(v: float, h: float) -> float:
    """[CL20] section 5.1, its three cases as printed."""
    if v > 1 + h:
        return 0.0
    if abs(1 - v) <= h:
        return (1 + h - v) ** 2 / (4 * h)
    return 1 - v


@given(finite, st.sampled_from([0.5, 0.25, 1.0]))
@example(0.5, 0.5)
@example(1.5, 0.5)
@example(1.0, 0.5)
@example(np.nextafter(1.5, 2), 0.5)
@example(np.nextafter(0.5, 0), 0.5)
@example(-1e308, 0.5)
def test_huber_is_the_papers_three_cases(v: float, h: float) -> None:
    # Both are a handful of roundings of quantities of size 1 + |v|: 6 ulp of that.
    assert HuberizedHinge(h).value(np.array([v]))[0] == pytest.approx(paper_huber(v, h), rel=6 * ULP, abs=6 * ULP)


@pytest.mark.parametrize(("v", "slope"), [(2.0, 0.0), (1.5, 0.0), (1.0, -0.5), (0.5, -1.0), (-1e308, -1.0)])
def test_huber_slope_at_the_seams(v: float, slope: float) -> None:
    assert HuberizedHinge().slope(np.array([v]))[0] == slope


@pytest.mark.parametrize("loss", LOSSES.values(), ids=lambda loss: loss.name)
@given(v=finite)
def test_slopes_lie_between_minus_one_and_zero(loss: Loss, v: float) -> None:
    slope = loss.slope(np.array([v]))[0]
    assert -loss.steepest <= slope <= 0


@pytest.mark.parametrize("loss", LOSSES.values(), ids=lambda loss: loss.name)
@given(a=st.floats(-50, 50), b=st.floats(-50, 50))
def test_slope_is_monotone_and_no_steeper_than_the_curvature(loss: Loss, a: float, b: float) -> None:
    low, high = sorted((a, b))
    rise = loss.slope(np.array([high]))[0] - loss.slope(np.array([low]))[0]
    # Slopes are at most 1 in size and carry 8 ulp each.
    assert -16 * ULP <= rise <= loss.curvature * (high - low) + 16 * ULP


@pytest.mark.parametrize(("loss", "at"), [(Logistic(), 0.0), (HuberizedHinge(), 1.0)], ids=["logistic", "huber"])
def test_curvature_is_attained(loss: Loss, at: float) -> None:
    step = 1e-4
    rise = loss.slope(np.array([at + step]))[0] - loss.slope(np.array([at - step]))[0]
    # The third derivative vanishes there and the fifth of the logistic is at most 1/4: an error below step^2.
    assert rise / (2 * step) == pytest.approx(loss.curvature, rel=step)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=lambda loss: loss.name)
@given(v=st.floats(-30, 30))
def test_slope_is_the_derivative_of_the_value(loss: Loss, v: float) -> None:
    step = 1e-5
    difference = loss.value(np.array([v + step]))[0] - loss.value(np.array([v - step]))[0]
    # Between neighbours the slope turns by at most curvature * step; the values carry 8 ulp of at most 32 each.
    assert difference / (2 * step) == pytest.approx(
        loss.slope(np.array([v]))[0], abs=loss.curvature * step + 8 * 32 * ULP / step
    )


@pytest.mark.parametrize("h", [0, 0.0, -0.5, 1.5, float("nan")])
def test_huber_refuses_a_width_outside_its_domain(h: float) -> None:
    with pytest.raises(InvalidParameter, match="h must lie in"):
        HuberizedHinge(h)
