r"""How far two honest binary64 evaluations of one iteration may lie apart.

Let S bound every intermediate quantity and u = 2^-53. One iteration makes at most (n + p + 40) roundings of
quantities of size at most S, and an error made early in it is stretched by at most L (below, in the maximum norm)
before it ends. So the error is at most (n + p + 40) u S (1 + L), and two evaluations differ by twice that. A factor of
16 is left for implementations that round more often than that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.problem import Problem
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters

SINGLE = 2.0**-18
r"""Relative differences up to this are single precision inside: another rounding, not another bound on a record.

With u = 2^-24, a clipped gradient of length C computed in single precision is off by at most, to first order and
relative to C: (p/2 + 1) u for its norm (a sum of p squares under a root), u for the quotient C/norm, u for the product,
2 u for features and slope that were rounded on the way, and n u for a mean over n records: (p/2 + n + 5) u. That is at
most 2^-18 = 64 u while p/2 + n <= 59. Conformance compares at p <= 10 and n <= 24 (`single_precision_error`).

What hides below it costs next to nothing: a bound exceeded by a factor of 1 + 2^-18 is noise too small by as much, and
changes no epsilon in its first five digits.
"""
_SINGLE_UNIT = 2.0**-24
_UNIT = 2.0**-53
_ROUNDINGS = 40
_ROOM = 16


def single_precision_error(columns: int, records: int) -> float:
    """The relative error, at most and to first order, of a mean clipped gradient in single precision."""
    return (columns / 2 + records + 5) * _SINGLE_UNIT


def stretch(parameters: Parameters, problem: Problem) -> float:
    """How much one iteration can stretch an error in the maximum norm, over all its step sizes."""
    p, rho = problem.dimension, parameters.rho
    curvature = problem.loss.curvature * float(problem.norms.max()) ** 2 * np.sqrt(p)
    prox = max(1.0, float(problem.regularizer.lipschitz(rho))) * np.sqrt(p)
    largest = 1.0
    for eta in parameters.eta:
        x = (curvature + 1 / eta + rho + 1) / (rho + 1 / eta)
        z = prox * (x + 1 / rho)
        y = 1 + rho * (x + z)
        largest = max(largest, x, z, y)
    return float(largest)


def rounding_slack(parameters: Parameters, problem: Problem, values: Sequence[Floats], added: float = 0.0) -> float:
    """The largest honest difference between two evaluations of ADMM; ``added`` bounds the noise of a run, if any."""
    steps = np.array(parameters.eta)
    weight = 1 + parameters.rho + 1 / parameters.rho + float((1 / steps).max())
    return _slack(parameters, problem, values, weight, added) * (1 + stretch(parameters, problem))


def proximal_slack(parameters: Parameters, problem: Problem, values: Sequence[Floats], added: float = 0.0) -> float:
    """The same for a proximal step along up to three gradients: stretched by eta times their curvature."""
    eta = max(parameters.eta)
    weight = 1 + eta + float((1 / np.array(parameters.eta)).max())
    root = np.sqrt(problem.dimension)
    curvature = problem.loss.curvature * float(problem.norms.max()) ** 2 * root
    prox = max(1.0, *(float(problem.regularizer.lipschitz(1 / step)) for step in parameters.eta)) * root
    return float(_slack(parameters, problem, values, weight, added) * (1 + prox * (1 + eta * (1 + 3 * curvature))))


def _slack(parameters: Parameters, problem: Problem, values: Sequence[Floats], weight: float, added: float) -> float:
    scale = weight * (1 + max(float(np.abs(array).max()) for array in values) + parameters.bound)
    roundings = (problem.records + problem.dimension + _ROUNDINGS) * _UNIT * scale
    return 2 * (_ROOM * roundings + added)
