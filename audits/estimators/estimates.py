"""Lower bounds on epsilon by every estimator that applies to a claim, from one set of scores."""

from __future__ import annotations

from dataclasses import dataclass

from audits.curves.privacy_curve import GaussianCurve, PrivacyCurve
from audits.estimators import berk_jones, clopper_pearson, gaussian_shaped, point_eprocess, renyi
from audits.estimators.noise_family import pair_lower_bound
from audits.estimators.result import Assumption
from audits.score_models.model import Simulator
from audits.score_models.stepwise import StepwiseScores
from verification.wire.arrays import Floats

_RENYI_ORDERS = (2.0, 8.0)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A lower bound on epsilon at delta, or (``order`` given) on the Renyi divergence of that order."""

    method: str
    value: float
    confidence: float
    runs: int
    assumes: tuple[Assumption, ...]
    delta: float | None = None
    order: float | None = None

    def describe(self) -> str:
        """Return one line for a report."""
        what = f"epsilon at delta {self.delta:g}" if self.order is None else f"Renyi divergence of order {self.order:g}"
        return f"{what} is at least {self.value:.4g} ({self.confidence:.0%}, {self.method}, {self.runs} runs a side)"

    def document(self) -> dict[str, object]:
        """Return plain data; reals as decimal strings."""
        return {
            "method": self.method,
            "at_least": repr(self.value),
            "delta": None if self.delta is None else repr(self.delta),
            "order": None if self.order is None else repr(self.order),
            "confidence": repr(self.confidence),
            "runs": self.runs,
            "assumes": [assumption.value for assumption in self.assumes],
        }


def estimates(
    first: Floats,
    second: Floats,
    claim: PrivacyCurve,
    delta: float,
    *,
    confidence: float = 0.95,
    pair: Simulator | None = None,
) -> list[Estimate]:
    """Return every applicable bound, each at its own ``confidence`` (they are not jointly valid at it).

    ``pair`` says what the game's pair shows: where it does so step by step, the curve that it attains is used, too.
    """
    bounds = [
        clopper_pearson.lower_bound(first, second, delta=delta, confidence=confidence),
        berk_jones.point_lower_bound(first, second, delta=delta, confidence=confidence),
        point_eprocess.lower_bound(first, second, delta=delta, confidence=confidence),
    ]
    if isinstance(pair, StepwiseScores):
        bounds.insert(0, pair_lower_bound(pair, first, second, delta=delta, confidence=confidence))
    if isinstance(claim, GaussianCurve):
        bounds.append(gaussian_shaped.lower_bound(claim, first, second, delta=delta, confidence=confidence))
    found = [Estimate(b.method, b.epsilon, b.confidence, b.runs, b.assumes, delta=b.delta) for b in bounds]
    for order in _RENYI_ORDERS:
        r = renyi.lower_bound(first, second, order=order, confidence=confidence)
        found.append(Estimate("Donsker-Varadhan", r.divergence, r.confidence, r.runs, r.assumes, order=r.order))
    return found
