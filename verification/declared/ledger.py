r"""The price of a declaration: its releases as a ledger of the accountant, and the epsilon of that ledger.

A release of noise scale s and sensitivity D is a Gaussian step of ratio D/s, or (Laplace, gamma-norm) a pure step of
epsilon D/s; noise in an objective costs the bound on the log-determinants besides. What has no theorem here is refused
with `CannotCertifyError`, never guessed. `weights` multiplies the ratio D/s of a value, to price what was measured.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from accountant import CannotCertifyError, Ledger, decimal_string, epsilon
from accountant.mechanisms.steps import GaussianStep, PoissonGaussianStep, PureStep, Step, SubsampledGaussianStep
from accountant.mechanisms.words import Noise
from accountant.numbers import exact_binary64, fraction_of
from verification.wire.declaration import PURE, Declaration, DeclaredValue, NoiseKind, Relation, SamplingScheme

Weights = Mapping[str, Fraction]
_DENOMINATOR = 10**12
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Price:
    """Certified bounds of epsilon; `lower` is attained by a pair that was seen, 0 where none is known."""

    lower: Fraction
    upper: Fraction

    def text(self) -> str:
        """The upper bound as a decimal, rounded up."""
        return decimal_string(self.upper, _DIGITS, "up")


def price(
    declaration: Declaration,
    records: int,
    delta: Fraction,
    *,
    weights: Weights | None = None,
    attained: Fraction = Fraction(0),
) -> Price:
    """The epsilon of the declaration at delta, 0 for pure epsilon; `attained` is a ratio squared that was seen."""
    steps = tuple(_steps(declaration, records, weights or {}))
    if delta == 0:
        pure = [step for step in steps if isinstance(step, PureStep)]
        if len(pure) < len(steps):
            raise CannotCertifyError("Gaussian noise has no finite epsilon at delta 0")
        total = sum((step.count * step.epsilon for step in pure), Fraction(0))
        return Price(Fraction(0), total)
    report = epsilon(Ledger(steps, (GaussianStep(attained, 1),) if attained > 0 else ()), delta, digits=_DIGITS)
    return Price(fraction_of(report.epsilon.lower), fraction_of(report.epsilon.upper))


def _steps(declaration: Declaration, records: int, weights: Weights) -> list[Step]:
    scheme = declaration.sampling.scheme
    drawn = [v for v in declaration.noised if scheme is not SamplingScheme.NONE and v.uses == "batch"]
    whole = [v for v in declaration.noised if v not in drawn]
    steps = [step for value in whole for step in _plain(declaration, value, weights)]
    if not drawn:
        return steps
    if scheme is SamplingScheme.FIXED_SIZE and declaration.neighbours is Relation.ADD_OR_REMOVE:
        raise CannotCertifyError("batches of a fixed size under add-or-remove neighbours have no theorem here")
    amplified = declaration.sampling.amplification is not SamplingScheme.NONE
    gaussian = [v for v in drawn if v.noise is NoiseKind.GAUSSIAN]
    if not amplified:
        _refuse_unequal(declaration)
        return steps + [step for value in drawn for step in _plain(declaration, value, weights)]
    others = [v for v in drawn if v not in gaussian]
    if others:
        _refuse_unequal(declaration)
        steps += [step for value in others for step in _plain(declaration, value, weights)]
    return steps + (_amplified(declaration, gaussian, records, weights) if gaussian else [])


def _refuse_unequal(declaration: Declaration) -> None:
    """Without amplification: given the batches the sensitivity holds, if neighbours draw the same batches."""
    if declaration.neighbours is Relation.ADD_OR_REMOVE and declaration.sampling.scheme is not SamplingScheme.POISSON:
        raise CannotCertifyError("neighbours of different size draw different batches: nothing is known without them")


def _amplified(declaration: Declaration, values: list[DeclaredValue], records: int, weights: Weights) -> list[Step]:
    """Values of one step share its batch: together they are one Gaussian release of the summed squared ratios."""
    counts = {declaration.releases(value) for value in values}
    if counts != {declaration.iterations}:
        raise CannotCertifyError("values of one batch must all be released once an iteration to be priced together")
    columns = [ratios(declaration, value, weights) for value in values]
    squares = Counter(sum((r * r for r in row), Fraction(0)) for row in zip(*columns, strict=True))
    sampling = declaration.sampling
    steps: list[Step] = []
    for square, count in squares.items():
        multiplier = _root_below(1 / square)
        if sampling.scheme is SamplingScheme.FIXED_SIZE and declaration.neighbours is Relation.REPLACE_ONE:
            steps.append(SubsampledGaussianStep(Fraction(sampling.batch or 0, records), multiplier, count))
        elif sampling.scheme is SamplingScheme.POISSON and declaration.neighbours is Relation.ADD_OR_REMOVE:
            steps.append(PoissonGaussianStep(exact_binary64("rate", sampling.rate or 0.0), multiplier, count))
        else:
            raise CannotCertifyError(
                f"{sampling.scheme} batches under {declaration.neighbours} neighbours have no theorem here; "
                "amplification 'none' prices them without what sampling gains"
            )
    return steps


def _plain(declaration: Declaration, value: DeclaredValue, weights: Weights) -> list[Step]:
    """The releases of one value, as if no records were drawn."""
    counted = Counter(ratios(declaration, value, weights))
    if value.noise in PURE:
        jacobian = exact_binary64("jacobian", value.jacobian or 0.0)
        return [PureStep(ratio + jacobian, count) for ratio, count in counted.items()]
    kind = Noise.DISCRETE if value.noise is NoiseKind.DISCRETE else Noise.GAUSSIAN
    return [GaussianStep(ratio * ratio, count, kind) for ratio, count in counted.items()]


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
