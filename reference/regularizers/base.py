"""What every regularizer offers."""

from __future__ import annotations

from typing import Protocol

from reference.arithmetic import Scalar, Vector


class Regularizer(Protocol):
    """A penalty ``lambda h`` with a proximal map in closed form."""

    @property
    def name(self) -> str:
        """How files and the wire call it."""

    @property
    def convex(self) -> bool:
        """Whether h is convex; only then is the proximal map nonexpansive."""

    def value(self, x: Vector) -> Vector:
        """lambda h(x)."""

    def prox(self, w: Vector, rho: Scalar) -> Vector:
        """The minimiser over z of lambda h(z) + (rho/2) ||z - w||^2."""

    def lipschitz(self, rho: Scalar) -> Scalar:
        """The least L with ||prox(w) - prox(w')|| <= L ||w - w'||; refuses where the map jumps."""
