r"""One iteration in enclosures, in every form that a port may reasonably write it.

Rounding depends on how a formula is written: (-g - y + rho z + x/eta)/(rho + 1/eta) and x + s(rho(z - x) - y - g) are
one number and two roundings. So each value is the hull over the forms listed here, and the tolerance holds for a port
that mixes them, sums in any order and fuses multiplications with additions. Deliberately not covered: 1 - sigmoid
(cancellation), exponentials or lengths that overflow, binary32, subnormals flushed to zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import arb

from tools.golden_vectors.enclosure import ONE, UNIT, ZERO, Decisions, Real, dot, forked, hull, norm, total
from verification.vectors.recipe import Recipe, given

Reals = list[Real]
_HUBER_H = Real.of(0.5)
_BEYOND_EXP = arb(709)


def reals(values: Sequence[float]) -> Reals:
    """Binary64 values, exactly."""
    return [Real.of(value) for value in values]


# -- records -----------------------------------------------------------------------------------------------------


def prepared_rows(recipe: Recipe) -> list[Reals]:
    """Label times features, after intercept and normalising."""
    rows = []
    for features, label in zip(recipe.features, recipe.labels, strict=True):
        row = reals([1.0, *features] if recipe.intercept else list(features))
        if recipe.normalise is not None:
            row = _normalised(row, Real.of(recipe.normalise))
        rows.append([value if label > 0 else -value for value in row])
    return rows


def _normalised(row: Reals, target: Real) -> Reals:
    """C s/||s||: in one pass, in two (as the reference, for rows of subnormals), or by a factor C/||s||."""
    length = norm(row)
    if length.is_zero:
        return row
    # A second pass measures and divides once more: twice the roundings of `norm`, and 4 of products and quotients.
    return [(target * (value / length)).loose(2 * len(row) + 8) for value in row]


# -- the gradient ------------------------------------------------------------------------------------------------


def slope(loss: str, margin: Real) -> Real:
    """phi'(v), at most 0."""
    if loss == "logistic":
        # 1/(1 + e^v) falls with v, so the ends of v give its own.
        return -hull(*(_sigmoid_of_minus(Real(end)) for end in (margin.ball.lower(), margin.ball.upper())))
    return -_cut(ONE + _HUBER_H - margin, ONE)  # 2h = 1: no division rounds


def _sigmoid_of_minus(margin: Real) -> Real:
    """1/(1 + e^v) at a single number: split at 0, or as it stands unless e^v overflows."""
    small = (-abs(margin)).exp()
    split = (small if margin.ball > 0 else ONE) / (ONE + small)
    return split if margin.ball > _BEYOND_EXP else hull(split, ONE / (ONE + margin.exp()))


def _cut(value: Real, most: Real) -> Real:
    """min(max(value, 0), most)."""
    return Real(value.positive_part().ball.min(most.ball))


def clipped(push: Real, length: Real, bound: Real, dimension: int) -> Real:
    """|slope| after clipping: by C/||s||, or by scaling the record's gradient vector by C over its own length."""

    def outcome(decide: Decisions) -> Real:
        if decide.greater(push * length, bound):
            return (bound / length).loose(2 * dimension + 6)
        return push

    return forked(outcome)


def gradient_terms(recipe: Recipe, rows: list[Reals], x: Reals, batch: Sequence[int] | None) -> list[Reals]:
    """For each coordinate, what every record of a batch (or of all records) adds to the sum of gradients."""
    chosen = rows if batch is None else [rows[index] for index in batch]
    pushes = []
    for row in chosen:
        push = -slope(recipe.loss, dot(row, x))
        length = norm(row)
        if recipe.clip is not None and not length.is_zero:
            push = clipped(push, length, Real.of(recipe.clip), len(row))
        pushes.append(push)
    columns = zip(*chosen, strict=True)
    return [[-(push * value) for push, value in zip(pushes, column, strict=True)] for column in columns]


