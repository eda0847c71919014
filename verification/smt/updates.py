r"""The three updates: the minimiser, the distance between x, z and y on neighbouring data sets, and Theorem 2's step.

All of this is about one coordinate; :func:`is_coordinatewise` and :func:`sums` lift it to vectors. Two neighbouring
data sets share x, z and y before the epoch and differ in the gradient alone, by dg with ||dg|| <= 2C/n (SENS-GRADIENT).

One iteration's share of Theorem 2 ([CL20] appendix; statements THEOREM-2, E9, E10, E14, E15, E16): with g~ the noisy
gradient that the iteration used, x*, y any point of comparison, and z+, y+ what follows,

    g~ (x - x*) + y+ (z+ - x*) + y (x+ - z+)
        <= eta/2 g~^2 + ((x-x*)^2 - (x+-x*)^2)/(2 eta) + rho/2 ((z-x*)^2 - (z+-x*)^2) + ((y-y0)^2 - (y-y+)^2)/(2 rho)

holds for every z+, with slack exactly eta/2 (g~ + (x+-x)/eta)^2 + rho/2 (z - x+)^2. Together with y+ being a
subgradient of lambda h at z+ and the convexity of f, summing over k = 0..t-1 and dividing by t gives the theorem for f
at the mean of x^0..x^{t-1}, h at the mean of z^1..z^t, and the residual of the means of x^1..x^t and z^1..z^t.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import z3

from reference.arithmetic import Vector
from reference.regularizers import Regularizer
from reference.updates import update_x, update_y, update_z
from verification.smt.blocks import ALMOST, Hypotheses, convex_separable, dual_move, mcp, scad
from verification.smt.obligation import Obligation, larger, magnitude, only, parameter, square, vector, vector_of


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
    rho = parameter("rho")
    dx, dz, dy = dual_move(rho)
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


Map = Callable[..., Vector]


def is_coordinatewise(function: Map, arguments: int, length: int) -> bool:
    """Whether every entry of the result is the one-coordinate formula, renamed."""
    single = function(*(vector_of(z3.Real(f"v{j}_0")) for j in range(arguments)))[0]
    whole = function(*(vector_of(*(z3.Real(f"v{j}_{i}") for i in range(length))) for j in range(arguments)))
    return all(
        z3.eq(whole[i], z3.substitute(single, *((z3.Real(f"v{j}_0"), z3.Real(f"v{j}_{i}")) for j in range(arguments))))
        for i in range(length)
    )


def coordinatewise_maps() -> list[tuple[str, Map, int]]:
    """Every map of which something is proved for one coordinate: name, function, number of vectors it takes."""
    rho, eta = parameter("rho"), parameter("eta")
    regularizers = [regularizer for regularizer, _ in (*convex_separable(), scad(), mcp())]
    maps: list[tuple[str, Map, int]] = [
        ("x update", lambda g, x, z, y: update_x(g, x, z, y, rho=rho, eta=eta), 4),
        ("y update", lambda y, x, z: update_y(y, x, z, rho=rho), 3),
    ]
    return maps + [(f"z update, {regularizer.name}", _copy_update(regularizer), 2) for regularizer in regularizers]


def _copy_update(regularizer: Regularizer) -> Map:
    return lambda x, y: update_z(x, y, rho=parameter("rho"), regularizer=regularizer)


def one_iteration() -> list[Obligation]:
    """The identity behind the inequality: bound less left side is a sum of squares."""
    rho, eta = parameter("rho"), parameter("eta")
    g, x, z, y0 = (vector(name) for name in ("g", "x", "z", "y0"))
    best, multiplier, z_next = z3.Reals("best multiplier z_next")
    x_next = update_x(g, x, z, y0, rho=rho, eta=eta)
    y_next = only(update_y(y0, x_next, vector_of(z_next), rho=rho))
    noisy, old, new = only(g), only(x), only(x_next)
    left = noisy * (old - best) + y_next * (z_next - best) + multiplier * (new - z_next)
    right = (
        eta / 2 * square(noisy)
        + (square(old - best) - square(new - best)) / (2 * eta)
        + rho / 2 * (square(only(z) - best) - square(z_next - best))
        + (square(multiplier - only(y0)) - square(multiplier - y_next)) / (2 * rho)
    )
    slack = eta / 2 * square(noisy + (new - old) / eta) + rho / 2 * square(only(z) - new)
    positive = (rho > 0, eta > 0)
    return [Obligation("one iteration of Theorem 2", positive, right - left == slack, right == left)]


def subgradients() -> list[Obligation]:
    """y+ is a subgradient of lambda h at z+: lambda h(v) >= lambda h(z+) + y+ (v - z+) for every v."""
    rho, x, y, v = parameter("rho"), vector("x"), vector("y"), vector("v")
    result = []
    for regularizer, domain in convex_separable():
        z = update_z(x, y, rho=rho, regularizer=regularizer)
        y_next = only(update_y(y, x, z, rho=rho))
        tangent = only(regularizer.value(z)) + y_next * (only(v) - only(z))
        value = only(regularizer.value(v))
        name = f"the dual is a subgradient of {regularizer.name}"
        result.append(Obligation(name, (rho > 0, *domain), value >= tangent, value > tangent))
    return result
