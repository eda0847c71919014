"""What is claimed, and what the declaration costs with what was measured in place of what is declared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from accountant import AccountantError, decimal_string
from verification.declared.bench import Bench
from verification.declared.ledger import Price, price

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Promise:
    """The claim: epsilon (infinite where nothing is claimed) at delta."""

    epsilon: Fraction | float
    delta: Fraction

    def claimed(self) -> str:
        """As a report prints it."""
        if isinstance(self.epsilon, Fraction):
            return f"claimed is {decimal_string(self.epsilon, _DIGITS, 'down')}"
        return "claimed is infinity"

    def infinite(self) -> str:
        """The epsilon of what no noise protects."""
        return f"epsilon is then infinite at any delta below 1, {self.claimed()}"

    def delta_text(self) -> str:
        """Delta as a decimal, rounded up."""
        return decimal_string(self.delta, _DIGITS, "up")


@dataclass(frozen=True, slots=True, eq=False)
class Pricing:
    """Prices of one declaration at the claimed delta."""

    bench: Bench
    promise: Promise

    def price(self, weights: dict[str, Fraction] | None = None, attained: Fraction = Fraction(0)) -> Price:
        """Certified bounds; a weight multiplies the ratio of sensitivity to noise of a value."""
        bench = self.bench
        return price(bench.declaration, bench.records, self.promise.delta, weights=weights, attained=attained)

    def sentence(self, weights: dict[str, float]) -> str:
        """The epsilon with these weights, in words."""
        if any(not math.isfinite(weight) for weight in weights.values()):
            return self.promise.infinite()
        exact = {name: Fraction(weight).limit_denominator(10**9) for name, weight in weights.items()}
        try:
            found = self.price(exact)
        except AccountantError as error:
            return f"the epsilon of what was measured cannot be certified: {error}"
        return f"epsilon at delta {self.promise.delta_text()} is then {found.text()}, {self.promise.claimed()}"
