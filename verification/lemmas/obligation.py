"""What is to be proved: hypotheses, goal, and a sharper goal that must be false."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import z3


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
