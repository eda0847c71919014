r"""Which records were in the batch, at the claimed n and m: the rate, equal positions, independent iterations.

Input is a table [runs, T, marks] of zeros and ones. One mark's entries are independent over iterations and runs, so its
count is exactly binomial. Entries of different marks in one batch are negatively associated (sampling without
replacement), monotone functions of disjoint sets of them are again (Joag-Dev and Proschan 1983), and for negatively
associated indicators the Chernoff-Hoeffding bounds of independent ones hold. That a mark came at least (or at most) so
often is a monotone function of its own entries: these indicators are negatively associated, too.

Batches may be smaller than claimed: then only what comes too often costs privacy, and for counts of fewer records the
upper tails of the claimed ones are bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from verification.statistics import tails
from verification.statistics.test import Aspect, Cause, Cost, TailFamily, Test, union
from verification.wire.arrays import Floats

Table = NDArray[np.bool_]
Bound = Callable[[int, int, float], float]
Groups = dict[str, NDArray[np.bool_]]
_LAGS = 64
_RAREST = 1e-12
_ENOUGH, _MOSTLY = 100, 0.5


@dataclass(frozen=True, slots=True, eq=False)
class PartCounts:
    """Consecutive parts of the data: how often their unmarked records came, and how many there are."""

    came: NDArray[np.int64]
    records: NDArray[np.int64]


def batch_tests(
    held: Table,
    places: NDArray[np.intp],
    *,
    records: int,
    batch: int,
    again: Table | None = None,
    groups: Groups | None = None,
    parts: PartCounts | None = None,
    short: bool = False,
) -> list[Test]:
    """The rate of every mark, of neighbouring ones and of all together; repetition over iterations and over runs.

    ``again`` is what the first iterations of another request held, ``groups`` are marks of one kind, by its name,
    ``parts`` is what is known of records that are not marked; ``short`` batches hold fewer records than claimed.
    """
    q = batch / records
    bound, binomial = (chernoff_above, _binomial_above) if short else (chernoff, tails.binomial)
    runs, iterations, marks = held.shape
    counts = held.sum(axis=(0, 1))
    rates = [
        TailFamily(
            "mark",
            binomial(counts, runs * iterations, q),
            lambda i: (
                f"{i + 1} was in {counts[i]} of {runs * iterations} batches, expected {q * runs * iterations:.4g}"
            ),
        ),
        TailFamily(
            f"all {marks} marks: {int(counts.sum())} memberships, expected {counts.size * runs * iterations * q:.5g};",
            np.array([bound(int(counts.sum()), held.size, q)]),
        ),
        TailFamily("iteration", _by_iteration(held, q, bound), lambda k: f"{k + 1}"),
        *_by_place(counts, places, runs * iterations, q, bound),
        *_by_group(counts, groups or {}, runs * iterations, q, bound),
        *_by_part(parts, runs * iterations * batch, records, bound),
        *_spread(counts, runs * iterations, q, short=short),
        *_together(held, places, batch * (batch - 1) / (records * max(1, records - 1))),
    ]
    rate, at = union(rates)
    fresh, when = union(
        [
            *_coincidences(held, q, bound),
            *([] if short else _windows(held, q)),
            *_between_runs(held, q, bound),
            *_between_requests(held, again, q, bound),
        ]
    )
    return [
        Test("batch-rate", Aspect.BATCHES, rate, f"least likely: {at}", Cause.BATCH_LAW),
        Test("batch-fresh", Aspect.BATCHES, fresh, f"least likely: {when}", Cause.BATCH_REUSED),
    ]


def epoch_tests(
    held: Table, places: NDArray[np.intp], *, records: int, batch: int, shuffle: bool, every: bool = True
) -> list[Test]:
    """Batches by epochs: a mark is in one batch of an epoch at most, and in the same, or in a fresh one, of the next.

    A mark that comes back within an epoch costs privacy: it is visited more often than is priced. Its order costs
    nothing, since the price is that of an order that everybody knows. Where not ``every`` iteration could be read, the
    others count as empty, and nothing is said of the order.
    """
    runs, iterations, marks = held.shape
    each = records // batch
    whole = np.zeros((runs, -(-iterations // each) * each, marks), dtype=np.bool_)
    whole[:, :iterations] = held
    visits = whole.reshape(runs, -1, each, marks)
    often = visits.sum(axis=2)
    r, e, i = np.unravel_index(int(np.argmax(often)), often.shape)
    found = f"record {places[i]} is in {often[r, e, i]} batches of epoch {e + 1}, run {r + 1}"
    once = Test(
        "epoch-once",
        Aspect.BATCHES,
        0.0 if often[r, e, i] > 1 else 1.0,
        f"{found}: an epoch of {each} disjoint batches has it once at most",
        Cause.BATCH_REUSED,
        deterministic=True,
    )
    complete = iterations // each
    if often.max() > 1 or not every or not complete:
        return [once]
    place = np.where(often > 0, visits.argmax(axis=2), -1)
    absent = int(np.sum(place[:, :complete] < 0)) if each * batch == records else 0
    order, where = _fresh_order(place, iterations, each, batch / records) if shuffle else _same_order(place, complete)
    left_out = f"{absent} times a record is in no batch of an epoch; " if absent else ""
    p_value = 0.0 if absent else order
    sure = bool(absent) or not shuffle
    detail = f"{left_out}{where}"
    law = Test("epoch-order", Aspect.BATCHES, p_value, detail, Cause.BATCH_LAW, Cost.NOTHING, deterministic=sure)
    return [once, law]


def _same_order(place: NDArray[np.int64], complete: int) -> tuple[float, str]:
    """Whether every epoch of a run has the order of its first one; an order of each run's own is none the worse."""
    moved = (place != place[:, :1]) & ((place >= 0) | (np.arange(place.shape[1]) < complete)[:, None])
    found = f"{int(moved.sum())} of {place.size} times a record is in another batch than in the first epoch"
    return (0.0 if moved.any() else 1.0), found


