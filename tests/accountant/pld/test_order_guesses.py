"""The search for the best order in float64: close to the balls, and without a say in what is certified."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import SsADMM, certificate, epsilon, pricing, recheck
from accountant.mechanisms.steps import (
    GaussianStep,
    PoissonGaussianStep,
    PureStep,
    Step,
    SubsampledGaussianStep,
)
from accountant.numbers import arb_precision
from accountant.pld.guesses import moment_guess
from accountant.renyi.moments import Subsampling, step_log_moment

rates = st.integers(1, 900).map(lambda k: Fraction(k, 10**4))
multipliers = st.integers(5, 300).map(lambda k: Fraction(k, 10))
orders = st.integers(15, 20_000).map(lambda k: Fraction(k, 10))


@settings(max_examples=25)
@given(rates, multipliers, orders)
def test_guesses_are_close_to_the_certified_curve(rate: Fraction, noise: Fraction, alpha: Fraction) -> None:
    cases: list[tuple[Step, float]] = [
        (SubsampledGaussianStep(rate, noise, 3), 1e-9),
        (PoissonGaussianStep(rate, noise, 3), 1e-4),  # cancels where the moment is hardly above 1
        (GaussianStep(1 / noise**2, 3), 1e-12),
    ]
    for step, within in cases:
        guess = moment_guess((step,))
        assert guess is not None
        with arb_precision(100):
            truth = 3 * float(step_log_moment(step, Subsampling.TIGHT, alpha, 60))
        assert math.isnan(guess(alpha)) or guess(alpha) == pytest.approx(truth, rel=within)


def test_what_float64_cannot_hold_is_left_to_balls() -> None:
    assert moment_guess((PureStep(Fraction(1), 1),)) is None
    assert moment_guess((SubsampledGaussianStep(Fraction(1, 10**30), Fraction(1), 1),)) is None
    assert moment_guess((GaussianStep(Fraction(10**400), 1),)) is None
    known = moment_guess((SubsampledGaussianStep(Fraction(1, 10), Fraction(1), 1),))
    assert known is not None
    assert math.isnan(known(Fraction(10**9)))


@pytest.mark.parametrize("power", [2, 3])
def test_a_wrong_guess_costs_tightness_alone(monkeypatch: pytest.MonkeyPatch, power: int) -> None:
    ledger = SsADMM(records=1000, batch=20, noise_multiplier=3, iterations=50).ledger()
    honest = epsilon(ledger, "1e-6", methods=["tight-rdp-cks"])
    monkeypatch.setattr(pricing, "_order_guess", lambda *_: lambda alpha: float(alpha) ** power)
    report = epsilon(ledger, "1e-6", methods=["tight-rdp-cks"])
    best, found = (each.methods["tight-rdp-cks"].epsilon.most for each in (honest, report))
    assert found.fraction() >= best.fraction() * Fraction(999_999, 10**6)
    recheck(certificate(report))
