"""What is claimed, and what the declaration costs with what was measured in place of what is declared."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from accountant import AccountantError, decimal_string
from accountant.mechanisms.words import Sampling
from verification.declared.bench import Bench
from verification.declared.ledger import Price, price
from verification.wire.declaration import DeclaredSampling

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

    def price(self, weights: dict[str, Fraction] | None = None) -> Price:
        """A certified bound; a weight multiplies the ratio of sensitivity to noise of a value."""
        bench = self.bench
        return price(bench.declaration, bench.records, self.promise.delta, weights=weights)

    def weighted(self, weights: Mapping[str, float]) -> Price:
        """The price with these weights."""
        return self.price({name: Fraction(weight).limit_denominator(10**9) for name, weight in weights.items()})

    def sentence(self, weights: Mapping[str, float]) -> str:
        """The epsilon with these weights, in words."""
        if any(not math.isfinite(weight) for weight in weights.values()):
            return self.promise.infinite()
        return self._said(lambda: self.weighted(weights))

    def unamplified(self) -> str:
        """The epsilon if nothing is gained by drawing batches, in words."""
        sampling = self.bench.declaration.sampling.model_copy(update={"amplification": "none"})
        return f"then nothing is gained by drawing batches: {self._said(lambda: self._drawn(sampling))}"

    def with_replacement(self) -> str:
        """The epsilon if the records of a batch are drawn with replacement, in words."""
        update = {"kind": Sampling.WITH_REPLACEMENT, "amplification": None}
        sampling = self.bench.declaration.sampling.model_copy(update=update)
        return f"if every entry of a batch is drawn from all records: {self._said(lambda: self._drawn(sampling))}"

    def _drawn(self, sampling: DeclaredSampling) -> Price:
        declaration = self.bench.declaration.model_copy(update={"sampling": sampling})
        return price(declaration, self.bench.records, self.promise.delta)

    def _said(self, found: Callable[[], Price]) -> str:
        try:
            text = found().text()
        except AccountantError as error:
            return f"the epsilon of what was measured cannot be certified: {error}"
        return f"epsilon at delta {self.promise.delta_text()} is then {text}, {self.promise.claimed()}"
