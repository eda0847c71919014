r"""From coordinates to vectors of any length.

Two things are needed and both are checked here.

1. *The map works coordinate by coordinate*: entry i of the result is the one-coordinate formula with the names of
   coordinate i. :func:`is_coordinatewise` compares the terms themselves, on vectors of length 1 to 4.
2. *Coordinate bounds add up*: a_i <= c b_i for every i implies sum a_i <= c sum b_i; with squares in place of a and b,
   ||u|| <= c ||v||. :func:`sums` is the step of the induction over the length.

What is not coordinate-wise (groups, the nuclear norm, the gradient) has proofs about inner products instead.
"""

from __future__ import annotations

from collections.abc import Callable

import z3

from reference.arithmetic import Vector
from reference.regularizers import Regularizer
from reference.updates import update_x, update_y, update_z
from verification.lemmas.folded import mcp, scad
from verification.lemmas.obligation import Obligation
from verification.lemmas.proximal import convex_separable
from verification.lemmas.terms import parameter, vector_of
from verification.lemmas.thresholds import ALMOST

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
    """Every map whose lemma is proved for one coordinate: name, function, number of vectors it takes."""
    rho, eta = parameter("rho"), parameter("eta")
    regularizers = [regularizer for regularizer, _ in (*convex_separable(), scad(), mcp())]
    maps: list[tuple[str, Map, int]] = [
        ("x update", lambda g, x, z, y: update_x(g, x, z, y, rho=rho, eta=eta), 4),
        ("y update", lambda y, x, z: update_y(y, x, z, rho=rho), 3),
    ]
    return maps + [(f"z update, {regularizer.name}", _copy_update(regularizer), 2) for regularizer in regularizers]


def _copy_update(regularizer: Regularizer) -> Map:
    return lambda x, y: update_z(x, y, rho=parameter("rho"), regularizer=regularizer)


def sums() -> list[Obligation]:
    """Partial sums S, T of the first coordinates and the next coordinate a, b."""
    c, first, second, a, b = z3.Reals("c first second a b")
    domain = (c >= 0, first <= c * second, a <= c * b)
    goal = first + a <= c * (second + b)
    return [
        Obligation(
            "coordinate bounds add up", (*domain, second >= 0, b >= 0), goal, first + a <= ALMOST * c * (second + b)
        )
    ]
