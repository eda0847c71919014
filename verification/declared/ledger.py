r"""The price of a declaration: its releases as a ledger of the accountant, and the epsilon of that ledger.

Values of different noise on all records are composed: Gaussian ones by their profile, pure ones by their epsilons,
which are added. A release of noise scale s and sensitivity D is a Gaussian step of ratio D/s, or (Laplace, gamma-norm)
a pure step of epsilon D/s; noise in an objective costs the bound on the log-determinants besides. What has no theorem
here is refused with `CannotCertifyError`, never guessed. `weights` multiplies the ratio D/s of a value, to price what
was measured.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from accountant import CannotCertifyError, Ledger, decimal_string, epsilon
from accountant.mechanisms.pure import amplified_epsilon, require_pure_theorem
from accountant.mechanisms.steps import (
    GaussianStep,
    PoissonGaussianStep,
    PureStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Neighbours, Noise, Sampling
from accountant.numbers import exact_binary64, fraction_of
from accountant.profiles.gaussian import gaussian_epsilon
from verification.wire.declaration import PURE, Declaration, DeclaredValue, NoiseKind

Weights = Mapping[str, Fraction]
_DENOMINATOR = 10**12
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
    steps = tuple(_steps(declaration, records, weights or {}))
    if delta == 0:
        pure = [step for step in steps if isinstance(step, PureStep)]
        if len(pure) < len(steps):
            raise CannotCertifyError("Gaussian noise has no finite epsilon at delta 0")
        total = sum((step.count * step.epsilon for step in pure), Fraction(0))
        return Price(total)
    return Price(fraction_of(epsilon(Ledger(steps), delta, digits=_DIGITS).epsilon.upper))


def _steps(declaration: Declaration, records: int, weights: Weights) -> list[Step]:
    kind, amplification = declaration.sampling.kind, declaration.sampling.amplification
    drawn = [v for v in declaration.noised if kind is not Sampling.ALL and v.uses == "batch"]
    steps = [step for v in declaration.noised if v not in drawn for step in _plain(declaration, v, weights)]
    if not drawn:
        return steps
    if amplification == "none":
        _refuse_unequal(declaration)
        return steps + [step for value in drawn for step in _plain(declaration, value, weights)]
    gaussian = [v for v in drawn if v.noise is NoiseKind.GAUSSIAN]
    pure = [v for v in drawn if v.noise in PURE]
    others = [v for v in drawn if v not in gaussian and v not in pure]
    if others:
        raise CannotCertifyError(
            f"{others[0].name}: {others[0].noise} noise on drawn records has no theorem here; amplification 'none' "
            "prices it without what sampling gains"
        )
    if gaussian and pure:
        raise CannotCertifyError(
            f"{gaussian[0].name} and {pure[0].name} share a batch and have different noise: no theorem here prices "
            "them together; amplification 'none' prices them without what sampling gains"
        )
    drawn_together = _amplified if gaussian else _amplified_pure
    return steps + drawn_together(declaration, drawn, records, weights)


def _refuse_unequal(declaration: Declaration) -> None:
    """Without amplification: given the batches the sensitivity holds, if neighbours draw the same batches."""
    if declaration.neighbours is Neighbours.ADD_OR_REMOVE and declaration.sampling.kind is not Sampling.POISSON:
        raise CannotCertifyError("neighbours of different size draw different batches: nothing is known without them")


def _rows(declaration: Declaration, values: list[DeclaredValue], weights: Weights) -> list[tuple[Fraction, ...]]:
    """The ratios of the values of every batch."""
    if {declaration.releases(value) for value in values} != {declaration.iterations}:
        raise CannotCertifyError("values of one batch must all be released once an iteration to be priced together")
    return list(zip(*(ratios(declaration, value, weights) for value in values), strict=True))


def _amplified(declaration: Declaration, values: list[DeclaredValue], records: int, weights: Weights) -> list[Step]:
    """Values of one step share its batch: together they are one Gaussian release of the summed squared ratios."""
    squares = Counter(sum((r * r for r in row), Fraction(0)) for row in _rows(declaration, values, weights))
    steps: list[Step] = []
    for square, count in squares.items():
        steps.append(_drawn(declaration, records, _root_below(1 / square), count))
    return steps


def _drawn(declaration: Declaration, records: int, multiplier: Fraction, count: int) -> Step:
    sampling, neighbours = declaration.sampling, declaration.neighbours
    match sampling.kind:
        case Sampling.WITHOUT_REPLACEMENT:
            return SubsampledGaussianStep(_share(declaration, records), multiplier, count, neighbours=neighbours)
        case Sampling.WITH_REPLACEMENT:
            return WithReplacementStep(records, sampling.batch or 0, multiplier, count, neighbours)
        case Sampling.POISSON if neighbours is Neighbours.ADD_OR_REMOVE:
            return PoissonGaussianStep(_share(declaration, records), multiplier, count)
    raise CannotCertifyError(
        f"{sampling.kind} batches under {neighbours} neighbours have no theorem here; amplification 'none' prices "
        "them without what sampling gains"
    )


def _share(declaration: Declaration, records: int) -> Fraction:
    """The probability that a record is in a batch."""
    sampling = declaration.sampling
    if sampling.kind is Sampling.POISSON:
        return exact_binary64("rate", sampling.rate or 0.0)
    if (sampling.batch or 0) > records:
        raise CannotCertifyError(
            f"a batch of {sampling.batch} cannot be drawn without replacement from {records} records"
        )
    return Fraction(sampling.batch or 0, records)


def _amplified_pure(
    declaration: Declaration, values: list[DeclaredValue], records: int, weights: Weights
) -> list[Step]:
    """Values of one step share its batch: together they are one pure release of the summed epsilons."""
    require_pure_theorem(declaration.sampling.kind, declaration.neighbours)
    extra = sum((exact_binary64("jacobian", value.jacobian or 0.0) for value in values), Fraction(0))
    sums = Counter(sum(row, extra) for row in _rows(declaration, values, weights))
    rate = _share(declaration, records)
    return [PureStep(amplified_epsilon(e, rate), count, declaration.neighbours) for e, count in sums.items()]


def _plain(declaration: Declaration, value: DeclaredValue, weights: Weights) -> list[Step]:
    """The releases of one value, as if no records were drawn; all m entries of a batch may be copies of the record."""
    sampling, neighbours = declaration.sampling, declaration.neighbours
    copied = sampling.kind is Sampling.WITH_REPLACEMENT and value.uses == "batch"
    copies = (sampling.batch or 1) if copied else 1
    counted = Counter(copies * ratio for ratio in ratios(declaration, value, weights))
    if value.noise in PURE:
        jacobian = exact_binary64("jacobian", value.jacobian or 0.0)
        return [PureStep(ratio + jacobian, count, neighbours) for ratio, count in counted.items()]
    kind = Noise.DISCRETE if value.noise is NoiseKind.DISCRETE else Noise.GAUSSIAN
    return [GaussianStep(ratio * ratio, count, kind, neighbours) for ratio, count in counted.items()]


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


def _root_below(square: Fraction) -> Fraction:
    """A rational root, exact where there is one, else rounded down: less noise is never cheaper."""
    exact = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if exact * exact == square:
        return exact
    return Fraction(math.isqrt(square.numerator * _DENOMINATOR**2 // square.denominator), _DENOMINATOR)
