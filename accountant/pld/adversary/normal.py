r"""The normal distribution function on float64 arrays with a proved absolute error.

Binary floats live here, under a bound. Phi is interpolated by cubic Hermite polynomials between points 1/256 apart
whose values and derivatives come from balls. The remainder is h^4/384 max|Phi''''| < 3.5e-13 because
|Phi''''(x)| = |3x - x^3| phi(x) < 0.56; coefficients, argument and Horner's rule add less than 1e-14. Beyond +-9 the
end's value is used, off by less than 2e-19. `PHI_ERROR` is 5e-13.
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
    if not np.all(np.isfinite(x)):
        raise CannotCertifyError("the normal distribution function was asked for at a number that is not finite")
    position = (np.clip(x, -_END, _END) + _END) * _PER_UNIT
    cell = np.minimum(position.astype(np.intp), 2 * _END * _PER_UNIT - 1)
    t = position - cell
    c0, c1, c2, c3 = _table()
    result: Floats = ((c3[cell] * t + c2[cell]) * t + c1[cell]) * t + c0[cell]
    return result


def checked_log(x: Floats) -> Floats:
    """Return log(x) within `LOG_ERROR` for x in [1e-290, 1e290]: a library's value, checked by the proved exp."""
    value: Floats = np.log(x)
    if not float(np.max(np.abs(exp(value) / x - 1.0))) <= 0.9 * LOG_ERROR:
        raise CannotCertifyError("a logarithm could not be confirmed")
    return value


@functools.lru_cache(maxsize=1)
def _table() -> tuple[Floats, Floats, Floats, Floats]:
    with arb_precision(_BITS):
        points = [arb(k) / _PER_UNIT - _END for k in range(2 * _END * _PER_UNIT + 1)]
        root_two, root_two_pi = arb(2).sqrt(), (2 * arb.pi()).sqrt()
        value = np.array([float((-x / root_two).erfc() / 2) for x in points])
        slope = np.array([float((-x * x / 2).exp() / root_two_pi / _PER_UNIT) for x in points])
    rise = np.diff(value)
    left, right = slope[:-1], slope[1:]
    return value[:-1], left, 3 * rise - 2 * left - right, left + right - 2 * rise
