"""SCAD and MCP: monotone, stretching by L exactly, and what that does to (x, z, y). Statement E11."""

from __future__ import annotations

import z3

from reference.regularizers import MCP, SCAD, Regularizer
from verification.lemmas.obligation import Obligation
from verification.lemmas.proximal import Hypotheses, minimiser
from verification.lemmas.terms import constant, larger, only, parameter, square, vector
from verification.lemmas.thresholds import ALMOST

Folded = tuple[Regularizer, Hypotheses]


def scad() -> Folded:
    """SCAD with unknown parameters, where its proximal map is continuous."""
    lam, a, rho = parameter("lambda"), parameter("a"), parameter("rho")
    return SCAD(lam, a), (rho > 0, lam >= 0, a > 2, a > 1 + 1 / rho)


def mcp() -> Folded:
    """MCP with unknown parameters, where its proximal map is continuous."""
    lam, gamma, rho = parameter("lambda"), parameter("gamma"), parameter("rho")
    return MCP(lam, gamma), (rho > 0, lam >= 0, gamma > 1, gamma > 1 / rho)


def stretches() -> list[Obligation]:
    """0 <= prox w - prox w' <= L (w - w') for w >= w' >= 0, and no smaller L will do.

    That is enough: the maps are odd (:func:`odd`) and 0 at 0, so for w >= 0 >= w' both inequalities are the sum of
    those for (w, 0) and (-w', 0), and for 0 >= w >= w' those for (-w', -w).
    """
    result = []
    for regularizer, domain in (scad(), mcp()):
        rho, w, other = parameter("rho"), vector("w"), vector("w_")
        dz = only(regularizer.prox(w, rho)) - only(regularizer.prox(other, rho))
        dw, stretch = only(w) - only(other), regularizer.lipschitz(rho)
        ordered, name = (*domain, only(w) >= only(other), only(other) >= 0), regularizer.name
        result += [
            Obligation(f"prox of {name} is monotone", ordered, dz >= 0, dz > 0),
            Obligation(f"prox of {name} stretches by L", ordered, dz <= stretch * dw, dz <= ALMOST * stretch * dw),
        ]
    return result


def minimisers() -> list[Obligation]:
    """The closed forms minimise over v >= 0 at w >= 0, SCAD at its usual a = 3.7.

    That is enough: the maps are odd, and for w >= 0 the reflection of a v < 0 costs no more (:func:`even`).
    """
    rho, lam = parameter("rho"), parameter("lambda")
    right = (only(vector("w")) >= 0, only(vector("v")) >= 0)
    usual = SCAD(lam, constant("37/10"))
    regularizer, domain = mcp()
    return [
        minimiser(usual, (lam >= 0, rho > z3.Q(10, 27), *right)),
        minimiser(regularizer, (*domain, *right)),
    ]


def even() -> list[Obligation]:
    """h(-v) = h(v), and (v - w)^2 <= (-v - w)^2 for v, w >= 0."""
    v, w = vector("v"), z3.Real("w")
    result = []
    for regularizer, domain in (scad(), mcp()):
        same = only(regularizer.value(-v)) == only(regularizer.value(v))
        nearer = square(only(v) - w) <= square(-only(v) - w)
        right = (*domain, only(v) >= 0, w >= 0)
        name = f"{regularizer.name} is even"
        result.append(Obligation(name, right, z3.And(same, nearer), square(only(v) - w) < square(-only(v) - w)))
    return result


def odd() -> list[Obligation]:
    """prox(-w) = -prox(w)."""
    rho, w = parameter("rho"), vector("w")
    result = []
    for regularizer, domain in (scad(), mcp()):
        same = only(regularizer.prox(-w, rho)) == -only(regularizer.prox(w, rho))
        result.append(Obligation(f"prox of {regularizer.name} is odd", domain, same, z3.BoolVal(False)))
    return result


def joint() -> list[Obligation]:
    r"""Where 0 <= dz <= L dx: |dy| <= rho max(1, L-1) |dx|, and dz^2 + dy^2 <= max(rho^2, L^2 + rho^2 (L-1)^2) dx^2.

    Both are convex in dz, so the largest value sits at an end of the interval; the solvers are not told.
    """
    rho = parameter("rho")
    stretch, dx, dz = z3.Reals("L dx dz")
    dy = rho * (dx - dz)
    domain = (rho > 0, stretch >= 1, dx >= 0, dz >= 0, dz <= stretch * dx)
    dual = rho * larger(z3.RealVal(1), stretch - 1) * dx
    most = larger(square(rho), square(stretch) + square(rho) * square(stretch - 1)) * square(dx)
    both = square(dz) + square(dy)
    return [
        Obligation(
            "stretched y", domain, z3.And(dy <= dual, -dy <= dual), z3.And(dy <= ALMOST * dual, -dy <= ALMOST * dual)
        ),
        Obligation("stretched joint", domain, both <= most, both <= ALMOST * most),
        Obligation(
            "stretched joint, other end attained",
            (*domain, dz == stretch * dx, square(rho) <= square(stretch) + square(rho) * square(stretch - 1)),
            both == most,
            both < most,
        ),
    ]
