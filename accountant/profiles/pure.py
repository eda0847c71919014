r"""Composition of pure releases, without loss: what k adaptive releases of known epsilons cost together.

Every pure release is a post-processing of randomised response at its epsilon, also when it is chosen by what came
before ([KOV15] Theorem 3.3; different epsilons: [MV16]). So the worst k releases are independent randomised
responses: l of c answers at eps_i are wrong with probability C(c, l) e^((c-l) eps_i)/(1 + e^eps_i)^c, the loss is the
sum of (c - 2 l) eps_i, and

    delta(eps) = sum over losses L > eps of P(L) (1 - e^(eps - L)) = A - e^eps B,

with A and B constant between two neighbouring losses. Epsilon at a delta is therefore closed: log((A - delta)/B).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import comb, prod

from flint import arb

from accountant.errors import CannotCertifyError, InvalidQuantityError
from accountant.numbers import Bound, arb_from_fraction, arb_precision, fraction_from_arb, has_digits, precisions, shown

MOST_LOSSES = 20_000
"""Of more combinations of answers no price is computed: many different epsilons are #P-hard ([MV16])."""

Releases = Sequence[tuple[Fraction, int]]
"""Epsilons, each with how often it is spent."""


def pure_delta(releases: Releases, epsilon: Fraction, *, digits: int = 30) -> Bound:
    """Enclose the least delta at which all releases together are (epsilon, delta)-DP, to `digits` digits."""
    losses = _losses(releases)
    for bits in precisions(digits):
        with arb_precision(bits):
            a, b = _sums([loss for loss in losses if loss[0] > epsilon], _total(releases))
            ball = a - arb_from_fraction(epsilon).exp() * b
            if has_digits(ball, digits):
                return Bound.from_arb(ball)
    raise CannotCertifyError(f"delta of pure releases at epsilon {shown(epsilon)} needs more than {bits} bits")


def pure_epsilon(releases: Releases, delta: Fraction, *, digits: int = 30) -> Bound:
    """Enclose the least epsilon >= 0 at which all releases together are (epsilon, delta)-DP; exact at delta = 0."""
    whole = sum((epsilon * count for epsilon, count in releases), Fraction(0))
    if delta == 0:
        return Bound.from_fractions(whole, whole)
    losses = _losses(releases)
    for bits in precisions(digits):
        with arb_precision(bits):
            ball = _solved(losses, _total(releases), arb_from_fraction(delta))
            if ball is not None and has_digits(ball, digits):
                lower, upper = fraction_from_arb(ball.lower()), fraction_from_arb(ball.upper())
                return Bound.from_fractions(max(lower, Fraction(0)), min(max(upper, Fraction(0)), whole))
    raise CannotCertifyError(f"epsilon of pure releases at delta {shown(delta)} needs more than {bits} bits")


def _solved(losses: list[tuple[Fraction, int, Fraction]], total: arb, delta: arb) -> arb | None:
    """Walk down from the largest loss to the segment in which delta(eps) meets delta; None where that is undecided."""
    a, b = arb(0), arb(0)
    for (loss, ways, exponent), below in itertools.zip_longest(losses, losses[1:]):
        mass = ways * arb_from_fraction(exponent).exp() / total
        a, b = a + mass, b + mass * (-arb_from_fraction(loss)).exp()
        end = Fraction(0) if below is None or below[0] < 0 else below[0]
        there = a - arb_from_fraction(end).exp() * b
        if there > delta:
            return ((a - delta) / b).log()
        if not there < delta:
            return None
        if end == 0:
            return arb(0)
    raise AssertionError("half of the losses are not positive")


def _sums(losses: list[tuple[Fraction, int, Fraction]], total: arb) -> tuple[arb, arb]:
    a, b = arb(0), arb(0)
    for loss, ways, exponent in losses:
        mass = ways * arb_from_fraction(exponent).exp() / total
        a, b = a + mass, b + mass * (-arb_from_fraction(loss)).exp()
    return a, b


def _total(releases: Releases) -> arb:
    total = arb(1)
    for epsilon, count in releases:
        total *= (1 + arb_from_fraction(epsilon).exp()) ** count
    return total


def _losses(releases: Releases) -> list[tuple[Fraction, int, Fraction]]:
    """Return (loss, in how many ways, log of the mass before normalising), the largest loss first."""
    spent: Counter[Fraction] = Counter()
    for epsilon, count in releases:
        if epsilon <= 0 or count < 1:
            raise InvalidQuantityError(f"a pure release needs epsilon > 0, got {shown(epsilon)} {count} times")
        spent[epsilon] += count
    if prod(count + 1 for count in spent.values()) > MOST_LOSSES:
        raise CannotCertifyError(f"more than {MOST_LOSSES} losses: too many releases, or too many different epsilons")
    found = []
    for other in itertools.product(*(range(count + 1) for count in spent.values())):
        groups = list(zip(spent.items(), other, strict=True))
        loss = sum(((count - 2 * k) * epsilon for (epsilon, count), k in groups), Fraction(0))
        exponent = sum(((count - k) * epsilon for (epsilon, count), k in groups), Fraction(0))
        found.append((loss, prod(comb(count, k) for (_, count), k in groups), exponent))
    return sorted(found, reverse=True)