def mean_gradient(recipe: Recipe, rows: list[Reals], x: Reals, batch: Sequence[int] | None) -> Reals:
    """The mean over a batch or over all records; divided at the end, or term by term."""
    return [_mean(terms) for terms in gradient_terms(recipe, rows, x, batch)]


def _mean(terms: Reals) -> Real:
    count = len(terms)
    at_the_end = total(terms, 1) / Real.of(count)
    each = total([term / Real.of(count) for term in terms], 1)
    return hull(at_the_end, each, total(terms, 1) * (ONE / Real.of(count)))


# -- the updates -------------------------------------------------------------------------------------------------


def new_x(g: Real, x: Real, z: Real, y: Real, *, rho: Real, eta: Real) -> Real:
    """(-g - y + rho z + x/eta)/(rho + 1/eta), over the denominator or times its inverse; or as a step from x."""
    sum_ = total([-g, -y, rho * z, x / eta])
    weight = rho + ONE / eta
    step = eta / (ONE + eta * rho)
    moved = total([x, step * total([rho * (z - x), -y, -g])])
    scaled = total([x, eta * total([rho * z, -y, -g])]) / (ONE + eta * rho)
    return hull(sum_ / weight, sum_ * (ONE / weight), moved, scaled)


def new_y(y: Real, x: Real, z: Real, rho: Real) -> Real:
    """y + rho (x - z)."""
    return y + rho * (x - z)


def new_z(recipe: Recipe, x: Reals, y: Reals, rho: Real) -> Reals:
    """The proximal map at x + y/rho."""
    w = [a + hull(b / rho, b * (ONE / rho)) for a, b in zip(x, y, strict=True)]
    match recipe.regularizer:
        case "none":
            return w
        case "group-l1":
            return _group_l1(recipe, w, rho)
        case "nuclear":
            return _nuclear(recipe, w)
        case name:
            coordinate = _COORDINATE[name](recipe, rho)
            return [coordinate(value) for value in w]


def soft(w: Real, t: Real) -> Real:
    """S_t(w)."""
    return (w - t).positive_part() - (-w - t).positive_part()


def _l1(recipe: Recipe, rho: Real) -> Callable[[Real], Real]:
    t = Real.of(recipe.lam) / rho
    return lambda w: soft(w, t)


def _elastic_net(recipe: Recipe, rho: Real) -> Callable[[Real], Real]:
    lam, r = Real.of(recipe.lam), Real.of(given(recipe.l1_ratio))
    t = hull(lam * r / rho, lam / rho * r, lam * (r / rho))
    rest = ONE - r
    shrunk = ONE + hull(lam * rest / rho, lam / rho * rest, lam * (rest / rho))
    return lambda w: hull(soft(w, t) / shrunk, soft(w, t) * (ONE / shrunk))


def _scad(recipe: Recipe, rho: Real) -> Callable[[Real], Real]:
    lam, a = Real.of(recipe.lam), Real.of(given(recipe.a))
    tau, less = ONE / rho, a - ONE
    t = hull(lam / rho, lam * tau)
    corner = hull(lam * (ONE + tau), lam + t)
    shift = hull(a * lam * tau, a * t, a * lam / rho)
    slack = hull(less - tau, a - (ONE + tau))

    def outcome(w: Real, decide: Decisions) -> Real:
        if decide.greater(abs(w), a * lam):
            return w
        if not decide.greater(abs(w), corner):
            return soft(w, t)
        sign = ONE if decide.greater(w, ZERO) else -ONE
        return hull((less * w - sign * shift) / slack, (less * w - sign * shift) * (ONE / slack))

    return lambda w: forked(lambda decide: outcome(w, decide))


