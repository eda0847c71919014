r"""The whole privacy curve of a ledger, certified from above: eps to delta(eps).

For audits: a mechanism that is claimed to have these steps obeys delta(eps) for *every* eps, which is far easier to
refute than one point of it. Every number is rounded up, binary64 ones included.

- Gaussian releases of everything: exact. Real Gaussian noise with batches: the composed profile.
- Otherwise the Renyi curve, by Canonne, Kamath and Steinke 2020, Proposition 12, over a fixed set of orders:
  delta(eps) <= e^{(alpha-1)(eps(alpha) - eps)} (1 - 1/alpha)^{alpha-1} / alpha.
- Pure steps also obey the curve of randomised response at the summed epsilon E: (e^E - e^eps)/(1 + e^E).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.mechanisms.ledger import Ledger, gdp_squared
from accountant.mechanisms.mechanism import Mechanism, ledger_of
from accountant.mechanisms.quantities import privacy_loss
from accountant.mechanisms.steps import PoissonGaussianStep, PureStep
from accountant.numbers import (
    Exact,
    arb_from_fraction,
    arb_precision,
    exact_binary64,
    float_up,
    fraction_from_arb,
    shown,
)
from accountant.pld.adversary.method import ledger_delta
from accountant.pld.ledger_steps import composed_profile, known_delta_upper
from accountant.pricing import Effort, slow_methods_for
from accountant.profiles.gaussian import SMALLEST_UPPER, gaussian_delta_upper
from accountant.renyi.moments import Subsampling, ledger_log_moment

_BITS = 96
_ORDERS = [Fraction(2) ** (k // 8) * (8 + k % 8) / 8 for k in range(-64, 97)]
"""alpha - 1, eight to each doubling, from 2^-8 to 2^12."""


@dataclass(frozen=True, slots=True)
class DeltaCurve:
    """A certified upper bound on delta(eps) for every eps >= 0, as an exact number or rounded up to binary64."""

    description: str
    _upper: Callable[[Fraction], Fraction]

    def __call__(self, epsilon: Exact) -> Fraction:
        """Return a delta for which the ledger is (epsilon, delta)-private."""
        try:
            return min(self._upper(privacy_loss(epsilon)), Fraction(1))
        except ArithmeticError as fault:
            raise CannotCertifyError(f"no delta at this epsilon: {fault}") from None

    def delta_upper(self, epsilons: Iterable[float]) -> list[float]:
        """Return delta rounded up to binary64 at each binary64 epsilon, taken exactly."""
        return [float_up(self(exact_binary64("epsilon", float(epsilon)))) for epsilon in epsilons]


def delta_curve(priced: Ledger | Mechanism, *, effort: Effort = "quick") -> DeltaCurve:
    """Return the certified curve of a mechanism or ledger (corrected where printed sensitivities are violated).

    Effort "tight" takes the smaller of the composed profile and the exact adversary at each epsilon, where that is
    proved: some seconds for the first point and about one for each other.
    """
    ledger = ledger_of(priced)
    steps = ledger.corrected or ledger.steps
    true = Ledger(steps, ordered=ledger.ordered)
    mu_squared = gdp_squared(steps)
    if mu_squared is not None:
        return DeltaCurve(f"{shown(mu_squared)}^(1/2)-GDP", lambda epsilon: gaussian_delta_upper(mu_squared, epsilon))
    if true.is_exactly_gaussian and effort == "tight" and slow_methods_for(true):
        return _adversary_curve(true)
    if all(isinstance(step, PoissonGaussianStep) for step in steps):
        return DeltaCurve("composed pairs in both orders", lambda epsilon: known_delta_upper(steps, epsilon))
    if true.is_exactly_gaussian:
        return DeltaCurve("composed profile", composed_profile(steps).delta_upper)
    renyi = _renyi_curve(true)
    if not true.is_pure:
        return DeltaCurve("Renyi curve", renyi)
    total = sum((step.count * step.epsilon for step in steps if isinstance(step, PureStep)), Fraction(0))
    return DeltaCurve(f"{shown(total)}-DP", lambda epsilon: min(renyi(epsilon), _randomised_response(total, epsilon)))


def _randomised_response(total: Fraction, epsilon: Fraction) -> Fraction:
    if epsilon >= total:
        return Fraction(0)
    with arb_precision(_BITS):
        top = arb_from_fraction(total).exp()
        return fraction_from_arb(((top - arb_from_fraction(epsilon).exp()) / (1 + top)).upper())


def _adversary_curve(ledger: Ledger) -> DeltaCurve:
    profile = composed_profile(ledger.steps)

    def upper(epsilon: Fraction) -> Fraction:
        found = profile.delta_upper(epsilon)
        with contextlib.suppress(CannotCertifyError):
            found = min(found, ledger_delta(ledger, epsilon))
        return found

    return DeltaCurve("exact adversary", upper)


def _renyi_curve(ledger: Ledger) -> Callable[[Fraction], Fraction]:
    """Return delta as a function of eps: the least over the orders, whose moments are taken once."""
    factors = [factor for order in _ORDERS if (factor := _log_factor(ledger, 1 + order)) is not None]
    if not factors:
        raise CannotCertifyError("no Renyi order of this ledger could be evaluated")

    def delta(epsilon: Fraction) -> Fraction:
        with arb_precision(_BITS):
            e = arb_from_fraction(epsilon)
            best = min(fraction_from_arb((factor - below * e).upper()) for below, factor in factors)
            tail = arb_from_fraction(min(best, Fraction(0))).exp()
            return fraction_from_arb(tail.max(SMALLEST_UPPER).upper())

    return delta


def _log_factor(ledger: Ledger, alpha: Fraction) -> tuple[arb, arb] | None:
    """Return (alpha - 1, K(alpha) + (alpha-1) log(1 - 1/alpha) - log alpha), or None if it cannot be had."""
    theorem = Subsampling.TIGHT if ledger.is_exactly_gaussian else Subsampling.LEMMA2
    with arb_precision(_BITS):
        try:
            moment = ledger_log_moment(ledger, theorem, alpha, _BITS)
        except CannotCertifyError:
            check_time()
            return None
        a = arb_from_fraction(alpha)
        factor = moment + (a - 1) * (-1 / a).log1p() - a.log()
        return (a - 1, factor) if factor.is_finite() else None
