"""What was asked and answered, kept, so that a conclusion can be drawn again from the very answers.

A request is kept as a digest, without its number, the random names of data, and the last bits of its numbers: whoever
draws the conclusion again makes the same requests from the same seed, and is told if they are others. Another processor
rounds the data that it makes a little differently. Answers are kept whole, with the seconds that each took.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from verification.wire import Face
from verification.wire.arrays import PackedArray, WireModel, unpack
from verification.wire.faults import AdapterFault, Fault, ProtocolStep
from verification.wire.messages import StartResult
from verification.wire.session import Session

_ID = re.compile(rb'"id"\s*:\s*\d+')
_NAME = re.compile(r"^D[0-9a-f]{12}$")
_BITS = 20
"""Requests are the same whose numbers agree to so many bits of the largest number beside them."""
Json: TypeAlias = "str | float | list[Json] | dict[str, Json] | None"


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
        fields: dict[str, Json] = request.model_dump(by_alias=True, exclude_none=True, exclude={"id"})
        for key in ("name", "data"):
            value = fields.get(key)
            if isinstance(value, str) and _NAME.match(value):
                fields[key] = self.names.setdefault(value, f"data {len(self.names)}")
        text = json.dumps(_without_last_bits(fields), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def _without_last_bits(value: Json) -> Json:
    """The same with all binary64 numbers rounded; whole numbers, such as the records of a batch, stay as they are."""
    if isinstance(value, dict):
        if set(value) == set(PackedArray.model_fields):
            return _rounded(unpack(PackedArray.model_validate(value), "numbers"))
        return {key: _without_last_bits(each) for key, each in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(each, float) for each in value):
            return _rounded(np.array(value, dtype=np.float64))
        return [_without_last_bits(each) for each in value]
    return _rounded(value) if isinstance(value, float) else value


def _rounded(numbers: ArrayLike) -> Json:
    """Whole multiples of 2^-20 of a power of two just above the largest finite one; what is not finite stays so."""
    array = np.asarray(numbers, dtype=np.float64)
    finite = array[np.isfinite(array)]
    _, exponent = np.frexp(np.abs(finite).max(initial=0.0) * (1 + 2.0**-30))  # 1 and the number below it alike
    with np.errstate(over="ignore"):
        multiples: Json = (np.rint(np.ldexp(array, _BITS - exponent)) + 0.0).tolist()
    return [int(exponent), multiples]


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
