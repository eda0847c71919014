r"""A curve known at finitely many certified points, bounded from above everywhere by convexity.

In y = e^epsilon the true curve H(y) is convex and decreasing with H(0) = 1. So a chord between two upper
bounds is an upper bound between them, the lower convex hull of all points is one everywhere, and beyond the
last point the last value is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from audits.curves.privacy_curve import PrivacyCurve, rounded_up
from audits.errors import AuditError
from verification.wire.arrays import Floats


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
