"""Composition in exact integers: an upper bound at every grid, however coarse, and tight on a fine one."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import fmpz_poly
from hypothesis import given
from hypothesis import strategies as st

from accountant.certificates.integer_route import (
    ExactPair,
    Grid,
    IntegerMeasure,
    _product,
    chance,
    exact_delta_upper,
    exact_mixture,
)
from accountant.mechanisms.steps import GroupStep, WithReplacementStep
from accountant.mechanisms.words import Sampling
from accountant.numbers import fraction_of
from accountant.profiles.gaussian import gaussian_delta
from accountant.profiles.one_step import SubsampledGaussian, single_step_delta

FINE = Grid(Fraction(1, 200), 1500, 80)
GAUSSIAN = [SubsampledGaussian(Fraction(1), Fraction(8), 64)]
"""64 releases at nu = 8: together N(1, 1) against N(0, 1)."""


def truth(epsilon: Fraction) -> Fraction:
    return fraction_of(gaussian_delta(Fraction(1), epsilon, digits=25).lower)


@pytest.mark.parametrize("pair", list(ExactPair))
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1), Fraction(3)])
def test_without_sampling_it_is_the_gaussian_from_above(pair: ExactPair, epsilon: Fraction) -> None:
    found = exact_delta_upper(GAUSSIAN, pair, epsilon, FINE)
    assert truth(epsilon) <= found <= truth(epsilon) * (1 + Fraction(1, 50))


@pytest.mark.parametrize(
    "grid",
    [
        Grid(Fraction(1, 200), 1500, 22),  # units so coarse that rounding them the other way would lose the tail
        Grid(Fraction(1, 5), 60, 80),  # few points
        Grid(Fraction(1, 200), 300, 80),  # a window that the loss leaves
    ],
)
def test_a_bad_grid_is_loose_and_never_wrong(grid: Grid) -> None:
    for epsilon in (Fraction(1), Fraction(3), Fraction(5)):
        assert exact_delta_upper(GAUSSIAN, ExactPair.DOMINATING, epsilon, grid) >= truth(epsilon)


def test_coarse_units_cost_what_they_round_up() -> None:
    coarse = exact_delta_upper(GAUSSIAN, ExactPair.DOMINATING, Fraction(5), Grid(Fraction(1, 200), 1500, 22))
    fine = exact_delta_upper(GAUSSIAN, ExactPair.DOMINATING, Fraction(5), FINE)
    assert coarse > 2 * fine


@given(st.lists(st.integers(0, 2**10), min_size=3, max_size=3), st.lists(st.integers(0, 2**10), min_size=3, max_size=3))
def test_a_product_never_loses_mass(left: list[int], right: list[int]) -> None:
    grid = Grid(Fraction(1), 1, 10)
    found = _product(IntegerMeasure(fmpz_poly(left), 1), IntegerMeasure(fmpz_poly(right), 2), grid)
    exact = [sum(left[i] * right[k - i] for i in range(3) if 0 <= k - i < 3) for k in range(5)]
    masses = [int(found.masses[j]) for j in range(3)]
    low, middle, high = exact[0] + exact[1], exact[2], exact[3]
    assert all(mass * 2**10 >= true for mass, true in zip(masses, (low, middle, high), strict=True))
    assert (found.infinite - 3) * 2**10 >= exact[4]
    assert (sum(masses) + found.infinite - 3) * 2**10 <= sum(exact) + 5 * 2**10


def test_one_sampled_step_is_the_closed_form_and_the_pair_attains_it() -> None:
    step = SubsampledGaussian(Fraction(1, 10), Fraction(1), 1)
    for epsilon in (Fraction(0), Fraction(1, 10), Fraction(1)):
        exact = fraction_of(single_step_delta(Fraction(1, 10), Fraction(1), epsilon).lower)
        for pair in (ExactPair.DOMINATING, ExactPair.MIXTURE_FIRST):
            found = exact_delta_upper([step], pair, epsilon, FINE)
            assert exact <= found <= exact * (1 + Fraction(1, 100))
        assert exact_delta_upper([step], ExactPair.MIXTURE_SECOND, epsilon, FINE) <= exact * (1 + Fraction(1, 100))


def test_different_steps_compose_in_either_order() -> None:
    steps = [SubsampledGaussian(Fraction(1, 5), Fraction(2), 3), SubsampledGaussian(Fraction(1), Fraction(4), 2)]
    forwards = exact_delta_upper(steps, ExactPair.DOMINATING, Fraction(1), FINE)
    backwards = exact_delta_upper(steps[::-1], ExactPair.DOMINATING, Fraction(1), FINE)
    assert abs(forwards - backwards) <= forwards / 10**6
    assert forwards >= max(exact_delta_upper([step], ExactPair.DOMINATING, Fraction(1), FINE) for step in steps)


def test_no_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        exact_delta_upper([], ExactPair.DOMINATING, Fraction(1), FINE)


@pytest.mark.parametrize(
    "step",
    [
        WithReplacementStep(100, 10, Fraction(3), 3),
        GroupStep(1000, 50, Fraction(2), 5, group=4),
        GroupStep(100, 30, Fraction(2), 5, group=3, sampling=Sampling.POISSON),
    ],
)
@pytest.mark.parametrize("spare", [Fraction(1, 10**40), Fraction(1, 100)])
def test_a_mixture_is_its_definition_rounded_up(step: WithReplacementStep, spare: Fraction) -> None:
    found, some, small = exact_mixture(step, spare), 1 - chance(step.copies, 0), Fraction(1, 10**120)
    true = [chance(step.copies, k) / some for k in range(1, len(found.parts) + 1)]
    assert all(0 <= part[0] - share < small for part, share in zip(found.parts, true, strict=True))
    assert all(0 <= part.sampling_rate - some < small for _, part in found.parts)
    assert 1 - sum(true) <= found.rest <= spare


def test_the_mixture_of_a_large_batch_is_no_exact_rational() -> None:
    """A million draws would be rationals of twenty million bits, and dividing them no time limit could interrupt."""
    found = exact_mixture(WithReplacementStep(10**18, 10**17, Fraction(3), 3), Fraction(1, 10**13))
    assert len(found.parts) < 10
    assert found.rest < Fraction(1, 10**13)
