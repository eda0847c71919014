"""Adding a phase: the lower end never falls, nothing that had an answer is refused, a file says what Python says."""

from __future__ import annotations

import functools
import json
import operator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accountant import Gaussian, Laplace, Ledger, MpADMM, Pure, SsADMM, certificate, epsilon, methods_for, recheck
from accountant.mechanisms.registry import read_ledger_file
from accountant.mechanisms.steps import (
    GaussianStep,
    GroupStep,
    LaplaceStep,
    PoissonGaussianStep,
    PureStep,
    ShuffledStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Neighbours, Noise, Sampling
from accountant.numbers import fraction_of

multipliers = st.builds(lambda m, e: Fraction(m) * Fraction(10) ** e, st.integers(1, 99), st.integers(-2, 6))
rates = st.builds(lambda m, e: Fraction(m, 10**e), st.integers(1, 9), st.integers(1, 7)) | st.just(Fraction(1))
counts = st.integers(0, 5).flatmap(lambda e: st.integers(1, 9).map(lambda m: m * 10**e))
steps = st.one_of(
    st.builds(SubsampledGaussianStep, rates, multipliers, counts),
    st.builds(SubsampledGaussianStep, rates, multipliers, counts),
    st.builds(lambda nu, count: GaussianStep(1 / nu**2, count), multipliers, counts),
    st.builds(lambda e, count: PureStep(Fraction(1, e), count), st.integers(1, 10**5), counts),
    st.builds(lambda q, nu, count: SubsampledGaussianStep(q, nu, count, Noise.DISCRETE), rates, multipliers, counts),
)
deltas = st.integers(1, 20).map(lambda e: Fraction(1, 10**e))


def ledger(phases: list[Step]) -> Ledger:
    """What the phases release; all with a known profile are attained by one pair of neighbours.

    A shuffled epoch is priced as a release of each epoch.
    """
    real = tuple(step for step in phases if getattr(step, "noise", Noise.GAUSSIAN) is Noise.GAUSSIAN)
    released = [
        GaussianStep(1 / step.noise_multiplier**2, step.count) if isinstance(step, ShuffledStep) else step
        for step in phases
    ]
    return Ledger(tuple(released), realisable=real)


def ends(phases: list[Step], delta: Fraction) -> tuple[Fraction, Fraction]:
    book = ledger(phases)
    bound = epsilon(book, delta, methods=methods_for(book)[-1:]).epsilon
    return fraction_of(bound.lower), fraction_of(bound.upper)


FIRST = SubsampledGaussianStep(Fraction(256, 50000), Fraction(1), 1000)


def check_every_phase(phases: list[Step], delta: Fraction) -> None:
    lower, upper = ends(phases, delta)
    assert lower <= upper
    for left_out in range(len(phases)):
        fewer = phases[:left_out] + phases[left_out + 1 :]
        assert ends(fewer, delta)[0] <= lower


NOISY = LaplaceStep(Fraction(1, 3), 4)
COPIES = WithReplacementStep(1000, 20, Fraction(2), 30)
GROUP = GroupStep(1000, 10, Fraction(2), 30, group=3)
EPOCHS = ShuffledStep(10, 10, Fraction(1), Fraction(2), 5)
POISSON = PoissonGaussianStep(Fraction(1, 100), Fraction(1), 200)
USERS = GroupStep(100, 1, Fraction(2), 30, Neighbours.ADD_OR_REMOVE, 3, Sampling.POISSON)
TINY = PureStep(Fraction(1, 10**16), 561, Neighbours.ADD_OR_REMOVE)
PLAIN = GaussianStep(Fraction(1, 30), 2, neighbours=Neighbours.ADD_OR_REMOVE)


@pytest.mark.parametrize(
    "phases",
    [
        [LaplaceStep(Fraction(1, 4), 14, Neighbours.ADD_OR_REMOVE), POISSON, TINY],
        [NOISY, FIRST],
        [COPIES, NOISY],
        [GROUP, FIRST],
        [EPOCHS, COPIES],
        [POISSON, PLAIN],
        [USERS, PLAIN],
    ],
    ids=["negligible", "laplace", "copies", "group", "epochs", "poisson", "users"],
)
def test_no_kind_of_step_lowers_the_lower_end(phases: list[Step]) -> None:
    check_every_phase(phases, Fraction(1, 10**6))


@settings(max_examples=2)
@example([FIRST, SubsampledGaussianStep(Fraction(256, 50000), Fraction(30), 1000)], Fraction(1, 10**5))
@example([FIRST, SubsampledGaussianStep(Fraction(256, 50000), Fraction(10**8), 1000)], Fraction(1, 10**5))
@example([FIRST, GaussianStep(Fraction(1, 10**24), 1)], Fraction(1, 10**5))
@example([FIRST, FIRST, PureStep(Fraction(1, 10**6), 3)], Fraction(1, 10**5))
@example(
    [SubsampledGaussianStep(Fraction(1, 10**10), Fraction(8), 10**8), PureStep(Fraction(1, 3), 1)], Fraction(1, 10**11)
)
@example([FIRST, GaussianStep(Fraction(10**5), 10**4)], Fraction(1, 10**150))
@given(st.lists(steps, min_size=2, max_size=4), deltas)
def test_adding_a_phase_never_lowers_the_lower_end_nor_raises_a_refusal(phases: list[Step], delta: Fraction) -> None:
    check_every_phase(phases, delta)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.lists(steps, min_size=2, max_size=4), deltas)
