"""A declared algorithm behind its adapter, at the claimed parameters and size, and its runs from the inside.

How exactly their numbers are known is measured (`unit`), and every comparison allows for so many roundings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from accountant.notions import Promise
from verification.declared.price import Pricing
from verification.neighbours.families import Domain, Families
from verification.neighbours.neighbours import Neighbours
from verification.reading.context import NotApplicable, Undecided
from verification.wire.arrays import Floats
from verification.wire.declaration import Declaration, DeclaredValue
from verification.wire.faults import AdapterSkipped
from verification.wire.records import Records
from verification.wire.session import DeclaredAlgorithm, Recorded, RecordedValue, Session, Values, rows
from verification.wire.tape import NotOnTapeError

T = TypeVar("T")
ROUNDINGS = 1000.0
"""So many roundings of the largest number may lie between a value and its exact one."""
COARSEST = 2.0**-18
"""What is given as released and met less exactly than this is not rounded, but changed."""
_SHORT = 12  # binary digits of a number that says nothing about the precision


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
    promises: tuple[Promise, ...] = ()

    @property
    def pricing(self) -> Pricing:
        """What the declaration costs, beside the claimed epsilon and delta."""
        return Pricing(self.declaration, self.records, *self.claim)

    @property
    def domain(self) -> Domain:
        """The records that may be sent."""
        return Domain.of(self.declaration, self.records, self.columns)

    @property
    def families(self) -> Families:
        """The families of neighbours in the domain."""
        return Families(self.domain, self.rng)

    def send(self, records: Records) -> str:
        """Send records; return their name."""
        return self._asked(lambda: self.session.send(records))

    def send_both(self, pair: Neighbours) -> tuple[str, str]:
        """Send both data sets of a pair; return their names."""
        return self.send(pair.first), self.send(pair.second)

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


# -- how exactly numbers are known ----------------------------------------------------------------------------------


def unit(given: Mapping[str, Floats], *runs: Recorded) -> float:
    """The rounding of the implementation, relative to a number.

    Single precision where all numbers of a value are of it (and not all are short, as whole numbers are); and what is
    given as released shows it: as exactly as it is met.
    """
    found = 2.0**-53
    for run in runs:
        for name, value in run.values.items():
            if any(_single(array) for array in (value.before, value.released)):
                found = max(found, 2.0**-24)
            if name in given:
                wanted, size = rows(given[name]), np.abs(given[name]).max(initial=0.0)
                if wanted.shape == value.released.shape and size:
                    met = float(np.abs(value.released - wanted).max(initial=0.0) / size)
                    found = max(found, met if met <= COARSEST else 0.0)
    return found


def _single(array: Floats) -> bool:
    """Whether all numbers are of single precision, and some have more digits than a short one."""
    with np.errstate(over="ignore"):
        if not (array.size and array.any() and np.array_equal(array, array.astype(np.float32))):
            return False
    mantissa = np.frexp(array)[0] * 2.0**_SHORT
    return bool(np.any((mantissa != np.rint(mantissa)) & (array != np.rint(array))))


def same_start(value: DeclaredValue, runs: Sequence[Recorded]) -> bool:
    """Whether the first release of a value has the same value before its noise in all runs, but for rounding.

    A value that is read as released minus noise is known to the rounding of the larger of both.
    """
    firsts = [run.values[value.name].before[:1] for run in runs]
    if len({first.shape for first in firsts}) > 1 or not firsts[0].size:
        return len({first.shape for first in firsts}) == 1
    close = ROUNDINGS * unit({}, *runs) * max(largest(run.values[value.name]) for run in runs)
    return all(np.allclose(firsts[0], other, rtol=0.0, atol=close) for other in firsts)


def largest(shown: RecordedValue) -> float:
    """The largest number before the noise, of the noise, and after it."""
    return float(max(np.abs(part).max(initial=0.0) for part in (shown.before, shown.noise, shown.released)))
