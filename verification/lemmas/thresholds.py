"""The soft threshold: contraction, order and sign. [CL20] section 4.2, the list of cases after Algorithm 2."""

from __future__ import annotations

import z3

from reference.regularizers import soft_threshold
from verification.lemmas.obligation import Obligation
from verification.lemmas.terms import only, parameter, vector

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
