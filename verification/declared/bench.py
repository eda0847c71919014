"""Runs of the adapter that also show the values before the noise, within a time limit."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from verification.wire.arrays import Floats
from verification.wire.declaration import Declaration
from verification.wire.declared_session import DeclaredQuestion, DeclaredSession, LabelledPoints, Recorded
from verification.wire.tape import NotOnTapeError


class OutOfTimeError(Exception):
    """The time for a check is over; what it found so far does not conclude it."""


@dataclass(frozen=True, eq=False)
class Bench:
    """A declared algorithm at the claimed parameters and size."""

    session: DeclaredSession
    question: DeclaredQuestion
    declaration: Declaration
    records: int
    columns: int
    rng: np.random.Generator
    deadline: float
    effort: float = 1.0  # factor on the number of pairs and of noise values

    def send(self, points: LabelledPoints) -> str:
        """Send records; return their name."""
        return self.session.send(points)

    def record(
        self,
        data: str,
        *,
        seed: int | None = None,
        outputs: Mapping[str, Floats] | None = None,
        batches: Sequence[Sequence[int]] | None = None,
    ) -> Recorded:
        """One run from the inside."""
        if time.monotonic() > self.deadline:
            raise OutOfTimeError
        return self.session.record(data, self.question, self.declaration, seed=seed, outputs=outputs, batches=batches)

    def trials(self, data: str, count: int, *, seed: int | None = None) -> list[dict[str, Floats]]:
        """Runs as in production."""
        if time.monotonic() > self.deadline:
            raise OutOfTimeError
        return self.session.trials(data, self.question, self.declaration, count, seed=seed)

    def seed(self) -> int:
        """A fresh seed for the adapter."""
        return int(self.rng.integers(1 << 53))


class ReplayedBench(Bench):
    """A bench whose session plays a tape: where the requests of then broke off, the time was over."""

    def send(self, points: LabelledPoints) -> str:
        """Send records; return their name."""
        try:
            return super().send(points)
        except NotOnTapeError:
            raise OutOfTimeError from None

    def record(
        self,
        data: str,
        *,
        seed: int | None = None,
        outputs: Mapping[str, Floats] | None = None,
        batches: Sequence[Sequence[int]] | None = None,
    ) -> Recorded:
        """One run from the inside."""
        try:
            return super().record(data, seed=seed, outputs=outputs, batches=batches)
        except NotOnTapeError:
            raise OutOfTimeError from None

    def trials(self, data: str, count: int, *, seed: int | None = None) -> list[dict[str, Floats]]:
        """Runs as in production."""
        try:
            return super().trials(data, count, seed=seed)
        except NotOnTapeError:
            raise OutOfTimeError from None
