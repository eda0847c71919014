"""The accountant is told what is run: every sensitivity it is given must cover what neighbours can do."""

from __future__ import annotations

import functools
import math
import re
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb

import accountant
from accountant.mechanisms.words import Algorithm
from accountant.numbers import arb_from_fraction, arb_precision
from dpadmm.privacy import PrivateRun, calibrated, priced
from dpadmm.training import ALGORITHMS, Training
from reference.mpadmm import ModelNoise, Release, mpadmm
from reference.problem import Problem, State
from reference.regularizers import L1, SCAD, Regularizer
from reference.schedules import Constant, InverseSquareRoot, steps
from tests.reference.small import small_data, small_problem
from verification.coq.table import read

GRID = 2.0**-6


def mechanism(algorithm: Algorithm = Algorithm.SSADMM, **changes: object) -> PrivateRun:
    training = Training(algorithm, Constant(0.5), 30, 10)
    for name, value in changes.items():
        training = replace(training, **{name: value})  # type: ignore[arg-type]  # names and types match by hand
    return PrivateRun(training, 100, 6, 0.75, 1.0, L1(0.05))


def test_ssadmm_is_priced_like_the_accountants_own_ledger() -> None:
    mine = priced(mechanism(), 0.8, "1e-6")
    theirs = accountant.SsADMM(records=100, batch=10, iterations=30, sigma="0.8", clip=1).ledger()
    report = accountant.epsilon(theirs, "1e-6", methods=[accountant.methods_for(theirs)[-1]], digits=6)
    upper = accountant.exact("epsilon", report.epsilon.upper)
    # Rounding costs 10 * 24 * 2^-52 of C, nothing that six digits show; 0.8 as a float differs by less.
    assert float(mine.epsilon) == pytest.approx(float(upper), rel=1e-6)
    assert mine.method == "profile"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_calibrated_noise_meets_the_target_and_a_hundredth_less_does_not(algorithm: Algorithm) -> None:
    found = calibrated(mechanism(algorithm), "1", "1e-6")
    assert found.epsilon <= 1
    assert priced(mechanism(algorithm), found.sigma, "1e-6").epsilon <= 1 + Fraction(1, 1000)
    assert priced(mechanism(algorithm), 0.99 * found.sigma, "1e-6").epsilon > 1


def test_releasing_less_costs_less() -> None:
    every = priced(mechanism(Algorithm.MPADMM, release=Release.ALL), 0.1, "1e-6")
    primal = priced(mechanism(Algorithm.MPADMM, release=Release.PRIMAL), 0.1, "1e-6")
    assert primal.epsilon < every.epsilon / Fraction(5, 4)


def test_steps_of_every_size_are_priced() -> None:
    constant = priced(mechanism(Algorithm.MPADMM), 0.1, "1e-6")
    falling = priced(mechanism(Algorithm.MPADMM, schedule=InverseSquareRoot(0.5)), 0.1, "1e-6")
    assert falling.epsilon < constant.epsilon


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_grid_costs_more_and_vanishes_with_its_size(algorithm: Algorithm) -> None:
    prices = [priced(mechanism(algorithm, grid=grid), 2.0, "1e-6").epsilon for grid in (2.0**-3, GRID, 2.0**-40)]
    assert prices[0] > prices[1] > prices[2] > 0


def largest_move(problem: Problem, other: Problem, release: Release, grid: float, eta: float) -> float:
    """How far one epoch's rounded release moves between neighbours, the worst of many starts."""
    worst = 0.0
    rng = np.random.default_rng(1)
    silence = ModelNoise(*(np.zeros(problem.dimension) for _ in range(3)))
    for _ in range(300):
        start = State(*rng.normal(scale=3, size=(3, problem.dimension)))
        moved = [
            next(mpadmm(p, start, step_sizes=[eta], noise=[silence], release=release, grid=grid))
            for p in (problem, other)
        ]
        gaps = [moved[0].x - moved[1].x]
        if release is Release.ALL:
            gaps += [moved[0].z - moved[1].z, moved[0].y - moved[1].y]
        worst = max(worst, float(np.linalg.norm(np.concatenate(gaps))))
    return worst


@pytest.mark.parametrize("release", Release)
@pytest.mark.parametrize("regularizer", [L1(0.05), SCAD(0.5)], ids=["l1", "scad"])
def test_rounding_to_the_grid_is_inside_the_sensitivity_that_is_priced(
    regularizer: Regularizer, release: Release
) -> None:
    eta, rho = 2.0, 1.0
    problem = small_problem(regularizer=regularizer, rho=rho)
    data = small_data()
    other = Problem.of(data.replace(0, -data.features[0], -data.labels[0]), problem.loss, regularizer, rho=rho)
    training = Training(Algorithm.MPADMM, Constant(eta), 1, 8, release, GRID)
    ledger = PrivateRun(training, 8, 6, rho, 1.0, regularizer).mechanism(Fraction(1)).ledger()
    (step,) = ledger.steps
    assert isinstance(step, accountant.GaussianStep)
    priced_move = float(step.ratio_squared) ** 0.5
    assert largest_move(problem, other, release, GRID, eta) <= priced_move


def exactly(value: float | Fraction | str) -> arb:
    return arb_from_fraction(Fraction(value))