def _mcp(recipe: Recipe, rho: Real) -> Callable[[Real], Real]:
    lam, gamma = Real.of(recipe.lam), Real.of(given(recipe.gamma))
    tau = ONE / rho
    t = hull(lam / rho, lam * tau)
    left = hull(ONE - tau / gamma, ONE - ONE / (rho * gamma))

    def outcome(w: Real, decide: Decisions) -> Real:
        if decide.greater(abs(w), gamma * lam):
            return w
        s = soft(w, t)
        return hull(s / left, s * (ONE / left), gamma * s / (gamma - tau), s * (gamma / (gamma - tau)))

    return lambda w: forked(lambda decide: outcome(w, decide))


_COORDINATE = {"l1": _l1, "elastic-net": _elastic_net, "scad": _scad, "mcp": _mcp}


def _group_l1(recipe: Recipe, w: Reals, rho: Real) -> Reals:
    t, z = Real.of(recipe.lam) / rho, list(w)
    for group in given(recipe.groups):
        length = norm([w[index] for index in group])
        for index in group:
            z[index] = forked(_kept(w[index], length, t))
    return z


def _kept(w: Real, length: Real, t: Real) -> Callable[[Decisions], Real]:
    def outcome(decide: Decisions) -> Real:
        if not decide.greater(length, t):
            return ZERO
        factors = (ONE - t / length).positive_part(), ((length - t) / length).positive_part()
        return w * hull(*factors)

    return outcome


_SVD_ACCURACY = 32  # times max(rows, columns) u: a backward stable decomposition does far better


def _nuclear(recipe: Recipe, w: Reals) -> Reals:
    r"""The exact map at the middle of w, plus what the map can make of w's radius and of a decomposition's error.

    The map is nonexpansive in the Frobenius norm, and a backward stable decomposition is the exact one of a matrix
    within p(rows, columns) u ||w|| of w (LAPACK Users' Guide, section 4.9). *Stated, not proved:* the factor p.
    """
    from tools.golden_vectors.exact import proximal_point  # noqa: PLC0415 - exact imports nothing from here

    rows, columns = given(recipe.shape)
    middle = [Real(value.ball.mid()) for value in w]
    radius, length = arb(0), arb(0)
    for value in w:
        radius += value.ball.rad() ** 2
        length += value.ball.abs_upper() ** 2
    error = radius.sqrt() + _SVD_ACCURACY * max(rows, columns) * UNIT * length.sqrt()
    return [Real(value + arb(0, 1) * error) for value in proximal_point(recipe, [value.ball for value in middle])]


# -- whole runs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Enclosures:
    """Every intermediate value of a run: one list an iteration."""

    gradient: list[Reals]
    x: list[Reals]
    z: list[Reals]
    y: list[Reals]


def enclosures(recipe: Recipe) -> Enclosures:
    """The whole run in enclosures."""
    rows, rho = prepared_rows(recipe), Real.of(recipe.rho)
    noise = {name: [reals(row) for row in values] for name, values in recipe.noise.items()}
    x, z, y = (reals(list(recipe.initial[name])) for name in ("x", "z", "y"))
    out = Enclosures([], [], [], [])
    for k, eta in enumerate(recipe.eta):
        g = mean_gradient(recipe, rows, x, None if recipe.batches is None else recipe.batches[k])
        noisy = _plus(g, noise["gradient"][k]) if "gradient" in noise else g
        x = [new_x(*four, rho=rho, eta=Real.of(eta)) for four in zip(noisy, x, z, y, strict=True)]
        if recipe.release == "primal":
            x = _plus(x, noise["x"][k])
        z = new_z(recipe, x, y, rho)
        y = [new_y(*three, rho) for three in zip(y, x, z, strict=True)]
        if recipe.release == "all":
            x, z, y = (_plus(v, noise[name][k]) for name, v in (("x", x), ("z", z), ("y", y)))
        for history, values in zip((out.gradient, out.x, out.z, out.y), (g, x, z, y), strict=True):
            history.append(values)
    return out


def _plus(values: Reals, added: Reals) -> Reals:
    return [value + more for value, more in zip(values, added, strict=True)]
