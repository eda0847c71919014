r"""Ends that need no lattice: from how often a record is drawn, from losses that are reached, from one event.

How often a record is drawn: tails of a binomial K with parameters (T, p), in balls, at the same cost for every T.

From above, P[K >= k] <= P[K = k]/(1 - r) with r = P[K = k+1]/P[K = k] < 1: the ratios fall in k. From below it is at
least 1/2 up to floor(Tp), because the median is no less; P[K = k] everywhere; and (m+1) P[K = k+m] beyond (T+1)p, where
the masses fall.

An upper bound for little noise, where drawing batches hides hardly more than the number of draws.

Who is told in which steps the record was drawn knows more, and hockey-stick divergences are jointly convex. So with K_i
the number of draws in phase i, binomial (T_i, q_i), and delta_G the profile of one Gaussian release,

    delta(eps) <= E[delta_G(eps; sum K_i mu_i^2)] <= P[some K_i > k_i] + delta_G(eps; sum k_i mu_i^2)

for any k_i.

A lower bound from levels that losses reach: no lattice, no integral, the same cost at every size.

Under the first distribution P of a pair, the losses L_i of independent phases satisfy, for any levels a_i and t > 0,

    delta(eps) >= (1 - e^-t) P[L >= eps + t],    P[sum L_i >= sum a_i] >= product of P[L_i >= a_i].

So phases that reach a_i with probability p_i, (1 - e^-t) product p_i >= delta, attain eps = sum a_i - t. Each phase
gets the same p, the best n phases are added (leaving releases out is post-processing), and the best n counts. Levels:

- *all records*, mu^2 together: L is normal with mean mu^2/2 and variance mu^2.
- *drawn* with rate q: each step loses at least log(1-q), and at least mu^2/2 - mu h + log q where z >= mu - h, which
  happens with probability at least q Phi(h) in each.
- *pure*: randomised response loses epsilon or -epsilon.

A lower bound from one event: some step shows a loss above epsilon.

For any event E, delta(epsilon) >= P[E] - e^epsilon Q[E]. With P the output distribution of the realisable pair
((1-q)N(0)+qN(mu) against N(0) in each step) and E "in some step z exceeds the point of loss epsilon",

    P[E] = 1 - prod (1 - p_i)^{T_i},  p = q Phi(mu - z) + (1-q) Phi(-z),    Q[E] = 1 - prod (1 - Phi(-z_i))^{T_i}.

It is close to the truth where one rare, large loss decides: just where a tilted lattice is at its weakest.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from flint import arb

from accountant.limits import check_time
from accountant.numbers import Bound, arb_from_fraction, arb_precision, fraction_from_arb, normal_tail
from accountant.profiles.gaussian import gaussian_epsilon
from accountant.profiles.one_step import SubsampledGaussian, single_step_epsilon

_BITS: Final = 192
_PARTS: Final = (1, 3, 9, 27)
"""Of a standard deviation: numbers of masses that are added up."""


def seldom_more(count: int, chance: arb, log_p: arb) -> int:
    """Return a number that K exceeds with probability at most p: about the least."""
    with arb_precision(_BITS + 2 * count.bit_length()):
        low, high = _mean_below(count, chance), count  # more than `high` never happens
        while low < high:
            between = (low + high) // 2
            if _log_tail(count, chance, between + 1) <= log_p:
                high = between
            else:
                low = between + 1
        return high


def often_as_many(count: int, chance: arb, log_p: arb) -> int:
    """Return a number that K reaches with probability p <= 1/2 at least: about the largest."""
    with arb_precision(_BITS + 2 * count.bit_length()):
        low, high = _mean_below(count, chance), count
        deviation = math.isqrt(int((count * chance * (1 - chance)).upper().ceil().fmpz()))
        while low < high:
            between = (low + high + 1) // 2
            if any(_log_block(count, chance, between, deviation // part) >= log_p for part in _PARTS):
                low = between
            else:
                high = between - 1
        return low


def _log_block(count: int, chance: arb, first: int, more: int) -> arb:
    """Return a lower bound of log P[first <= K <= first + more]."""
    if more and first >= (count + 1) * chance and first + more <= count:
        return arb(more + 1).log() + log_mass(count, chance, first + more)
    return log_mass(count, chance, first)


def log_mass(count: int, chance: arb, number: int) -> arb:
    """Return log P[K = number]."""
    ways = arb(count + 1).lgamma() - arb(number + 1).lgamma() - arb(count - number + 1).lgamma()
    missed = (count - number) * (-chance).log1p() if number < count else arb(0)
    return ways + number * chance.log() + missed


def _log_tail(count: int, chance: arb, least: int) -> arb:
    """Bound log P[K >= least] from above; 0 where the ratios do not fall yet."""
    ratio = chance / (1 - chance) * (count - least) / (least + 1)
    return log_mass(count, chance, least) - (-ratio).log1p() if ratio < 1 else arb(0)


def _mean_below(count: int, chance: arb) -> int:
    """Return floor(Tp), or less."""
    return min(max(int((count * chance).lower().floor().fmpz()), 0), count)


_LITTLE: Final = 1
_SHARES: Final = (Fraction(1, 2), Fraction(1, 256))
"""Of delta, for the noise; the rest is for rare numbers of draws."""


def revealed_epsilon(steps: Sequence[SubsampledGaussian], delta: Fraction) -> Fraction | None:
    """Return a certified upper epsilon at delta > 0; None where noise is not little, and the bound far off."""
    drawn = [step for step in steps if step.sampling_rate < 1]
    if not any(step.noise_multiplier < _LITTLE for step in drawn):
        return None
    return min(_with_share(steps, drawn, delta, share) for share in _SHARES)


def _with_share(
    steps: Sequence[SubsampledGaussian], drawn: Sequence[SubsampledGaussian], delta: Fraction, share: Fraction
) -> Fraction:
    square = sum((step.count / step.noise_multiplier**2 for step in steps if step.sampling_rate == 1), Fraction(0))
    with arb_precision(_BITS):
        log_p = arb_from_fraction(delta * (1 - share) / len(drawn)).log()
        for step in drawn:
            draws = seldom_more(step.count, arb_from_fraction(step.sampling_rate), log_p)
            square += draws / step.noise_multiplier**2
    return gaussian_epsilon(square, delta * share).most.fraction() if square else Fraction(0)


Reached = Callable[[arb], arb | None]
"""From log p to a loss that is reached with probability p at least; None where none is known."""


@dataclass(frozen=True, slots=True)
class LossLevel:
    """What a phase reaches: `sure` is proved; `about` is a quick guess of it."""

    sure: Reached
    about: Reached


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
                levels = [positive_part(phase.sure(choice.log_p)) for phase in choice.phases]
                best = max(best, sum(levels, Fraction(0)) - choice.cost)
    return best


def _choices(phases: Sequence[LossLevel], delta: Fraction, spent: Fraction) -> Iterator[_Choice]:
    """Yield, where 1 - e^-t = `spent`, the best n phases for every n."""
    log_p, half = arb_from_fraction(delta / spent).log(), arb(0.5).log()
    cost = fraction_from_arb((-arb_from_fraction(1 - spent).log()).upper())
    for size in _SIZES:
        if size <= len(phases) and log_p / size < half:
            guesses = [(positive_part(phase.about(log_p / size)), phase) for phase in phases]
            best = sorted(guesses, key=lambda entry: -entry[0])[:size]
            guess = sum((level for level, _ in best), Fraction(0)) - cost
            yield _Choice(guess, tuple(phase for _, phase in best), log_p / size, cost)


def positive_part(level: arb | None) -> Fraction:
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
        low, high = (low, between) if normal_tail(-arb(between)).log() >= log_p else (between, high)
    return arb(high)


def drawn_level(step: SubsampledGaussian, log_p: arb) -> arb | None:
    """Return a level of a phase with sampling: so many steps in which the record is seen to be drawn."""
    q, mu, count = arb_from_fraction(step.sampling_rate), arb_from_fraction(1 / step.noise_multiplier), step.count
    levels: list[arb] = []
    for distance in _DISTANCES:
        seen = mu * (mu / 2 - arb(distance)) + q.log()
        if not seen > 0:
            break
        number = often_as_many(count, q * normal_tail(-arb(distance)), log_p)
        levels.append((number * seen + (count - number) * (-q).log1p()).lower())
    return max(levels, default=None)


def pure_level(epsilon: Fraction, count: int, log_p: arb) -> arb:
    """Return a level of `count` answers of randomised response."""
    e = arb_from_fraction(epsilon)
    return e * (2 * often_as_many(count, 1 / (1 + (-e).exp()), log_p) - count)


_EVENT_BITS: Final = 320
_EVENT_BISECTIONS: Final = 30
_LEAST: Final = arb(2) ** -20000


def event_delta(steps: Sequence[SubsampledGaussian], epsilon: Fraction) -> Fraction:
    """Return a lower bound on delta(epsilon), epsilon > 0, that the pair attains; 0 where it says nothing."""
    with arb_precision(_EVENT_BITS):
        ball = _event_ball(steps, arb_from_fraction(epsilon))
        return fraction_from_arb(ball.lower()) if ball.is_finite() and ball.lower() > _LEAST else Fraction(0)


def event_epsilon(steps: Sequence[SubsampledGaussian], delta: Fraction) -> Fraction:
    """Return an epsilon that the pair violates at delta: bisection, the answer certified.

    A single step alone costs no more than all of them, which is where the search starts; delta over the number of steps
    is where it ends, for P[E] - e^epsilon Q[E] is at most the sum of the steps' own delta(epsilon).
    """
    number = sum(step.count for step in steps)
    good = max((_alone(step, delta).least.fraction() for step in steps), default=Fraction(0))
    bad = max((_alone(step, delta / number).most.fraction() for step in steps), default=Fraction(0))
    with arb_precision(_EVENT_BITS):
        target = arb_from_fraction(delta)
        for _ in range(_EVENT_BISECTIONS):
            between = (good + bad) / 2
            holds = between > 0 and bool(_event_ball(steps, arb_from_fraction(between)) >= target)
            good, bad = (between, bad) if holds else (good, between)
    return good


def _alone(step: SubsampledGaussian, delta: Fraction) -> Bound:
    return single_step_epsilon(step.sampling_rate, 1 / step.noise_multiplier**2, delta)


def _event_ball(steps: Sequence[SubsampledGaussian], epsilon: arb) -> arb:
    first, second, root = arb(0), arb(0), arb(2).sqrt()
    for step in steps:
        q, mu = arb_from_fraction(step.sampling_rate), arb_from_fraction(1 / step.noise_multiplier)
        z = (epsilon.expm1() / q).log1p() / mu + mu / 2
        base, shifted = (z / root).erfc() / 2, ((z - mu) / root).erfc() / 2
        first += step.count * (-(q * shifted + (1 - q) * base)).log1p()
        second += step.count * (-base).log1p()
    return epsilon.exp() * second.expm1() - first.expm1()
