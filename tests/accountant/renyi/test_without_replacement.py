"""Lemma 2, Theorem 27 and the tight divergence: sound, tight, capped, and right where digits cancel."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.errors import CannotCertifyError
from accountant.mechanisms.steps import PoissonGaussianStep, PureStep, SubsampledGaussianStep
from accountant.numbers import arb_from_fraction, arb_precision, fraction_from_arb
from accountant.renyi import moments as subsampling
from accountant.renyi.integrals import poisson_moment, tight_moment
from accountant.renyi.moments import (
    Subsampling,
    central_moments,
    first_useless_moment,
    lemma2_at_least,
    lemma2_moment,
    step_log_moment,
    wbk27_at_least,
    wbk27_moment,
)

rates = st.fractions(Fraction(1, 10**6), Fraction(1), max_denominator=10**6)
multipliers = st.fractions(Fraction(3, 10), Fraction(50), max_denominator=1000)
orders = st.integers(2, 60)


def naive_lemma2(q: Fraction, x: Fraction, alpha: int) -> arb:
    """The printed formula, term by term."""
    rate, ratio = arb_from_fraction(q), arb_from_fraction(x)
    total = rate**2 * math.comb(alpha, 2) * (4 * (ratio.exp() - 1)).min(2 * ratio.exp())
    for j in range(3, alpha + 1):
        total += rate**j * math.comb(alpha, j) * 2 * (ratio * (j * (j - 1)) / 2).exp()
    return total


@given(rates, multipliers, orders)
def test_lemma_2_is_the_printed_sum(q: Fraction, nu: Fraction, alpha: int) -> None:
    with arb_precision(400):
        clever, naive = lemma2_moment(q, 1 / nu**2, alpha, 256), naive_lemma2(q, 1 / nu**2, alpha)
        assert clever.overlaps(naive)
        assert clever.rel_accuracy_bits() > 240


def test_the_early_end_of_the_sum_is_inside_its_ball(monkeypatch: pytest.MonkeyPatch) -> None:
    q, x, alpha = Fraction(1, 1000), Fraction(1, 10**4), 3000
    with arb_precision(300):
        coarse, fine = lemma2_moment(q, x, alpha, 30), lemma2_moment(q, x, alpha, 2000)
        assert coarse.contains(fine)
        assert coarse.rad() > fine.rad()
        assert fine.overlaps(naive_lemma2(q, x, alpha))
    monkeypatch.setattr(subsampling, "MAX_TERMS", 10)
    with arb_precision(300), pytest.raises(CannotCertifyError, match="more than 10 terms"):
        lemma2_moment(Fraction(1, 2), Fraction(1), 50, 100)


@given(rates, multipliers, st.integers(2, 40))
def test_the_bounds_are_ordered_tight_below_theorem_27_below_lemma_2(q: Fraction, nu: Fraction, alpha: int) -> None:
    x = 1 / nu**2
    with arb_precision(160):
        tight = tight_moment(q, nu, Fraction(alpha), 80)
        theorem27, lemma2 = wbk27_moment(q, x, alpha, 80), lemma2_moment(q, x, alpha, 80)
        assert not tight > theorem27
        assert not theorem27 > lemma2
        assert not wbk27_at_least(q, x, alpha) > theorem27
        assert not lemma2_at_least(q, x, alpha) > lemma2


@given(multipliers, st.fractions(Fraction(11, 10), Fraction(40), max_denominator=100))
def test_without_sampling_the_tight_divergence_is_the_gaussian(nu: Fraction, alpha: Fraction) -> None:
    with arb_precision(200):
        moment = tight_moment(Fraction(1), nu, alpha, 120)
        assert moment.log1p().overlaps(arb_from_fraction(alpha * (alpha - 1) / nu**2 / 2))
        assert moment.rel_accuracy_bits() > 80


@given(rates, multipliers, st.fractions(Fraction(1001, 1000), Fraction(60), max_denominator=1000))
def test_no_amplified_bound_exceeds_the_unamplified_one(q: Fraction, nu: Fraction, alpha: Fraction) -> None:
    step = SubsampledGaussianStep(q, nu, 1)
    with arb_precision(128):
        cap = arb_from_fraction(alpha * (alpha - 1) / nu**2 / 2)
        for theorem in Subsampling:
            assert not step_log_moment(step, theorem, alpha, 80) > cap


@given(rates, multipliers, st.integers(2, 30), st.fractions(Fraction(0), Fraction(1), max_denominator=50))
def test_chords_between_integers_bound_the_tight_curve(q: Fraction, nu: Fraction, below: int, share: Fraction) -> None:
    step = SubsampledGaussianStep(q, nu, 1)
    with arb_precision(128):
        for theorem in (Subsampling.LEMMA2, Subsampling.WBK27):
            chord = step_log_moment(step, theorem, below + share, 80)
            assert not step_log_moment(step, Subsampling.TIGHT, below + share, 80) > chord


@pytest.mark.parametrize("theorem", [Subsampling.LEMMA2, Subsampling.WBK27])
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 2), Fraction(1, 3), Fraction(3, 4)])
@pytest.mark.parametrize("below", [1, 2, 5])
def test_a_chord_joins_the_nearest_integers(theorem: Subsampling, share: Fraction, below: int) -> None:
    step = SubsampledGaussianStep(Fraction(1, 50), Fraction(4), 1)
    with arb_precision(128):
        found = step_log_moment(step, theorem, below + share, 100)
        low = step_log_moment(step, theorem, Fraction(below), 100) if below > 1 else arb(0)
        high = step_log_moment(step, theorem, Fraction(below + 1), 100)
        chord = low + (high - low) * arb_from_fraction(share)
        assert abs(found - chord) <= arb(2) ** -80 * high


def exact_moment(x: Fraction, level: int) -> arb:
    """E[(L-1)^l] by the alternating sum with precision to burn."""
    return sum(
        ((-1) ** i * math.comb(level, i) * (arb_from_fraction(x) * (i * (i - 1)) / 2).exp() for i in range(level + 1)),
        arb(0),
    )


@pytest.mark.parametrize(
    ("nu", "top"), [(Fraction(1), 8), (Fraction(4), 40), (Fraction(1000), 60), (Fraction(10**8), 30)]
)
def test_central_moments_survive_the_cancellation(nu: Fraction, top: int) -> None:
    found = central_moments(1 / nu**2, top, 100)
    with arb_precision(8000):
        for level in range(2, top + 1, 2):
            assert found[level].contains(exact_moment(1 / nu**2, level))
            assert found[level].rel_accuracy_bits() >= 98


def test_central_moments_own_up_to_coarse_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """With far too few digits the balls must grow until they still hold the truth."""
    monkeypatch.setattr("accountant.renyi.moments._fixed_point_bits", lambda *_: 12)
    found = central_moments(Fraction(1, 100), 12, 200)
    with arb_precision(600):
        for level in range(2, 13, 2):
            assert found[level].contains(exact_moment(Fraction(1, 100), level))
            assert found[level].rad() >= arb(2) ** (level - 13)


def test_115_digits_are_needed_at_one_half_and_a_thousand_and_fewer_would_be_noticed() -> None:
    level, x = 64, Fraction(1, 10**6)
    with arb_precision(int(3.33 * 100)):
        assert exact_moment(x, level).rel_accuracy_bits() <= 0  # 100 digits: not even the sign
    assert central_moments(x, level, 100)[level].rel_accuracy_bits() >= 98


@given(st.fractions(Fraction(1, 50), Fraction(3), max_denominator=100))
def test_beyond_the_settled_moment_lemma_2_has_the_smaller_branch(x: Fraction) -> None:
    start = first_useless_moment(x)
    with arb_precision(64):
        for level in (start, start + 2, 2 * start):
            assert 2 * level * (-(level - 1) * arb_from_fraction(x)).exp() <= 1


def test_too_much_work_is_refused_and_not_begun() -> None:
    with pytest.raises(CannotCertifyError, match="too much work"):
        central_moments(Fraction(1, 10**16), 5000, 100)


@given(rates, multipliers, st.integers(2, 40))
def test_poisson_integral_and_binomial_sum_agree(q: Fraction, nu: Fraction, alpha: int) -> None:
    nearby = alpha + Fraction(1, 10**30)
    with arb_precision(200):
        exact, integrated = poisson_moment(q, nu, Fraction(alpha), 120), poisson_moment(q, nu, nearby, 120)
        gap = abs(exact.log1p() - integrated.log1p())
        assert gap <= arb_from_fraction(Fraction(1, 10**25)) * (1 + exact.log1p())


@settings(max_examples=30)
@given(rates, multipliers, st.fractions(Fraction(3, 2), Fraction(30), max_denominator=20))
def test_poisson_at_the_same_multiplier_costs_no_more_than_replacing(
    q: Fraction, nu: Fraction, alpha: Fraction
) -> None:
    poisson = PoissonGaussianStep(q, nu, 1)
    replaced = SubsampledGaussianStep(q, nu, 1)
    with arb_precision(128):
        smaller = step_log_moment(poisson, Subsampling.TIGHT, alpha, 80)
        assert not smaller > step_log_moment(replaced, Subsampling.TIGHT, alpha, 80)


@given(st.fractions(Fraction(1, 100), Fraction(5)), st.fractions(Fraction(101, 100), Fraction(50)))
def test_pure_dp_costs_at_most_epsilon_and_half_alpha_epsilon_squared(epsilon: Fraction, alpha: Fraction) -> None:
    with arb_precision(128):
        moment = step_log_moment(PureStep(epsilon, 1), Subsampling.TIGHT, alpha, 80)
        assert not moment > arb_from_fraction((alpha - 1) * epsilon)
        assert not moment > arb_from_fraction((alpha - 1) * alpha * epsilon**2 / 2)
        assert fraction_from_arb(moment.lower()) > 0
