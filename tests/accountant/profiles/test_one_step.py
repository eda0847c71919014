"""One step in closed form, its lattice, and what a privacy curve says about tests."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from accountant.errors import CannotCertifyError, InvalidQuantityError
from accountant.numbers import arb_precision, fraction_of
from accountant.pld.certified_floats import NODES, QUADRATURE_ERROR, panels
from accountant.pld.plan import Resolution, build, log_of, plan_for_delta, plan_for_epsilon
from accountant.pld.types import BinaryStep, Frame, Pair
from accountant.pld.upper_step import dominating_step, loss_mismatch
from accountant.profiles.gaussian import gaussian_delta
from accountant.profiles.one_step import (
    SubsampledGaussian,
    single_step_delta,
    single_step_epsilon,
)

STEPS = [
    (Fraction(1, 10), Fraction(1)),
    (Fraction(221, 48842), Fraction(4)),
    (Fraction(1, 1000), Fraction(1, 2)),
    (Fraction(1, 10**9), Fraction(4)),
    (Fraction(1, 2), Fraction(1000)),
    (Fraction(99, 100), Fraction(1, 3)),
    (Fraction(1), Fraction(2)),
]


def test_closed_form_at_full_sampling_is_the_gaussian_profile() -> None:
    ours = single_step_delta(Fraction(1), Fraction(1, 9), Fraction(1, 2))
    exact = gaussian_delta(Fraction(1, 9), Fraction(1, 2))
    assert ours.lower <= exact.upper
    assert exact.lower <= ours.upper


@pytest.mark.parametrize(("q", "nu"), STEPS)
@pytest.mark.parametrize("delta", [Fraction(1, 10**300), Fraction(1, 10**12), Fraction(1, 10**5), Fraction(1, 3)])
def test_epsilon_and_delta_of_one_step_are_inverse(q: Fraction, nu: Fraction, delta: Fraction) -> None:
    epsilon = single_step_epsilon(q, 1 / nu**2, delta)
    assert epsilon.lower >= 0
    if epsilon.upper == 0:
        assert fraction_of(single_step_delta(q, 1 / nu**2, Fraction(0)).lower) <= delta
        return
    assert fraction_of(single_step_delta(q, 1 / nu**2, fraction_of(epsilon.upper)).lower) <= delta
    assert fraction_of(single_step_delta(q, 1 / nu**2, fraction_of(epsilon.lower)).upper) >= delta


def _binary(q: Fraction, nu: Fraction) -> BinaryStep:
    return BinaryStep(float(q), 1 / float(nu), 1)


@pytest.mark.parametrize(("q", "nu"), STEPS)
@pytest.mark.parametrize("target", [1e-3, 1e-9, 1e-80])
@pytest.mark.parametrize("pair", [Pair.DOMINATING, Pair.MIXTURE_FIRST])
def test_lattice_of_one_step_encloses_the_closed_form_within_a_thousandth_of_epsilon(
    q: Fraction, nu: Fraction, target: float, pair: Pair
) -> None:
    step = _binary(q, nu)
    delta = Fraction(target) * q
    square = Fraction(step.mu) ** 2
    lattice = build(plan_for_delta([step], pair, log_of(delta), Resolution()))
    epsilon = fraction_of(single_step_epsilon(Fraction(step.q), square, delta).lower)

    def truth(at: Fraction) -> Fraction:
        return fraction_of(single_step_delta(Fraction(step.q), square, at).upper)

    below, above = epsilon * Fraction(999, 1000), epsilon * Fraction(1001, 1000)
    if pair is Pair.DOMINATING:
        assert truth(epsilon) <= lattice.delta_upper(epsilon) <= truth(below) * Fraction(1001, 1000)
    else:
        assert truth(above) * Fraction(999, 1000) <= lattice.delta_lower(epsilon) <= truth(epsilon)


@pytest.mark.parametrize("pair", [Pair.DOMINATING, Pair.MIXTURE_FIRST])
def test_lattice_stays_sound_far_from_where_it_is_sharp(pair: Pair) -> None:
    step = BinaryStep(0.1, 1.0, 1)
    lattice = build(plan_for_delta([step], pair, math.log(1e-100), Resolution()))
    for epsilon in (Fraction(0), Fraction(1, 100), Fraction(1), Fraction(5), Fraction(40), Fraction(150)):
        truth = single_step_delta(Fraction(0.1), Fraction(1), epsilon)
        if pair is Pair.DOMINATING:
            assert lattice.delta_upper(epsilon) >= fraction_of(truth.upper)
        else:
            assert lattice.delta_lower(epsilon) <= fraction_of(truth.lower)


def test_masses_too_small_by_a_hundred_thousandth_are_caught() -> None:
    step = BinaryStep(0.1, 1.0, 1)
    plan = plan_for_epsilon([step], Pair.DOMINATING, 0.5, Resolution(tolerance=1e-9, most_points=1 << 20))
    honest = build(plan)
    truth = fraction_of(single_step_delta(Fraction(0.1), Fraction(1), Fraction(1, 2)).upper)
    assert honest.delta_upper(Fraction(1, 2)) >= truth
    short = dataclasses.replace(honest, weights=honest.weights * (1 - 1e-5))
    assert short.delta_upper(Fraction(1, 2)) < truth


def test_masses_of_a_step_are_those_of_connect_the_dots_and_never_less() -> None:
    step, frame = BinaryStep(0.05, 0.5, 1), Frame(spacing=2.0**-9, z_top=9.0, theta=1e-3)
    lattice = dominating_step(step, frame, 0.0)
    with arb_precision(256):
        q, mu, h = arb(step.q), arb(step.mu), arb(frame.spacing)
        scale = lattice.log_scale.exp()
        for j in (1, 2, 10, 100, 180):
            true = _chord_mass(q, mu, h, j)
            given_mass = arb(float(lattice.masses[j - lattice.first])) * scale * (-arb(frame.theta) * j * h).exp()
            assert given_mass > true
            assert given_mass < true * (1 + arb("1e-9"))


def _chord_mass(q: arb, mu: arb, h: arb, j: int) -> arb:
    """y_j times the change of slope at y_j of the profile's chords, straight from the closed form."""

    def profile(loss: arb) -> arb:
        t = (loss.expm1() / q).log1p()
        root = arb(2).sqrt()
        upper, lower = mu / 2 - t / mu, -mu / 2 - t / mu
        return q * ((-upper / root).erfc() - t.exp() * (-lower / root).erfc()) / 2

    y = [((j + i) * h).exp() for i in (-1, 0, 1)]
    values = [profile((j + i) * h) for i in (-1, 0, 1)]
    slopes = [(values[i + 1] - values[i]) / (y[i + 1] - y[i]) for i in (0, 1)]
    return y[1] * (slopes[1] - slopes[0])


