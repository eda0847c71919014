"""Questions about a declared algorithm, and answers that are validated before they are used.

Every answer has passed: JSON, schema, id, declared names, shapes that belong together, finiteness. What the shapes are
and how many releases there are is the algorithm's own business, and for the checks to compare.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from accountant.mechanisms.words import Sampling
from verification.wire import declared_messages as d
from verification.wire import messages as m
from verification.wire.arrays import ArrayError, Floats, WireArray, pack, unpack
from verification.wire.conversation import SMALL_ANSWER, DescribedConversation
from verification.wire.declaration import Declaration, DeclaredValue, NoiseKind
from verification.wire.faults import Fault, ProtocolStep
from verification.wire.process import Limits


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPoints:
    """n records: features of shape [n, p] and n labels."""

    features: Floats
    labels: Floats

    @property
    def count(self) -> int:
        """n."""
        return len(self.labels)


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
class DeclaredQuestion:
    """Which algorithm at which parameters."""

    algorithm: str
    parameters: d.OpaqueParameters


class DeclaredSession(DescribedConversation[d.DeclaredStart]):
    """One adapter process that has an algorithm of its own."""

    def __init__(self, command: Sequence[str], limits: Limits | None = None) -> None:
        super().__init__(command, limits)
        self.description = self._describe(m.Answer[d.DeclaredStart])

    def declare(self, question: DeclaredQuestion, records: int, columns: int) -> Declaration:
        """What the algorithm releases at these parameters."""
        request = d.DeclareRequest(
            id=self._next_id(),
            algorithm=question.algorithm,
            parameters=question.parameters,
            records=records,
            columns=columns,
        )
        found = self._ask(request, m.Answer[Declaration], ProtocolStep.DECLARE, None)
        if found.name != question.algorithm:
            detail = f"asked was about {question.algorithm!r}, declared is {found.name!r}"
            raise self.fault(Fault.UNDECLARED, ProtocolStep.DECLARE, detail)
        return found

    def send(self, points: LabelledPoints) -> str:
        """Send records and return the name they now have, which says nothing."""
        name = f"D{secrets.token_hex(6)}"
        request = d.DeclaredDataRequest(
            id=self._next_id(), name=name, features=pack(points.features), labels=points.labels.tolist()
        )
        result = self._ask(request, m.Answer[m.DataResult], ProtocolStep.DATA, SMALL_ANSWER)
        if (result.records, result.columns) != points.features.shape:
            detail = f"it understood {result.records} records of {result.columns} features"
            raise self.fault(Fault.WRONG_SHAPE, ProtocolStep.DATA, detail)
        return name

    def record(
        self,
        data: str,
        question: DeclaredQuestion,
        declaration: Declaration,
        *,
        seed: int | None = None,
        outputs: Mapping[str, Floats] | None = None,
        batches: Sequence[Sequence[int]] | None = None,
    ) -> Recorded:
        """One run from the inside."""
        request = d.RecordRequest(
            id=self._next_id(),
            data=data,
            algorithm=question.algorithm,
            parameters=question.parameters,
            seed=seed,
            outputs=None if outputs is None else {name: pack(array) for name, array in outputs.items()},
            batches=None if batches is None else [list(batch) for batch in batches],
        )
        result = self._ask(request, m.Answer[d.RecordResult], ProtocolStep.RECORD, None)
        self._same_names(set(result.values), declaration, ProtocolStep.RECORD)
        drawn = declaration.sampling.kind is not Sampling.ALL
        if drawn != (result.batches is not None):
            detail = "batches are declared and not shown" if drawn else "batches are shown and not declared"
            raise self.fault(Fault.UNDECLARED, ProtocolStep.RECORD, detail)
        values = {v.name: self._value(v, result.values[v.name]) for v in declaration.values}
        public = {name: self._array(array, name, ProtocolStep.RECORD) for name, array in result.public.items()}
        counts = Counter({name: len(value.released) for name, value in values.items()})
        if result.order is not None and Counter(result.order) != counts:
            detail = f"order must name every release once, got {_shortened(result.order)}"
            raise self.fault(Fault.WRONG_SHAPE, ProtocolStep.RECORD, detail)
        return Recorded(values, result.batches or [], public, tuple(result.order or ()))

    def trials(
        self, data: str, question: DeclaredQuestion, declaration: Declaration, count: int, *, seed: int | None = None
    ) -> list[dict[str, Floats]]:
        """Runs with the adapter's own randomness: for each what was released, [releases, ...]."""
        request = d.OwnTrialsRequest(
            id=self._next_id(),
            data=data,
            algorithm=question.algorithm,
            parameters=question.parameters,
            count=count,
            seed=seed,
        )
        result = self._ask(request, m.Answer[d.OwnTrialsResult], ProtocolStep.TRIALS, None)
        if len(result.runs) != count:
            raise self.fault(Fault.WRONG_SHAPE, ProtocolStep.TRIALS, f"{count} runs asked for, got {len(result.runs)}")
        for run in result.runs:
            self._same_names(set(run.released), declaration, ProtocolStep.TRIALS)
        return [
            {name: self._array(array, name, ProtocolStep.TRIALS) for name, array in run.released.items()}
            for run in result.runs
        ]

    def _same_names(self, given: set[str], declaration: Declaration, step: ProtocolStep) -> None:
        declared = {value.name for value in declaration.values}
        if given != declared:
            detail = f"declared are {sorted(declared)}, released were {sorted(given)}"
            raise self.fault(Fault.UNDECLARED, step, detail)

    def _value(self, value: DeclaredValue, shown: d.ShownValue) -> RecordedValue:
        step = ProtocolStep.RECORD
        released = self._array(shown.released, value.name, step)
        if value.noise is NoiseKind.NONE:
            if shown.before is not None or shown.noise is not None:
                raise self.fault(Fault.UNDECLARED, step, f"{value.name} is declared without noise and shows some")
            empty = np.zeros((0, 0))
            return RecordedValue(rows(released), empty, empty, released.shape[1:])
        if shown.before is None or shown.noise is None:
            raise self.fault(
                Fault.UNDECLARED, step, f"{value.name} must show what it was before its noise, and the noise"
            )
        before = self._array(shown.before, f"{value.name} before its noise", step)
        noise = self._array(shown.noise, f"the noise of {value.name}", step)
        if not before.shape == noise.shape == released.shape:
            detail = (
                f"{value.name}: before {before.shape}, noise {noise.shape} and released {released.shape} must agree"
            )
            raise self.fault(Fault.WRONG_SHAPE, step, detail)
        return RecordedValue(rows(released), rows(before), rows(noise), released.shape[1:])

    def _array(self, wire: WireArray, name: str, step: ProtocolStep) -> Floats:
        try:
            array = unpack(wire, name)
        except ArrayError as error:
            raise self.fault(Fault.WRONG_SHAPE, step, str(error)) from None
        if array.ndim == 0:
            raise self.fault(Fault.WRONG_SHAPE, step, f"the first axis of {name} must be the release")
        if not np.isfinite(array).all():
            raise self.fault(Fault.NOT_FINITE, step, f"{name} holds NaN or infinity")
        return array


def _shortened(names: list[str]) -> str:
    """The first few."""
    return ", ".join(names[:8]) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")


def rows(array: Floats) -> Floats:
    """[releases, numbers], a scalar of each release as one number."""
    return array.reshape(len(array), math.prod(array.shape[1:]))
