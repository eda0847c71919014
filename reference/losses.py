r"""Losses of the margin ``v = label * <x, features>``: value, slope, and the bounds that the privacy proofs use.

Both have slopes in [-1, 0], so a record's gradient ``slope * label * features`` is no longer than its features.
Statements LOSS-LOGISTIC, LOSS-HUBER.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from reference.arithmetic import Vector, number_system
from reference.errors import InvalidParameter, is_number


class Loss(Protocol):
    """A convex, differentiable function of the margin."""

    @property
    def name(self) -> str:
        """How files and the wire call it."""

    @property
    def steepest(self) -> float:
        """The largest absolute slope: sup |phi'|."""

    @property
    def curvature(self) -> float:
        """The largest second derivative: sup phi''."""

    def value(self, margin: Vector) -> Vector:
        """phi(v)."""

    def slope(self, margin: Vector) -> Vector:
        """phi'(v)."""


@dataclass(frozen=True, slots=True)
class Logistic:
    r"""log(1 + e^{-v}), exact to rounding at every finite margin. [CL20] equation (9)."""

    name = "logistic"
    steepest = 1.0
    curvature = 0.25

    def value(self, margin: Vector) -> Vector:
        """phi(v), split at 0 so that no exponential overflows."""
        system = number_system(margin)
        small = system.exp(-system.absolute(margin))
        return system.log1p(small) + system.maximum(-margin, 0.0)

    def slope(self, margin: Vector) -> Vector:
        """phi'(v) = -1/(1 + e^v), split at 0 so that no exponential overflows."""
        system = number_system(margin)
        small = system.exp(-system.absolute(margin))
        return system.where(system.greater(margin, 0.0), small, 1.0) / (-1.0 - small)


@dataclass(frozen=True, slots=True)
class HuberizedHinge:
    r"""The hinge, rounded off by a parabola on |1 - v| <= h. [CL20] section 5.1, with h = 0.5.

    *Deviates:* written with one clamped distance d = min(max(1 + h - v, 0), 2h) instead of three cases, so that no
    branch squares a huge margin: phi = d^2/(4h) + max(1 - h - v, 0). Statement LOSS-HUBER-CASES: the same function.
    """

    h: float = 0.5
    name = "huber"
    steepest = 1.0

    def __post_init__(self) -> None:
        if is_number(self.h) and not 0 < self.h <= 1:
            raise InvalidParameter(f"h must lie in (0, 1], got h={self.h}")

    @property
    def curvature(self) -> float:
        """1/(2h)."""
        return 1 / (2 * self.h)

    def value(self, margin: Vector) -> Vector:
        """phi(v)."""
        system = number_system(margin)
        h = system.scalar(self.h)
        d = self._distance(margin)
        return d * d / (4 * h) + system.maximum(1 - h - margin, 0.0)

    def slope(self, margin: Vector) -> Vector:
        """phi'(v) = -d/(2h)."""
        return -self._distance(margin) / (2 * number_system(margin).scalar(self.h))

    def _distance(self, margin: Vector) -> Vector:
        system = number_system(margin)
        h = system.scalar(self.h)
        return system.minimum(system.maximum(1 + h - margin, 0.0), 2 * h)


LOSSES: dict[str, Loss] = {loss.name: loss for loss in (Logistic(), HuberizedHinge())}
