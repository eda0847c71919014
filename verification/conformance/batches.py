"""The batches themselves: one-hot records show which of them each iteration looked at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from verification.conformance import tails
from verification.conformance.check import (
    BATCHED_MODES,
    EVERY_ITERATE,
    TRIALS,
    Check,
    Family,
    NotApplicable,
    Observation,
)
from verification.conformance.context import Context
from verification.conformance.observe import memberships, released_rounding
from verification.conformance.own_updates import as_the_reference
from verification.picture import Picture
from verification.pictures import shares
from verification.wire.arrays import Floats
from verification.wire.messages import Capability
from verification.wire.parameters import Parameters
from verification.wire.records import Records
from verification.wire.simple_parameters import initial_point

_RECORDS, _BATCH, _ITERATIONS, _TRIALS = 10, 3, 5, 1500
_SIGMA = 1e-9
# Noise, over the smallest one-hot gradient and times m: below 1e-7 at nine deviations. A third is far from 0 and 1.
_WHOLE = 1e-3


def one_hot(context: Context) -> Records:
    """Record i has feature i alone, of its own size and label, so that a sampler that looks at the data shows."""
    # longer than the bound, so that what a record adds is all that it may; DP-SVRG shows what changes in a gradient
    longest = 1.0 if "inner" in context.scheme.takes else 4.0
    sizes = longest * (0.6 + 0.4 * context.rng.random(_RECORDS))
    labels = np.where(context.rng.random(_RECORDS) < 0.5, -1, 1).astype(np.int64)
    return Records(np.diag(sizes), labels)


def _parameters(context: Context, iterations: int) -> Parameters:
    # Small steps keep x near 0, where every record's gradient is large enough to be seen. DP-SVRG shows how gradients
    # changed: large steps, and noise far below even a small change.
    changes = "inner" in context.scheme.takes
    eta, sigma = ([1.0] * (iterations + 1), 1e-3 * _SIGMA) if changes else ([2.0**-6] * iterations, _SIGMA)
    return context.parameters(
        _RECORDS,
        eta=eta,
        batch=_BATCH,
        sigma=sigma,
        rho=1.0,
        regularizer=context.plain,
        inner=len(eta),
        # said, so that one that starts at random otherwise can be read as well
        initial=initial_point(*np.zeros((3, _RECORDS))) if context.can(Capability.INITIAL) else None,
    )


def observed(context: Context) -> Floats:
    """How often each record was counted in each batch; [trials, T, n].

    Weights are as whole where updates are its own. A record's gradient is C long, wherever it is taken, while its slope
    is at least C over its length, 1/2.4 for C = 1: for the logistic loss while its margin is below ln 1.4 = 0.336. Five
    steps of 1/65 with gradients of C/3 reach 0.026, a margin of 0.1: three times as far as the reference goes.
    """
    iterations = _ITERATIONS if context.sees_every_iterate else 1
    records, parameters = one_hot(context), _parameters(context, iterations)
    # a gradient is (rho + 1/eta) x, x/eta, rho z and y, each off by half a unit at most; a weight, m/C times as much
    off = released_rounding(context) * (0.5 + parameters.rho + 1 / parameters.eta[0]) * _BATCH / parameters.bound
    if off > _WHOLE:
        raise NotApplicable(f"batches cannot be read off: released values are rounded, weights are off by {off:.2g}")
    run = context.trials(records, parameters, context.count(_TRIALS))
    if context.own:
        run = as_the_reference(context, parameters, run, records.count)
    return memberships(context.mode.algorithm, records, parameters, run)


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """Which records each batch held [trials, T, n]; ``short`` if some batch held fewer than claimed.

    Then only what comes too often costs privacy, and the claimed size bounds its chance.
    """

    held: NDArray[np.bool_]
    short: bool


def members(context: Context) -> Members:
    """Read the batches; not applicable where a record counts for more than one, or a batch holds too many."""
    counts = observed(context)
    off = _WHOLE
    held: NDArray[np.bool_] = np.abs(counts) > 2 * off
    sizes = held.sum(axis=2)
    if np.abs(counts).max() > 1 + off or sizes.max() > _BATCH:
        raise NotApplicable("batches cannot be read off; see batch-size")
    return Members(held, bool((sizes < _BATCH).any()))


def _size(context: Context) -> Observation:
    counts = observed(context)
    off = _WHOLE
    sizes = np.sum(np.abs(counts) > 2 * off, axis=2)
    picture = shares(
        "Records in the first batches",
        "How many records each batch counted.",
        np.arange(1.0, min(100, sizes.size) + 1),
        np.ravel(sizes)[:100].astype(np.float64),
        _BATCH,
        axes=("batch", "records counted"),
    )
    trial, k, i = (int(index) for index in np.unravel_index(int(np.argmax(np.abs(counts))), counts.shape))
    most = float(counts[trial, k, i])
    if abs(most) > 1 + off:
        text = f"record {i} weighs {most:.6g} times C/m in iteration {k + 1}: drawn several times, or not a mean over m"
        return Observation.exact(False, text, picture)
    if sizes.max() > _BATCH:
        text = f"batches of {sizes.min()} to {sizes.max()} records, asked for were {_BATCH}"
        return Observation.exact(False, text, picture)
    apart = float(np.abs(counts - np.rint(counts)).max())
    if sizes.min() < _BATCH or apart > off:
        text = f"batches of {sizes.min()} to {sizes.max()} records, asked for were {_BATCH}"
        text += f"; a record has a weight {apart:.3g} away from 0 and 1" if apart > off else ""
        return Observation(1.0, text, 0.0, text, picture)
    return Observation.exact(True, f"{sizes.size} batches of exactly {_BATCH} distinct records")


def _binomial(counts: NDArray[np.int64], trials: int, chance: float, *, short: bool) -> Floats:
    """Two-sided; of short batches the upper side alone."""
    if not short:
        return tails.binomial(counts, trials, chance)
    return np.asarray(stats.binom.sf(counts - 1, trials, chance), dtype=np.float64)


def _uniform(context: Context) -> Observation:
    """Each record, and each pair of records, as often as a binomial count allows."""
    seen = members(context)
    held = seen.held.reshape(-1, _RECORDS).astype(np.int64)
    single = _binomial(held.sum(axis=0), len(held), _BATCH / _RECORDS, short=seen.short)
    together = (held.T @ held)[np.triu_indices(_RECORDS, k=1)]
    both = _BATCH * (_BATCH - 1) / (_RECORDS * (_RECORDS - 1))
    pairs = _binomial(together, len(held), both, short=seen.short)
    p_value, where = tails.smallest(np.concatenate([single, pairs]))
    if where < single.size:
        detail = f"record {where} in {held[:, where].mean():.4f} of the batches, expected {_BATCH / _RECORDS:.4f}"
    else:
        first, second = (int(index[where - single.size]) for index in np.triu_indices(_RECORDS, k=1))
        share = together[where - single.size] / len(held)
        detail = f"records {first} and {second} together in {share:.4f} of the batches, expected {both:.4f}"
    picture = shares(
        "Batch positions",
        "How often the record at each position was drawn; the claim is the same share for all.",
        np.arange(float(_RECORDS)),
        held.mean(axis=0),
        _BATCH / _RECORDS,
        axes=("position of the record", "share of the batches"),
    )
    return Observation(p_value, f"least likely: {detail}", picture=picture)


def _overlap(first: NDArray[np.bool_], second: NDArray[np.bool_], *, short: bool) -> tuple[float, float]:
    """The tail of the overlaps of paired batches, [pairs, n] each, and their mean; short ones overlap less."""
    total = int(np.sum(first & second))
    if short and total <= len(first) * _BATCH**2 / _RECORDS:
        return 1.0, total / len(first)
    return tails.overlap(total, len(first), _RECORDS, _BATCH), total / len(first)


def _fresh(context: Context) -> Observation:
    seen = members(context)
    held = seen.held
    found = {
        (k, later): _overlap(held[:, k], held[:, later], short=seen.short)
        for later in range(1, held.shape[1])
        for k in range(later)
    }
    p_value, where = tails.smallest(np.array([tail for tail, _ in found.values()]))
    k, later = list(found)[where]
    return Observation(
        p_value,
        f"iterations {k + 1} and {later + 1} share {found[k, later][1]:.3f} records on average, "
        f"expected {_BATCH**2 / _RECORDS:.3f}",
        picture=_overlaps([mean for _, mean in found.values()], "pair of iterations"),
    )


def _overlaps(means: list[float], what: str) -> Picture:
    return shares(
        "Records that two batches share",
        f"The mean over all runs, for every {what}; fresh batches share the claimed number.",
        np.arange(1.0, len(means) + 1),
        np.array(means),
        _BATCH**2 / _RECORDS,
        axes=(what, "shared records"),
    )


def _runs(context: Context) -> Observation:
    seen = members(context)
    held = seen.held
    even, odd = held[0 : len(held) - 1 : 2], held[1::2]
    where_to = range(held.shape[1])
    found = [_overlap(even[:, k], odd[:, later], short=seen.short) for k in where_to for later in where_to]
    p_value, where = tails.smallest(np.array([tail for tail, _ in found]))
    distinct = len(np.unique(held.reshape(len(held), -1), axis=0))
    return Observation(
        p_value,
        f"consecutive runs share {found[where][1]:.3f} records on average, expected {_BATCH**2 / _RECORDS:.3f}; "
        f"{distinct} different sequences in {len(held)} runs",
        picture=_overlaps([mean for _, mean in found], "pair of iterations of consecutive runs"),
    )


def _order(context: Context) -> Observation:
    """Every subset as often as every other: exact binomial counts of all the subsets of size m."""
    seen = members(context)
    if seen.short:
        raise NotApplicable(f"batches hold fewer than {_BATCH} records; see batch-size")
    held = seen.held.reshape(-1, _RECORDS)
    codes = held @ (1 << np.arange(_RECORDS))
    counts = np.bincount(codes, minlength=1 << _RECORDS)
    possible = np.array([code for code in range(1 << _RECORDS) if code.bit_count() == _BATCH])
    p_values = tails.binomial(counts[possible], len(held), 1 / len(possible))
    p_value, where = tails.smallest(p_values)
    shown = [i for i in range(_RECORDS) if int(possible[where]) >> i & 1]
    expected = stats.binom.mean(len(held), 1 / len(possible))
    picture = shares(
        "How often each batch came",
        f"Every one of the {len(possible)} possible batches, the rarest first; the claim is the same count for all.",
        np.arange(1.0, len(possible) + 1),
        np.sort(counts[possible]).astype(np.float64),
        float(expected),
        axes=("possible batch", "times"),
    )
    detail = f"batch {shown} came {counts[possible[where]]} times, expected {expected:.1f}"
    return Observation(p_value, detail, picture=picture)


CHECKS = (
    Check(
        "batch-size",
        Family.BATCHES,
        "batches of another size than claimed, sampling with replacement or by coin flips, a mean over something else",
        ("E18", "SENS-GRADIENT"),
        _size,
        statistical=False,
        needs=TRIALS,
        modes=BATCHED_MODES,
    ),
    Check(
        "batch-uniform",
        Family.BATCHES,
        "records that are drawn more often than others, alone or in pairs; a sampler that looks at the data",
        ("E18",),
        _uniform,
        statistical=True,
        needs=TRIALS,
        modes=BATCHED_MODES,
    ),
    Check(
        "batch-subsets",
        Family.BATCHES,
        "a sampler that cannot reach every subset: blocks of neighbours, a fixed list of batches",
        ("E18",),
        _order,
        statistical=True,
        needs=TRIALS,
        modes=BATCHED_MODES,
    ),
    Check(
        "batch-fresh-each-iteration",
        Family.BATCHES,
        "an epoch-wise shuffle accounted as subsampling; one batch kept for several iterations",
        ("E18",),
        _fresh,
        statistical=True,
        needs=EVERY_ITERATE,
        modes=BATCHED_MODES,
    ),
    Check(
        "batch-fresh-each-run",
        Family.BATCHES,
        "the same sequence of batches in several runs",
        ("E18",),
        _runs,
        statistical=True,
        needs=TRIALS,
        modes=BATCHED_MODES,
    ),
)
