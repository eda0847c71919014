"""What every estimator returns: a bound, its confidence, its assumptions, and the number of runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from audits.errors import AuditError, AuditFault


class Assumption(Enum):
    """What an estimator assumes, as a phrase for reports."""

    FRESH_TRIALS = "trials are independent, each with fresh randomness"
    FIXED_EVENTS = "events and bets were fixed before the trials they are used on"
    FAMILY = "the mechanism obeys some member of the family of claims"
    GAUSSIAN_SHAPE = "the claim is Gaussian (mu-GDP); meaningless for any other"
    CANARY_COINS = "each canary was included by its own fair coin, unknown to the guesser"
    CLAIMED_CURVE = "the mechanism is held to its whole claimed curve, not to one point of it"


@dataclass(frozen=True, slots=True)
class LowerBound:
    """With probability at least ``confidence`` the mechanism costs at least ``epsilon`` at ``delta``."""

    method: str
    epsilon: float
    delta: float
    confidence: float
    assumes: tuple[Assumption, ...]
    runs: int

    def __post_init__(self) -> None:
        # A bound that is not a number would compare as "not above the claim" and read as a pass.
        if math.isnan(self.epsilon) or self.epsilon < 0.0:
            raise AuditFault(f"{self.method} returned epsilon={self.epsilon!r}; a lower bound is a number >= 0")


def require_confidence(confidence: float) -> float:
    """Return 1 - confidence, the probability of being wrong, if it lies in (0, 1)."""
    if not 0.0 < confidence < 1.0:
        raise AuditError(f"confidence must be in (0, 1), got confidence={confidence!r}")
    return 1.0 - confidence
