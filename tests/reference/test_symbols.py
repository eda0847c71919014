r"""The updates, proximal maps and losses as formulas: z3 takes each, and its value at numbers is float64's."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import cast

import numpy as np
import pytest
import z3

from reference.arithmetic import Vector, digits, number_system, symbols
from reference.arithmetic.in_symbols import FACTS
from reference.errors import NotExpressible
from reference.losses import HuberizedHinge, Logistic
from reference.updates import update_x, update_y, update_z
from tests.reference.small import REGULARIZERS

RATIONAL = ["none", "l1", "elastic-net", "scad", "mcp"]
POINTS = [-1.0, -0.2, -0.05, 0.0, 0.03125, 0.0625, 0.15, 0.3, 2.0]


def terms(values: list[float]) -> Vector:
    return symbols().array(np.array(values))


def evaluated(term: z3.ArithRef) -> float:
    number = z3.simplify(term)
    assert z3.is_rational_value(number), number
    return float(Fraction(number.numerator_as_long(), number.denominator_as_long()))


@pytest.mark.parametrize("name", RATIONAL)
def test_each_prox_as_a_formula_has_the_value_of_float64(name: str) -> None:
    regularizer = REGULARIZERS[name]
    formulas = regularizer.prox(terms(POINTS), symbols().scalar(0.75))
    numbers = regularizer.prox(np.array(POINTS), 0.75)
    for formula, number in zip(formulas, numbers, strict=True):
        assert evaluated(formula) == pytest.approx(number, abs=1e-14)
    value = np.asarray(regularizer.value(terms(POINTS)))[()]
    assert evaluated(value) == pytest.approx(float(regularizer.value(np.array(POINTS))), rel=1e-14)


def test_the_updates_as_formulas_have_the_values_of_float64() -> None:
    g, x, z, y = np.random.default_rng(0).normal(size=(4, 3)).round(3)
    l1, rho, eta = REGULARIZERS["l1"], 0.75, 0.4

    def step(convert: Callable[[Vector], Vector], scalar: Callable[[float], float]) -> Vector:
        new_x = update_x(convert(g), convert(x), convert(z), convert(y), rho=scalar(rho), eta=scalar(eta))
        new_z = update_z(new_x, convert(y), rho=scalar(rho), regularizer=l1)
        return np.concatenate([new_x, new_z, update_y(convert(y), new_x, new_z, rho=scalar(rho))])

    formulas = step(symbols().array, symbols().scalar)
    numbers = step(np.array, float)
    assert number_system(formulas).name == "symbols"
    for formula, number in zip(formulas, numbers, strict=True):
        assert evaluated(formula) == pytest.approx(number, abs=1e-14)


def test_huber_as_a_formula_has_the_value_of_float64() -> None:
    loss = HuberizedHinge()
    for formulas, numbers in (
        (loss.value(terms(POINTS)), loss.value(np.array(POINTS))),
        (loss.slope(terms(POINTS)), loss.slope(np.array(POINTS))),
    ):
        for formula, number in zip(formulas, numbers, strict=True):
            assert evaluated(formula) == pytest.approx(number, abs=1e-14)


def proved(claim: z3.BoolRef, facts: list[z3.BoolRef]) -> bool:
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    solver.add(*facts, z3.Not(claim))
    return bool(solver.check() == z3.unsat)


def test_logistic_slope_lies_between_minus_one_and_zero_by_proof() -> None:
    facts: list[z3.BoolRef] = []
    token = FACTS.set(facts)
    try:
        v = z3.Real("v")
        slope = Logistic().slope(np.array([v], dtype=object))[0]
    finally:
        FACTS.reset(token)
    assert proved(z3.And(slope >= -1, slope <= 0), facts)
    assert not proved(slope >= -0.5, facts)  # what is false must not be proved


@pytest.mark.parametrize("argument", [-30.0, -1.0, -0.001, 0.0, 0.001, 0.5, 1.0, 2.0, 30.0])
def test_what_is_assumed_of_exp_is_true_of_it(argument: float) -> None:
    facts: list[z3.BoolRef] = []
    token = FACTS.set(facts)
    try:
        value = symbols().exp(terms([argument]))[0]
    finally:
        FACTS.reset(token)
    solver = z3.Solver()
    solver.add(*facts, value >= math.exp(argument) * (1 - 1e-12), value <= math.exp(argument) * (1 + 1e-12))
    assert solver.check() == z3.sat


@pytest.mark.parametrize("root", [0.0, 1e-9, 0.25, 1.0, 1e9])
def test_what_is_assumed_of_a_square_root_is_true_of_it_and_of_nothing_else(root: float) -> None:
    facts: list[z3.BoolRef] = []
    token = FACTS.set(facts)
    try:
        value = symbols().sqrt(terms([root]) * terms([root]))[0]
    finally:
        FACTS.reset(token)
    solver = z3.Solver()
    solver.add(*facts)
    assert solver.check() == z3.sat
    assert proved(value == terms([root])[0], facts)


def test_group_norms_become_formulas_with_their_facts() -> None:
    facts: list[z3.BoolRef] = []
    token = FACTS.set(facts)
    try:
        z = REGULARIZERS["group-l1"].prox(terms([3.0, 4.0, 0.0, 1.0, 0.01, 2.0]), symbols().scalar(1.0))
    finally:
        FACTS.reset(token)
    # The group (3, 4, 0) has norm 5 and shrinks by 0.05/5 = 1 %; the group (0.01) vanishes; the rest is free.
    for i, expected in ((0, Fraction(297, 100)), (4, Fraction(0)), (5, Fraction(2))):
        bound = Fraction(1, 10**9)
        near = z3.And(z[i] > z3.RealVal(str(expected - bound)), z[i] < z3.RealVal(str(expected + bound)))
        assert proved(near, facts)


def test_what_symbols_cannot_express_is_refused() -> None:
    with pytest.raises(NotExpressible, match="nuclear norm needs a singular value decomposition; symbols have none"):
        REGULARIZERS["nuclear"].prox(terms([1.0] * 6), symbols().scalar(1.0))
    with pytest.raises(NotExpressible, match=r"set in_symbols\.FACTS"):
        Logistic().slope(terms([1.0]))
    token = FACTS.set([])
    try:
        with pytest.raises(NotExpressible, match="log1p has no facts"):
            Logistic().value(terms([1.0]))
    finally:
        FACTS.reset(token)


def test_arrays_of_no_number_system_are_refused() -> None:
    for stranger in (np.array([1], dtype=np.float32), np.array([], dtype=object), np.array(["x"], dtype=object)):
        with pytest.raises(NotExpressible):
            number_system(cast(Vector, stranger))
    with pytest.raises(ValueError, match="decimals must be an integer >= 1, got decimals=0"):
        digits(0)
