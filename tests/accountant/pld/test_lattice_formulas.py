"""What a composed lattice says, on lattices so small that every number can be written down.

Expected values are computed in binary64. A place on the lattice is kept to 2^-40 of a cell, hence 1e-11; where bounds
are added, the lattice's margin for sums is 1e-9, hence 1e-8 and, after a difference, 1e-7.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from accountant.curve import _log_factor, _randomised_response, delta_curve
from accountant.errors import CannotCertifyError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import GaussianStep, PureStep
from accountant.mechanisms.words import Noise
from accountant.numbers import fraction_of
from accountant.pld import lower_step
from accountant.pld.composition import compose
from accountant.pld.convolution import ComposedLattice, Window, _arithmetic_error, compose_lattices
from accountant.pld.guesses import point_at
from accountant.pld.lower_step import Cuts, cut_axis, dominated_step
from accountant.pld.plan import certified_by_slope
from accountant.pld.types import BinaryStep, Frame, LatticeStep, Pair
from accountant.pld.upper_step import _scalar_masses, dominating_step
from accountant.profiles.one_step import SubsampledGaussian, single_step_delta
from accountant.profiles.without_lattice import event_delta

THETA, SPACING, FIRST = 0.5, 0.25, 3


def lattice(**other: object) -> ComposedLattice:
    """Two masses, at losses 0.75 and 1.0, of 0.2 and 0.4 before the tilt; what is not named is exact."""
    losses = np.array([0.75, 1.0])
    fields: dict[str, object] = {
        "theta": THETA,
        "spacing": SPACING,
        "offset": Fraction(0),
        "first": FIRST,
        "weights": np.array([0.2, 0.4]) * np.exp(THETA * losses),
        "error": arb(0),
        "mass": arb(0),
        "outside": arb(0),
        "log_scale": arb(0),
        "slack": Fraction(0),
        "infinite": arb(0),
    }
    return ComposedLattice(**{**fields, **other})  # type: ignore[arg-type]  # the fields are named above


def delta(epsilon: float) -> float:
    return sum(mass * max(0.0, 1 - math.exp(epsilon - loss)) for loss, mass in ((0.75, 0.2), (1.0, 0.4)))


def kernel(epsilon: float) -> list[float]:
    return [math.exp(-THETA * (loss - epsilon)) * -math.expm1(epsilon - loss) for loss in (0.75, 1.0) if loss > epsilon]


EPSILONS = [0.0, 0.1, 0.7, 0.75, 0.8, 0.99]


@pytest.mark.parametrize("epsilon", [*EPSILONS, 1.0, 1.3])
def test_both_ends_are_delta_where_nothing_is_left_out(epsilon: float) -> None:
    low, high = (bound(Fraction(epsilon)) for bound in (lattice().delta_lower, lattice().delta_upper))
    assert low <= high
    assert float(low) == pytest.approx(delta(epsilon), rel=1e-11, abs=1e-11)
    assert float(high) == pytest.approx(delta(epsilon), rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 0.8])
def test_slack_raises_the_upper_end_and_lowers_the_lower_one(epsilon: float) -> None:
    shifted = lattice(slack=Fraction(1, 16))
    assert float(shifted.delta_upper(Fraction(epsilon))) == pytest.approx(delta(epsilon - 0.0625), rel=1e-11)
    assert float(shifted.delta_lower(Fraction(epsilon))) == pytest.approx(delta(epsilon + 0.0625), rel=1e-11)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_offset_and_scale_are_those_of_the_losses_and_of_all_masses(epsilon: float) -> None:
    moved = lattice(offset=Fraction(1, 2), log_scale=arb(0.5 * THETA) + arb(0.3).log())
    assert float(moved.delta_upper(Fraction(epsilon + 0.5))) == pytest.approx(0.3 * delta(epsilon), rel=1e-11)
    assert float(moved.delta_lower(Fraction(epsilon + 0.5))) == pytest.approx(0.3 * delta(epsilon), rel=1e-11)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_error_is_added_at_the_upper_end_and_taken_from_the_lower_one(epsilon: float) -> None:
    peak = THETA**THETA / (1 + THETA) ** (1 + THETA)
    norm = math.hypot(*kernel(epsilon))
    tilt = math.exp(-THETA * epsilon)
    wrong = lattice(error=arb(0.01), outside=arb(0.02), mass=arb(10**30), infinite=arb(0.03))
    cut = math.exp(-80) * 1e30
    upper = delta(epsilon) + tilt * (norm * 0.01 + peak * 0.02 + cut) + 0.03
    assert float(wrong.delta_upper(Fraction(epsilon))) == pytest.approx(upper, rel=1e-8)
    lower = max(0.0, delta(epsilon) - tilt * (norm * 0.01 + peak * 0.02))
    assert float(wrong.delta_lower(Fraction(epsilon))) == pytest.approx(lower, rel=1e-7, abs=1e-12)


@given(st.floats(1e-3, 1e3))
def test_the_peak_is_the_kernels_largest_value(theta: float) -> None:
    peak = float(lattice(theta=theta)._peak().mid())
    at = math.log1p(1 / theta)
    for x in (at, 0.9 * at, 1.1 * at):
        assert math.exp(-theta * x) * -math.expm1(-x) <= peak * (1 + 1e-12)
    assert math.exp(-theta * at) * -math.expm1(-at) == pytest.approx(peak, rel=1e-10)


@given(st.fractions(-3, 3, max_denominator=10**6))
def test_a_place_on_the_lattice_is_rounded_to_the_stated_side(epsilon: Fraction) -> None:
    for direction, sign in (("down", 1), ("up", -1)):
        index, fraction, used = lattice(offset=Fraction(1, 3))._locate(epsilon, direction)  # type: ignore[arg-type]
        assert 0 <= sign * (epsilon - used) < Fraction(1, 2**40)
        assert 0 <= fraction < 1
        assert Fraction(1, 3) + (index + Fraction(fraction)) * Fraction(SPACING) == used


def measure(masses: list[float], first: int, count: int) -> LatticeStep:
    return LatticeStep(count, 0.0, first, np.array(masses), arb(0), 0.0, arb(0))


def test_the_mass_of_a_composition_is_the_product_of_masses_and_errors_are_relative_to_it() -> None:
    steps = [measure([0.25, 0.25], 0, 3), measure([2.0], 1, 2)]
    mass, error = _arithmetic_error(steps, 16)
    assert float(mass) == pytest.approx(0.5, rel=1e-7)
    assert 1e-15 < float(error) / float(mass) < 1e-13
    assert _arithmetic_error([measure([0.25] * 16, 0, 1)], 16)[1] == 0
    assert _arithmetic_error([measure([0.25] * 17, 0, 1)], 16)[1] > 0


@pytest.mark.parametrize("first", [-3, 0, 5])
def test_composed_masses_are_the_convolution_in_its_place(first: int) -> None:
    steps = [measure([0.5, 0.5], first, 2), measure([0.25, 0.0, 0.75], -1, 1)]
    exact = np.convolve(np.convolve([0.5, 0.5], [0.5, 0.5]), [0.25, 0.0, 0.75])
    window = Window(2 * first - 1, 8, 1.0, 1.0)
    composed = compose_lattices(steps, THETA, SPACING, window)
    np.testing.assert_allclose(composed.weights, [*exact, 0, 0, 0], rtol=0, atol=1e-14)
    assert composed.outside == 0
    cut_off = compose_lattices(steps, THETA, SPACING, Window(2 * first + 1, 4, 1.0, 1.0))
    assert float(cut_off.outside) >= float(exact[:2].sum() + exact[6:].sum())


@pytest.mark.parametrize("pair", [Pair.MIXTURE_FIRST, Pair.MIXTURE_SECOND])
@pytest.mark.parametrize("spacing", [0.05, 0.2, 0.4])
def test_however_wide_the_cells_of_a_pair_its_lower_end_is_attained(pair: Pair, spacing: float) -> None:
    """One step, whose own profile is a closed form; with wide cells what is second order elsewhere shows."""
    q, mu, theta = 0.5, 1.5, 2.0
    frame = Frame(spacing=spacing, theta=theta, z_top=8.0)
    step = dominated_step(BinaryStep(q, mu, 1), pair, frame, 0.0)
    length = 1 << (step.masses.size - 1).bit_length()
    composed = compose_lattices([step], theta, spacing, Window(step.first, max(length, 4), 1.0, 1.0))
    for epsilon in (Fraction(k, 40) for k in range(0, 80, 3)):
        exact = fraction_of(single_step_delta(Fraction(1, 2), Fraction(9, 4), epsilon).upper)
        assert composed.delta_lower(epsilon) <= exact


@pytest.mark.parametrize("cells_too_high", [-30, 30, 60])
@pytest.mark.parametrize("pair", [Pair.MIXTURE_FIRST, Pair.MIXTURE_SECOND])
def test_cells_said_to_lose_much_more_or_less_than_they_do_fall_to_where_they_belong(
    monkeypatch: pytest.MonkeyPatch, pair: Pair, cells_too_high: int
) -> None:
    """R is a third then, and R/(1+R) <= log(1+R) <= R is needed as it stands; at more than 0.4 nothing is said."""
    step, frame = BinaryStep(0.5, 1.5, 1), Frame(spacing=0.01, theta=2.0, z_top=8.0)

    def misplaced(q: float, mu: float, spacing: float, z_range: tuple[float, float]) -> Cuts:
        cuts = cut_axis(q, mu, spacing, z_range)
        losses = cuts.losses + cells_too_high * spacing
        inside = losses > np.log1p(-q) + 0.05
        first = int(np.flatnonzero(inside)[0])  # a loss that no point has cannot be claimed
        numbers, losses = cuts.numbers[first:] + cells_too_high, losses[first:]
        return Cuts(cuts.offset, cuts.edges[first:], numbers, losses, point_at(q, mu, losses))

    monkeypatch.setattr(lower_step, "cut_axis", misplaced)
    if cells_too_high == 60:
        with pytest.raises(CannotCertifyError, match="too wide"):
            dominated_step(step, pair, frame, 0.0)
        return
    found = dominated_step(step, pair, frame, 0.0)
    length = max(1 << (found.masses.size - 1).bit_length(), 4)
    composed = compose_lattices([found], 2.0, 0.01, Window(found.first, length, 1.0, 1.0))
    for epsilon in (Fraction(k, 40) for k in range(0, 80, 3)):
        exact = fraction_of(single_step_delta(Fraction(1, 2), Fraction(9, 4), epsilon).upper)
        assert composed.delta_lower(epsilon) <= exact


@pytest.mark.parametrize("spacing", [0.05, 0.2, 0.4])
def test_however_wide_the_cells_of_a_step_its_upper_end_holds(spacing: float) -> None:
    q, mu, theta = 0.5, 1.5, 2.0
    step = dominating_step(BinaryStep(q, mu, 1), Frame(spacing=spacing, theta=theta, z_top=8.0), 0.0)
    length = 1 << (step.masses.size - 1).bit_length()
    composed = compose_lattices([step], theta, spacing, Window(step.first, max(length, 4), 1.0, 1.0))
    for epsilon in (Fraction(k, 40) for k in range(0, 80, 3)):
        exact = fraction_of(single_step_delta(Fraction(1, 2), Fraction(9, 4), epsilon).lower)
        assert exact <= composed.delta_upper(epsilon)


def test_the_curve_of_a_renyi_bound_is_the_stated_formula() -> None:
    found = _log_factor(Ledger((GaussianStep(Fraction(1, 4), 3),)), Fraction(5))
    assert found is not None
    below, factor = found
    assert below == 4
    assert float(factor.mid()) == pytest.approx(5 * 4 * 0.25 / 2 * 3 + 4 * math.log(4 / 5) - math.log(5), rel=1e-14)


@pytest.mark.parametrize("epsilon", [0, "1/2", "3/2", 2, 3])
def test_the_curve_of_pure_steps_is_at_most_that_of_randomised_response(epsilon: str | int) -> None:
    exact = max(0.0, (math.exp(2) - math.exp(Fraction(epsilon))) / (1 + math.exp(2)))
    assert float(_randomised_response(Fraction(2), Fraction(epsilon))) == pytest.approx(exact, rel=1e-14)
    assert float(delta_curve(Ledger((PureStep(Fraction(1), 2),)))(epsilon)) <= exact * (1 + 1e-14)


@pytest.mark.parametrize("slope", [0.05, 1.0, 40.0])
@pytest.mark.parametrize("off", [1e-11, 1e-6, 1e-3])
def test_what_is_certified_by_its_slope_was_checked_there_and_is_near(slope: float, off: float) -> None:
    """The miss falls by `slope` where 1 was expected: slower, as expected, faster."""
    root, asked = Fraction(1, 2), dict[Fraction, float]()

    def miss(epsilon: Fraction) -> float:
        asked[epsilon] = slope * float(root - epsilon)
        return asked[epsilon]

    found = certified_by_slope(0.5 - off, 1.0, miss, upwards=True)
    assert asked[found] <= 0
    assert root <= found <= root * (1 + Fraction(3, 10**5)) + Fraction(off) / 5
    assert len(asked) <= 14
    asked.clear()
    below = certified_by_slope(0.5 + off, 1.0, lambda epsilon: -miss(epsilon), upwards=False)
    assert asked[below] >= 0
    assert root * (1 - Fraction(3, 10**5)) - Fraction(off) / 5 <= below <= root


def test_nothing_is_certified_by_a_slope_that_never_holds() -> None:
    assert certified_by_slope(1e-12, 1.0, lambda _: math.inf, upwards=False) == 0
    with pytest.raises(CannotCertifyError, match="could be certified"):
        certified_by_slope(1.0, 1.0, lambda _: 1e-300, upwards=True)


def test_mass_just_outside_a_window_is_bounded_on_either_side() -> None:
    step = measure([0.5, 0.0, 0.0, 0.5], 0, 1)
    for first, length in ((1, 4), (-1, 4), (-5, 8)):
        outside = compose_lattices([step], THETA, SPACING, Window(first, length, 40.0, 40.0)).outside
        missed = [index for index in (0, 3) if not first <= index < first + length]
        assert 0.5 * len(missed) <= float(outside) <= 0.5 * len(missed) * (1 + 1e-6)


def test_what_a_step_leaves_out_is_scaled_like_its_masses() -> None:
    plain, scaled = (_scalar_masses(BinaryStep(0.25, 1.5, 1), 3.0, 2.0, 0.5, kappa) for kappa in (0.0, 3.0))
    atom, below, infinite = plain
    assert atom == pytest.approx(0.75 * math.erf(1.5 / math.sqrt(8)), rel=1e-14)
    assert below == pytest.approx(math.erfc(3 / math.sqrt(2)) / 2 * math.exp(-1), rel=1e-14)
    tails = [math.erfc(x / math.sqrt(2)) / 2 for x in (1.5, 3.0)]
    assert float(infinite.mid()) == pytest.approx(0.25 * tails[0] + 0.75 * tails[1], rel=1e-14)
    assert [new / old for new, old in zip(scaled[:2], plain[:2], strict=True)] == pytest.approx([math.exp(-3)] * 2)
    assert float((scaled[2] - infinite).mid()) == 0


def test_one_rare_loss_is_seen_by_the_lower_end_of_delta() -> None:
    steps = [SubsampledGaussian(Fraction(1, 10**4), Fraction(1, 2), 20)]
    for epsilon in (Fraction(1, 2), Fraction(3)):
        event = event_delta(steps, epsilon)
        assert 0 < event <= compose(steps).delta_lower(epsilon)


def test_renyi_curves_look_at_orders_near_one() -> None:
    """Much is lost here, so that the best order is below 2; discrete noise has no other curve."""
    alpha, x, epsilon = 1.25, 100.0, 90.0
    stated = (alpha - 1) * (alpha * x / 2 - epsilon + math.log(1 - 1 / alpha)) - math.log(alpha)
    curve = delta_curve(Ledger((GaussianStep(Fraction(100), 1, Noise.DISCRETE),)))
    assert math.log(float(curve(90))) <= stated + 1e-9
