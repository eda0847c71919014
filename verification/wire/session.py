"""A session with one adapter: typed requests, and answers that are validated before they are used.

Every answer has passed: JSON, schema, id, declared names, shapes, finiteness. What fails is an `AdapterFault`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, TypeVar

import numpy as np
from pydantic import ValidationError

from verification.wire import messages as m
from verification.wire.arrays import ArrayError, Floats, WireArray, WireModel, as_lists, pack, unpack
from verification.wire.faults import AdapterFault, AdapterRefusal, AdapterSkipped, Fault, ProtocolStep
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.process import AdapterProcess, Limits
from verification.wire.records import Records, Run
from verification.wire.schemes import SCHEMES

ResultT = TypeVar("ResultT", bound=WireModel)
_SMALL_ANSWER = 1 << 16
_BYTES_A_NUMBER = 32  # a binary64 as decimal text with its separators; base64 needs 11


@dataclass(frozen=True, slots=True)
class _Expected:
    """What an answer must hold: its leading axes, and the shape of every value where the protocol fixes it."""

    leading: tuple[int, ...]
    shapes: dict[str, tuple[int, ...] | None]

    @property
    def limit(self) -> int | None:
        """The largest honest answer in bytes; None where values have shapes that only the implementation knows."""
        numbers = [int(np.prod(shape)) for shape in self.shapes.values() if shape is not None]
        return None if len(numbers) < len(self.shapes) else _SMALL_ANSWER + _BYTES_A_NUMBER * sum(numbers)


class Recording(Protocol):
    """What keeps requests and answers."""

    def add(self, request: WireModel, answer: bytes, seconds: float) -> None:
        """Keep one."""


class Session:
    """One adapter process, started and described; a context manager that leaves no process behind.

    On a clean exit `stop` is asked and its answer and exit status are checked; after an exception the process is
    killed at once.
    """

    def __init__(self, command: Sequence[str], limits: Limits | None = None) -> None:
        self._prepare()
        self._process = AdapterProcess(command, limits)
        try:
            self.description = self._start()
        except BaseException:
            self._process.__exit__(None, None, None)
            raise

    def _prepare(self) -> None:
        self._last_id = 0
        self._shapes: dict[str, tuple[int, int]] = {}
        self.tape: Recording | None = None
        self.last_seconds = 0.0  # of the last answer

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.stop()
        finally:
            self._process.__exit__(None, None, None)

    def _start(self) -> m.StartResult:
        request = m.StartRequest(id=self._next_id())
        description = self._ask(request, m.Answer[m.StartResult], ProtocolStep.START, _SMALL_ANSWER)
        if description.protocol != m.PROTOCOL:
            raise self.fault(Fault.WRONG_PROTOCOL, ProtocolStep.START, f"it speaks protocol {description.protocol}")
        return description

    def can(self, *capabilities: m.Capability) -> bool:
        """Whether the adapter declared all of these."""
        return set(capabilities) <= set(self.description.capabilities)

    def send(self, records: Records, name: str | None = None, *, packed: bool = True, may_refuse: bool = False) -> str:
        """Send records and return the name they now have."""
        name = name or f"D{secrets.token_hex(6)}"
        request = m.DataRequest(
            id=self._next_id(),
            name=name,
            features=pack(records.features) if packed else as_lists(records.features),
            labels=records.labels.tolist(),
        )
        result = self._ask(request, m.Answer[m.DataResult], ProtocolStep.DATA, _SMALL_ANSWER, may_refuse=may_refuse)
        if (result.records, result.columns) != records.features.shape:
            seen = f"{result.records} records of {result.columns} features"
            sent = f"{records.count} of {records.columns}"
            raise self.fault(Fault.WRONG_SHAPE, ProtocolStep.DATA, f"it understood {seen}, sent were {sent}")
        self._shapes[name] = (records.count, records.columns)
        return name

    def unsent(self, columns: int) -> str:
        """Return a name under which nothing was sent, as if records of so many columns had been."""
        name = f"D{secrets.token_hex(6)}"
        self._shapes[name] = (1, columns)
        return name

    def replay(
        self,
        data: str,
        algorithm: Algorithm,
        parameters: Parameters,
        noise: Mapping[str, Floats],
        batches: Sequence[Sequence[int]] | None = None,
        *,
        packed: bool = True,
        may_refuse: bool = False,
    ) -> Run:
        """Run with given batches and noise; arrays of the answer have shape [T, p]."""
        request = m.ReplayRequest(
            id=self._next_id(),
            data=data,
            algorithm=algorithm,
            parameters=parameters,
            batches=None if batches is None else [list(batch) for batch in batches],
            noise={name: pack(array) if packed else as_lists(array) for name, array in noise.items()},
        )
        names = {*SCHEMES[algorithm].iterates, *self.description.released[algorithm]}
        expected = self._expected(names, (parameters.iterations,), data, algorithm, parameters)
        result = self._ask(request, m.Answer[m.RunResult], ProtocolStep.REPLAY, expected.limit, may_refuse=may_refuse)
        return self._run(result, expected, ProtocolStep.REPLAY)

    def trials(
        self,
        data: str,
        algorithm: Algorithm,
        parameters: Parameters,
        count: int,
        *,
        show: m.Show = m.Show.EVERY_ITERATE,
        seed: int | None = None,
        may_refuse: bool = False,
    ) -> Run:
        """Run `count` times; arrays of the answer have shape [count, T, p], or [count, p] for the last model."""
        request = m.TrialsRequest(
            id=self._next_id(),
            data=data,
            algorithm=algorithm,
            parameters=parameters,
            count=count,
            show=show,
            seed=seed,
        )
        leading = (count,) if show is m.Show.LAST else (count, parameters.iterations)
        names = set(self.description.released[algorithm])
        expected = self._expected(names, leading, data, algorithm, parameters)
        result = self._ask(request, m.Answer[m.RunResult], ProtocolStep.TRIALS, expected.limit, may_refuse=may_refuse)
        return self._run(result, expected, ProtocolStep.TRIALS)

    def stop(self) -> None:
        """Ask it to stop, and check that it ends cleanly and leaves no process."""
        self._ask(m.StopRequest(id=self._next_id()), m.Answer[m.StopResult], ProtocolStep.STOP, _SMALL_ANSWER)
        self._process.finish()

    def fault(self, fault: Fault, step: ProtocolStep, detail: str) -> AdapterFault:
        """Return the fault with the adapter's last words, for the caller to raise."""
        return AdapterFault(fault, step, detail, self._process.last_words())

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _expected(
        self, names: set[str], leading: tuple[int, ...], data: str, algorithm: Algorithm, parameters: Parameters
    ) -> _Expected:
        dimension = self._shapes[data][1] + int(parameters.intercept)
        scheme = SCHEMES[algorithm]
        shapes = {
            name: (*leading, *scheme.row_shape(name, parameters, dimension)) if name in m.ITERATES else None
            for name in names
        }
        return _Expected(leading, shapes)

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
        raise self.fault(Fault.REFUSED, step, f"it answered error {refusal.kind}: {refusal.message}")

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

    def _run(self, result: m.RunResult, expected: _Expected, step: ProtocolStep) -> Run:
        given: dict[str, WireArray] = {"x": result.x, **result.released}
        if set(result.released) & set(m.ITERATES):
            raise self.fault(Fault.UNDECLARED, step, "x, z and y belong beside `released`, not into it")
        if result.z is not None:
            given["z"] = result.z
        if result.y is not None:
            given["y"] = result.y
        if set(given) != set(expected.shapes):
            detail = f"the result must hold {sorted(expected.shapes)}, got {sorted(given)}"
            raise self.fault(Fault.UNDECLARED, step, detail)
        try:
            values = {name: unpack(array, name, expected.shapes[name]) for name, array in given.items()}
        except ArrayError as error:
            raise self.fault(Fault.WRONG_SHAPE, step, str(error)) from None
        leading = expected.leading
        for name, array in values.items():
            if array.shape[: len(leading)] != leading:
                detail = f"{name} must have leading axes {list(leading)}, got {list(array.shape)}"
                raise self.fault(Fault.WRONG_SHAPE, step, detail)
            if not np.isfinite(array).all():
                raise self.fault(Fault.NOT_FINITE, step, f"{name} holds NaN or infinity")
        return Run(values)
