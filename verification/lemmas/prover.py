r"""Discharge obligations by two solvers.

Each solver gets the whole formula or, where it does not finish soon, the cases with cleared denominators (plus the
positivity of every denominator). An obligation is

* PROVED if both solvers find its negation unsatisfiable *and* the sharper goal has a counterexample;
* REFUTED if a solver finds a counterexample to the goal, or the sharper goal has none although it should;
* UNKNOWN otherwise. Never proved by one solver alone, never by a time-out.
"""

from __future__ import annotations

import enum
import functools
import time
from dataclasses import dataclass

import z3

from verification.lemmas.clearing import Clearing
from verification.lemmas.obligation import Obligation, script
from verification.lemmas.solvers import Reply, Solver, SolverAnswer
from verification.lemmas.splitting import Conditions, cases

FIRST_SECONDS = 3.0
"""How long a solver may try the whole formula before it gets the cases."""
GUIDE_SECONDS = 5.0
"""How long the guide may think about a branch: it only saves work."""


class ProofStatus(enum.Enum):
    """The combined result of two solvers."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdict on one obligation, with what led to it."""

    name: str
    verdict: ProofStatus
    detail: str
    queries: int
    seconds: float


class Prover:
    """Two solvers and a time limit for each question."""

    def __init__(self, pair: tuple[Solver, Solver], *, seconds: float = 20.0) -> None:
        self._solvers = pair
        self._seconds = seconds
        self._queries = 0
        self._cases: tuple[Obligation, list[str]] | None = None
        self._proved: dict[str, Proof] = {}

    def limit(self, seconds: float) -> None:
        """How long one question may take from now on."""
        self._seconds = seconds

    def prove(self, obligation: Obligation) -> Proof:
        """The verdict on an obligation and on its sharper twin."""
        if obligation.digest in self._proved:
            return self._proved[obligation.digest]
        started, self._queries = time.monotonic(), 0
        verdict, detail = self._judge(obligation)
        proof = Proof(obligation.name, verdict, detail, self._queries, time.monotonic() - started)
        if verdict is ProofStatus.PROVED:
            self._proved[obligation.digest] = proof
        return proof

    def ask_for_model(self, text: str) -> Reply:
        """Values that satisfy a script, from z3: they are checked by evaluation, so one solver is enough."""
        return self._solvers[0].ask(text, self._seconds, model=True)

    def _judge(self, obligation: Obligation) -> tuple[ProofStatus, str]:
        answers = {solver.name: self._discharge(solver, obligation) for solver in self._solvers}
        said = ", ".join(f"{name}: {answer.value}" for name, answer in answers.items())
        if SolverAnswer.SATISFIABLE in answers.values():
            return ProofStatus.REFUTED, f"a counterexample exists ({said})"
        if SolverAnswer.UNKNOWN in answers.values():
            return ProofStatus.UNKNOWN, f"not decided within {self._seconds:g} s a question ({said})"
        attack = self._ask(self._solvers[0], obligation.attack(), self._seconds)
        if attack is SolverAnswer.UNSATISFIABLE:
            return ProofStatus.REFUTED, "the sharper statement holds too: the goal is weak or the hypotheses contradict"
        if attack is SolverAnswer.UNKNOWN:
            return ProofStatus.UNKNOWN, "the sharper statement was not refuted in time"
        return ProofStatus.PROVED, "z3 and cvc5 prove it; the sharper statement fails"

    def _discharge(self, solver: Solver, obligation: Obligation) -> SolverAnswer:
        whole = self._ask(solver, obligation.negated(), min(FIRST_SECONDS, self._seconds))
        return self._by_cases(solver, obligation) if whole is SolverAnswer.UNKNOWN else whole

    def _by_cases(self, solver: Solver, obligation: Obligation) -> SolverAnswer:
        for question in self._questions(obligation):
            answer = self._ask(solver, question, self._seconds)
            if answer is not SolverAnswer.UNSATISFIABLE:
                # A counterexample to a cleared case is one to the goal only if the denominators are positive there,
                # and a solver may give up on a case but not on the whole: one last time, with all the time there is.
                return self._ask(solver, obligation.negated(), self._seconds)
        return SolverAnswer.UNSATISFIABLE

    def _questions(self, obligation: Obligation) -> list[str]:
        """The cases, made once for both solvers."""
        if self._cases is None or self._cases[0] is not obligation:
            self._cases = (obligation, questions(obligation, self._solvers[0]))
        return self._cases[1]

    def _ask(self, solver: Solver, question: str, seconds: float) -> SolverAnswer:
        self._queries += 1
        return solver.ask(question, seconds).answer


def questions(obligation: Obligation, guide: Solver) -> list[str]:
    r"""Scripts that are all unsatisfiable only if the obligation holds.

    1. Denominators inside hypotheses are positive, by the hypotheses without division.
    2. Denominators inside a case are positive, by all hypotheses (cleared, which step 1 permits) and the conditions
       that precede them in the case.
    3. Every case of the goal holds (cleared, which step 2 permits).

    The guide is asked which branches look impossible and which hypotheses suffice; what it says becomes a question.
    """
    clearing = Clearing()
    hypotheses = tuple(clearing.cleared(formula) for formula in obligation.hypotheses)
    whole = tuple(formula for formula in obligation.hypotheses if not _divides(formula))
    asked = [script((*whole, z3.Not(positive))) for positive in clearing.positive()]

    @functools.cache
    def unsatisfiable(text: str) -> bool:
        return guide.ask(text, GUIDE_SECONDS).answer is SolverAnswer.UNSATISFIABLE

    def looks_unsatisfiable(formulas: tuple[z3.BoolRef, ...]) -> bool:
        return unsatisfiable(script((*hypotheses, *formulas)))

    def looks_impossible(conditions: Conditions) -> bool:
        return looks_unsatisfiable(tuple(Clearing().cleared(condition) for condition in conditions))

    for case in cases(obligation.goal, looks_impossible):
        known = hypotheses
        for formula in (*case.conditions, z3.Not(case.goal)):
            clearing = Clearing()
            cleared = clearing.cleared(formula)
            for positive in clearing.positive():
                needed = hypotheses if looks_unsatisfiable((z3.Not(positive),)) else known
                asked.append(script((*needed, z3.Not(positive))))
            known = (*known, cleared)
        asked.append(script(known))
    return list(dict.fromkeys(asked))


def _divides(term: z3.ExprRef) -> bool:
    return z3.is_div(term) or any(_divides(child) for child in term.children())
