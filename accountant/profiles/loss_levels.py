r"""A lower bound from levels that losses reach: no lattice, no integral, the same cost at every size.

Under the first distribution P of a pair, the losses L_i of independent phases satisfy, for any levels a_i and t > 0,

    delta(eps) >= (1 - e^-t) P[L >= eps + t],    P[sum L_i >= sum a_i] >= product of P[L_i >= a_i].

So phases that reach a_i with probability p_i, (1 - e^-t) product p_i >= delta, attain eps = sum a_i - t. Each phase
gets the same p, the best n phases are added (leaving releases out is post-processing), and the best n counts. Levels:

- *all records*, mu^2 together: L is normal with mean mu^2/2 and variance mu^2.
- *drawn* with rate q: each step loses at least log(1-q), and at least mu^2/2 - mu h + log q where z >= mu - h, which
  happens with probability at least q Phi(h) in each.
- *pure*: randomised response loses epsilon or -epsilon.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from flint import arb

from accountant.limits import check_time
from accountant.numbers import arb_from_fraction, arb_precision, fraction_from_arb
from accountant.profiles.binomial import often_as_many
from accountant.profiles.one_step import SubsampledGaussian

Reached = Callable[[arb], arb | None]
"""From log p to a loss that is reached with probability p at least; None where none is known."""


@dataclass(frozen=True, slots=True)
class LossLevel:
    """What a phase reaches: `sure` is proved; `about` is a quick guess of it."""

    sure: Reached
    about: Reached


_BITS: Final = 192
_SPENT: Final = (Fraction(1, 2), Fraction(1, 64), Fraction(1, 4096))
"""Values of 1 - e^-t: much of delta for a little of epsilon, and the other way round."""
_DISTANCES: Final = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_SIZES: Final = (1, 2, 3, 4, 5, 8)
_MOST_PHASES: Final = 8
"""Of more sampled phases, and of more pure ones, those that cost most are looked at."""
_MOST_TRIED: Final = 3
_BISECTIONS: Final = 50


@dataclass(frozen=True, slots=True)
class _Choice:
    """Phases to add, each with probability p, and the t they cost; `guess` is about what comes of it."""

    guess: Fraction
    phases: tuple[LossLevel, ...]
    log_p: arb
    cost: Fraction


def attained_level(phases: Sequence[LossLevel], delta: Fraction) -> Fraction:
    """Return an epsilon that the phases together violate at delta > 0; 0 where none was found."""
    best = Fraction(0)
    with arb_precision(_BITS):
        choices = [choice for spent in _SPENT for choice in _choices(phases, delta, spent)]
        for choice in sorted(choices, key=lambda one: -one.guess)[:_MOST_TRIED]:
            if choice.guess > best:
                levels = [_positive(phase.sure(choice.log_p)) for phase in choice.phases]
                best = max(best, sum(levels, Fraction(0)) - choice.cost)
    return best


def _choices(phases: Sequence[LossLevel], delta: Fraction, spent: Fraction) -> Iterator[_Choice]:
    """Yield, where 1 - e^-t = `spent`, the best n phases for every n."""
    log_p, half = arb_from_fraction(delta / spent).log(), arb(0.5).log()
    cost = fraction_from_arb((-arb_from_fraction(1 - spent).log()).upper())
    for size in _SIZES:
        if size <= len(phases) and log_p / size < half:
            guesses = [(_positive(phase.about(log_p / size)), phase) for phase in phases]
            best = sorted(guesses, key=lambda entry: -entry[0])[:size]
            guess = sum((level for level, _ in best), Fraction(0)) - cost
            yield _Choice(guess, tuple(phase for _, phase in best), log_p / size, cost)


def _positive(level: arb | None) -> Fraction:
    """Return the lower end of a level, at least 0: a phase may be left out."""
    check_time()
    if level is None or not level.is_finite() or not level.lower() > 0:
        return Fraction(0)
    return fraction_from_arb(level.lower())


def levels_of(steps: Sequence[SubsampledGaussian], pure: Sequence[tuple[Fraction, int]] = ()) -> list[LossLevel]:
    """Return the phases: all steps without sampling together, each phase with sampling, each pure one."""
    square = sum((step.count / step.noise_multiplier**2 for step in steps if step.sampling_rate == 1), Fraction(0))
    found: list[Reached] = [functools.partial(gaussian_level, square)] if square else []
    found += [functools.partial(drawn_level, step) for step in costliest(steps)]
    found += [functools.partial(pure_level, epsilon, count) for epsilon, count in costliest_pure(pure)]
    return [LossLevel(reached, reached) for reached in found]


def costliest(steps: Sequence[SubsampledGaussian]) -> list[SubsampledGaussian]:
    """Return the sampled phases that are looked at."""
    drawn = [step for step in steps if step.sampling_rate < 1]
    return sorted(drawn, key=lambda s: -s.count * s.sampling_rate / s.noise_multiplier**2)[:_MOST_PHASES]


def costliest_pure(pure: Sequence[tuple[Fraction, int]]) -> list[tuple[Fraction, int]]:
    """Return the pure phases that are looked at, equal ones joined."""
    counts: dict[Fraction, int] = {}
    for epsilon, count in pure:
        counts[epsilon] = counts.get(epsilon, 0) + count
    return sorted(counts.items(), key=lambda entry: -entry[0] * entry[1])[:_MOST_PHASES]


def gaussian_level(square: Fraction, log_p: arb) -> arb:
    """Return a level of Gaussian releases of all records, mu^2 = `square` together."""
    mu = arb_from_fraction(square).sqrt()
    return mu * (mu / 2 - _quantile(log_p))


def _quantile(log_p: arb) -> arb:
    """Return an h with Phi(h) >= p, about the least."""
    reach = float((2 * abs(log_p)).sqrt().upper()) + 1
    low, high = -reach, reach
    for _ in range(_BISECTIONS):
        between = (low + high) / 2
        low, high = (low, between) if _normal_cdf(arb(between)).log() >= log_p else (between, high)
    return arb(high)


def _normal_cdf(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def drawn_level(step: SubsampledGaussian, log_p: arb) -> arb | None:
    """Return a level of a phase with sampling: so many steps in which the record is seen to be drawn."""
    q, mu, count = arb_from_fraction(step.sampling_rate), arb_from_fraction(1 / step.noise_multiplier), step.count
    levels: list[arb] = []
    for distance in _DISTANCES:
        seen = mu * (mu / 2 - arb(distance)) + q.log()
        if not seen > 0:
            break
        number = often_as_many(count, q * _normal_cdf(arb(distance)), log_p)
        levels.append((number * seen + (count - number) * (-q).log1p()).lower())
    return max(levels, default=None)


def pure_level(epsilon: Fraction, count: int, log_p: arb) -> arb:
    """Return a level of `count` answers of randomised response."""
    e = arb_from_fraction(epsilon)
    return e * (2 * often_as_many(count, 1 / (1 + (-e).exp()), log_p) - count)