def _fresh_order(place: NDArray[np.int64], iterations: int, each: int, share: float) -> tuple[float, str]:
    """Whether a mark is in the same batch of two epochs, and of two runs, as often as by chance.

    The batches of one mark in different epochs and runs are independent, so that its count is binomial.
    """
    runs, epochs, _ = place.shape
    taken = np.minimum(each, iterations - each * np.arange(epochs))  # of a last epoch that is broken off, fewer
    pairs = [
        (f"epochs {e + 1} and {e + 2}", place[:, e], place[:, e + 1], taken[e + 1]) for e in range(0, epochs - 1, 2)
    ]
    if runs > 1:
        pairs += [
            (f"epoch {e + 1} of two runs", place[0 : runs - 1 : 2, e], place[1::2, e], taken[e]) for e in range(epochs)
        ]
    families = []
    for name, first, second, batches in pairs:
        alike = ((first == second) & (first >= 0)).sum(axis=0)
        tails_of = tails.binomial(alike, len(first), float(batches) * share**2)
        families.append(TailFamily(f"the same batch of {name}:", tails_of, _came(alike, len(first))))
    if not families:
        return 1.0, "one epoch of one run shows no order"
    p_value, at = union(families)
    return p_value, f"least likely: {at}"


def _came(alike: NDArray[np.int64], trials: int) -> Callable[[int], str]:
    return lambda i: f"mark {i + 1} {alike[i]} of {trials} times"


def by_epochs(held: Table, *, records: int, batch: int) -> bool:
    """Whether batches that are claimed to be fresh look like those of epochs: no mark twice, over some whole ones."""
    runs, iterations, marks = held.shape
    each = records // batch
    if each < 2 or iterations < each:
        return False
    whole = iterations // each
    often = held[:, : whole * each].reshape(runs, whole, each, marks).sum(axis=2)
    # a fresh sampler has a mark twice in an epoch with probability 1/4 at least: about 1e-12 in 100 of them
    return bool(often.max() <= 1 and often.size >= _ENOUGH and often.mean() >= _MOSTLY)


def chernoff(count: int, trials: int, probability: float) -> float:
    """Two-sided Chernoff bound of a count of negatively associated indicators of one probability."""
    if trials == 0 or probability in (0.0, 1.0):
        return 1.0 if count == round(trials * probability) else 0.0
    share = count / trials
    divergence = special.rel_entr(share, probability) + special.rel_entr(1 - share, 1 - probability)
    return float(min(1.0, 2.0 * np.exp(-trials * divergence)))


def chernoff_above(count: int, trials: int, probability: float) -> float:
    """The upper side alone, which bounds counts of smaller probabilities as well."""
    return chernoff(count, trials, probability) / 2 if count > trials * probability else 1.0


