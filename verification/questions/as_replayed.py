r"""Are runs of the law of replays that are given the declared noise and batches? For noise that cannot be read.

What is computed from noisy values may hide their noise, such as a noisy gradient that is scaled to a length of 1. That
is post-processing, and costs no privacy if the noise is as declared. A replay with noise and batches drawn here by the
declared law is then a run like any other. So runs and replays are two samples of one law: the same function of each
run is compared by its ranks (Kolmogorov and Smirnov's test of two samples, exact for every law). Values of runs that
are smaller than those of replays, or that show more of the record that all records are, cost privacy.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import stats

from verification.questions import scenes
from verification.questions.question import Answer
from verification.reading.context import FEWER_VALUES, Claimed, Context
from verification.reading.replayed import apparent, inputs
from verification.statistics.noise_shape import repeats
from verification.statistics.test import Aspect, Cause, Cost, TailFamily, Test, union
from verification.wire.arrays import Floats
from verification.wire.records import Records, Run

_RUNS, _FEWEST_RUNS, _ITERATIONS, _COORDINATES = 600, 300, 3, 8
_SMALL_SIGMA = 0.3  # so small that not all of it is hidden
_LARGER = 1e-6


def as_replayed(context: Context, at_size: Claimed) -> Answer:
    """Runs and replays on records without gradient, and on one dense record n times."""
    claimed = at_size.fitting(FEWER_VALUES).shortened(_ITERATIONS)
    if claimed.runs is not None:
        claimed = claimed.with_parameters(sigma=_SMALL_SIGMA)
    count = max(_FEWEST_RUNS, context.count(_RUNS))  # a replay each, however long noise takes to be read
    alike = scenes.identical(claimed.records, claimed.columns, claimed.parameters.bound, context.rng, context.reach)
    unit = alike.features[0] / np.linalg.norm(alike.features[0])
    smaller, larger, other, vectors = list[TailFamily](), list[TailFamily](), list[TailFamily](), list[Floats]()
    for title, records in (("silent", Records(0.0 * alike.features, alike.labels)), ("equal", alike)):
        for stream, (runs, replays) in _both(context, claimed, records, count).items():
            vectors.append(runs.reshape(-1, runs.shape[2]))
            for k in range(runs.shape[1]):
                where = f"{title} records, {stream}, iteration {k + 1}:"
                sizes = [np.linalg.norm(each[:, k], axis=1) for each in (runs, replays)]
                along = [np.abs(each[:, k] @ unit) for each in (runs, replays)]
                smaller.append(_tail(f"{where} length", sizes, "greater"))
                larger.append(_tail(f"{where} length", sizes, "less"))
                if records is alike:
                    shares = [part / size for part, size in zip(along, sizes, strict=True)]
                    smaller.append(_tail(f"{where} share of the record", shares, "less"))
                other += [
                    _tail(f"{where} coordinate {j + 1}", [runs[:, k, j], replays[:, k, j]], "two-sided")
                    for j in range(min(_COORDINATES, runs.shape[2]))
                ]
                if k:
                    products = [np.sum(each[:, k] * each[:, k - 1], axis=1) for each in (runs, replays)]
                    other.append(_tail(f"{where} product with the last", products, "two-sided"))
    return _answer(claimed, count, (smaller, larger, other), vectors)


def _answer(
    claimed: Claimed,
    count: int,
    families: tuple[list[TailFamily], list[TailFamily], list[TailFamily]],
    vectors: list[Floats],
) -> Answer:
    below, above, law = (union(each) for each in families)
    # further noise may be of whatever law
    law_is = (Cause.NOISE_LARGE, Cost.NOTHING) if above[0] < _LARGER else (Cause.NOISE_LAW, Cost.PRIVACY)
    tests = (
        Test("size-as-replayed", Aspect.NOISE, below[0], f"least likely: {below[1]}", Cause.NOISE_SMALL),
        Test("excess-as-replayed", Aspect.NOISE, above[0], f"{above[1]}", Cause.NOISE_LARGE, Cost.NOTHING),
        Test("law-as-replayed", Aspect.NOISE, law[0], f"least likely: {law[1]}", *law_is),
        repeats("noise-freshness", np.vstack(vectors)),
    )
    return Answer("runs beside replays", claimed.size, 2 * count, tests, (Aspect.NOISE,))


def _tail(label: str, both: list[Floats], alternative: Literal["two-sided", "less", "greater"]) -> TailFamily:
    """The distribution functions of both compared; `greater`: values of runs are smaller; `less`: they are larger."""
    found = stats.ks_2samp(both[0], both[1], alternative=alternative, method="exact")
    return TailFamily(label, np.array([float(found.pvalue)]))


def _both(context: Context, claimed: Claimed, records: Records, count: int) -> dict[str, tuple[Floats, Floats]]:
    """What runs and replays add to the reference's updates, gradients included; [count, T, p] of each by stream."""
    name, parameters = context.session.send(records), claimed.parameters
    runs = context.run(name, parameters, count)
    given = [inputs(claimed, context.rng) for _ in range(count)]
    again = [context.session.replay(name, claimed.mode.algorithm, parameters, *each) for each in given]
    replays = Run({key: np.stack([run.values[key] for run in again]) for key in runs.values})
    seen, wanted = (context.with_noise(apparent(context, parameters, each)) for each in (runs, replays))
    return {stream: (seen[stream], wanted[stream]) for stream in seen}
