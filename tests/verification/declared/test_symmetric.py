"""Symmetric matrices with symmetric noise, as in private principal components: every number counts once."""

from __future__ import annotations

import numpy as np
import pytest

from tests.verification.declared.inprocess import InProcess, findings, named_epsilon
from verification.outcome import Finding, Outcome
from verification.served.declared import DeclaredRun
from verification.served.observed import Observed
from verification.served.serve import NotOfferedError
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters
from verification.wire.faults import AdapterFault, Fault
from verification.wire.records import Records

N, COLUMNS, SCALE, MOVES = 24, 3, 0.4, np.sqrt(2.0) / 24
HIDDEN = ("sensitivity", "post-processing", "data-independence", "noise", "own-runs")


def mirrored(upper: Floats) -> Floats:
    """The symmetric matrix with this upper triangle."""
    whole: Floats = np.triu(upper) + np.triu(upper, 1).T
    return whole


def second_moments(data: Records) -> Floats:
    """The mean of x x', whose upper triangle moves by at most sqrt(2)/n, as records are no longer than 1."""
    moments: Floats = data.features.T @ data.features / data.count
    return moments


def session(kind: str, *, declares: bool = True, steps: int = 2) -> InProcess:
    """Noisy second moments, and a step that follows the ones released before."""

    def declare(_parameters: OpaqueParameters, _records: int, _columns: int) -> dict[str, object]:
        value = {"name": "moments", "noise": "gaussian", "scale": SCALE, "norm": "l2", "sensitivity": MOVES}
        value |= {"symmetric": True} if declares else {}
        domain = {"kind": "domain", "radius": 1.0}
        return {"neighbours": "replace-one", "bound": domain, "values": [value], "iterations": steps}

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        before = second_moments(data)
        for _ in range(steps):
            noise = run.gaussian((COLUMNS, COLUMNS), SCALE)
            full = {
                "honest": mirrored(noise),
                "half the noise": mirrored(noise) / 2,
                "one draw for all": np.full((COLUMNS, COLUMNS), noise[0, 0]),
                "independent": noise,
            }[kind]
            released = run.release("moments", before, full)
            before = second_moments(data) + released / 2

    return InProcess("symmetric", declare, run)


def judged(tested: InProcess) -> dict[str, Finding]:
    """Findings at effort 0.1, by the name of the question."""
    found = findings(tested, {}, epsilon="3", delta="1e-5", seed=3, size=(N, COLUMNS), effort=0.1)
    return {finding.name: finding for finding in found}


def test_an_honest_symmetric_matrix_stands() -> None:
    assert {found.outcome for found in judged(session("honest")).values()} == {Outcome.STANDS}


@pytest.mark.parametrize(("kind", "infinite"), [("half the noise", False), ("one draw for all", True)])
def test_wrong_noise_of_a_symmetric_matrix_is_refuted(kind: str, infinite: bool) -> None:
    found = judged(session(kind))["noise"]
    assert found.outcome is Outcome.REFUTED
    assert (named_epsilon(found.detail) == np.inf) is infinite


def test_what_is_not_declared_symmetric_accuses_nobody_and_is_told_what_to_declare() -> None:
    found = judged(session("honest", declares=False))
    assert {found[name].outcome for name in HIDDEN} == {Outcome.INCONCLUSIVE}
    assert all("declare it `symmetric`" in found[name].detail for name in HIDDEN)


def test_what_is_declared_symmetric_and_is_not_is_a_fault_of_the_adapter() -> None:
    with pytest.raises(AdapterFault) as raised:
        judged(session("independent"))
    assert raised.value.fault is Fault.WRONG_SHAPE


def test_symmetric_noise_is_followed_in_observed_code() -> None:
    """`np.tril(noise) + np.tril(noise, -1).T` is noise, and its sum with the value a release."""

    def train(features: Floats, _labels: Floats, _parameters: OpaqueParameters) -> Floats:
        noise = np.random.default_rng().normal(0.0, SCALE, (COLUMNS, COLUMNS))
        return features.T @ features / N + (np.tril(noise) + np.tril(noise, -1).T)

    data, run = Records(np.full((N, COLUMNS), 0.5), np.ones(N)), DeclaredRun([5])
    Observed(train, None, None, {"normal": "moments"})(data, {}, run)
    _, before, noise = run.shown("moments")[0]
    assert before is not None
    assert noise is not None
    np.testing.assert_allclose(before, second_moments(data))
    assert np.array_equal(noise, noise.T)
    assert noise.all()


def test_one_triangle_alone_is_not_taken_for_the_noise_of_a_value() -> None:
    """Else the value would seem to leave without noise above its diagonal, before the other triangle is added."""

    def train(features: Floats, _labels: Floats, _parameters: OpaqueParameters) -> Floats:
        noise = np.random.default_rng().normal(0.0, SCALE, (COLUMNS, COLUMNS))
        return features.T @ features / N + np.tril(noise) + np.tril(noise, -1).T

    data = Records(np.full((N, COLUMNS), 0.5), np.ones(N))
    with pytest.raises(NotOfferedError, match="No longer followed after: add"):
        Observed(train, None, None, {"normal": "moments"})(data, {}, DeclaredRun([5]))
