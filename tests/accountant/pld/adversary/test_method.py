"""Epsilon against the exact adversary: sound against adaptive adversaries, tighter than the symmetrised profile."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from accountant.errors import CannotCertifyError, CertificateError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import GaussianStep, LaplaceStep, Step, SubsampledGaussianStep
from accountant.mechanisms.words import Noise
from accountant.numbers import Bound, fraction_of
from accountant.pld.adversary.leader import Leader, leading_step
from accountant.pld.adversary.method import Run, adversary_epsilon, ledger_epsilon, proved_adversary_upper
from accountant.pld.adversary.recursion import Course, composed
from accountant.pld.adversary.search import certificate_for
from accountant.pld.adversary.state import _gathered
from accountant.pld.composition import compose
from accountant.pld.ledger_steps import attained_epsilon, composed_epsilon_upper
from accountant.pld.plan import lattice_step
from accountant.pld.types import BinaryStep, Frame, Pair
from accountant.pricing import epsilon
from accountant.profiles.one_step import SubsampledGaussian
from tests.accountant.pld.adversary.independent import Floats, adaptive_delta, adaptive_delta_of, forward, profile

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
    lattice = composed([certificate_for(Q, MU)], Frame(0.004, 8.0, 4.0), course, -35.0)
    bounds = np.array([float(lattice.delta_upper(Fraction(e))) for e in epsilons])
    assert np.all(bounds >= attained * (1 - 1e-4))
    if course.singles == course.total:
        assert np.all(bounds <= attained * 1.08)


def test_a_leader_without_the_middle_triples_is_beaten_or_refused() -> None:
    """Two steps: the adversary who may put c in the middle exceeds forward and reverse; the bound stays above both."""
    epsilons = np.array([0.0, 0.02])
    both = adaptive_delta(Q, MU, 2, epsilons, (0.0, 1.0))
    more = adaptive_delta(Q, MU, 2, epsilons, (0.0, 0.25, 0.5, 0.75, 1.0))
    lattice = composed([certificate_for(Q, MU)], Frame(0.002, 8.0, 4.0), Course(2, 2, 1.0), -35.0)
    bounds = np.array([float(lattice.delta_upper(Fraction(e))) for e in epsilons])
    assert np.all(more >= both)
    assert np.all(bounds >= more * (1 - 1e-5))


@pytest.mark.parametrize("delta", ["1e-5", "1e-30"])
def test_between_the_forward_pair_and_the_symmetrised_profile(delta: str) -> None:
    step, target = SubsampledGaussian(Fraction(1, 10), Fraction(1), 60), Fraction(delta)
    bound: Bound = compose([step], target_delta=target).epsilon(target)
    upper, found = adversary_epsilon(Run((step,)), target)
    assert fraction_of(bound.lower) <= upper <= fraction_of(bound.upper)
    assert upper <= fraction_of(bound.lower) * Fraction(103, 100)
    assert found.lattice.delta_upper(upper) <= target
    assert "single steps" in found.describe()


def test_one_step_and_other_ledgers_are_refused() -> None:
    with pytest.raises(CannotCertifyError):
        ledger_epsilon(Ledger((SubsampledGaussianStep(Fraction(1, 10), Fraction(1), 1),)), Fraction(1, 100))


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
    upper, _ = adversary_epsilon(Run((step,)), delta)
    assert lower <= upper <= lower * Fraction(ratio)


def test_what_lies_below_the_lattice_keeps_both_masses() -> None:
    """With cells as wide as q most of the mass lies below the lowest point: its chord is above, and close."""
    leader, frame = Leader(0.02, MU, 0.0, 0.0), Frame(0.015, 8.0, 2.0)
    step = leading_step(leader, 1, frame, 0.0)
    y_lattice = np.exp(frame.spacing * np.arange(step.first, step.first + step.masses.size))
    masses = step.masses * float(step.log_scale.exp()) * y_lattice**-frame.theta
    assert float(masses.sum()) == pytest.approx(1.0, abs=1e-8)
    assert float((masses / y_lattice).sum()) == pytest.approx(1.0, abs=1e-8)  # moved up, it would lack about 0.005
    u = np.array([0.1, 0.5, 0.9])
    true = 1 - 1 / (1 + leader.q * u) + leader.q * profile(leader.q, MU, (0.0, 1.0, 1.0), u) / (1 + leader.q * u)
    for point, least in zip(1 / (1 + leader.q * u), true, strict=True):
        bound = float((masses * np.maximum(1 - point / y_lattice, 0.0)).sum())
        assert least - 1e-6 <= bound <= least + 0.003


def test_never_above_the_symmetrised_profile() -> None:
    """Thirteen steps with little noise: the leader of share 1 is the smaller one, is the answer, and says so."""
    step, delta = SubsampledGaussian(Fraction(864, 984853), Fraction(1059, 953), 13), Fraction(1, 10**12)
    upper, found = adversary_epsilon(Run((step,)), delta)
    assert upper == compose([step], target_delta=delta).epsilon_upper(delta)
    assert "symmetrised" in found.describe()


def test_a_step_that_is_wide_is_gathered_with_its_moments() -> None:
    """A window for 10^5 steps needs the mean and the variance of their bulk, also where rare losses reach far."""
    leader, frame = Leader(1e-3, 1.5, 0.1, 1e-4), Frame(1e-4, 9.0, 20.0)
    step = leading_step(leader, 1, frame, 0.0)
    _, losses, masses = _gathered(step, frame.spacing)
    x = frame.spacing * np.arange(step.first, step.first + step.masses.size)
    assert masses.size < 4000 < step.masses.size
    assert float(masses.sum()) == pytest.approx(float(step.masses.sum()), rel=1e-9)
    assert float((masses * losses).sum()) == pytest.approx(float((step.masses * x).sum()), rel=1e-6)
    assert float((masses * losses**2).sum()) == pytest.approx(float((step.masses * x**2).sum()), rel=1e-2)


def test_the_rest_is_one_block_once_it_is_settled() -> None:
    assert Course(1000, 10, 1.0, settled=30).blocks() == [10, 20, 960]
    assert Course(1000, 10, 1.0).blocks()[:3] == [10, 20, 40]


OTHERS: dict[str, Step] = {
    "gaussian": GaussianStep(Fraction(1, 9), 2, Noise.GAUSSIAN),
    "laplace": LaplaceStep(Fraction(1, 4), 2),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_steps_are_composed_with_the_leader(name: str) -> None:
    """Between what a realisable pair attains and the composed profile; the order of the ledger does not matter."""
    batches, delta = SubsampledGaussianStep(Fraction(1, 10), Fraction(1), 40), Fraction(1, 10**5)
    steps = (batches, OTHERS[name])
    upper = ledger_epsilon(Ledger(steps), delta)[0].most.fraction()
    lower = fraction_of(epsilon(Ledger(steps, steps), delta).epsilon.least)
    assert lower < upper < composed_epsilon_upper(steps, delta, Fraction(1, 10**4))
    assert upper > ledger_epsilon(Ledger((batches,)), delta)[0].most.fraction()
    assert ledger_epsilon(Ledger(steps[::-1]), delta)[0].most.fraction() == upper


@pytest.mark.parametrize("course", COURSES[:3])
def test_no_adaptive_adversary_with_other_steps_exceeds_it(course: Course) -> None:
    """A Gaussian release of everything beside the batches, and an oracle on a grid of its own."""
    frame, mu = Frame(0.004, 8.0, 4.0), 0.5
    epsilons = np.array([0.05, 0.2, 0.5])
    other = lattice_step(Pair.DOMINATING, BinaryStep(1.0, mu, 1), frame, 0.0)
    lattice = composed([certificate_for(Q, MU)], frame, course, -35.0, [other])
    z = np.linspace(-9.0, 9.0, 181)
    weights = np.exp(-z * z / 2) / np.exp(-z * z / 2).sum()
    losses = mu * (z + mu / 2)
    fine = np.linspace(-3.0, 3.0, 601)
    attained = adaptive_delta(Q, MU, course.total, fine, (0.0, 1.0))
    for e in epsilons:
        true = float((weights * np.interp(e - losses, fine, attained)).sum())
        assert float(lattice.delta_upper(Fraction(e))) >= true * (1 - 2e-3)


KINDS = ((0.1, 1.0), (0.25, 0.6))
"""q and mu of two phases: neither is above the other, a step of the second costs more."""


def _phased(singles: int, growth: float, rise: float, *, counts: tuple[int, int]) -> Course:
    return Course(sum(counts), singles, growth, rise, phases=tuple(zip(counts, (0.8, 1.2), strict=True)))


def _bounds_of(kinds: Sequence[tuple[float, float]], course: Course, epsilons: Floats) -> Floats:
    lattice = composed([certificate_for(*kind) for kind in kinds], Frame(0.004, 8.0, 4.0), course, -35.0)
    return np.array([float(lattice.delta_upper(Fraction(e))) for e in epsilons])


@pytest.mark.parametrize("last_first", [KINDS, KINDS[::-1]])
@pytest.mark.parametrize("course", [(6, 1.0, 0.0), (1, 1.0, 0.0), (2, 0.5, 0.3), (2, 9.0, 0.0), (4, 9.0, 3.0)])
def test_no_adaptive_adversary_of_two_phases_exceeds_it(
    last_first: Sequence[tuple[float, float]], course: tuple[int, float, float]
) -> None:
    """Single steps of both, blocks within a phase and blocks that hold both, in either order of the phases."""
    epsilons, middles = np.array([0.0, 0.05, 0.2, 0.5, 0.9]), (0.0, 0.25, 0.5, 0.75, 1.0)
    bounds = _bounds_of(last_first, _phased(*course, counts=(3, 3)), epsilons)
    attained = adaptive_delta_of([last_first[1]] * 3 + [last_first[0]] * 3, epsilons, middles)
    assert np.all(bounds >= attained * (1 - 1e-4))
    if course[0] == 6:
        assert np.all(bounds <= attained * 1.1)


def test_phases_with_the_wrong_counts_or_leaders_are_beaten() -> None:
    """The twins of the test above: a step of the costlier phase that is led as one of the other, or left out."""
    epsilons = np.array([0.2, 0.5, 0.9])
    attained = adaptive_delta_of([KINDS[1]] * 3 + [KINDS[0]] * 3, epsilons, (0.0, 1.0))
    for wrong in (_phased(6, 1.0, 0.0, counts=(5, 1)), _phased(5, 1.0, 0.0, counts=(2, 3))):
        assert np.any(_bounds_of(KINDS, wrong, epsilons) < attained)


def _phases(*kinds: tuple[str, str, int]) -> tuple[SubsampledGaussianStep, ...]:
    return tuple(SubsampledGaussianStep(Fraction(q), Fraction(nu), count) for q, nu, count in kinds)


def test_phases_are_led_in_order_where_the_order_is_known() -> None:
    steps = _phases(("1/10", "1", 4), ("1/10", "1", 2), ("1/20", "2", 3), ("1/10", "1", 1), ("1/10", "1/40", 1))
    run = Run.of(Ledger(steps))
    assert [(float(phase.sampling_rate), phase.count) for phase in run.led] == [(0.1, 6), (0.05, 3), (0.1, 1)]
    assert run.others == steps[-1:]  # too little noise for a leader
    taking_turns = Run.of(Ledger(steps, ordered=False))
    assert [(float(phase.sampling_rate), phase.count) for phase in taking_turns.led] == [(0.1, 7)]
    assert taking_turns.others == (steps[2], steps[4])
    many = Run.of(Ledger(_phases(*(("1/10", str(nu), nu) for nu in range(1, 30)))))
    assert [len(many.led), len(many.others)] == [12, 17]


def test_blocks_of_phases_grow_by_what_their_steps_weigh() -> None:
    course = Course(1000, 10, 1.0, phases=((500, 0.5), (500, 1.5)))
    assert course.taken(20, 490) == [(0, 10), (1, 10)]
    assert course.blocks()[:3] == [10, 20, 40]
    assert sum(course.blocks()) == 990
    assert course.blocks()[-3:] == [227, 214, 239]


@pytest.mark.slow
@pytest.mark.parametrize(
    "steps",
    [
        _phases(("1/100", "1", 500), ("1/100", "6/5", 700)),
        _phases(*(("1/100", f"{10 + i}/10", 100) for i in range(10))),
        _phases(*(("1/100", f"{19 - i}/10", 100) for i in range(10))),
    ],
)
def test_within_two_per_cent_of_the_forward_pair_over_phases(steps: tuple[Step, ...]) -> None:
    delta = Fraction(1, 10**5)
    upper, lower = ledger_epsilon(Ledger(steps), delta)[0].most.fraction(), attained_epsilon(steps, delta)
    assert lower <= upper <= lower * Fraction(102, 100)
    if len(steps) > 2:
        return
    assert proved_adversary_upper(Ledger(steps), delta, upper) <= upper * Fraction(1005, 1000)
    with pytest.raises(CertificateError):
        proved_adversary_upper(Ledger(steps), delta, lower * Fraction(98, 100))
