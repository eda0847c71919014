r"""Whole epochs of the reference's own `ssadmm` and `mpadmm` on symbols.

Statements P and THEOREM-1 (what is not noised is a function of what is), E2 (which step size), and those behind
the refutations of the printed bounds (E1): there a solver finds the data sets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import z3

from reference.arithmetic import Vector
from reference.losses import HuberizedHinge
from reference.mpadmm import ModelNoise, Release, mpadmm
from reference.problem import Problem, State
from reference.regularizers import L1
from reference.ssadmm import ssadmm
from verification.lemmas.obligation import Obligation
from verification.lemmas.terms import constant, magnitude, matrix_of, only, parameter, vector, vector_of

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


def post_processing() -> list[Obligation]:
    """Where two runs release the same x, the z and y that follow are the same, whatever data and noise were."""
    pair = SymbolicPair.unknown()
    return [*_after_primal_release(pair), *_after_noisy_gradient(pair)]


def _after_primal_release(pair: SymbolicPair) -> list[Obligation]:
    steps, states = [parameter("eta")], []
    for problem, gamma in ((pair.problem, "gamma"), (pair.other, "gamma_")):
        noise = [ModelNoise(vector(gamma))]
        states.append(next(mpadmm(problem, start(), step_sizes=steps, noise=noise, release=Release.PRIMAL)))
    return [_same("mpADMM, release primal", pair, *states)]


def _after_noisy_gradient(pair: SymbolicPair) -> list[Obligation]:
    steps, states = [parameter("eta")], []
    batch = [np.array([0, 1])]
    for problem, gamma in ((pair.problem, "gamma"), (pair.other, "gamma_")):
        states.append(next(ssadmm(problem, start(), step_sizes=steps, batches=batch, noise=[vector(gamma)])))
    return [_same("ssADMM", pair, *states)]


def _same(name: str, pair: SymbolicPair, one: State, two: State) -> Obligation:
    # Named, so that the solvers see at once that z and y are functions of x: the term for x holds the data.
    x = z3.Real("released")
    domain = (parameter("eta") > 0, *pair.domain, only(one.x) == x, only(two.x) == x)
    z, y = (z3.And(only(a) == only(b)) for a, b in ((one.z, two.z), (one.y, two.y)))
    return Obligation(f"{name}: z and y follow from the released x", domain, z3.And(z, y), only(one.z) == 0)
