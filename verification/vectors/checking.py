"""Run an implementation through the vectors, over the wire."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from verification.outcome import About, Finding, Outcome, worst
from verification.vectors import model
from verification.vectors.recipe import Recipe, read
from verification.wire import messages as m
from verification.wire.arrays import Floats, pack
from verification.wire.faults import AdapterFault, AdapterRefusal, AdapterSkipped, Fault, ProtocolStep
from verification.wire.messages import Capability, StartResult
from verification.wire.parameters import Algorithm, Parameters
from verification.wire.process import Limits
from verification.wire.records import Records, Run
from verification.wire.session import Session

ITERATES = ("x", "z", "y")
Fields = dict[str, object]


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """Where an iterate is first outside its tolerance."""

    value: str  # x, z or y
    index: int
    iteration: int
    got: float
    expected: model.Value

    def __str__(self) -> str:
        return (
            f"{self.value}[{self.index}] after iteration {self.iteration} is {self.got!r}, {described(self.expected)}"
        )


@dataclass(frozen=True, slots=True)
class CaseFinding(Finding):
    """What a case showed: the bugs it looks for, and what differs first where a value does."""

    flags: tuple[str, ...] = ()
    difference: ValueDifference | None = None
    lacking: tuple[str, ...] = ()  # what the case needs and the adapter does not offer

    @classmethod
    def of(cls, case: model.Case, recipe: Recipe, wrong: str | ValueDifference | None) -> CaseFinding:
        """The conclusion of a case that was played."""
        outcome = Outcome.REFUTED if wrong else Outcome.STANDS
        difference = wrong if isinstance(wrong, ValueDifference) else None
        return cls(About(case.id), outcome, str(wrong or ""), flags=recipe.flags, difference=difference)

    @classmethod
    def skipped(cls, case: model.Case, recipe: Recipe, reason: str, lacking: Sequence[str] = ()) -> CaseFinding:
        """A case that was not played."""
        return cls(About(case.id), Outcome.SKIPPED, reason, flags=recipe.flags, lacking=tuple(lacking))


@dataclass(slots=True)
class VectorsReport:
    """Result of every case."""

    description: StartResult | None = None
    findings: list[CaseFinding] = field(default_factory=list)
    fault: AdapterFault | None = None
    during: str = ""  # the case that was played last: the one that a fault belongs to

    def count(self, outcome: Outcome) -> int:
        """How many cases came out so."""
        return sum(finding.outcome is outcome for finding in self.findings)

    @property
    def outcome(self) -> Outcome:
        """A mismatch is one whatever else happened; nothing checked is never a pass."""
        outcomes = [finding.outcome for finding in self.findings]
        return worst([*outcomes, Outcome.ADAPTER_FAILED] if self.fault is not None else outcomes)


def check_adapter(
    command: Sequence[str],
    cases: Sequence[model.Case],
    limits: Limits | None = None,
    progress: Callable[[CaseFinding], None] | None = None,
    *,
    fail_fast: bool = False,
) -> VectorsReport:
    """Start an adapter and play every case; a fault of the adapter ends the run and is in the report.

    ``fail_fast`` ends it at the first case that does not agree.
    """
    report = VectorsReport()
    try:
        session = PlainSession(command, limits)
        with session:
            report.description = session.description
            for finding in _findings(session, cases, report):
                report.findings.append(finding)
                if progress is not None:
                    progress(finding)
                if fail_fast and finding.outcome is Outcome.REFUTED:
                    break
    except AdapterFault as fault:
        report.fault = fault
    return report


def _findings(session: PlainSession, cases: Sequence[model.Case], report: VectorsReport) -> Iterator[CaseFinding]:
    for case in cases:
        report.during = case.id
        recipe = read(case)
        lacking = not_offered(session.description, recipe)
        if lacking:
            yield CaseFinding.skipped(case, recipe, f"not offered: {', '.join(lacking)}", lacking)
            continue
        try:
            wrong = _wrong(session, case, recipe)
        except AdapterSkipped as skipped:
            yield CaseFinding.skipped(case, recipe, skipped.reason)
        else:
            yield CaseFinding.of(case, recipe, wrong)


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


def _wrong(session: PlainSession, case: model.Case, recipe: Recipe) -> str | ValueDifference | None:
    """What is wrong with how the implementation treats a case; None if nothing is."""
    if case.error is not None:
        return _wrongly_accepted(session, recipe, case.error)
    records = Records(recipe.features, np.array(recipe.labels, dtype=np.int64))
    parameters = Parameters.model_validate(parameter_fields(recipe))
    try:
        name = session.send(records, may_refuse=True)
        run = session.replay(
            name, Algorithm(recipe.algorithm), parameters, noise_arrays(recipe), recipe.batches, may_refuse=True
        )
    except AdapterRefusal as refusal:
        return f"refused a valid case as {refusal.kind}: {refusal.message}"
    return None if case.expected is None else first_difference(case.expected, run)


def _wrongly_accepted(session: PlainSession, recipe: Recipe, error: model.RefusalEntry) -> str | None:
    name = f"D{secrets.token_hex(6)}"
    try:
        session.ask_plainly(data_fields(recipe, name), ProtocolStep.DATA)
        session.ask_plainly(replay_fields(recipe, name), ProtocolStep.REPLAY)
    except AdapterRefusal as refusal:
        if refusal.kind in error.kinds:
            return None
        return f"refused as {refusal.kind} ({refusal.message}), expected {' or '.join(error.kinds)}: {error.about}"
    return f"accepted what must be refused: {error.about}"


def first_difference(expected: model.Expected, run: Run) -> ValueDifference | None:
    """Where an iterate is first outside its tolerance, in the order in which they are computed."""
    rows = {name: run.values[name].reshape(len(expected.x), -1) for name in ITERATES if getattr(expected, name)}
    for k in range(len(expected.x)):
        for name, found in rows.items():
            for j, value in enumerate(getattr(expected, name)[k]):
                got = float(found[k, j])
                if not value.admits(got):
                    return ValueDifference(name, j, k + 1, got, value)
    return None


def described(value: model.Value) -> str:
    """An expected value and its tolerance in words."""
    nearest = repr(model.from_bits(value.bits))
    if value.low is not None and value.high is not None:
        return f"expected {nearest}, from {value.low[0]} to {value.high[0]}"
    return f"expected {nearest}" + (f" within {value.ulp} ulp" if value.ulp else " exactly")


# -- cases as plain JSON of the wire, without validation, so that invalid cases reach the implementation ---------------


def data_fields(recipe: Recipe, name: str) -> Fields:
    """The `data` request, without its id."""
    features = pack(recipe.features).model_dump()
    return {"request": "data", "name": name, "features": features, "labels": list(recipe.labels)}


def replay_fields(recipe: Recipe, name: str) -> Fields:
    """The `replay` request, without its id."""
    fields: Fields = {
        "request": "replay",
        "data": name,
        "algorithm": recipe.algorithm,
        "parameters": parameter_fields(recipe),
        "noise": {key: pack(rows).model_dump() for key, rows in noise_arrays(recipe).items()},
    }
    if recipe.batches is not None:
        fields["batches"] = [list(batch) for batch in recipe.batches]
    return fields


def noise_arrays(recipe: Recipe) -> dict[str, Floats]:
    """The noise in the shapes of the wire: of dpadmm one row a party."""
    if recipe.parties is None:
        return recipe.noise
    return {name: rows.reshape(len(rows), recipe.parties, -1) for name, rows in recipe.noise.items()}


def parameter_fields(recipe: Recipe) -> Fields:
    """The parameters; absent fields left out."""
    options: Fields = {
        "l1_ratio": recipe.l1_ratio,
        "groups": None if recipe.groups is None else [list(group) for group in recipe.groups],
        "shape": None if recipe.shape is None else list(recipe.shape),
        "a": recipe.a,
        "gamma": recipe.gamma,
    }
    fields: Fields = {
        "loss": recipe.loss,
        "regularizer": recipe.regularizer,
        "lambda": recipe.lam,
        "options": _present(options),
        "rho": recipe.rho,
        "eta": list(recipe.eta),
        "iterations": len(recipe.eta),
        "batch": recipe.batch,
        "parties": recipe.parties,
        "inner": recipe.inner,
        "anchor_sigma": recipe.anchor_sigma,
        "epsilon": recipe.epsilon,
        "sigma": recipe.sigma if recipe.epsilon is None else None,
        "clip": recipe.clip,
        "normalise": recipe.normalise,
        "intercept": recipe.intercept,
        "release": recipe.release,
    }
    if recipe.start is not None:
        fields["initial"] = {key: pack(values).model_dump() for key, values in recipe.start.items()}
    return _present(fields)


def _present(fields: Fields) -> Fields:
    return {key: value for key, value in fields.items() if value is not None}


def line_of(fields: Mapping[str, object], identity: int) -> bytes:
    """One line of JSON."""
    return json.dumps({"id": identity, **fields}, allow_nan=False).encode() + b"\n"


class PlainSession(Session):
    """A session that can also send invalid requests."""

    def ask_plainly(self, fields: Fields, step: ProtocolStep) -> None:
        """Ask; return if it was accepted, raise what it answered otherwise."""
        identity = self._next_id()
        line = self._line(line_of(fields, identity), step)
        answer: m.Answer[m.DataResult] | m.Answer[m.RunResult]
        if step is ProtocolStep.DATA:
            answer = self._parse(line, m.Answer[m.DataResult], step)
        else:
            answer = self._parse(line, m.Answer[m.RunResult], step)
        # What could not be read as a request has no id to echo, or none that was found.
        if answer.id not in {identity, 0}:
            raise self.fault(Fault.WRONG_ID, step, f"expected an answer to request {identity}, got one to {answer.id}")
        if answer.skipped is not None:
            raise AdapterSkipped(answer.skipped.reason)
        if answer.error is not None:
            raise AdapterRefusal(answer.error.kind, answer.error.message)
