r"""The price of what an adapter declares: its releases in the accountant's numbers, and the epsilon of their ledger.

A release of noise scale s and sensitivity D is a Gaussian release of ratio D/s, or (Laplace, gamma-norm) a pure one of
epsilon D/s; noise in an objective costs the bound on the log-determinants besides. All releases of a value with a joint
sensitivity are one: over the noise, made independent by a triangular root of its covariance, each moves given what was
released before, and the squares of the ratios (pure: the epsilons) add up to no more, whatever was released: Gaussian
releases of ratios r_1, r_2, ..., each chosen after the outputs before it, are dominated by one of ratio M where always
r_1^2 + r_2^2 + ... <= M^2 (a further release of ratio (M^2 - r_1^2 - ...)^(1/2) fills them up, and is post-processing).
`weights` multiplies the ratio D/s of a value, to price what was measured.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from accountant import AccountantError, CannotCertifyError, decimal_string, epsilon
from accountant.mechanisms.declaration import Declaration as Stated
from accountant.mechanisms.declaration import NoisyRelease, Protection, declared_ledger
from accountant.mechanisms.steps import PureStep
from accountant.mechanisms.words import Neighbours, Sampling
from accountant.numbers import exact_binary64, fraction_of
from accountant.profiles.gaussian import gaussian_epsilon
from verification.wire.declaration import PURE, Declaration, DeclaredSampling, DeclaredValue, NoiseKind

_PROTECTION = {
    NoiseKind.GAUSSIAN: Protection.GAUSSIAN,
    NoiseKind.DISCRETE: Protection.DISCRETE,
    NoiseKind.LAPLACE: Protection.PURE,  # that the profile of one number bounds that of a vector is not proved here
    NoiseKind.GAMMA_NORM: Protection.PURE,
}
Weights = Mapping[str, Fraction]
_DIGITS = 6


def attained_epsilon(ratio_squared: Fraction, delta: Fraction) -> Fraction:
    """The epsilon, rounded down, of one Gaussian release whose values are as far apart as was seen."""
    return fraction_of(gaussian_epsilon(ratio_squared, delta).lower) if ratio_squared > 0 else Fraction(0)


def price(declaration: Declaration, records: int, delta: Fraction, *, weights: Weights | None = None) -> Fraction:
    """A certified bound of the epsilon of the declaration at delta, 0 for pure epsilon."""
    ledger = declared_ledger(stated(declaration, records, weights or {}))
    if delta == 0:
        pure = [step for step in ledger.steps if isinstance(step, PureStep)]
        if len(pure) < len(ledger.steps):
            raise CannotCertifyError("Gaussian noise has no finite epsilon at delta 0")
        return sum((step.count * step.epsilon for step in pure), Fraction(0))
    return fraction_of(epsilon(ledger, delta, digits=_DIGITS).epsilon.upper)


def stated(declaration: Declaration, records: int, weights: Weights) -> Stated:
    """The declaration of an adapter in the accountant's exact numbers; `weights` multiplies the ratio D/s of a value.

    Values of one batch leave together: Gaussian ones with the sum of their squared ratios, pure ones with the sum of
    their epsilons. Without amplification each counts as if no records were drawn, and all entries of a batch may
    then be copies of the record. Of an epoch of disjoint batches one release costs something: the worst of them.
    """
    sampling = declaration.sampling
    epochs = sampling.kind.by_epochs and sampling.amplification != "none"
    unamplified = sampling.amplification == "none" or epochs
    drawn = [v for v in declaration.noised if sampling.kind is not Sampling.ALL and v.uses == "batch"]
    if drawn and unamplified:
        _refuse_unequal(declaration)
    alone = [v for v in declaration.noised if unamplified or v not in drawn]
    releases = []
    for value in alone:
        if value.joint is not None:
            whole = weights.get(value.name, Fraction(1)) * exact_binary64("joint", value.joint)
            releases.append(NoisyRelease((value.name,), _PROTECTION[value.noise], ((_cost(value, whole), 1),)))
            continue
        copied = sampling.kind is Sampling.WITH_REPLACEMENT and value in drawn
        copies = (sampling.batch or 1) if copied else 1
        each = max(1, records // (sampling.batch or 1)) if epochs and value in drawn else 1
        costs = Counter(_cost(value, copies * ratio) for ratio in _worst(declaration, value, weights, each))
        releases.append(NoisyRelease((value.name,), _PROTECTION[value.noise], tuple(costs.items())))
    for kind in () if unamplified else (Protection.GAUSSIAN, Protection.DISCRETE, Protection.PURE):
        together = [v for v in drawn if _PROTECTION[v.noise] is kind]
        if together:
            rows = _rows(declaration, together, weights)
            costs = Counter(sum(map(_cost, together, row), Fraction(0)) for row in rows)
            names = tuple(v.name for v in together)
            releases.append(NoisyRelease(names, kind, tuple(costs.items()), drawn=True))
    found = Stated(tuple(releases), neighbours=declaration.neighbours, records=records, batch=sampling.batch)
    if sampling.kind is Sampling.ALL or unamplified:
        return found
    return replace(found, sampling=sampling.kind, rate=_share(declaration, records))


def _worst(declaration: Declaration, value: DeclaredValue, weights: Weights, each: int) -> list[Fraction]:
    """The largest ratio of every `each` releases in a row."""
    every = ratios(declaration, value, weights)
    if each > 1 and len(every) != declaration.iterations:
        raise CannotCertifyError(f"{value.name}: by epochs a value must be released once an iteration")
    return [max(every[i : i + each]) for i in range(0, len(every), each)]


def _cost(value: DeclaredValue, ratio: Fraction) -> Fraction:
    """(D/s)^2, or the epsilon of a pure release, with that of the log-determinants for noise in an objective."""
    return ratio + exact_binary64("jacobian", value.jacobian or 0.0) if value.noise in PURE else ratio * ratio


def _refuse_unequal(declaration: Declaration) -> None:
    """Without amplification: given the batches the sensitivity holds, if neighbours draw the same batches."""
    if declaration.neighbours is Neighbours.ADD_OR_REMOVE and declaration.sampling.kind is not Sampling.POISSON:
        raise CannotCertifyError("neighbours of different size draw different batches: nothing is known without them")


def _rows(declaration: Declaration, values: list[DeclaredValue], weights: Weights) -> list[tuple[Fraction, ...]]:
    """The ratios of the values of every batch."""
    if {declaration.releases(value) for value in values} != {declaration.iterations}:
        raise CannotCertifyError("values of one batch must all be released once an iteration to be priced together")
    return list(zip(*(ratios(declaration, value, weights) for value in values), strict=True))


def _share(declaration: Declaration, records: int) -> Fraction | None:
    """The probability that a record is in a batch."""
    sampling = declaration.sampling
    if sampling.kind is Sampling.POISSON:
        return exact_binary64("rate", sampling.rate or 0.0)
    if sampling.kind is Sampling.WITHOUT_REPLACEMENT and (sampling.batch or 0) > records:
        raise CannotCertifyError(
            f"a batch of {sampling.batch} cannot be drawn without replacement from {records} records"
        )
    return Fraction(sampling.batch or 0, records)


def ratios(declaration: Declaration, value: DeclaredValue, weights: Weights) -> list[Fraction]:
    """Sensitivity over scale, of every release."""
    weight, count = weights.get(value.name, Fraction(1)), declaration.releases(value)
    pairs = zip(schedule(value.sensitivity, count), schedule(value.scale, count), strict=True)
    return [weight * exact_binary64("sensitivity", d) / exact_binary64("scale", s) for d, s in pairs]


def schedule(given: float | list[float] | None, count: int) -> list[float]:
    """One number for every release."""
    if given is None:
        raise AssertionError("a value with noise has a scale and a sensitivity")
    return list(given) if isinstance(given, list) else [given] * count


@dataclass(frozen=True, slots=True, eq=False)
class Pricing:
    """The claim about a declared algorithm, epsilon (infinite where nothing is claimed) at delta, and its prices."""

    declaration: Declaration
    records: int
    epsilon: Fraction | float
    delta: Fraction

    def claimed(self) -> str:
        """As a report prints it."""
        known = isinstance(self.epsilon, Fraction)
        return f"claimed is {decimal_string(Fraction(self.epsilon), _DIGITS, 'down') if known else 'infinity'}"

    def infinite(self) -> str:
        """The epsilon of what no noise protects."""
        return f"epsilon is then infinite at any delta below 1, {self.claimed()}"

    def delta_text(self) -> str:
        """Delta as a decimal, rounded up."""
        return decimal_string(self.delta, _DIGITS, "up")

    def price(self, weights: Mapping[str, float] | None = None) -> Fraction:
        """A certified bound; a weight multiplies the ratio of sensitivity to noise of a value."""
        exactly = {name: Fraction(weight).limit_denominator(10**9) for name, weight in (weights or {}).items()}
        return price(self.declaration, self.records, self.delta, weights=exactly)

    def about(self, weights: Mapping[str, float]) -> float:
        """The price as a number; 0 where none can be certified."""
        if any(not math.isfinite(weight) for weight in weights.values()):
            return math.inf
        try:
            return float(decimal_string(self.price(weights), _DIGITS, "up"))
        except AccountantError:
            return 0.0

    def sentence(self, weights: Mapping[str, float]) -> str:
        """The epsilon with these weights, in words."""
        if any(not math.isfinite(weight) for weight in weights.values()):
            return self.infinite()
        return self._said(lambda: self.price(weights))

    def unamplified(self) -> str:
        """The epsilon if nothing is gained by drawing batches, in words."""
        sampling = self.declaration.sampling.model_copy(update={"amplification": "none"})
        return f"then nothing is gained by drawing batches: {self._drawn(sampling)}"

    def with_replacement(self) -> str:
        """The epsilon if the records of a batch are drawn with replacement, in words."""
        update = {"kind": Sampling.WITH_REPLACEMENT, "amplification": None}
        sampling = self.declaration.sampling.model_copy(update=update)
        return f"if every entry of a batch is drawn from all records: {self._drawn(sampling)}"

    def _drawn(self, sampling: DeclaredSampling) -> str:
        declaration = self.declaration.model_copy(update={"sampling": sampling})
        return self._said(lambda: price(declaration, self.records, self.delta))

    def _said(self, found: Callable[[], Fraction]) -> str:
        try:
            text = decimal_string(found(), _DIGITS, "up")
        except AccountantError as error:
            return f"the epsilon of what was measured cannot be certified: {error}"
        return f"epsilon at delta {self.delta_text()} is then {text}, {self.claimed()}"
