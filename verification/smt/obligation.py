r"""Symbols on which the reference's own functions run, and what is to be proved about them.

Vectors are numpy arrays of z3 terms; parameters (rho, eta, lambda, ...) may stand left of them, as in ``rho * z``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import cast

import numpy as np
import z3

from reference.arithmetic import Scalar, Vector, symbols


def parameter(name: str) -> Scalar:
    """An unknown real parameter."""
    return symbols().scalar(z3.Real(name))


def constant(text: str) -> Scalar:
    """A rational constant such as "1/2", as a parameter."""
    return symbols().scalar(z3.RealVal(text))


def vector(name: str, length: int = 1) -> Vector:
    """A vector of unknown reals."""
    return vector_of(*(z3.Real(f"{name}{i}" if length > 1 else name) for i in range(length)))


def vector_of(*terms: z3.ArithRef) -> Vector:
    """The vector of these terms."""
    result = np.empty(len(terms), dtype=object)
    result[:] = terms
    return cast(Vector, result)


def matrix_of(*rows: Vector) -> Vector:
    """The matrix of these rows."""
    result = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        result[i] = row
    return cast(Vector, result)


def only(result: Vector) -> z3.ArithRef:
    """The one entry of a vector of length 1, or of a scalar in an array."""
    return np.asarray(result, dtype=object).reshape(-1).item()


def magnitude(term: z3.ArithRef) -> z3.ArithRef:
    """|term|."""
    return z3.If(term >= 0, term, -term)


def larger(a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
    """max(a, b)."""
    return z3.If(a >= b, a, b)


def square(term: z3.ArithRef) -> z3.ArithRef:
    """term^2, as a product: solvers treat products better than powers."""
    return term * term


@dataclass(frozen=True, slots=True, eq=False)
class Obligation:
    r"""For all reals: hypotheses imply the goal, and do not imply the sharper goal.

    The sharper goal tests the proof itself. It is the goal with slightly less slack (a bound times 0.999, or
    ``False`` for an identity, which leaves only: the hypotheses can be met). A counterexample to it shows that the
    goal is tight and the hypotheses are not contradictory.
    """

    name: str
    hypotheses: tuple[z3.BoolRef, ...]
    goal: z3.BoolRef
    sharper: z3.BoolRef

    def negated(self) -> str:
        """The SMT-LIB script that is unsatisfiable if and only if the obligation holds."""
        return script((*self.hypotheses, z3.Not(self.goal)))

    def attack(self) -> str:
        """The SMT-LIB script that is satisfiable if and only if the sharper goal fails."""
        return script((*self.hypotheses, z3.Not(self.sharper)))

    @property
    def digest(self) -> str:
        """A short hash of hypotheses and goals: generated documents carry it, so a changed proof shows in review."""
        text = " ".join(formula.sexpr() for formula in (*self.hypotheses, self.goal, self.sharper))
        return hashlib.sha256(_without_counters(text).encode()).hexdigest()[:12]


def script(formulas: tuple[z3.BoolRef, ...]) -> str:
    """The formulas as an SMT-LIB 2 script that both solvers read."""
    solver = z3.Solver()
    solver.add(*formulas)
    lines = solver.to_smt2().splitlines()
    # z3 writes its own status line and comments; the logic is declared by the worker.
    return "\n".join(line for line in lines if not line.startswith(("(set-", ";")))


def _without_counters(text: str) -> str:
    """Number fresh names such as ``exp!17`` by first appearance: the counter is a matter of history."""
    names: dict[str, str] = {}
    words = text.replace("(", " ( ").replace(")", " ) ").split()
    return " ".join(names.setdefault(word, f"fresh{len(names)}") if "!" in word else word for word in words)
