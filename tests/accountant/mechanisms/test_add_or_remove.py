"""Records added or removed: Poisson batches, and batches of a fixed size, against both orders of the pair."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from accountant import Ledger, epsilon
from accountant.mechanisms.pure import Poisson
from accountant.mechanisms.steps import GaussianStep, PoissonGaussianStep, PureStep, SubsampledGaussianStep
from accountant.mechanisms.words import Neighbours
from accountant.numbers import fraction_of
from accountant.pricing import methods_for, slow_methods_for
from accountant.profiles.one_step import single_step_delta

BOTH = Neighbours.ADD_OR_REMOVE


@pytest.mark.parametrize("eps", [0.0, 0.3, 1.5])
@pytest.mark.parametrize(("rate", "nu"), [(0.01, 1.0), (0.3, 2.0), (0.9, 0.8)])
def test_the_profile_dominates_both_orders_of_the_pair_and_attains_the_first(
    rate: float, nu: float, eps: float
) -> None:
    z = np.linspace(-12, 14, 200_001)
    step = z[1] - z[0]
    base = stats.norm.pdf(z)
    mixture = (1 - rate) * base + rate * stats.norm.pdf(z - 1 / nu)
    first = float(np.maximum(mixture - math.exp(eps) * base, 0).sum() * step)
    second = float(np.maximum(base - math.exp(eps) * mixture, 0).sum() * step)
    bound = single_step_delta(Fraction(rate), 1 / Fraction(nu) ** 2, Fraction(eps))
    assert float(fraction_of(bound.upper)) == pytest.approx(first, rel=1e-5)
    assert float(fraction_of(bound.upper)) >= second * (1 - 1e-6)


def test_poisson_batches_have_both_ends() -> None:
    report = epsilon(Poisson(sampling_rate="0.02", noise_multiplier=1, iterations=100), "1e-6")
    assert "profile" in report.methods
    assert 0 < report.epsilon.lower <= report.epsilon.upper
    assert report.epsilon.upper <= report.methods["rdp-cks"].epsilon.upper


def test_a_batch_of_fixed_size_differs_by_a_replaced_entry_between_data_sets_of_different_size() -> None:
    """Three records or two, batches of two, sums of bits: every batch of the smaller is one of the larger's."""
    bits, eps, nu = (1.0, 0.0, 0.0), 0.2, 1.5
    z = np.linspace(-10, 12, 100_001)
    step = z[1] - z[0]

    def law(records: tuple[float, ...]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        pairs = [(i, j) for i in range(len(records)) for j in range(i)]
        return sum(stats.norm.pdf(z, records[i] + records[j], nu) for i, j in pairs) / len(pairs)  # type: ignore[return-value]

    larger, smaller = law(bits), law(bits[1:])
    bound = float(fraction_of(single_step_delta(Fraction(2, 3), 1 / Fraction(nu) ** 2, Fraction(eps)).upper))
    for one, other in ((larger, smaller), (smaller, larger)):
        assert float(np.maximum(one - math.exp(eps) * other, 0).sum() * step) <= bound * (1 + 1e-6)


def test_only_what_is_proved_for_the_relation_is_offered() -> None:
    ledger = Ledger((SubsampledGaussianStep(Fraction(1, 10), Fraction(2), 50, neighbours=BOTH),))
    assert methods_for(ledger) == ("tight-rdp-cks", "profile")
    assert slow_methods_for(ledger) == ()
    replaced = Ledger((SubsampledGaussianStep(Fraction(1, 10), Fraction(2), 50),))
    assert epsilon(ledger, "1e-6").epsilon.upper == epsilon(replaced, "1e-6").epsilon.upper


def test_mixtures_of_one_relation_are_priced() -> None:
    parts = (
        PoissonGaussianStep(Fraction(1, 20), Fraction(2), 30),
        GaussianStep(Fraction(1, 25), 2, neighbours=BOTH),
        PureStep(Fraction(1, 10), 3, BOTH),
    )
    whole = fraction_of(epsilon(Ledger(parts), "1e-6").epsilon.upper)
    alone = [fraction_of(epsilon(Ledger((part,)), "1e-6").epsilon.upper) for part in parts]
    assert max(alone) < whole < sum(alone) + Fraction(1, 2)
