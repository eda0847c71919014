"""Rounding to a grid before exact discrete noise is added."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from reference.arithmetic import Vector
from reference.arithmetic.elementwise import elementwise
from reference.errors import InvalidParameter, NotExpressible

EXACT_MULTIPLES = 2.0**52  # two integers below it have a sum that binary64 holds exactly


def on_grid(value: Vector, grid: float | None) -> Vector:
    r"""The nearest multiples of the grid; the value itself where there is none.

    Discrete Gaussian noise hides integers, so the value must lie on the noise's own grid. Each coordinate moves by
    at most grid/2, hence neighbours move apart by at most grid * sqrt(p) more: the sensitivity to account for is
    Delta + grid sqrt(p) (statement GRID).

    Halves go to even multiples. Refuses a value so large that its sum with the noise would be rounded: the release
    would not be exact. Rationals are rounded exactly, as Coq's definition is.
    """
    if grid is None:
        return value
    if value.dtype != np.float64:
        if all(isinstance(entry, Fraction) for entry in value.flat):
            return elementwise(lambda entry: round(entry / Fraction(grid)) * Fraction(grid), value)
        raise NotExpressible("rounding to a grid is for binary64 and rationals: other number systems have no rounding")
    multiples = np.rint(value / grid)
    require_exact_multiples(multiples, grid)
    return multiples * grid


def require_exact_multiples(multiples: Vector, grid: float) -> None:
    """Refuse multiples of the grid of which two could not be added exactly in binary64; NaN as well."""
    if not (np.absolute(multiples) < EXACT_MULTIPLES).all():
        raise InvalidParameter(f"grid is too fine for values this large to be added exactly, got grid={grid}")
