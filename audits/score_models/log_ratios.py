r"""The log-likelihood ratio of one step of ssADMM's hardest pair, on a lattice, and the sum of many.

l(x) = log((1-q) + q e^((2x-1)/(2 nu^2))) increases with x; x is N(0, scale^2), or with probability q N(1, scale^2). The
ratio is computed at the claimed nu, whatever the noise is; ``scale = nu`` if the claim is true.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtr

from audits.errors import AuditError
from verification.wire.arrays import Floats

LARGEST_LATTICE = 1 << 24
_REACH = 8.3  # P(N(0, 1) > 8.3) < 1e-16
_UNIT = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class RatioCells:
    """P(l <= k width) for k = first, first + 1, ...; nothing lies below the first, next to nothing above the last."""

    below: Floats
    first: int

    @property
    def last(self) -> int:
        """The last multiple."""
        return self.first + self.below.size - 1


def cells_of(rate: float, nu: float, scale: float, width: float, *, taking_part: bool) -> RatioCells:
    """Return the law of l where the record takes part with probability ``rate``, or not at all."""
    first = math.floor(math.log1p(-rate) / width)
    top = 1.0 + _REACH * scale
    highest = float(np.logaddexp(math.log1p(-rate), math.log(rate) + (2.0 * top - 1.0) / (2.0 * nu * nu)))
    last = math.ceil(highest / width)
    if last - first > LARGEST_LATTICE:
        raise AuditError(f"nu={nu!r} is too small: one step needs more than {LARGEST_LATTICE} log-ratios")
    ratios = width * np.arange(first, last + 1)
    with np.errstate(divide="ignore"):
        x = nu * nu * (np.log(np.maximum(np.expm1(ratios) + rate, 0.0)) - math.log(rate)) + 0.5
    absent: Floats = ndtr(x / scale)
    mixed: Floats = (1.0 - rate) * absent + rate * ndtr((x - 1.0) / scale)
    return RatioCells(mixed if taking_part else absent, first)


def convolved(masses: Floats, steps: int) -> tuple[Floats, float]:
    """Return the masses of the sum of ``steps`` independent values, and a bound of the sum of all their errors."""
    size = next_fast_len(steps * (masses.size - 1) + 1, real=True)
    if size > LARGEST_LATTICE:
        raise AuditError(f"{steps} steps need a lattice of {size} log-ratios, which is beyond {LARGEST_LATTICE}")
    total: Floats = irfft(rfft(masses, size) ** steps, size)
    # the relative error of a transform in the Euclidean norm, T times for the power, and by Cauchy-Schwarz as a sum
    relative = 8.0 * _UNIT * math.log2(size)
    lengths = (steps + 1) * float(np.linalg.norm(masses)) + float(np.linalg.norm(total))
    return np.maximum(total, 0.0), math.sqrt(size) * relative * lengths
