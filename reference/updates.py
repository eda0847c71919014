r"""The three updates of linearised ADMM for A = I, B = -I, c = 0: one line of the paper, one line of code.

They run in every number system. Statements UPDATE-X (the closed form is the minimiser), SENS-X, SENS-Z, SENS-Y.
"""

from __future__ import annotations

from reference.arithmetic import Scalar, Vector
from reference.regularizers.base import Regularizer


def update_x(g: Vector, x: Vector, z: Vector, y: Vector, *, rho: Scalar, eta: Scalar) -> Vector:
    """The exact minimiser of the approximated augmented Lagrangian. [CL20] equation (13)."""
    return (-g - y + rho * z + x / eta) / (rho + 1 / eta)


def update_z(x: Vector, y: Vector, *, rho: Scalar, regularizer: Regularizer) -> Vector:
    """The proximal map at x + y/rho, for the new x and the old y. [CL20] equation (16)."""
    return regularizer.prox(x + y / rho, rho)


def update_y(y: Vector, x: Vector, z: Vector, *, rho: Scalar) -> Vector:
    """The dual ascent step, for the new x and z. [CL20] equation (14)."""
    return y + rho * (x - z)
