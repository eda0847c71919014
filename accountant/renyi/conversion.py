r"""From a Renyi curve to (epsilon, delta), and the order that makes it smallest.

- Proposition 1 of [CL20] (Mironov 2017): eps + log(1/delta)/(alpha-1).
- Canonne, Kamath and Steinke 2020, Proposition 12 (Balle et al. 2020, Theorem 21):
  eps + log((alpha-1)/alpha) - (log delta + log alpha)/(alpha-1).

Every order gives a valid epsilon, so the search for the best one needs no proof: it runs at low precision, and only
its winner is evaluated with certified digits. A negative value means that (0, delta) already holds.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.numbers import Bound, arb_from_fraction, arb_precision, fraction_from_arb, has_digits, precisions, shown

LogMoment = Callable[[Fraction, int], arb]
"""(alpha, bits) to a ball around K(alpha) = (alpha-1) eps(alpha)."""

MomentGuess = Callable[[Fraction], float]
"""From alpha to an approximation of K(alpha), without an error bound; NaN where it is not known."""

SEARCH_BITS = 40
FALLBACKS = 8
LOWEST_EXPONENT, HIGHEST_EXPONENT = -20, 60
"""The search looks at orders alpha = 1 + 2^k with k in this range."""


class Conversion(enum.Enum):
    """How a Renyi bound becomes an (epsilon, delta) bound."""

    PROPOSITION1 = "prop1"
    CKS = "cks"


@dataclass(frozen=True, slots=True)
class Converted:
    """The enclosed bound and the order at which it was taken."""

    epsilon: Bound
    alpha: Fraction


def convert(log_moment: arb, alpha: Fraction, delta: Fraction, conversion: Conversion) -> arb:
    """Return the epsilon of (epsilon, delta)-DP that K(alpha) implies, >= 0, as a ball."""
    a, d = arb_from_fraction(alpha), arb_from_fraction(delta)
    if conversion is Conversion.PROPOSITION1:
        value = (log_moment - d.log()) / (a - 1)
    else:
        value = (log_moment - d.log() - a.log()) / (a - 1) + (-1 / a).log1p()
    return value.max(arb(0))


def best_epsilon(
    curve: LogMoment,
    delta: Fraction,
    conversion: Conversion,
    *,
    digits: int,
    integers: bool,
    whole: bool = False,
    hints: tuple[int, ...] = (),
    guess: MomentGuess | None = None,
) -> Converted:
    """Return the smallest epsilon over the orders searched, enclosed to `digits` significant digits.

    `integers` says that the curve is known at integers and interpolated between them; `whole` that no order between
    integers may be used (the theorems in Coq about discrete noise are about integer orders); `hints` are further
    exponents k from which the search walks downhill among the orders 1 + 2^k; `guess` is about the curve, in float64,
    for the search alone.
    """
    integers = integers or whole
    alpha = best_order(curve, delta, conversion, integers=integers, whole=whole, hints=hints, guess=guess)
    for _ in range(FALLBACKS):
        try:
            return Converted(epsilon_at(curve, alpha, delta, conversion, digits=digits), alpha)
        except CannotCertifyError:
            check_time()
            alpha = _easier(alpha, integers=integers)
    return Converted(epsilon_at(curve, alpha, delta, conversion, digits=digits), alpha)


def _easier(alpha: Fraction, *, integers: bool) -> Fraction:
    """Return a smaller order: as valid, and easier where the answer needs more digits than the search did."""
    shrunk = 1 + (alpha - 1) * 3 / 4
    return max(Fraction(2), Fraction(int(shrunk))) if integers else shrunk


def epsilon_at(curve: LogMoment, alpha: Fraction, delta: Fraction, conversion: Conversion, *, digits: int) -> Bound:
    """Enclose the epsilon that one order gives; raise where the digits cannot be had."""
    for bits in precisions(digits):
        check_time()
        with arb_precision(bits):
            value = convert(curve(alpha, bits), alpha, delta, conversion)
            if has_digits(value, digits):
                return Bound.from_arb(value)
    raise CannotCertifyError(f"no {digits} certified digits at alpha={shown(alpha)} within {bits} bits")


def best_order(
    curve: LogMoment,
    delta: Fraction,
    conversion: Conversion,
    *,
    integers: bool,
    whole: bool = False,
    hints: tuple[int, ...] = (),
    guess: MomentGuess | None = None,
) -> Fraction:
    """Return an order close to the best one: doubling to bracket it, then golden sections."""
    with arb_precision(SEARCH_BITS + 32):
        objective = _Objective(curve, delta, conversion, guess)
        lowest = 0 if integers else LOWEST_EXPONENT
        exponent = min(
            (_walk_downhill(objective, lowest, start) for start in {5, *hints}),
            key=lambda k: objective(1 + Fraction(2) ** k),
        )
        low, high = 1 + Fraction(2) ** (exponent - 1), 1 + Fraction(2) ** (exponent + 1)
        if not integers:
            return _golden(objective, low, high, rounds=18)
        best = _best_integer(objective, max(2, low.__ceil__()), high.__floor__())
        if whole or conversion is Conversion.PROPOSITION1:
            return Fraction(best)  # (A + B s)/s is monotone in s: the chord's minimum is at an end
        around = [
            _golden(objective, Fraction(best + side), Fraction(best + side + 1), rounds=16)
            for side in (-1, 0)
            if best + side >= 2
        ]
        return min([Fraction(best), *around], key=objective)


class _Objective:
    """epsilon as a function of the order, remembered, at search precision; +infinity where it cannot be had."""

    def __init__(
        self, curve: LogMoment, delta: Fraction, conversion: Conversion, guess: MomentGuess | None = None
    ) -> None:
        self._curve, self._delta, self._conversion, self._guess = curve, delta, conversion, guess
        self._known: dict[Fraction, Fraction] = {}
        self._log_delta = float(arb_from_fraction(delta).log())

    def __call__(self, alpha: Fraction) -> Fraction:
        known = self._known.get(alpha)
        if known is None:
            known = self._known[alpha] = self._found(alpha)
        return known

    def _found(self, alpha: Fraction) -> Fraction:
        guessed = math.nan if self._guess is None else self._guessed(self._guess(alpha), float(alpha))
        if math.isfinite(guessed):
            return Fraction(guessed)
        check_time()
        try:
            ball = convert(self._curve(alpha, SEARCH_BITS), alpha, self._delta, self._conversion)
        except CannotCertifyError:
            check_time()
            ball = arb("nan")
        usable = ball.is_finite() and (ball.is_zero() or ball.rel_accuracy_bits() > 8)
        return fraction_from_arb(ball.mid()) if usable else Fraction(10) ** 1000

    def _guessed(self, moment: float, alpha: float) -> float:
        """Return about the epsilon of an order: `convert` in float64."""
        if self._conversion is Conversion.PROPOSITION1:
            return max((moment - self._log_delta) / (alpha - 1), 0.0)
        return max((moment - self._log_delta - math.log(alpha)) / (alpha - 1) + math.log1p(-1 / alpha), 0.0)


def _walk_downhill(objective: _Objective, lowest: int, start: int) -> int:
    """Return a k whose order 1 + 2^k is no worse than its two neighbours'."""
    k = min(max(start, lowest), HIGHEST_EXPONENT)
    while k < HIGHEST_EXPONENT and objective(1 + Fraction(2) ** (k + 1)) < objective(1 + Fraction(2) ** k):
        k += 1
    while k > lowest and objective(1 + Fraction(2) ** (k - 1)) <= objective(1 + Fraction(2) ** k):
        k -= 1
    return k


def _best_integer(objective: _Objective, low: int, high: int) -> int:
    while high - low > 2:
        third = (high - low) // 3
        left, right = low + third, high - third
        if objective(Fraction(left)) <= objective(Fraction(right)):
            high = right
        else:
            low = left
    return min(range(low, high + 1), key=lambda alpha: objective(Fraction(alpha)))


def _golden(objective: _Objective, low: Fraction, high: Fraction, *, rounds: int) -> Fraction:
    """Shrink [low, high] by golden sections and return the best order met, rounded to a short decimal."""
    section = Fraction(377, 610)
    left, right = high - section * (high - low), low + section * (high - low)
    for _ in range(rounds):
        if objective(left) <= objective(right):
            high, right = right, left
            left = high - section * (high - low)
        else:
            low, left = left, right
            right = low + section * (high - low)
    best = min((low, left, right, high), key=objective)
    return _short(best, (high - low) / 8)


def _short(value: Fraction, tolerance: Fraction) -> Fraction:
    """Return a short decimal within the tolerance of value."""
    places = 0
    while Fraction(1, 10**places) > tolerance:
        places += 1
    return Fraction(round(value * 10**places), 10**places)
