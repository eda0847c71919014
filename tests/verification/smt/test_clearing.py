"""Cases and cleared denominators say what the formula says: compared at random rational points."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
import z3

from reference.regularizers import MCP, SCAD
from verification.smt import blocks, updates
from verification.smt.obligation import Obligation, only, parameter, vector
from verification.smt.prover import Clearing, cases

POINTS = 12


def unknowns(formula: z3.ExprRef) -> set[str]:
    if z3.is_const(formula) and formula.decl().kind() == z3.Z3_OP_UNINTERPRETED:
        return {formula.decl().name()}
    return {name for child in formula.children() for name in unknowns(child)}


def truth(formula: z3.BoolRef, point: dict[str, Fraction]) -> bool:
    values = [(z3.Real(name), z3.Q(value.numerator, value.denominator)) for name, value in point.items()]
    return bool(z3.is_true(z3.simplify(z3.substitute(formula, *values))))


def some_point(names: set[str], seed: int) -> dict[str, Fraction]:
    rng = random.Random(seed)
    return {name: Fraction(rng.randint(-40, 40), rng.randint(1, 9)) for name in sorted(names)}


# SCAD has 4,000 cases; its shape is MCP's with one region more.
SUBJECTS = [
    *blocks.minimisers(),
    *(obligation for obligation in blocks.stretches() if "mcp" in obligation.name),
    *blocks.huber(),
    *updates.minimiser(),
]
LONG = ("prox of elastic-net is the minimiser", "prox of mcp stretches by L")
EACH = pytest.mark.parametrize(
    "obligation",
    [pytest.param(each, marks=(pytest.mark.slow,) if each.name in LONG else ()) for each in SUBJECTS],
    ids=lambda obligation: obligation.name,
)


@EACH
def test_the_cases_together_are_the_goal(obligation: Obligation) -> None:
    goal = obligation.goal
    split = list(cases(goal, lambda _: False))
    for seed in range(6):
        point = some_point(unknowns(goal), seed)
        if any(value == 0 for value in point.values()):
            continue
        try:
            in_cases = all(truth(case.goal, point) for case in split if all(truth(c, point) for c in case.conditions))
        except z3.Z3Exception:  # pragma: no cover - a denominator vanished at this point
            continue
        assert in_cases == truth(goal, point)


@EACH
def test_cleared_comparisons_agree_wherever_the_denominators_are_positive(obligation: Obligation) -> None:
    compared = 0
    for number, case in enumerate(cases(obligation.goal, lambda _: False)):
        if number > 16:
            break
        clearing = Clearing()
        cleared = clearing.cleared(case.goal)
        for seed in range(POINTS):
            point = {name: abs(value) + 1 for name, value in some_point(unknowns(case.goal), seed).items()}
            if all(truth(positive, point) for positive in clearing.positive()):
                assert truth(cleared, point) == truth(case.goal, point)
                compared += 1
    assert compared


def test_every_denominator_is_reported() -> None:
    a, rho, w = parameter("a"), parameter("rho"), vector("w")
    clearing = Clearing()
    for case in cases(only(SCAD(parameter("lam"), a).prox(w, rho)) >= 0, lambda _: False):
        clearing.cleared(case.goal)
    shown = {str(z3.simplify(formula)) for formula in clearing.positive()}
    assert len(shown) >= 2  # rho, and (a - 1) rho - 1


def test_impossible_branches_become_questions_and_are_not_dropped() -> None:
    goal = only(MCP(parameter("lam"), parameter("gamma")).prox(vector("w"), parameter("rho"))) >= 0
    everything_impossible = list(cases(goal, lambda _: True))
    assert everything_impossible
    assert all(z3.is_false(case.goal) for case in everything_impossible)
