r"""Pure releases on drawn records: what sampling leaves of their epsilon.

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

from fractions import Fraction

from accountant.errors import UnsupportedSchemeError
from accountant.mechanisms.words import Neighbours, Sampling
from accountant.numbers import arb_from_fraction, arb_precision, fraction_from_arb

_BITS = 128


def amplified_epsilon(epsilon: Fraction, rate: Fraction) -> Fraction:
    """Return log(1 + q (e^eps - 1)), rounded up in about the 38th digit; exactly epsilon for q = 1."""
    if rate == 1:
        return epsilon
    with arb_precision(_BITS):
        found = (arb_from_fraction(rate) * arb_from_fraction(epsilon).expm1()).log1p()
        return min(fraction_from_arb(found.upper()), epsilon)


def require_pure_theorem(sampling: Sampling, neighbours: Neighbours) -> None:
    """Refuse a scheme whose gain is not proved above for a pure release."""
    if sampling in (Sampling.ALL, Sampling.WITHOUT_REPLACEMENT):
        return
    if sampling is Sampling.POISSON and neighbours is Neighbours.ADD_OR_REMOVE:
        return
    raise UnsupportedSchemeError(
        f"{sampling} batches under {neighbours} neighbours have no theorem here for a pure release; "
        "without-replacement has one, and poisson under add-or-remove"
    )
