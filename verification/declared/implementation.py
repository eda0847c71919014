"""A declared algorithm behind its adapter, at the claimed parameters and size, and its runs from the inside."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from verification.declared.price import Pricing
from verification.reading.context import NotApplicable, Undecided
from verification.wire.arrays import Floats
from verification.wire.declaration import Declaration
from verification.wire.faults import AdapterSkipped
from verification.wire.records import Records
from verification.wire.session import DeclaredAlgorithm, Recorded, Session, Values
from verification.wire.tape import NotOnTapeError

T = TypeVar("T")


class OutOfTimeError(Undecided):
    """The time for a question is over; what it found so far does not conclude it."""


@dataclass(frozen=True, eq=False)
class DeclaredImplementation:
    """One adapter, what it declares, and the claim; every request is made before the deadline.

    Where the answers come from a tape and the requests of then break off, the time was over. `effort` is a factor on
    the number of pairs and of noise values.
    """

    session: Session
    algorithm: DeclaredAlgorithm
    declaration: Declaration
    records: int
    columns: int
    claim: tuple[Fraction | float, Fraction]
    rng: np.random.Generator
    deadline: float
    effort: float = 1.0

    @property
    def pricing(self) -> Pricing:
        """What the declaration costs, beside the claimed epsilon and delta."""
        return Pricing(self.declaration, self.records, *self.claim)

    def send(self, records: Records) -> str:
        """Send records; return their name."""
        return self._asked(lambda: self.session.send(records))

    def record(
        self,
        data: str,
        *,
        seed: int | None = None,
        outputs: Mapping[str, Floats] | None = None,
        batches: Sequence[Sequence[int]] | None = None,
    ) -> Recorded:
        """One run from the inside."""
        self._in_time()
        asked = (data, self.algorithm, self.declaration)
        return self._asked(lambda: self.session.record(*asked, seed=seed, outputs=outputs, batches=batches))

    def trials(self, data: str, count: int, *, seed: int | None = None) -> list[Values]:
        """Runs as in production."""
        self._in_time()
        asked = (data, self.algorithm, self.declaration, count)
        return self._asked(lambda: self.session.declared_trials(*asked, seed=seed))

    def seed(self) -> int:
        """A fresh seed for the adapter."""
        return int(self.rng.integers(1 << 53))

    def _in_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise OutOfTimeError("there was no time left")

    def _asked(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except NotOnTapeError:
            raise OutOfTimeError("there was no time left") from None
        except AdapterSkipped as skipped:
            raise NotApplicable(f"not offered: {skipped.reason}") from None
