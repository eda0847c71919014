r"""The price of what an adapter declares: its releases in the accountant's numbers, and the epsilon of their ledger.

A release of noise scale s and sensitivity D is a Gaussian release of ratio D/s, or (Laplace, gamma-norm) a pure one of
epsilon D/s; noise in an objective costs the bound on the log-determinants besides. `weights` multiplies the ratio D/s
of a value, to price what was measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from accountant import CannotCertifyError, decimal_string, epsilon
from accountant.mechanisms.declaration import Declaration as Stated
from accountant.mechanisms.declaration import NoisyRelease, Protection, declared_ledger
from accountant.mechanisms.steps import PureStep
from accountant.mechanisms.words import Neighbours, Sampling
from accountant.numbers import exact_binary64, fraction_of
from accountant.profiles.gaussian import gaussian_epsilon
from verification.wire.declaration import PURE, Declaration, DeclaredValue, NoiseKind

_PROTECTION = {
    NoiseKind.GAUSSIAN: Protection.GAUSSIAN,
    NoiseKind.DISCRETE: Protection.DISCRETE,
    NoiseKind.LAPLACE: Protection.LAPLACE,
    NoiseKind.GAMMA_NORM: Protection.PURE,
}
Weights = Mapping[str, Fraction]
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Price:
    """A certified bound of epsilon."""

    upper: Fraction

    def text(self) -> str:
        """The upper bound as a decimal, rounded up."""
        return decimal_string(self.upper, _DIGITS, "up")


def attained_epsilon(ratio_squared: Fraction, delta: Fraction) -> Fraction:
    """The epsilon, rounded down, of one Gaussian release whose values are as far apart as was seen."""
    return fraction_of(gaussian_epsilon(ratio_squared, delta).lower) if ratio_squared > 0 else Fraction(0)


def price(declaration: Declaration, records: int, delta: Fraction, *, weights: Weights | None = None) -> Price:
    """The epsilon of the declaration at delta, 0 for pure epsilon."""
    ledger = declared_ledger(stated(declaration, records, weights or {}))
    if delta == 0:
        pure = [step for step in ledger.steps if isinstance(step, PureStep)]
        if len(pure) < len(ledger.steps):
            raise CannotCertifyError("Gaussian noise has no finite epsilon at delta 0")
        return Price(sum((step.count * step.epsilon for step in pure), Fraction(0)))
    return Price(fraction_of(epsilon(ledger, delta, digits=_DIGITS).epsilon.upper))


def stated(declaration: Declaration, records: int, weights: Weights) -> Stated:
    """The declaration of an adapter in the accountant's exact numbers; `weights` multiplies the ratio D/s of a value.

    Values of one batch leave together: Gaussian ones with the sum of their squared ratios, pure ones with the sum of
    their epsilons. Without amplification each counts as if no records were drawn, and all entries of a batch may
    then be copies of the record.
    """
    sampling = declaration.sampling
    unamplified = sampling.amplification == "none"
    drawn = [v for v in declaration.noised if sampling.kind is not Sampling.ALL and v.uses == "batch"]
    if drawn and unamplified:
        _refuse_unequal(declaration)
    alone = [v for v in declaration.noised if unamplified or v not in drawn]
    releases = []
    for value in alone:
        copied = sampling.kind is Sampling.WITH_REPLACEMENT and value in drawn
        copies = (sampling.batch or 1) if copied else 1
        costs = Counter(_cost(value, copies * ratio) for ratio in ratios(declaration, value, weights))
        releases.append(NoisyRelease((value.name,), _PROTECTION[value.noise], tuple(costs.items())))
    for kind in () if unamplified else (Protection.GAUSSIAN, Protection.DISCRETE, Protection.PURE):
        together = [v for v in drawn if kind is (Protection.PURE if v.noise in PURE else _PROTECTION[v.noise])]
        if together:
            rows = _rows(declaration, together, weights)
            costs = Counter(sum(map(_cost, together, row), Fraction(0)) for row in rows)
            names = tuple(v.name for v in together)
            releases.append(NoisyRelease(names, kind, tuple(costs.items()), drawn=True))
    found = Stated(tuple(releases), neighbours=declaration.neighbours, records=records, batch=sampling.batch)
    if sampling.kind is Sampling.ALL or unamplified:
        return found
    return replace(found, sampling=sampling.kind, rate=_share(declaration, records))


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
