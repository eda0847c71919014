r"""Runs beside replays, where noise cannot be read: two samples of one law.

A noisy gradient that is scaled to a length of 1, its signs or its largest coordinates hide their noise, and cost no
privacy if the noise is as declared. A replay with noise and batches drawn here by the declared law is then a run like
any other: the same function of each is compared by its ranks (Kolmogorov and Smirnov's test of two samples of one size,
exact for every law and conservative where values are equal). Runs whose values are smaller than those of replays, show
more of the record that all records are, come again more often, or show other batches, cost privacy.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import stats

from verification.questions import scenes
from verification.questions.question import Answer
from verification.reading.context import FEWER_VALUES, Claimed, Context, NotApplicable
from verification.reading.replayed import HIDDEN, apparent, inputs
from verification.reading.values import quietened
from verification.served.serve import Values
from verification.statistics.tails import Side, two_samples
from verification.statistics.test import Aspect, Cause, Cost, TailFamily, Test, union
from verification.wire.arrays import Floats
from verification.wire.records import Records, Run

_COMPARED, _FEWEST_COMPARED, _COMPARED_ITERATIONS, _COORDINATES = 600, 300, 3, 8
_HIDDEN_SIGMA = 0.3  # so small that not all of it is hidden
_LARGER = 1e-6
_BATCHES = 24  # iterations: more than an epoch of most claims has
_DIGITS, _EQUAL_DIGITS = 3, 9

Both = tuple[Floats, Floats]


def noise_as_replayed(context: Context, at_size: Claimed) -> Answer:
    """On records without gradient, and on one dense record n times."""
    claimed = at_size.fitting(FEWER_VALUES).shortened(_COMPARED_ITERATIONS)
    if claimed.runs is not None:
        claimed = claimed.with_parameters(sigma=_HIDDEN_SIGMA)
    alike = scenes.identical(claimed.records, claimed.columns, claimed.parameters.bound, context.rng, context.reach)
    unit = alike.features[0] / np.linalg.norm(alike.features[0])
    smaller, larger, other, rows = list[TailFamily](), list[TailFamily](), list[TailFamily](), list[Both]()
    for title, records in (("silent", Records(0.0 * alike.features, alike.labels)), ("equal", alike)):
        noised, shown = _both(context, claimed, records)
        for stream, both in noised.items():
            rows.append(both)
            for k in range(both[0].shape[1]):
                where = f"{title} records, {stream}, iteration {k + 1}:"
                sizes = [np.linalg.norm(each[:, k], axis=1) for each in both]
                along = [np.abs(each[:, k] @ unit) for each in both]
                smaller.append(_tail(f"{where} length", sizes, Side.SMALLER))
                larger.append(_tail(f"{where} length", sizes, Side.LARGER))
                if records is alike:
                    shares = [part / np.maximum(size, 1e-300) for part, size in zip(along, sizes, strict=True)]
                    smaller.append(_tail(f"{where} share of the record", shares, Side.LARGER))
                if k:
                    products = [np.sum(each[:, k] * each[:, k - 1], axis=1) for each in both]
                    other.append(_tail(f"{where} product with the last", products, Side.EITHER))
        for value, both in (noised | shown).items():
            other += [
                _tail(
                    f"{title} records, {value}, iteration {k + 1}: coordinate {j + 1}",
                    [each[:, k, j] for each in both],
                    Side.EITHER,
                )
                for k in range(both[0].shape[1])
                for j in range(min(_COORDINATES, both[0].shape[2]))
            ]
    below, above, law = (union(each) for each in (smaller, larger, other))
    # further noise may be of whatever law
    law_is = (Cause.NOISE_LARGE, Cost.NOTHING) if above[0] < _LARGER else (Cause.NOISE_LAW, Cost.PRIVACY)
    tests = (
        Test("size-as-replayed", Aspect.NOISE, below[0], f"least likely: {below[1]}", Cause.NOISE_SMALL),
        Test("excess-as-replayed", Aspect.NOISE, above[0], f"{above[1]}", Cause.NOISE_LARGE, Cost.NOTHING),
        Test("law-as-replayed", Aspect.NOISE, law[0], f"least likely: {law[1]}", *law_is),
        repeated_rows(rows),
    )
    return Answer("runs beside replays", claimed.size, 2 * len(rows[0][0]), tests, (Aspect.NOISE,))


def repeated_rows(rows: list[Both]) -> Test:
    """Whether directions come again in more runs than replays: which of the two a run is, is a coin if all are alike.

    Signs or a stop repeat themselves in replays as well. A direction counts where it comes in runs alone, or in replays
    alone, and for one run each.
    """
    units, ids = list[Floats](), list[Floats]()
    for both in rows:
        for sample, array in enumerate(both):
            flat = array.reshape(-1, array.shape[2])
            units.append(
                np.round(flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-300), _EQUAL_DIGITS)
            )
            ids.append(np.repeat(2 * np.arange(len(array)) + sample, array.shape[1]))
    _, classes, sizes = np.unique(np.vstack(units) + 0.0, axis=0, return_inverse=True, return_counts=True)
    number, classes = np.concatenate(ids).astype(np.int64), np.ravel(classes)
    share = np.bincount(classes, weights=number % 2) / sizes
    again = {}
    for sample in (0, 1):
        alone = np.flatnonzero((sizes > 1) & (share == sample))
        again[sample] = len({int(number[classes == each].min()) for each in alone})
    p_value = float(stats.binom.sf(again[0] - 1, again[0] + again[1], 0.5)) if again[0] else 1.0
    detail = f"directions come again in {again[0]} runs, and in {again[1]} of as many replays"
    return Test("noise-freshness", Aspect.NOISE, p_value, detail, Cause.NOISE_REUSED)


def batches_as_replayed(context: Context, claimed: Claimed, scene: scenes.Marked) -> Answer:
    """On marked records with next to no noise: what each mark adds, all together, and one iteration beside the next."""
    if claimed.parameters.sampling is not None:
        raise NotApplicable(HIDDEN)
    used = claimed.shortened(_BATCHES)
    used = dataclasses.replace(used, parameters=quietened(used.mode.algorithm, used.parameters))
    noised, _ = _both(context, used, scene.records)
    order = np.argsort(scene.places)
    columns, signs = scene.columns[order], scene.records.labels[scene.places[order]]
    stream, (runs, replays) = next(iter(noised.items()))
    largest = max(float(np.abs(replays[:, :, columns]).max()), 1e-300)
    # what is left of the noise must not be compared by its ranks: more of it is no other batch
    both = [np.round(each[:, :, columns] * signs / largest, _DIGITS) for each in (runs, replays)]
    total = [each.sum(axis=2) for each in both]
    families = [
        _tail(f"record {scene.places[order[j]]}", [each[:, :, j].sum(axis=1) for each in both], Side.EITHER)
        for j in range(len(columns))
    ]
    families += [
        _tail(f"all of iteration {k + 1}", [each[:, k] for each in total], Side.EITHER) for k in range(both[0].shape[1])
    ]
    ways = {
        "one iteration beside the next": [np.sum(each[:, 1:] * each[:, :-1], axis=(1, 2)) for each in both],
        "all iterations together": [np.sum(each.sum(axis=1) ** 2, axis=1) for each in both],
        "records that stand together": [np.sum(each[:, :, 1:] * each[:, :, :-1], axis=(1, 2)) for each in both],
        "one run beside the next": [np.sum(each[:-1:2] * each[1::2], axis=(1, 2)) for each in both],
    }
    families += [_tail(name, each, Side.EITHER) for name, each in ways.items()]
    p_value, at = union(families)
    detail = f"{stream} of runs and of replays with batches drawn here; least likely: {at}"
    test = Test("batches-as-replayed", Aspect.BATCHES, p_value, detail, Cause.BATCH_LAW)
    return Answer("marked records, beside replays", used.size, 2 * len(runs), (test,), (Aspect.BATCHES,))


def _tail(label: str, both: list[Floats], side: Side) -> TailFamily:
    return TailFamily(label, np.array([two_samples(both[0], both[1], side)]))


def _both(context: Context, claimed: Claimed, records: Records) -> tuple[dict[str, Both], dict[str, Both]]:
    """Runs and replays: what is added to the reference's updates, gradients included, and what else leaves."""
    count = max(_FEWEST_COMPARED, context.count(_COMPARED))  # a replay each, however long noise takes to be read
    name, parameters = context.session.send(records), claimed.parameters
    runs = context.run(name, parameters, count)
    given = [inputs(claimed, context.rng) for _ in range(count)]
    again = [context.session.replay(name, claimed.mode.algorithm, parameters, *each) for each in given]
    replays = Run({key: np.stack([run.values[key] for run in again]) for key in runs.values})
    seen, wanted = (_noised(context, claimed, each) for each in (runs, replays))
    others = [key for key, array in runs.values.items() if key not in seen and key != "x" and array.ndim == 3]
    return (
        {stream: (seen[stream], wanted[stream]) for stream in seen},
        {key: (runs.values[key], replays.values[key]) for key in others},
    )


def _noised(context: Context, claimed: Claimed, run: Run) -> Values:
    return context.with_noise(apparent(context, claimed.parameters, run))
