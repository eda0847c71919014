r"""The noise in the last model alone, where nothing else is shown: its deviation, known in closed form without penalty.

On silent records and with lambda = 0 every coordinate of (x, z, y) is a linear function of the noise alone, the same
for all coordinates: x_T ~ N(0, v), v from the recursion of the 3 x 3 covariance.
"""

from __future__ import annotations

import numpy as np

from accountant.mechanisms.words import Algorithm, Release
from verification.deployment.claimed import Claimed
from verification.served.translate import sigmas
from verification.wire.arrays import Floats


def without_penalty(claimed: Claimed) -> Claimed:
    """The same with lambda = 0, where every proximal map is the identity."""
    return claimed.with_parameters(lambda_=0.0)


def last_deviation(claimed: Claimed) -> float | None:
    """The standard deviation of a coordinate of the last x; None where no closed form is known."""
    parameters, algorithm = claimed.parameters, claimed.mode.algorithm
    if algorithm not in (Algorithm.SSADMM, Algorithm.MPADMM, Algorithm.DPSGD):
        return None
    noise = sigmas(algorithm, parameters, claimed.records)
    covariance = np.zeros((3, 3))
    for eta, sigma in zip(parameters.eta, noise.tolist(), strict=True):
        step, enters = _linear(claimed, eta)
        covariance = step @ covariance @ step.T + sigma**2 * enters
    return float(np.sqrt(covariance[0, 0]))


def _linear(claimed: Claimed, eta: float) -> tuple[Floats, Floats]:
    """One iteration as a matrix on (x, z, y), and the covariance of what unit noise adds to it."""
    rho, algorithm = claimed.parameters.rho, claimed.mode.algorithm
    if algorithm is Algorithm.DPSGD:
        return np.diag([1.0, 0.0, 0.0]), np.diag([eta**2, 0.0, 0.0])
    x_row = np.array([1 / eta, rho, -1.0]) / (rho + 1 / eta)
    # z = x + y/rho, and y + rho (x - z) = 0
    after_x = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 1 / rho], [0.0, 0.0, 0.0]])
    step = np.vstack([x_row, x_row + np.array([0.0, 0.0, 1 / rho]), np.zeros(3)])
    if algorithm is Algorithm.MPADMM and claimed.parameters.release is Release.ALL:
        return step, np.eye(3)
    size = 1.0 if algorithm is Algorithm.MPADMM else 1 / (rho + 1 / eta)
    enters = after_x @ np.array([size, 0.0, 0.0])
    return step, np.outer(enters, enters)
