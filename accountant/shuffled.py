r"""Epochs in a fresh random order: what a pair of neighbours is known to attain.

An epoch releases B batch means with independent Gaussian noise. One record differs; where all other records are equal,
the pair is, in units of sigma and for each epoch,

    P = the mean over b of N(mu e_b, I),    Q = N(0, I),    mu = 1/nu,

because the replaced record is in one batch, each equally likely. Two tests of it have closed forms:

1. the sum of the B values over sqrt(B) is N(mu/sqrt(B), 1) against N(0, 1), whatever the order: Gaussian releases
   (`ShuffledStep.summed`);
2. whether the largest of the `taken` values exceeds s is a bit, 1 with probability 1 - Phi(s)^t under Q and
   (1-w)(1 - Phi(s)^t) + w (1 - Phi(s - mu) Phi(s)^(t-1)) under P, w the probability that one of them holds the record.
   The number of epochs whose bit is 1 is binomial, and for an event E of it delta(eps) >= P[E] - e^eps Q[E], so that
   eps >= log((P[E] - delta)/Q[E]); E is "at least k", or with P and Q exchanged "at most k".

Leaving epochs out is post-processing: of very many only some are looked at. s and k are found with floats, and what
they give is proved with balls.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from flint import arb

from accountant.errors import CannotCertifyError
from accountant.mechanisms.steps import ShuffledStep
from accountant.numbers import Bound, Dyadic, arb_from_fraction, arb_precision, normal_tail

_BITS: Final = 256
MOST_EPOCHS: Final = 1000
"""More are not looked at."""
_LEVELS: Final = 48
_NOTHING: Final = Bound.from_fractions(Fraction(0), Fraction(0)).least


def shuffled_epsilon(step: ShuffledStep, delta: Fraction) -> Dyadic:
    """Return an epsilon that a pair of neighbours violates if it attains these epochs, by the largest value alone."""
    found = max(_candidates(step, delta), default=None)
    if found is None or found[0] <= 0:
        return _NOTHING
    _, level, threshold, above = found
    return max(proved_epsilon(step, delta, level, threshold, above=above), _NOTHING)


def proved_epsilon(step: ShuffledStep, delta: Fraction, level: Fraction, threshold: int, *, above: bool) -> Dyadic:
    """Return log((P[E] - delta)/Q[E]), rounded down, of one event: at least (`above`) or at most so many epochs."""
    epochs = min(step.count, MOST_EPOCHS)
    with arb_precision(_BITS + 2 * (1 / delta).__ceil__().bit_length()):
        first, second = _chances(step, level)
        if not above:
            first, second = second, first
        numerator = _tail(first, epochs, threshold, above=above) - arb_from_fraction(delta)
        value = (numerator / _tail(second, epochs, threshold, above=above)).log() if numerator > 0 else arb(0)
        if not value.is_finite():
            raise CannotCertifyError("the largest value of an epoch is too far out")
        return Bound.from_arb(value.max(arb(0))).least


def _chances(step: ShuffledStep, level: Fraction) -> tuple[arb, arb]:
    """Return the probabilities that the largest value of an epoch exceeds the level, with the record and without."""
    s, mu, w = arb_from_fraction(level), arb_from_fraction(1 / step.noise_multiplier), step.sampling_rate
    below, quiet = (-normal_tail(s)).log1p(), (step.taken - 1) * (-normal_tail(s)).log1p()
    without = -(below + quiet).expm1()
    inside = 1 - (1 - normal_tail(s - mu)) * quiet.exp()
    return arb_from_fraction(1 - w) * without + arb_from_fraction(w) * inside, without


def _tail(chance: arb, epochs: int, threshold: int, *, above: bool) -> arb:
    """Return the probability of at least, or at most, so many ones."""
    numbers = range(threshold, epochs + 1) if above else range(threshold + 1)
    total, other = arb(0), 1 - chance
    for k in numbers:
        total += math.comb(epochs, k) * chance**k * other ** (epochs - k)
    return total


def levels(step: ShuffledStep, delta: Fraction) -> list[Fraction]:
    """Return the values s that are tried."""
    reach = 6 + float(min(1 / step.noise_multiplier, Fraction(10**6))) + math.sqrt(-2 * _log(delta))
    return [Fraction(round(64 * (reach * number / _LEVELS - 1)), 64) for number in range(_LEVELS + 1)]


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _candidates(step: ShuffledStep, delta: Fraction) -> list[tuple[float, Fraction, int, bool]]:
    """Return about the epsilon of events, each with its level and number of epochs."""
    import numpy as np  # noqa: PLC0415 - loaded only when needed

    epochs = min(step.count, MOST_EPOCHS)
    k = np.arange(epochs + 1)
    binomials = np.array([math.lgamma(epochs + 1) - math.lgamma(j + 1) - math.lgamma(epochs - j + 1) for j in k])
    log_delta = _log(delta)
    found = []
    for level in levels(step, delta):
        with arb_precision(_BITS):
            logs = [[float(p.log().mid()), float((1 - p).log().mid())] for p in _chances(step, level)]
        if not all(map(math.isfinite, (value for pair in logs for value in pair))):
            continue
        masses = [binomials + k * yes + (epochs - k) * no for yes, no in logs]
        for above in (True, False):
            upper, lower = masses if above else masses[::-1]
            if above:
                upper, lower = upper[::-1], lower[::-1]
            first, second = np.logaddexp.accumulate(upper), np.logaddexp.accumulate(lower)
            with np.errstate(divide="ignore", invalid="ignore"):
                values = first + np.log1p(-np.exp(np.minimum(log_delta - first, 0.0))) - second
            best = int(np.nanargmax(np.where(first > log_delta, values, -np.inf)))
            value = float(values[best]) if first[best] > log_delta else -math.inf
            if math.isfinite(value):
                found.append((value, level, epochs - best if above else best, above))
    return found
