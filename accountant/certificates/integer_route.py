r"""The composed profile a second time, in exact integers: slow, simple, and sharing nothing with the fast one.

Used to re-derive certificates. No binary float, no Fourier transform, no tilting:

1. The profile H of one step is evaluated in balls at the points y_j = e^{jh} and joined by chords. H is convex, so
   the chords lie above it, and they are the profile of a discrete pair: mass p_j = y_j (slope after - slope before)
   at loss jh, and H(y_top) at infinity.
2. Masses become integers in units of 2^-S, rounded *up*, and are composed by exact polynomial multiplication;
   after each product they are rounded up again, mass above the window becomes infinite loss, mass below it moves up.

Everything rounds towards more loss, so the delta that comes out is an upper bound for the composed pair.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from flint import arb, fmpz, fmpz_poly

from accountant.copies import Copies
from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.mechanisms.steps import GroupStep, WithReplacementStep
from accountant.numbers import arb_from_fraction, arb_precision, fraction_from_arb, normal_tail
from accountant.profiles.gaussian import delta_ball
from accountant.profiles.one_step import SubsampledGaussian


class ExactPair(enum.Enum):
    """Whose profile: the one that dominates every step, or the realisable mixture in either order."""

    DOMINATING = "dominating"
    MIXTURE_FIRST = "mixture first"
    MIXTURE_SECOND = "mixture second"


@dataclass(frozen=True, slots=True)
class Grid:
    """Losses jh for |j| <= window, masses in units of 2^-bits."""

    spacing: Fraction
    window: int
    bits: int


@dataclass(frozen=True, slots=True)
class IntegerMeasure:
    """Masses of the losses jh, j = -window..window, and of an infinite loss; at least the true ones."""

    masses: fmpz_poly
    infinite: int


@dataclass(frozen=True, slots=True)
class ExactKnown:
    """`count` steps whose pair is known: the mixture in a stated order, whatever pair the other steps take."""

    step: SubsampledGaussian
    order: ExactPair

    @property
    def count(self) -> int:
        """How many steps."""
        return self.step.count


@dataclass(frozen=True, slots=True)
class ExactPure:
    """`count` pure releases: randomised response at epsilon, or Laplace noise, whose profiles are closed."""

    epsilon: Fraction
    count: int
    laplace: bool

    def profile(self, y: arb) -> arb:
        """Return H(y): (e^epsilon - y)_+/(1 + e^epsilon) or 1 - sqrt(y e^-epsilon), up to e^epsilon; 1-y at least."""
        top = arb_from_fraction(self.epsilon).exp()
        known = 1 - (y / top).sqrt() if self.laplace else (top - y) / (1 + top)
        return known.max(1 - y).max(arb(0)) if y < top else arb(0)


@dataclass(frozen=True, slots=True)
class ExactMixture:
    """`count` steps that announce which part is taken; `rest` is the probability of all others: infinite losses."""

    parts: tuple[tuple[Fraction, SubsampledGaussian], ...]
    rest: Fraction
    count: int


@dataclass(frozen=True, slots=True)
class ExactGaussians:
    """`count` steps of two mixtures of Gaussians: weight i of N(i mu) against weight i of N(-i mu), mu = 1/nu."""

    first: tuple[Fraction, ...]
    second: tuple[Fraction, ...]
    noise_multiplier: Fraction
    count: int

    def profile(self, y: list[arb], bits: int) -> list[arb]:
        """Return H at each y, ascending: P[z > t] - y Q[z > t] at the t where the densities' ratio is y.

        Where t is further out than any mass that counts, H is bounded by chords: at most 1 at 0, falling to the right.
        """
        mu = arb_from_fraction(1 / self.noise_multiplier)
        pair = _Densities(_balls(self.first), _balls(self.second), mu, bits)
        furthest = math.isqrt(2 * bits) + 2 + int(len(self.first) / self.noise_multiplier)
        low, high = (pair.log_ratio(arb(sign * furthest))[0].exp() for sign in (-1, 1))
        inside = [j for j, at in enumerate(y) if low < at < high]
        if not inside:
            raise CannotCertifyError("no loss of a step is on the grid")
        found, t = [arb(1)] * len(y), arb(0)
        for j in inside:
            check_time()
            t = pair.where(y[j].log(), t)
            found[j] = pair.divergence(y[j], t).max(1 - y[j])
        for j in range(inside[0]):
            found[j] = 1 - y[j] / y[inside[0]] * (1 - found[inside[0]])
        return found[: inside[-1] + 1] + [found[inside[-1]]] * (len(y) - inside[-1] - 1)


def _balls(weights: tuple[Fraction, ...]) -> list[arb]:
    return [arb_from_fraction(weight) for weight in weights]


@dataclass(frozen=True, slots=True)
class _Densities:
    """The two mixtures in balls."""

    first: list[arb]
    second: list[arb]
    mu: arb
    bits: int

    def divergence(self, y: arb, t: arb) -> arb:
        """Return P[z > t] - y Q[z > t], at least 0."""
        own = sum((w * normal_tail(t - i * self.mu) for i, w in enumerate(self.first)), arb(0))
        other = sum((w * normal_tail(t + i * self.mu) for i, w in enumerate(self.second)), arb(0))
        return (own - y * other).max(arb(0))

    def log_ratio(self, z: arb) -> tuple[arb, arb]:
        """Return the log of the densities' ratio at z, and its derivative."""
        sums = []
        for weights, at in ((self.first, z), (self.second, -z)):
            terms = [w * (i * self.mu * (at - i * self.mu / 2)).exp() for i, w in enumerate(weights)]
            total = sum(terms, arb(0))
            sums.append((total, sum((i * term for i, term in enumerate(terms)), arb(0)) / total))
        (above, rising), (below, falling) = sums
        return (above / below).log(), self.mu * (rising + falling)

    def where(self, loss: arb, start: arb) -> arb:
        """Return a ball that holds the z with this loss: Newton's steps, then a sign on either side."""
        z = start
        for _ in range(60):
            value, slope = self.log_ratio(z)
            step = ((value - loss) / slope).mid()
            z = (z - max(min(step, arb(1)), arb(-1))).mid()
            if abs(step) < arb(2) ** (-self.bits // 2 - 8):
                break
        radius = arb(2) ** (-self.bits)
        for _ in range(self.bits):
            if self.log_ratio(z - radius)[0] < loss and self.log_ratio(z + radius)[0] > loss:
                return z + radius * arb(0, 1)
            radius *= 16
        raise CannotCertifyError("a loss of a step could not be located")


ExactStep = SubsampledGaussian | ExactMixture | ExactKnown | ExactPure | ExactGaussians


def exact_delta_upper(steps: Sequence[ExactStep], pair: ExactPair, epsilon: Fraction, grid: Grid) -> Fraction:
    """Return an upper bound of delta(epsilon) of the composed pair."""
    return measure_delta(exact_measure(steps, pair, grid), epsilon, grid)


def exact_measure(steps: Sequence[ExactStep], pair: ExactPair, grid: Grid) -> IntegerMeasure:
    """Return a measure that dominates the losses of the composed pair."""
    total: IntegerMeasure | None = None
    for step in steps:
        powered = _power(_one_step(step, pair, grid), step.count, grid)
        total = powered if total is None else _product(total, powered, grid)
    if total is None:
        raise ValueError("steps must not be empty")
    return total


def _one_step(step: ExactStep, pair: ExactPair, grid: Grid) -> IntegerMeasure:
    w, scale = grid.window, 1 << grid.bits
    with arb_precision(grid.bits + 4 * grid.spacing.denominator.bit_length() + 64):
        spacing = arb_from_fraction(grid.spacing)
        y = [(j * spacing).exp() for j in range(-w, w + 1)]
        profile = _profile(step, pair, y, w, grid.bits)
        before = (profile[0] - 1) / y[0]
        masses: list[fmpz | int] = []
        for j in range(2 * w + 1):
            after = (profile[j + 1] - profile[j]) / (y[j + 1] - y[j]) if j < 2 * w else arb(0)
            masses.append(_units(y[j] * (after - before), scale))
            before = after
        return IntegerMeasure(fmpz_poly(masses), _units(profile[-1], scale))


def _profile(step: ExactStep, pair: ExactPair, y: list[arb], w: int, bits: int) -> list[arb]:
    r"""Return H at each y; H_mixture(y) = q H_G((y-1+q)/q), or 1 - y where y <= 1 - q.

    The other order is 1 - y + y H(1/y); the dominating profile takes the larger branch on each side of 1.
    """
    if isinstance(step, ExactMixture):
        total = [arb_from_fraction(step.rest)] * len(y)
        for weight, part in step.parts:
            share = arb_from_fraction(weight)
            total = [a + share * b for a, b in zip(total, _profile(part, pair, y, w, bits), strict=True)]
        return total
    if isinstance(step, ExactGaussians | ExactPure):
        return step.profile(y, bits) if isinstance(step, ExactGaussians) else [step.profile(at) for at in y]
    if isinstance(step, ExactKnown):
        return _profile(step.step, step.order, y, w, bits)
    q, mu = arb_from_fraction(step.sampling_rate), arb_from_fraction(1 / step.noise_multiplier)

    def mixture(at: arb) -> arb:
        inner = (at - 1 + q) / q
        return q * delta_ball(mu, inner.log()) if inner > 0 else (1 - at).max(arb(0))

    if pair is ExactPair.MIXTURE_FIRST:
        return [mixture(at) for at in y]
    mirrored = [1 - y[j] + y[j] * mixture(y[2 * w - j]) for j in range(2 * w + 1)]
    if pair is ExactPair.MIXTURE_SECOND:
        return mirrored
    return mirrored[:w] + [mixture(at) for at in y[w:]]


def _units(mass: arb, scale: int) -> int:
    """Return the mass in units, rounded up; what is negative by rounding alone is 0."""
    return max(0, int((mass * scale).upper().ceil().fmpz()))


def _power(measure: IntegerMeasure, count: int, grid: Grid) -> IntegerMeasure:
    result: IntegerMeasure | None = None
    while True:
        check_time()
        if count & 1:
            result = measure if result is None else _product(result, measure, grid)
        count >>= 1
        if count == 0:
            assert result is not None
            return result
        measure = _product(measure, measure, grid)


def _product(a: IntegerMeasure, b: IntegerMeasure, grid: Grid) -> IntegerMeasure:
    """Convolve, round up to units, and fold what left the window: up to infinity, or up to its lower end."""
    w, half = grid.window, (1 << grid.bits) - 1
    raw = (a.masses * b.masses).coeffs()
    units = [(int(c) + half) >> grid.bits for c in raw]
    units += [0] * (4 * w + 1 - len(units))
    inside = units[w : 3 * w + 1]
    inside[0] += sum(units[:w])
    return IntegerMeasure(fmpz_poly(inside), a.infinite + b.infinite + sum(units[3 * w + 1 :]))


def measure_delta(measure: IntegerMeasure, epsilon: Fraction, grid: Grid) -> Fraction:
    r"""Return sum over jh > eps of (1 - e^{eps-jh}) p_j, plus the infinite mass, rounded up and at most 1."""
    masses = [int(c) for c in measure.masses.coeffs()]
    first = max(0, (epsilon / grid.spacing).__floor__() + 1 + grid.window)
    with arb_precision(grid.bits + 64):
        total, step = arb(measure.infinite), (-arb_from_fraction(grid.spacing)).exp()
        ratio = arb_from_fraction(epsilon - (first - grid.window) * grid.spacing).exp()
        for mass in masses[first:]:
            total += mass * (1 - ratio)
            ratio = ratio * step
        return min(fraction_from_arb((total / (1 << grid.bits)).upper()), Fraction(1))


CHANCE_BITS: Final = 512


def exact_mixture(step: WithReplacementStep, spare: Fraction) -> ExactMixture:
    """Return the mixture of `profiles.with_replacement`, anew and rounded up; `spare` is about what may be left out.

    In balls: the exact rationals of a large batch have millions of digits.
    """
    copies, parts = step.copies, []
    with arb_precision(CHANCE_BITS):
        some = 1 - _chance_ball(copies, 0)
        rate, left = min(fraction_from_arb(some.upper()), Fraction(1)), arb(1)
        for k in range(1, copies.most + 1):
            check_time()
            weight = _chance_ball(copies, k) / some
            left -= weight
            parts.append((fraction_from_arb(weight.upper()), SubsampledGaussian(rate, step.noise_multiplier / k, 1)))
            rest = fraction_from_arb(left.upper()) if k < copies.most else Fraction(0)
            if rest <= spare:
                break
    return ExactMixture(tuple(parts), rest, step.count)


def _chance_ball(copies: Copies, k: int) -> arb:
    """Return P[K = k] from its definition, in balls."""
    n, (few, many) = copies.size, sorted((copies.draws, copies.marked))
    if copies.replaced:
        share = arb(copies.marked) / n
        return math.comb(copies.draws, k) * share**k * (1 - share) ** (copies.draws - k)
    return (_log_ways(few, k) + _log_ways(n - few, many - k) - _log_ways(n, many)).exp()


def _log_ways(number: int, taken: int) -> arb:
    """Return the logarithm of a binomial coefficient."""
    return arb(number + 1).lgamma() - arb(taken + 1).lgamma() - arb(number - taken + 1).lgamma()


def chance(copies: Copies, k: int) -> Fraction:
    """Return P[K = k] from its definition, exactly: of small batches or groups."""
    n, (few, many) = copies.size, sorted((copies.draws, copies.marked))
    if copies.replaced:
        share = Fraction(copies.marked, n)
        return math.comb(copies.draws, k) * share**k * (1 - share) ** (copies.draws - k)
    ways = math.comb(few, k) * math.perm(many, k) * math.perm(n - many, few - k)
    return Fraction(ways, math.perm(n, few))


def joining(step: GroupStep, records: int) -> tuple[Fraction, ...]:
    """Return the binomial probabilities of how many of some records join a Poisson batch."""
    q = Fraction(step.batch, step.records)
    return tuple(math.comb(records, j) * q**j * (1 - q) ** (records - j) for j in range(records + 1))
