"""What a test of a run is: how likely honest code shows as much, what is wrong otherwise, what it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verification.outcome import Aspect, Cause, Cost, Draw, Power
from verification.wire.arrays import Floats

__all__ = ["Aspect", "Cause", "Cost", "TailFamily", "Test", "union"]


@dataclass(frozen=True, slots=True)
class Test:
    """One test: ``p_value`` bounds the probability of as much or more from an honest implementation.

    A deterministic one uses no false alarms: its ``p_value`` is 0 or 1. ``draw`` makes the picture of what was seen,
    ``price`` the sentence that says what it costs, each only if it is needed; ``witness`` is the data that shows it.
    ``power`` is what it would have detected; ``weakness`` says why that is too little: then nothing stands by it.
    """

    __test__: ClassVar[bool] = False  # not one of pytest's

    name: str
    aspect: Aspect
    p_value: float
    detail: str
    cause: Cause
    cost: Cost = Cost.PRIVACY
    deterministic: bool = False
    draw: Draw | None = None
    price: Callable[[], str] | None = None
    witness: str = ""
    power: Power | None = None
    weakness: str = ""

    @classmethod
    def exact(  # noqa: PLR0917 - in the order of the fields
        cls,
        name: str,
        aspect: Aspect,
        holds: bool,
        detail: str,
        cause: Cause,
        cost: Cost = Cost.PRIVACY,
        *,
        price: Callable[[], str] | None = None,
        witness: str = "",
    ) -> Test:
        """A comparison without chance: it holds, or it does not."""
        p_value = 1.0 if holds else 0.0
        return cls(name, aspect, p_value, detail, cause, cost, deterministic=True, price=price, witness=witness)

    def rejects(self, level: float) -> bool:
        """Whether it refutes at this level; a probability that is not a number is no pass."""
        return not self.p_value > (0.0 if self.deterministic else level)


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
