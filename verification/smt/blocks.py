r"""Losses, clipping and proximal maps, on symbols.

1. No record's gradient is longer than C: statements LOSS-LOGISTIC, LOSS-HUBER, LOSS-HUBER-CASES, CLIP.
2. The soft threshold: contraction, order and sign ([CL20] section 4.2, the list of cases after Algorithm 2).
3. Proximal maps of convex regularizers are the minimiser and firmly nonexpansive. Separable maps are proved coordinate
   by coordinate (:func:`verification.smt.updates.is_coordinatewise` shows that this is enough); the map of *any* convex
   h, the nuclear norm included, is Coq's (statement PROX-FIRM), and groups are proved along a ray.
4. SCAD and MCP: monotone, stretching by L exactly, and what that does to (x, z, y). Statement E11.
"""

from __future__ import annotations

from collections.abc import Callable

import z3
from z3 import z3util

from reference.arithmetic import Scalar, Vector
from reference.arithmetic.in_symbols import FACTS
from reference.clipping import clipped_slopes
from reference.losses import HuberizedHinge, Logistic
from reference.regularizers import L1, MCP, SCAD, ElasticNet, GroupL1, Regularizer, Unregularized, soft_threshold
from reference.updates import update_y
from verification.smt.obligation import (
    Obligation,
    constant,
    larger,
    magnitude,
    only,
    parameter,
    square,
    vector,
    vector_of,
)


def with_facts(compute: Callable[[], Vector]) -> tuple[z3.ArithRef, list[z3.BoolRef]]:
    """A value on symbols together with the facts about exp and sqrt that it rests on."""
    facts: list[z3.BoolRef] = []
    token = FACTS.set(facts)
    try:
        return only(compute()), facts
    finally:
        FACTS.reset(token)


def logistic() -> list[Obligation]:
    """phi'(v) = -1/(1 + e^v) and -1 <= phi'(v) <= 0 at every margin; phi'' = -phi' (1 + phi') <= 1/4.

    e^{-|v|} is the one unknown; written with it, -1/(1 + e^v) is -e^{-v}/(1 + e^{-v}) above 0 and -1/(1 + e^v) below.
    """
    v = vector("v")
    slope, facts = with_facts(lambda: Logistic().slope(v))
    [small] = {root for fact in facts for root in z3util.get_vars(fact) if root.decl().name().startswith("exp")}
    exact = z3.If(only(v) >= 0, -small / (1 + small), -1 / (1 + small))
    curvature = -slope * (1 + slope)
    return [
        Obligation("logistic slope is -1/(1 + e^v)", tuple(facts), slope == exact, slope == -small / (1 + small)),
        Obligation("logistic curvature", tuple(facts), curvature <= z3.Q(1, 4), curvature <= ALMOST / 4),
        Obligation("logistic slope is at least -1", tuple(facts), slope >= -1, slope >= -ALMOST),
        Obligation("logistic slope is negative", tuple(facts), slope < 0, slope < -1 + ALMOST),
    ]


def huber() -> list[Obligation]:
    """-1 <= phi' <= 0; phi' is phi's derivative; phi is convex with curvature 1/(2h)."""
    h, u, v = parameter("h"), vector("u"), vector("v")
    loss = HuberizedHinge(h)
    domain = (h > 0, h <= 1)
    at_u, at_v, slope = only(loss.value(u)), only(loss.value(v)), only(loss.slope(v))
    step = only(u) - only(v)
    tangent = at_v + slope * step
    return [
        Obligation("huber slope is at least -1", domain, slope >= -1, slope >= -ALMOST),
        Obligation("huber slope is not positive", domain, slope <= 0, slope < 0),
        Obligation("huber lies above its tangents", domain, at_u >= tangent, at_u > tangent),
        Obligation(
            "huber lies below its parabola",
            domain,
            at_u <= tangent + square(step) / (4 * h),
            at_u <= tangent + ALMOST * square(step) / (4 * h),
        ),
    ]


def huber_cases() -> list[Obligation]:
    """The clamped form is the three cases of [CL20] section 5.1."""
    h, v = parameter("h"), vector("v")
    value, margin = only(HuberizedHinge(h).value(v)), only(v)
    printed = z3.If(
        margin > 1 + h,
        z3.RealVal(0),
        z3.If(magnitude(1 - margin) <= h, square(1 + h - margin) / (4 * h), 1 - margin),
    )
    return [Obligation("huber in three cases", (h > 0, h <= 1), value == printed, value == 1 - margin)]


