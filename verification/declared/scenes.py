"""Data sets, neighbours, starting points and batches within what is declared, chosen to be hard.

Other records are aligned with the changed one, opposed to it, orthogonal or mixed; the changed record is turned round,
relabelled, made zero, made large (where the algorithm says that it bounds records itself) or left out; and what was
released before is zero, small, large, along the changed record or against it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from accountant.mechanisms.words import Neighbours, Sampling
from verification.wire.arrays import Floats
from verification.wire.declaration import BoundKind, Declaration
from verification.wire.declared_session import LabelledPoints, Recorded

LARGE = 1e3
FAR = 200.0
TILT = 0.05  # of two nearly opposite records towards a common direction: both have large losses far against it
ALWAYS = ("its own run", "zero", "far along", "far against")
SOMETIMES = ("along", "against", "random", "far random")
KINDS = ("random", "aligned", "opposed", "orthogonal", "mixed", "zero")


@dataclass(frozen=True, slots=True, eq=False)
class NeighbouringPair:
    """Two data sets that differ in one record, and how they came about."""

    first: LabelledPoints
    second: LabelledPoints
    position: int
    kind: str
    move: str
    direction: Floats

    @property
    def removed(self) -> bool:
        """Whether the second has one record less."""
        return self.second.count < self.first.count


class Scenes:
    """What can be sent, for one declaration and size."""

    def __init__(self, declaration: Declaration, records: int, columns: int, rng: np.random.Generator) -> None:
        self._bound, self._relation = declaration.bound, declaration.neighbours
        self._records, self._columns, self._rng = records, columns, rng
        self.low, self.high = self._bound.labels or (-1.0, 1.0)

    def data(self, kind: str, direction: Floats) -> LabelledPoints:
        """A data set of this kind, as large as the bound allows."""
        n, rng = self._records, self._rng
        labels = np.where(rng.random(n) < 0.5, self.low, self.high)
        if kind == "zero":
            return LabelledPoints(np.zeros((n, self._columns)), labels)
        rows = np.tile(direction, (n, 1))
        if kind == "opposed":
            rows[::2] *= -1.0
        elif kind == "orthogonal":
            rows = np.eye(self._columns)[np.arange(n) % self._columns]
        elif kind in ("random", "mixed"):
            rows = rng.standard_normal((n, self._columns))
        if kind in ("aligned", "opposed"):
            labels = np.full(n, self.high)
        sizes = rng.random((n, 1)) if kind == "mixed" else np.ones((n, 1))
        return LabelledPoints(self._within(rows, sizes), labels)

    def different(self) -> list[LabelledPoints]:
        """Data sets that have little in common, as large as may be sent."""
        found = [self.data(kind, self.direction()) for kind in ("random", "opposed", "zero")]
        if self._bound.kind is not BoundKind.DOMAIN:
            found.append(LabelledPoints(LARGE * found[0].features, found[0].labels))
        return found

    def direction(self) -> Floats:
        """A direction of features."""
        axis = np.zeros(self._columns)
        axis[0] = 1.0
        random = self._rng.standard_normal(self._columns)
        return axis if self._rng.random() < 0.5 else random / np.linalg.norm(random)

    def _within(self, rows: Floats, sizes: Floats) -> Floats:
        """Rows as long as the bound allows, times their sizes."""
        if self._bound.box is not None:
            low, high = self._bound.box
            sides = np.where(rows > 0, high, np.where(rows < 0, low, np.clip(0.0, low, high)))
            return sides * sizes if low <= 0 <= high else np.clip(sides, low, high)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        scaled: Floats = unit * (self._bound.radius or 1.0) * sizes
        return scaled

    def neighbours(self, kind: str, position: int, direction: Floats) -> Iterator[NeighbouringPair]:
        """All changes of one record of a data set of this kind."""
        base = self.data(kind, direction)
        moves = self._moves(direction)
        if self._relation is Neighbours.ADD_OR_REMOVE:
            for name, features, label in moves:
                there = _with(base, position, features, label)
                away = LabelledPoints(
                    np.delete(there.features, position, axis=0), np.delete(there.labels, position, axis=0)
                )
                yield NeighbouringPair(there, away, position, kind, f"{name}, removed", direction)
            return
        first, label = moves[0][1], moves[0][2]
        before = _with(base, position, first, label)
        for name, features, other in moves[1:]:
            yield NeighbouringPair(before, _with(base, position, features, other), position, kind, name, direction)
        for move, near in (("mirrored", False), ("nearly the same and relabelled", True)):
            sides = self._tilted(direction, near=near)
            if sides:
                labels = (self.high, self.low if near else self.high)
                pair = [_with(base, position, side, label) for side, label in zip(sides, labels, strict=True)]
                yield NeighbouringPair(pair[0], pair[1], position, kind, move, direction)

    def _tilted(self, direction: Floats, *, near: bool) -> list[Floats]:
        """Two records, nearly opposite and both tilted along the direction, or nearly the same and tilted apart.

        Far against the direction both have large losses; the second ones with opposite labels, whatever is added to the
        features (an intercept) in the same way.
        """
        across = self._rng.standard_normal(self._columns)
        across -= (across @ direction) * direction
        length = float(np.linalg.norm(across))
        if self._columns < 2 or length == 0.0:
            return []
        rest = np.sqrt(1 - TILT**2) / length
        tilts = ((TILT, rest), (-TILT, rest)) if near else ((TILT, rest), (TILT, -rest))
        return [self._within((a * direction + b * across)[None], np.ones((1, 1)))[0] for a, b in tilts]

    def _moves(self, direction: Floats) -> list[tuple[str, Floats, float]]:
        """The record itself, and what it may become."""
        full = np.ones((1, 1))
        along, against = (self._within(sign * direction[None], full)[0] for sign in (1.0, -1.0))
        other = self._within(self._rng.standard_normal((1, self._columns)), full)[0]
        found = [
            ("along", along, self.high),
            ("turned round", against, self.high),
            ("relabelled", along, self.low),
            ("turned round and relabelled", against, self.low),
            ("made zero", self._within(np.zeros((1, self._columns)), full)[0], self.high),
            ("replaced", other, self.high),
        ]
        if self._bound.kind is not BoundKind.DOMAIN:
            found += [
                ("made large and turned round", LARGE * against, self.high),
                ("made large and relabelled", LARGE * along, self.low),
            ]
        return found

    def all_neighbours(self) -> Iterator[NeighbouringPair]:
        """Every kind of data with the changed record at the ends and somewhere between."""
        somewhere = int(self._rng.integers(self._records))
        positions = list(dict.fromkeys((0, self._records - 1, somewhere)))
        for kind, position in itertools.product(KINDS, positions):
            yield from self.neighbours(kind, position, self.direction())


def starts(
    start: str, own: Recorded, declaration: Declaration, direction: Floats, rng: np.random.Generator
) -> dict[str, Floats]:
    """What is taken as released: for every value with noise as many releases as are declared."""
    found = {}
    for value in declaration.noised:
        released, count = own.values[value.name].released, declaration.releases(value)
        width = released.shape[1]
        aim = np.tile(_aimed(direction, width), (count, 1))
        match start:
            case "its own run":
                array = np.zeros((count, width))
                array[: len(released)] = released[:count]
            case "zero":
                array = np.zeros((count, width))
            case "random" | "far random":
                array = rng.standard_normal((count, width)) * (FAR if "far" in start else 1.0)
            case _:
                array = aim * (FAR if "far" in start else 1.0) * (1.0 if "along" in start else -1.0)
        found[value.name] = array.reshape(count, *own.values[value.name].shape)
    return found


def _aimed(direction: Floats, width: int) -> Floats:
    """The direction for every class or party; what is beside the features, as an intercept, is 0."""
    if width % len(direction) == 0 or width < len(direction):
        return np.resize(direction, width) if width else np.zeros(0)
    return np.concatenate([direction, np.zeros(width - len(direction))])


def held_batches(
    declaration: Declaration, records: int, steps: int, position: int, rng: np.random.Generator, *, inside: bool
) -> list[list[int]] | None:
    """Batches that all hold the changed record, or none of them; None where no records are drawn."""
    sampling = declaration.sampling
    others = np.array([i for i in range(records) if i != position])
    match sampling.kind:
        case Sampling.ALL:
            return None
        case Sampling.WITHOUT_REPLACEMENT:
            size = min(sampling.batch or 1, records)
            if not inside and size > len(others):
                return None
            drawn = [rng.permutation(others)[: size - 1 if inside else size].tolist() for _ in range(steps)]
        case Sampling.WITH_REPLACEMENT:
            size = sampling.batch or 1
            drawn = [rng.choice(others, size).tolist() for _ in range(steps)]
            if inside:
                copies = [(1, size, int(rng.integers(1, size + 1)))[k % 3] for k in range(steps)]
                return [sorted([*batch[c:], *[position] * c]) for batch, c in zip(drawn, copies, strict=True)]
        case Sampling.POISSON:
            rates = (sampling.rate or 0.0, 0.0, 1.0)
            drawn = [others[rng.random(len(others)) < rates[k % 3]].tolist() for k in range(steps)]
    return [sorted([*batch, position]) for batch in drawn] if inside else drawn


def without(batches: list[list[int]] | None, pair: NeighbouringPair, sampling: Sampling) -> list[list[int]] | None:
    """The same batches for the second data set; of a fixed size, another record takes the place of a missing one."""
    if batches is None or not pair.removed:
        return batches
    if sampling is Sampling.POISSON:
        return [[i - (i > pair.position) for i in batch if i != pair.position] for batch in batches]
    return [_filled(batch, pair) for batch in batches]


def _filled(batch: list[int], pair: NeighbouringPair) -> list[int]:
    taken = {i for i in batch if i != pair.position}
    free = [i for i in range(pair.first.count) if i not in taken and i != pair.position]
    spare = free[0] if free else next(i for i in range(pair.first.count) if i != pair.position)
    return sorted(j - (j > pair.position) for j in (spare if i == pair.position else i for i in batch))


def _with(points: LabelledPoints, position: int, features: Floats, label: float) -> LabelledPoints:
    rows, labels = points.features.copy(), points.labels.copy()
    rows[position], labels[position] = features, label
    return LabelledPoints(rows, labels)
