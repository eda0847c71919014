"""A session with one adapter: typed requests, and answers that are validated before they are used.

An adapter has one of three faces: the protocol's own algorithms, an algorithm that it declares itself, or a black box
of which nothing is known. What it can be asked beyond that are its capabilities. Every answer has passed: JSON, schema,
id, declared names, shapes, and (but for a black box) finiteness. What fails is an `AdapterFault`.
"""

from __future__ import annotations

import math
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

import numpy as np
from pydantic import JsonValue, ValidationError

from accountant.mechanisms.words import Sampling
from verification.wire import Face
from verification.wire import declaration as d
from verification.wire import messages as m
from verification.wire.arrays import ArrayError, Floats, WireArray, WireModel, as_lists, pack, unpack
from verification.wire.faults import AdapterFault, AdapterRefusal, AdapterSkipped, Fault, ProtocolStep, RefusedRequest
from verification.wire.parameters import SCHEMES, Algorithm, Parameters
from verification.wire.process import AdapterProcess, Limits
from verification.wire.records import Records, Run

if TYPE_CHECKING:
    from verification.wire.tape import Tape

ResultT = TypeVar("ResultT", bound=WireModel)
BothT = TypeVar("BothT")
Values: TypeAlias = dict[str, Floats]
Released: TypeAlias = "Mapping[str, Floats] | None"
Batches: TypeAlias = "Sequence[Sequence[int]] | None"
SMALL_ANSWER = 1 << 16
"""The largest answer, in bytes, that holds no arrays."""
_LATELY = 2
_ROUNDED = 1e-9  # of the largest number: entries of a symmetric matrix may be computed in another order
_BYTES_A_NUMBER = 32  # a binary64 as decimal text with its separators; base64 needs 11
_SET_HERE = ("id", "request", "data", "count", "seed")


@dataclass(frozen=True, slots=True, eq=False)
class RecordedValue:
    """One value in one run, [releases, numbers]; without noise `before` and `noise` are empty."""

    released: Floats
    before: Floats
    noise: Floats
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """One run from the inside."""

    values: dict[str, RecordedValue]
    batches: list[list[int]]
    public: dict[str, Floats]
    order: tuple[str, ...] = ()  # empty where it is not shown


@dataclass(frozen=True, slots=True)
class DeclaredAlgorithm:
    """Which declared algorithm at which parameters."""

    name: str
    parameters: d.OpaqueParameters


