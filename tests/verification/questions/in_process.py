"""A session with an implementation in this process: no adapter is started."""

from __future__ import annotations

from types import TracebackType

from verification.served.serve import Implementation, Server
from verification.wire import Face
from verification.wire import messages as m
from verification.wire.arrays import WireModel
from verification.wire.faults import AdapterFault, Fault, ProtocolStep
from verification.wire.session import Session


class InProcess(Session):
    """Asks the server directly."""

    def __init__(self, implementation: Implementation) -> None:
        self._prepare(Face.PAPER)
        self._server = Server(implementation)
        self.description = implementation.describe()

    def exchange(self, request: WireModel, step: ProtocolStep, limit: int | None) -> bytes:
        """The server's line."""
        self.last_seconds = 1e-3
        return self._server.answer(m.line_of(request)).rstrip()

    def fault(self, fault: Fault, step: ProtocolStep, detail: str) -> AdapterFault:
        """The fault, without a process whose last words could be told."""
        return AdapterFault(fault, step, detail, "")

    def stop(self) -> None:
        """Nothing was started."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was started."""
