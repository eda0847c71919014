r"""Lower bounds from a single training run with canaries, each included or not by its own fair coin.

With replace-one neighbours a coin decides which of two records a slot holds. The auditor guesses ``guesses`` of the
``canaries`` coins (and abstains on the rest) from the output and counts how many guesses are right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, gammaln, xlog1py, xlogy

from audits.curves import ClaimFamily, PrivacyCurve
from audits.eprocess.confidence import Assumption, LowerBound, require_confidence
from audits.errors import AuditError
from verification.wire.arrays import Floats

ASSUMES = (Assumption.CANARY_COINS,)


@dataclass(frozen=True, slots=True)
class Guesses:
    """Of ``canaries`` fair coins, ``guesses`` were guessed and ``correct`` of those rightly."""

    canaries: int
    guesses: int
    correct: int

    def __post_init__(self) -> None:
        if not 0 <= self.correct <= self.guesses <= self.canaries or self.canaries < 1:
            raise AuditError(
                "needs 0 <= correct <= guesses <= canaries and canaries >= 1, got "
                f"correct={self.correct}, guesses={self.guesses}, canaries={self.canaries}"
            )


def guess_by_score(scores: Floats, coins: Floats, guesses: int) -> Guesses:
    """Guess "in" for the highest scores and "out" for the lowest, half each; ``coins`` are +1 (in) and -1 (out)."""
    if scores.shape != coins.shape or scores.ndim != 1:
        raise AuditError(f"needs one score a coin, got shapes {scores.shape} and {coins.shape}")
    if not 0 < guesses <= scores.size:
        raise AuditError(f"guesses must be in [1, {scores.size}], got guesses={guesses!r}")
    order = np.argsort(scores, kind="stable")
    low = guesses // 2
    right_low = int((coins[order[:low]] < 0).sum())
    right_high = int((coins[order[scores.size - (guesses - low) :]] > 0).sum())
    return Guesses(int(scores.size), guesses, right_low + right_high)


def binomial_p_value(seen: Guesses, epsilon: float, delta: float) -> float:
    r"""Return at least P(this many correct or more) under (epsilon, delta)-DP (Steinke, Nasr, Jagielski 2023, Thm 5.2).

    beta + 2 m delta max_i P(v > W >= v-i)/i with W binomial of success e^eps/(1+e^eps).
    """
    success = 1.0 / (1.0 + np.exp(-epsilon))
    v, r = seen.correct, seen.guesses
    # P(Bin(r, p) >= v) is a regularised incomplete beta function
    beta_term = 1.0 if v == 0 else float(betainc(v, r - v + 1, success))
    extra = 0.0
    if delta > 0.0 and seen.correct > 0:
        k = np.arange(v - 1, -1, -1)
        choose = gammaln(r + 1) - gammaln(k + 1) - gammaln(r - k + 1)
        below = np.exp(choose + xlogy(k, success) + xlog1py(r - k, -success))
        steps = np.arange(1, seen.correct + 1)
        extra = 2.0 * seen.canaries * delta * float((np.cumsum(below) / steps).max())
    return min(1.0, (beta_term + extra) * (1.0 + 1e-9))


def curve_p_value(seen: Guesses, curve: PrivacyCurve) -> float:
    """Return at least P(this many correct or more) under the claimed curve (Mahloujifar, Melis, Chaudhuri 2024).

    The largest tail mass tau that the recursion of :func:`feasible` cannot exclude, found by bisection from above.
    """
    if seen.correct == 0 or seen.guesses == 0:
        return 1.0
    inverse = _inverse_trade_off(curve)
    low, high = 0.0, 1.0
    if feasible(seen, inverse, 1.0):
        return 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if feasible(seen, inverse, middle) else (low, middle)
    return high


def feasible(seen: Guesses, inverse: Callable[[float], float], tail: float) -> bool:
    r"""Whether a mechanism on the curve could be right ``correct`` times or more with probability ``tail``.

    Let p_j be the probability of exactly j right guesses of r, out of m coins. Flipping the coin of a right guess
    makes it wrong and changes nothing else, so by the trade-off f and its concave complement F = 1 - f, averaged over
    the m coins, R_t = sum_{j>=t} j p_j / m <= F(L_{t-1}) with L_t = sum_{j>=t} (r-j) p_j / m, for every t. Starting
    with all of the tail at exactly v and giving every lower level the least mass that these inequalities force
    minimises the total mass: (R, L) grows in the order "R_A - R_B >= (t/(r-t)) max(L_A - L_B, 0) and R_A + L_A >=
    R_B + L_B", which each step preserves because t/(r-t) falls with t. If even that total exceeds r/m, ``tail`` is
    impossible.
    """
    m, r, v = seen.canaries, seen.guesses, seen.correct
    right, wrong = tail * v / m, tail * (r - v) / m
    available = r / m
    for level in range(v - 1, -1, -1):
        forced = max(wrong, inverse(right))
        right += (forced - wrong) * level / (r - level)
        wrong = forced
        if right + wrong > available * (1.0 + 1e-12):
            return False
    return True


def _inverse_trade_off(curve: PrivacyCurve) -> Callable[[float], float]:
    """Return x(y) = a lower bound of the least x with F(x) >= y, from hockey-stick lines in both directions."""
    epsilons = np.linspace(0.0, _last_useful_epsilon(curve), 400)
    delta = curve.delta(epsilons)
    growth = np.exp(epsilons)

    def inverse(y: float) -> float:
        lines = np.maximum((y - delta) / growth, 1.0 - delta - growth * (1.0 - y))
        return max(0.0, float(lines.max()) * (1.0 - 1e-12))

    return inverse


def _last_useful_epsilon(curve: PrivacyCurve) -> float:
    try:
        return max(curve.epsilon_at(1e-9), 1e-6)
    except AuditError:
        return 20.0


def point_lower_bound(seen: Guesses, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """Return the largest epsilon whose binomial p-value is below 1 - confidence (it falls with epsilon)."""
    alpha = require_confidence(confidence)
    low, high = 0.0, 50.0
    if binomial_p_value(seen, 0.0, delta) < alpha:
        while high - low > 1e-6:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if binomial_p_value(seen, middle, delta) < alpha else (low, middle)
    return LowerBound("one run, binomial", low, delta, confidence, ASSUMES, 1)


def curve_lower_bound(family: ClaimFamily, seen: Guesses, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """Return the epsilon at ``delta`` of the weakest claim of the family that one run does not refute."""
    alpha = require_confidence(confidence)
    assumes = (*ASSUMES, Assumption.CLAIMED_CURVE, Assumption.FAMILY)
    low, high = family.least, family.greatest
    # feasible() only shrinks as curves grow, so refutation is monotone along the family
    refuted = [_refutes(family, seen, s, alpha) for s in (low, high)]
    if not refuted[0]:
        return LowerBound("one run, f-DP", 0.0, delta, confidence, assumes, 1)
    if refuted[1]:
        raise AuditError(f"every claim of {family.name} up to strength {high:g} is refuted; extend the family")
    while high - low > 1e-3 * low:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _refutes(family, seen, middle, alpha) else (low, middle)
    return LowerBound("one run, f-DP", family.curve(low).epsilon_at(delta), delta, confidence, assumes, 1)


def _refutes(family: ClaimFamily, seen: Guesses, strength: float, alpha: float) -> bool:
    return not feasible(seen, _inverse_trade_off(family.curve(strength)), alpha)
