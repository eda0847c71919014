"""Power: how many trial pairs a leak needs, and the smallest leak that so many find.

Before the runs it is computed from the tails of the leak's scores (`trials_needed`); after them, where a verdict rests
on it, it is what simulated audits by the same test found (`smallest_caught`).
"""

from __future__ import annotations

import enum
import functools
import math

import numpy as np
from scipy.special import ndtri

from audits.curves import PrivacyCurve, gaussian_delta_upper
from audits.eprocess.bets import bin_masses, log_optimal
from audits.eprocess.confidence import binomial_at_least
from audits.eprocess.curve_test import SEEN, CurveTest, refuted_after
from audits.eprocess.scores import THRESHOLDS, GaussianScores, ScoreModel, ScoreTails, Simulator
from audits.errors import AuditError, NoPower
from verification.outcome import Power
from verification.wire.arrays import Floats

LARGEST_AUDIT = 200_000
_LARGEST_DIVISOR, _LADDER = 16.0, 1.25  # of the noise, and the steps in which it is looked for
_PLANNED = 0.98  # that a planned audit shows what it is planned for
_STEP = 1.05
_SCORES_AT_ONCE = 400_000
# the search may be rough: what it finds is confirmed, or moved up, by simulations of its own
_SEARCH = 40


class Shape(enum.Enum):
    """The shape of a leak: what one number that shows all of it looks like on both neighbours."""

    GAUSSIAN = "Gaussian-shaped"
    LAPLACE = "Laplace-shaped"
    WORST_CASE = "worst-case"

    @classmethod
    def of_noise(cls, delta: float) -> Shape:
        """The shape that added noise gives: Gaussian noise has no epsilon at delta = 0."""
        return cls.GAUSSIAN if delta > 0.0 else cls.LAPLACE

    @functools.lru_cache(maxsize=256)
    def tails(self, epsilon: float, delta: float) -> ScoreTails:
        """Return the tails of the leak that is just (epsilon, delta)-DP."""
        if self is Shape.WORST_CASE:
            hit = (1.0 - delta) / (1.0 + math.exp(-epsilon))  # Kairouz et al. (2015): four outcomes
            first, second = (
                np.array(each) for each in ((1.0, hit + delta, delta), (1.0 - delta, 1.0 - hit - delta, 0.0))
            )
            return ScoreTails(np.array([0.5, 1.5, 2.5]), first, second)
        if self is Shape.LAPLACE:
            at = np.linspace(-4.0, 4.0 + epsilon, THRESHOLDS)
            return ScoreTails(at, _laplace_tail(at - epsilon), _laplace_tail(at))
        low, high = 1e-6, 100.0
        while high - low > 1e-6 * high:
            mu = 0.5 * (low + high)
            low, high = (low, mu) if float(gaussian_delta_upper(mu, np.array([epsilon]))[0]) > delta else (mu, high)
        return GaussianScores().tails(low)


def _laplace_tail(at: Floats) -> Floats:
    half = 0.5 * np.exp(-np.abs(at))
    return np.where(at > 0, half, 1.0 - half)


@functools.lru_cache(maxsize=256)
def trials_needed(curve: PrivacyCurve, tails: ScoreTails, *, alpha: float, power: float = 0.9) -> float:
    """Return about how many trial pairs refute the claim if scores are distributed as these tails; infinite if none do.

    Of the log-wealth of constant stakes the mean and the deviation are exact, and their sum is taken as normal. The
    other bets only help. It is the power for a score and a pair that are known, not that of finding them.
    """
    portfolio = log_optimal(curve, tails, SEEN.points).portfolio
    if not portfolio.stake.size:
        return math.inf
    won = portfolio.log_multipliers(curve)
    first, second = (bin_masses(portfolio, tails.thresholds, side) for side in (tails.first, tails.second))
    mean, square = float(first @ won @ second), float(first @ won**2 @ second)
    if mean <= 0.0:
        return math.inf
    spread = float(ndtri(power)) * math.sqrt(max(square - mean * mean, 0.0))
    target = -math.log(alpha * SEEN.shares[0])
    return max(1.0, ((spread + math.sqrt(spread * spread + 4.0 * mean * target)) / (2.0 * mean)) ** 2)


