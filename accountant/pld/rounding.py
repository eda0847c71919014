"""Rounding to a stated side: balls to float64, masses to a sum near 1."""

from __future__ import annotations

import math
from typing import Final

from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision
from accountant.pld.certified_exp import UNIT_ROUNDOFF, Floats

SCALAR_BITS: Final = 128


def float_above(ball: arb) -> float:
    """Return a finite float64 that is at least every number in the ball (conversion is within half a unit)."""
    value = math.nextafter(float(ball.upper()), math.inf)
    if not math.isfinite(value):
        raise CannotCertifyError(f"a mass of the composition is beyond float64: {ball}")
    return value


def float_below(ball: arb) -> float:
    """Return a finite float64 that is at most every number in the ball."""
    return -float_above(-ball)


def normal_tail(x: arb) -> arb:
    """Return P[N(0,1) > x]."""
    return (x / arb(2).sqrt()).erfc() / 2


def normalised(masses: Floats, kappa: float, *, upwards: bool) -> tuple[Floats, arb]:
    """Scale masses to a sum near 1, rounded to the stated side, and return log(e^kappa / factor) with them."""
    total = float(masses.sum())
    if not (math.isfinite(total) and total > 0):
        raise CannotCertifyError(f"the tilted masses of a step must have a finite sum > 0, got {total}")
    inverse = 1.0 / total
    nudge = 1 + 4 * UNIT_ROUNDOFF if upwards else 1 - 4 * UNIT_ROUNDOFF
    with arb_precision(SCALAR_BITS):
        return masses * inverse * nudge, arb(kappa) - arb(inverse).log()
