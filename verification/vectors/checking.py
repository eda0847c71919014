"""Run an implementation through the vectors, over the wire."""

from __future__ import annotations

import enum
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from verification.vectors import model
from verification.vectors.recipe import Recipe, read
from verification.vectors.wire import PlainSession, data_fields, parameter_fields, replay_fields
from verification.wire.faults import AdapterFault, AdapterRefusal, AdapterSkipped, Step
from verification.wire.messages import Capability, StartResult
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.process import Limits
from verification.wire.records import Records, Run

ITERATES = ("x", "z", "y")


class Outcome(enum.StrEnum):
    """What came of one case."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class Conclusion(enum.StrEnum):
    """What came of all of them, in the precedence of exit codes."""

    MISMATCH = "mismatch"
    ADAPTER_FAILED = "adapter failed"
    NOTHING_CHECKED = "nothing checked"
    AGREES = "agrees"


@dataclass(frozen=True, slots=True)
class Result:
    """One case, what came of it, and where it went wrong."""

    id: str
    flags: tuple[str, ...]
    outcome: Outcome
    detail: str


@dataclass(slots=True)
class Report:
    """Everything that was seen."""

    description: StartResult | None = None
    results: list[Result] = field(default_factory=list)
    fault: AdapterFault | None = None

    def count(self, outcome: Outcome) -> int:
        """How many cases came out so."""
        return sum(result.outcome is outcome for result in self.results)

    @property
    def conclusion(self) -> Conclusion:
        """A mismatch is one whatever else happened; nothing checked is never a pass."""
        if self.count(Outcome.FAILED):
            return Conclusion.MISMATCH
        if self.fault is not None:
            return Conclusion.ADAPTER_FAILED
        return Conclusion.AGREES if self.count(Outcome.PASSED) else Conclusion.NOTHING_CHECKED


def check_adapter(
    command: Sequence[str],
    cases: Sequence[model.Case],
    limits: Limits | None = None,
    progress: Callable[[Result], None] | None = None,
) -> Report:
    """Start an adapter and play every case; a fault of the adapter ends the run and is in the report."""
    report = Report()
    try:
        session = PlainSession(command, limits)
        with session:
            report.description = session.description
            for result in _results(session, cases):
                report.results.append(result)
                if progress is not None:
                    progress(result)
    except AdapterFault as fault:
        report.fault = fault
    return report


def _results(session: PlainSession, cases: Sequence[model.Case]) -> Iterator[Result]:
    for case in cases:
        recipe = read(case)
        lacking = not_offered(session.description, recipe)
        if lacking:
            yield Result(case.id, recipe.flags, Outcome.SKIPPED, f"not offered: {', '.join(lacking)}")
            continue
        try:
            wrong = _wrong(session, case, recipe)
        except AdapterSkipped as skipped:
            yield Result(case.id, recipe.flags, Outcome.SKIPPED, skipped.reason)
        else:
            yield Result(case.id, recipe.flags, Outcome.FAILED if wrong else Outcome.PASSED, wrong or "")


def not_offered(description: StartResult, recipe: Recipe) -> list[str]:
    """What a case needs and the adapter did not declare."""
    offered = {str(v) for v in (*description.algorithms, *description.losses, *description.regularizers)}
    needed = {
        Capability.REPLAY: True,
        Capability.INITIAL: recipe.start is not None,
        Capability.CLIP: recipe.clip is not None,
        Capability.NORMALISE: recipe.normalise is not None,
        Capability.INTERCEPT: recipe.intercept,
        Capability.PRIMAL: recipe.release == "primal",
    }
    names = [name for name in (recipe.algorithm, recipe.loss, recipe.regularizer) if name not in offered]
    return names + [str(c) for c, wanted in needed.items() if wanted and c not in description.capabilities]


def _wrong(session: PlainSession, case: model.Case, recipe: Recipe) -> str | None:
    """What is wrong with how the implementation treats a case; None if nothing is."""
    if case.error is not None:
        return _wrongly_accepted(session, recipe, case.error)
    records = Records(recipe.features, np.array(recipe.labels, dtype=np.int64))
    parameters = Parameters.model_validate(parameter_fields(recipe))
    try:
        name = session.send(records, may_refuse=True)
        run = session.replay(
            name, Algorithm(recipe.algorithm), parameters, recipe.noise, recipe.batches, may_refuse=True
        )
    except AdapterRefusal as refusal:
        return f"refused a valid case as {refusal.kind}: {refusal.message}"
    return None if case.expected is None else first_difference(case.expected, run)


def _wrongly_accepted(session: PlainSession, recipe: Recipe, error: model.Refusal) -> str | None:
    name = f"D{secrets.token_hex(6)}"
    try:
        session.ask_plainly(data_fields(recipe, name), Step.DATA)
        session.ask_plainly(replay_fields(recipe, name), Step.REPLAY)
    except AdapterRefusal as refusal:
        if refusal.kind in error.kinds:
            return None
        return f"refused as {refusal.kind} ({refusal.message}), expected {' or '.join(error.kinds)}: {error.about}"
    return f"accepted what must be refused: {error.about}"


def first_difference(expected: model.Expected, run: Run) -> str | None:
    """Where an iterate is first outside its tolerance, in the order in which they are computed."""
    for k in range(len(expected.x)):
        for name in ITERATES:
            for j, value in enumerate(getattr(expected, name)[k]):
                got = float(run.values[name][k, j])
                if not value.admits(got):
                    return f"{name}[{j}] after iteration {k + 1} is {got!r}, {described(value)}"
    return None


def described(value: model.Value) -> str:
    """An expected value and its tolerance in words."""
    nearest = repr(model.from_bits(value.bits))
    if value.low is not None and value.high is not None:
        return f"expected {nearest}, from {value.low[0]} to {value.high[0]}"
    return f"expected {nearest}" + (f" within {value.ulp} ulp" if value.ulp else " exactly")
