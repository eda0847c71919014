"""The cases of the baselines: each algorithm with its losses, penalties, bounds, sizes and its own edges.

Penalties are none, L1 and the elastic net (the proximal map has vectors of its own in version 1); objp and admm
have the logistic loss alone, whose minimiser is known to all digits.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tools.golden_vectors.grid import MPADMM_PRIMAL, SSADMM, base, normalised, uniform, with_intercept
from verification.vectors.recipe import Recipe
from verification.wire.arrays import Floats

PENALTIES = ("none", "l1", "elastic-net")
BATCHED = ("dpsgd", "dpsvrg", "sadmm")
INNER = 2


def baselines() -> Iterator[Recipe]:
    """Every case."""
    yield from _combinations()
    yield from _parties()
    yield from _epochs()
    yield from _solves()
    yield from _edges()


def baseline(
    algorithm: str, name: str, loss: str = "logistic", regularizer: str = "l1", *, n: int = 5, p: int = 3, T: int = 4
) -> Recipe:
    """An ordinary case of an algorithm."""
    batched = algorithm in BATCHED
    recipe = base(f"{algorithm}-{name}", SSADMM if batched else MPADMM_PRIMAL, loss, regularizer, n=n, p=p, T=T)
    recipe = replace(recipe, algorithm=algorithm, release=None, flags=(*recipe.flags, *FLAGS_OF[algorithm]))
    draws = random.Random(f"dpadmm golden vector {recipe.id} noise")

    def noise(*shape: int) -> Floats:
        return 0.5 * uniform(draws, *shape)

    match algorithm:
        case "dpadmm":
            return replace(recipe, parties=2, noise={"x": noise(T, 2 * p)})
        case "dpsvrg":
            own = {"gradient": noise(T, p), "anchor": noise(T // INNER, p)}
            return replace(recipe, inner=INNER, anchor_sigma=0.25, noise=own)
        case "objp":
            recipe = replace(recipe, sigma=0.0, epsilon=2.0, noise={"objective": noise(T, p)})
            return normalised(recipe, 1.0)
        case "admm":
            return normalised(replace(recipe, sigma=0.0, noise={}), 1.0)
        case "sadmm":
            return replace(recipe, sigma=0.0, noise={})
        case _:
            return recipe


FLAGS_OF = {
    "dpsgd": ("proximal-step", "batch-mean"),
    "dpadmm": ("party-mean",),
    "dpsvrg": ("control-variate", "anchor-noise", "proximal-step"),
    "objp": ("objective",),
    "admm": ("objective",),
    "sadmm": ("batch-mean", "old-dual"),
}


def _combinations() -> Iterator[Recipe]:
    for algorithm in ("dpsgd", "dpadmm", "dpsvrg", "sadmm"):
        for loss in ("logistic", "huber"):
            for regularizer in PENALTIES:
                recipe = baseline(algorithm, f"{loss}-{regularizer}", loss, regularizer)
                bounded = replace(recipe, flags=(*recipe.flags, "clipping"))
                yield replace(bounded, comment="every part of an iteration takes part; gradients clipped")
        recipe = normalised(baseline(algorithm, "normalised"), 1.0)
        yield replace(recipe, comment="records normalised instead of gradients clipped")
    for algorithm in ("objp", "admm"):
        for regularizer in PENALTIES:
            recipe = baseline(algorithm, f"logistic-{regularizer}", "logistic", regularizer)
            yield replace(recipe, comment="the x step solved; eta plays no part")


def _parties() -> Iterator[Recipe]:
    for count, n in ((1, 4), (3, 7), (3, 6), (4, 4)):
        recipe = baseline("dpadmm", f"{n}-records-{count}-parties", n=n)
        draws = random.Random(f"dpadmm golden vector {recipe.id} parties")
        noise = {"x": 0.5 * uniform(draws, 4, count * recipe.dimension)}
        yield replace(recipe, parties=count, noise=noise, comment="consecutive blocks, the larger ones first")


def _epochs() -> Iterator[Recipe]:
    for inner in (1, 2, 4):
        recipe = baseline("dpsvrg", f"inner-{inner}")
        draws = random.Random(f"dpadmm golden vector {recipe.id} epochs")
        noise = {**recipe.noise, "anchor": 0.5 * uniform(draws, 4 // inner, 3)}
        yield replace(recipe, inner=inner, noise=noise, comment="steps between two full gradients")
    recipe = baseline("dpsvrg", "whole-batches")
    batches = tuple(tuple(range(5)) for _ in range(4))
    comment = "with all records in the batch the anchor's gradient cancels"
    yield replace(recipe, batch=5, batches=batches, comment=comment)


def _solves() -> Iterator[Recipe]:
    recipe = baseline("objp", "with-ridge")
    yield replace(recipe, epsilon=0.02, comment="so small an epsilon that a ridge is needed")
    recipe = baseline("objp", "without-ridge")
    yield replace(recipe, epsilon=8.0, comment="no ridge")
    for algorithm in ("objp", "admm"):
        recipe = baseline(algorithm, "at-zero")
        yield replace(recipe, start=None, comment="start at 0")
    recipe = baseline("admm", "intercept", p=2)
    yield replace(with_intercept(recipe), comment="the ones column in front, before normalising")


def _edges() -> Iterator[Recipe]:
    for algorithm in ("dpsgd", "dpsvrg"):
        recipe = baseline(algorithm, "small-steps")
        comment = "lambda eta is far from lambda and from lambda/rho"
        yield replace(recipe, eta=(0.25, 0.125, 0.0625, 0.03125), lam=0.75, rho=4.0, comment=comment)
    for algorithm in ("dpsgd", "dpadmm", "dpsvrg", "sadmm"):
        recipe = baseline(algorithm, "at-zero")
        yield replace(recipe, start=None, comment="start at 0")
        recipe = baseline(algorithm, "one-record", n=1, T=2)
        yield replace(_alone(recipe), comment="one record")
    recipe = with_intercept(baseline("dpsgd", "intercept", p=2))
    yield replace(recipe, flags=(*recipe.flags, "clipping"), comment="the ones column in front")
    recipe = baseline("dpsgd", "other-rho")
    yield replace(recipe, rho=16.0, comment="rho plays no part")
    recipe = baseline("dpsgd", "other-copy")
    start = {"x": recipe.initial["x"], "z": np.full(3, 9.0), "y": np.full(3, -9.0)}
    yield replace(recipe, start=start, comment="z and y of the start play no part")


def _alone(recipe: Recipe) -> Recipe:
    """With one party, and with as many draws of noise as T = 2 needs."""
    if recipe.parties is None:
        return recipe
    return replace(recipe, parties=1, noise={"x": recipe.noise["x"][:, : recipe.dimension]})
