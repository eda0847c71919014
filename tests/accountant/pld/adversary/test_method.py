"""Epsilon against the exact adversary: sound against adaptive adversaries, tighter than the symmetrised profile."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from accountant.errors import CannotCertifyError
from accountant.numbers import Bound, fraction_of
from accountant.pld.adversary.certificates import certificate_for
from accountant.pld.adversary.leader import Leader, leading_step
from accountant.pld.adversary.method import adversary_epsilon, ledger_epsilon
from accountant.pld.adversary.recursion import Course, composed
from accountant.pld.composition import compose
from accountant.pld.types import Frame
from accountant.profiles.one_step import SubsampledGaussian
from tests.accountant.pld.adversary.independent import adaptive_delta, forward, profile

Q, MU = 0.1, 1.0


def test_the_lattice_dominates_the_leader() -> None:
    leader, frame = Leader(Q, MU, 0.2, 1e-3), Frame(0.01, 8.0, 2.0)
    step = leading_step(leader, 1, frame, 0.0)
    y_lattice = np.exp(frame.spacing * np.arange(step.first, step.first + step.masses.size))
    masses = step.masses * float(step.log_scale.exp()) * y_lattice**-frame.theta
    u = np.array([0.01, 0.2, 0.7, 1.5, 4.0])
    ahead, behind = forward(MU, u), profile(Q, MU, (0.0, 1.0, 1.0), u)
    y = 1 + Q * u
    right = (1 + leader.lift) * Q * ahead
    left = 1 - 1 / y + (1 + leader.lift) * Q * (0.8 * behind + 0.2 * ahead) / y
    for points, true in ((y, right), (1 / y, left)):
        bound = np.array([float((masses * np.maximum(1 - point / y_lattice, 0.0)).sum()) for point in points])
        assert np.all(bound >= true - 1e-5)
        assert np.all(bound <= true + 1e-3)


COURSES = [
    Course(4, 4, 1.0),
    Course(4, 1, 1.0),
    Course(6, 2, 0.5),
    Course(6, 3, 2.0),
    Course(6, 3, 2.0, rise=0.3),
    Course(6, 1, 1.0, rise=5.0),
]
"""Single steps, blocks on stairs without a rise, with a small and with the largest rise."""


@pytest.mark.parametrize("course", COURSES)
def test_no_adaptive_adversary_exceeds_it(course: Course) -> None:
    epsilons = np.array([0.0, 0.05, 0.2, 0.5, 0.9])
    attained = adaptive_delta(Q, MU, course.total, epsilons, (0.0, 0.25, 0.5, 0.75, 1.0))
    lattice = composed(certificate_for(Q, MU), Frame(0.004, 8.0, 4.0), course, -35.0)
    bounds = np.array([float(lattice.delta_upper(Fraction(e))) for e in epsilons])
    assert np.all(bounds >= attained * (1 - 1e-4))
    if course.singles == course.total:
        assert np.all(bounds <= attained * 1.08)


def test_a_leader_without_the_middle_triples_is_beaten_or_refused() -> None:
    """Two steps: the adversary who may put c in the middle exceeds forward and reverse; the bound stays above both."""
    epsilons = np.array([0.0, 0.02])
    both = adaptive_delta(Q, MU, 2, epsilons, (0.0, 1.0))
    more = adaptive_delta(Q, MU, 2, epsilons, (0.0, 0.25, 0.5, 0.75, 1.0))
    lattice = composed(certificate_for(Q, MU), Frame(0.002, 8.0, 4.0), Course(2, 2, 1.0), -35.0)
    bounds = np.array([float(lattice.delta_upper(Fraction(e))) for e in epsilons])
    assert np.all(more >= both)
    assert np.all(bounds >= more * (1 - 1e-5))


@pytest.mark.parametrize("delta", ["1e-5", "1e-30"])
def test_between_the_forward_pair_and_the_symmetrised_profile(delta: str) -> None:
    step, target = SubsampledGaussian(Fraction(1, 10), Fraction(1), 60), Fraction(delta)
    bound: Bound = compose([step], target_delta=target).epsilon(target)
    upper, found = adversary_epsilon(step, target)
    assert fraction_of(bound.lower) <= upper <= fraction_of(bound.upper)
    assert upper <= fraction_of(bound.lower) * Fraction(103, 100)
    assert found.lattice.delta_upper(upper) <= target
    assert "single steps 60" in found.describe()


def test_one_step_and_other_ledgers_are_refused() -> None:
    with pytest.raises(CannotCertifyError):
        ledger_epsilon((), Fraction(1, 100))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "nu", "count", "ratio"),
    [
        (Fraction(221, 48842), 4, 2210, 1.005),
        (Fraction(221, 48842), 2, 2210, 1.007),
        (Fraction(1, 200), 1, 200, 1.01),
        (Fraction(1, 10), 8, 1000, 1.003),
    ],
)
def test_within_one_per_cent_of_the_forward_pair(q: Fraction, nu: int, count: int, ratio: float) -> None:
    step, delta = SubsampledGaussian(q, Fraction(nu), count), Fraction(1, 10**8)
    lower = compose([step], target_delta=delta).epsilon_lower(delta)
    upper, _ = adversary_epsilon(step, delta)
    assert lower <= upper <= lower * Fraction(ratio)
