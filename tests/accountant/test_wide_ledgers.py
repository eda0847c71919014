"""Ledgers whose ends were orders of magnitude apart: both ends are useful, and the second route confirms them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from accountant.certificates.certificate import certificate
from accountant.certificates.profile_check import (
    _is_enough_by_union,
    losses_reach,
    proved_profile_upper,
    told_draws_confirm,
)
from accountant.certificates.recheck import recheck
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import GaussianStep, PureStep, Step, SubsampledGaussianStep
from accountant.numbers import fraction_of
from accountant.pld.ledger_steps import profile_steps
from accountant.pricing import epsilon
from accountant.profiles.one_step import SubsampledGaussian


def sampled(rate: str, noise: str, count: int) -> SubsampledGaussianStep:
    return SubsampledGaussianStep(Fraction(rate), Fraction(noise), count)


WIDE: dict[str, tuple[tuple[Step, ...], str, Fraction]] = {
    "hardly any noise, rare draws": ((sampled("221/48842", "1e-30", 2210),), "1e-8", Fraction(11, 10)),
    "hardly any noise, many draws": ((sampled("1/11", "97e-6", 973801),), "5e-7", Fraction(101, 100)),
    "a great many steps": ((sampled("36/1000", "99.55", 625566299841891),), "47e-8", Fraction(103, 100)),
    "a great many steps, far out": ((sampled("25e-7", "25", 132914456602),), "16e-168", Fraction(5, 4)),
    "beside Gaussian releases": (
        (GaussianStep(Fraction(1, 100), 9), sampled("1/50", "7.32", 10**12)),
        "1e-6",
        Fraction(6, 5),
    ),
    "beside pure releases": ((PureStep(Fraction(20), 10**8), sampled("67e-4", "1", 6618)), "1e-8", Fraction(101, 100)),
    "pure releases alone, unequal": (
        tuple(PureStep(Fraction(1, 100 + k), 10**5) for k in range(4)),
        "1e-8",
        Fraction(3, 2),
    ),
}


SECONDS = {"a great many steps", "beside pure releases", "beside Gaussian releases"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SECONDS else ()) for name in WIDE]
)
def test_both_ends_are_useful_and_confirmed(name: str) -> None:
    steps, delta, most = WIDE[name]
    report = epsilon(Ledger(steps, realisable=steps), delta)
    lower, upper = fraction_of(report.epsilon.lower), fraction_of(report.epsilon.upper)
    assert 0 < lower <= upper <= most * lower
    assert recheck(certificate(report), seconds=None)


def test_the_second_route_refuses_ends_that_are_a_little_too_good() -> None:
    steps, delta = [SubsampledGaussian(Fraction(1, 11), Fraction(97, 10**6), 973801)], Fraction(5, 10**7)
    book = tuple(sampled("1/11", "97e-6", 973801) for _ in range(1))
    report = epsilon(Ledger(book, realisable=book), "5e-7")
    lower, upper = fraction_of(report.epsilon.lower), fraction_of(report.epsilon.upper)
    assert told_draws_confirm(steps, delta, upper)
    assert not told_draws_confirm(steps, delta, upper * Fraction(999, 1000))
    assert losses_reach(steps, (), delta, lower)
    assert not losses_reach(steps, (), delta, lower * Fraction(1001, 1000))
    assert not told_draws_confirm(steps, delta, lower)


def test_the_second_route_knows_when_no_epsilon_is_needed() -> None:
    """710 steps with hardly a trace of the record: the steps' own delta(0) add up to less than delta."""
    steps = (sampled("6/1264", "491e6", 710),)
    assert proved_profile_upper(steps, Fraction("5e-9"), Fraction(0)).how == "the closed form of the draws"
    assert not _is_enough_by_union(profile_steps(steps, "down"), Fraction("5e-10"))


def test_a_pure_phase_with_too_many_losses_beside_another_does_not_lower_the_lower_end() -> None:
    """2,877 and 21 answers of different epsilons have 63,316 losses together, more than are looked at."""
    many, few = PureStep(Fraction(1, 1100), 2877), PureStep(Fraction("936e-20"), 21)
    alone = fraction_of(epsilon(Ledger((many,), realisable=(many,)), "4e-5").epsilon.lower)
    both = epsilon(Ledger((many, few), realisable=(many, few)), "4e-5")
    assert fraction_of(both.epsilon.lower) >= alone > Fraction(1, 10)
    assert recheck(certificate(both), seconds=None)


def test_ends_that_are_close_do_not_hide_what_a_part_attains() -> None:
    """Gaussian releases of all records beside a few sampled steps: the closed lower end is 4e-6 below the exact one."""
    everything, drawn = GaussianStep(Fraction(1, 100), 450543174122), sampled("223/583", "917e-3", 2)
    alone = fraction_of(epsilon(Ledger((everything,), realisable=(everything,)), "23e-7").epsilon.lower)
    both = epsilon(Ledger((drawn, everything), realisable=(drawn, everything)), "23e-7")
    assert fraction_of(both.epsilon.lower) >= alone
