"""The bound of Nasr et al. (2023): one operating point, extended over the whole curve as if it were Gaussian.

It is valid for Gaussian claims only. On a correct Laplace mechanism it always raises a false alarm, so it refuses
every claim that is not a :class:`GaussianCurve`.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from audits.curves.privacy_curve import GaussianCurve, PrivacyCurve
from audits.errors import UnsupportedClaim
from audits.estimators.clopper_pearson import binomial_at_least, binomial_at_most, held_out_rates
from audits.estimators.result import Assumption, LowerBound, require_confidence
from verification.wire.arrays import Floats


def lower_bound(
    claim: PrivacyCurve, first: Floats, second: Floats, *, delta: float, confidence: float = 0.95
) -> LowerBound:
    """Return the epsilon at ``delta`` of the mu-GDP that one held-out operating point forces."""
    if not isinstance(claim, GaussianCurve):
        raise UnsupportedClaim(
            f"the GDP-shaped bound holds for Gaussian claims only, got {claim.describe()}; use the e-process against "
            "the curve instead"
        )
    miss = 0.5 * require_confidence(confidence)

    def merit(hit: Floats, false_hit: Floats) -> Floats:
        difference: Floats = ndtri(np.maximum(hit, 1e-300)) - ndtri(false_hit)
        return difference

    rates = held_out_rates(first, second, merit=merit, miss=miss)
    at_least = binomial_at_least(rates.hits, rates.hit_trials, miss)
    at_most = binomial_at_most(rates.false_hits, rates.false_trials, miss)
    mu = float(ndtri(at_least) - ndtri(at_most)) if at_least > 0.0 and at_most < 1.0 else 0.0
    epsilon = GaussianCurve(mu).epsilon_at(delta) if mu > 0.0 else 0.0
    assumes = (Assumption.FRESH_TRIALS, Assumption.GAUSSIAN_SHAPE)
    return LowerBound("GDP-shaped", epsilon, delta, confidence, assumes, min(first.size, second.size))
