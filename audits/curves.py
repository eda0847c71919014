"""Claims as privacy curves, and one-parameter families of them.

A claim is the whole delta(epsilon), rounded up: of Gaussian releases, of one (epsilon, delta), or of certified points.
In y = e^epsilon the true curve H(y) is convex and decreasing with H(0) = 1. So a chord between two upper bounds is an
upper bound between them, the lower convex hull of all points is one everywhere, and beyond the last point the last
value is.

A family increases with its strength: a mechanism that satisfies the claim of strength s satisfies all larger ones.
Then the infimum of the claims that a level-alpha test does not refute is a lower bound on the true strength with
confidence 1 - alpha: it is wrong only if the test refutes the true claim.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from audits.errors import AuditError
from verification.wire.arrays import Floats

_UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2
_SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
# log_ndtr and exp are within a few units in the last place; tests compare the result with 60 digits.
_ULPS = 64.0


def rounded_up(values: Floats, relative: float = _ULPS * _UNIT_ROUNDOFF) -> Floats:
    """Return at least the true value when ``values`` carries at most the given relative error."""
    return np.minimum(np.asarray(values) * (1.0 + relative) + _SMALLEST_NORMAL, 1.0)


def require_finite(name: str, value: float, *, at_least: float = 0.0, strictly: bool = False) -> float:
    """Return ``value`` if it is finite and large enough; raise with name, value and what would be right."""
    if not math.isfinite(value) or value < at_least or (strictly and value == at_least):
        relation = ">" if strictly else ">="
        raise AuditError(f"{name} must be finite and {relation} {at_least:g}, got {name}={value!r}")
    return value


class PrivacyCurve(abc.ABC):
    """A claim: ``delta(epsilon)`` rounded up, convex and decreasing in e^epsilon, the same in both directions."""

    __slots__ = ()

    @abc.abstractmethod
    def delta(self, epsilon: Floats) -> Floats:
        """Return an upper bound of the claimed delta at each epsilon >= 0."""

    @abc.abstractmethod
    def describe(self) -> str:
        """Return the claim in one short phrase."""

    def epsilon_at(self, delta: float) -> float:
        """Return an epsilon with ``self.delta(epsilon) <= delta``, the smallest up to 1e-12 relative.

        Raises if the curve never comes down to ``delta``.
        """
        require_finite("delta", delta)
        if float(self.delta(np.zeros(1))[0]) <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while float(self.delta(np.array([high]))[0]) > delta:
            low, high = high, 2.0 * high
            if high > 600.0:
                raise AuditError(f"{self.describe()} never reaches delta={delta!r} (tried epsilon up to 600)")
        while high - low > 1e-12 * high:
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            if float(self.delta(np.array([middle]))[0]) > delta:
                low = middle
            else:
                high = middle
        return high

    def betting_epsilons(self, count: int = 20) -> Floats:
        """Return epsilons at which to bet against this curve; any choice is sound."""
        return default_epsilons(self, count, 1e-6)

    def trade_off(self, type_one: Floats, epsilons: Floats | None = None) -> Floats:
        r"""Return a lower bound of the least type II error at each type I error (the trade-off function f).

        f(a) = max over eps >= 0 of 1 - delta - e^eps a and e^-eps (1 - delta - a); any finite set of epsilons
        gives a lower bound, which is the safe side of a claim.
        """
        eps = default_epsilons(self) if epsilons is None else epsilons
        delta = self.delta(eps)[:, None]
        growth = np.exp(eps)[:, None]
        alpha = np.asarray(type_one, dtype=np.float64)[None, :]
        lines = np.maximum(1.0 - delta - growth * alpha, (1.0 - delta - alpha) / growth)
        lower: Floats = np.maximum(lines.max(axis=0), 0.0)
        return lower


def default_epsilons(curve: PrivacyCurve, count: int = 200, least_delta: float = 1e-12) -> Floats:
    """Return epsilons from 0 to where the curve has fallen to ``least_delta`` (or stays above it)."""
    try:
        last = curve.epsilon_at(least_delta)
    except AuditError:
        last = 50.0
    return np.linspace(0.0, max(last, 1e-6), count)


def gaussian_delta_upper(mu: float, epsilon: Floats) -> Floats:
    r"""Return at least Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), within 1e-9 relative for delta > 1e-300.

    The difference is evaluated as Phi(a) * -expm1(eps + log Phi(b) - log Phi(a)), whose exponent carries an absolute
    error of a few units times the size of its terms; that error is added before the exponential.
    """
    eps = np.asarray(epsilon, dtype=np.float64)
    a = 0.5 * mu - eps / mu
    b = -0.5 * mu - eps / mu
    log_a, log_b = log_ndtr(a), log_ndtr(b)
    exponent = eps + log_b - log_a
    # d log Phi(t)/dt grows like |t|, so the rounding of t itself costs t^2 units.
    slack = _ULPS * _UNIT_ROUNDOFF * (1.0 + eps + np.abs(log_a) + np.abs(log_b) + a * a + b * b)
    return rounded_up(np.exp(log_a + slack) * -np.expm1(np.minimum(exponent, 0.0) - slack))


@dataclass(frozen=True, slots=True)
class GaussianCurve(PrivacyCurve):
    """The exact curve of mu-GDP: what any number of Gaussian releases costs (statement G)."""

    mu: float

    def __post_init__(self) -> None:
        require_finite("mu", self.mu, strictly=True)

    def delta(self, epsilon: Floats) -> Floats:
        """Return the hockey-stick divergence of N(mu, 1) against N(0, 1), rounded up."""
        return gaussian_delta_upper(self.mu, epsilon)

    def describe(self) -> str:
        """Return the claim in one short phrase."""
        return f"{self.mu:.6g}-GDP"


@dataclass(frozen=True, slots=True)
class ApproximateCurve(PrivacyCurve):
    """Everything that one (epsilon, delta) implies: pure epsilon-DP at ``failure = 0`` (Kairouz et al. 2015)."""

    epsilon: float
    failure: float = 0.0

    def __post_init__(self) -> None:
        require_finite("epsilon", self.epsilon)
        if not 0.0 <= self.failure <= 1.0:
            raise AuditError(f"delta must be in [0, 1], got delta={self.failure!r}")

    def delta(self, epsilon: Floats) -> Floats:
        """Return failure + (1 - failure) (e^eps0 - e^eps)_+ / (1 + e^eps0), rounded up."""
        eps = np.asarray(epsilon, dtype=np.float64)
        # (e^eps0 - e^eps)/(1 + e^eps0), without overflow for large eps0
        gap = -np.expm1(np.minimum(eps - self.epsilon, 0.0)) / (1.0 + math.exp(-self.epsilon))
        # expm1's argument was rounded by at most one unit of max(eps, eps0)
        slack = np.where(eps < self.epsilon, _UNIT_ROUNDOFF * 4.0 * (eps + self.epsilon), 0.0)
        return rounded_up(self.failure + (1.0 - self.failure) * (gap + slack))

    def betting_epsilons(self, count: int = 20) -> Floats:  # noqa: ARG002 - the signature of every curve
        """Return the one epsilon that was claimed, and 0: the rest of the curve says no more."""
        return np.unique([0.0, self.epsilon])

    def describe(self) -> str:
        """Return the claim in one short phrase."""
        return f"({self.epsilon:.6g}, {self.failure:.3g})-DP"


@dataclass(frozen=True, slots=True)
class TableCurve(PrivacyCurve):
    """The least curve that certified points ``delta_i >= delta(epsilon_i)`` prove."""

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    name: str = "certified table"

    def __post_init__(self) -> None:
        if len(self.epsilons) != len(self.deltas) or not self.epsilons:
            raise AuditError(
                f"a curve needs as many deltas as epsilons, at least one; got {len(self.epsilons)} epsilons and "
                f"{len(self.deltas)} deltas"
            )
        if any(not math.isfinite(e) or e < 0 or e > 700 for e in self.epsilons):
            raise AuditError(f"epsilons must be finite and in [0, 700], got {self.epsilons!r}")
        if any(not 0.0 <= d <= 1.0 for d in self.deltas):
            raise AuditError(f"deltas must be in [0, 1], got {self.deltas!r}")
        if any(b <= a for a, b in zip(self.epsilons, self.epsilons[1:], strict=False)):
            raise AuditError("epsilons must be strictly increasing")

    def delta(self, epsilon: Floats) -> Floats:
        """Return the lower convex hull of the points and (y = 0, 1) at e^epsilon, rounded up."""
        ratios, values = self._hull()
        y = np.exp(np.asarray(epsilon, dtype=np.float64))
        right = np.clip(np.searchsorted(ratios, y), 1, len(ratios) - 1)
        low, high = ratios[right - 1], ratios[right]
        share = np.clip((high - y) / (high - low), 0.0, 1.0)
        chord = share * values[right - 1] + (1.0 - share) * values[right]
        # y, the abscissae and the quotient are rounded: a few units of the chord's rise over one relative unit of y
        slack = 64.0 * float(np.finfo(np.float64).eps) * (values[right - 1] - values[right]) * high / (high - low)
        return rounded_up(np.where(y >= ratios[-1], values[-1], chord + slack))

    def _hull(self) -> tuple[Floats, Floats]:
        hull: list[tuple[float, float]] = []
        least = 1.0
        for y, d in [(0.0, 1.0), *zip(np.exp(self.epsilons).tolist(), self.deltas, strict=True)]:
            least = min(least, d)
            point = (float(y), least)
            while len(hull) > 1 and _not_convex(hull[-2], hull[-1], point):
                hull.pop()
            hull.append(point)
        abscissae, ordinates = zip(*hull, strict=True)
        return np.array(abscissae), np.array(ordinates)

    def describe(self) -> str:
        """Return the claim in one short phrase."""
        return self.name


def _not_convex(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    """Whether the middle point lies on or above the chord, so that the chord is the tighter valid bound."""
    left = (middle[1] - first[1]) * (last[0] - first[0])
    right = (last[1] - first[1]) * (middle[0] - first[0])
    return left >= right


@dataclass(frozen=True, slots=True)
class ClaimFamily:
    """Curves that increase with ``strength`` in [least, greatest]."""

    name: str
    curve: Callable[[float], PrivacyCurve]
    least: float
    greatest: float

    def __post_init__(self) -> None:
        require_finite("least", self.least, strictly=True)
        if not self.greatest > self.least:
            raise AuditError(f"greatest must be > least, got least={self.least!r}, greatest={self.greatest!r}")
