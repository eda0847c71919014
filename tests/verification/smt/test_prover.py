"""The prover itself under attack: it must not prove what is false, weak, vacuous, or not decided in time."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import z3

from dpadmm.statements import STATEMENTS
from verification.errors import SolverFault
from verification.smt import algorithms, blocks, updates
from verification.smt.obligation import Obligation
from verification.smt.prover import ProofStatus, Prover, questions
from verification.smt.solvers import Reply, Solver, SolverAnswer, solvers

X, Y = z3.Reals("x y")
FALSE = z3.BoolVal(False)


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Solver, Solver]]:
    with solvers() as started:
        yield started


@pytest.fixture
def prover(pair: tuple[Solver, Solver]) -> Prover:
    return Prover(pair, seconds=60)


def square_is_at_least_twice_less_one(bound: z3.ArithRef) -> Obligation:
    return Obligation("parabola", (X >= 0,), 2 * X - bound <= X * X, 2 * X - bound < X * X)


def test_a_true_and_tight_statement_is_proved(prover: Prover) -> None:
    assert prover.prove(square_is_at_least_twice_less_one(z3.RealVal(1))).verdict is ProofStatus.PROVED


def test_a_false_statement_is_refuted(prover: Prover) -> None:
    assert prover.prove(square_is_at_least_twice_less_one(z3.Q(1, 2))).verdict is ProofStatus.REFUTED


def test_a_weakened_statement_is_refused_because_its_sharper_twin_holds(prover: Prover) -> None:
    proof = prover.prove(square_is_at_least_twice_less_one(z3.RealVal(2)))
    assert proof.verdict is ProofStatus.REFUTED
    assert "sharper" in proof.detail


def test_contradictory_hypotheses_prove_nothing(prover: Prover) -> None:
    obligation = Obligation("vacuous", (X > 0, X < 0), Y == 7, FALSE)
    assert prover.prove(obligation).verdict is ProofStatus.REFUTED


def test_a_statement_with_division_by_what_may_be_negative_is_not_cleared(prover: Prover) -> None:
    # 1/x >= y is not 1 >= x y where x < 0; the cases must ask for x > 0 and fail, never prove.
    obligation = Obligation("division", (X != 0, X * Y <= 1), 1 / X >= Y, FALSE)
    assert prover.prove(obligation).verdict is not ProofStatus.PROVED


class Scripted(Solver):
    """A solver that says what it is told to say."""

    def __init__(self, name: str, answer: SolverAnswer) -> None:
        super().__init__(name)
        self._answer = answer

    def ask(self, script: str, seconds: float, *, model: bool = False) -> Reply:
        return Reply(self._answer)


@pytest.mark.parametrize("second", [SolverAnswer.UNKNOWN, SolverAnswer.SATISFIABLE])
def test_one_solver_alone_never_proves(second: SolverAnswer) -> None:
    prover = Prover((Scripted("z3", SolverAnswer.UNSATISFIABLE), Scripted("cvc5", second)))
    assert prover.prove(square_is_at_least_twice_less_one(z3.RealVal(1))).verdict is not ProofStatus.PROVED


def test_two_solvers_that_call_everything_unsatisfiable_prove_nothing() -> None:
    prover = Prover((Scripted("z3", SolverAnswer.UNSATISFIABLE), Scripted("cvc5", SolverAnswer.UNSATISFIABLE)))
    assert prover.prove(square_is_at_least_twice_less_one(z3.RealVal(1))).verdict is ProofStatus.REFUTED


SUM_OF_CUBES = (
    "(declare-fun x () Int)(declare-fun y () Int)(declare-fun z () Int)"
    "(assert (= (+ (* x x x) (* y y y) (* z z z)) 33))(check-sat)"
)
"""Its smallest solution has sixteen digits: no solver answers soon."""


def test_a_time_out_is_unknown_and_the_solver_starts_again() -> None:
    solver = Solver("z3")
    try:
        assert solver.ask(SUM_OF_CUBES, 0.1).answer is SolverAnswer.UNKNOWN
        assert solver.ask("(declare-fun x () Real)(assert (> x 0.0))(check-sat)", 60).answer is SolverAnswer.SATISFIABLE
    finally:
        solver.close()


def test_a_solver_that_dies_is_a_fault_and_not_an_answer() -> None:
    solver = Solver("no-such-solver")
    with pytest.raises(SolverFault, match="ended without an answer"):
        solver.ask("(check-sat)", 60)


def test_a_model_is_a_real_counterexample(prover: Prover) -> None:
    obligation = square_is_at_least_twice_less_one(z3.Q(1, 2))
    model = prover.ask_for_model(obligation.negated()).model
    assert model["x"] ** 2 < 2 * model["x"] - model["x"] ** 0 / 2


def test_the_digest_changes_with_hypotheses_goal_and_twin_and_with_nothing_else() -> None:
    def made(hypothesis: z3.BoolRef, goal: z3.BoolRef, sharper: z3.BoolRef) -> str:
        return Obligation("any name", (hypothesis,), goal, sharper).digest

    usual = made(X >= 0, X * X >= 0, FALSE)
    assert usual == made(X >= 0, X * X >= 0, FALSE)
    assert (
        len({usual, made(X > 0, X * X >= 0, FALSE), made(X >= 0, X * X > 0, FALSE), made(X >= 0, X * X >= 0, X > 0)})
        == 4
    )


def test_digests_do_not_depend_on_how_many_symbols_were_made_before() -> None:
    before = [obligation.digest for obligation in blocks.logistic()]
    for _ in range(3):
        blocks.logistic()
    assert [obligation.digest for obligation in blocks.logistic()] == before


QUICK = [
    *blocks.contraction(),
    *blocks.logistic(),
    *blocks.huber_cases(),
    *blocks.clip(),
    *updates.primal(),
    *updates.printed_for_small_steps(),
    *updates.dual(),
    *updates.joint(),
    *algorithms.post_processing(),
    *blocks.folded_joint(),
]


@pytest.mark.parametrize("obligation", QUICK, ids=lambda obligation: obligation.name)
def test_both_solvers_prove_it_and_refute_its_sharper_twin(obligation: Obligation, prover: Prover) -> None:
    proof = prover.prove(obligation)
    assert proof.verdict is ProofStatus.PROVED, proof.detail


EVERY = {
    obligation.digest: obligation
    for statement in STATEMENTS
    for evidence in statement.evidence
    if evidence.obligations
    for obligation in evidence.obligations()
}


class Guessing(Solver):
    """Answers every question by a coin: what a time limit leaves of a guide, at its worst."""

    def __init__(self, seed: str) -> None:
        super().__init__("z3")
        self._random = random.Random(seed)

    def ask(self, script: str, seconds: float, *, model: bool = False) -> Reply:
        return Reply(self._random.choice((SolverAnswer.UNSATISFIABLE, SolverAnswer.SATISFIABLE)))


@pytest.mark.parametrize("obligation", EVERY.values(), ids=lambda obligation: obligation.name)
def test_whatever_a_guide_says_the_cases_are_asked_and_none_crashes(obligation: Obligation) -> None:
    for text in questions(obligation, Guessing(obligation.digest)):
        z3.Solver().from_string(text)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1e-3, 0.3])
def test_at_any_time_limit_every_obligation_is_proved_or_undecided(pair: tuple[Solver, Solver], seconds: float) -> None:
    prover = Prover(pair, seconds=seconds)
    found = {obligation.name: prover.prove(obligation) for obligation in EVERY.values()}
    assert {proof.verdict for proof in found.values()} <= {ProofStatus.PROVED, ProofStatus.UNKNOWN}
    assert all(proof.detail for proof in found.values())
