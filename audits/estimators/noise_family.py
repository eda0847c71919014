"""The pair of a game with less noise: the family of claims from which an audit derives a lower bound on epsilon.

The claims of this family are the curves that the pair itself attains (``attained.py``), not those that hold for every
pair: with the latter the bound would stay below what the pair attains, however many runs are made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from audits.curves.families import ClaimFamily
from audits.curves.privacy_curve import GaussianCurve, require_finite
from audits.errors import AuditError
from audits.estimators import curve_eprocess
from audits.estimators.result import LowerBound
from audits.score_models.attained import attained_curve
from audits.score_models.composed import ComposedScores
from audits.score_models.model import THRESHOLDS, ScoreModel, ScoreTails
from audits.score_models.stepwise import StepwiseScores
from verification.wire.arrays import Floats

LEAST, GREATEST = 0.25, 8.0


@dataclass(frozen=True, slots=True)
class GaussianRatios:
    """The log-likelihood ratio of a mu-GDP pair at the claimed noise; strength divides the noise."""

    mu: float

    def tails(self, strength: float) -> ScoreTails:
        """Return the exact tails."""
        centre, spread = 0.5 * self.mu**2, self.mu / require_finite("strength", strength, strictly=True)
        t = np.linspace(-centre - 4.5 * spread, centre + 4.5 * spread, THRESHOLDS)
        return ScoreTails(t, ndtr((centre - t) / spread), ndtr((-centre - t) / spread))


def with_less_noise(pair: StepwiseScores) -> tuple[ClaimFamily, ScoreModel]:
    """Return what the pair attains with its noise divided by ``strength``, and how its scores are then distributed."""
    name = "the pair with its noise divided"
    if pair.rate == 1.0:
        mu = math.sqrt(math.fsum(nu**-2 for nu in pair.multipliers))
        return ClaimFamily(name, lambda s: GaussianCurve(mu * s), LEAST, GREATEST), GaussianRatios(mu)
    nu, steps = pair.multipliers[0], len(pair.multipliers)
    if max(pair.multipliers) - min(pair.multipliers) > 1e-9 * nu:
        raise AuditError(f"with batches every step needs the same noise multiplier, got {pair.multipliers!r}")
    family = ClaimFamily(name, lambda s: attained_curve(pair.rate, nu / s, steps), LEAST, GREATEST)
    return family, ComposedScores(pair.rate, nu, steps)


def pair_lower_bound(
    pair: StepwiseScores, first: Floats, second: Floats, *, delta: float, confidence: float = 0.95
) -> LowerBound:
    """Return the confidence lower bound on epsilon at ``delta``: the default e-process over the family above."""
    family, model = with_less_noise(pair)
    try:
        return curve_eprocess.lower_bound(family, model, first, second, delta=delta, confidence=confidence)
    except curve_eprocess.EveryClaimRefuted:
        epsilon = family.curve(family.greatest).epsilon_at(delta)
        return LowerBound(curve_eprocess.METHOD, epsilon, delta, confidence, curve_eprocess.BOUND_ASSUMES, first.size)
