"""A conversation in which nothing is declared: records in, whatever is released out.

`start` must answer `protocol` and `name`; everything else in it is ignored. `trials` carries the data set, the count, a
seed if one is wanted, and whatever members the caller adds (an algorithm and parameters for an adapter of protocol 1,
or anything that the adapter understands). Its answer is any set of named arrays whose first axis is the trial.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TypeAlias, TypeVar

import numpy as np
from pydantic import BaseModel, JsonValue, RootModel, ValidationError

from verification.wire import messages as m
from verification.wire.arrays import ArrayError, Floats, WireArray, WireModel, pack, unpack
from verification.wire.faults import AdapterFault, AdapterRefusal, AdapterSkipped, Fault, ProtocolStep
from verification.wire.process import AdapterProcess, Limits
from verification.wire.records import Records

Values: TypeAlias = dict[str, Floats]
_SMALL_ANSWER = 1 << 16
_OWN = ("id", "request", "data", "count", "seed")


class OpaqueStart(WireModel, extra="ignore"):
    """All that is asked of an adapter before it is run."""

    protocol: int
    name: m.Text


class OpaqueData(WireModel, extra="ignore"):
    """How many records were understood; may be left out."""

    records: int | None = None


class OpaqueRun(RootModel[dict[str, WireArray | dict[str, WireArray]]]):
    """Named arrays, beside each other or under `released`."""


ModelT = TypeVar("ModelT", bound=BaseModel)


class BlackBoxSession:
    """One adapter process; a context manager that leaves no process behind."""

    def __init__(
        self, command: Sequence[str], limits: Limits | None = None, request: Mapping[str, JsonValue] | None = None
    ) -> None:
        self._extra = dict(request or {})
        clash = sorted(set(self._extra) & set(_OWN))
        if clash:
            raise ValueError(f"these members of a request are set by the audit: {', '.join(clash)}")
        self._last_id = 0
        self._process = AdapterProcess(command, limits)
        try:
            self.name = self._start()
        except BaseException:
            self._process.__exit__(None, None, None)
            raise

    def __enter__(self) -> BlackBoxSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._ask({"request": "stop"}, ProtocolStep.STOP, _SMALL_ANSWER)
                self._process.finish()
        finally:
            self._process.__exit__(None, None, None)

    def _start(self) -> str:
        result = self._ask({"request": "start", "protocol": m.PROTOCOL}, ProtocolStep.START, _SMALL_ANSWER)
        description = self._valid(OpaqueStart, result, ProtocolStep.START)
        if description.protocol != m.PROTOCOL:
            raise self._fault(Fault.WRONG_PROTOCOL, ProtocolStep.START, f"it speaks protocol {description.protocol}")
        return description.name

    def send(self, records: Records, name: str) -> None:
        """Send records under a name; raises `AdapterRefusal` where the adapter does not take them."""
        request: dict[str, JsonValue] = {
            "request": "data",
            "name": name,
            "features": pack(records.features).model_dump(),
            "labels": records.labels.tolist(),
        }
        result = self._valid(OpaqueData, self._ask(request, ProtocolStep.DATA, _SMALL_ANSWER), ProtocolStep.DATA)
        if result.records is not None and result.records != records.count:
            detail = f"it understood {result.records} records, sent were {records.count}"
            raise self._fault(Fault.WRONG_SHAPE, ProtocolStep.DATA, detail)

    def trials(self, data: str, count: int, seed: int | None) -> Values:
        """Run ``count`` times; every array has ``count`` as its first axis, and may hold NaN and infinity."""
        request: dict[str, JsonValue] = {"request": "trials", "data": data, "count": count, **self._extra}
        if seed is not None:
            request["seed"] = seed
        result = self._valid(OpaqueRun, self._ask(request, ProtocolStep.TRIALS, None), ProtocolStep.TRIALS)
        given: dict[str, WireArray] = {}
        for name, part in result.root.items():
            given |= part if isinstance(part, dict) else {name: part}
        try:
            values = {name: unpack(array, name) for name, array in given.items()}
        except ArrayError as error:
            raise self._fault(Fault.WRONG_SHAPE, ProtocolStep.TRIALS, str(error)) from None
        if not values:
            raise self._fault(Fault.BAD_ANSWER, ProtocolStep.TRIALS, "the result holds no array: nothing was released")
        for name, array in values.items():
            if array.ndim < 1 or array.shape[0] != count:
                detail = f"the first axis of {name} must be the trial, {count} of them; got shape {list(array.shape)}"
                raise self._fault(Fault.WRONG_SHAPE, ProtocolStep.TRIALS, detail)
        return values

    def _ask(self, request: Mapping[str, JsonValue], step: ProtocolStep, limit: int | None) -> JsonValue:
        self._last_id += 1
        line = json.dumps({"id": self._last_id, **request}, allow_nan=False).encode() + b"\n"
        answer = self._parse(self._process.ask(line, step, limit), step)
        if answer.get("id") != self._last_id:
            raise self._fault(Fault.WRONG_ID, step, f"expected an answer to request {self._last_id}")
        parts = [part for part in ("result", "skipped", "error") if answer.get(part) is not None]
        if len(parts) != 1:
            raise self._fault(Fault.BAD_ANSWER, step, f"an answer holds exactly one of result, skipped, error: {parts}")
        if parts == ["skipped"]:
            raise AdapterSkipped(self._valid(m.Skipped, answer["skipped"], step).reason)
        if parts == ["error"]:
            refusal = self._valid(m.Refusal, answer["error"], step)
            raise AdapterRefusal(refusal.kind, refusal.message)
        return answer["result"]

    def _parse(self, line: bytes, step: ProtocolStep) -> dict[str, JsonValue]:
        try:
            answer = json.loads(line)
        except ValueError:
            raise self._fault(Fault.NOT_JSON, step, f"stdout held {line[:200]!r}") from None
        if not isinstance(answer, dict):
            raise self._fault(Fault.BAD_ANSWER, step, "an answer is a JSON object")
        return answer

    def _valid(self, kind: type[ModelT], part: JsonValue, step: ProtocolStep) -> ModelT:
        try:
            return kind.model_validate(part)
        except ValidationError as error:
            first = "; ".join(f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in error.errors()[:3])
            raise self._fault(Fault.BAD_ANSWER, step, first) from None

    def _fault(self, fault: Fault, step: ProtocolStep, detail: str) -> AdapterFault:
        return AdapterFault(fault, step, detail, self._process.last_words())


def hidden_trials(
    session: BlackBoxSession, pair: tuple[Records, Records], count: int, rng: np.random.Generator, *, seeded: bool
) -> tuple[Values, Values]:
    """Run both neighbours, under random names and in random order, so that nothing says which is which."""
    names = [f"D{token:012x}" for token in rng.choice(1 << 48, size=2, replace=False)]
    for which in rng.permutation(2):
        session.send(pair[which], names[which])
    found: dict[int, Values] = {}
    for which in rng.permutation(2):
        seed = int(rng.integers(1 << 53)) if seeded else None
        found[int(which)] = session.trials(names[which], count, seed)
    return found[0], found[1]
