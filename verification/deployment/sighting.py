"""What a look at a run showed: how likely it is for an honest implementation, and whether it costs privacy."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from verification.picture import Draw
from verification.wire.arrays import Floats


class Aspect(enum.StrEnum):
    """What a privacy claim rests on."""

    NOISE = "noise"
    BATCHES = "batches"
    CLIPPING = "clipping"
    RELEASED = "released values"
    UPDATES = "updates"


class Cost(enum.Enum):
    """What it costs if it is not by chance."""

    PRIVACY = "less private than claimed"
    NOTHING = "different, not less private"


@dataclass(frozen=True, slots=True)
class Sighting:
    """One test: ``p_value`` bounds the probability of as much or more from an honest implementation.

    ``cause`` groups what one mistake makes visible in several places; a deterministic one uses no false alarms.
    """

    name: str
    aspect: Aspect
    p_value: float
    detail: str
    cost: Cost = Cost.PRIVACY
    cause: str = ""
    deterministic: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """Everything one scene showed: its tests, what it covered, the arrays that it rests on, and how to draw them."""

    scene: str
    size: str
    runs: int
    sightings: tuple[Sighting, ...]
    covers: tuple[Aspect, ...]
    evidence: dict[str, Floats] = field(default_factory=dict)
    missing: str = ""
    pictures: dict[Aspect, Draw] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class TailFamily:
    """Tails that belong together, and what each is about."""

    name: str
    tails: Floats
    label: Callable[[int], str] = lambda _: ""


def union(families: list[TailFamily]) -> tuple[float, str]:
    """The probability that the least of several families of tails is this small, each family as a whole alike.

    Bonferroni inside a family and over the families; a tail that is not a number counts as 0.
    """
    best, where = 1.0, ""
    used = [family for family in families if family.tails.size]
    for family in used:
        flat = np.nan_to_num(np.ravel(family.tails), nan=0.0)
        least = int(np.argmin(flat))
        value = min(1.0, float(flat[least]) * flat.size * len(used))
        if value < best or not where:
            best, where = min(best, value), f"{family.name} {family.label(least)}".strip()
    return best, where
