"""One-parameter families of claims, inverted to give a confidence lower bound on epsilon.

A family increases with its strength: a mechanism that satisfies the claim of strength s satisfies all larger ones.
Then the infimum of the claims that a level-alpha test does not refute is a lower bound on the true strength with
confidence 1 - alpha: it is wrong only if the test refutes the true claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from audits.curves.privacy_curve import ApproximateCurve, GaussianCurve, LaplaceCurve, PrivacyCurve, require_finite
from audits.errors import AuditError


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


def gaussian_family(least: float = 1e-2, greatest: float = 20.0) -> ClaimFamily:
    """Return mu-GDP, strength mu."""
    return ClaimFamily("mu-GDP", GaussianCurve, least, greatest)


def pure_family(least: float = 1e-2, greatest: float = 20.0) -> ClaimFamily:
    """Return pure epsilon-DP, strength epsilon."""
    return ClaimFamily("pure DP", ApproximateCurve, least, greatest)


def laplace_family(least: float = 1e-2, greatest: float = 20.0) -> ClaimFamily:
    """Return the Laplace mechanism, strength sensitivity / scale."""
    return ClaimFamily("Laplace", LaplaceCurve, least, greatest)


def approximate_family(delta: float, least: float = 1e-2, greatest: float = 20.0) -> ClaimFamily:
    """Return (epsilon, delta)-DP at a fixed delta, strength epsilon: one point, no other claim."""
    return ClaimFamily(f"(epsilon, {delta:g})-DP", lambda s: ApproximateCurve(s, delta), least, greatest)
