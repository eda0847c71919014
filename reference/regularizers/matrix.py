"""The nuclear norm of the model seen as a matrix: soft threshold on singular values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference.arithmetic import Matrix, NumberSystem, Scalar, Vector, number_system
from reference.errors import InvalidParameter, NotExpressible, is_number, require_not_negative
from reference.regularizers.separable import soft_threshold


def _svd(matrix: Matrix, system: NumberSystem) -> tuple[Matrix, Vector, Matrix]:
    """Return U, s, V with ``matrix = U diag(s) V``."""
    if system.name == "float64":
        u, s, v = np.linalg.svd(matrix, full_matrices=False)
        return u, s, v
    from reference.arithmetic.in_digits import Digits  # noqa: PLC0415 - mpmath only where it is asked for

    if isinstance(system, Digits):
        return system.svd(matrix)
    raise NotExpressible(f"the nuclear norm needs a singular value decomposition; {system.name} have none")


@dataclass(frozen=True, slots=True)
class NuclearNorm:
    """lambda times the sum of the singular values of x, read row by row as a ``rows x columns`` matrix."""

    lam: Scalar
    rows: int
    columns: int
    name = "nuclear"
    convex = True

    def __post_init__(self) -> None:
        if is_number(self.lam):
            require_not_negative("lambda", self.lam)
        if self.rows < 1 or self.columns < 1:
            raise InvalidParameter(f"rows and columns must be >= 1, got {self.rows} x {self.columns}")

    def value(self, x: Vector) -> Vector:
        """lambda times the sum of singular values."""
        system = number_system(x)
        _, s, _ = _svd(self._matrix(x), system)
        return system.scalar(self.lam) * system.sum(s)

    def prox(self, w: Vector, rho: Scalar) -> Vector:
        """U S_{lambda/rho}(s) V."""
        system = number_system(w)
        u, s, v = _svd(self._matrix(w), system)
        kept = soft_threshold(s, system.scalar(self.lam) / rho)
        return ((u * kept[..., None, :]) @ v).reshape(w.shape)

    def lipschitz(self, rho: Scalar) -> Scalar:  # noqa: ARG002
        """1: a convex proximal map."""
        return 1.0

    def _matrix(self, x: Vector) -> Matrix:
        if x.shape[-1] != self.rows * self.columns:
            raise InvalidParameter(
                f"a model of {x.shape[-1]} entries is no {self.rows} x {self.columns} matrix; "
                "an intercept would need its own regularizer"
            )
        return x.reshape(*x.shape[:-1], self.rows, self.columns)
