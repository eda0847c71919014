"""The least sequence above another one that falls by at most a given factor from each point to the next.

Binary floats live here, under a bound. P_j = max(V_j, P_{j-1} e^{-r}) is computed in rows on which e^{r j} stays within
float64, as a running maximum of V_j e^{r j}; what a row ends with is carried into the next. Within a row an exponential
is off by at most 1e-13 of itself, so r is taken smaller by 1e-12: the result then falls by at most e^{-r} truly.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from accountant.errors import CannotCertifyError
from accountant.pld.certified_exp import Floats, exp

_SPAN: Final = 300.0
_MARGIN: Final = 1e-12
_LEAST: Final = 1e-290
"""Smaller values are raised to this, so that nothing underflows."""


def falling_hull(values: Floats, rate: float) -> Floats:
    """Return P >= V with P_j >= P_{j-1} e^{-rate} in exact arithmetic; the least such but for a factor near 1."""
    if not 0 <= rate <= _SPAN:
        raise CannotCertifyError(f"the lattice is too coarse for masses that fall by e^-{rate:.3g} a point")
    used = max(rate - _MARGIN, 0.0)
    width = min(values.size, math.floor(_SPAN / used) if used * values.size > _SPAN else values.size)
    rows = np.full((-(-values.size // width), width), _LEAST)
    rows.reshape(-1)[: values.size] = np.maximum(values, _LEAST)
    growth = exp(used * np.arange(width, dtype=np.float64))
    step = math.exp(-used) * (1 + _MARGIN)
    highest = np.maximum.accumulate(rows * growth, axis=1)
    result, carried = np.empty_like(rows), 0.0
    for i, row in enumerate(highest):
        result[i] = np.maximum(row, carried * step) / growth
        carried = float(result[i, -1])
    flat: Floats = result.reshape(-1)[: values.size]
    return np.maximum(flat * (1 + _MARGIN), values)