def smallest_found(
    curve: PrivacyCurve, claimed: float, delta: float, shape: Shape, *, alpha: float, trials: int
) -> float:
    """Return the least epsilon above the claim that so many trial pairs refute (within 1 %); infinite above 50."""

    def found(epsilon: float) -> bool:
        return trials_needed(curve, shape.tails(epsilon, delta), alpha=alpha) <= trials

    low, high = claimed, 50.0
    if not found(high):
        return math.inf
    while high - low > 0.01 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if found(middle) else (middle, high)
    return high


def smallest_shown(curve: PrivacyCurve, model: ScoreModel, alpha: float, least: float) -> tuple[float, int]:
    """Return the first noise divisor from ``least`` on (in steps of 25 %) that can be shown, and the trial pairs."""
    divisor = least
    while True:
        pairs = trials_needed(curve, model.tails(divisor), alpha=alpha, power=_PLANNED)
        if pairs <= LARGEST_AUDIT:
            return divisor, math.ceil(pairs)
        if divisor >= _LARGEST_DIVISOR:
            told = f"cannot be shown against {curve.describe()} in {LARGEST_AUDIT} trial pairs"
            raise NoPower(f"noise/{divisor:g} {told}")
        divisor = min(divisor * _LADDER, _LARGEST_DIVISOR)


def caught(
    test: CurveTest,
    curve: PrivacyCurve,
    simulate: Simulator,
    strength: float,
    *,
    alpha: float,
    trials: int,
    simulations: int,
    rng: np.random.Generator,
) -> int:
    """Return how many of ``simulations`` simulated audits of a mechanism of ``strength`` refute ``curve``."""
    refuted, left = 0, simulations
    at_once = max(1, _SCORES_AT_ONCE // trials)
    while left > 0:
        now = min(left, at_once)
        first, second = simulate(strength, now * trials, rng)
        wealth = test.log_wealth(curve, first.reshape(now, trials), second.reshape(now, trials))
        refuted += int(np.isfinite(refuted_after(wealth, alpha)).sum())
        left -= now
    return refuted


def smallest_caught(
    test: CurveTest,
    curve: PrivacyCurve,
    simulate: Simulator,
    *,
    claimed: float = 1.0,
    alpha: float,
    trials: int,
    power: float = 0.9,
    simulations: int = 200,
    seed: int = 0,
    wanted: float | None = None,
) -> Power | None:
    """Return the smallest noise divisor caught with probability ``power`` (5 % apart, ``wanted`` among them), or None.

    The power of the divisor returned is bounded from below at 95 % by simulations of its own, which took no part in
    choosing it. Strength ``claimed`` is the claim's own; the divisor multiplies it.
    """
    if not 0.0 < power < 1.0:
        raise AuditError(f"power must be in (0, 1), got power={power!r}")
    if trials < 1:
        return None
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    divisors = _divisors(wanted)

    def refuted(index: int, number: int) -> int:
        strength = claimed * divisors[index]
        return caught(test, curve, simulate, strength, alpha=alpha, trials=trials, simulations=number, rng=rng)

    low, high = -1, len(divisors)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refuted(middle, _SEARCH) >= power * _SEARCH else (middle, high)
    for index in range(high, len(divisors)):
        sure = binomial_at_least(refuted(index, simulations), simulations, 0.05)
        if sure >= power:
            return Power(divisors[index], sure, simulations)
    return None


def _divisors(wanted: float | None) -> list[float]:
    """Noise divisors 5 % apart between 1 and 16, the one asked for among them."""
    anchor = wanted if wanted is not None else _STEP
    if not anchor > 1.0:
        raise AuditError(f"the noise divisor asked for must be > 1, got {anchor!r}")
    below = math.floor(math.log(anchor) / math.log(_STEP) - 1e-9)
    above = max(0, math.floor(math.log(_LARGEST_DIVISOR / anchor) / math.log(_STEP)))
    return [anchor * _STEP**k for k in range(-below, above + 1)]


def lack_of_power(power: Power | None, wanted: float | None) -> str:
    """Why an audit with this power decides nothing; ``wanted`` is the noise divisor that had to be detectable."""
    if power is None:
        return "too few to detect any violation that was simulated"
    if wanted is not None and power.divisor > wanted:
        return f"but noise/{wanted:.3g} had to be detectable; as it is, {power.describe()}"
    return ""
