"""Noise does not depend on the kind of data: short runs on many kinds of them.

In each kind some columns are 0 in all records. What a run shows there is noise alone, whatever the batch was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from verification.conformance.check import NotApplicable
from verification.conformance.context import Context
from verification.deployment.asking import FEWER_OF_ITS_OWN, Asked, Clock, require_private, run_without_seed
from verification.deployment.claimed import FEWER_VALUES, Claimed
from verification.deployment.rare import Census
from verification.deployment.reading import read_noise
from verification.deployment.sighting import Aspect, Look, Sighting, TailFamily, union
from verification.wire.arrays import Floats
from verification.wire.faults import RefusedRequest
from verification.wire.records import Records

_RECORDS, _VALUES, _FEWEST_RUNS, _ITERATIONS = 1000, 2000, 8, 3
Draw = Callable[[np.random.Generator, int, int, float], Floats]


def _dense(rng: np.random.Generator, count: int, columns: int, bound: float) -> Floats:
    return rng.standard_normal((count, columns)) * bound


def _one_hot(rng: np.random.Generator, count: int, columns: int, bound: float) -> Floats:
    return bound * np.eye(columns)[rng.integers(columns, size=count)]


def _few_distinct(rng: np.random.Generator, count: int, columns: int, bound: float) -> Floats:
    return _dense(rng, 5, columns, bound)[rng.integers(5, size=count)]


def _sparse(rng: np.random.Generator, count: int, columns: int, bound: float) -> Floats:
    return _dense(rng, count, columns, bound) * (rng.random((count, columns)) < 0.05)


def _some_empty(rng: np.random.Generator, count: int, columns: int, bound: float) -> Floats:
    return _dense(rng, count, columns, bound) * (np.arange(count) % 2)[:, None]


def _at_the_bound(rng: np.random.Generator, count: int, columns: int, bound: float) -> Floats:
    features = _dense(rng, count, columns, bound)
    lengths = 2 * bound * np.where(np.arange(count) % 2, 1.0, 1.0 + 1e-9)
    scaled: Floats = features / np.linalg.norm(features, axis=1, keepdims=True) * lengths[:, None]
    return scaled


FEATURES: dict[str, Draw] = {
    "labels all +1": _dense,
    "labels all -1": _dense,
    "labels in order": _dense,
    "one label rare": _dense,
    "rows in order": lambda rng, count, columns, bound: np.sort(_dense(rng, count, columns, bound), axis=0),
    "few distinct rows": _few_distinct,
    "features not negative": lambda rng, count, columns, bound: np.abs(_dense(rng, count, columns, bound)),
    "features between 0 and 1": lambda rng, count, columns, _: rng.random((count, columns)),
    "tiny features": lambda rng, count, columns, _: 1e-6 * rng.standard_normal((count, columns)),
    "whole numbers, unscaled": lambda rng, count, columns, _: np.rint(1e5 * rng.random((count, columns)) ** 8),
    "one-hot categories": _one_hot,
    "sparse rows": _sparse,
    "rows without features among others": _some_empty,
    "rows at the bound": _at_the_bound,
    "a constant column": lambda rng, count, columns, bound: np.column_stack(
        [np.full(count, bound), _dense(rng, count, columns, bound)[:, 1:]]
    ),
}


def labels_of(kind: str, rng: np.random.Generator, count: int) -> Floats:
    """Labels, as the kind says; both signs at random otherwise."""
    plain = np.where(rng.random(count) < 0.5, -1.0, 1.0)
    special_kinds = {
        "labels all +1": np.ones(count),
        "labels all -1": -np.ones(count),
        "labels in order": np.sort(plain),
        "one label rare": np.where(np.arange(count) == count // 3, 1.0, -1.0),
    }
    return special_kinds.get(kind, plain)


def records_of(kind: str, rng: np.random.Generator, count: int, columns: int, bound: float) -> tuple[Records, Floats]:
    """Records of a kind, and the columns that are 0 in all of them, as a basis [p, r]."""
    hidden = max(1, columns // 4)
    order = rng.permutation(columns)
    features = np.zeros((count, columns))
    features[:, order[hidden:]] = FEATURES[kind](rng, count, columns - hidden, bound)
    return Records(features, labels_of(kind, rng, count).astype(np.int64)), np.eye(columns)[:, order[:hidden]]


def kinds(context: Context, claimed: Claimed, clock: Clock) -> Asked:
    """The size of the noise on every kind of data."""
    require_private(claimed)
    if claimed.columns == 1:
        raise NotApplicable("one column: none is 0 in all records")
    iterations = _ITERATIONS if context.sees_every_iterate else 1
    sizes = _Sizes([smaller(claimed, _RECORDS).shortened(iterations), claimed.fitting(FEWER_VALUES)])
    spent, census, families, refused = 0.0, list[Census](), list[TailFamily](), list[str]()
    for kind in FEATURES:
        if census and spent > clock.seconds:
            break
        seen = sizes.ask(context, kind)
        spent += context.session.last_seconds
        if seen is None:
            refused.append(kind)
            continue
        census.append(Census.of(seen))
        families += [_size(kind, name, array) for name, array in seen.items()]
    if not census:
        raise NotApplicable("every kind of data is refused")
    p_value, at = union(families)
    found = Sighting("noise on kinds of data", Aspect.NOISE, p_value, f"least likely: {at}", cause="noise too small")
    late = len(FEATURES) - len(census) - len(refused)
    left = f", {late} kinds for want of time not" if late else ""
    left += f", refused: {', '.join(refused)}" if refused else ""
    joined = Census.joined(census)
    title = f"{len(census)} kinds of data{left}"
    return Asked(Look(title, sizes.now.size, joined.runs, (found,), (Aspect.NOISE,)), joined)


@dataclass(slots=True)
class _Sizes:
    """The smallest size that is not refused; larger ones are tried where it is."""

    left: list[Claimed]

    @property
    def now(self) -> Claimed:
        return self.left[0]

    def ask(self, context: Context, kind: str) -> dict[str, Floats] | None:
        """The noise of a few runs on a kind of data; None where it is refused at every size."""
        for number, size in enumerate(self.left):
            records, outside = records_of(kind, context.rng, size.records, size.columns, size.parameters.bound)
            values = size.parameters.iterations * max(1, size.columns // 4)
            try:
                name = context.session.send(records)
                wanted = _VALUES // FEWER_OF_ITS_OWN if context.own else _VALUES
                run = run_without_seed(context, name, size, max(_FEWEST_RUNS, -(-wanted // values)))
            except RefusedRequest:
                continue
            self.left = self.left[number:]
            return read_noise(context, name, size, records, run, outside=outside)
        return None


def _size(kind: str, name: str, noise: Floats) -> TailFamily:
    total = float(np.sum(noise**2))
    label = f"(noise of {name}: {np.sqrt(total / noise.size):.4g} of the claimed size)"
    return TailFamily(kind, np.array([special.chdtr(noise.size, total)]), lambda _: label)


def smaller(claimed: Claimed, records: int) -> Claimed:
    """At most so many records, the claimed noise; batches of an eighth of them at most."""
    count = min(claimed.records, max(records, claimed.parameters.parties or 1))
    small = dataclasses.replace(claimed, records=count)
    batch = claimed.parameters.batch
    return small if batch is None else small.with_parameters(batch=min(batch, max(1, count // 8)))
