"""The edge cases: inputs at which wrong code differs from correct code.

Most are in dyadic numbers, so that an iteration is exact and only the expected bits are accepted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tools.golden_vectors.grid import (
    KINDS,
    LOSSES,
    MPADMM_ALL,
    MPADMM_PRIMAL,
    SSADMM,
    Kind,
    base,
    bent,
    label_of,
    normalised,
    with_intercept,
)
from verification.vectors.recipe import Recipe
from verification.wire.arrays import Floats


def edges() -> Iterator[Recipe]:
    """Every unlucky case."""
    yield from thresholds()
    yield from margins()
    yield from rows()
    yield from clip_bounds()
    yield from parameters()
    yield from numbers()
    yield from structures()


def still(name: str, w: Sequence[float], kind: Kind = MPADMM_PRIMAL, regularizer: str = "l1") -> Recipe:
    """One iteration that moves nothing before the proximal map, which then meets exactly these arguments.

    No features and no noise, rho = eta = 1, x = z = w, y = 0: x+ = (z + x)/2 = w, without a rounding.
    """
    recipe = base(name, kind, regularizer=regularizer, n=2, p=len(w), T=1)
    point = np.array(w, dtype=np.float64)
    return replace(
        recipe,
        features=np.zeros_like(recipe.features),
        noise={key: np.zeros_like(rows) for key, rows in recipe.noise.items()},
        start={"x": point, "z": point, "y": np.zeros_like(point)},
        rho=1.0,
        eta=(1.0,),
        flags=("at-threshold",),
    )


def around(*corners: float) -> list[float]:
    """Each corner, the binary64 to either side of it, and all of that negated."""
    beside = [v for c in corners for v in (math.nextafter(c, -math.inf), c, math.nextafter(c, math.inf))]
    return [*beside, *(-v for v in beside)]


def thresholds() -> Iterator[Recipe]:
    """Arguments exactly at, just below and just above every corner of every proximal map."""
    for kind in KINDS:
        recipe = still(f"{label_of(kind)}-l1-at-threshold", around(0.5), kind)
        yield replace(recipe, lam=0.5, comment="|w| = lambda/rho and its neighbours: z is 0 or the least step beyond")
    recipe = still("l1-rho-at-threshold", around(2.0))
    yield replace(recipe, lam=8.0, rho=4.0, eta=(0.25,), comment="lambda/rho = 2, while lambda = 8 and lambda rho = 32")
    recipe = still("elastic-net-at-threshold", around(0.5), regularizer="elastic-net")
    yield replace(recipe, lam=1.0, l1_ratio=0.5, comment="|w| = lambda r/rho and its neighbours")
    corners = {"scad": (0.5, 1.0, 2.0), "mcp": (0.5, 2.0)}
    for regularizer, places in corners.items():
        recipe = still(f"{regularizer}-at-corners", around(*places), regularizer=regularizer)
        recipe = bent(replace(recipe, lam=0.5), 4.0)
        yield replace(recipe, flags=("at-threshold", "folded"), comment=f"corners at {places}, where branches meet")
        inside = [0.25, -0.25, 0.75, -0.75, 1.5, -1.5, 3.0, -3.0]
        recipe = still(f"{regularizer}-inside-regions", inside, regularizer=regularizer)
        recipe = bent(replace(recipe, lam=0.5), 4.0)
        yield replace(recipe, flags=("folded",), comment="well inside every region")
    recipe = still("group-l1-at-threshold", [0.375, 0.5, 0.0, 0.0, 0.75, 1.0, 0.25], regularizer="group-l1")
    yield replace(
        recipe,
        lam=0.625,
        groups=((0, 1), (2, 3), (5, 4)),
        flags=("at-threshold", "groups"),
        comment="one group of length exactly lambda/rho, one of zeros, one of twice that; coordinate 6 is free",
    )
    recipe = still("nuclear-at-threshold", [0.5, 0.0, 0.0, 2.0], regularizer="nuclear")
    yield replace(recipe, lam=0.5, shape=(2, 2), flags=("at-threshold", "matrix"), comment="a singular value at lambda")
    for regularizer in ("l1", "elastic-net", "group-l1", "nuclear", "scad", "mcp"):
        recipe = base(f"mpadmm-all-{regularizer}-lambda-zero", MPADMM_ALL, regularizer=regularizer)
        yield replace(
            recipe, lam=0.0, rho=1.0, flags=("threshold",), comment="no penalty: z is x + y/rho and its noise"
        )
        recipe = base(f"mpadmm-all-{regularizer}-lambda-large", MPADMM_ALL, regularizer=regularizer)
        yield replace(recipe, lam=50.0, rho=1.0, flags=("threshold",), comment="everything is below the threshold")


def one_margin(name: str, loss: str, margin: float, *, feature: float = 1.0) -> Recipe:
    """A record with this margin, and one of the other label with its opposite.

    The first coordinate makes the margin. The second starts at 0, so that x+ shows the slope there and nothing else.
    """
    recipe = base(name, SSADMM, loss, "none", n=2, p=2, T=1)
    return replace(
        recipe,
        features=np.array([[feature, 1.0], [feature, 1.0]]),
        labels=(1, -1),
        batch=1,
        batches=((0,),),
        noise={"gradient": np.zeros((1, 2))},
        start={"x": np.array([margin / feature, 0.0]), "z": np.zeros(2), "y": np.zeros(2)},
        rho=1.0,
        eta=(1.0,),
        clip=2.0,
    )


def margins() -> Iterator[Recipe]:
    """The corners of the huberized hinge, and margins at which careless sigmoids overflow or lose everything."""
    knees = [(f"{corner:g}", corner) for corner in (-3.0, 0.0, 0.5, 1.0, 1.5, 2.0)]
    knees += [(f"just-below-{corner:g}", math.nextafter(corner, 0)) for corner in (0.5, 1.5)]
    knees += [(f"just-above-{corner:g}", math.nextafter(corner, 9)) for corner in (0.5, 1.5)]
    for shown, margin in knees:
        recipe = one_margin(f"huber-margin-{shown}".replace("--", "-minus-").replace(".", "-"), "huber", margin)
        yield replace(recipe, flags=("huber-knees",), comment=f"the margin is {margin!r}; 1-h = 0.5, 1+h = 1.5")
    for margin in (0.0, 1e-9, -1e-9, 5.0, -5.0, 30.0, 36.75, -36.75, 40.0, 700.0, -700.0, 709.75, -709.75):
        yield _logistic(margin)
    for margin in (710.0, -710.0, 744.5, -744.5, 746.0, -746.0, 1e5, -1e5, -1e155, -1e308):
        yield _logistic(margin)
    for margin in (1e308, -1e308):
        name = f"huber-margin-{'minus-' if margin < 0 else ''}1e308"
        recipe = one_margin(name, "huber", margin, feature=2.0)
        yield replace(recipe, flags=("saturated", "huber-knees"), comment="the largest margins; no square may be taken")
    for kind in KINDS:
        for loss in LOSSES:
            yield _hardest_neighbours(kind, loss)
    for loss in LOSSES:
        recipe = base(f"{loss}-labels", SSADMM, loss, n=4, p=2, T=1)
        rows = np.array([[1.0, 0.25], [1.0, 0.25], [-1.0, -0.25], [-1.0, -0.25]])
        yield replace(
            recipe,
            features=rows,
            labels=(1, -1, 1, -1),
            batch=2,
            batches=((0, 1),),
            flags=("labels",),
            comment="one record under both labels: the gradients differ in more than sign unless x = 0",
        )


def _logistic(margin: float) -> Recipe:
    shown = f"{abs(margin):g}".replace("e-0", "e-minus-").replace(".", "-").replace("+", "")
    recipe = one_margin(f"logistic-margin-{'minus-' if margin < 0 else ''}{shown}", "logistic", margin)
    return replace(recipe, flags=("saturated",), comment=f"the margin is {margin!r}")


def _hardest_neighbours(kind: Kind, loss: str) -> Recipe:
    e = 2.0**-10
    recipe = base(f"{label_of(kind)}-{loss}-hardest-neighbours", kind, loss, n=4, p=2, T=3)
    features = np.tile(np.array([-e, -1.0]), (4, 1))
    features[0] = -e, 1.0
    far = np.array([2.0**17, 0.0])
    return replace(
        recipe,
        features=features,
        labels=(1,) * 4,
        start={"x": far, "z": far, "y": np.zeros(2)},
        lam=0.0,
        clip=2.0,
        flags=("saturated", "initial"),
        comment="margins of -128, where both sigmoids are 1 and one record's gradient opposes the others'",
    )


def rows() -> Iterator[Recipe]:
    """Rows of zeros, huge rows, tiny rows, and the intercept before normalising."""
    for kind in KINDS:
        for loss in LOSSES:
            recipe = base(f"{label_of(kind)}-{loss}-zero-row-normalised", kind, loss, n=2)
            features = recipe.features.copy()
            features[0] = 0.0
            recipe = normalised(replace(recipe, features=features), 1.0)
            yield replace(recipe, flags=("zero-row", "normalising"), comment="record 0 is all zeros and stays so")
        recipe = base(f"{label_of(kind)}-no-features", kind, n=2)
        features = np.zeros_like(recipe.features)
        yield replace(recipe, features=features, flags=("zero-row",), comment="the gradient is 0 whatever the model")
        recipe = base(f"{label_of(kind)}-intercept-before-normalising", kind, n=3, p=3)
        recipe = normalised(with_intercept(recipe), 1.0)
        yield replace(recipe, flags=("intercept", "normalising"), comment="ones in front, then rows to length 1")
    long = np.array([[3.0e200, 4.0e200], [3.0, 4.0], [1.0e-3, 1.0e-3], [-6.0e199, 8.0e199]])
    for loss in LOSSES:
        recipe = base(f"{loss}-huge-rows-clipped", MPADMM_PRIMAL, loss, n=4, p=2)
        recipe = replace(recipe, features=long, start=None, flags=("huge-row", "clipping"))
        yield replace(recipe, comment="lengths of 1e200 beside ordinary ones; squares overflow")
        recipe = base(f"{loss}-huge-rows-normalised", MPADMM_PRIMAL, loss, n=4, p=2)
        features = long * np.array([[1e100], [1.0], [1e4], [1.0]])
        recipe = replace(recipe, features=features, clip=None, normalise=1.0, flags=("huge-row", "normalising"))
        yield replace(recipe, comment="lengths of 1e300 beside ordinary ones")
        recipe = base(f"{loss}-tiny-rows", MPADMM_PRIMAL, loss, n=4, p=2)
        recipe = _quiet(recipe)
        features = recipe.features * 1e-170
        recipe = replace(recipe, features=features, clip=1e-170, flags=("tiny-row", "clipping"))
        yield replace(recipe, comment="squares of features underflow; clipping at 1e-170 must still find the length")
        recipe = base(f"{loss}-tiny-rows-normalised", MPADMM_PRIMAL, loss, n=4, p=2)
        recipe = _quiet(recipe)
        features = normalised(recipe, 1.0).features * 1e-170
        recipe = replace(recipe, features=features, clip=None, normalise=1e-171, flags=("tiny-row", "normalising"))
        yield replace(recipe, comment="squares of features underflow; rows are normalised to 1e-171")


def _quiet(recipe: Recipe) -> Recipe:
    """No start, noise or penalty beside which a tiny gradient would not show."""
    noise = {key: np.zeros_like(values) for key, values in recipe.noise.items()}
    return replace(recipe, start=None, noise=noise, lam=0.0)


def clip_bounds() -> Iterator[Recipe]:
    """Gradients of exactly the norm to which they are clipped, and bounds far from 1."""
    for shown, factor in (("at", 1.0), ("above", 1.0 + 2.0**-52), ("below", 1.0 - 2.0**-53)):
        recipe = one_margin(f"huber-gradient-{shown}-the-bound", "huber", -1.0, feature=4.0)
        features = np.array([[4.0, 0.0], [0.0, 4.0]])
        recipe = replace(recipe, features=features, clip=4.0 / factor, flags=("clipping", "at-threshold"))
        yield replace(recipe, comment="slope -1, length 4: the gradient's norm is at the bound, or a step off it")
    for loss in LOSSES:
        for bound in (1e-3, 0.5, 1e6):
            name = f"ssadmm-{loss}-clip-{bound:g}".replace(".", "-").replace("+", "")
            recipe = replace(base(name, SSADMM, loss), clip=bound, flags=("clipping", "scale"))
            yield replace(recipe, comment=f"each record's gradient to norm {bound:g}")
        recipe = base(f"mpadmm-{loss}-one-long-record", MPADMM_ALL, loss)
        features = recipe.features.copy()
        features[1] *= 1000.0
        yield replace(recipe, features=features, flags=("clipping",), comment="one record a thousand times longer")
        recipe = normalised(base(f"mpadmm-{loss}-normalised-to-three", MPADMM_ALL, loss), 3.0)
        yield replace(recipe, flags=("normalising", "scale"), comment="rows to length 3")


def parameters() -> Iterator[Recipe]:
    """Step sizes, penalties and strengths far from 1, and step sizes that change."""
    for kind in KINDS:
        name = label_of(kind)
        recipe = replace(base(f"{name}-large-steps", kind, T=3), eta=(64.0, 8.0, 512.0))
        yield replace(recipe, flags=("step-size", "step-index"), comment="eta far above 1: erratum E1 shows")
        recipe = replace(base(f"{name}-small-steps", kind, T=3), eta=(2.0**-10, 0.75, 1e-3))
        yield replace(recipe, flags=("step-size", "step-index"), comment="eta far below 1")
        recipe = replace(base(f"{name}-small-rho", kind), rho=2.0**-6)
        yield replace(recipe, flags=("threshold", "scale"), comment="lambda/rho = 12.8, lambda rho = 0.003")
        recipe = replace(base(f"{name}-large-rho", kind), rho=48.0, lam=6.0)
        yield replace(recipe, flags=("threshold", "scale"), comment="lambda/rho = 0.125, lambda rho = 288")
    for regularizer, bend in (("scad", 3.0), ("mcp", 2.0)):
        recipe = base(f"{regularizer}-close-to-the-jump", MPADMM_ALL, regularizer=regularizer)
        recipe = bent(replace(recipe, rho=0.5625, flags=("folded", "scale")), bend)
        yield replace(recipe, comment="1/rho = 1.78 against the limit of 2: the map stretches ninefold")


def numbers() -> Iterator[Recipe]:
    """Subnormal numbers, zeros of either sign, and values that need all their bits."""
    tiny = [5e-324, -5e-324, 3e-310, -1e-320, 2.0**-1022, -(2.0**-1022 - 2.0**-1074)]
    for kind in KINDS:
        recipe = still(f"{label_of(kind)}-subnormal", tiny, kind, "none")
        yield replace(recipe, flags=("subnormal",), comment="x+ is x, subnormal, without a rounding")
    recipe = still("l1-subnormal-threshold", [1e-310, -1e-310, 2.0**-1060, 3e-310], MPADMM_PRIMAL)
    yield replace(recipe, lam=1e-310, flags=("subnormal", "at-threshold"), comment="a subnormal threshold")
    recipe = base("ssadmm-subnormal-noise", SSADMM, regularizer="none", n=2, p=3, T=1)
    noise = {"gradient": np.array([[2.0**-1070, -(2.0**-1060), 3 * 2.0**-1072]])}
    recipe = replace(recipe, features=np.zeros_like(recipe.features), noise=noise, start=None, rho=1.0, eta=(1.0,))
    yield replace(recipe, flags=("subnormal",), comment="noise below the normal range arrives halved, not flushed")
    recipe = still("signed-zeros", [0.0, -0.0, 0.5, -0.5], MPADMM_ALL)
    yield replace(recipe, lam=0.5, flags=("at-threshold",), comment="zeros of either sign are one number")
    one = 1.0 + 2.0**-52
    recipe = still("last-bits", [one, -one, 1 / 3, math.pi, 2.0**53 - 1, 1e22], MPADMM_ALL, "none")
    yield replace(recipe, flags=("precision",), comment="numbers that single precision, or 16 digits, cannot hold")
    recipe = still("large-numbers", [1e300, -1e300, 1e150, 1.0], MPADMM_PRIMAL)
    yield replace(recipe, lam=0.5, flags=("scale",), comment="no product of two iterates may be formed")


def structures() -> Iterator[Recipe]:
    """Groups and matrices of every shape; the ends of the elastic net."""
    for rows_, columns in ((3, 2), (2, 3), (1, 6), (6, 1)):
        recipe = base(f"nuclear-{rows_}-by-{columns}", SSADMM, regularizer="nuclear", p=6)
        recipe = replace(recipe, shape=(rows_, columns), flags=("matrix",))
        yield replace(recipe, comment=f"z row by row as a {rows_} x {columns} matrix")
    degenerate: dict[str, Floats] = {
        "equal-singular-values": np.array([2.0, 0.0, 0.0, 2.0]),
        "rank-one": np.array([1.0, 2.0, 2.0, 4.0]),
        "zero-matrix": np.zeros(4),
    }
    for name, point in degenerate.items():
        recipe = still(f"nuclear-{name}", point.tolist(), regularizer="nuclear")
        yield replace(recipe, lam=0.75, flags=("matrix",), comment=f"{name.replace('-', ' ')}: vectors are not unique")
    layouts: dict[str, tuple[tuple[int, ...], ...]] = {
        "one-group": ((0, 1, 2, 3),),
        "singletons": ((0,), (1,), (2,), (3,)),
        "interleaved": ((3, 1), (0, 2)),
    }
    for name, groups in layouts.items():
        recipe = base(f"group-l1-{name}", MPADMM_ALL, "huber", "group-l1")
        yield replace(recipe, groups=groups, flags=("groups",), comment=f"groups {name.replace('-', ' ')}")
    for ratio in (0.0, 1.0):
        recipe = base(f"elastic-net-ratio-{ratio:g}", SSADMM, "huber", "elastic-net")
        yield replace(recipe, l1_ratio=ratio, flags=("elastic-net",), comment="all ridge" if ratio == 0 else "all L1")