TABLE = read()
Value = Any  # what a piece of Coq is worth: an integer, a ball, or a function
ARITHMETIC: dict[str, Value] = {
    "INR": lambda k: k,
    "sqrt": lambda x: arb(x).sqrt(),
    "exp": lambda x: arb(x).exp(),
    "ln": lambda x: arb(x).log(),
    "Rmax": lambda x: lambda y: arb(x).max(arb(y)),
    "Rmin": lambda x: lambda y: arb(x).min(arb(y)),
    "Binomial.C": lambda n: lambda k: math.comb(n, k),
    "Nat.eqb": lambda j: lambda k: j == k,
    "seq": lambda first: lambda count: range(first, first + count),
    "lsum": lambda f: lambda places: sum(map(f, places), arb(0)),
}
OPERATORS: dict[str, Callable[[Value, Value], Value]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: arb(x) / arb(y),
    "^": lambda x, y: x**y,
}


Meaning = Callable[[dict[str, Value]], Value]  # from what the names are worth


def meaning(text: str) -> Meaning:
    """An expression of the table: numbers, names, functions and their application, the four operations, powers."""
    tokens = deque(re.findall(r"\d+|[A-Za-z_][\w'.]*|=>|[-+*/^():]", re.sub(r"%\w+", "", text)))

    def expression() -> Meaning:
        match tokens[0]:
            case "fun":
                _, *names = re.findall(r"[\w']+", re.sub(r":[^)]*", "", " ".join(iter(tokens.popleft, "=>"))))
                return functools.reduce(_abstracted, reversed(names), expression())
            case "if":
                tests, yes, no = ((tokens.popleft(), expression())[1] for _ in range(3))
                return lambda env: (yes if tests(env) else no)(env)
        return chain("+-", lambda: chain("*/", lambda: chain("^", application)))

    def chain(operators: str, part: Callable[[], Meaning]) -> Meaning:
        made = part()
        while tokens and tokens[0] in operators:
            made = _joined(OPERATORS[tokens.popleft()], made, part())
        return made

    def application() -> Meaning:
        made = atom()
        while tokens and re.match(r"[\w(]", tokens[0]) and tokens[0] not in ("then", "else"):
            made = _joined(lambda f, x: f(x), made, atom())
        return made

    def atom() -> Meaning:
        token = tokens.popleft()
        if token == "(":
            inside = expression()
            assert tokens.popleft() == ")"
            return inside
        return (lambda _: int(token)) if token.isdigit() else (lambda env: env[token])

    return expression()


def _joined(operator: Callable[[Value, Value], Value], left: Meaning, right: Meaning) -> Meaning:
    return lambda env: operator(left(env), right(env))


def _abstracted(body: Meaning, name: str) -> Meaning:
    return lambda env: lambda argument: body({**env, name: argument})


def theorem_epsilon(run: PrivateRun, sigma: float, delta: str, a: int) -> arb:
    """The epsilon of EndToEnd.v at order a, computed from the text of the theorem and of the definitions in it."""
    training = run.training
    etas = [exactly(eta) for eta in steps(training.schedule, training.iterations)]
    known: dict[str, Value] = ARITHMETIC | {
        "a": a,
        "p": run.dimension,
        "n": run.records,
        "T": training.iterations,
        "m": training.batch,
        "C": exactly(run.bound),
        "rho": exactly(run.rho),
        "grid": exactly(training.grid or 0),
        "sigma": exactly(sigma),
        "delta": exactly(delta),
        "eta": etas.__getitem__,
        "stretch": lambda rho: lambda h: exactly(h.lipschitz(float(rho))),
        "h": run.regularizer,
    }
    for name in ("improved_epsilon", "grid_price", "lemma2_term", "lemma2_bound", "joint_move"):
        [definition] = (each for each in TABLE.definition if each.name == name)
        known[name] = meaning(definition.text)(known)
    primal = "_primal" if training.release is Release.PRIMAL else ""
    algorithm = "ssADMM" if training.algorithm is Algorithm.SSADMM else f"mpADMM{primal}"
    [theorem] = (each for each in TABLE.theorem if each.name == f"{algorithm}_with_clipping_is_private")
    for local in ("D k", "moments j", "price"):
        for found in re.findall(rf"let {local} := (.*?) in\n", theorem.statement):
            known[local.split()[0]] = meaning(f"fun {local[-1]} => {found}" if " " in local else found)(known)
    [epsilon] = re.findall(r"P <= exp \((improved_epsilon .*)\) \* P' \+ delta", theorem.statement)
    return arb(meaning(epsilon)(known))


@pytest.mark.parametrize("regularizer", [L1(0.05), SCAD(0.05)])
@pytest.mark.parametrize(
    ("algorithm", "release", "sigma"),
    [
        (Algorithm.SSADMM, Release.PRIMAL, 0.5),
        (Algorithm.SSADMM, Release.PRIMAL, 8.0),
        (Algorithm.MPADMM, Release.ALL, 0.1),
        (Algorithm.MPADMM, Release.PRIMAL, 0.1),
    ],
)
def test_the_price_of_discrete_noise_is_the_formula_that_coq_proves(
    algorithm: Algorithm, release: Release, sigma: float, regularizer: Regularizer
) -> None:
    run = mechanism(algorithm, release=release, grid=2.0**-10)
    run = replace(run, rho=1.0, regularizer=regularizer)
    ledger = run.mechanism(Fraction(sigma))
    [method] = accountant.methods_for(ledger)[-1:]
    report = accountant.epsilon(ledger, "1e-6", methods=[method], digits=12)
    alpha = report.methods[method].alpha
    assert alpha is not None
    assert alpha.denominator == 1
    with arb_precision(200):
        proved, upper = theorem_epsilon(run, sigma, "1e-6", int(alpha)), exactly(str(report.epsilon.upper))
        # The rounding of binary64 is added to C: at most 2 n (n + p + 8) 2^-52 of the price.
        assert proved <= upper
        assert upper <= proved * (1 + exactly("1e-10"))
