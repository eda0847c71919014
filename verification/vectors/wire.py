"""Cases as plain JSON of the wire, without validation, so that invalid cases reach the implementation."""

from __future__ import annotations

import json
from collections.abc import Mapping

from verification.vectors.recipe import Recipe
from verification.wire import messages as m
from verification.wire.arrays import Floats, pack
from verification.wire.faults import AdapterRefusal, AdapterSkipped, Fault, ProtocolStep
from verification.wire.session import Session

Fields = dict[str, object]


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
