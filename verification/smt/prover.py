r"""Discharge obligations by two solvers.

Both solvers get the whole formula at the same time. Where one does not finish soon it gets the cases without
if-then-else and with cleared denominators (plus the positivity of every denominator). An obligation is

* PROVED if both solvers find its negation unsatisfiable *and* the sharper goal has a counterexample;
* REFUTED if a solver finds a counterexample to the goal, or the sharper goal has none although it should;
* UNKNOWN otherwise. Never proved by one solver alone, never by a time-out.
"""

from __future__ import annotations

import enum
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import z3

from verification.smt.obligation import Obligation, script
from verification.smt.solvers import Reply, Solver, SolverAnswer

FIRST_SECONDS = 1.0
"""How long a solver may compute on the whole formula before it gets the cases."""
GUIDE_SECONDS = 5.0
"""How long the guide may compute on a branch: it only saves work."""
PATIENCE = 5
"""How many branches the guide may give up on before it is asked no more."""
LEAST_SECONDS = 0.25
"""With less time for a question the cases are not tried: each takes a fresh process for every time-out."""


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
    """Two solvers and a limit on the computing time of each question."""

    def __init__(self, pair: tuple[Solver, Solver], *, seconds: float = 20.0) -> None:
        self._solvers = pair
        self._seconds = seconds
        self.deadline: float | None = None  # as of time.monotonic: what is not decided then is undecided
        self._queries = 0
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
        answers = self._discharged(obligation)
        said = ", ".join(f"{solver.name}: {answer.value}" for solver, answer in answers.items())
        if SolverAnswer.SATISFIABLE in answers.values():
            return ProofStatus.REFUTED, f"a counterexample exists ({said})"
        if SolverAnswer.UNKNOWN in answers.values():
            return ProofStatus.UNKNOWN, f"not decided within {self._seconds:g} s a question ({said})"
        [attack] = self._asked(self._solvers[:1], [obligation.attack()], self._seconds)
        if attack is SolverAnswer.UNSATISFIABLE:
            return ProofStatus.REFUTED, "the sharper statement holds too: the goal is weak or the hypotheses contradict"
        if attack is SolverAnswer.UNKNOWN:
            return ProofStatus.UNKNOWN, "the sharper statement was not refuted in time"
        return ProofStatus.PROVED, "z3 and cvc5 prove it; the sharper statement fails"

    def _discharged(self, obligation: Obligation) -> dict[Solver, SolverAnswer]:
        first = self._asked(self._solvers, [obligation.negated()], min(FIRST_SECONDS, self._seconds))
        answers = dict(zip(self._solvers, first, strict=True))
        undecided = SolverAnswer.UNKNOWN in first and SolverAnswer.SATISFIABLE not in first
        if not undecided or self._seconds < LEAST_SECONDS:
            return answers
        # Built once for both solvers, by this thread alone: terms are no matter for two.
        asked = questions(obligation, self._solvers[0], min(GUIDE_SECONDS, self._seconds))
        for texts in (asked, [obligation.negated()]):
            # A counterexample to a cleared case is one to the goal only if the denominators are positive there, and a
            # solver may give up on a case but not on the whole: one last time, with all the time there is.
            open_ = [solver for solver in self._solvers if answers[solver] is SolverAnswer.UNKNOWN]
            found = dict(zip(open_, self._asked(open_, texts, self._seconds), strict=True))
            whole = texts is not asked
            answers |= {s: a for s, a in found.items() if whole or a is SolverAnswer.UNSATISFIABLE}
        return answers

    def _asked(self, solvers: Sequence[Solver], texts: Sequence[str], seconds: float) -> list[SolverAnswer]:
        """What each solver says of all the scripts, until one of its answers is not "unsatisfiable"."""

        def ask(solver: Solver) -> tuple[SolverAnswer, int]:
            answer = SolverAnswer.UNSATISFIABLE
            for number, text in enumerate(texts, 1):
                answer = solver.ask(text, seconds).answer
                if answer is not SolverAnswer.UNSATISFIABLE:
                    return answer, number
            return answer, len(texts)

        with ThreadPoolExecutor(max(1, len(solvers))) as pool:
            found = list(pool.map(ask, solvers))
        self._queries += sum(number for _, number in found)
        return [answer for answer, _ in found]


