r"""The least noise, the most releases, the largest batch for a target (epsilon, delta).

Every answer is *safe*: it was itself priced, and its certified upper epsilon is at most the target. It also says how
far from tight it is: `missed` is the nearest value that was priced and did not meet the target.

Searching needs no proof, so it may guess; only what was priced counts.

The searches of `accountant.calibration`: brackets that shrink around a target, few prices asked.

A price is expensive and decreasing in the noise; 1/price is nearly linear in it, so secants on 1/price land close.
All candidates are decimals of the digits asked for, so that what is returned is what was priced.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from accountant import pricing
from accountant.errors import CannotCertifyError, InvalidQuantityError, TimeLimitError
from accountant.limits import check_time, processor_limit
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import Mechanism, ledger_of
from accountant.mechanisms.quantities import failure_probability, positive
from accountant.mechanisms.steps import GaussianStep, PoissonGaussianStep, PureStep, Step, SubsampledGaussianStep
from accountant.numbers import Exact, arb_from_fraction, arb_precision, decimal_string, fraction_from_arb, shown
from accountant.pricing import (
    WORTH_SAYING,
    Effort,
    method_epsilon,
    methods_for,
    profile_upper,
    slow_methods_for,
)
from accountant.profiles.gaussian import delta_ball

Price = Callable[[Fraction], Fraction]
MAX_ROUNDS = 200
SEARCH_PRICES = 8
"""A search by a slow method may take as long as so many of its prices at most."""


def first_guess(ledger: Ledger, epsilon: Fraction, delta: Fraction) -> Fraction:
    r"""Return a noise to start from: the scale at which the central-limit mu meets the target.

    mu(s)^2 = sum of count q^2 (e^{x/s^2} - 1). A guess only, never quoted: it is no bound.
    """
    with arb_precision(64):
        low, high = -200, 200
        eps, goal = arb_from_fraction(epsilon), arb_from_fraction(delta)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _is_too_much(ledger, arb(2) ** middle, eps, goal) else (low, middle)
        left, right = arb(2) ** low, arb(2) ** high
        for _ in range(20):
            centre = ((left + right) / 2).mid()
            left, right = (centre, right) if _is_too_much(ledger, centre, eps, goal) else (left, centre)
        return fraction_from_arb(right.mid())


def _is_too_much(ledger: Ledger, scale: arb, epsilon: arb, delta: arb) -> bool:
    exponents = [(step, arb_from_fraction(_ratio_squared(step)) / scale**2) for step in ledger.steps]
    if any(x > 600 for _, x in exponents):
        return True
    mu = sum((step.count * _rate(step) ** 2 * x.expm1() for step, x in exponents), arb(0)).sqrt()
    return not delta_ball(mu, epsilon) <= delta


def _ratio_squared(step: Step) -> Fraction:
    if isinstance(step, PureStep):
        return step.epsilon**2
    return step.ratio_squared if isinstance(step, GaussianStep) else 1 / step.noise_multiplier**2


def _rate(step: Step) -> arb:
    return arb(1) if isinstance(step, GaussianStep | PureStep) else arb_from_fraction(step.sampling_rate)


def widened(price: Price, guess: Fraction, target: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return (low, high) with price(low) > target >= price(high), decimals of `digits` digits."""
    low = high = round_up(guess, digits)
    cost = price(high)
    # Epsilon falls about like 1/noise, so the ratio of epsilons is a step that just oversteps the target.
    ratio = cost / target if cost > target else target / max(cost, target / 10**3)
    step = min(max(ratio - 1, Fraction(1, 200)), Fraction(10))
    for _ in range(MAX_ROUNDS):
        if price(high) > target:
            low, high = high, round_up(high * (1 + step), digits)
        elif price(low) <= target:
            high, low = low, round_up(low / (1 + step), digits)
        else:
            return low, high
        step = step * 2
    if price(high) <= target:
        raise CannotCertifyError(f"every noise that was tried, down to {shown(low)}, meets epsilon={shown(target)}")
    raise CannotCertifyError(f"no noise that was tried, up to {shown(high)}, meets epsilon={shown(target)}")


