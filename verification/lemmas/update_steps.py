r"""The three updates: the minimiser, and the distance between x, z and y on neighbouring data sets.

All of this is about one coordinate; :mod:`verification.lemmas.reduction` lifts it to vectors. Two neighbouring data
sets share x, z and y before the epoch and differ in the gradient alone, by dg with ||dg|| <= 2C/n (statement
SENS-GRADIENT).
"""

from __future__ import annotations

from dataclasses import dataclass

import z3

from reference.updates import update_x, update_y, update_z
from verification.lemmas.obligation import Obligation
from verification.lemmas.proximal import Hypotheses, convex_separable
from verification.lemmas.terms import larger, magnitude, only, parameter, square, vector, vector_of
from verification.lemmas.thresholds import ALMOST


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicEpoch:
    """One epoch on two gradients, in symbols: the differences of x, z and y, and that of the gradients."""

    domain: Hypotheses
    dg: z3.ArithRef
    dx: z3.ArithRef
    dz: z3.ArithRef
    dy: z3.ArithRef


def epochs() -> list[tuple[str, SymbolicEpoch]]:
    """One epoch of the reference's own updates for every convex separable regularizer."""
    rho, eta = parameter("rho"), parameter("eta")
    g, other, x, z, y = (vector(name) for name in ("g", "g_", "x", "z", "y"))
    result = []
    for regularizer, weights in convex_separable():
        after, after_other = (update_x(v, x, z, y, rho=rho, eta=eta) for v in (g, other))
        copy, copy_other = (update_z(v, y, rho=rho, regularizer=regularizer) for v in (after, after_other))
        dual, dual_other = update_y(y, after, copy, rho=rho), update_y(y, after_other, copy_other, rho=rho)
        epoch = SymbolicEpoch(
            (rho > 0, eta > 0, *weights),
            only(g) - only(other),
            only(after) - only(after_other),
            only(copy) - only(copy_other),
            only(dual) - only(dual_other),
        )
        result.append((regularizer.name, epoch))
    return result


def minimiser() -> list[Obligation]:
    r"""Statement UPDATE-X: Lhat(v) - Lhat(x+) = (rho + 1/eta)/2 (v - x+)^2 for every v: x+ is the one minimiser."""
    rho, eta = parameter("rho"), parameter("eta")
    g, x, z, y, v = (vector(name) for name in ("g", "x", "z", "y", "v"))
    best = only(update_x(g, x, z, y, rho=rho, eta=eta))
    at = only(v)

    def lagrangian(p: z3.ArithRef) -> z3.ArithRef:
        gap = p - only(z)
        return only(g) * p + square(p - only(x)) / (2 * eta) + only(y) * gap + rho / 2 * square(gap)

    excess = lagrangian(at) - lagrangian(best)
    parabola = (rho + 1 / eta) / 2 * square(at - best)
    return [Obligation("x update is the minimiser", (rho > 0, eta > 0), excess == parabola, excess == 0)]


def primal() -> list[Obligation]:
    """Statement SENS-X: |dx| = eta/(1 + eta rho) |dg|, exactly: no bound can be smaller."""
    eta, rho = parameter("eta"), parameter("rho")
    _, epoch = epochs()[0]
    exact = -epoch.dg * eta / (1 + eta * rho)
    return [Obligation("x moves by eta/(1+eta rho) of the gradient", epoch.domain, epoch.dx == exact, epoch.dx == 0)]


def printed_for_small_steps() -> list[Obligation]:
    """Statement SENS-PRINTED-SMALL-STEP: The printed factor 1/(1 + eta rho) is an upper bound as long as eta <= 1."""
    eta, rho = parameter("eta"), parameter("rho")
    _, epoch = epochs()[0]
    size, printed = magnitude(epoch.dx), magnitude(epoch.dg) / (1 + eta * rho)
    domain = (*epoch.domain, eta <= 1)
    return [Obligation("the printed x bound for eta <= 1", domain, size <= printed, size <= ALMOST * printed)]


def copy() -> list[Obligation]:
    """Statement SENS-Z: |dz| <= |dx| and of the same sign, for every convex separable regularizer."""
    rho, y, x, other = parameter("rho"), vector("y"), vector("x"), vector("x_")
    result = []
    for regularizer, weights in convex_separable():
        z, z_other = (update_z(v, y, rho=rho, regularizer=regularizer) for v in (x, other))
        dz, dx = only(z) - only(z_other), only(x) - only(other)
        domain = (rho > 0, *weights, dx >= 0)
        result += [
            Obligation(f"z moves no more than x, {regularizer.name}", domain, dz <= dx, dz <= ALMOST * dx),
            Obligation(f"z moves with x, {regularizer.name}", domain, dz >= 0, dz > 0),
        ]
    return result


def dual() -> list[Obligation]:
    """Statement SENS-Y: |dy| <= rho |dx|, of the same sign."""
    rho, y, x, other = parameter("rho"), vector("y"), vector("x"), vector("x_")
    z, z_other = z3.Reals("z z_")
    dy = only(update_y(y, x, vector_of(z), rho=rho)) - only(update_y(y, other, vector_of(z_other), rho=rho))
    dx, dz = only(x) - only(other), z - z_other
    domain = (rho > 0, dx >= 0, dz >= 0, dz <= dx)
    return [
        Obligation("y moves at most rho times x", domain, dy <= rho * dx, dy <= ALMOST * rho * dx),
        Obligation("y moves with x", domain, dy >= 0, dy > 0),
    ]


def joint() -> list[Obligation]:
    r"""dx^2 + dz^2 + dy^2 <= (1 + max(1, rho^2)) dx^2, attained at both ends; (2 + rho^2) never is.

    The firm inequality (statement PROX-FIRM) is all that is used: dz dx >= dz^2.
    """
    rho, dx, dz = parameter("rho"), z3.Real("dx"), z3.Real("dz")
    dy = rho * (dx - dz)
    firm = (rho > 0, dz * dx >= square(dz))
    total = square(dx) + square(dz) + square(dy)
    bound = (1 + larger(z3.RealVal(1), square(rho))) * square(dx)
    naive = (2 + square(rho)) * square(dx)
    return [
        Obligation("joint bound", firm, total <= bound, total <= ALMOST * bound),
        Obligation("joint bound attained at dz = dx", (*firm, rho <= 1, dz == dx), total == bound, total < bound),
        Obligation("joint bound attained at dz = 0", (*firm, rho >= 1, dz == 0), total == bound, total < bound),
        Obligation("the sum of squares is never reached", (*firm, dx != 0), total < naive, total < ALMOST * bound),
    ]
