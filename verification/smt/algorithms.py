r"""Mean gradients and whole iterations of the reference's own algorithms, on symbols.

1. The mean gradient: replacing one record of m moves it by at most 2C/m (statement SENS-GRADIENT). The reference's own
   :meth:`reference.problem.Problem.gradient` runs on symbolic records, with a loss of which only -1 <= phi' <= 0 is
   known: one unknown slope for each margin. The sum over a batch is a loop that no solver sees, so the identity is
   proved for the batch sizes in BATCHES; the two inequalities about lengths hold for vectors of any length.
2. Epochs of `ssadmm` and `mpadmm`: what is not noised is a function of what is (statements P, THEOREM-1), which step
   size (E2), and the formulas in which a solver finds data sets that refute the printed bounds (E1).
3. What the baselines' privacy rests on: statements DPSGD, DPADMM, DPSVRG-MARGIN.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
import z3

from reference.arithmetic import Scalar, Vector
from reference.arithmetic.elementwise import elementwise
from reference.baselines.dpadmm import dpadmm
from reference.baselines.dpsgd import dpsgd, proximal_step
from reference.losses import HuberizedHinge
from reference.mpadmm import ModelNoise, Release, mpadmm
from reference.problem import Problem, State
from reference.regularizers import L1, Unregularized
from reference.ssadmm import ssadmm
from verification.smt.blocks import ALMOST, convex_separable
from verification.smt.obligation import (
    Obligation,
    constant,
    magnitude,
    matrix_of,
    only,
    parameter,
    square,
    vector,
    vector_of,
)

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


RECORDS = 2
ONE = z3.RealVal(1)


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicPair:
    """One record of two is s in one data set and s' in the other; p = 1, labels inside the signed rows."""

    problem: Problem
    other: Problem
    domain: tuple[z3.BoolRef, ...]

    @classmethod
    def unknown(cls) -> SymbolicPair:
        """Huberized hinge, L1, and every number unknown: |s|, |s'|, |kept| <= C."""
        bound, lam, rho = parameter("C"), parameter("lambda"), parameter("rho")
        kept, s, s_other = vector("kept"), vector("s"), vector("s_")
        loss, regularizer = HuberizedHinge(constant("1/2")), L1(lam)
        mine, theirs = (
            Problem(matrix_of(row, kept), loss, regularizer, rho, None, np.zeros(RECORDS)) for row in (s, s_other)
        )
        inside = tuple(magnitude(only(row)) <= bound for row in (kept, s, s_other))
        return cls(mine, theirs, (bound > 0, rho > 0, lam >= 0, *inside))


def start() -> State:
    """An unknown point."""
    return State(vector("x0"), vector("z0"), vector("y0"))


def zero() -> Vector:
    """No noise."""
    return vector_of(z3.RealVal(0))


def first_epoch(problem: Problem) -> State:
    """The state after one noiseless epoch of mpADMM."""
    steps = [parameter("eta")]
    return next(mpadmm(problem, start(), step_sizes=steps, noise=[ModelNoise(zero(), zero(), zero())]))


def printed_bounds(factor: z3.ArithRef = ONE) -> dict[str, tuple[tuple[z3.BoolRef, ...], z3.BoolRef]]:
    """For x, z and y: the hypotheses (with eta > 1) and the printed bound, times a factor, to be refuted."""
    pair, eta = SymbolicPair.unknown(), parameter("eta")
    one, two = first_epoch(pair.problem), first_epoch(pair.other)
    printed = 2 * parameter("C") / (RECORDS * (1 + eta * parameter("rho")))
    moves = {name: magnitude(only(getattr(one, name)) - only(getattr(two, name))) for name in ("x", "z", "y")}
    bounds = {"x": printed, "z": printed, "y": parameter("rho") * printed}
    return {name: ((*pair.domain, eta > 1), moves[name] <= factor * bounds[name]) for name in moves}


def later_step_size() -> tuple[tuple[z3.BoolRef, ...], z3.BoolRef]:
    """Statement E2: with eta^{k+1} in place of eta^k even the corrected bound is to be refuted."""
    pair, eta, later = SymbolicPair.unknown(), parameter("eta"), parameter("eta_next")
    one, two = first_epoch(pair.problem), first_epoch(pair.other)
    bound = 2 * parameter("C") * later / (RECORDS * (1 + later * parameter("rho")))
    moved = magnitude(only(one.x) - only(two.x))
    return (*pair.domain, eta > 0, later > 0), moved <= bound


def noise_is_orthogonal() -> list[Obligation]:
    """Statement E16: over gamma and -gamma, the gradients in `ssadmm` have mean g and mean square g^2 + gamma^2."""
    pair, eta, rho = SymbolicPair.unknown(), parameter("eta"), parameter("rho")
    at, batch, gamma = start(), np.array([0, 1]), z3.Real("gamma")

    def used(noise: z3.ArithRef) -> z3.ArithRef:
        """The noisy gradient that moved x, read off the step."""
        [new] = ssadmm(pair.problem, at, step_sizes=[eta], batches=[batch], noise=[vector_of(noise)])
        return -only(new.x) * (rho + 1 / eta) - only(at.y) + rho * only(at.z) + only(at.x) / eta

    g, plus, minus = only(pair.problem.gradient(at.x, batch)), used(gamma), used(-gamma)
    # Named, so that the solvers need not look into the gradient's cases.
    name = z3.Real("g")
    plus, minus = (z3.substitute(z3.simplify(term - g) + name, (g, name)) for term in (plus, minus))
    domain = (eta > 0, rho > 0)
    squares = square(plus) + square(minus)
    return [
        Obligation("noise adds its square", domain, squares == 2 * square(name) + 2 * square(gamma), squares == 0),
        Obligation("noise has no drift", domain, plus + minus == 2 * name, plus == name),
    ]


