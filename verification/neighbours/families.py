r"""Named families of neighbours that are hard for some mechanism, within the records that a claim speaks of.

* *Worst cases* of the paper's algorithms (`clipped`, `hinge`, `saturated`): all records are u' but one, which is u or
  u'. Their gradients oppose each other at full length C and stay constant while the iterates move, so that one pair
  attains the claimed sensitivity in every iteration. With the logistic loss on normalised features that happens only
  in the limit of large ||x||: u = (-e, sqrt(1-e^2)), u' = (-e, -sqrt(1-e^2)), x0 = (X, 0) with X e >> 1; from x0 = 0
  half of it is seen. `silent` puts an empty record in place of u.
* *All changes* (`Families`): other records random, aligned with the changed one, opposed to it, orthogonal, mixed or
  zero; the changed record turned round, relabelled, made zero, replaced, mirrored, made large or left out.
* *Telling pairs* (`library`): where unknown code tends to leak most. An outlier among short records shows a missing
  bound, a record against many opposed ones what a sum hides, a feature of its own a scale that depends on the data.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from accountant.mechanisms.words import Neighbours as Relation
from accountant.mechanisms.words import Sampling
from verification.errors import VerificationError
from verification.neighbours.neighbours import Neighbours, changed
from verification.wire.arrays import Floats
from verification.wire.declaration import BoundKind, Declaration, DeclaredSampling
from verification.wire.messages import initial_point
from verification.wire.parameters import Initial, LossName
from verification.wire.records import Records
from verification.wire.session import Recorded

LARGE = 1e3
"""How much longer than the bound a record is made, where the implementation bounds records itself."""
FAR = 200.0
"""The length of releases that are far from 0."""
_APART = 0.05  # of two nearly opposite records towards a common direction: both have large losses far against it


@dataclass(frozen=True, slots=True)
class Domain:
    """The records that may be sent: how many, of how many features, and within which bound.

    ``closed``: the claim speaks of records within the bound alone. Otherwise the implementation bounds them itself, and
    any record may be sent.
    """

    records: int = 12
    columns: int = 3
    radius: float = 1.0
    relation: Relation = Relation.REPLACE_ONE
    box: tuple[float, float] | None = None
    labels: tuple[float, float] = (-1.0, 1.0)
    closed: bool = True

    def __post_init__(self) -> None:
        if self.records < 1 or self.columns < 1:
            raise VerificationError(
                f"needs at least 1 record and 1 feature, got records={self.records}, features={self.columns}"
            )
        if not (math.isfinite(self.radius) and self.radius > 0):
            raise VerificationError(f"norm must be finite and > 0, got norm={self.radius!r}")

    @classmethod
    def of(cls, declaration: Declaration, records: int, columns: int) -> Domain:
        """The domain of a declaration at a size."""
        bound = declaration.bound
        return cls(
            records,
            columns,
            bound.radius or 1.0,
            declaration.neighbours,
            bound.box,
            bound.labels or (-1.0, 1.0),
            bound.kind is BoundKind.DOMAIN,
        )

    @property
    def empty(self) -> tuple[Floats, float]:
        """What a record that contributes nothing is sent as: features and label 0, wherever records else lie."""
        return np.zeros(self.columns), 0.0

    def filled(self, rows: Floats, sizes: Floats | float = 1.0) -> Floats:
        """Rows made as long as the bound allows, times their sizes; in a box, its corners."""
        if self.box is not None:
            low, high = self.box
            sides = np.where(rows > 0, high, np.where(rows < 0, low, np.clip(0.0, low, high)))
            return sides * sizes if low <= 0 <= high else np.clip(sides, low, high)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        scaled: Floats = unit * self.radius * sizes
        return scaled

    def admitted(self, row: Floats) -> Floats:
        """The record itself where it may be sent, else the nearest one (in a box) or a shorter one (in a ball)."""
        if self.box is not None:
            return np.clip(row, *self.box)
        length = float(np.linalg.norm(row))
        shorter: Floats = row * (self.radius / length) if self.closed and length > self.radius else row
        return shorter


# -- worst cases of the paper's algorithms --------------------------------------------------------------------------

DIMENSION = 2
SMALL_STEP = 2.0**-7
"""Steps so short that the iterates stay where the gradients of a worst case are constant."""
TILT = 1e-3
"""e: the gradients of `saturated` oppose each other up to a factor sqrt(1 - e^2) = 1 - 5e-7."""
MARGIN = 50.0
"""A sigmoid at this margin differs from 1 by less than 2e-22."""


@dataclass(frozen=True, slots=True, eq=False)
class WorstCase:
    """Neighbours with the start, the loss and the bound on records at which they attain the claimed sensitivity.

    ``attained`` is the distance of the two mean gradients, times n, over 2C. ``held``: by a penalty so strong that z
    stays 0; then y follows x, where without a penalty it stays 0.
    """

    neighbours: Neighbours
    x: Floats
    z: Floats
    y: Floats
    loss: LossName
    clip: float | None = None
    normalise: float | None = None
    attained: float = 1.0
    held: bool = False

    @property
    def first(self) -> Records:
        """The data set with the odd record."""
        return self.neighbours.first

    @property
    def second(self) -> Records:
        """Its neighbour."""
        return self.neighbours.second

    @property
    def dimension(self) -> int:
        """p."""
        return self.neighbours.columns

    @property
    def start(self) -> float:
        """The largest coordinate of the starting point."""
        return float(max(np.abs(each).max(initial=0.0) for each in (self.x, self.z, self.y)))

    @property
    def initial(self) -> Initial | None:
        """The starting point on the wire; None where it is 0, which needs no capability."""
        return None if self.start == 0.0 else initial_point(self.x, self.z, self.y)


def opposite(count: int, odd: Floats, usual: Floats, name: str = "") -> Neighbours:
    """All records ``usual``, but the first of the first data set."""
    rows = Records(np.tile(usual, (count, 1)), np.ones(count, dtype=np.int64))
    return Neighbours(rows.replace(0, odd, 1), rows, 0, name)


def clipped(count: int, *, dimension: int = DIMENSION, C: float = 1.0, loss: LossName = LossName.HUBER) -> WorstCase:
    """Records of length 8C, along and against one axis: at x = 0 and around it all gradients are clipped."""
    u, origin = _axis(dimension, 8.0 * C), np.zeros(dimension)
    return WorstCase(opposite(count, u, -u, "clipped"), origin, origin, origin, loss, clip=C)


def hinge(count: int, *, dimension: int = DIMENSION, C: float = 1.0, length: float = 1.0) -> WorstCase:
    """Normalised data for the huberized hinge: margins around 0 are below 1 - h, where its slope is -1."""
    u, origin = _axis(dimension, length * C), np.zeros(dimension)
    return WorstCase(opposite(count, u, -u, "hinge"), origin, origin, origin, LossName.HUBER, normalise=C)


def saturated(
    count: int, *, far: float, dimension: int = DIMENSION, C: float = 1.0, tilt: float = TILT, length: float = 1.0
) -> WorstCase:
    """Normalised logistic data at a far start; ``far`` is X, see :func:`far_enough`."""
    height = math.sqrt(1 - tilt**2)
    sides = np.zeros((2, dimension))
    sides[:, :2] = (-tilt, height), (-tilt, -height)
    odd, usual = length * C * sides
    pair = opposite(count, odd, usual, "saturated")
    x = _axis(dimension, far)
    return WorstCase(pair, x, x, np.zeros(dimension), LossName.LOGISTIC, normalise=C, attained=height)


def far_enough(etas: Sequence[float], rho: float, *, C: float = 1.0, sigma: float = 0.0) -> float:
    r"""X such that both sigmoids stay saturated over all steps: (sum s_k C + 10 sigma sqrt(sum s_k^2) + 50)/(e C).

    s_k = eta_k/(1 + eta_k rho) is how far a gradient of length 1 moves x in one step, at most.
    """
    steps = np.array([eta / (1 + eta * rho) for eta in etas])
    drift = steps.sum() * C + 10 * sigma * math.sqrt(float(steps @ steps)) + MARGIN
    return float(drift / (TILT * C))


def silent(case: WorstCase) -> WorstCase:
    """An empty record for the odd one, and z held at 0: counts and losses differ where opposites agree, y moves."""
    pair = case.neighbours
    first = pair.second.replace(pair.position, np.zeros(pair.columns), 1)
    return replace(case, neighbours=replace(pair, first=first), attained=case.attained / 2, held=True)


def cancelling(count: int, dimension: int, length: float) -> Neighbours:
    """Records along and against one axis in turn, one turned round: what bounds their mean alone moves furthest."""
    signs = (-1.0) ** np.arange(count)
    data = Records(signs[:, None] * _axis(dimension, length), np.ones(count, dtype=np.int64))
    return changed(data, 0, (-data.features[0], 1), "cancelling")


def _axis(dimension: int, length: float) -> Floats:
    axis = np.zeros(dimension)
    axis[0] = length
    return axis


# -- all changes of one record ---------------------------------------------------------------------------------------


class Others(enum.StrEnum):
    """How the records that both neighbours have lie to the one that changes."""

    RANDOM = "random"
    ALIGNED = "aligned"
    OPPOSED = "opposed"
    ORTHOGONAL = "orthogonal"
    MIXED = "mixed"
    ZERO = "zero"


class Families:
    """The families of one domain; random directions and labels come from ``rng``."""

    def __init__(self, domain: Domain, rng: np.random.Generator) -> None:
        self._domain, self._rng = domain, rng
        self._low, self._high = domain.labels

    def data(self, kind: Others, direction: Floats) -> Records:
        """A data set of this kind, as large as the bound allows."""
        n, p, rng = self._domain.records, self._domain.columns, self._rng
        labels = np.where(rng.random(n) < 0.5, self._low, self._high)
        rows = np.tile(direction, (n, 1))
        sizes: Floats | float = 1.0
        match kind:
            case Others.ZERO:
                return Records(np.zeros((n, p)), labels)
            case Others.OPPOSED:
                rows[::2] *= -1.0
            case Others.ORTHOGONAL:
                rows = np.eye(p)[np.arange(n) % p]
            case Others.RANDOM | Others.MIXED:
                rows = rng.standard_normal((n, p))
        if kind in (Others.ALIGNED, Others.OPPOSED):
            labels = np.full(n, self._high)
        if kind is Others.MIXED:
            sizes = rng.random((n, 1))
        return Records(self._domain.filled(rows, sizes), labels)

    def different(self) -> list[Records]:
        """Data sets that have little in common, as large as may be sent."""
        found = [self.data(kind, self.direction()) for kind in (Others.RANDOM, Others.OPPOSED, Others.ZERO)]
        if not self._domain.closed:
            found.append(Records(LARGE * found[0].features, found[0].labels))
        return found

    def direction(self) -> Floats:
        """A direction of features."""
        random = self._rng.standard_normal(self._domain.columns)
        return _axis(self._domain.columns, 1.0) if self._rng.random() < 0.5 else random / np.linalg.norm(random)

    def all(self) -> Iterator[tuple[Neighbours, Floats]]:
        """Every kind of data with the changed record at the ends and somewhere between, and its direction."""
        count = self._domain.records
        positions = list(dict.fromkeys((0, count - 1, int(self._rng.integers(count)))))
        for kind, position in itertools.product(Others, positions):
            direction = self.direction()
            yield from ((pair, direction) for pair in self.neighbours(kind, position, direction))

    def neighbours(self, kind: Others, position: int, direction: Floats) -> Iterator[Neighbours]:
        """All changes of one record of a data set of this kind."""
        base = self.data(kind, direction)
        changes = self._changes(direction)
        if self._domain.relation is not Relation.REPLACE_ONE:
            removed = self._domain.relation is Relation.ADD_OR_REMOVE
            gone, how = (None, "removed") if removed else (self._domain.empty, "emptied")
            for name, features, label in changes:
                there = base.replace(position, features, label)
                yield changed(there, position, gone, f"{kind} others, record {name}, {how}")
            return
        before = base.replace(position, *changes[0][1:])
        for name, features, label in changes[1:]:
            yield changed(before, position, (features, label), f"{kind} others, record {name}")
        for name, near in (("mirrored", False), ("nearly the same and relabelled", True)):
            sides = self._tilted(direction, near=near)
            if sides:
                after = self._low if near else self._high
                one = base.replace(position, sides[0], self._high)
                yield changed(one, position, (sides[1], after), f"{kind} others, record {name}")

    def _changes(self, direction: Floats) -> list[tuple[str, Floats, float]]:
        """The record itself, and what it may become."""
        filled, low, high = self._domain.filled, self._low, self._high
        along, against = (filled(sign * direction[None])[0] for sign in (1.0, -1.0))
        other = filled(self._rng.standard_normal((1, self._domain.columns)))[0]
        found = [
            ("along", along, high),
            ("turned round", against, high),
            ("relabelled", along, low),
            ("turned round and relabelled", against, low),
            ("made zero", filled(np.zeros((1, self._domain.columns)))[0], high),
            ("replaced", other, high),
        ]
        if not self._domain.closed:
            found += [
                ("made large and turned round", LARGE * against, high),
                ("made large and relabelled", LARGE * along, low),
            ]
        return found

    def _tilted(self, direction: Floats, *, near: bool) -> list[Floats]:
        """Two records, nearly opposite and both tilted along the direction, or nearly the same and tilted apart.

        Far against the direction both have large losses; the second ones with opposite labels, even where the same
        feature (an intercept) is added to both.
        """
        across = self._rng.standard_normal(self._domain.columns)
        across -= (across @ direction) * direction
        length = float(np.linalg.norm(across))
        if self._domain.columns < 2 or length == 0.0:
            return []
        rest = np.sqrt(1 - _APART**2) / length
        tilts = ((_APART, rest), (-_APART, rest)) if near else ((_APART, rest), (_APART, -rest))
        return [self._domain.filled((a * direction + b * across)[None])[0] for a, b in tilts]


def library(domain: Domain) -> list[Neighbours]:
    """The pairs at which unknown code tends to leak, the most telling first.

    Every record lies within the bound, unless the implementation bounds records itself: then some are far beyond it.
    """
    if domain.records < 2:
        raise VerificationError(f"needs at least 2 records, got records={domain.records}")
    if domain.relation is Relation.ZERO_OUT:
        raise VerificationError(
            "zero-out neighbours are those of a declared algorithm: a black box knows no empty record"
        )
    unit = domain.radius * np.eye(domain.columns)
    first, nothing = unit[0], 0.0 * unit[0]
    second = unit[1] if domain.columns > 1 else 0.5 * first
    others = domain.records - 1
    rows = np.arange(others)
    signs = np.where((rows // domain.columns) % 2 == 0, 1.0, -1.0)
    short: Floats = 0.1 * domain.radius * signs[:, None] * np.eye(domain.columns)[rows % domain.columns]
    turns = np.where(rows % 2 == 0, 1.0, -1.0)
    if others % 2:
        turns[-1] = 0.0  # so that the sum is 0
    ones, mixed = np.ones(others, dtype=np.int64), np.where(rows % 2 == 0, 1, -1).astype(np.int64)

    def pair(
        name: str, after: tuple[Floats, int], rest: Floats, labels: NDArray[np.int64], before: Floats = first
    ) -> Neighbours:
        data = Records(np.vstack([before[None], rest]), ends(np.concatenate([ones[:1], labels])))
        label = float(ends(np.array([after[1]]))[0])
        return changed(data, 0, None if domain.relation is Relation.ADD_OR_REMOVE else (after[0], label), name)

    def ends(signs: NDArray[np.int64]) -> NDArray[np.int64] | Floats:
        """Labels at the ends of their range."""
        return signs if domain.labels == (-1.0, 1.0) else np.where(signs > 0, domain.labels[1], domain.labels[0])

    spread = np.full(domain.columns, domain.radius / math.sqrt(domain.columns))
    far = LARGE * first
    found = [
        pair("outlier", (-first, 1), short, mixed),
        pair("label flip", (first, -1), short, mixed),
        pair("opposed", (-first, 1), np.tile(-first, (others, 1)), ones),
        pair("duplicated", (first, -1), np.tile(first, (others, 1)), ones),
        pair("cancelling", (-first, 1), turns[:, None] * first, ones),
        pair("sparse", (nothing, 1), np.tile(second, (others, 1)), mixed),
        pair("present or empty", (nothing, 1), np.zeros((others, domain.columns)), mixed),
        pair("diagonal", (-spread, 1), 0.1 * spread * mixed[:, None], mixed, before=spread),
        pair("aligned", (-first, 1), np.tile(first, (others, 1)), ones),
    ]
    if not domain.closed:
        found += [
            pair("long", (-far, 1), short, mixed, before=far),
            pair("long against many", (nothing, 1), np.tile(-first, (others, 1)), ones, before=far),
            pair("among long ones", (-far, 1), turns[:, None] * far, ones, before=far),
        ]
    return found


# -- what was released before, and which records are drawn ------------------------------------------------------------


class StartingPoint(enum.Enum):
    """What is taken as released before: how far along the changed record, if it is not random, and the words for it."""

    OWN = ("", 0.0)
    ZERO = ("zero", 0.0)
    FAR_ALONG = ("far along", FAR)
    FAR_AGAINST = ("far against", -FAR)
    ALONG = ("along", 1.0)
    AGAINST = ("against", -1.0)
    RANDOM = ("random", 1.0)
    FAR_RANDOM = ("far random", FAR)

    @property
    def words(self) -> str:
        """As a witness prints it; empty for what a run of its own releases."""
        return self.value[0]


ALWAYS = (StartingPoint.OWN, StartingPoint.ZERO, StartingPoint.FAR_ALONG, StartingPoint.FAR_AGAINST)
SOMETIMES = (StartingPoint.ALONG, StartingPoint.AGAINST, StartingPoint.RANDOM, StartingPoint.FAR_RANDOM)


def history(
    start: StartingPoint,
    own: Recorded,
    declaration: Declaration,
    direction: Floats,
    rng: np.random.Generator,
    *,
    first: bool = False,
) -> dict[str, Floats]:
    """What is taken as released: for every value with noise as many releases as declared; `first` as in `_aimed`."""
    found = {}
    for value in declaration.noised:
        released, count = own.values[value.name].released, declaration.releases(value)
        width = released.shape[1]
        if start is StartingPoint.OWN:
            array = np.zeros((count, width))
            array[: len(released)] = released[:count]
        elif start in (StartingPoint.RANDOM, StartingPoint.FAR_RANDOM):
            array = rng.standard_normal((count, width)) * start.value[1]
        else:
            array = np.tile(_aimed(direction, width, first=first) * start.value[1], (count, 1))
        found[value.name] = array.reshape(count, *own.values[value.name].shape)
    return found


def _aimed(direction: Floats, width: int, *, first: bool) -> Floats:
    """The direction for every class or party; what is beside the features, first or last (an intercept), is 0."""
    if width % len(direction) == 0 or width < len(direction):
        return np.resize(direction, width) if width else np.zeros(0)
    beside = np.zeros(width - len(direction))
    return np.concatenate([beside, direction] if first else [direction, beside])


def held_batches(
    sampling: DeclaredSampling, pair: Neighbours, steps: int, rng: np.random.Generator, *, inside: bool
) -> list[list[int]] | None:
    """Batches that all hold the changed record, or none of them; None where no records are drawn."""
    position = pair.position
    others = np.array([i for i in range(pair.count) if i != position])
    match sampling.kind:
        case Sampling.WITHOUT_REPLACEMENT | Sampling.FIXED_ORDER | Sampling.SHUFFLE:
            size = min(sampling.batch or 1, pair.count)
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
        case _:
            return None
    return [sorted([*batch, position]) for batch in drawn] if inside else drawn


def second_batches(batches: list[list[int]] | None, pair: Neighbours, sampling: Sampling) -> list[list[int]] | None:
    """The same batches for the second data set; of a fixed size, another record takes the place of a missing one."""
    if batches is None or not pair.removed:
        return batches
    if sampling is Sampling.POISSON:
        return [[i - (i > pair.position) for i in batch if i != pair.position] for batch in batches]
    return [_refilled(batch, pair) for batch in batches]


def _refilled(batch: list[int], pair: Neighbours) -> list[int]:
    taken = {i for i in batch if i != pair.position}
    free = [i for i in range(pair.count) if i not in taken and i != pair.position]
    spare = free[0] if free else next(i for i in range(pair.count) if i != pair.position)
    return sorted(j - (j > pair.position) for j in (spare if i == pair.position else i for i in batch))
