"""What an adaptive adversary attains: below the truth and close to it; refused where there is nothing to choose."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from accountant.errors import CannotCertifyError, UnsupportedSchemeError
from accountant.mechanisms.steps import GaussianStep, Step, SubsampledGaussianStep
from accountant.mechanisms.words import Neighbours, Noise
from accountant.pld.adversary import adaptive_lower
from accountant.pld.adversary.adaptive_lower import (
    adaptive_delta_lower,
    adaptive_epsilon_lower,
    block_sizes,
    ledger_adaptive_epsilon,
)
from accountant.pld.adversary.recursion import Course, composed
from accountant.pld.adversary.search import certificate_for
from accountant.pld.certified_floats import Floats
from accountant.pld.composition import compose
from accountant.pld.types import Frame
from accountant.profiles.one_step import SubsampledGaussian
from tests.accountant.pld.adversary.independent import adaptive_delta

Q, MU = 0.1, 1.0
EPSILONS = (0.02, 0.1, 0.3, 0.6)
BRUTE_FORCE_ERROR = 1e-4
"""Of the dynamic programme on a grid of 1,501 points with linear interpolation."""


def _step(count: int) -> SubsampledGaussian:
    return SubsampledGaussian(Fraction(Q), 1 / Fraction(MU), count)


def _attained(count: int) -> Floats:
    return np.array([float(adaptive_delta_lower(_step(count), Fraction(e))) for e in EPSILONS])


@pytest.mark.parametrize("count", [1, 2, 5])
def test_it_is_what_brute_force_over_both_pairs_finds(count: int) -> None:
    true = adaptive_delta(Q, MU, count, np.array(EPSILONS), (0.0, 1.0))
    found = _attained(count)
    assert np.all(found <= true * (1 + BRUTE_FORCE_ERROR))
    assert np.all(found >= true * 0.99)


def test_masses_that_are_one_per_cent_too_large_exceed_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = adaptive_lower._repeated
    monkeypatch.setattr(adaptive_lower, "_repeated", lambda *given: honest(*given) * 1.01)
    true = adaptive_delta(Q, MU, 2, np.array(EPSILONS), (0.0, 1.0))
    assert np.any(_attained(2) > true * (1 + BRUTE_FORCE_ERROR))


def test_never_above_the_certified_upper_end() -> None:
    lattice = composed([certificate_for(Q, MU)], Frame(0.004, 8.0, 4.0), Course(5, 5, 1.0), -35.0)
    bounds = np.array([float(lattice.delta_upper(Fraction(e))) for e in EPSILONS])
    assert np.all(_attained(5) <= bounds)


def test_choosing_gains_over_the_forward_pair() -> None:
    delta = Fraction(1, 10**6)
    forward = compose([_step(40)], target_delta=delta).epsilon_lower(delta)
    adaptive = adaptive_epsilon_lower(_step(40), delta)
    assert forward < adaptive < forward * Fraction(102, 100)


def test_blocks_are_powers_of_two_and_add_up() -> None:
    for count in (1, 2, 77, 2210, 10**6):
        sizes = block_sizes(count, adaptive_lower.DECISIONS)
        assert sum(sizes) == count
        assert all(size & (size - 1) == 0 for size in sizes)
        assert len(sizes) <= 250
    assert block_sizes(8, adaptive_lower.DECISIONS) == [1] * 8


def _sampled(**changes: object) -> SubsampledGaussianStep:
    values: dict[str, object] = {"sampling_rate": Fraction(1, 10), "noise_multiplier": Fraction(2), "count": 9}
    return SubsampledGaussianStep(**{**values, **changes})  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    "steps",
    [
        (_sampled(count=1),),
        (_sampled(sampling_rate=Fraction(1)),),
        (_sampled(noise=Noise.DISCRETE),),
        (_sampled(neighbours=Neighbours.ADD_OR_REMOVE),),
        (_sampled(), _sampled(noise_multiplier=Fraction(3))),
        (GaussianStep(Fraction(1, 4), 2, Noise.GAUSSIAN),),
    ],
)
def test_steps_that_leave_nothing_to_choose_are_refused(steps: tuple[Step, ...]) -> None:
    with pytest.raises(UnsupportedSchemeError):
        ledger_adaptive_epsilon(steps, Fraction(1, 10**5))


def test_noise_beyond_the_lattice_is_refused() -> None:
    with pytest.raises(CannotCertifyError):
        adaptive_epsilon_lower(SubsampledGaussian(Fraction(1, 10), Fraction(1, 30), 5), Fraction(1, 100))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "nu", "count", "true"),
    [
        (Fraction(221, 48842), 4, 2210, 0.26233),
        (Fraction(221, 48842), 2, 2210, 0.58056),
        (Fraction(1, 200), 1, 200, 1.0136),
        (Fraction(1, 10), 8, 1000, 2.13271),
    ],
)
def test_close_to_the_adaptive_value_at_the_worked_examples(q: Fraction, nu: int, count: int, true: float) -> None:
    """`true` is a float64 programme without blocks, extrapolated to spacing 0: five digits, not certified."""
    step, delta = SubsampledGaussian(q, Fraction(nu), count), Fraction(1, 10**8)
    found = adaptive_epsilon_lower(step, delta)
    assert compose([step], target_delta=delta).epsilon_lower(delta) < found
    assert 0.999 * true <= float(found) <= true + 1e-5
