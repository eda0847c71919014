r"""Cut a formula with if-then-else into cases without.

A goal g with a condition c inside holds if and only if both of these hold: c implies g[c := true], and not c implies
g[c := false]. Repeating it leaves polynomial comparisons under conjunctions, which solvers decide in milliseconds
where the whole formula takes minutes. A branch whose conditions contradict each other becomes one case with the goal
``False`` and is not split further: the provers must still confirm that it is impossible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import z3

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
