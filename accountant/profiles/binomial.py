r"""How often a record is drawn: tails of a binomial K with parameters (T, p), in balls, at the same cost for every T.

From above, P[K >= k] <= P[K = k]/(1 - r) with r = P[K = k+1]/P[K = k] < 1: the ratios fall in k. From below it is at
least 1/2 up to floor(Tp), because the median is no less; P[K = k] everywhere; and (m+1) P[K = k+m] beyond (T+1)p, where
the masses fall.
"""

from __future__ import annotations

import math
from typing import Final

from flint import arb

from accountant.numbers import arb_precision

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
