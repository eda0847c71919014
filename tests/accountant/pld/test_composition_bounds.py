"""The wrong thing each bound of the composition must catch: bounds taken away in turn, and the lie seen."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision, fraction_of
from accountant.pld import convolution, lower_step, upper_step
from accountant.pld.certified_floats import Floats, normalised
from accountant.pld.convolution import _fraction_above, _fraction_below
from accountant.pld.lower_step import Cuts, cut_axis
from accountant.pld.plan import CompositionPlan, Resolution, build, log_of, plan_for_delta
from accountant.pld.types import BinaryStep, Frame, LatticeStep, Pair
from accountant.profiles.gaussian import gaussian_delta
from tests.accountant.inversion import fourier_log_delta
from tests.accountant.moments import Which

COARSE = Resolution(tolerance=1e-2)
ONE_GAUSSIAN = BinaryStep(1.0, 0.25, 100)
SQUARE = Fraction(100, 16)


def test_mass_that_wraps_around_unnoticed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window far too narrow: honest bounds stay sound; without the tail bound the upper end falls below the truth."""
    plan = plan_for_delta([ONE_GAUSSIAN], Pair.DOMINATING, math.log(1e-8), Resolution())
    narrow = dataclasses.replace(plan, length=plan.length // 8, low=plan.low + 0.5)
    epsilon = Fraction(plan.epsilon)
    truth = fraction_of(gaussian_delta(SQUARE, epsilon).upper)
    assert build(narrow).delta_upper(epsilon) >= truth
    monkeypatch.setattr(convolution, "_tail", lambda *_: arb(0))
    assert build(narrow).delta_upper(epsilon) < truth


def test_transform_error_without_tilt_is_caught() -> None:
    """Nearly untilted at delta = 1e-30: rounding swamps delta. The honest bound says so; without E it would lie."""
    plan = plan_for_delta([ONE_GAUSSIAN], Pair.DOMINATING, math.log(1e-30), Resolution())
    frame = Frame(plan.frame.spacing, plan.frame.z_top, 1e-3)
    flat = dataclasses.replace(
        plan, frame=frame, kappas=(0.0,), low=-35.0, length=plan.length * 4, above=1.0, below=1.0
    )
    lattice = build(flat)
    blind = dataclasses.replace(lattice, error=arb(0), outside=arb(0), infinite=arb(0))
    lies = 0
    for thousandths in range(900, 1100, 10):
        epsilon = Fraction(plan.epsilon) * Fraction(thousandths, 1000)
        truth = fraction_of(gaussian_delta(SQUARE, epsilon).upper)
        assert lattice.delta_upper(epsilon) >= truth
        lies += blind.delta_upper(epsilon) < truth
    assert lies > 0


def test_mass_below_the_window_is_counted_at_the_upper_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window that starts above epsilon: what lies between them comes back at the top, where it weighs less."""
    plan = plan_for_delta([ONE_GAUSSIAN], Pair.DOMINATING, math.log(1e-8), Resolution())
    epsilon = Fraction(plan.epsilon)
    truth = fraction_of(gaussian_delta(SQUARE, epsilon).upper)
    high = dataclasses.replace(plan, low=plan.epsilon + 1)
    assert build(high).delta_upper(epsilon) >= truth
    honest = convolution._tail
    monkeypatch.setattr(convolution, "_tail", lambda *of: honest(*of) if of[2] > 0 else arb(0))
    assert build(high).delta_upper(epsilon) < truth / 2


def untilted_mass(step: LatticeStep, frame: Frame) -> float:
    losses = float(step.offset) + frame.spacing * (step.first + np.arange(step.masses.size))
    with_scale = np.log(np.maximum(step.masses, 1e-300)) + float(step.log_scale.mid()) - frame.theta * losses
    return float(np.exp(with_scale).sum())


def test_mass_below_the_lattice_of_a_step_is_moved_up_and_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truncated at z = 2: the dominating measure still has all its mass; with the part below left out it would not."""
    step, frame = BinaryStep(0.5, 0.5, 1), Frame(2.0**-6, 2.0, 3.0)

    def total() -> float:
        made = upper_step.dominating_step(step, frame, 0.0)
        return untilted_mass(made, frame) + float(made.infinite.mid())

    assert 1 - 1e-12 <= total() <= 1 + 1e-9
    honest = upper_step._scalar_masses

    def forgetful(*of: float | BinaryStep) -> tuple[float, float, arb]:
        atom, _, infinite = honest(*of)  # type: ignore[arg-type]  # the arguments are passed on as they came
        return atom, 0.0, infinite

    monkeypatch.setattr(upper_step, "_scalar_masses", forgetful)
    assert total() < 1 - 1e-3


def misplaced(q: float, mu: float, spacing: float, z_range: tuple[float, float]) -> Cuts:
    """Cut 0.4 of a cell too low."""
    cuts = cut_axis(q, mu, spacing, z_range)
    edges = cuts.edges.copy()
    edges[1:] -= 0.4 * np.diff(cuts.edges)
    return dataclasses.replace(cuts, edges=edges)


MISPLACED = BinaryStep(0.1, 0.125, 1000)


def misplaced_plan() -> tuple[CompositionPlan, Fraction, float]:
    plan = plan_for_delta([MISPLACED], Pair.MIXTURE_FIRST, math.log(1e-6), COARSE)
    epsilon = 0.9 * plan.epsilon
    return plan, Fraction(epsilon), fourier_log_delta([(0.1, 8.0, 1000)], Which.FIRST, epsilon)


def test_cells_in_the_wrong_place_are_never_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts moved down by 0.4 of a cell: cells fall and the bound holds; were their losses trusted, it would not."""
    honest_cells = lower_step._cells

    def trusting(step: BinaryStep, cuts: Cuts) -> lower_step._Cells:
        cells = honest_cells(step, cuts)
        zero = np.zeros_like(cells.excess)
        return dataclasses.replace(cells, excess=zero, excess_error=zero)

    plan, epsilon, truth = misplaced_plan()
    assert truth - 1 <= log_of(build(plan).delta_lower(epsilon)) <= truth
    monkeypatch.setattr(lower_step, "cut_axis", misplaced)
    assert log_of(build(plan).delta_lower(epsilon)) <= truth
    monkeypatch.setattr(lower_step, "_cells", trusting)
    assert log_of(build(plan).delta_lower(epsilon)) > truth


@pytest.mark.parametrize("pair", [Pair.MIXTURE_FIRST, Pair.MIXTURE_SECOND])
def test_a_cell_that_falls_leaves_its_tilt_behind(monkeypatch: pytest.MonkeyPatch, pair: Pair) -> None:
    """Some cells far too low: they fall. Were their masses still tilted for the old place, mass would be made up."""
    step, frame = BinaryStep(0.3, 0.5, 1), Frame(2.0**-6, 8.0, 12.0)

    def some_misplaced(q: float, mu: float, spacing: float, z_range: tuple[float, float]) -> Cuts:
        cuts = cut_axis(q, mu, spacing, z_range)
        edges = cuts.edges.copy()
        sign = 1 if pair is Pair.MIXTURE_FIRST else -1
        edges[5:-5:7] -= sign * 0.8 * np.diff(cuts.edges)[5:-4:7]
        return dataclasses.replace(cuts, edges=edges)

    def total() -> float:
        return untilted_mass(lower_step.dominated_step(step, pair, frame, 0.0), frame)

    def as_it_was(masses: Floats, fallen: Floats, frame: Frame) -> Floats:
        return masses

    monkeypatch.setattr(lower_step, "cut_axis", some_misplaced)
    assert 0.99 <= total() <= 1
    monkeypatch.setattr(lower_step, "untilted", as_it_was)
    assert total() > 1 + 1e-3


def test_a_delta_is_never_above_one_nor_below_zero_and_what_is_not_finite_says_nothing() -> None:
    nowhere = arb("nan")
    assert [_fraction_above(ball) for ball in (arb(2), nowhere, arb(1, 1), arb(10**10).exp(), arb(2) ** -30000)] == [
        1,
        1,
        1,
        1,
        Fraction(1, 2**20000),
    ]
    assert [_fraction_below(ball) for ball in (arb(-2), nowhere, arb(1, 2), arb(2) ** -30000)] == [0, 0, 0, 0]
    assert Fraction(1, 2) <= _fraction_above(arb(1) / 2)
    assert _fraction_below(arb(1) / 2) == Fraction(1, 2)


@pytest.mark.parametrize("masses", [[math.inf, 1.0], [math.nan, 1.0], [0.0, 0.0]])
def test_masses_without_a_finite_positive_sum_are_refused(masses: list[float]) -> None:
    with pytest.raises(CannotCertifyError, match="finite sum > 0"):
        normalised(np.array(masses), 0.0, upwards=True)


@pytest.mark.parametrize("upwards", [True, False])
def test_scaled_masses_stand_on_the_stated_side_of_what_they_were(upwards: bool) -> None:
    masses = np.random.default_rng(2).random(500) * 1e-3
    scaled, log_scale = normalised(masses, 0.25, upwards=upwards)
    with arb_precision(200):
        back = (log_scale - arb(0.25)).exp()
        ratios = [arb(float(new)) * back / arb(float(old)) for new, old in zip(scaled, masses, strict=True)]
        assert all(ratio >= 1 if upwards else ratio <= 1 for ratio in ratios)
        assert all(abs(ratio - 1) < arb(2) ** -50 for ratio in ratios)
    assert abs(float(scaled.sum()) - 1) < 1e-12
