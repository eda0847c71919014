r"""Noise that was used before: a whole vector in one direction, or single values wherever they stand.

A vector that comes twice is found up to its length and the signs of its entries. A value that comes twice is found
in any order: strides that overlap, permuted or reversed copies, draws from a table or from a coarse grid, a generator
that starts anew with every request. Fresh standard normal values agree to within t in absolute value with probability
at most 2 t sqrt(2/pi) a pair, and on a grid of step h (an exact discrete Gaussian) with at most h sqrt(2/pi).
"""

from __future__ import annotations

import numpy as np
from scipy import special

from verification.conformance import tails
from verification.deployment.sighting import Aspect, Sighting
from verification.wire.arrays import Floats

_CLOSE = 1e-6
_SAME = 1e-12
_MOST_VALUES = 1 << 19
# in fewer dimensions two of many directions are too likely to agree by chance
_FEWEST_COLUMNS = 3
CAUSE = "noise is used again"


def repeats(name: str, rows: Floats) -> Sighting:
    """Whether two of the vectors have one direction, up to the signs of their entries."""
    count, p = rows.shape
    lengths = np.linalg.norm(rows, axis=1)
    silent = int(np.sum(lengths == 0))
    if p < _FEWEST_COLUMNS or silent:
        detail = f"{silent} of {count} noise vectors are zero"
        return Sighting(name, Aspect.NOISE, 0.0 if silent else 1.0, detail, cause="noise too small")
    unit = np.abs(rows / lengths[:, None])
    ordered = unit[np.argsort(unit[:, 0])]
    beside = int(np.sum(np.max(np.abs(np.diff(ordered, axis=0)), axis=1) < _CLOSE))
    found = -(-beside // 2)
    chance = min(1.0, count * (count - 1) / 2 * 2.0**p * _cap(p))
    detail = f"{found} of {count} noise vectors used twice"
    return Sighting(name, Aspect.NOISE, tails.coincidences(found, chance), detail, cause=CAUSE)


def _cap(p: int) -> float:
    """The share of the sphere in p dimensions within sqrt(p) * closeness of a point."""
    radius = np.sqrt(p) * _CLOSE
    return float(special.betainc((p - 1) / 2, 0.5, min(1.0, radius**2))) / 2


def twins(name: str, values: Floats, grain: float, step: float = 0.0) -> Sighting:
    """Whether single values come twice, up to sign and to what rounding hides (``grain``), on a grid of this step.

    Noise larger than claimed is less dense, so that the chance is a bound for it as well.
    """
    sizes = np.sort(np.abs(values[:_MOST_VALUES]))
    same = max(_SAME, grain, step / 2)
    beside = int(np.sum(np.diff(sizes) <= same))
    found = -(-beside // 2)  # in a row of equal values every second pair is disjoint from the last
    chance = min(1.0, sizes.size * (sizes.size - 1) / 2 * 2 * same * float(np.sqrt(2 / np.pi)))
    detail = f"{found} of {sizes.size} noise values used twice (equal to {same:.1g} deviations)"
    return Sighting(name, Aspect.NOISE, tails.coincidences(found, chance), detail, cause=CAUSE)
