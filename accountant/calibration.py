r"""The least noise, the most releases, the largest batch for a target (epsilon, delta).

Every answer is *safe*: it was itself priced, and its certified upper epsilon is at most the target. It also says how
far from tight it is: `missed` is the nearest value that was priced and did not meet the target.

Searching needs no proof, so it may guess; only what was priced counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from accountant.calibration_search import descending_search, first_guess, narrowed, whole_number_search, widened
from accountant.errors import CannotCertifyError, InvalidQuantityError
from accountant.limits import check_time
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.mechanism import Mechanism, ledger_of
from accountant.mechanisms.quantities import failure_probability, positive
from accountant.mechanisms.steps import PoissonGaussianStep, SubsampledGaussianStep
from accountant.numbers import Exact, shown
from accountant.pricing import method_epsilon, methods_for, profile_upper

BEYOND_REACH = Fraction(10) ** 60
"""Stands for an epsilon that could not be certified: no target is as large."""


@dataclass(frozen=True, slots=True)
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
        """Return the method that decides for this ledger."""
        return self.method or methods_for(ledger)[-1]

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
        except CannotCertifyError:
            found = BEYOND_REACH
        check_time()  # a price that was cut short says nothing about what a value costs at least
        return found


def calibrate_noise(
    candidate: Callable[[Fraction], Mechanism | Ledger],
    *,
    epsilon: Exact,
    delta: Exact,
    method: str | None = None,
    digits: int = 4,
) -> Calibration:
    """Return the least noise, in `digits` significant digits and rounded up, that meets the target.

    `candidate(noise)` must be the same mechanism (or ledger) with noise of that size: more of it never costs more.
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
    return Calibration(high, low, price(high), target.method_for(ledger), ledger)


def calibrate_count(
    candidate: Callable[[int], Mechanism | Ledger],
    *,
    epsilon: Exact,
    delta: Exact,
    method: str | None = None,
    largest: int = 10**9,
    increasing: bool = True,
) -> Calibration:
    """Return the largest whole number (iterations, batch) in 1..largest that meets the target.

    With `increasing`, `candidate(number)` must cost no less for a larger number: iterations do by composition, batches
    at a fixed noise multiplier because the profile grows with q. Without it nothing is assumed; the answer still
    meets the target and the next number does not, but a larger one might, unless the answer is `largest` itself.
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
    return Calibration(Fraction(number), beyond, upper, target.method_for(ledger), ledger)


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
