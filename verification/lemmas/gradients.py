r"""The mean gradient: replacing one record of m moves it by at most 2C/m. Statement SENS-GRADIENT.

The reference's own :meth:`reference.problem.Problem.gradient` runs on symbolic records, with a loss of which only
-1 <= phi' <= 0 is known (statements LOSS-LOGISTIC, LOSS-HUBER): one unknown slope for each margin. The sum over
a batch is a loop that no solver sees, so the identity is proved for the batch sizes in BATCHES; the two inequalities
about lengths hold for vectors of any length.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import z3

from reference.arithmetic import Scalar, Vector
from reference.arithmetic.elementwise import elementwise
from reference.problem import Problem
from reference.regularizers import Unregularized
from verification.lemmas.obligation import Obligation
from verification.lemmas.terms import matrix_of, parameter, square, vector
from verification.lemmas.thresholds import ALMOST

BATCHES = (1, 2, 3, 5)


@dataclass(slots=True)
class UnknownLoss:
    """Any loss with slopes in [-1, 0]; equal margins get equal slopes, as of a function."""

    name: str = "any"
    steepest: float = 1.0
    curvature: float = 1.0
    slopes: dict[int, z3.ArithRef] = field(default_factory=dict)
    margins: list[z3.ArithRef] = field(default_factory=list)

    def value(self, margin: Vector) -> Vector:
        """Never asked for: a gradient needs slopes alone."""
        raise NotImplementedError("an unknown loss has no value")

    def slope(self, margin: Vector) -> Vector:
        """One unknown for each distinct margin."""
        return elementwise(self._slope, margin)

    def facts(self) -> list[z3.BoolRef]:
        """-1 <= phi' <= 0."""
        return [bound for slope in self.slopes.values() for bound in (slope >= -1, slope <= 0)]

    def _slope(self, margin: z3.ArithRef) -> z3.ArithRef:
        self.margins.append(margin)  # kept alive: an id is only unique among living terms
        return self.slopes.setdefault(margin.get_id(), z3.Real(f"slope{len(self.slopes)}"))


def problem_of(rows: list[Vector], loss: UnknownLoss, clip: Scalar | None = None) -> Problem:
    """The reference's problem on symbolic rows ``label * features``."""
    return Problem(matrix_of(*rows), loss, Unregularized(), parameter("rho"), clip, np.zeros(len(rows)))


def one_term_changes() -> list[Obligation]:
    """g - g' = (grad of d_s - grad of d'_s)/m: the other m - 1 records cancel, wherever the record sits."""
    result = []
    for size in BATCHES:
        for position in {0, size - 1}:
            loss, x = UnknownLoss(), vector("x", 2)
            rows = [vector(f"record{i}", 2) for i in range(size)]
            changed = [*rows]
            changed[position] = vector("other", 2)
            g, g_other = (problem_of(data, loss).gradient(x) for data in (rows, changed))
            mine, theirs = (problem_of([data[position]], loss).gradient(x) for data in (rows, changed))
            same = z3.And(*(size * (g[i] - g_other[i]) == mine[i] - theirs[i] for i in range(2)))
            name = f"record {position} of {size} changes one term"
            result.append(Obligation(name, tuple(loss.facts()), same, g[0] == g_other[0]))
    return result


def lengths() -> list[Obligation]:
    r"""||slope row|| <= C if ||row|| <= C; and ||u - v|| <= 2C if both are no longer than C.

    About squared lengths and inner products, hence about vectors of any length: ||u - v||^2 = uu - 2 uv + vv, and
    ||u + v||^2 = uu + 2 uv + vv >= 0.
    """
    slope, row, bound, uu, uv, vv = z3.Reals("slope row bound uu uv vv")
    record = (bound > 0, slope >= -1, slope <= 0, row >= 0, row <= square(bound))
    length = square(slope) * row
    pair = (bound > 0, uu >= 0, vv >= 0, uu <= square(bound), vv <= square(bound), uu + 2 * uv + vv >= 0)
    apart = uu - 2 * uv + vv
    return [
        Obligation("a record's gradient", record, length <= square(bound), length <= ALMOST * square(bound)),
        Obligation("two records' gradients", pair, apart <= 4 * square(bound), apart <= 4 * ALMOST * square(bound)),
    ]


def batch_mean_is_unbiased() -> list[Obligation]:
    """The mean over all m-subsets of the batch gradient is the full gradient (n = 4, m = 2): E<delta, x* - x> = 0."""
    loss, x = UnknownLoss(), vector("x")
    problem = problem_of([vector(f"record{i}") for i in range(4)], loss)
    pairs = [np.array([i, j]) for i in range(4) for j in range(i)]
    total = sum((problem.gradient(x, pair)[0] for pair in pairs), z3.RealVal(0))
    full = problem.gradient(x)[0]
    return [
        Obligation("batches are unbiased", tuple(loss.facts()), total == len(pairs) * full, total == 2 * full),
    ]
