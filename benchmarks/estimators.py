"""Claims and estimators that only comparisons and tests use: the package ships what an audit needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri

from audits.curves import (
    ApproximateCurve,
    ClaimFamily,
    GaussianCurve,
    PrivacyCurve,
    require_finite,
    rounded_up,
)
from audits.eprocess.confidence import (
    Assumption,
    LowerBound,
    binomial_at_least,
    require_confidence,
    roc_band,
)
from audits.eprocess.curve_test import SEEN, CurveTest, bets_for
from audits.eprocess.lower_bounds import split_trials
from audits.eprocess.scores import ScoreTails, checked_scores
from audits.errors import AuditError
from verification.wire.arrays import Floats

_UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2
BAND_ASSUMES = (Assumption.FRESH_TRIALS, Assumption.CLAIMED_CURVE, Assumption.FAMILY)


class UnsupportedClaim(AuditError):
    """An estimator was asked about a claim it was not proved for."""


@dataclass(frozen=True, slots=True)
class LaplaceCurve(PrivacyCurve):
    """The exact curve of the Laplace mechanism with sensitivity / scale = ``epsilon``."""

    epsilon: float

    def __post_init__(self) -> None:
        require_finite("epsilon", self.epsilon, strictly=True)

    def delta(self, epsilon: Floats) -> Floats:
        """Return (1 - e^((eps - eps0)/2))_+, rounded up."""
        eps = np.asarray(epsilon, dtype=np.float64)
        slack = np.where(eps < self.epsilon, _UNIT_ROUNDOFF * 2.0 * (eps + self.epsilon), 0.0)
        return rounded_up(-np.expm1(np.minimum(0.5 * (eps - self.epsilon), 0.0) - slack))

    def describe(self) -> str:
        """Return the claim in one short phrase."""
        return f"Laplace of epsilon {self.epsilon:.6g}"


def gaussian_family(least: float = 1e-2, greatest: float = 20.0) -> ClaimFamily:
    """Return mu-GDP, strength mu."""
    return ClaimFamily("mu-GDP", GaussianCurve, least, greatest)


def pure_family(least: float = 1e-2, greatest: float = 20.0) -> ClaimFamily:
    """Return pure epsilon-DP, strength epsilon."""
    return ClaimFamily("pure DP", ApproximateCurve, least, greatest)


def laplace_family(least: float = 1e-2, greatest: float = 20.0) -> ClaimFamily:
    """Return the Laplace mechanism, strength sensitivity / scale."""
    return ClaimFamily("Laplace", LaplaceCurve, least, greatest)


def band_bound(
    family: ClaimFamily, first: Floats, second: Floats, *, delta: float, confidence: float = 0.95
) -> LowerBound:
    """Return the epsilon at ``delta`` of the infimum of the claims that the band does not refute.

    The band is computed once and curves increase with strength, so refutation is monotone and bisection is exact.
    """
    band = roc_band(first, second, confidence=confidence)
    low, high = family.least, family.greatest
    name = "Berk-Jones band against the curve"
    assumes = BAND_ASSUMES
    if band.excess(family.curve(low)) <= 0.0:
        return LowerBound(name, 0.0, delta, confidence, assumes, band.runs)
    if band.excess(family.curve(high)) > 0.0:
        raise AuditError(f"every claim of {family.name} up to strength {high:g} is refuted; extend the family")
    while high - low > 1e-4 * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if band.excess(family.curve(middle)) > 0.0 else (low, middle)
    return LowerBound(name, family.curve(low).epsilon_at(delta), delta, confidence, assumes, band.runs)


def designed(curve: PrivacyCurve, tails: ScoreTails, *, alpha: float, budget: int) -> CurveTest | None:
    """Return a test for tails that were seen; None where no bet could win."""
    log_target = -math.log(alpha * SEEN.final_share)
    bets = bets_for(curve, [tails], tails, SEEN, log_target=log_target, budget=budget)
    return CurveTest(bets, SEEN.shares) if any(bet is not None for bet in bets) else None


def point_refutes(first: Floats, second: Floats, *, epsilon: float, delta: float, alpha: float) -> bool:
    """Whether (epsilon, delta)-DP itself is refuted, with false-alarm probability at most ``alpha``."""
    split = split_trials(first, second)
    curve = ApproximateCurve(epsilon, delta)
    test = designed(curve, split.tails, alpha=alpha, budget=split.left)
    # None: the design trials show nothing to bet on
    return test is not None and test.refutes(curve, split.first, split.second, alpha)


IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HeldOutRates:
    """Counts of one event on runs that did not choose it."""

    hits: int
    hit_trials: int
    false_hits: int
    false_trials: int


Merit = Callable[[Floats, Floats], Floats]


def held_out_rates(first: Floats, second: Floats, *, merit: Merit, miss: float) -> HeldOutRates:
    """Choose threshold and direction on the even runs, count on the odd ones.

    ``merit(at_least, at_most)`` is the value of bounds on the hit rate and the false hit rate.
    """
    checked_scores("first", first)
    checked_scores("second", second)
    if min(first.size, second.size) < 4:
        raise AuditError(f"held-out selection needs at least 4 runs a side, got {first.size} and {second.size}")
    threshold, reverse = _choose(first[::2], second[::2], merit, miss)
    a, b = first[1::2], second[1::2]
    above_a, above_b = int((a > threshold).sum()), int((b > threshold).sum())
    if reverse:
        return HeldOutRates(b.size - above_b, b.size, a.size - above_a, a.size)
    return HeldOutRates(above_a, a.size, above_b, b.size)


def _choose(first: Floats, second: Floats, merit: Merit, miss: float) -> tuple[float, bool]:
    """Return the threshold and direction with the best Clopper-Pearson bounds on the selection half."""
    a, b = np.sort(first), np.sort(second)
    pooled = np.sort(np.concatenate([a, b]))
    thresholds = np.unique(pooled[np.linspace(0, pooled.size - 1, min(pooled.size, 1000)).astype(np.int64)])
    above_a = a.size - np.searchsorted(a, thresholds, side="right")
    above_b = b.size - np.searchsorted(b, thresholds, side="right")
    forward = merit(*_bounds(above_a, a.size, above_b, b.size, miss))
    backward = merit(*_bounds(b.size - above_b, b.size, a.size - above_a, a.size, miss))
    reverse = bool(backward.max() > forward.max())
    best = int(np.argmax(backward if reverse else forward))
    return float(thresholds[best]), reverse


def _bounds(
    hits: IntArray, hit_trials: int, false_hits: IntArray, false_trials: int, miss: float
) -> tuple[Floats, Floats]:
    at_least = np.where(hits > 0, betaincinv(np.maximum(hits, 1), hit_trials - hits + 1, miss), 0.0)
    spared = false_trials - false_hits
    at_most = 1.0 - np.where(spared > 0, betaincinv(np.maximum(spared, 1), false_trials - spared + 1, miss), 0.0)
    return at_least, at_most


def binomial_at_most(successes: int, trials: int, miss: float) -> float:
    """Return the Clopper-Pearson upper bound: the success probability is larger with probability <= ``miss``."""
    return 1.0 - binomial_at_least(trials - successes, trials, miss)


def gaussian_shaped_bound(
    claim: PrivacyCurve, first: Floats, second: Floats, *, delta: float, confidence: float = 0.95
) -> LowerBound:
    """Return the epsilon at ``delta`` of the mu-GDP that one held-out operating point forces (Nasr et al. 2023).

    The point is extended over the whole curve as if it were Gaussian: valid for Gaussian claims only, and refused for
    every other, since on a correct Laplace mechanism it always raises a false alarm.
    """
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
