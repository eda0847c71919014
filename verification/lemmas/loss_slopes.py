"""Losses and clipping: no record's gradient is longer than C.

Statements LOSS-LOGISTIC, LOSS-HUBER, LOSS-HUBER-CASES, CLIP.
"""

from __future__ import annotations

from collections.abc import Callable

import z3

from reference.arithmetic import Vector
from reference.arithmetic.in_symbols import FACTS
from reference.clipping import clipped_slopes
from reference.losses import HuberizedHinge, Logistic
from verification.lemmas.obligation import Obligation
from verification.lemmas.terms import magnitude, only, parameter, square, vector
from verification.lemmas.thresholds import ALMOST


def with_facts(compute: Callable[[], Vector]) -> tuple[z3.ArithRef, list[z3.BoolRef]]:
    """A value on symbols together with the facts about exp and sqrt that it rests on."""
    facts: list[z3.BoolRef] = []
    token = FACTS.set(facts)
    try:
        return only(compute()), facts
    finally:
        FACTS.reset(token)


def logistic() -> list[Obligation]:
    """-1 <= phi'(v) <= 0 at every margin, from e^{-|v|} in (0, 1] alone."""
    v = vector("v")
    slope, facts = with_facts(lambda: Logistic().slope(v))
    return [
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
