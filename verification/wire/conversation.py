"""A conversation with one adapter: requests out, answers in, each answer parsed and matched to its request.

What kinds of questions there are is for its subclasses to say (`session`, `declared_session`, `black_box`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from pydantic import ValidationError

from verification.wire import messages as m
from verification.wire.arrays import WireModel
from verification.wire.faults import (
    AdapterFault,
    AdapterRefusal,
    AdapterSkipped,
    Fault,
    ProtocolStep,
    RefusedRequest,
)
from verification.wire.process import AdapterProcess, Limits

ResultT = TypeVar("ResultT", bound=WireModel)
StartT = TypeVar("StartT", bound=m.AdapterName)
DescribedT = TypeVar("DescribedT", bound=m.AdapterDescription)
SMALL_ANSWER = 1 << 16
"""The largest answer, in bytes, that holds no arrays."""


class Recording(Protocol):
    """What keeps requests and answers."""

    def add(self, request: WireModel, answer: bytes, seconds: float) -> None:
        """Keep one."""


class Conversation(Generic[StartT]):
    """One adapter process; a context manager that leaves no process behind.

    On a clean exit `stop` is asked and its answer and exit status are checked; after an exception the process is
    killed at once.
    """

    description: StartT

    def __init__(self, command: Sequence[str], limits: Limits | None = None) -> None:
        self._prepare()
        self._process = AdapterProcess(command, limits)

    def _prepare(self) -> None:
        self._last_id = 0
        self._shapes: dict[str, tuple[int, int]] = {}
        self.tape: Recording | None = None
        self.last_seconds = 0.0  # of the last answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.stop()
        finally:
            self._process.__exit__(None, None, None)

    def _describe(self, kind: type[m.Answer[StartT]]) -> StartT:
        """Ask for the description of the adapter; its process does not outlive a fault in it."""
        try:
            return self._described(kind)
        except BaseException:
            self._process.__exit__(None, None, None)
            raise

    def _described(self, kind: type[m.Answer[StartT]]) -> StartT:
        description = self._ask(m.StartRequest(id=self._next_id()), kind, ProtocolStep.START, SMALL_ANSWER)
        if description.protocol != m.PROTOCOL:
            raise self.fault(Fault.WRONG_PROTOCOL, ProtocolStep.START, f"it speaks protocol {description.protocol}")
        return description

    def stop(self) -> None:
        """Ask it to stop, and check that it ends cleanly and leaves no process."""
        self._ask(m.StopRequest(id=self._next_id()), m.Answer[m.StopResult], ProtocolStep.STOP, SMALL_ANSWER)
        self._process.finish()

    def kill(self) -> None:
        """End the process at once; safe to call twice, and from another thread than the one that asks."""
        self._process.kill()

    def fault(self, fault: Fault, step: ProtocolStep, detail: str) -> AdapterFault:
        """Return the fault with the adapter's last words, for the caller to raise."""
        return AdapterFault(fault, step, detail, self._process.last_words())

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def exchange(self, request: WireModel, step: ProtocolStep, limit: int | None) -> bytes:
        """Send one request and return the line that answers it; kept on the tape, if there is one."""
        began = time.monotonic()
        line = self._process.ask(m.line_of(request), step, limit)
        self.last_seconds = time.monotonic() - began
        if self.tape is not None:
            self.tape.add(request, line, self.last_seconds)
        return line

    def _ask(
        self,
        request: WireModel,
        kind: type[m.Answer[ResultT]],
        step: ProtocolStep,
        limit: int | None,
        *,
        may_refuse: bool = False,
    ) -> ResultT:
        line = self.exchange(request, step, limit)
        answer = self._parse(line, kind, step)
        if answer.id != self._last_id:
            again = 0 < answer.id < self._last_id
            fault = Fault.ANSWERED_TWICE if again else Fault.WRONG_ID
            raise self.fault(fault, step, f"expected an answer to request {self._last_id}, got one to {answer.id}")
        if answer.result is not None:
            return answer.result
        if answer.skipped is not None:
            raise AdapterSkipped(answer.skipped.reason)
        refusal = answer.error
        if refusal is None:
            raise AssertionError("a validated answer holds exactly one part")
        if may_refuse:
            raise AdapterRefusal(refusal.kind, refusal.message)
        detail = f"it answered error {refusal.kind}: {refusal.message}"
        if refusal.kind == "internal":
            raise self.fault(Fault.REFUSED, step, detail)
        raise RefusedRequest(Fault.REFUSED, step, detail)

    def _parse(self, line: bytes, kind: type[m.Answer[ResultT]], step: ProtocolStep) -> m.Answer[ResultT]:
        try:
            return kind.model_validate_json(line)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_context=False)
            kinds = {problem["type"] for problem in problems}
            shown = line[:200].decode("utf-8", "replace")
            if "json_invalid" in kinds:
                raise self.fault(Fault.NOT_JSON, step, f"stdout held {shown!r}") from None
            fault = Fault.NOT_FINITE if "finite_number" in kinds else Fault.BAD_ANSWER
            first = "; ".join(f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in problems[:3])
            raise self.fault(fault, step, f"{first} (the answer began {shown!r})") from None


class DescribedConversation(Conversation[DescribedT]):
    """With an adapter that says what it can do."""

    def can(self, *capabilities: m.Capability) -> bool:
        """Whether the adapter declared all of these."""
        return set(capabilities) <= set(self.description.capabilities)
