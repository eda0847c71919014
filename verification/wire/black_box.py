"""A conversation in which nothing is declared: records in, whatever is released out.

`start` must answer `protocol` and `name`; everything else in it is ignored. `trials` carries the data set, the count, a
seed if one is wanted, and whatever members the caller adds (an algorithm and parameters for an adapter of protocol 1,
or anything that the adapter understands). Its answer is any set of named arrays whose first axis is the trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, Literal, TypeAlias

import numpy as np
from pydantic import JsonValue, NonNegativeInt, PositiveInt, model_serializer, model_validator

from verification.wire import messages as m
from verification.wire.arrays import ArrayError, Floats, WireArray, WireModel, pack, unpack
from verification.wire.conversation import SMALL_ANSWER, Conversation, ResultT
from verification.wire.faults import Fault, ProtocolStep
from verification.wire.process import Limits
from verification.wire.records import Records

Values: TypeAlias = dict[str, Floats]
_OWN = ("id", "request", "data", "count", "seed")


class OpaqueStart(m.AdapterName, extra="ignore"):
    """All that is asked of an adapter before it is run."""


class OpaqueData(WireModel, extra="ignore"):
    """How many records were understood; may be left out."""

    records: int | None = None


class OpaqueTrialsRequest(WireModel):
    """Run `count` times with your own randomness; `more` are the members that the caller adds, null ones included."""

    id: NonNegativeInt
    request: Literal["trials"] = "trials"
    data: m.Name
    count: PositiveInt
    seed: m.Seed | None
    more: dict[str, JsonValue]

    @model_serializer
    def _flat(self) -> dict[str, JsonValue]:
        own: dict[str, JsonValue] = {"id": self.id, "request": self.request, "data": self.data, "count": self.count}
        return own | self.more | ({} if self.seed is None else {"seed": self.seed})


class OpaqueRun(WireModel, extra="allow", strict=False, allow_inf_nan=True):
    """Named arrays, beside each other or under `released`."""

    __pydantic_extra__: dict[str, WireArray | dict[str, WireArray]]

    def arrays(self) -> dict[str, WireArray]:
        """All of them."""
        found: dict[str, WireArray] = {}
        for name, part in self.__pydantic_extra__.items():
            found |= part if isinstance(part, dict) else {name: part}
        return found


class OpaqueStop(m.StopResult):
    """Whatever it says last."""

    @model_validator(mode="before")
    @classmethod
    def _anything(cls, _said: object) -> dict[str, object]:
        return {}


class OpaqueAnswer(m.Answer[ResultT], Generic[ResultT], extra="ignore"):
    """An answer that may hold members of its own beside result, skipped or error."""


class BlackBoxSession(Conversation[OpaqueStart]):
    """One adapter process; every request may be refused (`AdapterRefusal`)."""

    def __init__(
        self, command: Sequence[str], limits: Limits | None = None, request: Mapping[str, JsonValue] | None = None
    ) -> None:
        self._more = dict(request or {})
        clash = sorted(set(self._more) & set(_OWN))
        if clash:
            raise ValueError(f"these members of a request are set by the audit: {', '.join(clash)}")
        super().__init__(command, limits)
        self.description = self._describe(OpaqueAnswer[OpaqueStart])

    @property
    def name(self) -> str:
        """What the adapter calls itself."""
        return self.description.name

    def send(self, records: Records, name: str) -> None:
        """Send records under a name."""
        request = m.DataRequest(
            id=self._next_id(), name=name, features=pack(records.features), labels=records.labels.tolist()
        )
        result = self._ask(request, OpaqueAnswer[OpaqueData], ProtocolStep.DATA, SMALL_ANSWER, may_refuse=True)
        if result.records is not None and result.records != records.count:
            detail = f"it understood {result.records} records, sent were {records.count}"
            raise self.fault(Fault.WRONG_SHAPE, ProtocolStep.DATA, detail)

    def trials(self, data: str, count: int, seed: int | None) -> Values:
        """Run ``count`` times; every array has ``count`` as its first axis, and may hold NaN and infinity."""
        request = OpaqueTrialsRequest(id=self._next_id(), data=data, count=count, seed=seed, more=self._more)
        result = self._ask(request, OpaqueAnswer[OpaqueRun], ProtocolStep.TRIALS, None, may_refuse=True)
        try:
            values = {name: unpack(array, name) for name, array in result.arrays().items()}
        except ArrayError as error:
            raise self.fault(Fault.WRONG_SHAPE, ProtocolStep.TRIALS, str(error)) from None
        if not values:
            raise self.fault(Fault.BAD_ANSWER, ProtocolStep.TRIALS, "the result holds no array: nothing was released")
        for name, array in values.items():
            if array.ndim < 1 or array.shape[0] != count:
                detail = f"the first axis of {name} must be the trial, {count} of them; got shape {list(array.shape)}"
                raise self.fault(Fault.WRONG_SHAPE, ProtocolStep.TRIALS, detail)
        return values

    def stop(self) -> None:
        """Ask it to stop, and check that it ends cleanly and leaves no process."""
        request = m.StopRequest(id=self._next_id())
        self._ask(request, OpaqueAnswer[OpaqueStop], ProtocolStep.STOP, SMALL_ANSWER, may_refuse=True)
        self._process.finish()


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
