"""Neighbours with as many records, of which one contributes nothing in the second: what is removed shifts no other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.verification.declared.inprocess import InProcess, findings
from verification.outcome import Outcome
from verification.served.declared import DeclaredRun
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters
from verification.wire.records import Records

SCALE, PARTIES, CLIP = 0.5, 3, 1.0


def gradients(data: Records) -> Floats:
    """Clipped gradients of the logistic loss at 0; an empty record has none."""
    rows = -0.5 * data.features * data.labels[:, None]
    return np.asarray(rows * np.minimum(1.0, CLIP / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)))


def by_party(data: Records) -> Floats:
    """The sum of each party, which has an equal share of the records, a row each."""
    return np.array([part.sum(axis=0) for part in np.array_split(gradients(data), PARTIES)])


def mean_of_those_present(data: Records) -> Floats:
    """Divides by the number of records that are not empty, which is private."""
    present = max(1, int(np.sum(data.features.any(axis=1))))
    found: Floats = gradients(data).sum(axis=0, keepdims=True) * data.count / present
    return found


def intercept_of_squared_loss(data: Records) -> Floats:
    """An empty record still has the residual 1 - 0 in a column of ones."""
    rows = np.column_stack([data.features, np.ones(data.count)]) * (1.0 - data.labels)[:, None]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    short: Floats = rows * np.minimum(1.0, CLIP / np.maximum(lengths, 1e-300))
    return np.asarray(short.sum(axis=0, keepdims=True))


def judged(value: Callable[[Records], Floats], sensitivity: float, relation: str = "zero-out") -> dict[str, Outcome]:
    def declare(_parameters: OpaqueParameters, _records: int, _columns: int) -> dict[str, object]:
        told = {"name": "x", "noise": "gaussian", "scale": SCALE, "sensitivity": sensitivity, "norm": "l2"}
        return {"neighbours": relation, "bound": {"kind": "clip", "radius": CLIP}, "values": [told]}

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        before = value(data)
        run.release("x", before, run.gaussian(before.shape, SCALE))

    found = findings(InProcess("zero", declare, run), {}, epsilon="20", delta="1e-5", seed=4, effort=0.1, size=(24, 3))
    return {finding.name: finding.outcome for finding in found}


def test_sums_of_parties_stand_at_half_the_sensitivity_of_replaced_records() -> None:
    assert set(judged(by_party, CLIP).values()) == {Outcome.STANDS}


@pytest.mark.parametrize(
    ("value", "sensitivity", "relation"),
    [
        (by_party, CLIP / 2, "zero-out"),
        (by_party, CLIP, "replace-one"),
        (by_party, CLIP, "add-or-remove"),  # the records that are left belong to other parties
        (mean_of_those_present, CLIP, "zero-out"),
        (intercept_of_squared_loss, CLIP, "zero-out"),
    ],
)
def test_what_moves_further_is_refuted(value: Callable[[Records], Floats], sensitivity: float, relation: str) -> None:
    assert judged(value, sensitivity, relation)["sensitivity"] is Outcome.REFUTED
