r"""One privacy budget for several fits on the same records; it refuses the fit that would overspend.

Fits may be chosen after looking at the models of earlier ones. Composition of whole privacy curves needs the
mechanisms to be fixed in advance and does not cover that. The budget is therefore a *Renyi filter*: an order alpha is
fixed when the budget is made; every fit is charged the certified Renyi divergence rho of its ledger at that order (an
upper bound, by the accountant); and a fit is admitted only while the sum stays within a capacity B, the largest whose
conversion at delta is at most epsilon.

Why that is sound: fix two neighbours, with densities p and q of all outputs. Given what was released before, the next
fit has E_q[(p/q)^alpha] <= exp((alpha-1) rho). So the product of these ratios times exp(-(alpha-1) sum of rho) is a
supermartingale under q that starts at 1; as the sum never exceeds B, E_q[(p/q)^alpha] <= exp((alpha-1) B) for all
that was released (Feldman and Zrnic, Individual Privacy Accounting via a Renyi Filter, 2021).
"""

from __future__ import annotations

import functools
import math
import threading
from fractions import Fraction
from typing import NoReturn, Self

import accountant
from accountant import Exact, Gaussian, Mechanism
from accountant.numbers import Bound, arb_from_fraction, arb_precision, float_down, fraction_of
from accountant.pricing import renyi_curve
from accountant.renyi.conversion import Conversion, convert

_BITS = 128
_LARGEST_ORDER = 1 << 16


class BudgetExceeded(ValueError):
    """A fit that the budget does not allow; nothing was trained, nothing was spent."""

    exit_code = 2


class PrivacyBudget:
    """(epsilon, delta) for all fits together that are given this object; one record replaced.

    Parameters
    ----------
    epsilon, delta : what all fits together may cost; numbers as text are taken exactly.

    Attributes
    ----------
    order : the order of the Renyi divergence that is charged, fixed by epsilon and delta.
    """

    def __init__(self, epsilon: Exact | float, delta: Exact | float) -> None:
        self.epsilon = accountant.exact("epsilon", _as_written(epsilon))
        self.delta = accountant.exact("delta", _as_written(delta))
        self.order, self._capacity = _order_and_capacity(self.epsilon, self.delta)
        self._charges: list[tuple[str, Fraction]] = []
        self._lock = threading.Lock()

    def charge(self, mechanism: Mechanism, name: str = "") -> None:
        """Pay for a run of this mechanism, or refuse; call it before the run."""
        price = divergence(mechanism, self.order)
        with self._lock:
            left = self._capacity - self._spent()
            if price > left:
                cost, rest = _percent(price / self._capacity), _percent(left / self._capacity)
                raise BudgetExceeded(
                    f"{name or mechanism.title} would cost {cost} of the budget (epsilon = {float(self.epsilon):g}, "
                    f"delta = {float(self.delta):g}), of which {rest} is left; ask for a smaller epsilon"
                )
            self._charges.append((name or mechanism.title, price))

    @property
    def remaining(self) -> float:
        """The share of the budget that is left, rounded down."""
        return float_down((self._capacity - self._spent()) / self._capacity)

    @property
    def spent(self) -> float:
        """The epsilon, at the budget's delta, of all fits so far; rounded up."""
        total = self._spent()
        return accountant.float_up(_epsilon_at(total, self.order, self.delta)) if total else 0.0

    @property
    def fits(self) -> int:
        """How many fits have been paid."""
        return len(self._charges)

    def _spent(self) -> Fraction:
        return sum((price for _, price in self._charges), Fraction(0))

    def __repr__(self) -> str:
        fits = "1 fit" if self.fits == 1 else f"{self.fits} fits"
        return (
            f"<PrivacyBudget epsilon={float(self.epsilon):g} delta={float(self.delta):g}: {fits}, "
            f"epsilon {self.spent:.4g} spent, {_percent(self.remaining)} left>"
        )

    # A copy would be a second budget: clones of an estimator share it, and no other process gets one.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        """Itself: clones spend from the same budget."""
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a PrivacyBudget cannot be pickled: a copy in another process would be spent twice. "
            "Use n_jobs=1; before saving a model, call set_params(budget=None)"
        )


@functools.lru_cache(maxsize=256)
def divergence(mechanism: Mechanism, order: int) -> Fraction:
    """A certified upper bound of the Renyi divergence of order ``order`` between any two neighbours."""
    [point] = renyi_curve(mechanism, [order], digits=6)
    if not point.epsilon:
        raise BudgetExceeded(f"{mechanism.title} has no certified Renyi divergence at order {order}: {point.refused}")
    return min(accountant.exact("epsilon", bound.upper) for bound in point.epsilon.values())


def _order_and_capacity(epsilon: Fraction, delta: Fraction) -> tuple[int, Fraction]:
    """The integer order at which a Gaussian release that meets the target converts best, and its capacity there."""
    noise = accountant.calibrate_noise(
        lambda size: Gaussian(noise_multiplier=size), epsilon=epsilon, delta=delta, digits=2
    )
    mu = 1 / float(noise.value)
    guess = max(2, round(1 + math.sqrt(2 * math.log(1 / float(delta))) / mu))
    tried = sorted({min(_LARGEST_ORDER, max(2, round(guess * factor))) for factor in (0.5, 0.7, 0.85, 1, 1.2, 1.5, 2)})
    best = max((_capacity_at(order, epsilon, delta) / order, order) for order in tried)[1]
    capacity = _capacity_at(best, epsilon, delta)
    if capacity <= 0:
        raise BudgetExceeded(f"no run fits into epsilon = {float(epsilon):g} at delta = {float(delta):g}")
    return best, capacity


def _capacity_at(order: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest divergence, to a relative 1e-9 and rounded down, whose conversion is at most epsilon."""
    low, high = Fraction(0), epsilon * 2
    if _epsilon_at(Fraction(1, 10**12), order, delta) > epsilon:
        return low
    while _epsilon_at(high, order, delta) <= epsilon:
        high *= 2
    while high - low > high / 10**9:
        middle = (low + high) / 2
        low, high = (middle, high) if _epsilon_at(middle, order, delta) <= epsilon else (low, middle)
    return low


def _epsilon_at(rdp: Fraction, order: int, delta: Fraction) -> Fraction:
    """An upper bound of the epsilon that this divergence implies."""
    with arb_precision(_BITS):
        ball = convert(arb_from_fraction(rdp * (order - 1)), Fraction(order), delta, Conversion.CKS)
        return fraction_of(Bound.from_arb(ball).upper)


def _as_written(value: Exact | float) -> Exact:
    return repr(value) if isinstance(value, float) else value


def _percent(share: Fraction | float) -> str:
    return f"{100 * float(share):.3g} %"
