"""Expected values: the exact result from 60 digits, and the accepted range from enclosures."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb, ctx

from tools.golden_vectors.baseline_forms import baseline_enclosures
from tools.golden_vectors.baseline_runs import SOLVING, baseline_trace
from tools.golden_vectors.enclosure import Real
from tools.golden_vectors.exact import NAMES, Exact, agreed_values, dyadic, exact_values
from tools.golden_vectors.forms import enclosures
from verification.errors import BadVectors
from verification.vectors import model
from verification.vectors.baseline_model import ALGORITHMS, BaselineExpected
from verification.vectors.recipe import Recipe

# Beyond 53 bits, so that the widths come from binary64's roundings and not from this program's own.
WORKING_BITS = 160
# Wider tolerances are given by their ends: near 0 a count of steps says nothing.
MOST_STEPS = 4096
_DUST = arb(2) ** -1200


def expected(recipe: Recipe) -> model.Expected:
    """The expected values of a case that must succeed."""
    if recipe.algorithm in ALGORITHMS:
        return _of_baseline(recipe)
    exact = exact_values(recipe)
    with ctx.workprec(WORKING_BITS):
        enclosed = enclosures(recipe)
        columns = {
            name: [
                [_value(recipe, *pair) for pair in zip(*rows, strict=True)]
                for rows in zip(exact[name], getattr(enclosed, name), strict=True)
            ]
            for name in NAMES
        }
    return model.Expected(tolerance="stated" if recipe.regularizer == "nuclear" else "proved", **columns)


def _of_baseline(recipe: Recipe) -> BaselineExpected:
    exact = agreed_values(recipe, baseline_trace)
    with ctx.workprec(WORKING_BITS):
        enclosed = baseline_enclosures(recipe)
        columns = {
            name: [
                [_value(recipe, *pair) for pair in zip(*rows, strict=True)]
                for rows in zip(exact[name], enclosed[name], strict=True)
            ]
            for name in exact
        }
    absent: dict[str, list[list[model.Value]]] = {name: [] for name in NAMES}
    return BaselineExpected(tolerance="stated" if recipe.algorithm in SOLVING else "proved", **(absent | columns))


def _value(recipe: Recipe, exact: Exact, enclosure: Real) -> model.Value:
    low, high = ends(enclosure.ball, recipe)
    if not low <= exact.value <= high:
        raise BadVectors(f"case {recipe.id}: the exact value {exact.shown} is outside its enclosure {enclosure.ball}")
    # Of the decimal, not of the rational: half-way between two binary64 the last digit shown decides for every reader.
    nearest = float(exact.shown) + 0.0  # -0.0 becomes 0.0
    bottom, top = _least_above(low, nearest), _largest_below(high, nearest)
    bits, here = model.bits_of(nearest), model.place(nearest)
    steps = max(model.place(top) - here, here - model.place(bottom))
    if steps == 0:
        return model.Value(exact=exact.shown, bits=bits, kind="bits")
    if steps <= MOST_STEPS:
        return model.Value(exact=exact.shown, bits=bits, kind="ulp", ulp=steps)
    return model.Value(exact=exact.shown, bits=bits, kind="enclosure", low=model.number(bottom), high=model.number(top))


def ends(ball: arb, recipe: Recipe) -> tuple[Fraction, Fraction]:
    """The ends of an enclosure as rationals, rounded outward; refuses one that is not finite in binary64."""
    if not ball.is_finite() or not ball.abs_upper() < arb(2) ** 1024:
        raise BadVectors(f"case {recipe.id}: an enclosure is not finite; choose tamer inputs")
    if ball.is_exact() and ball.abs_lower() < _DUST and not ball.is_zero():
        raise BadVectors(f"case {recipe.id}: {ball} is no binary64, and yet exact")
    # An end may have an exponent of any size; far below the least subnormal nothing is lost by moving it outward.
    wide = ball if ball.is_exact() else ball + arb(0, _DUST)
    low, high = (tuple(int(part) for part in end.man_exp()) for end in (wide.lower(), wide.upper()))
    return dyadic(*low), dyadic(*high)


def _least_above(low: Fraction, nearest: float) -> float:
    """The least binary64 that is at least this, and no greater than the nearest to the exact value."""
    candidate = float(low)
    if Fraction(candidate) < low:
        candidate = math.nextafter(candidate, math.inf)
    return min(candidate, nearest)


def _largest_below(high: Fraction, nearest: float) -> float:
    candidate = float(high)
    if Fraction(candidate) > high:
        candidate = math.nextafter(candidate, -math.inf)
    return max(candidate, nearest)
