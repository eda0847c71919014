r"""The number systems on which the same source runs.

``updates.py``, ``regularizers.py`` and ``losses.py`` are written once, with operators and the few functions of
:class:`NumberSystem`. Arrays carry their number system in their elements, so the same line of code runs on

1. float64 arrays: the reference itself (:mod:`reference.arithmetic.float64`);
2. mpmath numbers of any precision: the golden vectors (:mod:`reference.arithmetic.in_digits`);
3. balls that enclose the exact value *and* every binary64 evaluation of it
   (:mod:`reference.arithmetic.in_balls`): the tolerance of each golden value;
4. z3 terms: the lemmas are proved about the shipped functions (:mod:`reference.arithmetic.in_symbols`);
5. rationals: compared for equality with the Coq definitions (:mod:`reference.arithmetic.in_fractions`).

All but the first are imported only when they are asked for: the reference itself needs numpy alone. Their files do not
bear the names of the functions below, which importing a file of that name would overwrite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reference.arithmetic.float64 import FLOAT64
from reference.arithmetic.system import Indices, Mask, Matrix, NumberSystem, Scalar, Vector
from reference.errors import NotExpressible

if TYPE_CHECKING:
    from reference.arithmetic.in_digits import Digits

__all__ = [
    "FLOAT64",
    "Indices",
    "Mask",
    "Matrix",
    "NumberSystem",
    "Scalar",
    "Vector",
    "balls",
    "digits",
    "fractions",
    "number_system",
    "symbols",
]


def number_system(a: Vector) -> NumberSystem:
    """Return the system that the elements of an array belong to."""
    if a.dtype == np.float64:
        return FLOAT64
    if a.dtype != np.object_ or not a.size:
        raise NotExpressible(f"arrays hold float64 or number objects, got dtype={a.dtype}, size={a.size}")
    return _system_of_object(a.flat[0])


def _system_of_object(element: object) -> NumberSystem:
    module = type(element).__module__
    if module.startswith("z3") or module == "reference.arithmetic.in_symbols":
        from reference.arithmetic.in_symbols import SYMBOLS  # noqa: PLC0415 - z3 only where it is asked for

        return SYMBOLS
    if module == "reference.arithmetic.in_balls":
        from reference.arithmetic.in_balls import BALLS  # noqa: PLC0415 - python-flint only where it is asked for

        return BALLS
    if module == "fractions":
        return fractions()
    from reference.arithmetic.in_digits import Digits  # noqa: PLC0415 - mpmath only where it is asked for

    return Digits.of(element)


def digits(count: int) -> Digits:
    """The number system of ``count`` decimal digits."""
    from reference.arithmetic.in_digits import Digits  # noqa: PLC0415 - mpmath only where it is asked for

    return Digits.with_digits(count)


def balls() -> NumberSystem:
    """The number system of enclosures."""
    from reference.arithmetic.in_balls import BALLS  # noqa: PLC0415 - python-flint only where it is asked for

    return BALLS


def fractions() -> NumberSystem:
    """The number system of rationals."""
    from reference.arithmetic.in_fractions import FRACTIONS  # noqa: PLC0415 - only where it is asked for

    return FRACTIONS


def symbols() -> NumberSystem:
    """The number system of z3 terms."""
    from reference.arithmetic.in_symbols import SYMBOLS  # noqa: PLC0415 - z3 only where it is asked for

    return SYMBOLS
