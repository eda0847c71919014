"""The other end of the wire, in Python: turn an `Implementation` into an adapter process.

A wrong implementation for a test, or a real one in Python, is a class with three methods and one call:
``serve(MyImplementation())``. `verification.served.stepwise` offers the reference with every part replaceable.
"""

from __future__ import annotations

import os
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from reference.errors import InvalidData, RefusedByReference
from verification.wire import messages as m
from verification.wire.arrays import ArrayError, Floats, WireModel, pack, unpack
from verification.wire.parameters import SCHEMES, Algorithm, Parameters
from verification.wire.records import Records

Values = dict[str, Floats]
_BUFFER = 1 << 20
_REQUEST: TypeAdapter[m.Request] = TypeAdapter(m.Request)


class NotOfferedError(Exception):
    """Raise this to answer `skipped` with a reason."""


class Implementation(Protocol):
    """What runs behind the wire; every method may raise `NotOfferedError` or refuse with a reference error."""

    def describe(self) -> m.StartResult:
        """Say who this is and what it can do."""

    def load(self, records: Records) -> None:
        """Look at records when they are sent; refuse them here or when they are used."""

    def replay(
        self,
        records: Records,
        algorithm: Algorithm,
        parameters: Parameters,
        noise: Values,
        batches: NDArray[np.intp] | None,
    ) -> Values:
        """Return arrays of shape [T, p] (dpadmm's x and y: [T, parties, p]) by name; batches have shape [T, m]."""

    def trials(
        self,
        records: Records,
        algorithm: Algorithm,
        parameters: Parameters,
        count: int,
        seed: int | None,
    ) -> Values:
        """Return arrays of shape [count, T, p] by name, all iterates."""


class Answering(ABC):
    """Answers requests one at a time, each by one line."""

    def __init__(self) -> None:
        self.stopped = False
        self._told: set[tuple[type, str, int | None]] = set()  # the errors whose traceback was printed

    @abstractmethod
    def _request(self, line: bytes) -> m.NumberedRequest:
        """The request that a line holds."""

    @abstractmethod
    def _result(self, request: m.NumberedRequest) -> WireModel:
        """What answers it."""

    def serve(self, source: BinaryIO, sink: BinaryIO) -> None:
        """Answer requests from one stream on another."""
        while not self.stopped and (line := source.readline()):
            write_line(sink, self.answer(line))

    def answer(self, line: bytes) -> bytes:
        """Return the one line that answers a request; never raises."""
        try:
            request = self._request(line)
        except ValidationError as error:
            return refusal(_id_of(line), "invalid-parameters", str(error))
        try:
            return b'{"id":%d,"result":%b}\n' % (request.id, m.line_of(self._result(request)).rstrip())
        except NotOfferedError as reason:
            return m.line_of(m.Answer[m.StopResult](id=request.id, skipped=m.Skipped(reason=str(reason)[:2000])))
        except InvalidData as error:
            return refusal(request.id, "invalid-data", str(error))
        except (RefusedByReference, ArrayError, ValidationError) as error:
            return refusal(request.id, "invalid-parameters", str(error))
        except Exception as error:  # whatever it is, it must become an answer: the harness decides what it means
            at = traceback.extract_tb(error.__traceback__)[-1]
            if (type(error), at.filename, at.lineno) not in self._told:
                self._told.add((type(error), at.filename, at.lineno))
                traceback.print_exc()
            return refusal(request.id, "internal", raised(error))


def raised(error: Exception) -> str:
    """The error, and the last line outside of installed packages that led to it."""
    at = traceback.extract_tb(error.__traceback__)
    line = next((each for each in reversed(at) if "site-packages" not in each.filename), at[-1])
    return f"{type(error).__name__}: {error} ({Path(line.filename).name}:{line.lineno}: {line.line})"


