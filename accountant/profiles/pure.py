r"""Composition of pure releases, without loss: what k adaptive releases of known epsilons cost together.

Every pure release is a post-processing of randomised response at its epsilon, also when it is chosen by what came
before ([KOV15] Theorem 3.3; different epsilons: [MV16]). So the worst k releases are independent randomised
responses: l of c answers at eps_i are wrong with probability C(c, l) e^((c-l) eps_i)/(1 + e^eps_i)^c, the loss is the
sum of (c - 2 l) eps_i, and

    delta(eps) = sum over losses L > eps of P(L) (1 - e^(eps - L)) = A - e^eps B,

with A and B constant between two neighbouring losses. Epsilon at a delta is therefore closed: log((A - delta)/B).
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import prod

from flint import arb

from accountant.errors import CannotCertifyError, InvalidQuantityError
from accountant.numbers import Bound, arb_from_fraction, arb_precision, fraction_from_arb, has_digits, precisions, shown

MOST_LOSSES = 20_000
"""Of more combinations of answers no price is computed: many different epsilons are #P-hard ([MV16])."""

_MOST_PARTED = 5
_LAPLACE_BITS = 160
Releases = Sequence[tuple[Fraction, int]]
"""Epsilons, each with how often it is spent."""


Outcome = tuple[Fraction, arb, arb]
"""A loss, and its probability under either neighbour."""


def pure_epsilon(releases: Releases, delta: Fraction, *, digits: int = 30) -> Bound:
    """Enclose the least epsilon >= 0 at which all releases together are (epsilon, delta)-DP; exact at delta = 0."""
    whole = sum((epsilon * count for epsilon, count in releases), Fraction(0))
    if delta == 0:
        return Bound.from_fractions(whole, whole)
    return _pure_epsilon(tuple(_spent(releases)), delta, digits, whole)


@functools.lru_cache(maxsize=8)
def _pure_epsilon(spent: tuple[tuple[Fraction, int], ...], delta: Fraction, digits: int, whole: Fraction) -> Bound:
    for bits in precisions(digits):
        with arb_precision(bits):
            ball = _solved(_outcomes(spent), arb_from_fraction(delta))
            if ball is not None and has_digits(ball, digits):
                lower, upper = fraction_from_arb(ball.lower()), fraction_from_arb(ball.upper())
                return Bound.from_fractions(max(lower, Fraction(0)), min(max(upper, Fraction(0)), whole))
    raise CannotCertifyError(f"epsilon of pure releases at delta {shown(delta)} needs more than {bits} bits")


def _solved(outcomes: list[Outcome], delta: arb) -> arb | None:
    """Find the segment between two losses in which delta(eps) meets delta; None where that is undecided.

    delta(eps) falls with eps, so the segment is found by bisection over the sums of A and B from the largest loss down.
    """
    positive = [outcome for outcome in outcomes if outcome[0] > 0]
    a = list(itertools.accumulate(first for _, first, _ in positive))
    b = list(itertools.accumulate(second for _, _, second in positive))
    ends = [loss for loss, _, _ in positive[1:]] + [Fraction(0)]
    below, reached = -1, len(positive)
    while reached - below > 1:
        middle = (below + reached) // 2
        there = a[middle] - arb_from_fraction(ends[middle]).exp() * b[middle]
        if there > delta:
            reached = middle
        elif there < delta:
            below = middle
        else:
            return None
    return arb(0) if reached == len(positive) else ((a[reached] - delta) / b[reached]).log()


def laplace_epsilon(epsilon: Fraction, delta: Fraction) -> Bound:
    """Enclose the least epsilon >= 0 of one release with Laplace noise at delta: epsilon + 2 log(1 - delta)."""
    if not delta:
        return Bound.from_fractions(epsilon, epsilon)
    with arb_precision(_LAPLACE_BITS):
        found = arb_from_fraction(epsilon) + 2 * (-arb_from_fraction(delta)).log1p()
        ends = fraction_from_arb(found.lower()), fraction_from_arb(found.upper())
    return Bound.from_fractions(*(max(end, Fraction(0)) for end in ends))


def side_epsilon(epsilon: Fraction) -> Fraction:
    r"""Return log(2 e^{epsilon/2} - 1), rounded down: what the side of the middle gives away of a Laplace release.

    With noise of scale b between 0 and D = epsilon b, P[z > D/2] is 1 - e^{-epsilon/2}/2 for one data set and
    e^{-epsilon/2}/2 for the other: randomised response. For small epsilon it is nearly all of it.
    """
    with arb_precision(_LAPLACE_BITS):
        return fraction_from_arb((2 * (arb_from_fraction(epsilon) / 2).expm1()).log1p().lower())


def pure_parts(releases: Releases) -> Iterator[tuple[tuple[Fraction, int], ...]]:
    """Yield parts of the releases, equal epsilons joined, the whole first: every part of few, else the costliest."""
    spent: Counter[Fraction] = Counter()
    for epsilon, count in releases:
        spent[epsilon] += count
    ranked = sorted(spent.items(), key=lambda entry: -(entry[0] ** 2) * entry[1])
    if len(ranked) > _MOST_PARTED:
        yield from (tuple(ranked[:size]) for size in range(len(ranked), 0, -1))
        return
    for size in range(len(ranked), 0, -1):
        yield from itertools.combinations(ranked, size)


def _spent(releases: Releases) -> list[tuple[Fraction, int]]:
    """Return each epsilon once, with how often it is spent; refuse what has too many losses."""
    spent: Counter[Fraction] = Counter()
    for epsilon, count in releases:
        if epsilon <= 0 or count < 1:
            raise InvalidQuantityError(f"a pure release needs epsilon > 0, got {shown(epsilon)} {count} times")
        spent[epsilon] += count
    if prod(count + 1 for count in spent.values()) > MOST_LOSSES:
        raise CannotCertifyError(f"more than {MOST_LOSSES} losses: too many releases, or too many different epsilons")
    return list(spent.items())


def _outcomes(spent: Releases) -> list[Outcome]:
    """Return every combination of answers, the largest loss first."""
    found: list[Outcome] = [(Fraction(0), arb(1), arb(1))]
    for epsilon, count in spent:
        table = _answers(epsilon, count)
        found = [
            (loss + more, first * here, second * there) for loss, first, second in found for more, here, there in table
        ]
    return sorted(found, key=lambda outcome: outcome[0], reverse=True)


def _answers(epsilon: Fraction, count: int) -> list[Outcome]:
    r"""Return the losses (c - 2k) eps of c answers, k of them wrong, with C(c, k) p^(c-k) (1-p)^k, p = 1/(1+e^-eps).

    From one k to the next by a factor: a binomial coefficient of 10^4 releases has 10^4 bits.
    """
    factor = (-arb_from_fraction(epsilon)).exp()
    right = 1 / (1 + factor)
    first, second = right**count, (right * factor) ** count
    found = []
    for k in range(count + 1):
        found.append(((count - 2 * k) * epsilon, first, second))
        ratio = arb(count - k) / (k + 1)
        first, second = first * ratio * factor, second * ratio / factor
    return found