def test_quadrature_constant_is_what_its_derivation_says() -> None:
    with arb_precision(64):
        remainder = arb(math.factorial(5)) ** 4 / (11 * arb(math.factorial(10)) ** 2) / arb(24) ** 10
        density = (arb(25) / 4 + arb(24**2 + 1) / 2 / 16**2).exp()
        mu_d = arb(1) / 8
        convex = (mu_d / 2).exp() * ((24 * mu_d).expm1() / -(-mu_d / 2).expm1()) + (mu_d / 2).exp() + 1
        concave = 2 * (1 + (24 * mu_d).expm1() / (mu_d * (1 - mu_d / 2)))
        assert convex < 380
        assert concave < 380
        assert remainder * density * 380 < QUADRATURE_ERROR


@pytest.mark.parametrize(
    ("v", "width", "mu"), [(0.0, 0.06, 0.01), (37.0, 0.005, 2.0), (-20.0, 0.5, 0.3), (3.0, 2.0, 9.0)]
)
def test_quadrature_error_stays_below_its_bound(v: float, width: float, mu: float) -> None:
    grid = panels(np.array([width]), np.array([abs(v) + width + 2 * mu + 4]))
    x = v + grid.from_left
    values = np.exp(v * v / 2 - x * x / 2) * -np.expm1(-mu * grid.from_left)
    computed = float(grid.per_cell(values)[0])
    with arb_precision(900):
        a, b, m, root = arb(v), arb(v) + arb(width), arb(mu), arb(2).sqrt()

        def mass(low: arb, high: arb) -> arb:
            return ((low / root).erfc() - (high / root).erfc()) / 2

        plain = mass(a, b)
        shifted = (m * a + m * m / 2).exp() * mass(a + m, b + m)
        exact = (plain - shifted) * (2 * arb.pi()).sqrt() * (a * a / 2).exp()
        error = float(abs(arb(computed) / exact - 1).upper())
    rounding = 2.0**-53 * (60 + 8 * (abs(v) + width) ** 2 + NODES * int(grid.counts[0]))
    assert error <= QUADRATURE_ERROR + rounding


