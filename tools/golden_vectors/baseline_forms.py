r"""The baselines in enclosures, in every form that a port may reasonably write them; see :mod:`.forms`.

The x step of objp and admm is a minimiser, which a port finds by a solver of its own: to a residual of at most
``RESIDUAL`` (docs/reference/protocol.md), so within RESIDUAL/(rho + ridge) of the exact one, because what is minimised
is (rho + ridge)-strongly convex. The minimiser itself moves by at most |change of y - rho z|/(rho + ridge).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from flint import arb, fmpz

from reference.arithmetic import Vector, digits
from reference.problem import State
from tools.golden_vectors.baseline_runs import ridge_of, solved_x
from tools.golden_vectors.enclosure import ONE, UNIT, ZERO, Real, hull, is_binary64, total
from tools.golden_vectors.exact import DIGITS, fraction_of, problem_in
from tools.golden_vectors.forms import Reals, gradient_terms, mean_gradient, new_x, new_y, new_z, prepared_rows, reals
from verification.vectors.recipe import POINT, Recipe, given

RESIDUAL = 1e-9
Rows = dict[str, list[Reals]]


def baseline_enclosures(recipe: Recipe) -> Rows:
    """The whole run in enclosures, by name; one list an iteration."""
    run = {"dpsgd": _dpsgd, "dpadmm": _dpadmm, "dpsvrg": _dpsvrg, "sadmm": _sadmm}.get(recipe.algorithm, _solved)
    return run(recipe, prepared_rows(recipe))


def _start(recipe: Recipe) -> tuple[Reals, Reals, Reals]:
    x, z, y = (reals(list(recipe.initial[name])) for name in POINT)
    return x, z, y


def _noise(recipe: Recipe, name: str) -> list[Reals]:
    return [reals(list(row)) for row in recipe.noise[name]]


def proximal(recipe: Recipe, w: Reals, eta: float) -> Reals:
    """The proximal map of weight 1/eta: with 1/eta itself, or with products by eta."""
    weight = ONE / Real.of(eta)
    return new_z(recipe, w, [ZERO] * len(w), weight if is_binary64(weight.ball) else weight.loose(2))


def stepped(x: Real, parts: Sequence[Real], eta: Real) -> Real:
    """x - eta (sum of the parts), summed first or multiplied first."""
    return hull(x - eta * total(parts), total([x, *(-(eta * part) for part in parts)]))


def _dpsgd(recipe: Recipe, rows: list[Reals]) -> Rows:
    x, _, _ = _start(recipe)
    out: Rows = {"gradient": [], "x": []}
    for eta, batch, gamma in zip(recipe.eta, given(recipe.batches), _noise(recipe, "gradient"), strict=True):
        g = mean_gradient(recipe, rows, x, batch)
        moved = [stepped(v, (a, b), Real.of(eta)) for v, a, b in zip(x, g, gamma, strict=True)]
        x = proximal(recipe, moved, eta)
        out["gradient"].append(g)
        out["x"].append(x)
    return out


def _sadmm(recipe: Recipe, rows: list[Reals]) -> Rows:
    (x, z, y), rho = _start(recipe), Real.of(recipe.rho)
    out: Rows = {"gradient": [], "x": [], "z": [], "y": []}
    for eta, batch in zip(recipe.eta, given(recipe.batches), strict=True):
        g = mean_gradient(recipe, rows, x, batch)
        x = [new_x(*four, rho=rho, eta=Real.of(eta)) for four in zip(g, x, z, y, strict=True)]
        z = new_z(recipe, x, y, rho)
        y = [new_y(*three, rho) for three in zip(y, x, z, strict=True)]
        for name, values in (("gradient", g), ("x", x), ("z", z), ("y", y)):
            out[name].append(values)
    return out


def _dpadmm(recipe: Recipe, rows: list[Reals]) -> Rows:
    count, p, rho = given(recipe.parties), recipe.dimension, Real.of(recipe.rho)
    start, z, dual = _start(recipe)
    blocks = [block.tolist() for block in np.array_split(np.arange(len(rows)), count)]
    x, y = [start] * count, [dual] * count
    out: Rows = {"gradient": [], "x": [], "z": [], "y": []}
    for eta, gamma in zip(recipe.eta, _noise(recipe, "x"), strict=True):
        g = [mean_gradient(recipe, rows, x[i], block) for i, block in enumerate(blocks)]
        for i in range(count):
            moved = [new_x(*four, rho=rho, eta=Real.of(eta)) for four in zip(g[i], x[i], z, y[i], strict=True)]
            x[i] = [v + more for v, more in zip(moved, gamma[i * p : (i + 1) * p], strict=True)]
        sizes = [len(block) for block in blocks]
        centre = [
            _centre([x[i][j] for i in range(count)], [y[i][j] for i in range(count)], sizes, rho) for j in range(p)
        ]
        z = new_z(recipe, centre, [ZERO] * p, rho)
        y = [[new_y(*three, rho) for three in zip(y[i], x[i], z, strict=True)] for i in range(count)]
        for name, values in (("gradient", g), ("x", x), ("y", y)):
            out[name].append([value for party in values for value in party])
        out["z"].append(z)
    return out


def _centre(x: Reals, y: Reals, sizes: Sequence[int], rho: Real) -> Real:
    """The mean of x_i + y_i/rho, weighted by the parties' records: weights before or after the sum, or none."""
    terms = [a + hull(b / rho, b * (ONE / rho)) for a, b in zip(x, y, strict=True)]
    records = Real.of(sum(sizes))
    counts = [Real.of(size) for size in sizes]
    weighted = total([term * size for term, size in zip(terms, counts, strict=True)])
    forms = [weighted / records, weighted * (ONE / records)]
    forms.append(total([term * (size / records) for term, size in zip(terms, counts, strict=True)]))
    forms.append(total([term * size / records for term, size in zip(terms, counts, strict=True)]))
    if len(set(sizes)) == 1:
        plain = total(terms)
        forms += [plain / Real.of(len(sizes)), plain * (ONE / Real.of(len(sizes)))]
    return hull(*forms)