def narrowed(price: Price, low: Fraction, high: Fraction, target: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Shrink the bracket to one unit of the last digit: secants on 1/price, then steps outwards from them.

    Where the time is up before, the bracket as it then is is the answer: its upper end meets the target.
    """
    bracket = [low, high]
    with contextlib.suppress(TimeLimitError):
        _narrow(price, bracket, target, digits)
    return bracket[0], bracket[1]


def _narrow(price: Price, bracket: list[Fraction], target: Fraction, digits: int) -> None:
    stride = 1
    for _ in range(MAX_ROUNDS):
        low, high = bracket
        unit = _unit(high, digits)
        if high - low <= unit:
            return
        candidate = round_up(_secant(price, low, high, target), digits)
        candidate = min(max(candidate, low + unit), high - unit)
        meets = price(candidate) <= target
        low, high = (low, candidate) if meets else (candidate, high)
        bracket[:] = low, high
        # The secant is nearly exact: the other end of the bracket is most likely a step or two away.
        probe = candidate - stride * unit if meets else candidate + stride * unit
        if low < probe < high:
            stride *= 4
            bracket[:] = (low, probe) if price(probe) <= target else (probe, high)
    raise CannotCertifyError(f"the search between {shown(bracket[0])} and {shown(bracket[1])} did not end")


def _secant(price: Price, low: Fraction, high: Fraction, target: Fraction) -> Fraction:
    at_low, at_high = _inverse(price(low)), _inverse(price(high))
    share = (1 / target - at_low) / (at_high - at_low)
    return low + (high - low) * min(max(share, Fraction(1, 50)), Fraction(49, 50))


def _inverse(value: Fraction) -> Fraction:
    return 1 / max(value, Fraction(1, 10**9))


def round_up(value: Fraction, digits: int) -> Fraction:
    """Return the least decimal of `digits` significant digits that is >= value."""
    return Fraction(decimal_string(value, digits, "up"))


def _unit(value: Fraction, digits: int) -> Fraction:
    """Return one unit of the last of `digits` significant digits of value."""
    leading = Fraction(decimal_string(value, 1, "down"))
    exponent = len(str(leading.numerator)) - len(str(leading.denominator))
    while Fraction(10) ** exponent > leading:
        exponent -= 1
    return Fraction(10) ** (exponent - digits + 1)


def whole_number_search(
    price: Callable[[int], Fraction], target: Fraction, largest: int
) -> tuple[int, int | None, Fraction]:
    """Return the largest number in 1..largest that meets the target (0 if none), the next one, and the price."""
    low, high, met = 0, 1, Fraction(0)
    while high <= largest:
        cost = price(high)
        if cost > target:
            break
        low, met = high, cost
        if high == largest:
            return low, None, met
        high = min(2 * high, largest)
    return _bisected(price, target, low, high, met)


def descending_search(
    price: Callable[[int], Fraction], target: Fraction, largest: int
) -> tuple[int, int | None, Fraction]:
    """Return a number that meets the target (0 if none of those tried does), the next one above it, and its price.

    Nothing is assumed of the price: the largest number is tried first, then its halves; between a half that meets the
    target and the number above it that does not, a bisection finds a place where one meets it and the next does not.
    """
    high, low = largest + 1, largest
    while low >= 1:
        met = price(low)
        if met <= target:
            break
        low, high = low // 2, low
    else:
        return 0, None, Fraction(0)
    low, high, met = _bisected(price, target, low, high, met)
    return low, None if high > largest else high, met


def _bisected(
    price: Callable[[int], Fraction], target: Fraction, low: int, high: int, met: Fraction
) -> tuple[int, int, Fraction]:
    """Return neighbours low and high of which low meets the target, at the price met, and high does not."""
    while high - low > 1:
        middle = (low + high) // 2
        cost = price(middle)
        if cost <= target:
            low, met = middle, cost
        else:
            high = middle
    return low, high, met


BEYOND_REACH = Fraction(10) ** 60
"""Stands for an epsilon that could not be certified: no target is as large."""


@dataclass(frozen=True, slots=True, repr=False)
class Calibration:
    """A value that meets the target, what it was certified to cost, and the nearest value that does not.

    `missed` is less noise, one more iteration or a larger batch, priced by the same method; None where the
    domain ends at `value`.
    """

    value: Fraction
    missed: Fraction | None
    epsilon_upper: Fraction
    method: str
    ledger: Ledger

    def __repr__(self) -> str:
        value, cost = decimal_string(self.value, 6, "up"), decimal_string(self.epsilon_upper, 6, "up")
        return f"<Calibration: {value} costs epsilon <= {cost} (method {self.method})>"

    @property
    def slack(self) -> Fraction:
        """How far from tight at most, relative: |value - missed| / value."""
        return Fraction(0) if self.missed is None else abs(self.value - self.missed) / self.value


@dataclass(frozen=True, slots=True)
class CalibrationTarget:
    """What must be met, and by which method (the tightest proved one where none is named)."""

    epsilon: Fraction
    delta: Fraction
    method: str | None
    tolerance: Fraction

    def method_for(self, ledger: Ledger) -> str:
        """Return the method that decides for this ledger: the tightest proved one, as in a price."""
        if self.method is not None:
            return self.method
        proved = methods_for(ledger)
        return next((name for name in ("group", "profile", "gdp", "optimal-pure") if name in proved), proved[-1])

    def price(self, ledger: Ledger) -> Fraction:
        """Return a certified upper epsilon of the *true* steps; BEYOND_REACH where nothing can be certified."""
        true = Ledger(ledger.corrected) if ledger.corrected else ledger
        method = self.method_for(true)
        check_time()
        try:
            if method == "profile":
                found = profile_upper(true, self.delta, self.tolerance)
            else:
                upper = method_epsilon(true, self.delta, method, digits=10).epsilon.most
                found = BEYOND_REACH if upper.infinite else upper.fraction()
            if method == "group" and self.method is None:
                found = min(found, profile_upper(true, self.delta, self.tolerance))
        except CannotCertifyError:
            check_time()
            found = self._without(true, method)
        check_time()  # a price that was cut short says nothing about what a value costs at least
        return found

    def _without(self, ledger: Ledger, refused: str) -> Fraction:
        """Return what the other methods certify of pure steps, which are closed, where the deciding one refuses."""
        found = BEYOND_REACH
        if self.method is None and ledger.is_pure:
            for name in methods_for(ledger):
                if name not in {refused, "profile"}:
                    with contextlib.suppress(CannotCertifyError):
                        found = min(found, method_epsilon(ledger, self.delta, name, digits=10).epsilon.most.fraction())
        return found


def calibrate_noise(
    candidate: Callable[[Fraction], Mechanism | Ledger],
    *,
    epsilon: Exact,
    delta: Exact,
    method: str | None = None,
    digits: int = 4,
    effort: Effort = "quick",
) -> Calibration:
    """Return the least noise, in `digits` significant digits and rounded up, that meets the target.

    `candidate(noise)` must be the same mechanism (or ledger) with noise of that size: more of it never costs more.
    Unless effort is "quick", the slow methods of `pricing` then look for less, where they may find one per cent.
    """
    if digits < 1:
        raise InvalidQuantityError(f"digits must be >= 1, got digits={digits}")
    target = CalibrationTarget(*_validated(epsilon, delta), method, Fraction(1, 10**digits))
    priced: dict[Fraction, Fraction] = {}

    def price(noise: Fraction) -> Fraction:
        if noise not in priced:
            priced[noise] = target.price(ledger_of(candidate(noise)))
        return priced[noise]

    _refuse_free(ledger_of(candidate(Fraction(1))), target)
    guess = first_guess(ledger_of(candidate(Fraction(1))), target.epsilon, target.delta)
    low, high = widened(price, guess, target.epsilon, digits)
    low, high = narrowed(price, low, high, target.epsilon, digits)
    ledger = ledger_of(candidate(high))
    if not price(high) <= target.epsilon:
        raise CannotCertifyError(f"noise={high} was not certified to meet epsilon={epsilon}")
    found = Calibration(high, low, price(high), target.method_for(ledger), ledger)
    if effort == "quick" or method is not None or not pricing.STANDARD_SECONDS:
        return found
    return _with_less_noise(candidate, price, found, target, digits=digits, effort=effort)


def _with_less_noise(
    candidate: Callable[[Fraction], Mechanism | Ledger],
    quick: Price,
    found: Calibration,
    target: CalibrationTarget,
    *,
    digits: int,
    effort: Effort,
) -> Calibration:
    """Return a smaller noise that a slow method proves to meet the target; what was found where there is none.

    Its prices take seconds: with effort "standard" each at most `STANDARD_SECONDS`, all together `SEARCH_PRICES` times
    that. Where the time is up, the best noise so far is the answer.
    """
    seconds = pricing.STANDARD_SECONDS if effort == "standard" else math.inf
    for name in slow_methods_for(Ledger(found.ledger.corrected) if found.ledger.corrected else found.ledger):
        slow = dataclasses.replace(target, method=name)
        priced: dict[Fraction, Fraction] = {}

        def price(
            noise: Fraction, slow: CalibrationTarget = slow, priced: dict[Fraction, Fraction] = priced
        ) -> Fraction:
            if noise not in priced:
                with processor_limit(seconds):
                    priced[noise] = slow.price(ledger_of(candidate(noise)))
            return priced[noise]

        with contextlib.suppress(CannotCertifyError):
            with processor_limit(SEARCH_PRICES * seconds):
                cost = price(found.value)
                if cost > target.epsilon * (1 - WORTH_SAYING):
                    continue
                # both prices fall alike: where the quick one is too large by what it is too large here
                goal = target.epsilon * found.epsilon_upper / cost
                guess = narrowed(quick, *widened(quick, found.value, goal, digits), goal, digits)[1]
                low, high = widened(price, guess, target.epsilon, digits)
                low, high = narrowed(price, low, high, target.epsilon, digits)
            if high < found.value and price(high) <= target.epsilon:
                found = Calibration(high, low, price(high), name, ledger_of(candidate(high)))
    return found


def calibrate_count(
    candidate: Callable[[int], Mechanism | Ledger],
    *,
    epsilon: Exact,
    delta: Exact,
    method: str | None = None,
    largest: int = 10**9,
    increasing: bool = True,
    effort: Effort = "quick",
) -> Calibration:
    """Return the largest whole number (iterations, batch) in 1..largest that meets the target.

    With `increasing`, `candidate(number)` must cost no less for a larger number: iterations do by composition, batches
    at a fixed noise multiplier because the profile grows with q. Without it nothing is assumed; the answer still
    meets the target and the next number does not, but a larger one might, unless the answer is `largest` itself.
    Unless effort is "quick", the slow methods of `pricing` then look for more, to one part in a thousand.
    """
    target = CalibrationTarget(*_validated(epsilon, delta), method, Fraction(1, 10**4))
    search = whole_number_search if increasing else descending_search
    number, missed, upper = search(lambda number: target.price(ledger_of(candidate(number))), target.epsilon, largest)
    if number == 0:
        tried = "not even one meets" if increasing else f"neither {largest} nor a half, a quarter, ... of it meets"
        raise CannotCertifyError(f"{tried} epsilon={epsilon} at delta={delta}: more noise or a larger epsilon would")
    ledger = ledger_of(candidate(number))
    if not upper <= target.epsilon:
        raise CannotCertifyError(f"{number} was not certified to meet epsilon={epsilon}")
    beyond = None if missed is None else Fraction(missed)
    found = Calibration(Fraction(number), beyond, upper, target.method_for(ledger), ledger)
    if effort == "quick" or method is not None or not increasing or missed is None or not pricing.STANDARD_SECONDS:
        return found
    return _with_more(candidate, found, target, largest, effort)


def _with_more(
    candidate: Callable[[int], Mechanism | Ledger],
    found: Calibration,
    target: CalibrationTarget,
    largest: int,
    effort: Effort,
) -> Calibration:
    """Return a larger number that a slow method proves to meet the target; what was found where there is none."""
    seconds = pricing.STANDARD_SECONDS if effort == "standard" else math.inf
    for name in slow_methods_for(Ledger(found.ledger.corrected) if found.ledger.corrected else found.ledger):
        slow = dataclasses.replace(target, method=name)

        def price(number: int, slow: CalibrationTarget = slow) -> Fraction:
            with processor_limit(seconds):
                return slow.price(ledger_of(candidate(number)))

        low, high = int(found.value), min(2 * int(found.value), largest)
        with contextlib.suppress(CannotCertifyError), processor_limit(SEARCH_PRICES * seconds):
            if high > low and price(high) > target.epsilon:
                while high - low > max(1, low // 1000):
                    middle = (low + high) // 2
                    cost = price(middle)
                    low, high = (middle, high) if cost <= target.epsilon else (low, middle)
                    if low == middle:
                        ledger = ledger_of(candidate(middle))
                        found = Calibration(Fraction(middle), Fraction(high), cost, name, ledger)
        if found.method == name:
            found = dataclasses.replace(found, missed=Fraction(high))
    return found


def _refuse_free(ledger: Ledger, target: CalibrationTarget) -> None:
    """Say so where every noise meets the target: the record is in some batch with probability at most delta."""
    steps = ledger.corrected or ledger.steps
    sampled = [step for step in steps if isinstance(step, SubsampledGaussianStep | PoissonGaussianStep)]
    chance = sum((step.count * step.sampling_rate for step in sampled), Fraction(0))
    if len(sampled) == len(steps) and chance <= target.delta and target.method in {None, "profile"}:
        raise InvalidQuantityError(
            f"every noise meets epsilon={shown(target.epsilon)}: a record is in some batch with probability at most "
            f"{shown(chance)}, which is no more than delta={shown(target.delta)}; there is no least noise"
        )


def _validated(epsilon: Exact, delta: Exact) -> tuple[Fraction, Fraction]:
    return positive("epsilon", epsilon), failure_probability(delta)
