r"""The reference's own algorithms in 60 digits: the expected values.

Where a result cancels, some of the 60 digits are lost, and where it cancels completely (y after an
iteration without a regularizer is 0) all are. So each case runs in 60 and in 180 digits: digits on which both agree are
shown, a value that shrinks with the precision is 0; where that leaves doubt, in 180 and 540.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np
from flint import arb, fmpz

from reference.arithmetic import NumberSystem, Vector, digits
from reference.dataset import Dataset
from reference.losses import LOSSES
from reference.mpadmm import ModelNoise, Release, mpadmm
from reference.problem import Problem, State
from reference.ssadmm import ssadmm
from verification.errors import BadVectors
from verification.vectors.recipe import Recipe, given

if TYPE_CHECKING:
    from mpmath import MPContext, mpf

DIGITS, MORE_DIGITS, SHOWN_DIGITS = 60, 180, 40
NAMES = ("gradient", "x", "z", "y")
_INVISIBLE = -2200  # binary exponent: far below any binary64, and a fraction of so many bits would be large


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Every intermediate value of a run: one array per iteration."""

    gradient: list[Vector]
    x: list[Vector]
    z: list[Vector]
    y: list[Vector]


def problem_in(recipe: Recipe, system: NumberSystem) -> Problem:
    """Intercept, then normalising, then the problem: every operation in the given number system."""
    data = Dataset.of(recipe.features, recipe.labels)
    if recipe.intercept:
        data = data.with_intercept()
    problem = Problem.of(data, LOSSES[recipe.loss], recipe.regularizer_object(), rho=recipe.rho, clip=recipe.clip)
    there = problem.in_system(system)
    if recipe.normalise is None:
        return there
    lengths = system.norm(there.signed)
    # A row of zeros stays as it is; 1 stands in for its length.
    lengths = system.where(system.greater(lengths, 0.0), lengths, 1.0)
    rows = there.signed / lengths[:, None] * system.scalar(recipe.normalise)
    return Problem(rows, there.loss, there.regularizer, there.rho, there.clip, there.norms)


def trace(recipe: Recipe, system: NumberSystem) -> Trace:
    """Run the reference's own algorithm in a number system."""
    problem = problem_in(recipe, system)
    previous = State(*(system.array(recipe.initial[name]) for name in ("x", "z", "y")))
    result = Trace([], [], [], [])
    for k, state in enumerate(_states(recipe, problem, previous, system)):
        batch = None if recipe.batches is None else np.array(recipe.batches[k])
        result.gradient.append(problem.gradient(previous.x, batch))
        result.x.append(state.x)
        result.z.append(state.z)
        result.y.append(state.y)
        previous = state
    return result


def _states(recipe: Recipe, problem: Problem, initial: State, system: NumberSystem) -> Iterator[State]:
    noise = {name: [system.array(row) for row in rows] for name, rows in recipe.noise.items()}
    if recipe.algorithm == "ssadmm":
        batches = [np.array(batch) for batch in given(recipe.batches)]
        return ssadmm(problem, initial, step_sizes=recipe.eta, batches=batches, noise=noise["gradient"])
    gammas = [ModelNoise(**{name: rows[k] for name, rows in noise.items()}) for k in range(len(recipe.eta))]
    return mpadmm(problem, initial, step_sizes=recipe.eta, noise=gammas, release=Release(recipe.release))


@dataclass(frozen=True, slots=True)
class Exact:
    """One expected value: 40 digits of it, and a rational that is nearer to it than they are."""

    shown: str
    value: Fraction


def exact_values(recipe: Recipe) -> dict[str, list[list[Exact]]]:
    """Every intermediate value, by name, iteration and coordinate."""

    def values(recipe: Recipe, system: NumberSystem) -> dict[str, list[Vector]]:
        found = trace(recipe, system)
        return {name: getattr(found, name) for name in NAMES}

    return agreed_values(recipe, values)


Traced = Callable[[Recipe, NumberSystem], dict[str, list[Vector]]]


def agreed_values(recipe: Recipe, traced: Traced) -> dict[str, list[list[Exact]]]:
    """What a run gives in so many digits that the shown ones are certain."""
    for count in (DIGITS, MORE_DIGITS):
        few, many = digits(count), digits(3 * count)
        runs = traced(recipe, few), traced(recipe, many)
        largest = 1 + max(abs(value) for rows in runs[1].values() for row in rows for value in row)
        negligible = largest * many.context.mpf(10) ** (10 - 3 * count)
        values = {
            name: [
                [_agreed(a, b, negligible, many.context) for a, b in zip(*rows, strict=True)]
                for rows in zip(*(run[name] for run in runs), strict=True)
            ]
            for name in runs[0]
        }
        known = {name: [[v for v in row if v is not None] for row in rows] for name, rows in values.items()}
        if known == values:
            return known
    raise BadVectors(f"case {recipe.id}: {MORE_DIGITS} digits are lost to cancellation; choose tamer inputs")


def _agreed(few: mpf, many: mpf, negligible: mpf, context: MPContext) -> Exact | None:
    """The digits on which both precisions agree; None if there are too few."""
    few = context.mpf(few)
    if abs(few - many) <= abs(many) * context.mpf(10) ** -(SHOWN_DIGITS + 1):
        return Exact(str(context.nstr(many, SHOWN_DIGITS)) if many != 0 else "0", fraction_of(many))
    return Exact("0", Fraction(0)) if abs(many) <= negligible else None


def fraction_of(number: mpf) -> Fraction:
    """The value of an mpmath number; one far below every binary64 as a stand-in of its sign."""
    sign, mantissa, exponent, bits = number._mpf_
    signed = -int(mantissa) if sign else int(mantissa)
    if mantissa and exponent + bits < _INVISIBLE:
        return dyadic(-1 if sign else 1, _INVISIBLE)
    return dyadic(signed, exponent)


def dyadic(mantissa: int, exponent: int) -> Fraction:
    """The mantissa times 2^exponent."""
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


def proximal_point(recipe: Recipe, w: Sequence[arb]) -> list[arb]:
    """The reference's proximal map in 60 digits at exact arguments."""
    system = digits(DIGITS)
    context = system.context
    parts = [tuple(int(part) for part in value.man_exp()) for value in w]
    point = np.array([context.ldexp(context.mpf(mantissa), exponent) for mantissa, exponent in parts], dtype=object)
    z = recipe.regularizer_object().prox(cast(Vector, point), system.scalar(recipe.rho))
    fractions = [fraction_of(value) for value in cast("list[mpf]", z.tolist())]
    return [arb(fmpz(f.numerator)) / arb(fmpz(f.denominator)) for f in fractions]
