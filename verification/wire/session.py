"""A session with one adapter: typed requests, and answers that are validated before they are used.

Every answer has passed: JSON, schema, id, declared names, shapes, finiteness. What fails is an `AdapterFault`.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from verification.wire import messages as m
from verification.wire.arrays import ArrayError, Floats, WireArray, as_lists, pack, unpack
from verification.wire.conversation import SMALL_ANSWER, DescribedConversation
from verification.wire.faults import Fault, ProtocolStep
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.process import Limits
from verification.wire.records import Records, Run
from verification.wire.schemes import SCHEMES

_LATELY = 2
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
        return None if len(numbers) < len(self.shapes) else SMALL_ANSWER + _BYTES_A_NUMBER * sum(numbers)


class Session(DescribedConversation[m.StartResult]):
    """One adapter process, started and described; a context manager that leaves no process behind."""

    def __init__(self, command: Sequence[str], limits: Limits | None = None, *, described: bool = True) -> None:
        super().__init__(command, limits)
        if described:
            self.describe()

    def describe(self) -> None:
        """Ask what it offers: needed before anything else, and apart where several are to get ready side by side."""
        self.description = self._describe(m.Answer[m.StartResult])

    def _prepare(self) -> None:
        super()._prepare()
        self._lately: list[tuple[Records, str]] = []

    def send(self, records: Records, name: str | None = None, *, packed: bool = True, may_refuse: bool = False) -> str:
        """Send records and return the name they now have."""
        name = name or f"D{secrets.token_hex(6)}"
        request = m.DataRequest(
            id=self._next_id(),
            name=name,
            features=pack(records.features) if packed else as_lists(records.features),
            labels=records.labels.tolist(),
        )
        result = self._ask(request, m.Answer[m.DataResult], ProtocolStep.DATA, SMALL_ANSWER, may_refuse=may_refuse)
        if (result.records, result.columns) != records.features.shape:
            seen = f"{result.records} records of {result.columns} features"
            sent = f"{records.count} of {records.columns}"
            raise self.fault(Fault.WRONG_SHAPE, ProtocolStep.DATA, f"it understood {seen}, sent were {sent}")
        self._shapes[name] = (records.count, records.columns)
        return name

    def send_once(self, records: Records) -> str:
        """Send records unless these very ones were sent lately in this way; return the name they have.

        While a tape runs they are sent again, so that what is on it is complete.
        """
        name = next((name for kept, name in self._lately if kept is records), None)
        if name is None or self.tape is not None:
            name = self.send(records)
            self._lately = [*self._lately, (records, name)][-_LATELY:]
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
