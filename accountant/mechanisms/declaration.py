r"""What a mechanism says of itself: what is released, what protects it, how records are drawn and bounded.

A `Declaration` is what questions about an implementation are derived from, whether it belongs to a mechanism of this
package (`Mechanism.declaration()`) or was sent by an adapter. `declared_ledger` is the one way from it to a price. A
value of noise scale s and sensitivity D costs (D/s)^2 under Gaussian noise, D/s under noise that makes it pure. What
has no theorem here is refused with `CannotCertifyError`, never guessed.

Pure releases on drawn records: what sampling leaves of their epsilon.

A record takes part with probability q. Whether it does or not, the rest of the batch is drawn alike, so the output is
(1-q) A + q P1 on one neighbour and (1-q) A + q Q1 on the other, with any two of A, P1 and Q1 within a factor e^eps:

- `without-replacement`, q = m/n, eps for one replaced entry of the batch: A completes the batch by another record. If a
  record is added or removed, n the larger number, the smaller data set's output is A itself.
- `poisson`, eps for one added or removed record, neighbours `add-or-remove`: the other output is A itself.

So the outputs are within a factor 1 + q (e^eps - 1): of P/Q the numerator is at most (1-q) A + q e^eps min(A, Q1), and
that is at most (1 + q (e^eps - 1)) ((1-q) A + q Q1), because min(A, Q1) <= (1-q) A + q Q1. [BBG18] Theorems 8 and 9 at
delta = 0.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace
from fractions import Fraction

from accountant.errors import CannotCertifyError, NotPrivateError, UnsupportedSchemeError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import (
    GaussianStep,
    GroupStep,
    LaplaceStep,
    PoissonGaussianStep,
    PureStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Neighbours, Noise, Sampling
from accountant.numbers import arb_from_fraction, arb_precision, fraction_from_arb

Costs = tuple[tuple[Fraction, int], ...]
_BITS = 128
_DENOMINATOR = 10**12


class Protection(enum.StrEnum):
    """What protects a release."""

    GAUSSIAN = "gaussian"
    DISCRETE = "discrete-gaussian"
    LAPLACE = "laplace"
    PURE = "pure"  # only the epsilon is known: gamma noise, noise in an objective, randomised response


class RecordBounds(enum.StrEnum):
    """How the contribution of a record is bounded."""

    CLIP = "clip"
    NORMALISE = "normalise"
    UNKNOWN = "unknown"  # by the sensitivity that is stated, however that is achieved


@dataclass(frozen=True, slots=True)
class NoisyRelease:
    """Values that leave together under one sensitivity.

    `costs` has one entry for each run of equal releases: (Delta/sigma)^2 or epsilon of one of them, and how many there
    are. `drawn`: it is computed from the records of a batch, and amplified; of one batch there is one such release.
    """

    names: tuple[str, ...]
    protection: Protection
    costs: Costs
    drawn: bool = False

    @property
    def pure(self) -> bool:
        """Whether it has an epsilon at delta = 0."""
        return self.protection in (Protection.LAPLACE, Protection.PURE)


@dataclass(frozen=True, slots=True)
class Declaration:
    """A mechanism by what it releases and what protects it.

    `computed` are released values that are functions of the noisy ones; `bare` those that nothing protects. `rate` is
    the probability that a record is in a batch; with replacement, and for a `group` of several records, there are
    `batch` draws from `records`.
    """

    releases: tuple[NoisyRelease, ...]
    computed: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    neighbours: Neighbours = Neighbours.REPLACE_ONE
    sampling: Sampling = Sampling.ALL
    rate: Fraction | None = None
    batch: int | None = None
    records: int | None = None
    group: int = 1
    bounds: RecordBounds = RecordBounds.UNKNOWN
    radius: Fraction | None = None

    def with_noise(self, factor: Fraction) -> Declaration:
        """The same with all noise multiplied by the factor: what was measured in place of what is claimed."""

        def costs(release: NoisyRelease) -> Costs:
            return tuple((cost / (factor if release.pure else factor**2), count) for cost, count in release.costs)

        return replace(self, releases=tuple(replace(release, costs=costs(release)) for release in self.releases))


def releases_of(steps: tuple[Step, ...], whole: tuple[str, ...], batched: tuple[str, ...]) -> Declaration:
    """What these steps release: `whole` are the values computed from all records, `batched` those of a batch."""
    releases: list[NoisyRelease] = []
    found = Declaration((), neighbours=steps[0].neighbours)
    for step in steps:
        drawn = isinstance(step, SubsampledGaussianStep | WithReplacementStep | PoissonGaussianStep)
        if isinstance(step, PureStep):
            kind, cost = Protection.LAPLACE if isinstance(step, LaplaceStep) else Protection.PURE, step.epsilon
        else:
            discrete = getattr(step, "noise", Noise.GAUSSIAN) is Noise.DISCRETE
            kind = Protection.DISCRETE if discrete else Protection.GAUSSIAN
            cost = step.ratio_squared if isinstance(step, GaussianStep) else 1 / step.noise_multiplier**2
        if isinstance(step, WithReplacementStep):
            group, sampling = 1, Sampling.WITH_REPLACEMENT
            if isinstance(step, GroupStep):
                group, sampling = step.group, step.sampling
            found = replace(found, sampling=sampling, batch=step.batch, records=step.records, group=group)
        elif isinstance(step, SubsampledGaussianStep | PoissonGaussianStep):
            fixed = isinstance(step, SubsampledGaussianStep)
            kind_of_batch = Sampling.WITHOUT_REPLACEMENT if fixed else Sampling.POISSON
            found = replace(found, sampling=kind_of_batch, rate=step.sampling_rate)
        release = NoisyRelease(batched if drawn or not whole else whole, kind, ((cost, step.count),), drawn)
        if releases and replace(releases[-1], costs=()) == replace(release, costs=()):
            release = replace(release, costs=releases.pop().costs + release.costs)
        releases.append(release)
    return replace(found, releases=tuple(releases))


def declared_ledger(declaration: Declaration) -> Ledger:
    """The private releases of a whole run; what a pair of neighbours attains is no part of a declaration."""
    if declaration.bare:
        raise NotPrivateError(f"nothing protects {', '.join(declaration.bare)}: it has no price")
    _require_one_batch([release for release in declaration.releases if release.drawn])
    steps: list[Step] = []
    for release in declaration.releases:
        make = _drawn if release.drawn else _plain
        steps += [make(declaration, release, cost, count) for cost, count in release.costs]
    return Ledger(tuple(steps))


def _require_one_batch(drawn: list[NoisyRelease]) -> None:
    """Each value shows something of the batch, so that another one is not amplified given it."""
    if len(drawn) > 1:
        first, second = drawn[0].names[0], drawn[1].names[0]
        raise CannotCertifyError(
            f"{first} and {second} share a batch and have different noise: no theorem here prices them together; "
            "amplification 'none' prices them without what sampling gains"
        )


def _plain(declaration: Declaration, release: NoisyRelease, cost: Fraction, count: int) -> Step:
    """Releases on all records."""
    if release.protection is Protection.LAPLACE:
        return LaplaceStep(cost, count, declaration.neighbours)
    if release.pure:
        return PureStep(cost, count, declaration.neighbours)
    noise = Noise.DISCRETE if release.protection is Protection.DISCRETE else Noise.GAUSSIAN
    return GaussianStep(cost, count, noise, declaration.neighbours)


def _drawn(declaration: Declaration, release: NoisyRelease, cost: Fraction, count: int) -> Step:
    """Releases on fresh batches, less what drawing them gains."""
    sampling, neighbours, rate = declaration.sampling, declaration.neighbours, declaration.rate
    if release.pure and rate is not None:
        require_pure_theorem(sampling, neighbours)
        return PureStep(declaration.group * amplified_epsilon(cost, rate), count, neighbours)
    discrete, same_size = release.protection is Protection.DISCRETE, neighbours is Neighbours.REPLACE_ONE
    multiplier = root_below(1 / cost)
    n, m, k = declaration.records, declaration.batch, declaration.group
    if k > 1 and n is not None and m is not None and not (discrete or release.pure):
        return GroupStep(n, m, multiplier, count, neighbours, k, sampling)
    match sampling:
        case Sampling.WITHOUT_REPLACEMENT if rate is not None and (same_size or not discrete):
            noise = Noise.DISCRETE if discrete else Noise.GAUSSIAN
            return SubsampledGaussianStep(rate, multiplier, count, noise, neighbours)
        case Sampling.WITH_REPLACEMENT if not (discrete or release.pure):
            if n is None or m is None:
                raise AssertionError("draws with replacement are so many of so many records")
            return WithReplacementStep(n, m, multiplier, count, neighbours)
        case Sampling.POISSON if rate is not None and neighbours is Neighbours.ADD_OR_REMOVE and not discrete:
            return PoissonGaussianStep(rate, multiplier, count)
    raise CannotCertifyError(
        f"{release.names[0]}: {release.protection} noise on {sampling} batches under {neighbours} neighbours has no "
        "theorem here; amplification 'none' prices it without what sampling gains"
    )


def root_below(square: Fraction) -> Fraction:
    """A rational root, exact where there is one, else rounded down: less noise is never cheaper."""
    exact = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if exact * exact == square:
        return exact
    return Fraction(math.isqrt(square.numerator * _DENOMINATOR**2 // square.denominator), _DENOMINATOR)


def amplified_epsilon(epsilon: Fraction, rate: Fraction) -> Fraction:
    """Return log(1 + q (e^eps - 1)), rounded up in about the 38th digit; exactly epsilon for q = 1."""
    if rate == 1:
        return epsilon
    with arb_precision(_BITS):
        found = (arb_from_fraction(rate) * arb_from_fraction(epsilon).expm1()).log1p()
        return min(fraction_from_arb(found.upper()), epsilon)


def require_pure_theorem(sampling: Sampling, neighbours: Neighbours) -> None:
    """Refuse a scheme whose gain is not proved above for a pure release."""
    entry = sampling is Sampling.WITHOUT_REPLACEMENT and neighbours is not Neighbours.ZERO_OUT
    if sampling is Sampling.ALL or entry:
        return
    if sampling is Sampling.POISSON and neighbours is Neighbours.ADD_OR_REMOVE:
        return
    raise UnsupportedSchemeError(
        f"{sampling} batches under {neighbours} neighbours have no theorem here for a pure release; "
        "without-replacement has one, and poisson under add-or-remove"
    )
