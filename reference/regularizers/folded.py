r"""The non-convex regularizers that the paper names: SCAD (Fan and Li 2001) and MCP (Zhang 2010).

With tau = 1/rho the closed forms below minimise only if a > 1 + tau (SCAD) and gamma > tau (MCP); otherwise the
true proximal map jumps and no sensitivity bound exists, so those parameters are refused (E11).
"""

from __future__ import annotations

from dataclasses import dataclass

from reference.arithmetic import Scalar, Vector, number_system
from reference.errors import InvalidParameter, is_number, require_not_negative
from reference.regularizers.separable import soft_threshold


def _signed(w: Vector, size: Vector) -> Vector:
    """Return ``size`` with the sign of ``w``."""
    system = number_system(w)
    return system.where(system.greater(w, 0.0), size, -size)


@dataclass(frozen=True, slots=True)
class SCAD:
    """Smoothly clipped absolute deviation: linear to lambda, quadratic to a lambda, then constant."""

    lam: Scalar
    a: Scalar = 3.7
    name = "scad"
    convex = False

    def __post_init__(self) -> None:
        if is_number(self.lam):
            require_not_negative("lambda", self.lam)
        if is_number(self.a) and not self.a > 2:
            raise InvalidParameter(f"a must be > 2, got a={self.a}")

    def value(self, x: Vector) -> Vector:
        """The sum of the penalties of the coordinates."""
        system = number_system(x)
        lam, a = system.scalar(self.lam), system.scalar(self.a)
        size = system.absolute(x)
        # Clamped distances instead of cases: no branch squares a huge coordinate.
        linear = system.minimum(size, lam)
        bent = system.minimum(system.maximum(size - lam, 0.0), (a - 1) * lam)
        return system.sum(lam * linear + bent * (lam - bent / (2 * (a - 1))))

    def prox(self, w: Vector, rho: Scalar) -> Vector:
        """S_{tau lambda}(w); then ((a-1) w - sign(w) a lambda tau)/(a - 1 - tau); then w."""
        self.lipschitz(rho)
        system = number_system(w)
        lam, a, tau = system.scalar(self.lam), system.scalar(self.a), 1 / rho
        size = system.absolute(w)
        bent = ((a - 1) * w - _signed(w, a * lam * tau + 0 * w)) / (a - 1 - tau)
        return system.where(
            system.greater(size, a * lam),
            w,
            system.where(system.greater(size, lam * (1 + tau)), bent, soft_threshold(w, tau * lam)),
        )

    def lipschitz(self, rho: Scalar) -> Scalar:
        """(a-1)/(a-1-tau)."""
        tau = 1 / rho
        if is_number(tau) and is_number(self.a) and not self.a > 1 + tau:
            raise InvalidParameter(
                f"scad needs a > 1 + 1/rho = {1 + tau}, got a={self.a}: there the proximal map jumps "
                f"and no sensitivity bound exists; take rho > {1 / (self.a - 1)}"
            )
        return (self.a - 1) / (self.a - 1 - tau)


@dataclass(frozen=True, slots=True)
class MCP:
    """Minimax concave penalty: lambda |x| - x^2/(2 gamma) up to gamma lambda, then constant."""

    lam: Scalar
    gamma: Scalar = 3.0
    name = "mcp"
    convex = False

    def __post_init__(self) -> None:
        if is_number(self.lam):
            require_not_negative("lambda", self.lam)
        if is_number(self.gamma) and not self.gamma > 1:
            raise InvalidParameter(f"gamma must be > 1, got gamma={self.gamma}")

    def value(self, x: Vector) -> Vector:
        """The sum of the penalties of the coordinates."""
        system = number_system(x)
        lam, gamma = system.scalar(self.lam), system.scalar(self.gamma)
        size = system.minimum(system.absolute(x), gamma * lam)
        return system.sum(size * (lam - size / (2 * gamma)))

    def prox(self, w: Vector, rho: Scalar) -> Vector:
        """S_{tau lambda}(w)/(1 - tau/gamma) up to gamma lambda; then w."""
        self.lipschitz(rho)
        system = number_system(w)
        lam, gamma, tau = system.scalar(self.lam), system.scalar(self.gamma), 1 / rho
        shrunk = soft_threshold(w, tau * lam) / (1 - tau / gamma)
        return system.where(system.greater(system.absolute(w), gamma * lam), w, shrunk)

    def lipschitz(self, rho: Scalar) -> Scalar:
        """gamma/(gamma-tau)."""
        tau = 1 / rho
        if is_number(tau) and is_number(self.gamma) and not self.gamma > tau:
            raise InvalidParameter(
                f"mcp needs gamma > 1/rho = {tau}, got gamma={self.gamma}: there the proximal map jumps "
                f"and no sensitivity bound exists; take rho > {1 / self.gamma}"
            )
        return self.gamma / (self.gamma - tau)