def _binomial_above(successes: NDArray[np.int64], trials: int, probability: float) -> Floats:
    return np.asarray(stats.binom.sf(successes - 1, trials, probability), dtype=np.float64)


def _by_iteration(held: Table, q: float, bound: Bound) -> Floats:
    """All marks of one iteration together, over runs."""
    return np.array([bound(int(count), held[:, 0].size, q) for count in held.sum(axis=(0, 2))])


def _by_group(counts: NDArray[np.int64], groups: Groups, trials: int, q: float, bound: Bound) -> list[TailFamily]:
    """Marks of one kind together: a sampler that looks at the data, such as at the label."""
    names = [name for name, members in groups.items() if members.any()]
    totals = [int(counts[groups[name]].sum()) for name in names]
    sizes = [int(groups[name].sum()) * trials for name in names]
    if not names:
        return []
    tails_of = np.array([bound(total, size, q) for total, size in zip(totals, sizes, strict=True)])
    return [
        TailFamily("marks", tails_of, lambda i: f"{names[i]}: {totals[i]} memberships, expected {sizes[i] * q:.4g}")
    ]


def _by_part(parts: PartCounts | None, draws: int, records: int, bound: Bound) -> list[TailFamily]:
    """Unmarked records of a part: Chernoff bounds, as for draws with replacement (Hoeffding 1963, Theorem 4)."""
    if parts is None:
        return []
    came, shares = parts.came, parts.records / records
    tails_of = np.array([bound(int(c), draws, float(share)) for c, share in zip(came, shares, strict=True)])
    count, expected = came.size, draws * shares

    def label(i: int) -> str:
        return f"{i + 1} of {count}: {came[i]} memberships, expected {expected[i]:.6g}"

    return [TailFamily("part", tails_of, label)]


def _spread(counts: NDArray[np.int64], trials: int, q: float, *, short: bool) -> list[TailFamily]:
    """How many marks came at least, or at most, so often: some records that are preferred, whichever they are."""
    every = np.arange(int(stats.binom.isf(_RAREST, trials, q)) + 2)
    above, below = stats.binom.sf(every - 1, trials, q), stats.binom.cdf(every, trials, q)
    often = [(k, int(np.sum(counts >= k)), float(above[k])) for k in every if _RAREST < above[k] < 0.5]
    seldom = [(k, int(np.sum(counts <= k)), float(below[k])) for k in every if _RAREST < below[k] < 0.5]
    chosen = [("at least", *each) for each in often] + ([] if short else [("at most", *each) for each in seldom])
    if not chosen:
        return []

    def label(i: int) -> str:
        how, k, found, chance = chosen[i]
        return f"{how} {k} times: {found} of {counts.size}, expected {chance * counts.size:.3g}"

    bounds = np.array([chernoff_above(found, counts.size, chance) for _, _, found, chance in chosen])
    return [TailFamily("marks that came", bounds, label)]


def _by_place(
    counts: NDArray[np.int64], places: NDArray[np.intp], trials: int, q: float, bound: Bound
) -> list[TailFamily]:
    """Marks that stand beside each other, 2, 4, ... at a time: a part of the data that is drawn too often, or never."""
    order = np.argsort(places)
    total = np.concatenate([[0], np.cumsum(counts[order])])
    marks = len(order)
    spans = [
        (start, start + 2**k)
        for k in range(1, marks.bit_length())
        for start in range(0, marks - 2**k + 1, 2 ** (k - 1))
    ]
    if not spans:
        return []
    bounds = [bound(int(total[b] - total[a]), (b - a) * trials, q) for a, b in spans]

    def label(i: int) -> str:
        a, b = spans[i]
        expected = (b - a) * trials * q
        return (
            f"{places[order[a]]} to {places[order[b - 1]]}: {total[b] - total[a]} memberships, expected {expected:.4g}"
        )

    return [TailFamily("marked records between", np.array(bounds), label)]


def _together(held: Table, places: NDArray[np.intp], chance: float) -> list[TailFamily]:
    """Two marks in one batch: batches are independent, so each pair's count is exactly binomial.

    Too often alone costs privacy: who knows that the one is in the batch knows it of the other. Strata, where two never
    come together, cost nothing.
    """
    rows = held.reshape(-1, held.shape[2]).astype(np.float64)
    first, second = np.triu_indices(held.shape[2], k=1)
    if not first.size:
        return []
    both = np.rint(rows.T @ rows).astype(np.int64)[first, second]
    upper = stats.binom.sf(both - 1, len(rows), chance)

    def label(i: int) -> str:
        pair = f"{places[first[i]]} and {places[second[i]]}"
        return f"{pair}: together in {both[i]} of {len(rows)} batches, expected {chance * len(rows):.3g}"

    return [TailFamily("records", upper, label)]


