"""What losses nearly always exceed: a lower end for a great many steps at a large delta."""

from __future__ import annotations

from fractions import Fraction

from accountant import SsADMM, certificate, epsilon, recheck
from accountant.certificates.mpmath_route import log_moment
from accountant.certificates.profile_check import losses_reach
from accountant.cramer_bound import usual_level
from accountant.mechanisms.steps import PoissonGaussianStep
from accountant.numbers import fraction_from_arb, fraction_of
from accountant.profiles.gaussian import gaussian_epsilon
from accountant.profiles.one_step import SubsampledGaussian
from accountant.renyi.integrals import poisson_deficit
from accountant.renyi.moments import Subsampling


def test_a_billion_steps_at_a_large_delta_have_a_useful_lower_end_that_a_second_route_confirms() -> None:
    run = SsADMM(records=1000, batch=500, noise_multiplier=4, iterations=10**9)
    report = epsilon(run, "0.9", methods=["tight-rdp-cks"])
    assert fraction_of(report.epsilon.lower) > fraction_of(report.epsilon.upper) * Fraction(9, 10)
    recheck(certificate(report))


def test_a_level_above_what_is_reached_is_not_confirmed() -> None:
    steps = [SubsampledGaussian(Fraction(1, 2), Fraction(4), 10**9)]
    level = usual_level(steps, (), Fraction(9, 10))
    assert losses_reach(steps, (), Fraction(9, 10), level)
    assert not losses_reach(steps, (), Fraction(9, 10), level * Fraction(1001, 1000))


def test_without_sampling_it_is_below_the_exact_epsilon_and_close_to_it() -> None:
    for delta in (Fraction(1, 10), Fraction(9, 10)):
        level = usual_level([SubsampledGaussian(Fraction(1), Fraction(1), 10**4)], (), delta)
        exact = gaussian_epsilon(Fraction(10**4), delta).least.fraction()
        assert exact * Fraction(19, 20) < level < exact


def test_the_deficit_is_its_definition() -> None:
    step = PoissonGaussianStep(Fraction(1, 3), Fraction(2), 1)
    defined = log_moment(step, Subsampling.LEMMA2, Fraction(7, 10), 30)
    ours = (-poisson_deficit(step.sampling_rate, step.noise_multiplier, Fraction(7, 10), 64)).log1p()
    assert abs(fraction_from_arb(ours.mid()) - fraction_of(defined)) < Fraction(1, 10**18)
