r"""Neighbours side by side, with the same randomness, the same batches and the same released values taken for granted.

Given what was released before, a value may move by its declared sensitivity; what is computed from released values may
not move at all, nor may the noise, the number and shape of releases, penalties or step sizes. So one comparison shows
the sensitivity of every release, state that is carried on without noise, and whatever else depends on the data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from accountant.mechanisms.words import Sampling
from verification.declared.bench import Bench, OutOfTimeError
from verification.declared.ledger import schedule
from verification.declared.scenes import ALWAYS, SOMETIMES, NeighbouringPair, Scenes, held_batches, starts, without
from verification.declared.seen import Seen, TwoScales, Witness
from verification.wire.arrays import Floats
from verification.wire.declaration import DeclaredValue, Norm
from verification.wire.declared_session import LabelledPoints, Recorded
from verification.wire.faults import AdapterFault, Fault, ProtocolStep
from verification.wire.messages import Capability

_ROUNDING = 1e-13
_STILL = 1e-9
_OFF_GRID = 1e-6
_SHOWN_COLUMNS = 8


@dataclass(frozen=True, slots=True, eq=False)
class _Setting:
    """What both runs of a comparison share; `names` are those of the data sets."""

    pair: NeighbouringPair
    names: tuple[str, str]
    start: str
    outputs: dict[str, Floats]
    batches: list[list[int]] | None
    seed: int


_Compare = Callable[[Bench, _Setting, Recorded, Recorded, Seen], None]


def compare_neighbours(bench: Bench) -> Seen:
    """Search all pairs; stops without being finished when the time is over."""
    scenes = Scenes(bench.declaration, bench.records, bench.columns, bench.rng)
    pairs = list(scenes.all_neighbours())
    seen = Seen(planned=max(1, min(len(pairs), round(bench.effort * len(pairs)))))
    try:
        seen.fixed_start = _fixed_start(bench, pairs[0])
        for number in bench.rng.permutation(len(pairs))[: seen.planned]:
            _one_pair(bench, pairs[number], seen, SOMETIMES[int(number) % len(SOMETIMES)])
            seen.pairs += 1
            if seen.shapes:
                break
        seen.finished = True
    except OutOfTimeError:
        pass
    return seen


def _one_pair(bench: Bench, pair: NeighbouringPair, seen: Seen, other: str) -> None:
    names = (bench.send(pair.first), bench.send(pair.second))
    plain = _Setting(pair, names, "", {}, None, bench.seed())
    own = bench.record(names[0], seed=plain.seed)
    try:
        _all_starts(bench, plain, own, seen, other)
    except AdapterFault as fault:
        # values of another shape cannot be given to the neighbour: then the shape itself tells them apart
        if fault.fault is not Fault.WRONG_SHAPE or not _other_shapes(bench, plain, seen):
            raise


def _all_starts(bench: Bench, plain: _Setting, own: Recorded, seen: Seen, other: str) -> None:
    """Compare with every kind of earlier releases, and where records are drawn with the changed one left out."""
    pair = plain.pair
    for start in (*ALWAYS, other):
        outputs = starts(start, own, bench.declaration, pair.direction, bench.rng)
        held = _batches(bench, pair, own, inside=True)
        _look(bench, replace(plain, start=start, outputs=outputs, batches=held), seen, _compare)
    away = _batches(bench, pair, own, inside=False)
    if away is not None:
        outputs = starts("zero", own, bench.declaration, pair.direction, bench.rng)
        _look(bench, replace(plain, start="zero", outputs=outputs, batches=away), seen, _outside)


def _other_shapes(bench: Bench, plain: _Setting, seen: Seen) -> bool:
    """Whether runs of both neighbours with one seed have values of different shapes, and have them again."""
    runs = [[bench.record(name, seed=plain.seed) for _ in range(2)] for name in plain.names]
    for value in bench.declaration.values:
        one, other = ([run.values[value.name].shape for run in both] for both in runs)
        if one[0] == one[1] != other[0] == other[1]:
            where = describe(plain.pair, plain.start)
            seen.shapes = f"{value.name} has shape {list(one[0])} on one and {list(other[0])} on the other of: {where}"
            return True
    return False


def _fixed_start(bench: Bench, pair: NeighbouringPair) -> bool:
    """Whether what is released first, before its noise, is the same in two runs."""
    data = bench.send(pair.first)
    runs = [bench.record(data, seed=bench.seed()) for _ in range(2)]
    firsts = [[run.values[value.name].before[:1] for value in bench.declaration.noised] for run in runs]
    return all(np.array_equal(a, b) for a, b in zip(*firsts, strict=True))


def _look(bench: Bench, setting: _Setting, seen: Seen, compare: _Compare) -> None:
    """Compare both runs; what they show against the declaration counts only if the first run can be repeated."""
    first, second = _both(bench, setting)
    alone = Seen()
    compare(bench, setting, first, second, alone)
    if alone.violated():
        again = bench.record(setting.names[0], seed=setting.seed, outputs=setting.outputs, batches=setting.batches)
        if not _same(first, again):
            if bench.session.can(Capability.SEED):
                detail = "the same record request with the same seed, two answers"
                raise bench.session.fault(Fault.IGNORES_SEED, ProtocolStep.RECORD, detail)
            seen.unrepeatable = describe(setting.pair, setting.start)
            return
    seen.join(alone)


def _same(first: Recorded, second: Recorded) -> bool:
    """Whether two runs agree in all but the noise, which needs a seed to be the same."""
    pairs = [(a.before, second.values[name].before) for name, a in first.values.items()]
    pairs += [(a.released, second.values[name].released) for name, a in first.values.items()]
    pairs += [(array, second.public.get(name, np.zeros(0))) for name, array in first.public.items()]
    return all(a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in pairs)


def _batches(bench: Bench, pair: NeighbouringPair, own: Recorded, *, inside: bool) -> list[list[int]] | None:
    steps = max(bench.declaration.iterations, len(own.batches))
    return held_batches(bench.declaration, pair.first.count, steps, pair.position, bench.rng, inside=inside)


def _both(bench: Bench, setting: _Setting) -> tuple[Recorded, Recorded]:
    """Both runs, in random order."""
    sampling = bench.declaration.sampling.kind
    batches = (setting.batches, without(setting.batches, setting.pair, sampling))
    order = bench.rng.permutation(2)
    runs = {
        int(i): bench.record(setting.names[i], seed=setting.seed, outputs=setting.outputs, batches=batches[i])
        for i in order
    }
    return runs[0], runs[1]


def _compare(bench: Bench, setting: _Setting, first: Recorded, second: Recorded, seen: Seen) -> None:
    text = describe(setting.pair, setting.start)
    for value in bench.declaration.values:
        a, b = first.values[value.name], second.values[value.name]
        for run, which in ((a, "first"), (b, "second")):
            seen.counts.setdefault(value.name, {}).setdefault(len(run.released), f"{which} of: {text}")
        if a.released.shape != b.released.shape:
            seen.unequal = seen.unequal or (
                f"{value.name} has shape {list(a.released.shape)} on one and {list(b.released.shape)} on the other of: "
                f"{text}"
            )
    if first.order != second.order and Counter(first.order) == Counter(second.order):
        at = next(k for k, (a, b) in enumerate(zip(first.order, second.order, strict=True)) if a != b)
        told = f"{first.order[at]} leaves on one where {second.order[at]} leaves on the other of: {text}"
        seen.unequal = seen.unequal or f"release {at + 1} of the run: {told}"
    for value in bench.declaration.noised:
        _sensitivity(bench, value, (first, second), setting, seen)
        _noise(value, (first, second), setting, seen)
    for value in bench.declaration.processed:
        rows = (first.values[value.name].released, second.values[value.name].released)
        _still(rows, value.name, text, seen, seen.moved)
    for name in sorted({*first.public, *second.public}):
        shown = (first.public.get(name, np.zeros(0)), second.public.get(name, np.zeros(0)))
        _still(shown, name, text, seen, seen.public)


def _sensitivity(
    bench: Bench, value: DeclaredValue, runs: tuple[Recorded, Recorded], setting: _Setting, seen: Seen
) -> None:
    a, b = (run.values[value.name].before for run in runs)
    steps = min(len(a), len(b), bench.declaration.releases(value))
    if not steps or a.shape[1] != b.shape[1]:
        return
    distances = lengths(a[:steps] - b[:steps], value.norm)
    slack = _ROUNDING * max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0)) * np.sqrt(a.shape[1])
    declared = np.array(schedule(value.sensitivity, bench.declaration.releases(value)))[:steps]
    declared = declared * _copies(bench, value, setting, steps)
    text = describe(setting.pair, setting.start)
    shares = np.maximum(distances - slack, 0.0) / declared
    k = int(np.argmax(shares))
    where = f"release {k + 1}: moved by {distances[k]:.6g}, declared is {declared[k]:.6g}; {text}"
    seen.keep(seen.sensitivity, value.name, float(shares[k]), where)
    if value.grid is not None:
        _on_grid((a[:steps] - b[:steps]) / value.grid, slack / value.grid, value.name, text, seen)
    if bench.declaration.sampling.kind is Sampling.ALL or value.uses == "all":
        seen.first_release[value.name] = max(seen.first_release.get(value.name, 0.0), float(distances[0] - slack))


def _on_grid(moved: Floats, slack: float, name: str, text: str, seen: Seen) -> None:
    """Noise on a grid hides movements by multiples of the grid alone: the rest of a release shows the rest."""
    away = float(np.abs(moved - np.rint(moved)).max(initial=0.0))
    if away > _OFF_GRID + slack:
        seen.keep(seen.fractions, name, away, f"moved by {away:.4g} of the grid beside a multiple of it; {text}")


def _copies(bench: Bench, value: DeclaredValue, setting: _Setting, steps: int) -> Floats:
    """How often the changed record is in the batch of each release: with replacement the sensitivity is that of one."""
    replaced = bench.declaration.sampling.kind is Sampling.WITH_REPLACEMENT and value.uses == "batch"
    if not replaced or setting.batches is None:
        return np.ones(steps)
    counts = [batch.count(setting.pair.position) for batch in setting.batches]
    each = len(counts) // max(1, bench.declaration.releases(value))
    most = [max(counts[k * each : (k + 1) * each], default=max(counts)) for k in range(steps)]
    return np.array(most, dtype=np.float64)


def lengths(rows: Floats, norm: Norm | None) -> Floats:
    """The norm of every row."""
    found: Floats = np.abs(rows).sum(axis=1) if norm is Norm.L1 else np.linalg.norm(rows, axis=1)
    return found


def _noise(value: DeclaredValue, runs: tuple[Recorded, Recorded], setting: _Setting, seen: Seen) -> None:
    """The same randomness must give the same noise; where it is a multiple, its scale depends on the data."""
    a, b = (run.values[value.name].noise for run in runs)
    if a.shape != b.shape or not a.size or np.array_equal(a, b):
        return
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        if not (one.any() and other.any()):
            if one.any() or other.any():
                _two_scales(value, runs, setting, seen, (k, np.inf if other.any() else 0.0))
            continue
        factor = float(one @ other) / float(one @ one)
        if not np.allclose(other, factor * one, rtol=1e-9, atol=1e-12):
            seen.other_noise.add(value.name)
        elif factor > 0 and abs(np.log(factor)) > _STILL:
            _two_scales(value, runs, setting, seen, (k, factor))


def _two_scales(
    value: DeclaredValue, runs: tuple[Recorded, Recorded], setting: _Setting, seen: Seen, at: tuple[int, float]
) -> None:
    """Keep a release whose noise on the second is a multiple of that on the first."""
    k, factor = at
    size = factor if factor > 1 else np.inf if factor == 0 else 1 / factor
    seen_as = f"by a factor of {size:.6g}" if np.isfinite(size) else "noise on one of the neighbours, none on the other"
    one, other = (run.values[value.name].before[k] for run in runs)
    smaller, larger = setting.names if factor > 1 else setting.names[::-1]
    seen.keep_scales(
        value.name,
        TwoScales(
            factor=float(size),
            moved=float(np.linalg.norm(one - other)) if one.shape == other.shape else 0.0,
            dimension=one.size,
            release=k,
            smaller=smaller,
            larger=larger,
            outputs=setting.outputs,
            probable=k == 0 or setting.start == "its own run",
            others=setting.pair.kind,
            text=f"release {k + 1}: {seen_as}; {describe(setting.pair, setting.start)}",
        ),
    )


def _still(both: tuple[Floats, Floats], name: str, text: str, seen: Seen, where: dict[str, Witness]) -> None:
    a, b = both
    if a.shape != b.shape:
        seen.keep(where, name, np.inf, f"has another length on the neighbour; {text}")
        return
    distance = float(np.abs(a - b).max(initial=0.0))
    if distance > _STILL * (1.0 + max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))):
        seen.keep(where, name, distance, f"moved by {distance:.6g}; {text}")


def _outside(bench: Bench, setting: _Setting, first: Recorded, second: Recorded, seen: Seen) -> None:
    """A record that is in no batch moves nothing that is computed from batches."""
    text = describe(setting.pair, setting.start)
    for value in bench.declaration.noised:
        if value.uses == "batch":
            a, b = (run.values[value.name].before for run in (first, second))
            steps = min(len(a), len(b))
            _still((a[:steps], b[:steps]), value.name, text, seen, seen.outside)


def describe(pair: NeighbouringPair, start: str) -> str:
    """The witness in words, with the two records where they are short."""
    text = f"other records {pair.kind}, record {pair.position + 1} of {pair.first.count} {pair.move}"
    if start not in ("", "its own run"):
        text += f", released so far {start}"
    if pair.first.features.shape[1] <= _SHOWN_COLUMNS:
        one = _row(pair.first, pair.position)
        text += f": {one} left out" if pair.removed else f": {one} and {_row(pair.second, pair.position)}"
    return text


def _row(points: LabelledPoints, position: int) -> str:
    numbers = ", ".join(f"{x:.4g}" for x in points.features[position])
    return f"(({numbers}), {points.labels[position]:.4g})"
