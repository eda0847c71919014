"""Where runs come from: adapter processes, as many as there are workers."""

from __future__ import annotations

import queue
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol

import numpy as np
from pydantic import JsonValue

from audits.errors import AuditError
from verification.neighbours.neighbours import Neighbours
from verification.wire.faces import Face
from verification.wire.process import Limits
from verification.wire.session import HiddenPair, Session, Values


class PairSource(Protocol):
    """Runs of both neighbours, fresh ones at every call; may be called by ``workers`` threads at once."""

    @property
    def workers(self) -> int:
        """How many calls may be under way."""
        ...

    def runs(self, pair: Neighbours, count: int, rng: np.random.Generator) -> tuple[Values, Values]:
        """Return ``count`` runs of each neighbour."""
        ...


class WireSource:
    """Adapter processes behind the wire; a context manager that stops them all."""

    def __init__(
        self,
        command: Sequence[str],
        limits: Limits,
        *,
        workers: int,
        request: Mapping[str, JsonValue] | None = None,
        seeded: bool = False,
    ) -> None:
        if workers < 1:
            raise AuditError(f"workers must be at least 1, got workers={workers!r}")
        self.workers = workers
        self._seeded = seeded
        self._idle: queue.Queue[Session] = queue.Queue()
        self._sessions: list[Session] = []
        try:
            for _ in range(workers):
                self._sessions.append(Session(command, limits, Face.BLACK_BOX, members=request))
                self._idle.put(self._sessions[-1])
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise

    @property
    def name(self) -> str:
        """What the adapter calls itself."""
        return self._sessions[0].description.name

    def runs(self, pair: Neighbours, count: int, rng: np.random.Generator) -> tuple[Values, Values]:
        """Return ``count`` runs of each neighbour; nothing says which is which."""
        session = self._idle.get()
        try:
            return HiddenPair(session, pair.first, pair.second, rng).black_box_trials(count, seeded=self._seeded)
        finally:
            self._idle.put(session)

    def __enter__(self) -> WireSource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failed: BaseException | None = None
        for session in self._sessions:
            try:
                session.__exit__(kind, error, trace)
            except BaseException as fault:  # every process must be ended before the first fault is told
                failed = failed or fault
        if failed is not None and kind is None:
            raise failed
