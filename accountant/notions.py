r"""Claims of Renyi, concentrated and Gaussian privacy: what they promise at a delta, and the price in their own terms.

- `renyi`, of order alpha: the Renyi divergence of that order is at most epsilon. Priced by every theorem of `rdp`.
- `zcdp`: it is at most rho alpha for every alpha > 1 ([BS16]). A release of ratio r costs r^2/2, a pure one eps^2/2.
- `gdp`: nobody tells neighbours apart better than N(0, 1) and N(mu, 1) ([DRS22]). Of real Gaussian noise alone.

Batches gain nothing in the last two: divergences of mixtures are at most the largest of their parts. From below only
Gaussian releases of everything are known, which attain all three at once.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from fractions import Fraction

from accountant.errors import AccountantError, CannotCertifyError
from accountant.mechanisms.ledger import Ledger, gdp_squared, unsampled_squared
from accountant.mechanisms.quantities import order
from accountant.mechanisms.steps import (
    GaussianStep,
    PoissonGaussianStep,
    PureStep,
    ShuffledStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.numbers import arb_from_fraction, arb_precision, decimal_string, fraction_from_arb, fraction_of
from accountant.pricing import method_epsilon, rdp

_BITS = 128
_DIGITS = 12


class Notion(enum.StrEnum):
    """What is promised in place of an epsilon at a delta."""

    RENYI = "renyi"
    ZCDP = "zcdp"
    GDP = "gdp"


@dataclass(frozen=True, slots=True)
class Promise:
    """A bound in a notion: epsilon of order alpha, rho, or mu."""

    notion: Notion
    bound: Fraction
    alpha: Fraction | None = None

    def text(self) -> str:
        """As a claim file would name it."""
        where = "" if self.alpha is None else f" of order {decimal_string(self.alpha, _DIGITS, 'down')}"
        return f"{self.notion}{where}"

    def epsilon(self, delta: Fraction) -> Fraction:
        """An epsilon that the promise implies at delta, rounded up."""
        if self.notion is Notion.RENYI:
            return self._converted(delta)
        if not self.bound:
            return Fraction(0)
        gaussian = self.notion is Notion.GDP
        ratio = self.bound**2 if gaussian else 2 * self.bound  # a Gaussian release has the curve rho alpha exactly
        ledger = Ledger((GaussianStep(ratio, 1),))
        found = method_epsilon(ledger, delta, "gdp" if gaussian else "rdp-cks", digits=_DIGITS)
        return fraction_of(found.epsilon.upper)

    def _converted(self, delta: Fraction) -> Fraction:
        """[CKS20] Proposition 12 at this order."""
        alpha = order(self.alpha or 0)
        with arb_precision(_BITS):
            a, d = arb_from_fraction(alpha), arb_from_fraction(delta)
            found = arb_from_fraction(self.bound) + (-1 / a).log1p() - (d * a).log() / (a - 1)
            return max(Fraction(0), fraction_from_arb(found.upper()))

    def price(self, ledger: Ledger) -> Fraction:
        """A certified bound in the same terms, of the square of mu for `gdp`: less is never true of the ledger."""
        steps = ledger.corrected or ledger.steps
        if self.notion is Notion.RENYI:
            return fraction_of(rdp(ledger, self.alpha or 0, digits=_DIGITS).upper)
        if self.notion is Notion.ZCDP:
            return sum((_concentrated(step) for step in steps), Fraction(0))
        squared = unsampled_squared(steps)
        if squared is None:
            raise CannotCertifyError(
                "gdp: only releases of real Gaussian noise have a price, and no draws with repeats"
            )
        return squared

    def attained(self, squared: Fraction) -> Fraction:
        """What Gaussian releases of everything attain whose squared ratios add up to this, as `price` says it."""
        return squared if self.notion is Notion.GDP else squared * (self.alpha or 1) / 2

    @property
    def limit(self) -> Fraction:
        """The promise as `price` says it."""
        return self.bound**2 if self.notion is Notion.GDP else self.bound

    def compared(self, ledger: Ledger, squared: Fraction | None = None) -> tuple[bool | None, str]:
        """Whether a ledger keeps the promise (None: neither end decides), in words; `squared` is what was seen."""
        realised = squared if squared is not None else gdp_squared(ledger.realisable) or Fraction(0)
        low, claimed = self.attained(realised), f"claimed is {self._shown(self.limit, 'down')}"
        if self.limit < low:
            return False, f"{self.text()} is at least {self._shown(low, 'down')} (neighbours attain it), {claimed}"
        try:
            high = self.price(ledger)
        except AccountantError as reason:
            return None, f"{self.text()}, {claimed}: nothing could be certified: {reason}"
        text = f"{self.text()} is at most {self._shown(high, 'up')}, {claimed}"
        return (True, text) if self.limit >= high else (None, f"certified is only that {text}")

    def _shown(self, value: Fraction, rounding: str) -> str:
        up = rounding == "up"
        if self.notion is Notion.GDP:  # the root, rounded the same way
            scaled = value * 10 ** (2 * _DIGITS)
            root = math.isqrt(scaled.__floor__())
            value = Fraction(root + (up and root * root != scaled), 10**_DIGITS)
        return decimal_string(value, 6, "up" if up else "down")


def _concentrated(step: Step) -> Fraction:
    if isinstance(step, PureStep):
        return step.count * step.epsilon**2 / 2
    if isinstance(step, WithReplacementStep | ShuffledStep):
        raise CannotCertifyError("zcdp: batches that may hold a record twice have no price here")
    if isinstance(step, PoissonGaussianStep):
        return step.count / step.noise_multiplier**2 / 2
    if isinstance(step, GaussianStep | SubsampledGaussianStep):
        return step.count * step.ratio_squared / 2
    raise AssertionError(f"no such step: {step}")
