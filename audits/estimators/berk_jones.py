"""Simultaneous confidence bands on both score distributions: a fixed-size test of every point of a curve at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audits.curves.families import ClaimFamily
from audits.curves.privacy_curve import PrivacyCurve, default_epsilons
from audits.errors import AuditError
from audits.estimators.result import Assumption, LowerBound, require_confidence
from audits.estimators.uniform_band import tail_band
from audits.score_models.model import checked_scores
from verification.wire.arrays import Floats

ASSUMES = (Assumption.FRESH_TRIALS, Assumption.CLAIMED_CURVE)


@dataclass(frozen=True, slots=True)
class RocBand:
    """At each threshold, with joint confidence: P(score > t) of the first at least, of the second at most, this."""

    thresholds: Floats
    first_at_least: Floats
    second_at_most: Floats
    runs: int

    def excess(self, curve: PrivacyCurve, epsilons: Floats | None = None) -> float:
        """Return the largest certified P(S) - e^eps Q(S) - delta(eps), over events and directions; > 0 refutes."""
        eps = default_epsilons(curve, 120, 1e-9) if epsilons is None else epsilons
        growth = np.exp(eps)[:, None]
        forward = (self.first_at_least[None, :] - growth * self.second_at_most[None, :]).max(axis=1)
        backward = ((1.0 - self.second_at_most)[None, :] - growth * (1.0 - self.first_at_least)[None, :]).max(axis=1)
        # float rounding of the two products, charged to the auditor
        slack = 1e-13 * np.exp(eps)
        return float((np.maximum(forward, backward) - slack - curve.delta(eps)).max())

    def epsilon_at(self, delta: float) -> float:
        """Return the largest epsilon that the band certifies at one delta, assuming no curve (0 if none)."""
        hits = [(self.first_at_least, self.second_at_most), (1.0 - self.second_at_most, 1.0 - self.first_at_least)]
        best = 0.0
        for seen, unseen in hits:
            possible = (seen > delta) & (unseen > 0.0)
            if possible.any():
                best = max(best, float(np.log((seen[possible] - delta) / unseen[possible]).max()))
        return best


def roc_band(first: Floats, second: Floats, *, confidence: float) -> RocBand:
    """Return the band on both tails; each side may miss with probability (1 - confidence)/2.

    The reversed direction, on {score <= t}, needs the same two one-sided bands, so nothing is paid for it.
    """
    miss = 0.5 * require_confidence(confidence)
    a, b = np.sort(checked_scores("first", first)), np.sort(checked_scores("second", second))
    thresholds = np.unique(np.concatenate([a, b]))
    above_first = a.size - np.searchsorted(a, thresholds, side="right")
    above_second = b.size - np.searchsorted(b, thresholds, side="right")
    at_least = tail_band(a.size, miss)[above_first]
    at_most = 1.0 - tail_band(b.size, miss)[b.size - above_second]
    # thresholds between which neither bound changes are the same constraint: nothing is lost by keeping one
    moves = (np.diff(at_least) != 0.0) | (np.diff(at_most) != 0.0)
    kept = np.concatenate([[True], moves])
    return RocBand(thresholds[kept], at_least[kept], at_most[kept], min(a.size, b.size))


def lower_bound(
    family: ClaimFamily, first: Floats, second: Floats, *, delta: float, confidence: float = 0.95
) -> LowerBound:
    """Return the epsilon at ``delta`` of the infimum of the claims that the band does not refute.

    The band is computed once and curves increase with strength, so refutation is monotone and bisection is exact.
    """
    band = roc_band(first, second, confidence=confidence)
    low, high = family.least, family.greatest
    name = "Berk-Jones band against the curve"
    assumes = (*ASSUMES, Assumption.FAMILY)
    if band.excess(family.curve(low)) <= 0.0:
        return LowerBound(name, 0.0, delta, confidence, assumes, band.runs)
    if band.excess(family.curve(high)) > 0.0:
        raise AuditError(f"every claim of {family.name} up to strength {high:g} is refuted; extend the family")
    while high - low > 1e-4 * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if band.excess(family.curve(middle)) > 0.0 else (low, middle)
    return LowerBound(name, family.curve(low).epsilon_at(delta), delta, confidence, assumes, band.runs)


def point_lower_bound(first: Floats, second: Floats, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """Return the epsilon that the band certifies at ``delta`` for any mechanism whatever."""
    band = roc_band(first, second, confidence=confidence)
    epsilon = band.epsilon_at(delta)
    return LowerBound(
        "Berk-Jones band on (epsilon, delta)", epsilon, delta, confidence, (Assumption.FRESH_TRIALS,), band.runs
    )
