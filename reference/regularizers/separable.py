"""The convex regularizers on vectors: none, L1, elastic net, group L1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference.arithmetic import Scalar, Vector, number_system
from reference.errors import InvalidParameter, is_number, require_not_negative


def soft_threshold(w: Vector, t: Scalar) -> Vector:
    """S_t(w), coordinate by coordinate. [CL20] equation (17).

    *Deviates:* (w - t)_+ - (-w - t)_+ for the paper's three cases w - t, w + t and 0: the same numbers bit for bit, as
    one of the two parts is always 0, and no branches.
    """
    system = number_system(w)
    return system.maximum(w - t, 0.0) - system.maximum(-w - t, 0.0)


@dataclass(frozen=True, slots=True)
class Unregularized:
    """h = 0: the proximal map is the identity."""

    name = "none"
    convex = True

    def value(self, x: Vector) -> Vector:
        """Zero."""
        return number_system(x).sum(x - x)

    def prox(self, w: Vector, rho: Scalar) -> Vector:  # noqa: ARG002 - no penalty to weigh against
        """W itself."""
        return w

    def lipschitz(self, rho: Scalar) -> Scalar:  # noqa: ARG002
        """1: the identity."""
        return 1.0


@dataclass(frozen=True, slots=True)
class L1:
    """lambda ||x||_1. [CL20] equation (16)."""

    lam: Scalar
    name = "l1"
    convex = True

    def __post_init__(self) -> None:
        _require_weight(self.lam)

    def value(self, x: Vector) -> Vector:
        """lambda ||x||_1."""
        system = number_system(x)
        return system.scalar(self.lam) * system.sum(system.absolute(x))

    def prox(self, w: Vector, rho: Scalar) -> Vector:
        """S_{lambda/rho}(w)."""
        return soft_threshold(w, number_system(w).scalar(self.lam) / rho)

    def lipschitz(self, rho: Scalar) -> Scalar:  # noqa: ARG002
        """1: attained where both arguments lie beyond the threshold."""
        return 1.0


@dataclass(frozen=True, slots=True)
class ElasticNet:
    """lambda (r ||x||_1 + (1 - r)/2 ||x||_2^2), r the share of L1."""

    lam: Scalar
    l1_ratio: Scalar = 0.5
    name = "elastic-net"
    convex = True

    def __post_init__(self) -> None:
        _require_weight(self.lam)
        if is_number(self.l1_ratio) and not 0 <= self.l1_ratio <= 1:
            raise InvalidParameter(f"l1_ratio must lie in [0, 1], got l1_ratio={self.l1_ratio}")

    def value(self, x: Vector) -> Vector:
        """lambda (r ||x||_1 + (1 - r)/2 ||x||_2^2)."""
        system = number_system(x)
        lam, r = system.scalar(self.lam), system.scalar(self.l1_ratio)
        return lam * (r * system.sum(system.absolute(x)) + (1 - r) / 2 * system.sum(x * x))

    def prox(self, w: Vector, rho: Scalar) -> Vector:
        """S_{lambda r/rho}(w) / (1 + lambda (1 - r)/rho)."""
        system = number_system(w)
        lam, r = system.scalar(self.lam), system.scalar(self.l1_ratio)
        return soft_threshold(w, lam * r / rho) / (1 + lam * (1 - r) / rho)

    def lipschitz(self, rho: Scalar) -> Scalar:
        """1/(1 + lambda (1 - r)/rho)."""
        return 1 / (1 + self.lam * (1 - self.l1_ratio) / rho)


@dataclass(frozen=True, slots=True)
class GroupL1:
    """lambda times the sum over groups g of ||x_g||_2; coordinates in no group are free."""

    lam: Scalar
    groups: tuple[tuple[int, ...], ...]
    name = "group-l1"
    convex = True

    def __post_init__(self) -> None:
        _require_weight(self.lam)
        members = [index for group in self.groups for index in group]
        if not all(self.groups) or not members or len(set(members)) != len(members) or min(members) < 0:
            raise InvalidParameter(
                f"groups must be non-empty, disjoint sets of non-negative indices, got groups={self.groups}"
            )

    def value(self, x: Vector) -> Vector:
        """lambda sum ||x_g||."""
        system = number_system(x)
        lam = system.scalar(self.lam)
        norms = [system.norm(x[..., list(group)]) for group in self._groups_within(x)]
        return lam * system.sum(np.stack(norms, axis=-1))

    def prox(self, w: Vector, rho: Scalar) -> Vector:
        """Each group shrunk towards 0 by lambda/rho: (1 - t/||w_g||)_+ w_g."""
        system = number_system(w)
        t = system.scalar(self.lam) / rho
        z = w.copy()
        for group in self._groups_within(w):
            members = w[..., list(group)]
            norm = system.norm(members)
            outside = system.greater(norm, t)
            # 1 stands in for norms inside the threshold, where the quotient is not used: no division by zero.
            kept = system.where(outside, 1 - t / system.where(outside, norm, 1.0), 0.0)
            z[..., list(group)] = members * kept[..., None]
        return z

    def lipschitz(self, rho: Scalar) -> Scalar:  # noqa: ARG002
        """1: approached along the direction of a long w_g."""
        return 1.0

    def _groups_within(self, x: Vector) -> tuple[tuple[int, ...], ...]:
        largest = max(index for group in self.groups for index in group)
        if largest >= x.shape[-1]:
            raise InvalidParameter(f"groups must index a model of {x.shape[-1]} entries, got index {largest}")
        return self.groups


def _require_weight(lam: Scalar) -> None:
    if is_number(lam):
        require_not_negative("lambda", lam)
