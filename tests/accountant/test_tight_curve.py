"""The curve with effort "tight": below the symmetrised profile, above every realisable pair."""

from __future__ import annotations

from fractions import Fraction

import pytest

from accountant.curve import delta_curve
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import GaussianStep, SubsampledGaussianStep
from accountant.mechanisms.words import Noise
from accountant.pld.composition import compose
from accountant.profiles.one_step import SubsampledGaussian

Q, NU, COUNT = Fraction(1, 10), Fraction(2), 60
EPSILONS = (Fraction(1, 2), Fraction(3, 2))


def _ledger(nu: Fraction) -> Ledger:
    return Ledger((SubsampledGaussianStep(Q, nu, COUNT, Noise.GAUSSIAN),))


def _attained(nu: Fraction, epsilon: Fraction) -> Fraction:
    return compose([SubsampledGaussian(Q, nu, COUNT)]).delta_lower(epsilon)


@pytest.mark.slow
def test_it_refutes_noise_that_the_symmetrised_curve_lets_pass() -> None:
    """With 3 % less noise than claimed a realisable pair exceeds the tight curve and stays below the other one."""
    quick, tight = delta_curve(_ledger(NU)), delta_curve(_ledger(NU), effort="tight")
    less = NU * Fraction(97, 100)
    for epsilon in EPSILONS:
        assert _attained(NU, epsilon) <= tight(epsilon) < quick(epsilon)
        assert tight(epsilon) < _attained(less, epsilon) < quick(epsilon)
    assert tight.description == "exact adversary"


def test_other_steps_are_composed_with_the_exact_adversary() -> None:
    mixed = Ledger((*_ledger(NU).steps, GaussianStep(Fraction(1, 4), 1, Noise.GAUSSIAN)))
    tight, one = delta_curve(mixed, effort="tight"), Fraction(1)
    assert tight.description == "exact adversary"
    assert delta_curve(_ledger(NU), effort="tight")(one) < tight(one) <= delta_curve(mixed)(one)
