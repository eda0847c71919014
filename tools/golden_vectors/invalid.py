"""The cases that must be refused, with the kinds of refusal that the protocol admits for each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from tools.golden_vectors.grid import MPADMM_ALL, MPADMM_PRIMAL, base, bent
from verification.vectors.model import RefusalEntry
from verification.vectors.recipe import POINT, Recipe

RefusalKind = Literal["invalid-data", "invalid-parameters"]
DATA: tuple[RefusalKind, ...] = ("invalid-data",)
PARAMETERS: tuple[RefusalKind, ...] = ("invalid-parameters",)
# Where records and request disagree, the protocol does not say which of them is wrong.
EITHER: tuple[RefusalKind, ...] = ("invalid-data", "invalid-parameters")


def invalid() -> Iterator[Recipe]:
    """Every case without a result."""
    yield from _data()
    yield from _scalars()
    yield from _batches()
    yield from _options()
    yield from _jumps()
    yield from _arrays()
    yield from _overflows()


def _refused(recipe: Recipe, kinds: tuple[RefusalKind, ...], about: str, flag: str = "refused") -> Recipe:
    error = RefusalEntry(kinds=list(kinds), about=about)
    return replace(recipe, id=f"invalid-{recipe.id}", comment=about, flags=(flag,), error=error)


def _data() -> Iterator[Recipe]:
    for name, value in (("nan", math.nan), ("infinite", math.inf), ("minus-infinite", -math.inf)):
        recipe = base(f"feature-{name}")
        features = recipe.features.copy()
        features[2, 1] = value
        yield _refused(replace(recipe, features=features), DATA, f"a feature is {value}", "non-finite")
    for label in (0, 2):
        recipe = base(f"label-{label}")
        yield _refused(replace(recipe, labels=(label, *recipe.labels[1:])), EITHER, f"a label is {label}")
    recipe = base("labels-too-few")
    yield _refused(replace(recipe, labels=recipe.labels[1:]), EITHER, "a record has no label")
    recipe = base("labels-too-many")
    yield _refused(replace(recipe, labels=(1, *recipe.labels)), EITHER, "a label has no record")
    recipe = base("records-none", MPADMM_ALL)
    yield _refused(replace(recipe, features=np.zeros((0, 4)), labels=()), EITHER, "there are no records")


def _scalars() -> Iterator[Recipe]:
    for name, value in (("zero", 0.0), ("negative", -1.0)):
        yield _refused(replace(base(f"rho-{name}"), rho=value), PARAMETERS, f"rho is {value}, must be > 0")
        yield _refused(replace(base(f"eta-{name}"), eta=(1.7, value)), PARAMETERS, f"a step is {value}, must be > 0")
        yield _refused(replace(base(f"clip-{name}"), clip=value), PARAMETERS, f"clip is {value}, must be > 0")
        recipe = replace(base(f"normalise-{name}"), clip=None, normalise=value)
        yield _refused(recipe, PARAMETERS, f"normalise is {value}, must be > 0")
    yield _refused(replace(base("lambda-negative"), lam=-0.5), PARAMETERS, "lambda is -0.5, must be >= 0")
    yield _refused(replace(base("sigma-negative"), sigma=-0.5), PARAMETERS, "sigma is -0.5, must be >= 0")
    recipe = replace(base("clip-and-normalise"), normalise=1.0)
    yield _refused(recipe, PARAMETERS, "clip and normalise together: which one bounds the gradient?")
    yield _refused(replace(base("bound-none"), clip=None), PARAMETERS, "neither clip nor normalise: no bound at all")


def _batches() -> Iterator[Recipe]:
    recipe = replace(base("batch-larger-than-data"), batch=5, batches=((0, 1, 2, 3, 4),) * 2)
    yield _refused(recipe, EITHER, "m = 5 of n = 4 records")
    bad: tuple[tuple[str, tuple[tuple[int, ...], ...], str], ...] = (
        ("beyond", ((0, 1), (2, 4)), "a batch names record 4 of 0..3"),
        ("negative", ((0, 1), (2, -1)), "a batch names record -1"),
        ("repeats", ((0, 1), (2, 2)), "a batch holds record 2 twice: not without replacement"),
        ("short", ((0, 1), (2,)), "a batch has 1 member, m is 2"),
        ("long", ((0, 1), (2, 3, 0)), "a batch has 3 members, m is 2"),
        ("missing", ((0, 1),), "one batch for two iterations"),
    )
    for name, batches, about in bad:
        kinds = EITHER if name in {"beyond", "negative"} else PARAMETERS
        yield _refused(replace(base(f"batch-{name}"), batches=batches), kinds, about)
    yield _refused(replace(base("batch-empty"), batch=0, batches=((), ())), PARAMETERS, "m = 0: a mean over nothing")


def _options() -> Iterator[Recipe]:
    for name, value in (("negative", -0.1), ("above-one", 1.1)):
        recipe = replace(base(f"ratio-{name}", regularizer="elastic-net"), l1_ratio=value)
        yield _refused(recipe, PARAMETERS, f"l1_ratio is {value}, must lie in [0, 1]")
    bad: tuple[tuple[str, tuple[tuple[int, ...], ...], str], ...] = (
        ("overlap", ((0, 1), (1, 2)), "coordinate 1 is in two groups"),
        ("negative", ((0, -1),), "a group names coordinate -1"),
        ("beyond", ((0, 4),), "a group names coordinate 4 of 0..3"),
        ("empty", ((0, 1), ()), "a group is empty"),
    )
    for name, groups, about in bad:
        yield _refused(replace(base(f"groups-{name}", regularizer="group-l1"), groups=groups), PARAMETERS, about)
    recipe = replace(base("shape-mismatch", regularizer="nuclear"), shape=(3, 2))
    yield _refused(recipe, PARAMETERS, "a 3 x 2 matrix has 6 entries, the model 4")
    for regularizer in ("elastic-net", "group-l1", "nuclear", "scad", "mcp"):
        recipe = base(f"option-missing-{regularizer}", regularizer=regularizer)
        recipe = replace(recipe, l1_ratio=None, groups=None, shape=None, a=None, gamma=None)
        yield _refused(recipe, PARAMETERS, f"{regularizer} without its option: whose default would it be?")


def _jumps() -> Iterator[Recipe]:
    cases = (
        ("scad", "two", 2.0, 4.0, "a must be > 2"),
        ("scad", "below", 3.7, 0.25, "a = 3.7, but 1 + 1/rho = 5"),
        ("scad", "exactly", 3.0, 0.5, "a = 3 = 1 + 1/rho"),
        ("mcp", "one", 1.0, 4.0, "gamma must be > 1"),
        ("mcp", "below", 3.0, 0.25, "gamma = 3, but 1/rho = 4"),
        ("mcp", "exactly", 4.0, 0.25, "gamma = 4 = 1/rho"),
    )
    for regularizer, name, bend, rho, about in cases:
        recipe = base(f"{regularizer}-{name}", MPADMM_ALL, regularizer=regularizer)
        recipe = bent(replace(recipe, rho=rho), bend)
        yield _refused(recipe, PARAMETERS, about, "jump")


def _arrays() -> Iterator[Recipe]:
    for key in POINT:
        recipe = base(f"initial-{key}-short", MPADMM_ALL)
        start = {**recipe.initial, key: recipe.initial[key][1:]}
        yield _refused(replace(recipe, start=start), PARAMETERS, f"initial {key} has 3 entries, the model 4")
        recipe = base(f"initial-{key}-nan", MPADMM_ALL)
        start = {**recipe.initial, key: np.array([0.0, math.nan, 0.0, 0.0])}
        yield _refused(replace(recipe, start=start), PARAMETERS, f"initial {key} holds NaN", "non-finite")
    for name, rows, columns in (("short", 1, 4), ("narrow", 2, 3), ("wide", 2, 5)):
        recipe = replace(base(f"noise-{name}"), noise={"gradient": np.zeros((rows, columns))})
        yield _refused(recipe, PARAMETERS, f"noise of shape [{rows}, {columns}], must be [2, 4]")
    recipe = base("noise-nan", MPADMM_PRIMAL)
    noise = {"x": np.where(np.arange(8).reshape(2, 4) == 5, math.nan, 0.0)}
    yield _refused(replace(recipe, noise=noise), PARAMETERS, "noise holds NaN", "non-finite")
    recipe = base("noise-missing", MPADMM_ALL)
    noise = {name: rows for name, rows in recipe.noise.items() if name != "y"}
    yield _refused(replace(recipe, noise=noise), PARAMETERS, "release all without noise for y: y would leave bare")
    recipe = replace(base("intercept-dimension"), intercept=True)
    yield _refused(recipe, PARAMETERS, "with the intercept the model has 5 entries, noise and start have 4")


def _overflows() -> Iterator[Recipe]:
    recipe = base("row-too-long", MPADMM_PRIMAL, n=2, p=2)
    features = np.array([[1.5e308, 1.5e308], [1.0, 1.0]])
    recipe = replace(recipe, features=features, start=None)
    yield _refused(recipe, EITHER, "a record's length overflows: it cannot be bounded", "non-finite")
    recipe = base("iterate-overflows", MPADMM_ALL, regularizer="none", p=2)
    noise = {key: np.full((2, 2), 1.5e308) for key in POINT}
    yield _refused(replace(recipe, noise=noise), EITHER, "the second iterate overflows", "non-finite")
