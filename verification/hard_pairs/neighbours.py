r"""The hardest neighbouring data sets: pairs that attain the sensitivity bounds, and starts at which they do.

Everything here is a question to an implementation, in the words of the wire: records, a start, parameters. Whether the
bounds are attained is measured by `observed_sensitivity`. All records but one are u', one is u or u':

* *clipped*: gradients of opposite direction, long enough to be clipped at every model;
* *hinge*: u = -u' and margins below 1 - h, where the huberized hinge has slope -1;
* *saturated*: normalised logistic data. sup ||grad f(x,d) - grad f(x,d')|| = 2C is reached only in the limit of large
  ||x||: u = (-e, sqrt(1-e^2)), u' = (-e, -sqrt(1-e^2)), x0 = (X, 0) with X e >> 1. From x0 = 0 half of it is seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from verification.wire.arrays import Floats
from verification.wire.records import Records

TILT = 1e-3
"""e: the pair's gradients oppose each other up to a factor sqrt(1 - e^2) = 1 - 5e-7."""
MARGIN = 50.0
"""A sigmoid at this margin differs from 1 by less than 2e-22."""


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourPair:
    """Two data sets that differ in record 0, with a start that makes them hard to tell apart privately."""

    first: Records
    second: Records
    x: Floats
    z: Floats
    y: Floats
    clip: float | None
    normalise: float | None

    @property
    def dimension(self) -> int:
        """p."""
        return self.first.columns


def saturated(records: int, *, far: float, dimension: int = 2, C: float = 1.0) -> NeighbourPair:
    """Normalised logistic data at a far start; ``far`` is X, see :func:`far_enough`."""
    u, other, x = (np.zeros(dimension) for _ in range(3))
    u[:2] = -TILT, math.sqrt(1 - TILT**2)
    other[:2] = -TILT, -math.sqrt(1 - TILT**2)
    x[0] = far
    return _pair(records, C * u, C * other, x, clip=None, normalise=C)


def far_enough(etas: list[float], rho: float, *, C: float = 1.0, sigma: float = 0.0) -> float:
    r"""X such that both sigmoids stay saturated over all steps: (sum s_k C + 10 sigma sqrt(sum s_k^2) + 50)/(e C).

    s_k = eta_k/(1 + eta_k rho) is how far a gradient of length 1 moves x in one step, at most.
    """
    steps = np.array([eta / (1 + eta * rho) for eta in etas])
    drift = steps.sum() * C + 10 * sigma * math.sqrt(float(steps @ steps)) + MARGIN
    return float(drift / (TILT * C))


def hinge(records: int, *, dimension: int = 2, C: float = 1.0) -> NeighbourPair:
    """Normalised data for the huberized hinge: at x = 0 the margins are 0, below 1 - h."""
    u = np.zeros(dimension)
    u[0] = C
    return _pair(records, u, -u, np.zeros(dimension), clip=None, normalise=C)


def clipped(records: int, *, dimension: int = 2, C: float = 1.0, factor: float = 8.0) -> NeighbourPair:
    """Records so long that their gradients are clipped, at x = 0 and around it."""
    u = np.zeros(dimension)
    u[0] = factor * C
    return _pair(records, u, -u, np.zeros(dimension), clip=C, normalise=None)


def one_hot(records: int) -> Records:
    """Record i has feature i alone (p = n): the iterates show which records were in the batch."""
    return Records(np.eye(records), np.ones(records, dtype=np.int64))


def _pair(
    records: int, u: Floats, other: Floats, x: Floats, *, clip: float | None, normalise: float | None
) -> NeighbourPair:
    labels = np.ones(records, dtype=np.int64)
    second = Records(np.tile(other, (records, 1)), labels)
    first = second.replace(0, u, 1)
    return NeighbourPair(first, second, x, x.copy(), np.zeros_like(x), clip, normalise)