def questions(obligation: Obligation, guide: Solver, seconds: float = GUIDE_SECONDS) -> list[str]:
    r"""Scripts that are all unsatisfiable only if the obligation holds.

    0. A hypothesis with an if-then-else inside moves to the goal's side: "it implies the goal" is split like the goal.
    1. Denominators inside hypotheses are positive, by the hypotheses without division.
    2. Denominators inside a case are positive, by all hypotheses (cleared, which step 1 permits) and the conditions
       that precede them in the case.
    3. Every case of the goal holds (cleared, which step 2 permits).

    The guide is asked which branches look impossible and which hypotheses suffice; what it says becomes a question.
    """
    branching = [formula for formula in obligation.hypotheses if _innermost(formula, {}) is not None]
    plain = [formula for formula in obligation.hypotheses if _innermost(formula, {}) is None]
    goal = z3.Implies(z3.And(*branching), obligation.goal) if branching else obligation.goal
    clearing = Clearing()
    hypotheses = tuple(clearing.cleared(formula) for formula in plain)
    whole = tuple(formula for formula in plain if not _divides(formula))
    asked = [script((*whole, z3.Not(positive))) for positive in clearing.positive()]

    gave_up: list[str] = []

    @functools.cache
    def unsatisfiable(text: str) -> bool:
        if len(gave_up) >= PATIENCE:
            return False
        answer = guide.ask(text, seconds).answer
        if answer is SolverAnswer.UNKNOWN:
            gave_up.append(text)
        return answer is SolverAnswer.UNSATISFIABLE

    def looks_unsatisfiable(formulas: tuple[z3.BoolRef, ...]) -> bool:
        return unsatisfiable(script((*hypotheses, *formulas)))

    def looks_impossible(conditions: Conditions) -> bool:
        return looks_unsatisfiable(tuple(Clearing().cleared(condition) for condition in conditions))

    for case in cases(goal, looks_impossible):
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


# -- cases -------------------------------------------------------------------------------------------------------
# A goal g with a condition c inside holds if and only if both of these hold: c implies g[c := true], and not c implies
# g[c := false]. Repeating it leaves polynomial comparisons under conjunctions, which solvers decide in milliseconds
# where the whole formula takes minutes. A branch whose conditions contradict each other becomes one case with the goal
# ``False`` and is not split further: the provers must still confirm that it is impossible.

Conditions = tuple[z3.BoolRef, ...]
Oracle = Callable[[Conditions], bool]


@dataclass(frozen=True, slots=True, eq=False)
class GoalCase:
    """One case: the conditions under which it is considered, and what must hold there."""

    conditions: Conditions
    goal: z3.BoolRef


def cases(goal: z3.BoolRef, looks_impossible: Oracle) -> Iterator[GoalCase]:
    """Every case of a goal; those that simplify to true are left out.

    The oracle only saves work: what it says is not believed, it becomes a case of its own.
    """
    yield from _split((), z3.simplify(goal), looks_impossible)


def _split(conditions: Conditions, goal: z3.BoolRef, looks_impossible: Oracle) -> Iterator[GoalCase]:
    if z3.is_true(goal):
        return
    if z3.is_and(goal):
        for part in goal.children():
            yield from _split(conditions, part, looks_impossible)
        return
    condition = _innermost(goal, {})
    if condition is None:
        yield GoalCase(conditions, goal)
        return
    for taken, truth in ((condition, True), (z3.simplify(z3.Not(condition)), False)):
        path = (*conditions, taken)
        if looks_impossible(path):
            yield GoalCase(path, z3.BoolVal(False))
        else:
            rest = z3.simplify(z3.substitute(goal, (condition, z3.BoolVal(truth))))
            yield from _split(path, rest, looks_impossible)


def _innermost(term: z3.ExprRef, seen: dict[int, z3.BoolRef | None]) -> z3.BoolRef | None:
    """A condition of an if-then-else that holds no if-then-else itself, or None."""
    key = term.get_id()
    if key not in seen:
        seen[key] = None
        for child in term.children():
            inner = _innermost(child, seen)
            if inner is not None:
                seen[key] = inner
                break
        else:
            if z3.is_app_of(term, z3.Z3_OP_ITE):
                seen[key] = term.arg(0)
    return seen[key]


# -- denominators ------------------------------------------------------------------------------------------------
# p/d <= r/e becomes p e <= r d, once d > 0 and e > 0 are proved. Solvers treat a division by an unknown as a fresh
# unknown with an equation, which costs them minutes. Here rational functions become pairs of polynomials over exact
# rationals. Every distinct denominator is reported, and the caller must have it *proved positive* from the hypotheses
# alone. tests/verification/smt/test_clearing.py compares both forms at random points.

Monomial = tuple[str, ...]
Polynomial = dict[Monomial, Fraction]
ONE: Polynomial = {(): Fraction(1)}


@dataclass(frozen=True, slots=True, eq=False)
class Quotient:
    """A numerator over a product of denominators."""

    top: Polynomial
    bottom: tuple[Polynomial, ...]


class NoPolynomial(Exception):
    """A term that is no rational function, such as one with an if-then-else."""


