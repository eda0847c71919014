"""Rationals as a number system: exact, equal to many digits where both run, and never silently a float."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

import numpy as np
import pytest

from reference.arithmetic import NumberSystem, Vector, digits, fractions, number_system
from reference.errors import NotExpressible
from reference.losses import HuberizedHinge
from reference.mpadmm import ModelNoise, Release, mpadmm
from reference.problem import State
from reference.randomness import Seeded, model_noise
from tests.reference.small import REGULARIZERS, small_problem

RATIONALS = fractions()
SIXTY = digits(60)
P = 6


def rationals(*values: object) -> Vector:
    return RATIONALS.array(cast(Vector, np.array(values, dtype=object)))


def test_arrays_of_fractions_are_recognised() -> None:
    assert number_system(rationals(Fraction(1, 3))) is RATIONALS


def test_a_float_becomes_the_rational_it_is() -> None:
    assert RATIONALS.scalar(0.1) == Fraction(3602879701896397, 36028797018963968)
    assert RATIONALS.array(np.array([0.1]))[0] == Fraction(0.1)


def test_the_functions_are_exact_and_give_rationals() -> None:
    a, b = rationals(Fraction(-1, 3), 2), rationals(Fraction(1, 7), Fraction(1, 2))
    assert list(RATIONALS.maximum(a, 0.0)) == [0, 2]
    assert list(RATIONALS.minimum(a, b)) == [Fraction(-1, 3), Fraction(1, 2)]
    assert list(RATIONALS.absolute(a)) == [Fraction(1, 3), 2]
    assert list(RATIONALS.greater(a, b)) == [False, True]
    assert list(RATIONALS.where(RATIONALS.greater(a, b), a, 0.5)) == [Fraction(1, 2), 2]
    assert RATIONALS.sum(a)[()] == Fraction(5, 3)
    assert RATIONALS.matmul(np.array([a, b]), a)[1] == Fraction(-1, 21) + 1
    assert RATIONALS.all_finite(RATIONALS.maximum(a, 0.0))
    assert RATIONALS.all_finite(RATIONALS.where(RATIONALS.greater(a, b), a, 0.5))


def test_a_float_among_rationals_is_noticed() -> None:
    mixed = rationals(1, 2)
    mixed[1] = cast(np.float64, 0.5)
    assert not RATIONALS.all_finite(mixed)


@pytest.mark.parametrize("name", ["sqrt", "exp", "log1p", "norm"])
def test_what_rationals_cannot_express_is_refused(name: str) -> None:
    with pytest.raises(NotExpressible, match="roots"):
        getattr(RATIONALS, name)(rationals(1, 1))


def test_a_length_that_is_rational_is_exact() -> None:
    assert RATIONALS.norm(rationals(Fraction(3, 7), Fraction(-4, 7)))[()] == Fraction(5, 7)


def run_in(system: NumberSystem, name: str, release: Release) -> State:
    """The last point of the same three epochs in any number system."""
    problem = small_problem(HuberizedHinge(), REGULARIZERS[name]).in_system(system)
    noises = (in_system(system, gamma) for gamma in model_noise(Seeded(5, 0), P, 0.3, 3, release))
    start = State.zero(P).in_system(system)
    return [*mpadmm(problem, start, step_sizes=[0.5, 2.0, 4.0], noise=noises, release=release)][-1]


def in_system(system: NumberSystem, gamma: ModelNoise) -> ModelNoise:
    z, y = (None if part is None else system.array(part) for part in (gamma.z, gamma.y))
    return ModelNoise(system.array(gamma.x), z, y)


@pytest.mark.parametrize("release", Release)
@pytest.mark.parametrize("name", ["none", "l1", "elastic-net", "scad", "mcp"])
def test_a_run_on_rationals_is_the_run_with_sixty_digits_and_exact(name: str, release: Release) -> None:
    exact, rounded = run_in(RATIONALS, name, release), run_in(SIXTY, name, release)
    for ours, theirs in ((exact.x, rounded.x), (exact.z, rounded.z), (exact.y, rounded.y)):
        assert RATIONALS.all_finite(ours)
        for a, b in zip(cast(list[Fraction], list(ours)), theirs, strict=True):
            quotient = SIXTY.scalar(a.numerator) / a.denominator
            assert abs(quotient - b) < SIXTY.scalar(2.0**-180)


def test_a_gradient_clipped_on_rationals_needs_a_norm_and_is_refused() -> None:
    with pytest.raises(NotExpressible):
        small_problem(HuberizedHinge(), clip=0.5).in_system(RATIONALS)
