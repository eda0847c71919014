r"""What the baselines' privacy rests on, about their own functions on symbols: statements DPSGD, DPADMM, DPSVRG-MARGIN.

All of this is about one coordinate, except the lengths of vectors, which are about inner products.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import z3

from reference.baselines.dpadmm import dpadmm
from reference.baselines.dpsgd import dpsgd, proximal_step
from reference.problem import Problem, State
from reference.regularizers import L1
from verification.lemmas.algorithms import SymbolicPair, start
from verification.lemmas.gradients import UnknownLoss, problem_of
from verification.lemmas.obligation import Obligation
from verification.lemmas.proximal import convex_separable
from verification.lemmas.terms import matrix_of, only, parameter, square, vector, vector_of
from verification.lemmas.thresholds import ALMOST


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


def half_for_margins() -> list[Obligation]:
    """Statement DPSVRG-MARGIN: slopes in [-1, 0] at both points, so a record's two gradients differ by at most C."""
    now, then, row, bound = z3.Reals("now then row bound")
    domain = (bound > 0, now >= -1, now <= 0, then >= -1, then <= 0, row >= 0, row <= square(bound))
    length = square(now - then) * row
    name = "a record's change of gradient"
    return [Obligation(name, domain, length <= square(bound), length <= ALMOST * square(bound))]
