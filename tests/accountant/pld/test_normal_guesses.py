"""The guesses agree with a library: they are used where a library's own start would cost more than the answer."""

from __future__ import annotations

import math

import pytest
from scipy.special import log_ndtr, ndtri_exp

from accountant.pld.guesses import log_normal_cdf, normal_quantile_of_log


@pytest.mark.parametrize("x", [-1e4, -300.0, -37.1, -36.9, -8.0, -1.0, -1e-9, 0.0, 0.5, 6.0, 30.0])
def test_log_normal_cdf(x: float) -> None:
    assert math.isclose(log_normal_cdf(x), float(log_ndtr(x)), rel_tol=1e-12, abs_tol=1e-300)


@pytest.mark.parametrize("log_mass", [-1.0, -2.5, -40.0, -700.0, -1e5, -1e8])
def test_normal_quantile(log_mass: float) -> None:
    assert math.isclose(normal_quantile_of_log(log_mass), float(ndtri_exp(log_mass)), rel_tol=1e-11)