@pytest.mark.parametrize("sign", [-1, 1])
@given(
    st.floats(-9, -0.01), st.floats(-3, 1.2), st.lists(st.floats(-40, 30), min_size=1, max_size=20), st.floats(-13, -5)
)
def test_mismatch_of_a_loss_is_never_understated_and_hardly_overstated(
    sign: int, q_log: float, mu_log: float, points: list[float], offset: float
) -> None:
    q, mu = 10.0**q_log, 10.0**mu_log
    z = np.array(points)
    losses = np.log1p(q * np.expm1(np.minimum(mu * (z - mu / 2), 600))) * (1 + sign * 10.0**offset)
    bound = loss_mismatch(q, mu, z, losses)
    with arb_precision(256):
        for point, loss, limit in zip(z, losses, bound, strict=True):
            t = arb(mu) * (arb(float(point)) - arb(mu) / 2)
            true = (arb(q) * t.expm1()).log1p()
            mismatch = abs(true - arb(float(loss)))
            assert mismatch <= arb(float(limit))
            # e^x - 1 for x, a hundredth more, and some 60 + 2|t| roundings of terms below 1
            assert arb(float(limit)) <= mismatch * arb("1.03") + arb(2) ** -53 * (2 * abs(t) + 140)


@pytest.mark.parametrize("off", [-0.02, 0.02, 0.5])
def test_points_far_from_their_losses_are_refused(off: float) -> None:
    z = np.array([0.5, 2.0])
    losses = np.log1p(0.1 * np.expm1(z - 0.5))
    assert loss_mismatch(0.1, 1.0, z, losses + 1e-3).max() < 2e-3
    with pytest.raises(CannotCertifyError, match="could not be located"):
        loss_mismatch(0.1, 1.0, z, losses + off)


@pytest.mark.parametrize(
    ("rate", "noise", "count", "name"),
    [
        (Fraction(0), Fraction(1), 1, "sampling_rate"),
        (Fraction(3, 2), Fraction(1), 1, "sampling_rate"),
        (0.5, Fraction(1), 1, "sampling_rate"),
        (Fraction(1, 2), Fraction(0), 1, "noise_multiplier"),
        (Fraction(1, 2), 1.0, 1, "noise_multiplier"),
        (Fraction(1, 2), Fraction(1), 0, "count"),
        (Fraction(1, 2), Fraction(1), True, "count"),
        (Fraction(1, 2), Fraction(1), 2.0, "count"),
    ],
)
def test_impossible_steps_are_refused_by_name(rate: Fraction, noise: Fraction, count: int, name: str) -> None:
    with pytest.raises(InvalidQuantityError, match=name):
        SubsampledGaussian(rate, noise, count)


def test_log_of_any_size() -> None:
    assert log_of(Fraction(1, 10**4000)) == pytest.approx(-4000 * math.log(10))


def test_a_single_step_is_a_mechanism() -> None:
    assert SubsampledGaussian(Fraction(1), Fraction(1, 2), 1).count == 1
    with pytest.raises(InvalidQuantityError, match="count must be an integer >= 1"):
        SubsampledGaussian(Fraction(1), Fraction(1, 2), 0)
