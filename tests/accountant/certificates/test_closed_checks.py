"""What closed forms decide about a composed profile: only what is true, and at any size of the ledger."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from accountant import certificate, epsilon, mechanism_from, recheck
from accountant.certificates.mpmath_route import gaussian_delta, log_moment, number, one_event_delta
from accountant.certificates.profile_check import (
    _is_attained_by_less,
    _is_enough_without_sampling,
    proved_profile_upper,
    require_profile_lower,
)
from accountant.errors import CertificateError
from accountant.mechanisms.ledger import unsampled_squared
from accountant.mechanisms.steps import GaussianStep, Step, SubsampledGaussianStep, WithReplacementStep
from accountant.mechanisms.words import Noise
from accountant.numbers import CONTEXT, fraction_of
from accountant.pld.composition import compose
from accountant.pld.ledger_steps import profile_steps
from accountant.profiles.gaussian import gaussian_epsilon
from accountant.profiles.without_lattice import event_delta
from accountant.renyi.moments import Subsampling

DELTA = Fraction(1, 10**6)
SAMPLED = SubsampledGaussianStep(Fraction(1, 50), Fraction(1), 40)
PLAIN = GaussianStep(Fraction(1, 100), 7)
STEPS: tuple[Step, ...] = (SAMPLED, PLAIN)
UNSAMPLED = gaussian_epsilon(40 + Fraction(7, 100), DELTA)


def test_without_sampling_an_upper_end_is_decided_exactly_where_the_gaussian_ends() -> None:
    assert _is_enough_without_sampling(STEPS, DELTA, UNSAMPLED.most.fraction())
    assert not _is_enough_without_sampling(STEPS, DELTA, UNSAMPLED.least.fraction() * (1 - Fraction(1, 10**9)))


def test_copies_of_a_record_count_as_often_as_they_may_be_drawn() -> None:
    draws = WithReplacementStep(100, 10, Fraction(1), 3)
    square = unsampled_squared((*STEPS, draws))
    assert square is not None
    assert square == unsampled_squared(STEPS) + 3 * 10**2  # type: ignore[operator]  # known above
    end = gaussian_epsilon(square, DELTA).most.fraction()
    assert _is_enough_without_sampling((*STEPS, draws), DELTA, end)
    assert not _is_enough_without_sampling((*STEPS, draws), DELTA, end * Fraction(99, 100))


def test_other_noise_is_not_decided_that_way() -> None:
    other = SubsampledGaussianStep(Fraction(1, 50), Fraction(1), 3, Noise.DISCRETE)
    assert not _is_enough_without_sampling((*STEPS, other), DELTA, 10**6 * UNSAMPLED.most.fraction())


def test_an_event_in_mpmath_is_the_event_in_balls() -> None:
    for at in (Fraction(1, 10), Fraction(1), Fraction(4)):
        balls = event_delta(profile_steps((SAMPLED,), "up"), at)
        assert float(fraction_of(one_event_delta(STEPS, at, 40))) == pytest.approx(float(balls), rel=1e-12)


@pytest.mark.parametrize(
    "steps", [STEPS, (SAMPLED,), (PLAIN, SubsampledGaussianStep(Fraction(1, 10**6), Fraction(1), 10))]
)
def test_what_a_part_attains_is_below_what_the_whole_attains(steps: tuple[Step, ...]) -> None:
    true = compose(profile_steps(steps, "down"), target_delta=DELTA).epsilon(DELTA).most.fraction()
    assert not _is_attained_by_less(steps, DELTA, true * Fraction(10001, 10000))
    with pytest.raises(CertificateError):
        require_profile_lower(steps, DELTA, 2 * true)


def test_phases_without_sampling_one_step_or_one_event_are_enough() -> None:
    plain = gaussian_epsilon(Fraction(7, 100), DELTA).least.fraction()
    tiny = SubsampledGaussianStep(Fraction(1, 10**9), Fraction(1), 10)
    assert require_profile_lower((PLAIN, tiny), DELTA, plain).how == "the closed form of a part"
    many = SubsampledGaussianStep(Fraction(1, 10**4), Fraction(1, 10**12), 10**9)
    assert require_profile_lower((many,), DELTA, Fraction(10) ** 23).how == "the closed form of a part"
    assert one_event_delta((many,), Fraction(10) ** 24, 40) < number(DELTA)


def test_a_ledger_beyond_every_lattice_is_re_derived() -> None:
    fields = {"algorithm": "ssadmm", "records": 1000, "batch": 10, "noise_multiplier": "1e-30", "iterations": 100}
    found = {each.subject: each.statement for each in recheck(certificate(epsilon(mechanism_from(fields), "1e-5")))}
    assert "closed form" in found["profile"]
    upper = UNSAMPLED.most.fraction()
    assert proved_profile_upper(STEPS, DELTA, upper).how == "the closed form without sampling"


MUCH_PURE = {"algorithm": "objp", "records": 246489259, "epsilon": "0.443", "iterations": 8827}
LITTLE = {"algorithm": "gaussian", "noise_multiplier": "1e14", "iterations": 5}


def test_a_delta_far_below_every_rational_is_compared_and_decides() -> None:
    ledger = mechanism_from(LITTLE).ledger() + mechanism_from(MUCH_PURE).ledger()
    found = recheck(certificate(epsilon(ledger, "38e-11")))  # delta at the upper end is near 2^(-10^31)
    assert {one.statement for one in found if one.subject == "profile"} == {"the closed form for both ends"}
    steps = mechanism_from(LITTLE).ledger().steps
    with pytest.raises(CertificateError, match="no realisable pair"):
        require_profile_lower(steps, DELTA, Fraction(1000))


def test_far_tails_keep_their_sign_and_size() -> None:
    mu_squared, at = Fraction(1, 10**40), Fraction(10**32)
    with CONTEXT.workdps(20):
        found = gaussian_delta(mu_squared, at, 40)
        far = number(at) / CONTEXT.sqrt(number(mu_squared))
        assert found > 0
        assert abs(CONTEXT.log(found) / (-far * far / 2) - 1) < number(Fraction(1, 10**15))


SPENT = {"algorithm": "pure", "epsilon": "0.5", "iterations": 2, "neighbours": "add-or-remove"}
POISSON = {"algorithm": "poisson", "sampling_rate": "1e-5", "noise_multiplier": "20", "iterations": 100}


def test_pure_steps_beside_others_attain_what_they_attain_alone() -> None:
    ledger = mechanism_from(SPENT).ledger() + mechanism_from(POISSON).ledger()
    alone = epsilon(mechanism_from(SPENT), "1e-10").epsilon
    report = epsilon(ledger, "1e-10", methods=["rdp-cks"])
    assert not report.epsilon.least < alone.least
    assert report.epsilon.least < report.epsilon.most
    found = recheck(certificate(report))
    assert "randomised response alone" in {one.subject: one.statement for one in found}["epsilon.lower"]


def test_a_lower_end_above_what_the_pure_steps_attain_is_refuted() -> None:
    ledger = mechanism_from(SPENT).ledger() + mechanism_from(POISSON).ledger()
    document = certificate(epsilon(ledger, "1e-10", methods=["rdp-cks"]))
    forged = replace(document, epsilon=replace(document.epsilon, lower=document.epsilon.upper))
    with pytest.raises(CertificateError):
        recheck(replace(forged, digest=forged.expected_digest()))


def test_a_sum_above_the_curve_without_sampling_is_cut_short() -> None:
    step = SubsampledGaussianStep(Fraction(3, 632), Fraction(491 * 10**6), 710)
    cap = Fraction(10**8 * (10**8 - 1), 2) / (491 * 10**6) ** 2
    found = fraction_of(log_moment(step, Subsampling.LEMMA2, Fraction(10**8), 15))  # 10^8 terms without an end
    assert abs(found / cap - 1) < Fraction(1, 10**15)


@pytest.mark.slow
def test_a_delta_far_below_every_probability_is_re_derived_for_pure_releases() -> None:
    """Beside Laplace noise, of which no pair is known to attain the whole: the lower end is of the pure steps."""
    louder = {"algorithm": "laplace", "noise_multiplier": "98e-4", "iterations": 28010, "neighbours": "add-or-remove"}
    spent = {"algorithm": "pure", "epsilon": "408e-11", "iterations": 221, "neighbours": "add-or-remove"}
    report = epsilon(mechanism_from(louder).ledger() + mechanism_from(spent).ledger(), "5e-212")
    how = {one.subject: one.statement for one in recheck(certificate(report))}
    assert how["epsilon.lower"].startswith("attained by")
    assert how["profile"].startswith("not re-derived, and not counted")