class Server(Answering):
    """Answers for an implementation of the protocol's own algorithms; keeps the data sets by name."""

    def __init__(self, implementation: Implementation) -> None:
        super().__init__()
        self._implementation = implementation
        self._data: dict[str, Records] = {}

    def _request(self, line: bytes) -> m.NumberedRequest:
        return _REQUEST.validate_json(line)

    def _result(self, request: m.NumberedRequest) -> WireModel:
        match request:
            case m.StartRequest():
                return self._implementation.describe()
            case m.DataRequest():
                return self._keep(request)
            case m.ReplayRequest():
                return self._replay(request)
            case m.TrialsRequest():
                return self._trials(request)
            case _:
                self.stopped = True
                return m.StopResult()

    def _keep(self, request: m.DataRequest) -> m.DataResult:
        features = unpack(request.features, "features")
        if features.ndim != 2 or len(features) != len(request.labels):
            raise ArrayError(f"features must be [n, p] with n labels, got {features.shape}, {len(request.labels)}")
        records = Records(features, np.array(request.labels, dtype=np.int64))
        self._implementation.load(records)
        self._data[request.name] = records
        return m.DataResult(records=records.count, columns=records.columns)

    def _records(self, name: str) -> Records:
        if name not in self._data:
            raise InvalidData(f"no data set has the name {name!r}; known are {sorted(self._data)}")
        return self._data[name]

    def _replay(self, request: m.ReplayRequest) -> m.RunResult:
        records, parameters = self._records(request.data), request.parameters
        scheme, dimension = SCHEMES[request.algorithm], records.columns + int(parameters.intercept)
        noise = {
            name: unpack(array, f"noise.{name}", scheme.noise_shape(name, parameters, dimension))
            for name, array in request.noise.items()
        }
        batches = None if request.batches is None else _batches(request.batches, parameters, records.count)
        return _run_result(self._implementation.replay(records, request.algorithm, parameters, noise, batches))

    def _trials(self, request: m.TrialsRequest) -> m.RunResult:
        records = self._records(request.data)
        values = self._implementation.trials(
            records, request.algorithm, request.parameters, request.count, request.seed
        )
        if request.show is m.Show.LAST:
            values = {name: array[:, -1] for name, array in values.items()}
        declared = self._implementation.describe().released[request.algorithm]
        return _run_result({name: values[name] for name in declared})


def serve(implementation: Implementation) -> None:
    """Answer requests on stdin until `stop` or the end of input; stray prints go to stderr, not onto the wire."""
    on_standard_streams(Server(implementation).serve)


def on_standard_streams(serve_on: Callable[[BinaryIO, BinaryIO], None]) -> None:
    """Serve on stdin and stdout; stray prints go to stderr, not onto the wire."""
    with os.fdopen(os.dup(1), "wb", buffering=0) as wire, os.fdopen(os.dup(0), "rb", buffering=_BUFFER) as source:
        os.dup2(2, 1)
        serve_on(source, wire)


def write_line(sink: BinaryIO, line: bytes) -> None:
    """Write all of an answer."""
    unsent = memoryview(line)
    while unsent:  # a raw pipe may take part of a long line
        unsent = unsent[sink.write(unsent) :]
    sink.flush()


def _batches(lists: Sequence[Sequence[int]], parameters: Parameters, count: int) -> NDArray[np.intp]:
    if len(lists) != parameters.iterations or any(len(batch) != parameters.batch for batch in lists):
        raise ArrayError(f"batches must be {parameters.iterations} lists of {parameters.batch} indices")
    batches = np.array(lists, dtype=np.intp)
    if batches.max() >= count:
        raise ArrayError(f"batches must index records 0..{count - 1}, got {batches.max()}")
    for batch in lists:
        if len(set(batch)) != len(batch):
            raise ArrayError(f"a batch is drawn without replacement and holds no record twice, got {list(batch)}")
    return batches


def _run_result(values: Values) -> m.RunResult:
    packed = {name: pack(array) for name, array in values.items()}
    return m.RunResult(
        x=packed.pop("x"), z=packed.pop("z", None), y=packed.pop("y", None), released=dict(packed.items())
    )


def refusal(identity: int, kind: m.RefusalKind, message: str) -> bytes:
    """The line that answers `error`."""
    error = m.Refusal(kind=kind, message=message[:2000] or kind)
    return m.line_of(m.Answer[m.StopResult](id=identity, error=error))


def _id_of(line: bytes) -> int:
    """The id of a request that could not be understood, as far as it can be found; else 0."""
    try:
        return _OnlyId.model_validate_json(line).id
    except ValidationError:
        return 0


class _OnlyId(WireModel, extra="ignore"):
    id: int