def post_processing() -> list[Obligation]:
    """Where two runs release the same x, the z and y that follow are the same, whatever data and noise were."""
    pair, steps, batches = SymbolicPair.unknown(), [parameter("eta")], [np.array([0, 1])]
    models, gradients = [], []
    for problem, gamma in ((pair.problem, vector("gamma")), (pair.other, vector("gamma_"))):
        noise = [ModelNoise(gamma)]
        models.append(next(mpadmm(problem, start(), step_sizes=steps, noise=noise, release=Release.PRIMAL)))
        gradients.append(next(ssadmm(problem, start(), step_sizes=steps, batches=batches, noise=[gamma])))
    return [_same("mpADMM, release primal", pair, *models), _same("ssADMM", pair, *gradients)]


def _same(name: str, pair: SymbolicPair, one: State, two: State) -> Obligation:
    # Named, so that the solvers see at once that z and y are functions of x: the term for x holds the data.
    x = z3.Real("released")
    domain = (parameter("eta") > 0, *pair.domain, only(one.x) == x, only(two.x) == x)
    z, y = (z3.And(only(a) == only(b)) for a, b in ((one.z, two.z), (one.y, two.y)))
    return Obligation(f"{name}: z and y follow from the released x", domain, z3.And(z, y), only(one.z) == 0)


def proximal_steps() -> list[Obligation]:
    """Statement DPSGD: a proximal step moves x by at most eta times the gradient's move, and by all of it somewhere."""
    eta, x, g, other = parameter("eta"), vector("x"), vector("g"), vector("g_")
    result = []
    for regularizer, weights in convex_separable():
        problem = dataclasses.replace(SymbolicPair.unknown().problem, regularizer=regularizer)
        one, two = (proximal_step(problem, x, gradient, eta) for gradient in (g, other))
        # against the gradient, so that the signs are known
        moved, bound = only(one) - only(two), eta * (only(other) - only(g))
        domain = (eta > 0, *weights, only(other) >= only(g))
        name = f"a proximal step moves no more than its gradient, {regularizer.name}"
        result += [
            Obligation(name, domain, moved <= bound, moved <= ALMOST * bound),
            Obligation(
                f"a proximal step moves against its gradient, {regularizer.name}", domain, moved >= 0, moved > 0
            ),
        ]
    return result


def dpsgd_sees_the_noisy_gradient() -> list[Obligation]:
    """Statement DPSGD: two runs with the same noisy gradient have the same x, whatever data and noise were."""
    eta, lam, released = parameter("eta"), parameter("lambda"), z3.Real("released")
    loss, batch, models = UnknownLoss(), np.array([0, 1]), []
    for name in ("mine", "theirs"):
        problem = problem_of([vector(name), vector("kept")], loss)
        problem = dataclasses.replace(problem, regularizer=L1(lam))
        # the noise under which this data set's noisy gradient is the released one
        gamma = vector_of(released - only(problem.gradient(vector("x0"), batch)))
        [state] = dpsgd(problem, start(), step_sizes=[eta], batches=[batch], noise=[gamma])
        models.append(only(state.x))
    domain = (eta > 0, lam >= 0, *loss.facts())
    same = models[0] == models[1]
    return [Obligation("DP-SGD: x follows from the noisy gradient", domain, same, models[0] == 0)]


def other_parties_stay() -> list[Obligation]:
    """Statement DPADMM: replacing a record of the first party moves no x but its own; z and y_i follow from the x_i."""
    pair, eta = SymbolicPair.unknown(), parameter("eta")
    states = [_one_round(problem, eta, name) for problem, name in ((pair.problem, "own"), (pair.other, "own_"))]
    domain = (eta > 0, *pair.domain)
    first, second = ((state.x[0, 0], state.x[1, 0]) for state in states)
    released = (*domain, first[0] == z3.Real("released"), second[0] == z3.Real("released"))
    one, two = states
    follow = z3.And(only(one.z) == only(two.z), *(one.y[i, 0] == two.y[i, 0] for i in range(2)))
    return [
        Obligation("DP-ADMM: the other party's x stays", domain, first[1] == second[1], first[0] == second[0]),
        Obligation("DP-ADMM: z and the y_i follow from the released x_i", released, follow, only(one.z) == 0),
    ]


def _one_round(problem: Problem, eta: z3.ArithRef, own_noise: str) -> State:
    """A round of two parties of one record each; all is shared but the first record and its party's noise."""
    rows = [problem.signed[i : i + 1] for i in range(2)]
    parties = [dataclasses.replace(problem, signed=row, norms=np.zeros(1)) for row in rows]
    initial = State(matrix_of(vector("x0"), vector("x1")), vector("z0"), matrix_of(vector("y0"), vector("y1")))
    noise = matrix_of(vector(own_noise), vector("gamma"))
    return next(dpadmm(parties, initial, step_sizes=[eta], noise=[noise]))
