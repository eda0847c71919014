r"""Ledgers seen through their parts: a lower end that never falls, an upper end that is never refused.

- Leaving a phase out is post-processing, so what a sub-ledger's pair attains, the whole ledger's pair attains too.
  `attained_by_parts` takes the best of the sub-ledgers: *all* of them up to `MOST_PHASES` phases, so that adding a
  phase never lowers the answer; beyond that the single phases, the whole, and those in between that are built by
  adding the most expensive phase first and those that lack one phase.
- Where no lattice holds phases of very different size at once, they are priced apart: a ledger that is
  (e1, d1)- and (e2, d2)-private in its two parts is (e1 + e2, d1 + d2)-private, whatever the parts are.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Final

from accountant.errors import CannotCertifyError, TimeLimitError
from accountant.limits import check_time
from accountant.profiles.one_step import SubsampledGaussian

Steps = tuple[SubsampledGaussian, ...]
MOST_PHASES: Final = 5
NEGLIGIBLE: Final = 3e-3
"""A sampled phase that costs less than this, and less than this part of the largest phase, is left out: two phases of
small epsilons a and b cost about the root of a^2 + b^2 together (so it would add some 1e-5 of epsilon), large ones
about a + b."""
_MARGIN: Final = 1 + 1e-9
APART_SHARE: Final = Fraction(1, 1024)
"""The part of delta (or of epsilon) that the smaller phases are given when the phases are priced apart."""


def attained_by_parts(
    steps: Sequence[SubsampledGaussian],
    own: Callable[[Steps], Fraction],
    ceiling: Callable[[Steps], float],
) -> Fraction:
    """Return the largest `own` of the sub-ledgers; `ceiling` is about the most that `own` can be, and saves work.

    A sub-ledger whose ceiling is below what was found is not looked at: its own answer cannot be larger.
    """
    if len(steps) == 1:
        return own(tuple(steps))
    candidates = {
        _key(part): part for part in (without_negligible(part, ceiling) for part in sub_ledgers(steps, ceiling))
    }
    ranked = sorted(candidates.values(), key=lambda part: (-ceiling(part), len(part)))
    best = Fraction(0)
    with contextlib.suppress(TimeLimitError):  # what was found so far is attained
        for part in ranked:
            check_time()
            if ceiling(part) * _MARGIN > best:
                best = max(best, own(part))
    return best


def sub_ledgers(steps: Sequence[SubsampledGaussian], ceiling: Callable[[Steps], float]) -> Iterator[Steps]:
    """Yield the sub-ledgers whose pairs may support the lower end, the whole first."""
    phases = tuple(steps)
    if len(phases) > MOST_PHASES:
        phases = joined(phases)
    if len(phases) <= MOST_PHASES:
        for size in range(len(phases), 0, -1):
            yield from itertools.combinations(phases, size)
        return
    ranked = sorted(phases, key=lambda phase: -ceiling((phase,)))
    yield from (tuple(ranked[:size]) for size in range(len(ranked), 0, -1))
    if len(ranked) <= 4 * MOST_PHASES:
        yield from ((*ranked[:place], *ranked[place + 1 :]) for place in range(len(ranked)))
    yield from ((phase,) for phase in ranked[: 4 * MOST_PHASES])


def without_negligible(part: Steps, ceiling: Callable[[Steps], float]) -> Steps:
    """Return the part without phases too small to be seen beside its largest: they would only cost time.

    Phases without sampling all stay: together they are one Gaussian release, as costly as one of them.
    """
    costs = [ceiling((phase,)) for phase in part]
    least = NEGLIGIBLE * min(max(costs), 1)
    return tuple(phase for phase, cost in zip(part, costs, strict=True) if phase.sampling_rate == 1 or cost >= least)


def joined(steps: Sequence[SubsampledGaussian]) -> Steps:
    """Return the phases with equal ones joined, in the order in which they first appear."""
    counts: dict[tuple[Fraction, Fraction], int] = {}
    for step in steps:
        place = (step.sampling_rate, step.noise_multiplier)
        counts[place] = counts.get(place, 0) + step.count
    return tuple(SubsampledGaussian(q, nu, count) for (q, nu), count in counts.items())


def splits(steps: Sequence[SubsampledGaussian], ceiling: Callable[[Steps], float]) -> Iterator[tuple[Steps, Steps]]:
    """Yield (larger, smaller) parts of the ledger: one phase apart first, then two, and so on."""
    ranked = sorted(joined(steps), key=lambda phase: -ceiling((phase,)))
    yield from ((tuple(ranked[:size]), tuple(ranked[size:])) for size in range(len(ranked) - 1, 0, -1))


def first_answer(answers: Iterator[Callable[[], Fraction]]) -> Fraction | None:
    """Return the first answer that can be certified; None where there is none."""
    for answer in answers:
        try:
            check_time()
            return answer()
        except CannotCertifyError:
            continue
    return None


def _key(part: Steps) -> frozenset[SubsampledGaussian]:
    return frozenset(joined(part))
