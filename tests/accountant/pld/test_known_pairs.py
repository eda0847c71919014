"""Steps whose pair is known: Poisson batches in both orders, pure releases and Laplace noise, on one lattice."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from flint import arb

from accountant import (
    Bound,
    Gaussian,
    Laplace,
    Ledger,
    Neighbours,
    Poisson,
    Pure,
    calibrate_noise,
    certificate,
    delta_curve,
    epsilon,
    recheck,
)
from accountant.certificates.contour_route import composed_delta
from accountant.certificates.integer_route import ExactPair
from accountant.certificates.mpmath_route import randomised_response_delta
from accountant.certificates.recheck import certified_upper
from accountant.mechanisms.steps import GaussianStep
from accountant.numbers import arb_precision, fraction_of
from accountant.pld.composition import MixedProfile, OrderedProfile, binary_step, compose
from accountant.pld.plan import Resolution
from accountant.pld.types import LaplaceLosses, Pair, ResponseLosses
from accountant.profiles.one_step import SubsampledGaussian

FINE = Resolution(tolerance=2e-5)
ORDERS = (Pair.MIXTURE_FIRST, Pair.MIXTURE_SECOND)


def _relative(bound: Bound) -> float:
    return float(fraction_of(bound.width) / fraction_of(bound.upper))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("rate", "noise", "count"), [("1/100", "2", 2000), ("1/2", "3", 20), ("9/10", "2", 8)])
def test_the_upper_lattice_of_an_order_is_just_above_a_contour_integral(
    order: Pair, rate: str, noise: str, count: int
) -> None:
    profile = MixedProfile([binary_step(Fraction(rate), Fraction(noise), count, order)], FINE)
    upper = profile.epsilon_upper(Fraction(1, 10**5))
    pair = ExactPair.MIXTURE_FIRST if order is Pair.MIXTURE_FIRST else ExactPair.MIXTURE_SECOND
    steps = [SubsampledGaussian(Fraction(rate), Fraction(noise), count)]
    found = composed_delta(steps, pair, upper, Fraction(1, 10**5))
    with arb_precision(128):
        assert found < arb(1e-5)
        assert composed_delta(steps, pair, upper * Fraction(999, 1000), Fraction(1, 10**5)) > arb(1e-5)


def test_poisson_batches_cost_what_their_pair_attains() -> None:
    """At this setting the symmetrised profile costs 15 % more."""
    report = epsilon(Poisson(sampling_rate="0.01", noise_multiplier=1, iterations=1000), "1e-5")
    assert _relative(report.epsilon) < 2e-4
    assert 1.8280 < float(fraction_of(report.epsilon.upper)) < 1.8284
    symmetrised = compose([SubsampledGaussian(Fraction(1, 100), Fraction(1), 1000)]).epsilon_upper(Fraction(1, 10**5))
    assert float(symmetrised) > 1.14 * float(fraction_of(report.epsilon.upper))


def test_both_orders_count() -> None:
    for orders in (ORDERS, ORDERS[::-1]):
        found = OrderedProfile([[binary_step(Fraction(1, 2), Fraction(3), 20, each)] for each in orders], FINE)
        assert 3.8485 < float(found.epsilon_upper(Fraction(1, 10**6))) < 3.8488


def test_the_curve_of_poisson_batches_is_that_of_both_orders() -> None:
    curve = delta_curve(Poisson(sampling_rate="0.1", noise_multiplier=2, iterations=20))
    report = epsilon(Poisson(sampling_rate="0.1", noise_multiplier=2, iterations=20), "1e-5")
    assert Fraction(99, 10**7) < curve(fraction_of(report.epsilon.upper)) <= Fraction(1001, 10**8)


@pytest.mark.parametrize("at", [0, 0.05, 0.5, 0.99])
@pytest.mark.parametrize("epsilon_each", [0.01, 0.3, 2.0])
def test_one_laplace_release_on_a_lattice_is_just_above_its_closed_form(epsilon_each: float, at: float) -> None:
    e = epsilon_each * at
    truth = -math.expm1((e - epsilon_each) / 2)
    found = float(MixedProfile([LaplaceLosses(epsilon_each, 1)], FINE).delta_upper(Fraction(e)))
    assert truth * (1 - 1e-12) <= found <= truth * (1 + 1e-3)


@pytest.mark.parametrize("count", [1, 7, 200])
def test_pure_releases_on_a_lattice_are_just_above_optimal_composition(count: int) -> None:
    each = Fraction(1, 8)
    for at in (Fraction(0), each * count / 3, each * count * Fraction(9, 10)):
        truth = fraction_of(randomised_response_delta([(each, count)], at, 30))
        found = MixedProfile([ResponseLosses(0.125, count)], FINE).delta_upper(at)
        assert truth <= found <= truth * Fraction(101, 100) + Fraction(1, 10**12)


@pytest.mark.parametrize(("rate", "noise"), [("999/1000", "30.3"), ("99/100", "30.3"), ("999/1000", "3.3")])
def test_batches_of_nearly_all_records_are_composed_with_other_steps(rate: str, noise: str) -> None:
    """The rarest losses of the second order, -log(1-q), are far beyond all others: they blurred the whole lattice."""
    drawn = Poisson(sampling_rate=rate, noise_multiplier=noise, iterations=1).ledger()
    plain = Ledger((GaussianStep(Fraction(1), 1, neighbours=Neighbours.ADD_OR_REMOVE),))
    laplace = Laplace(noise_multiplier="1.58", iterations=20, neighbours="add-or-remove").ledger()
    found = drawn + plain + laplace
    assert _relative(epsilon(Ledger(found.steps, found.steps), "1e-6").epsilon) < 2e-4


@pytest.mark.parametrize(("each", "count", "delta"), [("1.2", 2000, "0.01"), ("0.3", 2000, "0.5")])
def test_the_lower_end_of_many_laplace_releases_keeps_all_their_mass(each: str, count: int, delta: str) -> None:
    """What lies between the last whole cell and the least loss counts there."""
    report = epsilon(Laplace(noise_multiplier=1 / Fraction(each), iterations=count), delta)
    assert _relative(report.epsilon) < 0.02


def test_a_phase_too_small_for_the_lattice_of_the_others_takes_nothing_from_the_lower_end() -> None:
    small = Poisson(sampling_rate="0.00817", noise_multiplier="54.9", iterations=300).ledger()
    plain = Ledger((GaussianStep(1 / Fraction("1.61") ** 2, 1, neighbours=Neighbours.ADD_OR_REMOVE),))
    laplace = Laplace(noise_multiplier=1 / Fraction("0.422"), iterations=3, neighbours="add-or-remove").ledger()
    found = small + plain + laplace
    assert _relative(epsilon(Ledger(found.steps, found.steps), "1e-5").epsilon) < 1e-4


def test_laplace_and_gaussian_releases_are_composed_and_not_added() -> None:
    """10 Gaussian releases (4) and 10 with Laplace noise (3); added they would cost 6.40."""
    ledger = Gaussian(noise_multiplier=4, iterations=10).ledger() + Laplace(noise_multiplier=3, iterations=10).ledger()
    report = epsilon(ledger, "1e-6")
    assert 5.9515 < float(fraction_of(report.epsilon.lower)) < float(fraction_of(report.epsilon.upper)) < 5.9521
    assert certified_upper(recheck(certificate(report))) <= fraction_of(report.epsilon.upper) * Fraction(10003, 10000)


def test_laplace_noise_at_delta_zero_is_exact() -> None:
    found = epsilon(Laplace(noise_multiplier=3), 0).epsilon
    assert found.contains(Fraction(1, 3))
    assert fraction_of(found.width) < Fraction(1, 10**70)


def _random_ledger(draw: random.Random) -> Ledger:
    ledgers = []
    for kind in draw.sample(["poisson", "gaussian", "laplace", "pure"], draw.choice([1, 2, 2, 3])):
        count = int(10 ** draw.uniform(0, 2))
        noise = Fraction(round(100 * 10 ** draw.uniform(0.1, 1.3)), 100)
        if kind == "poisson":
            rate = Fraction(round(10**4 * 10 ** draw.uniform(-3, -0.2)), 10**4)
            ledgers.append(Poisson(sampling_rate=rate, noise_multiplier=noise, iterations=count).ledger())
        elif kind == "gaussian":
            steps = (GaussianStep(1 / noise**2, count, neighbours=Neighbours.ADD_OR_REMOVE),)
            ledgers.append(Ledger(steps, steps))
        elif kind == "laplace":
            made = Laplace(noise_multiplier=2 * noise, iterations=count, neighbours=Neighbours.ADD_OR_REMOVE)
            ledgers.append(made.ledger())
        else:
            ledgers.append(Pure(epsilon=1 / noise, iterations=count, neighbours=Neighbours.ADD_OR_REMOVE).ledger())
    whole = ledgers[0]
    for other in ledgers[1:]:
        whole = whole + other
    return whole


@pytest.mark.parametrize("seed", range(6))
def test_random_mixtures_of_all_kinds_are_enclosed_and_confirmed_by_the_second_route(seed: int) -> None:
    ledger = _random_ledger(random.Random(f"mixture {seed}"))
    report = epsilon(ledger, "1e-5")
    assert _relative(report.epsilon) < 0.01
    recheck(certificate(report))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 40))
def test_more_random_mixtures(seed: int) -> None:
    """For one of them (a single Poisson step of rate 0.0015 beside pure ones) the ends are true and wide."""
    report = epsilon(_random_ledger(random.Random(f"mixture {seed}")), "1e-5")
    assert _relative(report.epsilon) < (0.25 if seed == 33 else 0.03)
    recheck(certificate(report))


def test_calibration_of_poisson_batches_agrees_with_their_price() -> None:
    def candidate(noise: Fraction) -> Poisson:
        return Poisson(sampling_rate="0.01", noise_multiplier=noise, iterations=1000)

    found = calibrate_noise(candidate, epsilon=2, delta="1e-5", digits=3)
    assert fraction_of(epsilon(candidate(found.value), "1e-5").epsilon.upper) <= 2
    less = found.value * Fraction(99, 100)
    assert fraction_of(epsilon(candidate(less), "1e-5").epsilon.upper) > 2
    assert float(found.value) < 0.97
