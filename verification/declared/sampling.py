"""Whether batches are drawn as declared: of the right size, every record alike, fresh in every step and run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from accountant.mechanisms.words import Sampling
from verification.statistics import tails
from verification.statistics.batches import batch_tests
from verification.statistics.test import Aspect, Cause, TailFamily, Test, union
from verification.wire.declaration import DeclaredSampling

Runs = list[list[list[int]]]
_MARKS = 512


def malformed(runs: Runs, sampling: DeclaredSampling, records: int) -> str:
    """What no draw of the declared sampling can show; empty if there is nothing."""
    for number, run in enumerate(runs):
        for step, batch in enumerate(run):
            where = f"run {number + 1}, step {step + 1}"
            if any(i >= records for i in batch):
                return f"{where}: there is no record {max(batch)}"
            if sampling.batch is not None and len(batch) != sampling.batch:
                return f"{where}: {len(batch)} records are drawn, declared are {sampling.batch}"
            if sampling.kind is not Sampling.WITH_REPLACEMENT and len(set(batch)) < len(batch):
                return f"{where}: a record is drawn twice, and batches are declared {sampling.kind}"
    return ""


def repeated(runs: Runs) -> bool:
    """Whether a record is drawn twice somewhere."""
    return any(len(set(batch)) < len(batch) for run in runs for batch in run)


def sampling_tests(runs: Runs, sampling: DeclaredSampling, records: int, rng: np.random.Generator) -> list[Test]:
    """The tests of the declared sampling; runs of one length."""
    steps = min(len(run) for run in runs)
    marks = np.sort(rng.permutation(records)[:_MARKS])
    counts = np.zeros((len(runs), steps, records), dtype=np.int64)
    for r, run in enumerate(runs):
        for k in range(steps):
            np.add.at(counts[r, k], run[k], 1)
    match sampling.kind:
        case Sampling.WITHOUT_REPLACEMENT:
            held = counts[:, :, marks] > 0
            return batch_tests(held, marks, records=records, batch=sampling.batch or 1)
        case Sampling.POISSON:
            return _poisson(counts > 0, sampling.rate or 0.0)
        case _:
            return _with_replacement(runs, counts, sampling.batch or 1)


def _poisson(held: NDArray[np.bool_], rate: float) -> list[Test]:
    runs, steps, n = held.shape
    sizes = held.sum(axis=2)
    deviation = np.sqrt(n * rate * (1 - rate))
    near = np.abs(np.arange(n + 1) - n * rate) <= deviation
    chance = float(stats.binom.pmf(np.arange(n + 1), n, rate)[near].sum())
    middle = np.array([np.sum(near[sizes])])
    families = [
        TailFamily("all records", tails.binomial(np.array([held.sum()]), held.size, rate)),
        TailFamily("record", tails.binomial(held.sum(axis=(0, 1)), runs * steps, rate), lambda i: str(i + 1)),
        TailFamily("step", tails.binomial(held.sum(axis=(0, 2)), runs * n, rate), lambda k: str(k + 1)),
        TailFamily("spread of the sizes of batches", tails.binomial(middle, sizes.size, chance)),
    ]
    flat = held.reshape(runs * steps, n)
    both = flat[0 : len(flat) - 1 : 2] & flat[1::2]
    if both.size:
        families.append(TailFamily("consecutive batches", tails.binomial(np.array([both.sum()]), both.size, rate**2)))
    if runs > 1:
        between = held[0 : runs - 1 : 2] & held[1::2]
        families.append(
            TailFamily("consecutive runs", tails.binomial(np.array([between.sum()]), between.size, rate**2))
        )
    return [_test(families)]


def _with_replacement(runs: Runs, counts: NDArray[np.int64], size: int) -> list[Test]:
    n = counts.shape[2]
    draws = counts.shape[0] * counts.shape[1] * size
    drawn = np.array([i for run in runs for batch in run[: counts.shape[1]] for i in batch])
    pairs = drawn[: len(drawn) // 2 * 2].reshape(-1, 2)
    equal = np.array([np.sum(pairs[:, 0] == pairs[:, 1])])
    families = [
        TailFamily("record", tails.binomial(counts.sum(axis=(0, 1)), draws, 1 / n), lambda i: str(i + 1)),
        TailFamily("draws of one record in a row", tails.binomial(equal, len(pairs), 1 / n)),
    ]
    return [_test(families)]


def _test(families: list[TailFamily]) -> Test:
    p_value, at = union(families)
    return Test("batch-law", Aspect.BATCHES, p_value, f"least likely: {at}", Cause.BATCH_LAW)
