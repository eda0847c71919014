"""Composed profiles: sound at both ends against independent computations, tight, monotone, and right in the corners."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accountant.errors import CannotCertifyError, InvalidQuantityError
from accountant.numbers import fraction_of
from accountant.pld import composition
from accountant.pld.composition import ComposedProfile, Resolution, SubsampledGaussian, compose
from accountant.pld.plan import build, log_of, plan_for_delta
from accountant.pld.types import BinaryStep, Pair
from accountant.profiles.gaussian import gaussian_delta, gaussian_epsilon
from accountant.profiles.without_lattice import event_delta, event_epsilon
from tests.accountant.composition_oracles import TwoSteps
from tests.accountant.inversion import fourier_log_delta
from tests.accountant.moments import Which

FINE = Resolution(tolerance=1e-5)
COARSE = Resolution(tolerance=1e-2)
PAIRS = [
    (Pair.DOMINATING, Which.DOMINATING),
    (Pair.MIXTURE_FIRST, Which.FIRST),
    (Pair.MIXTURE_SECOND, Which.SECOND),
]


def _profile(q: str, nu: str, count: int, resolution: Resolution = Resolution()) -> ComposedProfile:  # noqa: B008
    return compose([SubsampledGaussian(Fraction(q), Fraction(nu), count)], resolution=resolution)


@pytest.mark.parametrize(
    ("q", "nu", "count", "most", "least"),
    [
        ("221/48842", "4", 2210, "0.2850", "0.2610"),
        ("221/48842", "2", 2210, "0.6690", "0.5785"),
        ("200/40000", "1", 200, "1.0390", "1.0095"),
        ("100/1000", "8", 1000, "2.2140", "2.1305"),
    ],
)
def test_rows_of_the_table_at_delta_1e_8(q: str, nu: str, count: int, most: str, least: str) -> None:
    epsilon = _profile(q, nu, count).epsilon(Fraction(1, 10**8))
    assert fraction_of(epsilon.upper) <= Fraction(most)
    assert fraction_of(epsilon.lower) >= Fraction(least)


INVERSIONS = [
    (221 / 48842, 4.0, 2210, 1e-8),
    (0.1, 8.0, 1000, 1e-50),
    (0.5, 1000.0, 1000, 1e-12),
    (0.5, 10.0, 1000, 0.1),
    (0.25, 1.0, 50, 1e-6),
    (1.0, 3.0, 100, 1e-18),
]


@pytest.mark.parametrize("case", INVERSIONS)
@pytest.mark.parametrize(("pair", "which"), PAIRS)
def test_both_ends_agree_with_fourier_inversion_of_the_moments(
    case: tuple[float, float, int, float], pair: Pair, which: Which
) -> None:
    """Another method and library; the oracle is good to 1e-7 in log delta, which is far below the width allowed."""
    q, nu, count, delta = case
    plan = plan_for_delta([BinaryStep(q, 1 / nu, count)], pair, math.log(delta), FINE)
    lattice = build(plan)
    epsilon = 0.95 * plan.epsilon
    truth = fourier_log_delta([(q, nu, count)], which, epsilon)
    width = 3e-5 * plan.frame.theta * plan.epsilon + 1e-4
    if pair is Pair.DOMINATING:
        assert -1e-7 <= log_of(lattice.delta_upper(Fraction(epsilon))) - truth <= width
    else:
        assert -width <= log_of(lattice.delta_lower(Fraction(epsilon))) - truth <= 1e-7


def test_heterogeneous_ledger_agrees_with_fourier_inversion() -> None:
    steps = [(0.01, 2.0, 300), (0.1, 5.0, 100), (1.0, 20.0, 3)]
    ledger = [SubsampledGaussian(Fraction(q), Fraction(nu), count) for q, nu, count in steps]
    composed = compose(ledger, resolution=FINE)
    truth = {which: fourier_log_delta(steps, which, 2.0) for which in Which}
    bound = composed.delta(Fraction(2))
    assert 0 <= log_of(fraction_of(bound.upper)) - truth[Which.DOMINATING] <= 2e-3
    best = max(truth[Which.FIRST], truth[Which.SECOND])
    assert -2e-3 <= log_of(fraction_of(bound.lower)) - best <= 0


def test_order_and_splitting_of_a_ledger_do_not_matter() -> None:
    step = SubsampledGaussian(Fraction(1, 50), Fraction(2), 10)
    other = SubsampledGaussian(Fraction(1), Fraction(9), 1)
    joined = compose([dataclasses.replace(step, count=20), other]).epsilon(Fraction(1, 10**6))
    split = compose([step, other, step]).epsilon(Fraction(1, 10**6))
    assert joined == split


@pytest.mark.parametrize(
    ("q", "nu", "epsilon"), [("0.1", "1", "1"), ("0.001", "2", "0.01"), ("1e-9", "4", "1e-9"), ("0.9", "0.5", "12")]
)
def test_two_steps_agree_with_direct_integration(q: str, nu: str, epsilon: str) -> None:
    oracle = TwoSteps(q, nu)
    bound = _profile(q, nu, 2, FINE).delta(Fraction(epsilon))
    top = fraction_of(oracle.delta(Which.DOMINATING, epsilon))
    bottom = max(fraction_of(oracle.delta(which, epsilon)) for which in (Which.FIRST, Which.SECOND))
    digits, width = Fraction(1, 10**12), Fraction(5, 10**4)
    assert 1 - digits <= fraction_of(bound.upper) / top <= 1 + width
    assert 1 - width <= fraction_of(bound.lower) / bottom <= 1 + digits


@pytest.mark.parametrize("delta", [Fraction(1, 10**300), Fraction(1, 10**40), Fraction(1, 10**8), Fraction(1, 10)])
@pytest.mark.parametrize(("nu", "count"), [(2.0, 7), (30.0, 50), (1024.0, 100_000)])
def test_lattice_without_sampling_encloses_the_exact_gaussian(nu: float, count: int, delta: Fraction) -> None:
    """The public interface uses the closed form here; this is the lattice itself, against it."""
    square = count * Fraction(1 / nu) ** 2
    for pair in Pair:
        plan = plan_for_delta([BinaryStep(1.0, 1 / nu, count)], pair, log_of(delta), Resolution())
        lattice = build(plan)
        for factor in (Fraction(1, 2), Fraction(19, 20), Fraction(1)):
            epsilon = Fraction(plan.epsilon) * factor
            truth = gaussian_delta(square, epsilon)
            assert lattice.delta_upper(epsilon) >= fraction_of(truth.upper) or pair is not Pair.DOMINATING
            assert lattice.delta_lower(epsilon) <= fraction_of(truth.lower) or pair is Pair.DOMINATING
        epsilon = fraction_of(gaussian_epsilon(square, delta).upper)
        near = epsilon / 1000
        if epsilon == 0:
            continue
        if pair is Pair.DOMINATING:
            assert lattice.delta_upper(epsilon + near) <= delta
        else:
            assert lattice.delta_lower(epsilon - near) >= delta


def test_full_sampling_is_the_exact_gaussian() -> None:
    epsilon = _profile("1", "30", 50).epsilon(Fraction(1, 10**8))
    assert epsilon == gaussian_epsilon(Fraction(50, 900), Fraction(1, 10**8))
    assert abs(fraction_of(epsilon.upper) - Fraction("1.214599390924")) < Fraction(1, 10**12)


rates = st.floats(-9, 0).map(lambda x: Fraction(10.0**x))
noises = st.floats(-0.5, 3).map(lambda x: Fraction(10.0**x))
counts = st.floats(0, 4).map(lambda x: int(10**x))
deltas = st.one_of(
    st.floats(-12, math.log10(0.5)).map(lambda x: Fraction(10.0**x)),
    st.integers(1, 300).map(lambda k: Fraction(1, 10**k)),
)


@given(rates, noises, counts, deltas)
@settings(max_examples=40)
@example(Fraction(1, 2), Fraction(1000), 10, Fraction(1, 10**12))
@example(Fraction(1, 2), Fraction(2 * 10**8), 1000, Fraction(1, 10**12))
@example(Fraction(1, 10**18), Fraction(4), 3, Fraction(1, 10**25))
@example(Fraction(221, 48842), Fraction(4), 2210, Fraction(1, 10))
def test_lower_never_exceeds_upper_nor_is_either_negative(
    q: Fraction, nu: Fraction, count: int, delta: Fraction
) -> None:
    composed = compose([SubsampledGaussian(q, nu, count)], resolution=COARSE)
    try:
        upper = composed.epsilon_upper(delta)
    except CannotCertifyError:
        return
    assert 0 <= composed.epsilon_lower(delta) <= upper
    assert upper <= fraction_of(gaussian_epsilon(count / nu**2, delta).upper) * Fraction(11, 10)


@given(rates, noises, st.integers(2, 3000), st.integers(1, 30), st.sampled_from(["q", "nu", "count", "delta"]))
@settings(max_examples=25)
def test_more_noise_fewer_steps_smaller_batches_larger_delta_never_cost_more(
    q: Fraction, nu: Fraction, count: int, digits: int, changed: str
) -> None:
    """On the enclosures: the lower end of the safer one stays below the upper end of the other."""
    dear = SubsampledGaussian(q, nu, count)
    safer = {
        "q": SubsampledGaussian(q * Fraction(9, 10), nu, count),
        "nu": SubsampledGaussian(q, nu * Fraction(11, 10), count),
        "count": SubsampledGaussian(q, nu, count - 1),
        "delta": dear,
    }[changed]
    delta = Fraction(1, 10**digits)
    safer_delta = delta * 2 if changed == "delta" else delta
    safe, costly = compose([safer], resolution=COARSE), compose([dear], resolution=COARSE)
    assert safe.epsilon_lower(safer_delta) <= costly.epsilon_upper(delta)
    assert safe.epsilon_upper(safer_delta) <= costly.epsilon_upper(delta) * Fraction(103, 100)


def test_a_finer_lattice_narrows_the_enclosure() -> None:
    delta = Fraction(1, 10**8)
    ends = [_profile("221/48842", "2", 2210, Resolution(tolerance=t)).epsilon(delta) for t in (1e-1, 1e-2, 1e-3, 1e-4)]
    for coarse, fine in itertools.pairwise(ends):
        assert coarse.lower <= fine.lower <= fine.upper <= coarse.upper


@pytest.mark.parametrize(
    ("step", "delta", "least", "most"),
    [
        # The truth by direct integration or closed form, rounded outwards; peers return 0, raise or are far off.
        (("1e-18", "4", 100), Fraction(1, 10**25), "1.375e-17", "1.436e-17"),
        (("1e-9", "4", 1), Fraction(1, 10**12), "8.0761214e-10", "8.0761215e-10"),
        (("1/2", "1000", 1), Fraction(1, 10**12), "2.79559574e-3", "2.79559575e-3"),
        (("1/2", "2e8", 100), Fraction(1, 10**12), "8.985e-8", "8.987e-8"),
        (("221/48842", "4", 2210), Fraction(1, 10**100), "1.2036", "1.2601"),
        (("221/48842", "4", 2210), Fraction(1, 10**300), "4.12", "4.17"),
        (("1/100", "4", 1000), Fraction(1, 10), "0", "0"),
        (("1/100", "4", 1000), Fraction(1, 2), "0", "0"),
        (("1/10", "1", 1000), Fraction(1, 2), "6.2", "10"),
        (("1/10", "1/10", 10), Fraction(1, 10**8), "439", "441"),
    ],
)
def test_corners_where_float64_accountants_fail(
    step: tuple[str, str, int], delta: Fraction, least: str, most: str
) -> None:
    epsilon = _profile(*step).epsilon(delta)
    assert Fraction(least) <= fraction_of(epsilon.lower) <= fraction_of(epsilon.upper) <= Fraction(most)


@pytest.mark.parametrize(
    ("q", "nu", "count", "digits"),
    [
        ("5.2e-9", "1.27", 1361, 216),
        ("4.7e-7", "1.03", 4, 57),
        ("9.4e-5", "2.86", 312, 100),
        ("1.2e-6", "5.45", 2, 292),
    ],
)
def test_where_one_rare_loss_decides_the_enclosure_stays_narrow(q: str, nu: str, count: int, digits: int) -> None:
    epsilon = _profile(q, nu, count, COARSE).epsilon(Fraction(1, 10**digits))
    assert fraction_of(epsilon.upper) <= fraction_of(epsilon.lower) * Fraction(11, 10)


@pytest.mark.parametrize(
    ("case", "before"),
    [
        (("4.6e-10", "0.78", 7, "3e-10"), 4.60),
        (("3.69e-10", "0.447", 215, "2.57e-11"), 4.80),
        (("9.36e-9", "0.46", 16, "2.37e-19"), 1.35),
    ],
)
def test_a_lattice_too_coarse_for_its_answer_is_refined(
    monkeypatch: pytest.MonkeyPatch, case: tuple[str, str, int, str], before: float
) -> None:
    """Upper over lower end; `before`: without refinement, with half of delta spent on the rarest losses."""
    delta = Fraction(case[3])
    epsilon = _profile(case[0], case[1], case[2]).epsilon(delta)
    assert fraction_of(epsilon.upper) <= fraction_of(epsilon.lower) * Fraction(6, 5)
    monkeypatch.setattr(composition, "finer_resolution", lambda *_: None)
    monkeypatch.setattr(composition, "BLUNT_TRUNCATIONS", (math.log(1 / 2),))
    coarse = _profile(case[0], case[1], case[2]).epsilon(delta)
    assert fraction_of(coarse.lower) <= fraction_of(epsilon.lower) <= fraction_of(epsilon.upper)
    assert fraction_of(epsilon.upper) <= fraction_of(coarse.upper)
    assert float(fraction_of(coarse.upper) / fraction_of(coarse.lower)) == pytest.approx(before, abs=0.01)


def test_event_bound_is_below_the_pair_it_belongs_to() -> None:
    steps = [SubsampledGaussian(Fraction(0.1), Fraction(1), 30)]
    for epsilon in (1.0, 3.0, 6.0):
        bound = event_delta(steps, Fraction(epsilon))
        assert bound > 0
        assert log_of(bound) <= fourier_log_delta([(0.1, 1.0, 30)], Which.FIRST, epsilon)
    delta = Fraction(1, 10**6)
    found = event_epsilon(steps, delta)
    assert event_delta(steps, found) >= delta
    assert found <= compose(steps).epsilon_lower(delta)


@pytest.mark.slow
def test_a_million_steps() -> None:
    epsilon = _profile("1/250", "4", 10**6).epsilon(Fraction(1, 10**8))
    assert Fraction("5.88") <= fraction_of(epsilon.lower) <= fraction_of(epsilon.upper) <= Fraction("6.50")
    truth = fourier_log_delta([(0.004, 4.0, 10**6)], Which.DOMINATING, 6.4, within=1e-5)
    bound = log_of(_profile("1/250", "4", 10**6).delta_upper(Fraction("6.4")))
    assert 0 <= bound - truth <= 1e-2


def test_epsilon_is_zero_exactly_where_delta_at_zero_already_suffices() -> None:
    composed = _profile("1/100", "4", 1000)
    at_zero = composed.delta(Fraction(0))
    assert composed.epsilon_upper(fraction_of(at_zero.upper) * Fraction(1001, 1000)) == 0
    just_below = fraction_of(at_zero.lower) * Fraction(99, 100)
    assert composed.epsilon_lower(just_below) > 0


def test_delta_and_epsilon_are_inverse_on_the_upper_end() -> None:
    composed = _profile("221/48842", "4", 2210)
    for delta in (Fraction(1, 10**8), Fraction(1, 10**3), Fraction(1, 10**60)):
        epsilon = composed.epsilon_upper(delta)
        assert composed.delta_upper(epsilon) <= delta * Fraction(1001, 1000)
        assert composed.delta_upper(epsilon * Fraction(999, 1000)) > delta


def test_the_curve_decreases_and_its_upper_end_is_above_the_lower_one() -> None:
    composed = _profile("1/10", "1", 20, Resolution(tolerance=1e-3))
    values = [composed.delta_upper(Fraction(i)) for i in range(10)]
    assert values == sorted(values, reverse=True)
    assert all(composed.delta_lower(Fraction(i)) <= value for i, value in enumerate(values))


def test_far_out_on_the_curve_nothing_overflows() -> None:
    composed = _profile("1/10", "1", 20)
    for epsilon in (50, 300, 3000, 10**7):
        bound = composed.delta(Fraction(epsilon))
        assert 0 <= fraction_of(bound.lower) <= fraction_of(bound.upper) <= Fraction(1, 10**90)


@pytest.mark.parametrize(
    ("delta", "message"),
    [
        (Fraction(0), r"delta must be in \(0, 1\)"),
        (Fraction(1), "delta must be in"),
        (1e-8, "delta must be a Fraction"),
    ],
)
def test_bad_delta_is_refused(delta: Fraction, message: str) -> None:
    with pytest.raises(InvalidQuantityError, match=message):
        _profile("1/10", "1", 2).epsilon(delta)


def test_other_bad_input_is_refused() -> None:
    with pytest.raises(InvalidQuantityError, match="at least one step"):
        compose([])
    with pytest.raises(InvalidQuantityError, match="epsilon must be >= 0"):
        _profile("1/10", "1", 2).delta(Fraction(-1))
    with pytest.raises(InvalidQuantityError, match="tolerance"):
        Resolution(tolerance=0.0)
    with pytest.raises(InvalidQuantityError, match="most_points"):
        Resolution(most_points=1000)
    with pytest.raises(InvalidQuantityError, match="delta must be in"):
        compose([SubsampledGaussian(Fraction(1, 2), Fraction(1), 1)], target_delta=Fraction(2))


def test_what_float64_cannot_hold_is_priced_as_if_every_record_were_used() -> None:
    composed = _profile("1e-120", "1", 10)
    assert composed.epsilon(Fraction(1, 10**100)).upper == 0
    delta = Fraction(1, 10**200)
    assert composed.epsilon_upper(delta) == fraction_of(gaussian_epsilon(Fraction(10), delta).upper)
    with pytest.raises(CannotCertifyError, match="float64 cannot hold"):
        composed.lattice_epsilon_upper(delta)