class Session:
    """One adapter process, started and described; a context manager that leaves no process behind.

    On a clean exit `stop` is asked and its answer and exit status are checked; after an exception the process is killed
    at once. `members` are added to every `trials` of a black box, which may refuse any request (`AdapterRefusal`).
    """

    description: m.StartResult
    _process: AdapterProcess | None = None

    def __init__(
        self,
        command: Sequence[str],
        limits: Limits | None = None,
        face: Face = Face.PAPER,
        *,
        members: Mapping[str, JsonValue] | None = None,
        described: bool = True,
    ) -> None:
        clash = sorted(set(members or {}) & set(_SET_HERE))
        if clash:
            raise ValueError(f"these members of a request are set by the audit: {', '.join(clash)}")
        self._prepare(face, members)
        self._process = AdapterProcess(command, limits)
        if described:
            self.describe()

    def _prepare(self, face: Face, members: Mapping[str, JsonValue] | None = None) -> None:
        self.face = face
        self.tape: Tape | None = None
        self.last_seconds = 0.0  # of the last answer
        self._members = dict(members or {})
        self._last_id = 0
        self._columns: dict[str, int] = {}
        self._lately: list[tuple[Records, str]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.stop()
        finally:
            self._close()

    def _close(self) -> None:
        if self._process is not None:
            self._process.__exit__(None, None, None)

    def kill(self) -> None:
        """End the process at once; safe to call twice, and from another thread than the one that asks."""
        if self._process is not None:
            self._process.kill()

    def fault(self, fault: Fault, step: ProtocolStep, detail: str) -> AdapterFault:
        """Return the fault with the adapter's last words, for the caller to raise."""
        return AdapterFault(fault, step, detail, "" if self._process is None else self._process.last_words())

    # -- start, data, stop ---------------------------------------------------------------------------------------

    def describe(self) -> None:
        """Ask what it offers: needed before anything else, and apart where several are to get ready side by side.

        Its process does not outlive a fault in it.
        """
        try:
            self.description = m.described(self._started())
        except BaseException:
            self._close()
            raise

    def _started(self) -> m.AdapterName:
        request, step = m.StartRequest(id=self._next_id()), ProtocolStep.START
        found: m.AdapterName
        match self.face:
            case Face.PAPER:
                found = self._ask(request, m.Answer[m.StartResult], step, SMALL_ANSWER)
            case Face.DECLARED:
                found = self._ask(request, m.Answer[m.DeclaredStart], step, SMALL_ANSWER)
            case Face.BLACK_BOX:
                found = self._ask(request, m.OpaqueAnswer[m.OpaqueStart], step, SMALL_ANSWER)
        if found.protocol != m.PROTOCOL:
            raise self.fault(Fault.WRONG_PROTOCOL, step, f"it speaks protocol {found.protocol}")
        return found

    def can(self, *capabilities: m.Capability) -> bool:
        """Whether the adapter declared all of these."""
        return set(capabilities) <= set(self.description.capabilities)

    def send(self, records: Records, name: str | None = None, *, packed: bool = True, may_refuse: bool = False) -> str:
        """Send records and return the name they now have, which says nothing."""
        name = name or f"D{secrets.token_hex(6)}"
        features = pack(records.features) if packed else as_lists(records.features)
        of_any_size = self.face is Face.BLACK_BOX and records.labels.dtype.kind == "f"
        kind = d.DeclaredDataRequest if self.face is Face.DECLARED or of_any_size else m.DataRequest
        request = kind(id=self._next_id(), name=name, features=features, labels=records.labels.tolist())
        step, sent = ProtocolStep.DATA, f"sent were {records.count} of {records.columns}"
        if self.face is Face.BLACK_BOX:
            count = self._ask(request, m.OpaqueAnswer[m.OpaqueData], step, SMALL_ANSWER, may_refuse=True).records
            if count not in (None, records.count):
                raise self.fault(Fault.WRONG_SHAPE, step, f"it understood {count} records, sent were {records.count}")
            return name
        result = self._ask(request, m.Answer[m.DataResult], step, SMALL_ANSWER, may_refuse=may_refuse)
        if (result.records, result.columns) != records.features.shape:
            seen = f"{result.records} records of {result.columns} features"
            raise self.fault(Fault.WRONG_SHAPE, step, f"it understood {seen}, {sent}")
        self._columns[name] = records.columns
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
        self._columns[name] = columns
        return name

    def stop(self) -> None:
        """Ask it to stop, and check that it ends cleanly and leaves no process."""
        request, step = m.StopRequest(id=self._next_id()), ProtocolStep.STOP
        if self.face is Face.BLACK_BOX:
            self._ask(request, m.OpaqueAnswer[m.OpaqueStop], step, SMALL_ANSWER, may_refuse=True)
        else:
            self._ask(request, m.Answer[m.StopResult], step, SMALL_ANSWER)
        if self._process is not None:
            self._process.finish()

    # -- the protocol's own algorithms ---------------------------------------------------------------------------

    def replay(
        self,
        data: str,
        algorithm: Algorithm,
        parameters: Parameters,
        noise: Mapping[str, Floats],
        batches: Batches = None,
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
        leading = (parameters.iterations,)
        return self._run(request, ProtocolStep.REPLAY, names, leading, may_refuse=may_refuse)

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
        return self._run(request, ProtocolStep.TRIALS, names, leading, may_refuse=may_refuse)

    def _run(
        self,
        request: m.ReplayRequest | m.TrialsRequest,
        step: ProtocolStep,
        names: set[str],
        leading: tuple[int, ...],
        *,
        may_refuse: bool,
    ) -> Run:
        """One run, or several: exactly these values, those of the protocol in the shapes that it fixes."""
        parameters, scheme = request.parameters, SCHEMES[request.algorithm]
        dimension = self._columns[request.data] + int(parameters.intercept)
        shapes = {
            name: (*leading, *scheme.row_shape(name, parameters, dimension)) if name in m.ITERATES else None
            for name in names
        }
        numbers = [math.prod(shape) for shape in shapes.values() if shape is not None]
        # values of the implementation's own may have any shape, and the answer then any size
        limit = None if len(numbers) < len(shapes) else SMALL_ANSWER + _BYTES_A_NUMBER * sum(numbers)
        result = self._ask(request, m.Answer[m.RunResult], step, limit, may_refuse=may_refuse)
        if set(result.released) & set(m.ITERATES):
            raise self.fault(Fault.UNDECLARED, step, "x, z and y belong beside `released`, not into it")
        given: dict[str, WireArray] = {"x": result.x, **result.released}
        given |= {name: array for name, array in (("z", result.z), ("y", result.y)) if array is not None}
        if set(given) != names:
            raise self.fault(Fault.UNDECLARED, step, f"the result must hold {sorted(names)}, got {sorted(given)}")
        values = {name: self._array(array, name, step, shapes[name]) for name, array in given.items()}
        for name, array in values.items():
            if array.shape[: len(leading)] != leading:
                detail = f"{name} must have leading axes {list(leading)}, got {list(array.shape)}"
                raise self.fault(Fault.WRONG_SHAPE, step, detail)
        return Run(values)

    # -- an algorithm that the adapter declares ------------------------------------------------------------------

    def declare(self, algorithm: DeclaredAlgorithm, records: int, columns: int) -> d.Declaration:
        """What the algorithm releases at these parameters."""
        request = d.DeclareRequest(
            id=self._next_id(),
            algorithm=algorithm.name,
            parameters=algorithm.parameters,
            records=records,
            columns=columns,
        )
        found = self._ask(request, m.Answer[d.Declaration], ProtocolStep.DECLARE, None)
        if found.name != algorithm.name:
            detail = f"asked was about {algorithm.name!r}, declared is {found.name!r}"
            raise self.fault(Fault.UNDECLARED, ProtocolStep.DECLARE, detail)
        return found

    def record(
        self,
        data: str,
        algorithm: DeclaredAlgorithm,
        declaration: d.Declaration,
        *,
        seed: int | None = None,
        outputs: Released = None,
        batches: Batches = None,
    ) -> Recorded:
        """One run from the inside."""
        request = d.RecordRequest(
            id=self._next_id(),
            data=data,
            algorithm=algorithm.name,
            parameters=algorithm.parameters,
            seed=seed,
            outputs=None if outputs is None else _packed(outputs, declaration),
            batches=None if batches is None else [list(batch) for batch in batches],
        )
        step = ProtocolStep.RECORD
        result = self._ask(request, m.Answer[d.RecordResult], step, None)
        self._same_names(result.values, declaration, step)
        drawn = declaration.sampling.kind is not Sampling.ALL
        if drawn != (result.batches is not None):
            detail = "batches are declared and not shown" if drawn else "batches are shown and not declared"
            raise self.fault(Fault.UNDECLARED, step, detail)
        values = {v.name: self._recorded(v, result.values[v.name]) for v in declaration.values}
        public = {name: self._releases(array, name, step) for name, array in result.public.items()}
        counts = Counter({name: len(value.released) for name, value in values.items()})
        if result.order is not None and Counter(result.order) != counts:
            first = ", ".join(result.order[:8]) + (f", ... ({len(result.order)} in all)" if result.order[8:] else "")
            raise self.fault(Fault.WRONG_SHAPE, step, f"order must name every release once, got {first}")
        return Recorded(values, result.batches or [], public, tuple(result.order or ()))

    def declared_trials(
        self, data: str, algorithm: DeclaredAlgorithm, declaration: d.Declaration, count: int, *, seed: int | None
    ) -> list[Values]:
        """Runs with the adapter's own randomness: for each what was released, [releases, ...]."""
        request = d.OwnTrialsRequest(
            id=self._next_id(),
            data=data,
            algorithm=algorithm.name,
            parameters=algorithm.parameters,
            count=count,
            seed=seed,
        )
        step = ProtocolStep.TRIALS
        runs = self._ask(request, m.Answer[d.OwnTrialsResult], step, None).runs
        if len(runs) != count:
            raise self.fault(Fault.WRONG_SHAPE, step, f"{count} runs asked for, got {len(runs)}")
        for run in runs:
            self._same_names(run.released, declaration, step)
        values = declaration.values
        return [{v.name: self._counted(v, run.released[v.name], v.name, step) for v in values} for run in runs]

    def _same_names(self, given: Iterable[str], declaration: d.Declaration, step: ProtocolStep) -> None:
        declared = {value.name for value in declaration.values}
        if set(given) != declared:
            detail = f"declared are {sorted(declared)}, released were {sorted(given)}"
            raise self.fault(Fault.UNDECLARED, step, detail)

    def _recorded(self, value: d.DeclaredValue, shown: d.ShownValue) -> RecordedValue:
        name, step = value.name, ProtocolStep.RECORD
        released = self._counted(value, shown.released, name, step)
        if value.noise is d.NoiseKind.NONE:
            if shown.before is not None or shown.noise is not None:
                raise self.fault(Fault.UNDECLARED, step, f"{name} is declared without noise and shows some")
            empty = np.zeros((0, 0))
            return RecordedValue(rows(released), empty, empty, released.shape[1:])
        if shown.before is None or shown.noise is None:
            raise self.fault(Fault.UNDECLARED, step, f"{name} must show what it was before its noise, and the noise")
        before = self._counted(value, shown.before, f"{name} before its noise", step)
        noise = self._counted(value, shown.noise, f"the noise of {name}", step)
        if not before.shape == noise.shape == released.shape:
            detail = f"{name}: before {before.shape}, noise {noise.shape} and released {released.shape} must agree"
            raise self.fault(Fault.WRONG_SHAPE, step, detail)
        return RecordedValue(rows(released), rows(before), rows(noise), released.shape[1:])

    # -- a black box ---------------------------------------------------------------------------------------------

    def black_box_trials(self, data: str, count: int, seed: int | None) -> Values:
        """Run ``count`` times; every array has ``count`` as its first axis, and may hold NaN and infinity."""
        request = m.OpaqueTrialsRequest(id=self._next_id(), data=data, count=count, seed=seed, more=self._members)
        step = ProtocolStep.TRIALS
        result = self._ask(request, m.OpaqueAnswer[m.OpaqueRun], step, None, may_refuse=True)
        values = {name: self._array(array, name, step, finite=False) for name, array in result.arrays().items()}
        if not values:
            raise self.fault(Fault.BAD_ANSWER, step, "the result holds no array: nothing was released")
        for name, array in values.items():
            if array.ndim < 1 or array.shape[0] != count:
                detail = f"the first axis of {name} must be the trial, {count} of them; got shape {list(array.shape)}"
                raise self.fault(Fault.WRONG_SHAPE, step, detail)
        return values

    # -- one request and its answer ------------------------------------------------------------------------------

    def _array(
        self, wire: WireArray, name: str, step: ProtocolStep, shape: tuple[int, ...] | None = None, finite: bool = True
    ) -> Floats:
        try:
            array = unpack(wire, name, shape)
        except ArrayError as error:
            raise self.fault(Fault.WRONG_SHAPE, step, str(error)) from None
        if finite and not np.isfinite(array).all():
            raise self.fault(Fault.NOT_FINITE, step, f"{name} holds NaN or infinity")
        return array

    def _releases(self, wire: WireArray, name: str, step: ProtocolStep) -> Floats:
        array = self._array(wire, name, step)
        if array.ndim == 0:
            raise self.fault(Fault.WRONG_SHAPE, step, f"the first axis of {name} must be the release")
        return array

    def _counted(self, value: d.DeclaredValue, wire: WireArray, name: str, step: ProtocolStep) -> Floats:
        """What counts of the releases of a value: of symmetric matrices the upper triangle."""
        array = self._releases(wire, name, step)
        if not value.symmetric:
            return array
        if not is_symmetric(array):
            detail = f"{name} is declared symmetric, and is no symmetric matrix in every release: {list(array.shape)}"
            raise self.fault(Fault.WRONG_SHAPE, step, detail)
        return array[:, *np.triu_indices(array.shape[1])]

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def exchange(self, request: WireModel, step: ProtocolStep, limit: int | None) -> bytes:
        """Send one request and return the line that answers it; kept on the tape, if there is one."""
        began = time.monotonic()
        line = self._line(m.line_of(request), step, limit)
        self.last_seconds = time.monotonic() - began
        if self.tape is not None:
            self.tape.add(request, line, self.last_seconds)
        return line

    def _line(self, line: bytes, step: ProtocolStep, limit: int | None = None) -> bytes:
        if self._process is None:
            raise AssertionError("a session without a process answers for itself")
        return self._process.ask(line, step, limit)

    def _ask(
        self,
        request: WireModel,
        kind: type[m.Answer[ResultT]],
        step: ProtocolStep,
        limit: int | None,
        *,
        may_refuse: bool = False,
    ) -> ResultT:
        answer = self._parse(self.exchange(request, step, limit), kind, step)
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


def rows(array: Floats) -> Floats:
    """[releases, numbers], a scalar of each release as one number."""
    return array.reshape(len(array), math.prod(array.shape[1:]))


def is_symmetric(releases: Floats) -> bool:
    """Whether every release is a matrix that is its own transpose, but for rounding."""
    square = releases.ndim == 3 and releases.shape[1] == releases.shape[2]
    close = _ROUNDED * np.abs(releases).max(initial=0.0)
    return square and np.allclose(releases, releases.swapaxes(1, 2), rtol=0.0, atol=close)


def _packed(outputs: Mapping[str, Floats], declaration: d.Declaration) -> dict[str, WireArray]:
    """Given releases, each upper triangle of a symmetric matrix with what is below its diagonal."""
    packed: dict[str, WireArray] = {}
    symmetric = {value.name for value in declaration.values if value.symmetric}
    for name, array in outputs.items():
        whole = array
        if name in symmetric:
            upper = np.triu_indices((math.isqrt(8 * array.shape[1] + 1) - 1) // 2)
            whole = np.zeros((len(array), *np.max(upper, axis=1) + 1))
            whole[:, *upper] = whole[:, *upper[::-1]] = array
        packed[name] = pack(whole)
    return packed


class HiddenPair:
    """Two data sets behind an adapter whose names and order say nothing about which is which.

    An adapter that could tell the pair apart by name, by the order of sending or by the order of asking could answer
    differently. Names are random, the two are sent in random order, and every round of requests is shuffled. Results
    come back in the caller's order (first, second).
    """

    def __init__(
        self, session: Session, first: Records, second: Records, rng: np.random.Generator, *, may_refuse: bool = False
    ) -> None:
        self._session, self._rng = session, rng
        names = [f"D{token:012x}" for token in rng.choice(1 << 48, size=2, replace=False)]
        for which in rng.permutation(2):
            session.send((first, second)[which], names[which], may_refuse=may_refuse)
        self._names = (names[0], names[1])

    def trials(
        self,
        algorithm: Algorithm,
        parameters: Parameters,
        count: int,
        *,
        show: m.Show = m.Show.EVERY_ITERATE,
        seeded: bool = True,
    ) -> tuple[Run, Run]:
        """Run both `count` times, with seeds that differ (where the adapter takes seeds and `seeded` is asked for)."""
        seeded = seeded and self._session.can(m.Capability.SEED)
        return self.both(
            lambda name: self._session.trials(
                name, algorithm, parameters, count, show=show, seed=self._fresh_seed(seeded)
            )
        )

    def black_box_trials(self, count: int, *, seeded: bool) -> tuple[Values, Values]:
        """Run both neighbours of a black box ``count`` times."""
        return self.both(lambda name: self._session.black_box_trials(name, count, self._fresh_seed(seeded)))

    def _fresh_seed(self, seeded: bool) -> int | None:
        return int(self._rng.integers(1 << 53)) if seeded else None

    def both(self, ask: Callable[[str], BothT]) -> tuple[BothT, BothT]:
        """What both answer, asked in random order."""
        found = {int(which): ask(self._names[which]) for which in self._rng.permutation(2)}
        return found[0], found[1]