class Clearing:
    """Rewrites comparisons without division and remembers what it multiplied by."""

    def __init__(self) -> None:
        self._denominators: dict[frozenset[tuple[Monomial, Fraction]], Polynomial] = {}

    def cleared(self, formula: z3.BoolRef) -> z3.BoolRef:
        """The same formula, if every denominator is positive."""
        parts = formula.children()
        if parts and all(z3.is_bool(part) for part in parts):
            return formula.decl()(*(self.cleared(part) for part in parts))
        for is_kind, build in _COMPARISONS:
            if is_kind(formula):
                try:
                    left, right = (self._quotient(side) for side in parts)
                except NoPolynomial:  # the solvers read the comparison as it is
                    return formula
                return build(self._difference(left, right), 0)
        return formula

    def positive(self) -> list[z3.BoolRef]:
        """What was assumed: each denominator is positive."""
        return [_term(polynomial) > 0 for polynomial in self._denominators.values()]

    def _difference(self, left: Quotient, right: Quotient) -> z3.ArithRef:
        missing, extra = _expanding(left, right)
        return _term(_add(_product(left.top, *missing), _scaled(_product(right.top, *extra), -1)))

    def _quotient(self, term: z3.ArithRef) -> Quotient:  # noqa: PLR0911 - one return an operator
        if z3.is_rational_value(term):
            return Quotient({(): term.as_fraction()}, ())
        parts = [self._quotient(child) for child in term.children()]
        if z3.is_add(term):
            return self._sum(parts)
        if z3.is_sub(term):
            return self._sum([parts[0], *(Quotient(_scaled(part.top, -1), part.bottom) for part in parts[1:])])
        if z3.is_app_of(term, z3.Z3_OP_UMINUS):
            return Quotient(_scaled(parts[0].top, -1), parts[0].bottom)
        if z3.is_mul(term):
            bottoms = tuple(factor for part in parts for factor in part.bottom)
            return Quotient(_product(*(part.top for part in parts)), bottoms)
        if z3.is_div(term):
            over, under = parts
            return Quotient(_product(over.top, *under.bottom), (*over.bottom, *self._kept(under.top)))
        if z3.is_const(term):
            return Quotient({(term.decl().name(),): Fraction(1)}, ())
        raise NoPolynomial(f"no polynomial for {term.decl()}")

    def _sum(self, parts: list[Quotient]) -> Quotient:
        total = parts[0]
        for part in parts[1:]:
            missing, extra = _expanding(total, part)
            top = _add(_product(total.top, *missing), _product(part.top, *extra))
            total = Quotient(top, (*total.bottom, *missing))
        return total

    def _kept(self, polynomial: Polynomial) -> tuple[Polynomial, ...]:
        key = frozenset(polynomial.items())
        return (self._denominators.setdefault(key, polynomial),)


_COMPARISONS: tuple[tuple[Callable[[z3.BoolRef], bool], Callable[[z3.ArithRef, int], z3.BoolRef]], ...] = (
    (z3.is_le, lambda a, b: a <= b),
    (z3.is_lt, lambda a, b: a < b),
    (z3.is_ge, lambda a, b: a >= b),
    (z3.is_gt, lambda a, b: a > b),
    (z3.is_eq, lambda a, b: a == b),
    (z3.is_distinct, lambda a, b: a != b),
)


def _expanding(left: Quotient, right: Quotient) -> tuple[list[Polynomial], list[Polynomial]]:
    """The factors by which left and right are expanded to their least common denominator."""
    missing, extra = list(right.bottom), []
    for factor in left.bottom:
        if factor in missing:
            missing.remove(factor)
        else:
            extra.append(factor)
    return missing, extra


def _add(a: Polynomial, b: Polynomial) -> Polynomial:
    total = dict(a)
    for monomial, coefficient in b.items():
        total[monomial] = total.get(monomial, Fraction(0)) + coefficient
    return {monomial: coefficient for monomial, coefficient in total.items() if coefficient}


def _scaled(a: Polynomial, factor: int) -> Polynomial:
    return {monomial: coefficient * factor for monomial, coefficient in a.items()}


def _product(*factors: Polynomial) -> Polynomial:
    result = ONE
    for factor in factors:
        result = _times(result, factor)
    return result


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for left, p in a.items():
        for right, q in b.items():
            monomial = tuple(sorted(left + right))
            result[monomial] = result.get(monomial, Fraction(0)) + p * q
    return {monomial: coefficient for monomial, coefficient in result.items() if coefficient}


def _term(polynomial: Polynomial) -> z3.ArithRef:
    # Sums and products of a single term are no SMT-LIB: both are folded pairwise instead.
    total: z3.ArithRef | None = None
    for monomial, coefficient in sorted(polynomial.items()):
        term = z3.Q(coefficient.numerator, coefficient.denominator)
        for name in monomial:
            term = term * z3.Real(name)
        total = term if total is None else total + term
    return z3.RealVal(0) if total is None else total
