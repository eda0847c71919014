"""The Lipschitz constant of a regularizer's proximal map, and what it does to the sensitivity of z and y (E11)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from accountant.errors import InvalidQuantityError
from accountant.mechanisms.quantities import positive
from accountant.numbers import Exact, shown


@dataclass(frozen=True, slots=True)
class Proximal:
    """Lipschitz constant of the proximal map of the regularizer: 1 where it is convex (firmly nonexpansive)."""

    lipschitz: Fraction = Fraction(1)

    @classmethod
    def scad(cls, a: Exact, rho: Exact) -> Proximal:
        """Return L = (a-1)/(a-1-tau), tau = 1/rho; refused where the map jumps (E11)."""
        shape, tau = positive("a", a), 1 / positive("rho", rho)
        if shape <= 1 + tau:
            raise InvalidQuantityError(
                f"SCAD needs a > 1 + 1/rho = {shown(1 + tau)} for its proximal map to be Lipschitz, got a={a}; "
                "release='primal' needs no such constant"
            )
        return cls((shape - 1) / (shape - 1 - tau))

    @classmethod
    def mcp(cls, gamma: Exact, rho: Exact) -> Proximal:
        """Return L = gamma/(gamma-tau), tau = 1/rho; refused where the map jumps (E11)."""
        shape, tau = positive("gamma", gamma), 1 / positive("rho", rho)
        if shape <= tau:
            raise InvalidQuantityError(
                f"MCP needs gamma > 1/rho = {shown(tau)} for its proximal map to be Lipschitz, got gamma={gamma}; "
                "release='primal' needs no such constant"
            )
        return cls(shape / (shape - tau))

    def joint_factor(self, rho: Fraction) -> Fraction:
        r"""Return joint^2 / Delta(x)^2 (E11); with L = 1 it is the 1 + max(1, rho^2) of every convex regularizer."""
        L = self.lipschitz
        return 1 + max(rho**2, L**2 + rho**2 * (L - 1) ** 2)

    def separate_factor(self, rho: Fraction) -> Fraction:
        r"""Return (Delta(x)^2 + Delta(z)^2 + Delta(y)^2) / Delta(x)^2."""
        L = self.lipschitz
        return 1 + L**2 + (rho * max(Fraction(1), L - 1)) ** 2
