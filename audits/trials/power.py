"""Power by simulation: the same test applied to the claimed mechanism with less noise."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from audits.curves.privacy_curve import PrivacyCurve
from audits.errors import AuditError
from audits.estimators.clopper_pearson import binomial_at_least
from audits.estimators.curve_eprocess import CurveTest, refuted_after
from audits.score_models.model import Simulator
from verification.outcome import Power

_STEP = 1.05
_LARGEST_DIVISOR = 16.0
_SCORES_AT_ONCE = 400_000
# the search may be rough: what it finds is confirmed, or moved up, by simulations of its own
_SEARCH = 40


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

    def enough(index: int) -> bool:
        return refuted(index, _SEARCH) >= power * _SEARCH

    low, high = _bracket(enough, divisors.index(_nearest(divisors, wanted)), len(divisors) - 1)
    if high == len(divisors):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    for index in range(high, len(divisors)):
        sure = binomial_at_least(refuted(index, simulations), simulations, 0.05)
        if sure >= power:
            return Power(divisors[index], sure, simulations)
    return None


def _bracket(enough: Callable[[int], bool], start: int, last: int) -> tuple[int, int]:
    """A divisor that is not caught, and one that is, in growing steps from ``start`` on; -1, last + 1 for none."""
    step = 1
    if enough(start):
        low, high = start - 1, start
        while low >= 0 and enough(low):
            low, high, step = max(-1, low - 2 * step), low, 2 * step
        return max(low, -1), high
    low, high = start, start + 1
    while high <= last and not enough(high):
        if high == last:
            return last, last + 1
        low, high, step = high, min(last, high + 2 * step), 2 * step
    return low, high


def _nearest(divisors: list[float], wanted: float | None) -> float:
    """The divisor asked for, or the middle one: where the search begins."""
    return divisors[len(divisors) // 2] if wanted is None else min(divisors, key=lambda each: abs(each - wanted))


def _divisors(wanted: float | None) -> list[float]:
    """Noise divisors 5 % apart between 1 and 16, the one asked for among them."""
    anchor = wanted if wanted is not None else _STEP
    if not anchor > 1.0:
        raise AuditError(f"the noise divisor asked for must be > 1, got {anchor!r}")
    below = math.floor(math.log(anchor) / math.log(_STEP) - 1e-9)
    above = max(0, math.floor(math.log(_LARGEST_DIVISOR / anchor) / math.log(_STEP)))
    return [anchor * _STEP**k for k in range(-below, above + 1)]
