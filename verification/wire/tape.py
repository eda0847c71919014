"""What was asked and answered, kept, so that a conclusion can be drawn again from the very answers.

A request is kept as a digest, without its number and the random names of data: whoever draws the conclusion again makes
the same requests from the same seed, and is told if they are others. Answers are kept whole, with the seconds that each
took.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from verification.wire import Face
from verification.wire.arrays import WireModel
from verification.wire.faults import AdapterFault, Fault, ProtocolStep
from verification.wire.messages import StartResult
from verification.wire.session import Session

_ID = re.compile(rb'"id"\s*:\s*\d+')
_NAME = re.compile(r"^D[0-9a-f]{12}$")


class NotOnTapeError(AdapterFault):
    """A request that was not made then."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer."""

    request: str
    answer: bytes
    seconds: float


@dataclass(slots=True)
class Tape:
    """The exchanges of one conversation, from some moment on."""

    exchanges: list[Exchange] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def add(self, request: WireModel, answer: bytes, seconds: float) -> None:
        """Keep one."""
        self.exchanges.append(Exchange(self.digest(request), answer, seconds))

    def digest(self, request: WireModel) -> str:
        """Of the request without its number, data named in the order in which they came."""
        fields = request.model_dump(by_alias=True, exclude_none=True, exclude={"id"})
        for key in ("name", "data"):
            value = fields.get(key)
            if isinstance(value, str) and _NAME.match(value):
                fields[key] = self.names.setdefault(value, f"data {len(self.names)}")
        text = json.dumps(fields, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


class PlayedSession(Session):
    """A session with a tape: every request must be the one that was made then."""

    def __init__(self, description: StartResult, tape: Tape, face: Face = Face.PAPER) -> None:
        self._prepare(face)
        self.description = description
        self._left: Iterator[Exchange] = iter(tape.exchanges)
        self._kept: Exchange | None = None
        self._own = Tape()
        self._last_id = 1

    def exchange(self, request: WireModel, step: ProtocolStep, limit: int | None) -> bytes:  # noqa: ARG002 - the interface
        """The kept answer, under the present number; one that belongs to another request is kept for it."""
        kept = self._kept or next(self._left, None)
        if kept is None or kept.request != self._own.digest(request):
            self._kept = kept
            raise NotOnTapeError(Fault.UNDECLARED, step, "the evidence holds no answer to this request")
        self._kept = None
        self.last_seconds = kept.seconds
        number = b'"id":%d' % self._last_id
        return _ID.sub(lambda _: number, kept.answer[:200], count=1) + kept.answer[200:]

    def stop(self) -> None:
        """Nothing was started."""