def test_adding_a_phase_never_lowers_the_lower_end_in_more_examples(phases: list[Step], delta: Fraction) -> None:
    check_every_phase(phases, delta)


@pytest.mark.slow
def test_a_negligible_phase_costs_next_to_nothing() -> None:
    alone = ends([FIRST], Fraction(1, 10**5))
    for other in (
        SubsampledGaussianStep(Fraction(256, 50000), Fraction(10**5), 1000),
        SubsampledGaussianStep(Fraction(1, 10**14), Fraction(1), 1),
        GaussianStep(Fraction(1, 10**24), 1),
        PureStep(Fraction(1, 10**9), 10),
        SubsampledGaussianStep(Fraction(1, 10**9), Fraction(50), 10, Noise.DISCRETE),
    ):
        both = ends([FIRST, other], Fraction(1, 10**5))
        assert both[0] >= alone[0]
        assert alone[1] * Fraction(9999, 10000) <= both[1] <= alone[1] * Fraction(1005, 1000)


def test_what_pure_or_gaussian_phases_attain_alone_is_re_derived() -> None:
    rare = SsADMM(records=10**9, batch=1, noise_multiplier=8, iterations=10**6).ledger()
    for other in (Pure(epsilon="0.3").ledger(), Gaussian(noise_multiplier="1e-4", iterations=10**3).ledger()):
        found = epsilon(rare + other, "1e-11", methods=["lemma2-cks"])
        assert fraction_of(found.epsilon.lower) >= fraction_of(epsilon(other, "1e-11").epsilon.lower) * Fraction(
            999, 1000
        )
        how = {finding.subject: finding.statement for finding in recheck(certificate(found))}
        assert "alone" in how["epsilon.lower"]


@pytest.mark.parametrize("method", ["tight-rdp-cks", "lemma2-cks", "profile"])
def test_pure_phases_beside_others_are_priced_by_every_method(method: str) -> None:
    sampled = SsADMM(records=1000, batch=50, noise_multiplier=3, iterations=50).ledger()
    book = sampled + Pure(epsilon="0.01", iterations=2).ledger() + Laplace(noise_multiplier=100).ledger()
    alone = epsilon(sampled, "1e-6", methods=[method]).epsilon
    found = epsilon(book, "1e-6", methods=[method])
    assert fraction_of(alone.lower) <= fraction_of(found.epsilon.lower) <= fraction_of(found.epsilon.upper)
    recheck(certificate(found))


def test_one_ledger_has_one_answer_whether_it_is_added_or_read(tmp_path: Path) -> None:
    entries = [
        {"algorithm": "ssadmm", "records": 1000, "batch": 50, "noise_multiplier": "2", "iterations": 40},
        {
            "algorithm": "mpadmm",
            "records": 1000,
            "eta": "1",
            "rho": "1/2",
            "clip": "1",
            "sigma": "0.02",
            "iterations": 5,
        },
        {"algorithm": "gaussian", "noise_multiplier": "40", "iterations": 2},
    ]
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"step": entries}))
    added = functools.reduce(
        operator.add,
        [
            SsADMM(records=1000, batch=50, noise_multiplier=2, iterations=40).ledger(),
            MpADMM(records=1000, eta=1, rho="1/2", clip=1, sigma="0.02", iterations=5).ledger(),
            Gaussian(noise_multiplier=40, iterations=2).ledger(),
        ],
    )
    read = read_ledger_file(path)
    assert read == added
    assert fraction_of(epsilon(read, "1e-6", methods=["profile"]).epsilon.lower) > Fraction(1, 10)


@pytest.mark.parametrize("number", [3, pytest.param(12, marks=pytest.mark.slow)])
def test_many_phases_are_bounded_in_cost_and_no_single_one_is_above_the_whole(number: int) -> None:
    phases: list[Step] = [SubsampledGaussianStep(Fraction(1, 100), Fraction(k, 2), 20) for k in range(2, 2 + number)]
    lower, upper = ends(phases, Fraction(1, 10**6))
    assert lower <= upper
    for phase in (phases[0], phases[-1]):
        assert ends([phase], Fraction(1, 10**6))[0] <= lower
    assert ends(phases[1:], Fraction(1, 10**6))[0] <= lower
