"""The other end of the wire for an algorithm of your own, in Python: two functions and one call.

``declare(parameters, records, columns)`` returns the declaration as plain data, ``run(data, parameters, run)`` runs the
algorithm once and hands every value that leaves it to ``run`` (a `DeclaredRun`), which adds the noise and keeps what
was there before. ``serve_declared("name", declare, run)`` answers the harness until it stops.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter

from reference.errors import InvalidData
from verification.served.serve import Answering, on_standard_streams
from verification.wire import declaration as d
from verification.wire import messages as m
from verification.wire.arrays import Floats, PackedArray, WireModel, pack, unpack
from verification.wire.declaration import Declaration
from verification.wire.records import Records

Declare = Callable[[d.OpaqueParameters, int, int], Mapping[str, object]]
Request = Annotated[
    m.StartRequest | m.StopRequest | d.DeclareRequest | d.DeclaredDataRequest | d.RecordRequest | d.OwnTrialsRequest,
    Field(discriminator="request"),
]
_REQUEST: TypeAdapter[Request] = TypeAdapter(Request)


class DeclaredRun:
    """One run of a declared algorithm: its randomness, and what left it."""

    def __init__(
        self,
        seed: Sequence[int] | None = None,
        outputs: Mapping[str, Floats] | None = None,
        batches: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self._arguments = (seed, outputs)
        self.in_parts = False  # whether a release may be made in parts
        self.seed = None if seed is None else sum(part << (53 * i) for i, part in enumerate(seed))
        streams = np.random.SeedSequence(None if seed is None else list(seed)).spawn(2)
        self._noise, self._batches = (np.random.default_rng(stream) for stream in streams)
        self._outputs, self._given = outputs, batches
        self._shown: dict[str, list[tuple[Floats, Floats | None, Floats | None]]] = {}
        self._order: list[str] = []
        self._drawn: list[list[int]] = []
        self._public: dict[str, list[float]] = {}
        self._epoch: NDArray[np.intp] = np.zeros(0, dtype=np.intp)

    def again(self) -> DeclaredRun:
        """A run with the same seed, the same given values, and the batches of this one."""
        return DeclaredRun(*self._arguments, self._drawn or self._given)

    @property
    def order(self) -> list[str]:
        """The names of what was released so far, in order."""
        return self._order

    def join(self, name: str, count: int) -> None:
        """Make so many releases of a value out of the parts that it was released in, an equal number for each."""
        parts, each = self._shown[name], len(self._shown[name]) // count
        groups = [list(zip(*parts[k : k + each], strict=True)) for k in range(0, len(parts), each)]

        def joined(side: Sequence[Floats | None]) -> Floats:
            return np.concatenate([np.ravel(part) for part in side if part is not None])

        self._shown[name] = [(joined(g[0]), joined(g[1]), joined(g[2])) for g in groups]
        places = [k for k, other in enumerate(self._order) if other == name]
        dropped = set(places) - set(places[::each])
        self._order = [other for k, other in enumerate(self._order) if k not in dropped]

    def gaussian(self, shape: int | tuple[int, ...], sigma: float) -> Floats:
        """Independent normal values of standard deviation sigma."""
        return self._noise.normal(0.0, sigma, shape)

    def laplace(self, shape: int | tuple[int, ...], scale: float) -> Floats:
        """Independent Laplace values, of density e^(-|x|/scale)/(2 scale)."""
        return self._noise.laplace(0.0, scale, shape)

    def gamma_norm(self, dimension: int, scale: float) -> Floats:
        """A vector b of density proportional to e^(-|b|/scale)."""
        direction = self._noise.standard_normal(dimension)
        length: float = self._noise.gamma(dimension, scale)
        return direction * (length / math.sqrt(float(direction @ direction)))

    def batch(self, records: int, size: int) -> NDArray[np.intp]:
        """So many distinct records, fresh in every call."""
        return self.taken_batch(self._batches.permutation(records)[:size])

    def in_epochs(self, records: int, size: int, *, shuffle: bool) -> NDArray[np.intp]:
        """The next batch of an epoch of disjoint ones, in the order of the records or in a fresh one for each epoch."""
        number = len(self._drawn) % (records // size)
        if number == 0:
            self._epoch = self._batches.permutation(records) if shuffle else np.arange(records)
        return self.taken_batch(self._epoch[number * size : (number + 1) * size])

    def poisson(self, records: int, rate: float) -> NDArray[np.intp]:
        """Every record with this probability, fresh in every call."""
        return self.taken_batch(np.flatnonzero(self._batches.random(records) < rate))

    def with_replacement(self, records: int, size: int) -> NDArray[np.intp]:
        """So many records, each drawn from all of them."""
        return self.taken_batch(self._batches.integers(0, records, size))

    def release(self, name: str, before: Floats, noise: Floats, released: Floats | None = None) -> Floats:
        """Release ``before + noise`` (or ``released``, where something else leaves) and return what was released."""
        given = self._forced(name, np.shape(before))
        leaving = before + noise if released is None else released
        return self._show(name, leaving if given is None else given, before, noise)

    def minimise(
        self, name: str, noise: Floats, solve: Callable[[Floats], Floats], gradient: Callable[[Floats], Floats]
    ) -> Floats:
        """Release the minimiser ``solve(noise)`` of an objective with the term <noise, w>.

        ``gradient(w)`` is the gradient at w of the objective without that term.
        """
        given = self._forced(name)
        leaving = solve(noise) if given is None else given
        return self._show(name, leaving, gradient(leaving), noise)

    def processed(self, name: str, value: Floats) -> Floats:
        """Release what is computed from released values alone."""
        return self._show(name, np.asarray(value, dtype=np.float64), None, None)

    def public(self, name: str, value: float) -> None:
        """Show what must not depend on the data: a step size, a penalty, ..."""
        self._public.setdefault(name, []).append(float(value))

    def taken_batch(self, drawn: NDArray[np.intp]) -> NDArray[np.intp]:
        """The batch to use: the one that was drawn, or the one that the harness gave in its place."""
        if self._given is not None and len(self._drawn) < len(self._given):
            drawn = np.array(self._given[len(self._drawn)], dtype=np.intp)
        self._drawn.append([int(i) for i in drawn])
        return drawn

    def _forced(self, name: str, part: tuple[int, ...] | None = None) -> Floats | None:
        """What the harness wants taken as the next release of this value, or as the next part of one."""
        given = (self._outputs or {}).get(name)
        if given is None or not len(given):
            return None
        shown, size = self.shown(name), math.prod(part or ())
        if self.in_parts and part is not None and size < np.asarray(given[0]).size:
            flat, start = np.ravel(given), sum(released.size for released, _, _ in shown)
            return None if start + size > flat.size else flat[start : start + size].reshape(part)
        return None if len(shown) >= len(given) else np.asarray(given[len(shown)])

    def _show(self, name: str, released: Floats, before: Floats | None, noise: Floats | None) -> Floats:
        self._shown.setdefault(name, []).append((np.array(released), before, noise))
        self._order.append(name)
        return released

    def shown(self, name: str) -> list[tuple[Floats, Floats | None, Floats | None]]:
        """Every release of a value so far: released, before, noise."""
        return self._shown.get(name, [])

    def released(self) -> d.OwnRun:
        """What left the run."""
        return d.OwnRun(released={name: _stacked([leaving for leaving, _, _ in s]) for name, s in self._shown.items()})

    def recorded(self) -> d.RecordResult:
        """What left the run, and what it was before its noise."""
        values = {}
        for name, shown in self._shown.items():
            before = [np.asarray(part) for _, part, _ in shown if part is not None]
            noise = [np.asarray(part) for _, _, part in shown if part is not None]
            values[name] = d.ShownValue(
                released=_stacked([leaving for leaving, _, _ in shown]),
                before=_stacked(before) if before else None,
                noise=_stacked(noise) if noise else None,
            )
        public = {name: _stacked([np.array(value) for value in shown]) for name, shown in self._public.items()}
        order = self._order if len(values) > 1 else None
        return d.RecordResult(values=values, batches=self._drawn or None, public=dict(public), order=order)


RunOnce = Callable[[Records, d.OpaqueParameters, DeclaredRun], None]


def serve_declared(name: str, declare: Declare, run: RunOnce, *, version: str = "0", seeded: bool = True) -> None:
    """Answer requests on stdin until `stop` or the end of input; stray prints go to stderr, not onto the wire.

    ``seeded`` is false for an algorithm whose randomness is not that of the run it is given.
    """
    on_standard_streams(DeclaredServer(name, declare, run, version, seeded=seeded).serve)


class DeclaredServer(Answering):
    """Answers requests about one declared algorithm, one at a time."""

    def __init__(self, name: str, declare: Declare, run: RunOnce, version: str = "0", *, seeded: bool = True) -> None:
        super().__init__()
        self._seeded = seeded
        self._name, self._declare, self._run, self._version = name, declare, run, version
        self._data: dict[str, Records] = {}

    def _request(self, line: bytes) -> m.NumberedRequest:
        return _REQUEST.validate_json(line)

    def _result(self, request: m.NumberedRequest) -> WireModel:
        match request:
            case m.StartRequest():
                return self._start()
            case d.DeclaredDataRequest():
                points = Records(unpack(request.features, "features"), np.array(request.labels))
                self._data[request.name] = points
                return m.DataResult(records=points.count, columns=int(points.features.shape[1]))
            case d.DeclareRequest():
                told = {"name": self._name, **self._declare(request.parameters, request.records, request.columns)}
                return Declaration.model_validate_json(json.dumps(told))
            case d.RecordRequest():
                return self._record(request)
            case d.OwnTrialsRequest():
                runs = [self._once(request, DeclaredRun(_seed(request, r))) for r in range(request.count)]
                return d.OwnTrialsResult(runs=[run.released() for run in runs])
            case _:
                self.stopped = True
                return m.StopResult()

    def _start(self) -> m.DeclaredStart:
        return m.DeclaredStart(
            protocol=m.PROTOCOL,
            name=self._name,
            version=self._version,
            language="python",
            declared=[self._name],
            capabilities=[m.Capability.RECORD, m.Capability.TRIALS] + [m.Capability.SEED] * self._seeded,
        )

    def _record(self, request: d.RecordRequest) -> d.RecordResult:
        outputs = None
        if request.outputs is not None:
            outputs = {name: unpack(array, name) for name, array in request.outputs.items()}
        return self._once(request, DeclaredRun(_seed(request, 0), outputs, request.batches)).recorded()

    def _once(self, request: d.RecordRequest | d.OwnTrialsRequest, run: DeclaredRun) -> DeclaredRun:
        if request.data not in self._data:
            raise InvalidData(f"no data set has the name {request.data!r}")
        self._run(self._data[request.data], request.parameters, run)
        return run


def _seed(request: d.RecordRequest | d.OwnTrialsRequest, number: int) -> list[int] | None:
    return None if request.seed is None else [request.seed, number]


def _stacked(arrays: Sequence[Floats]) -> PackedArray:
    return pack(np.array(arrays, dtype=np.float64))
