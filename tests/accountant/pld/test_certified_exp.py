"""The proved error bounds of exp and expm1 are sound on adversarial arguments and not absurdly loose."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb

from accountant.numbers import arb_precision
from accountant.pld import certified_floats as pld_elementary
from accountant.pld.certified_floats import EXP_ERROR, EXPM1_ERROR, Floats, exp, expm1


def _arguments() -> Floats:
    """Random ones, ties of the range reduction, and both sides of every branch."""
    generator = np.random.default_rng(20)
    ties = (np.arange(-1000, 1000) + 0.5) * math.log(2)
    edges = np.array([0.0, -0.0, 0.3466, -0.3466, math.nextafter(0.3466, 1), -math.nextafter(0.3466, 1), -708.0, 709.0])
    tiny = 10.0 ** generator.uniform(-300, -1, 500) * generator.choice([-1.0, 1.0], 500)
    spread = generator.uniform(-707, 709, 2000)
    near = generator.uniform(-0.35, 0.35, 1500)
    return np.concatenate([ties, np.nextafter(ties, 0), edges, tiny, spread, near])


def _worst(computed: Floats, exact: list[arb]) -> float:
    with arb_precision(200):
        errors = [abs(arb(float(c)) / e - 1) for c, e in zip(computed, exact, strict=True) if e != 0]
        return max(float(error.upper()) for error in errors)


@pytest.mark.parametrize(("function", "bound"), [(exp, EXP_ERROR), (expm1, EXPM1_ERROR)])
def test_relative_error_stays_below_its_bound_and_within_a_factor_of_twenty(function: object, bound: float) -> None:
    x = _arguments()
    if function is expm1:
        x = x[x != 0]
    with arb_precision(200):
        exact = [arb(float(v)).exp() if function is exp else arb(float(v)).expm1() for v in x]
    computed = exp(x) if function is exp else expm1(x)
    worst = _worst(computed, exact)
    assert worst <= bound
    assert worst >= bound / 20


def test_a_polynomial_two_degrees_short_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pld_elementary, "_TAIL_COEFFICIENTS", tuple(1 / math.factorial(i) for i in range(11, 0, -1)))
    x = np.linspace(0.3, 0.3466, 50)
    with arb_precision(200):
        exact = [arb(float(v)).exp() for v in x]
    assert _worst(exp(x), exact) > EXP_ERROR


def test_below_the_range_exp_is_zero_and_above_it_raises() -> None:
    assert list(exp(np.array([-708.5, -1e300, -math.inf]))) == [0.0, 0.0, 0.0]
    for bad in (710.0, math.inf, math.nan):
        with pytest.raises(OverflowError, match="exp needs arguments"):
            exp(np.array([0.0, bad]))
        with pytest.raises(OverflowError, match="exp needs arguments"):
            expm1(np.array([bad]))


def test_shape_and_empty_arrays_are_kept() -> None:
    assert exp(np.zeros((3, 4))).shape == (3, 4)
    assert exp(np.zeros(0)).size == 0
    assert expm1(np.zeros(0)).size == 0
