"""A search that climbs: records of very different lengths, changed a little at a time where a value moves more.

The pairs of `scenes` are hard for algorithms whose releases depend on the current model alone. Where state without
noise is carried on from release to release, the worst pair is one whose record counts in one release and not in the
next, which depends on the lengths of all records: nobody lists such pairs, but climbing finds them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accountant.mechanisms.words import Neighbours
from verification.declared.bench import Bench, OutOfTimeError
from verification.declared.pairs import _batches, _compare, _look, _Setting
from verification.declared.scenes import NeighbouringPair
from verification.declared.seen import Seen
from verification.wire.arrays import Floats
from verification.wire.declaration import BoundKind
from verification.wire.declared_session import LabelledPoints, Recorded

CLIMBS, FRESH, STEPS = 8, 25, 100
_MOST_NUMBERS = 4_000_000  # of all records that are sent: large data sets get fewer climbs, or none
_LENGTHS, _INSIDE, _RELEASED = (-1.0, 3.0), (-3.0, 0.0), (-3.0, 2.0)  # powers of ten


@dataclass(frozen=True, slots=True, eq=False)
class ClimbingPlace:
    """Where a climb stands: the records, what the changed one becomes, and what is taken as released."""

    points: LabelledPoints
    other: Floats
    outputs: dict[str, Floats]


def climb(bench: Bench, seen: Seen) -> None:
    """Climb from the best of some random places, several times; what time and size do not allow is left out."""
    if bench.declaration.bound.box is not None or seen.shapes:
        return
    allowed = _MOST_NUMBERS // (bench.records * bench.columns * (FRESH + STEPS))
    rounds = min(max(1, round(CLIMBS * bench.effort)), allowed)
    try:
        for _ in range(rounds):
            own = bench.record(bench.send(_fresh_points(bench)), seed=bench.seed())
            found = [(_moved(bench, place, own, seen), place) for place in (_fresh(bench, own) for _ in range(FRESH))]
            best, at = max(found, key=lambda pair: pair[0])
            for _ in range(STEPS):
                place = _step(bench, at)
                moved = _moved(bench, place, own, seen)
                if moved >= best:
                    best, at = moved, place
    except OutOfTimeError:
        return


def _moved(bench: Bench, place: ClimbingPlace, own: Recorded, seen: Seen) -> float:
    """How far a value moves here, over its declared sensitivity."""
    removed = bench.declaration.neighbours is Neighbours.ADD_OR_REMOVE
    rows, labels = place.points.features.copy(), place.points.labels
    rows[0] = place.other
    second = LabelledPoints(rows[1:], labels[1:]) if removed else LabelledPoints(rows, labels)
    text = "removed" if removed else "made another"
    pair = NeighbouringPair(place.points, second, 0, "uneven", text, np.zeros(bench.columns))
    names = (bench.send(pair.first), bench.send(pair.second))
    held, alone = _batches(bench, pair, own, inside=True), Seen()
    _look(bench, _Setting(pair, names, "random", place.outputs, held, bench.seed()), alone, _compare)
    seen.join(alone)
    seen.pairs += 1
    return max((witness.size for witness in alone.sensitivity.values()), default=0.0)


def _fresh_points(bench: Bench) -> LabelledPoints:
    low, high = bench.declaration.bound.labels or (-1.0, 1.0)
    labels = np.where(bench.rng.random(bench.records) < 0.5, low, high)
    return LabelledPoints(np.array([_record(bench) for _ in labels]), labels)


def _record(bench: Bench) -> Floats:
    """A record of any length that may be sent."""
    row = bench.rng.standard_normal(bench.columns)
    inside = bench.declaration.bound.kind is BoundKind.DOMAIN
    length = (bench.declaration.bound.radius or 1.0) * 10.0 ** bench.rng.uniform(*(_INSIDE if inside else _LENGTHS))
    record: Floats = row * (length / np.linalg.norm(row))
    return record


def _fresh(bench: Bench, own: Recorded) -> ClimbingPlace:
    outputs = {}
    for value in bench.declaration.noised:
        shape = (bench.declaration.releases(value), *own.values[value.name].shape)
        size = 10.0 ** bench.rng.uniform(*_RELEASED)
        outputs[value.name] = size * bench.rng.standard_normal(shape)
    return ClimbingPlace(_fresh_points(bench), _record(bench), outputs)


def _step(bench: Bench, at: ClimbingPlace) -> ClimbingPlace:
    """Change one record, the changed record, or one value's releases."""
    rng, rows = bench.rng, at.points.features.copy()
    which = int(rng.integers(3))
    if which == 0:
        i = int(rng.integers(len(rows)))
        rows[i] = _within(bench, _shaken(rng, rows[i]))
        return ClimbingPlace(LabelledPoints(rows, at.points.labels), at.other, at.outputs)
    if which == 1:
        return ClimbingPlace(at.points, _within(bench, _shaken(rng, at.other)), at.outputs)
    name = str(rng.choice(list(at.outputs)))
    return ClimbingPlace(at.points, at.other, at.outputs | {name: _shaken(rng, at.outputs[name])})


def _shaken(rng: np.random.Generator, array: Floats) -> Floats:
    """Another length, and perhaps another direction."""
    turned = rng.standard_normal(array.shape) * np.linalg.norm(array) * 10.0 ** rng.uniform(-2.0, 0.0)
    shaken: Floats = array * 10.0 ** rng.normal(0.0, 0.5) + (turned if rng.random() < 0.7 else 0.0)
    return shaken


def _within(bench: Bench, row: Floats) -> Floats:
    """No longer than may be sent."""
    inside = bench.declaration.bound.kind is BoundKind.DOMAIN
    most = (bench.declaration.bound.radius or 1.0) * 10.0 ** (_INSIDE if inside else _LENGTHS)[1]
    length = float(np.linalg.norm(row))
    shorter: Floats = row * min(1.0, most / max(length, 1e-300))
    return shorter