def _dpsvrg(recipe: Recipe, rows: list[Reals]) -> Rows:
    inner, (x, _, _) = given(recipe.inner), _start(recipe)
    gammas, anchors, anchor, full = _noise(recipe, "gradient"), _noise(recipe, "anchor"), x, x
    out: Rows = {"gradient": [], "full_gradient": [], "x": []}
    for k, (eta, batch) in enumerate(zip(recipe.eta, given(recipe.batches), strict=True)):
        if k % inner == 0:
            anchor, noise = x, anchors[k // inner]
            full = [a + b for a, b in zip(mean_gradient(recipe, rows, anchor, None), noise, strict=True)]
        change = _change(recipe, rows, x, anchor, batch)
        parts = zip(x, change, full, gammas[k], strict=True)
        x = proximal(recipe, [stepped(v, (a, b, c), Real.of(eta)) for v, a, b, c in parts], eta)
        for name, values in (("gradient", change), ("full_gradient", full), ("x", x)):
            out[name].append(values)
    return out


def _change(recipe: Recipe, rows: list[Reals], x: Reals, anchor: Reals, batch: Sequence[int]) -> Reals:
    """How a batch's gradient changed: the difference of two means, or the mean of the records' differences."""
    if x is anchor:  # at the beginning of an epoch both are one point, and every order gives 0 exactly
        return [ZERO] * len(x)
    pairs = zip(mean_gradient(recipe, rows, x, batch), mean_gradient(recipe, rows, anchor, batch), strict=True)
    apart = [new - old for new, old in pairs]
    now, then = gradient_terms(recipe, rows, x, batch), gradient_terms(recipe, rows, anchor, batch)
    size = Real.of(len(batch))
    each = [total([*new, *(-term for term in old)], 1) / size for new, old in zip(now, then, strict=True)]
    return [hull(a, b, b.loose(2)) for a, b in zip(apart, each, strict=True)]


def _solved(recipe: Recipe, rows: list[Reals]) -> Rows:
    (x, z, y), rho, ridge = _start(recipe), Real.of(recipe.rho), ridge_of(recipe)
    tilts = list(recipe.noise["objective"] / len(rows)) if recipe.noise else [np.zeros(len(x))] * len(recipe.eta)
    out: Rows = {"x": [], "z": [], "y": []}
    for tilt in tilts:
        x = _minimiser(recipe, (x, z, y), np.asarray(tilt, dtype=np.float64), ridge)
        z = new_z(recipe, x, y, rho)
        y = [new_y(*three, rho) for three in zip(y, x, z, strict=True)]
        for name, values in (("x", x), ("z", z), ("y", y)):
            out[name].append(values)
    return out


def _minimiser(recipe: Recipe, old: tuple[Reals, Reals, Reals], tilt: Vector, ridge: float) -> Reals:
    """The minimiser at the middle of (y, z), and what the residual, the radii and rounding in the inputs can add."""
    x, z, y = old
    system = digits(DIGITS)
    context = system.context
    middle = State(*(np.array([_number(v.ball, context) for v in values], dtype=object) for values in (x, z, y)))
    solved = solved_x(recipe, problem_in(recipe, system), middle, system.array(tilt), ridge)
    moved, size = arb(0), arb(0)
    for a, b in zip(y, z, strict=True):
        moved += (a.ball.rad() + recipe.rho * b.ball.rad()) ** 2
        size += (abs(a.ball) + recipe.rho * abs(b.ball)) ** 2
    length = arb(0)
    for value in solved:
        length += _ball(value) ** 2
    # The ridge, b/n and normalised rows are rounded: a relative error of at most 64 u in each, and rows of length 1.
    rounding = 64 * UNIT * (size.sqrt() + (recipe.rho + ridge + 1) * length.sqrt() + float(np.linalg.norm(tilt)) + 1)
    radius = (RESIDUAL + moved.sqrt() + rounding) / (arb(recipe.rho) + arb(ridge))
    return [Real(_ball(value) + arb(0, 1) * radius) for value in solved]


def _number(ball: arb, context: object) -> object:
    from mpmath import MPContext  # noqa: PLC0415 - only for the type

    mantissa, exponent = (int(part) for part in ball.mid().man_exp())
    system = cast(MPContext, context)
    return system.ldexp(system.mpf(mantissa), exponent)


def _ball(value: object) -> arb:
    fraction = fraction_of(value)  # type: ignore[arg-type]  # numpy does not say what its objects are
    return arb(fmpz(fraction.numerator)) / arb(fmpz(fraction.denominator))