def _coincidences(held: Table, q: float, bound: Bound) -> list[TailFamily]:
    """A mark in a batch and again so many iterations later, in two halves that no batch is in both sides of."""
    iterations = held.shape[1]
    lags = sorted({*range(1, min(_LAGS, iterations)), *_round(iterations, q)})
    if not lags:
        return []
    tails_of, labels = [], []
    where = np.arange(iterations)
    for lag in lags:
        for parity in (0, 1):
            half = where[: iterations - lag][(where[: iterations - lag] // lag) % 2 == parity]
            both = int(np.sum(held[:, half] & held[:, half + lag]))
            pairs = half.size * held.shape[0] * held.shape[2]
            tails_of.append(bound(both, pairs, q * q) if pairs else 1.0)
            labels.append(f"{lag}: {both} marks came back, expected {pairs * q * q:.3g}")
    return [TailFamily("iterations apart by", np.array(tails_of), lambda i: labels[i])]


def _round(iterations: int, q: float) -> list[int]:
    """About an epoch apart, and halves and multiples of it."""
    epoch = 1 / q
    near = {round(epoch * f) + d for f in (0.5, 1, 2, 3) for d in (-1, 0, 1)}
    near |= {int(epoch), iterations // 2}
    return [lag for lag in near if 1 <= lag < iterations]


def _windows(held: Table, q: float) -> list[TailFamily]:
    """Marks that were in no batch of an epoch, or in several: a shuffle has neither."""
    runs, iterations, marks = held.shape
    lengths = sorted({int(1 / q), max(2, round(1 / q))} & set(range(2, iterations + 1)))
    families = []
    for length in lengths:
        whole = iterations // length
        inside = held[:, : whole * length].reshape(runs, whole, length, marks).sum(axis=2)
        absent, single = (1 - q) ** length, length * q * (1 - q) ** (length - 1)
        absences, several = int(np.sum(inside == 0)), int(np.sum(inside > 1))
        bounds = [chernoff(absences, inside.size, absent), chernoff(several, inside.size, 1 - absent - single)]
        labels = [
            f"{length}: {absences} of {inside.size} without the mark, expected {absent * inside.size:.4g}",
            f"{length}: {several} of {inside.size} with it several times",
        ]
        families.append(TailFamily("stretches of", np.array(bounds), _numbered(labels)))
        each = np.sum(inside == 0, axis=(0, 2))
        bounds = [chernoff(int(count), runs * marks, absent) for count in each]
        labels = [
            f"{length}, number {i + 1}: {count} of {runs * marks} without the mark" for i, count in enumerate(each)
        ]
        families.append(TailFamily("one of the stretches of", np.array(bounds), _numbered(labels)))
    return families


def _numbered(labels: list[str]) -> Callable[[int], str]:
    return lambda i: labels[i]


def _between_runs(held: Table, q: float, bound: Bound) -> list[TailFamily]:
    """The same iteration of consecutive runs."""
    runs = len(held)
    if runs < 2:
        return []
    both = int(np.sum(held[0 : runs - 1 : 2] & held[1::2]))
    pairs = held[1::2].size
    label = f"consecutive runs: {both} marks in the same batch of both, expected {pairs * q * q:.3g};"
    return [TailFamily(label, np.array([bound(both, pairs, q * q)]))]


def _between_requests(held: Table, again: Table | None, q: float, bound: Bound) -> list[TailFamily]:
    """The same iteration of the same run of two requests: a sampler that starts anew with each draws alike."""
    if again is None:
        return []
    runs, iterations = (min(a, b) for a, b in zip(held.shape[:2], again.shape[:2], strict=True))
    shared = held[:runs, :iterations] & again[:runs, :iterations]
    both, pairs = int(np.sum(shared)), shared.size
    label = f"two requests: {both} marks in the same batch of both, expected {pairs * q * q:.3g};"
    return [TailFamily(label, np.array([bound(both, pairs, q * q)]))]
