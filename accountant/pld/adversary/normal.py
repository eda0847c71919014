r"""The normal distribution function on float64 arrays with a proved absolute error.

Binary floats live here, under a bound. Phi is expanded about the nearest multiple x0 of 1/256, to the third order:

    Phi(x0 + e) = Phi(x0) + phi(x0) e (1 - x0 e/2 + (x0^2 - 1) e^2/6) + R,   |R| <= M e^4/24 < 3.5e-13

because |e| <= 1/512 and the fourth derivative is at most M = max |3x - x^3| phi(x) < 0.56. Phi(x0), phi(x0) come from
balls, x0 is exact, and rounding adds less than 1e-14. Beyond +-9 the end's value is used, off by less than 2e-19.
`PHI_ERROR` is 5e-13.
"""

from __future__ import annotations

import functools
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision
from accountant.pld.certified_exp import Floats, exp

PHI_ERROR: Final = 5e-13
LOG_ERROR: Final = 1e-11
_PER_UNIT: Final = 256
_END: Final = 9
_BITS: Final = 100


def normal_cdf(x: Floats) -> Floats:
    """Return Phi(x) within `PHI_ERROR`; NaN raises."""
    if not np.isfinite(x.min()) or not np.isfinite(x.max()):
        raise CannotCertifyError("the normal distribution function was asked for at a number that is not finite")
    inside = np.clip(x, -_END, _END)
    nearest = np.rint(inside * _PER_UNIT)
    place = nearest.astype(np.int32) + _END * _PER_UNIT
    centre = nearest * (1 / _PER_UNIT)
    inside -= centre
    value, slope = _table()
    factor = (centre * centre - 1) * inside
    factor *= 1 / 3
    factor -= centre
    factor *= inside
    factor *= 0.5
    factor += 1
    factor *= inside
    factor *= np.take(slope, place)
    factor += np.take(value, place)
    return factor


def checked_log(x: Floats) -> Floats:
    """Return log(x) within `LOG_ERROR` for x in [1e-290, 1e290]: a library's value, checked by the proved exp."""
    value: Floats = np.log(x)
    if not float(np.max(np.abs(exp(value) / x - 1.0))) <= 0.9 * LOG_ERROR:
        raise CannotCertifyError("a logarithm could not be confirmed")
    return value


@functools.lru_cache(maxsize=1)
def _table() -> tuple[Floats, Floats]:
    """Return Phi and phi at the multiples of 1/256 from -9 to 9."""
    with arb_precision(_BITS):
        points = [arb(k) / _PER_UNIT - _END for k in range(2 * _END * _PER_UNIT + 1)]
        root_two, root_two_pi = arb(2).sqrt(), (2 * arb.pi()).sqrt()
        value = np.array([float((-x / root_two).erfc() / 2) for x in points])
        slope = np.array([float((-x * x / 2).exp() / root_two_pi) for x in points])
    return value, slope
