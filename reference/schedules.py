"""Step sizes: eta^k for the update from iterate k to k + 1, k = 0, 1, ..."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from reference.errors import InvalidParameter, require_count, require_positive


class Schedule(Protocol):
    """A public sequence of positive step sizes."""

    def step(self, k: int) -> float:
        """eta^k."""


@dataclass(frozen=True, slots=True)
class Constant:
    """eta^k = eta: the paper's choice for mpADMM."""

    eta: float

    def __post_init__(self) -> None:
        require_positive("eta", self.eta)

    def step(self, k: int) -> float:  # noqa: ARG002 - the same at every k
        """Eta."""
        return self.eta


@dataclass(frozen=True, slots=True)
class PerEpoch:
    """eta^k = eta0/h, h = 1, 2, ... the expected epoch of n/m iterations: the paper's choice for ssADMM."""

    eta0: float
    records: int
    batch: int

    def __post_init__(self) -> None:
        require_positive("eta", self.eta0)
        require_count("records", self.records)
        require_count("batch", self.batch, at_most=self.records)

    def step(self, k: int) -> float:
        """eta0/(1 + floor(k m/n)): in integers, so no epoch starts late by rounding."""
        return self.eta0 / (1 + k * self.batch // self.records)


@dataclass(frozen=True, slots=True)
class InverseSquareRoot:
    """eta^k = c/sqrt(k + 1). *Deviates:* the paper's 1/sqrt(k) is infinite at k = 0 (E13)."""

    c: float

    def __post_init__(self) -> None:
        require_positive("eta", self.c)

    def step(self, k: int) -> float:
        """c/sqrt(k + 1)."""
        return self.c / math.sqrt(k + 1)


@dataclass(frozen=True, slots=True)
class Listed:
    """The step sizes themselves, one per iteration, as the wire carries them."""

    etas: tuple[float, ...]

    def __post_init__(self) -> None:
        for eta in self.etas:
            require_positive("eta", eta)

    def step(self, k: int) -> float:
        """The k-th of the list."""
        if k >= len(self.etas):
            raise InvalidParameter(f"eta lists {len(self.etas)} step sizes, iteration {k} needs another")
        return self.etas[k]


def steps(schedule: Schedule, iterations: int) -> Iterator[float]:
    """eta^0, ..., eta^{T-1}."""
    require_count("iterations", iterations)
    return (schedule.step(k) for k in range(iterations))
