"""The ordinary cases: every algorithm with every loss, regularizer and way to bound a gradient.

Numbers come from a stream seeded with the case's name (Python promises `random.random` the same in every version), so
that a case never changes because another was added.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from verification.vectors.recipe import POINT, Recipe
from verification.wire.arrays import Floats

Kind: TypeAlias = tuple[str, str | None]
SSADMM: Kind = ("ssadmm", None)
MPADMM_ALL: Kind = ("mpadmm", "all")
MPADMM_PRIMAL: Kind = ("mpadmm", "primal")
KINDS = (SSADMM, MPADMM_ALL, MPADMM_PRIMAL)
LOSSES = ("logistic", "huber")
REGULARIZERS = ("none", "l1", "elastic-net", "group-l1", "nuclear", "scad", "mcp")
_NOISED = {SSADMM: ("gradient",), MPADMM_ALL: POINT, MPADMM_PRIMAL: ("x",)}


def label_of(kind: Kind) -> str:
    """ssadmm, mpadmm-all or mpadmm-primal."""
    return kind[0] if kind[1] is None else f"{kind[0]}-{kind[1]}"


def uniform(stream: random.Random, *shape: int, digits: int = 3) -> Floats:
    """Numbers between -1 and 1 with so many decimals."""
    flat = [round(2 * stream.random() - 1, digits) + 0.0 for _ in range(math.prod(shape))]
    return np.array(flat, dtype=np.float64).reshape(shape)


def base(
    name: str,
    kind: Kind = SSADMM,
    loss: str = "logistic",
    regularizer: str = "l1",
    *,
    n: int = 4,
    p: int = 4,
    T: int = 2,
    digits: int = 3,
) -> Recipe:
    """An ordinary case; the others are this one with something changed."""
    stream = random.Random(f"dpadmm golden vector {name}")
    features = 2 * uniform(stream, n, p, digits=digits)
    labels = tuple(1 if stream.random() < 0.5 else -1 for _ in range(n))
    batch = max(1, n // 2) if kind == SSADMM else None
    batches = None
    if batch is not None:
        order = list(range(n))
        batches = tuple(tuple(sorted(order, key=lambda _: stream.random())[:batch]) for _ in range(T))
    recipe = Recipe(
        id=name,
        comment="",
        flags=("plain",),
        algorithm=kind[0],
        release=kind[1],
        loss=loss,
        regularizer=regularizer,
        lam=0.2,
        rho=0.5,
        eta=tuple(round(1.7 / (k + 1), 3) for k in range(T)),
        features=features,
        labels=labels,
        noise={key: 0.5 * uniform(stream, T, p, digits=digits) for key in _NOISED[kind]},
        start={key: uniform(stream, p, digits=digits) for key in POINT},
        batch=batch,
        batches=batches,
    )
    return with_options(recipe)


def with_options(recipe: Recipe) -> Recipe:
    """The options that a regularizer needs, and the flag of its bugs."""
    p, flags = recipe.dimension, recipe.flags
    match recipe.regularizer:
        case "elastic-net":
            return replace(recipe, l1_ratio=0.3, flags=(*flags, "elastic-net"))
        case "group-l1":
            return replace(recipe, groups=((2, 0), (1,)) if p > 2 else ((0,),), flags=(*flags, "groups"))
        case "nuclear":
            return replace(recipe, shape=(2, p // 2) if p % 2 == 0 else (1, p), flags=(*flags, "matrix"))
        case "scad":
            return replace(recipe, a=3.7, flags=(*flags, "folded"))
        case "mcp":
            return replace(recipe, gamma=3.0, flags=(*flags, "folded"))
        case _:
            return recipe


def bent(recipe: Recipe, shape: float) -> Recipe:
    """SCAD with this a, or MCP with this gamma."""
    return replace(recipe, a=shape) if recipe.regularizer == "scad" else replace(recipe, gamma=shape)


def with_intercept(recipe: Recipe) -> Recipe:
    """One coordinate more, in front, in everything but the features."""

    def longer(rows: Floats) -> Floats:
        wide: Floats = np.concatenate([np.full((*rows.shape[:-1], 1), 0.25), rows], axis=-1)
        return wide

    return replace(
        recipe,
        intercept=True,
        noise={name: longer(rows) for name, rows in recipe.noise.items()},
        start={name: longer(values) for name, values in recipe.initial.items()},
        flags=(*recipe.flags, "intercept"),
    )


def normalised(recipe: Recipe, bound: float) -> Recipe:
    """Bounded by normalising; every row is at least so long, as whether shorter ones are stretched is left open."""
    rows = recipe.features.copy()
    for i in range(len(rows)):
        while rows[i].any() and float(np.sum(rows[i] * rows[i])) <= 1.1 * bound * bound:
            rows[i] *= 2
    return replace(recipe, features=rows, clip=None, normalise=bound, flags=(*recipe.flags, "normalising"))


def every_combination() -> Iterator[Recipe]:
    """Algorithm x loss x regularizer, clipped and normalised; starts, schedules and intercepts in turn."""
    schedules = (
        ("constant", lambda _: 0.7),
        ("by epoch", lambda k: round(1.7 / (k + 1), 3)),
        ("c/sqrt(k+1)", lambda k: 2.5 / math.sqrt(k + 1)),
    )
    turns = itertools.product(KINDS, LOSSES, REGULARIZERS, (False, True))
    for turn, (kind, loss, regularizer, by_length) in enumerate(turns):
        name = f"{label_of(kind)}-{loss}-{regularizer}-{'normalised' if by_length else 'clipped'}"
        recipe = base(name, kind, loss, regularizer, n=4 + turn % 2, p=4, T=3 if turn % 4 == 0 else 2)
        shown, schedule = schedules[turn % len(schedules)]
        flags = ["old-dual", *(["step-index"] if turn % len(schedules) else [])]
        flags += {"all": ["noise-order"], "primal": ["release"]}.get(kind[1] or "", ["batch-mean"])
        recipe = replace(
            recipe,
            eta=tuple(schedule(k) for k in range(len(recipe.eta))),
            rho=(0.5, 0.75, 2.0)[turn % 3],
            flags=(*recipe.flags, *flags),
        )
        recipe = normalised(recipe, 1.0) if by_length else replace(recipe, flags=(*recipe.flags, "clipping"))
        if turn % 5 == 2 and regularizer != "nuclear":
            recipe = with_intercept(recipe)
        at_zero = turn % 7 == 3
        start = "0" if at_zero else "elsewhere"
        recipe = replace(recipe, start=None) if at_zero else replace(recipe, flags=(*recipe.flags, "initial"))
        yield replace(recipe, comment=f"every part of an iteration takes part; eta {shown}, start at {start}")


def sizes() -> Iterator[Recipe]:
    """One record, one coordinate, one iteration; batches of 1 and of all records; longer runs; full precision."""
    for kind in KINDS:
        for n, p, T in ((1, 1, 1), (7, 1, 2), (3, 5, 1), (9, 3, 6)):
            recipe = base(f"{label_of(kind)}-{n}-records-{p}-features-{T}-iterations", kind, n=n, p=p, T=T)
            yield replace(recipe, flags=("batch-mean", "old-dual"), comment="shapes")
        recipe = base(f"{label_of(kind)}-seventeen-digits", kind, digits=17)
        yield replace(recipe, flags=("precision",), comment="inputs with all their digits")
    for loss, size in itertools.product(LOSSES, (1, 6)):
        recipe = base(f"ssadmm-{loss}-batch-{size}-of-6", loss=loss, n=6)
        batches = tuple(tuple((5 * k + i) % 6 for i in range(size)) for k in range(2))
        comment = "divide by the batch, not by the records; members in any order"
        yield replace(recipe, batch=size, batches=batches, flags=("batch-mean",), comment=comment)