def clip() -> list[Obligation]:
    """|slope'| norm <= bound; the slope itself where it was short enough; the sign kept."""
    slope, norm, bound = vector("slope"), vector("norm"), parameter("bound")
    result = only(clipped_slopes(slope, norm, bound))
    domain = (bound > 0, only(norm) >= 0)
    length = magnitude(result) * only(norm)
    short = magnitude(only(slope)) * only(norm) <= bound
    return [
        Obligation("clipped gradient is no longer than the bound", domain, length <= bound, length <= ALMOST * bound),
        Obligation("a short gradient is not clipped", (*domain, short), result == only(slope), result == 0),
        Obligation("clipping keeps the sign", domain, result * only(slope) >= 0, result * only(slope) > 0),
        Obligation(
            "a long gradient is clipped to the bound exactly",
            (*domain, z3.Not(short)),
            length == bound,
            z3.BoolVal(False),
        ),
    ]


ALMOST = z3.Q(999, 1000)
"""A bound times this must fail: then the bound is tight to 0.1 %."""


def soft_threshold_pair() -> tuple[z3.ArithRef, z3.ArithRef, z3.ArithRef, z3.ArithRef, z3.ArithRef]:
    """t, w, w' and the reference's S_t(w), S_t(w')."""
    t, w, other = parameter("t"), vector("w"), vector("w_")
    return t, only(w), only(other), only(soft_threshold(w, t)), only(soft_threshold(other, t))


def contraction() -> list[Obligation]:
    """Never longer, never of the other sign: 0 <= S_t(w) - S_t(w') <= w - w' for w >= w'.

    One pair of inequalities says all three: contraction, order, and sign. The other order of w and w' is the same
    statement with the names exchanged.
    """
    t, w, other, s, s_other = soft_threshold_pair()
    ordered = (t >= 0, w >= other)
    return [
        Obligation("soft threshold contracts", ordered, s - s_other <= w - other, s - s_other <= ALMOST * (w - other)),
        Obligation("soft threshold keeps order and sign", ordered, s - s_other >= 0, s - s_other > 0),
        Obligation("soft threshold never passes zero", (t >= 0, w >= 0), z3.And(s >= 0, s <= w), s > 0),
        Obligation(
            "soft threshold in the three printed cases",
            (t >= 0,),
            z3.And(
                z3.Implies(w > t, s == w - t),
                z3.Implies(w < -t, s == w + t),
                z3.Implies(z3.And(w <= t, w >= -t), s == 0),
            ),
            s == w - t,
        ),
    ]


def strict_order() -> tuple[tuple[z3.BoolRef, ...], z3.BoolRef]:
    """The printed order demands |u_i| < |v_i| (E3): hypotheses and the statement to be refuted."""
    t, w, other, s, s_other = soft_threshold_pair()
    return (t >= 0, w > other), s - s_other < w - other


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


def group_threshold() -> list[Obligation]:
    r"""One group, w = (r, 0): the map scales it by max(0, 1 - lambda/(rho r)), and that minimises along the ray.

    A vector of the same length in another direction costs more, because <v, w> <= |v| |w|; so the ray is enough.
    """
    lam, rho, r, v = parameter("lambda"), parameter("rho"), z3.Real("r"), z3.Real("v")
    facts: list[z3.BoolRef] = []
    token = FACTS.set(facts)
    try:
        group = GroupL1(lam, ((0, 1),))
        first, second = group.prox(vector_of(r, z3.RealVal(0)), rho)
        weight = only(group.value(vector_of(z3.RealVal(1), z3.RealVal(0))))
    finally:
        FACTS.reset(token)
    domain = (rho > 0, lam >= 0, r >= 0, v >= 0, *facts)

    def cost(length: z3.ArithRef) -> z3.ArithRef:
        return weight * length + rho / 2 * square(length - r)

    return [
        Obligation("prox of group-l1 stays on the ray", domain, z3.And(second == 0, first >= 0), first > 0),
        Obligation("prox of group-l1 is the minimiser", domain, cost(first) <= cost(v), cost(first) < cost(v)),
    ]


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


def folded_minimisers() -> list[Obligation]:
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


def dual_move(rho: Scalar) -> tuple[z3.ArithRef, z3.ArithRef, z3.ArithRef]:
    """How far x and z move, unknown, and how far the reference's dual update then moves y."""
    y, x, z, dx, dz = (vector(name) for name in ("y", "x", "z", "dx", "dz"))
    moved = only(update_y(y, x + dx, z + dz, rho=rho)) - only(update_y(y, x, z, rho=rho))
    return only(dx), only(dz), moved


def folded_joint() -> list[Obligation]:
    r"""Where 0 <= dz <= L dx: |dy| <= rho max(1, L-1) |dx|, and dz^2 + dy^2 <= max(rho^2, L^2 + rho^2 (L-1)^2) dx^2.

    Both are convex in dz, so the largest value sits at an end of the interval; the solvers are not told.
    """
    rho, stretch = parameter("rho"), z3.Real("L")
    dx, dz, dy = dual_move(rho)
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
