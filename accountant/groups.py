r"""Groups of records as several smaller ones: the price of k records that differ from the price of a few.

Data sets that differ in k records are joined by b = ceil(k/a) steps in which at most a records differ. If the run is
(eps, d)-private for a records, then along b steps P_0[E] <= e^eps P_1[E] + d <= ..., so that it is

    (b eps, d (1 + e^eps + ... + e^{(b-1) eps}))-private for k.

a = k is the price of the whole group (`accountant.profiles.with_replacement`), which counts a batch that holds j of the
group as often as it is drawn; a = 1 often costs less, since at most one of them moves at a time.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from flint import arb

from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import GroupStep
from accountant.numbers import arb_from_fraction, arb_precision, fraction_from_arb

_BITS: Final = 128
_ROUNDS: Final = 8
_MARGIN: Final = Fraction(10_003, 10_000)
_STEEPEST: Final = Fraction(19, 20)
Price = Callable[[Ledger, Fraction], Fraction]
"""An upper epsilon of a ledger at a delta."""


def smaller_groups(ledger: Ledger) -> list[tuple[int, Ledger]]:
    """Return for some a the number b of groups of a, and the ledger of one; none where all steps are of closed form."""
    sizes = {mechanism.group_size for mechanism in ledger.mechanisms}
    if len(sizes) != 1 or not any(isinstance(step, GroupStep) for step in ledger.steps):
        return []
    k = sizes.pop()
    found = []
    for a in sorted({1, -(-k // 2)} - {k}):
        parts = [dataclasses.replace(mechanism, group_size=a).ledger() for mechanism in ledger.mechanisms]
        found.append((-(-k // a), functools.reduce(operator.add, parts)))
    return found


def share_of_delta(groups: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the d at which b groups at epsilon each have delta in all, rounded down."""
    with arb_precision(_BITS + 2 * (1 / delta).__ceil__().bit_length()):
        e = arb_from_fraction(epsilon)
        total = arb(groups) if epsilon == 0 else (groups * e).expm1() / e.expm1()
        return fraction_from_arb((arb_from_fraction(delta) / total).lower())


def grouped_epsilon(price: Price, ledger: Ledger, delta: Fraction) -> Fraction:
    """Return the least epsilon that was found for the whole group by smaller ones; `price` is that of a ledger."""
    best = None
    for groups, part in smaller_groups(ledger):
        with contextlib.suppress(CannotCertifyError):
            found = groups * _each(price, groups, part, delta)
            best = found if best is None else min(best, found)
        check_time()
    if best is None:
        raise CannotCertifyError("no smaller group has a price")
    return best


def _each(price: Price, groups: int, part: Ledger, delta: Fraction) -> Fraction:
    """Return an epsilon of one group at which all of them together have at most delta.

    Any guess that is at least the price at its own share of delta will do: then d <= `share_of_delta` at that price.
    """
    tried: list[tuple[Fraction, Fraction]] = []
    guess = Fraction(0)
    for _ in range(_ROUNDS):
        share = share_of_delta(groups, guess, delta)
        if not share:
            break
        found = price(part, share)
        if found <= guess:
            return found
        slope = (found - tried[-1][1]) / (guess - tried[-1][0]) if tried and guess != tried[-1][0] else Fraction(0)
        if slope >= _STEEPEST:
            break
        tried.append((guess, found))
        guess = (found + max(found - guess, Fraction(0)) * slope / (1 - slope)).limit_denominator(10**9) * _MARGIN
    raise CannotCertifyError(f"{groups} groups in a row have no price at this delta")
