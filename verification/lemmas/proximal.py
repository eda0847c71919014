r"""Proximal maps of convex regularizers: they are the minimiser, and firmly nonexpansive.

Separable maps are proved coordinate by coordinate (:mod:`verification.lemmas.reduction` shows that this is enough).
The map of *any* convex h, the nuclear norm and groups included, is covered by :func:`any_convex`.
"""

from __future__ import annotations

import z3
from z3 import z3util

from reference.arithmetic.in_symbols import FACTS
from reference.regularizers import L1, ElasticNet, GroupL1, Regularizer, Unregularized
from verification.lemmas.obligation import Obligation
from verification.lemmas.terms import only, parameter, square, vector, vector_of
from verification.lemmas.thresholds import ALMOST

Hypotheses = tuple[z3.BoolRef, ...]


def convex_separable() -> list[tuple[Regularizer, Hypotheses]]:
    """Every convex separable regularizer with unknown parameters, and the domain of those."""
    lam, ratio = parameter("lambda"), parameter("ratio")
    weight = (lam >= 0,)
    return [
        (Unregularized(), ()),
        (L1(lam), weight),
        (ElasticNet(lam, ratio), (*weight, ratio >= 0, ratio <= 1)),
    ]


def minimisers() -> list[Obligation]:
    """prox(w) minimises lambda h(v) + rho/2 (v - w)^2 over v."""
    return [minimiser(regularizer, domain) for regularizer, domain in convex_separable()]


def minimiser(regularizer: Regularizer, domain: Hypotheses) -> Obligation:
    """The closed form of one regularizer is no larger than any other point."""
    rho, w, v = parameter("rho"), vector("w"), vector("v")
    z = regularizer.prox(w, rho)

    def cost(point: z3.ArithRef) -> z3.ArithRef:
        return only(regularizer.value(vector_of(point))) + rho / 2 * square(point - only(w))

    best, other = cost(only(z)), cost(only(v))
    return Obligation(f"prox of {regularizer.name} is the minimiser", (rho > 0, *domain), best <= other, best < other)


def firm() -> list[Obligation]:
    """(prox w - prox w')(w - w') >= (prox w - prox w')^2, coordinate by coordinate; with equality somewhere."""
    return [*(_firm(regularizer, domain) for regularizer, domain in convex_separable()), *_firm_group()]


def _firm(regularizer: Regularizer, domain: Hypotheses) -> Obligation:
    rho, w, other = parameter("rho"), vector("w"), vector("w_")
    dz = only(regularizer.prox(w, rho)) - only(regularizer.prox(other, rho))
    dw = only(w) - only(other)
    name = f"prox of {regularizer.name} is firmly nonexpansive"
    return Obligation(name, (rho > 0, *domain), dz * dw >= square(dz), ALMOST * dz * dw >= square(dz))


def _firm_group() -> list[Obligation]:
    r"""One group. Two vectors span a plane and the map commutes with rotations, so w = (r, 0) and w' = r' (c, s).

    First: the two norms that the map computes are r and r'. Then those names stand in for the square roots.
    """
    lam, rho = parameter("lambda"), parameter("rho")
    r, far, c, s = z3.Reals("r r_ c s")
    facts: list[z3.BoolRef] = []
    token = FACTS.set(facts)
    try:
        w, other = vector_of(r, z3.RealVal(0)), vector_of(far * c, far * s)
        group = GroupL1(lam, ((0, 1),))
        z, z_other = group.prox(w, rho), group.prox(other, rho)
    finally:
        FACTS.reset(token)
    norms = [root for fact in facts for root in z3util.get_vars(fact) if root.decl().name().startswith("sqrt")]
    roots = sorted(set(norms), key=lambda root: int(root.decl().name().partition("!")[2]))
    plane = (rho > 0, lam >= 0, r >= 0, far >= 0, square(c) + square(s) == 1)
    named = z3.And(roots[0] == r, roots[1] == far)

    def polar(term: z3.ArithRef) -> z3.ArithRef:
        return z3.substitute(term, (roots[0], r), (roots[1], far))

    dz, dw = z - z_other, w - other
    inner, length = polar(dz @ dw), polar(dz @ dz)
    return [
        Obligation("the norms in the prox of group-l1", (*plane, *facts), named, roots[0] == far),
        Obligation("prox of group-l1 is firmly nonexpansive", plane, inner >= length, ALMOST * inner >= length),
    ]


def any_convex() -> list[Obligation]:
    r"""For every convex h: from the two subgradient inequalities alone.

    z minimises lambda h + rho/2 ||. - w||^2, so rho (w - z) is a subgradient of lambda h at z, and likewise for z'.
    The unknowns are the numbers h(z), h(z'), <w - z, z' - z>, <w' - z', z - z'> and ||z - z'||^2; then
    <z - z', w - w'> - ||z - z'||^2 = -<w - z, z' - z> - <w' - z', z - z'>. No coordinates: any dimension, any h.
    """
    rho = parameter("rho")
    h, h_other, first, second, length = z3.Reals("h h_ first second length")
    inner = length - first - second
    subgradients = (rho > 0, length >= 0, h_other >= h + rho * first, h >= h_other + rho * second)
    return [Obligation("every convex prox is firmly nonexpansive", subgradients, inner >= length, inner > length)]
