"""Adapters that hide what they do: shown one way and run another, wrong late, rarely or at some size only."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import cast

import numpy as np
import pytest

from tests.verification.declared.inprocess import InProcess, findings
from tests.verification.declared.test_mechanisms import MECHANISMS, SEED, SIZE, module
from tests.zoo.declared.wrong import LATE, WrongRun, wrong
from verification.outcome import Finding, Outcome
from verification.served.declared import Declare, DeclaredRun, RunOnce
from verification.wire import messages as m
from verification.wire.arrays import WireModel
from verification.wire.declaration import OpaqueParameters
from verification.wire.faults import AdapterFault, Fault, ProtocolStep
from verification.wire.records import Records


def judge(
    session: InProcess, name: str, parameters: OpaqueParameters | None = None, epsilon: str = "", *, seed: int = SEED
) -> dict[str, Finding]:
    own, claimed, delta = MECHANISMS[name]
    found = findings(session, parameters or own, epsilon=epsilon or claimed, delta=delta, seed=seed, size=SIZE)
    return {finding.name: finding for finding in found}


class TwoFaced(InProcess):
    """Adds noise where it is looked at from the inside, and none in runs of its own without a seed."""

    def exchange(self, request: WireModel, step: ProtocolStep, limit: int | None) -> bytes:
        asked = json.loads(m.line_of(request))
        self.hidden = asked["request"] == "trials" and asked.get("seed") is None
        return super().exchange(request, step, limit)


def two_faced(name: str) -> InProcess:
    honest = cast("RunOnce", module(name).run)

    def run(data: Records, parameters: OpaqueParameters, run: DeclaredRun) -> None:
        honest(data, parameters, WrongRun(run, data, "no noise" if session.hidden else ""))

    session = TwoFaced.__new__(TwoFaced)
    session.hidden = False
    TwoFaced.__init__(session, name, cast("Declare", module(name).declare), run)
    return session


@pytest.mark.parametrize(
    "name", ["laplace_gradient", *(pytest.param(n, marks=pytest.mark.slow) for n in ("squared_loss",))]
)
def test_runs_of_its_own_without_noise_are_refuted(name: str) -> None:
    assert judge(two_faced(name), name)["own-runs"].outcome is Outcome.REFUTED


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace_gradient", "poisson_sgd"])
@pytest.mark.parametrize("mistake", ["no noise without a seed", "no noise at large n"])
def test_noise_that_is_missing_somewhere_is_refuted(name: str, mistake: str) -> None:
    finding = judge(wrong(name, module(name), mistake), name)["noise"]
    assert finding.outcome is Outcome.REFUTED, finding
    assert "epsilon is then infinite" in finding.detail


@pytest.mark.slow
def test_noise_that_ends_after_a_thousand_iterations_is_refuted() -> None:
    name = "laplace_gradient"
    parameters = {**MECHANISMS[name][0], "iterations": LATE + 2}
    finding = judge(wrong(name, module(name), "no noise late"), name, parameters, "200")["noise"]
    assert finding.outcome is Outcome.REFUTED, finding


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mistake", "check"),
    [
        ("scale by the largest norm", "data-independence"),
        ("stops on what has no noise", "data-independence"),
        ("more releases on some data", "data-independence"),
    ],
)
def test_what_depends_on_the_data_is_refuted(mistake: str, check: str) -> None:
    finding = judge(wrong("laplace_gradient", module("laplace_gradient"), mistake), "laplace_gradient")[check]
    assert finding.outcome is Outcome.REFUTED, finding
    assert "epsilon is" in finding.detail


def clip_of_the_mean(data: Records, parameters: OpaqueParameters, run: DeclaredRun) -> None:
    """As laplace_gradient, but the mean is scaled down and not every gradient."""
    clip, scale, eta = (float(cast("float", parameters[key])) for key in ("clip", "scale", "eta"))
    x = np.zeros(data.features.shape[1])
    for _ in range(int(cast("int", parameters["iterations"]))):
        margins = np.clip(data.labels * (data.features @ x), -700.0, 700.0)
        mean = np.mean(-(data.labels / (1.0 + np.exp(margins)))[:, None] * data.features, axis=0)
        mean = mean * min(1.0, clip / max(float(np.abs(mean).sum()), 1e-300))
        x = x - eta * run.release("gradient", mean, run.laplace(len(x), scale))
        run.processed("model", x)


def test_clipping_the_sum_in_place_of_every_gradient_is_refuted_with_its_epsilon() -> None:
    session = InProcess("laplace_gradient", cast("Declare", module("laplace_gradient").declare), clip_of_the_mean)
    finding = judge(session, "laplace_gradient")["sensitivity"]
    assert finding.outcome is Outcome.REFUTED
    assert "epsilon at delta 0 is then" in finding.detail


def test_an_undeclared_value_is_a_fault() -> None:
    with pytest.raises(AdapterFault) as caught:
        judge(wrong("laplace_gradient", module("laplace_gradient"), "an undeclared value"), "laplace_gradient")
    assert caught.value.fault is Fault.UNDECLARED


def test_a_declared_value_that_never_arrives_is_a_fault() -> None:
    honest = cast("Declare", module("laplace_gradient").declare)

    def declare(parameters: OpaqueParameters, records: int, columns: int) -> Mapping[str, object]:
        told = dict(honest(parameters, records, columns))
        more = {"name": "never", "noise": "none", "from": ["gradient"]}
        return {**told, "values": [*cast("list[object]", told["values"]), more]}

    with pytest.raises(AdapterFault) as caught:
        judge(
            InProcess("laplace_gradient", declare, cast("RunOnce", module("laplace_gradient").run)), "laplace_gradient"
        )
    assert caught.value.fault is Fault.UNDECLARED


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace_gradient", "poisson_sgd", "output_perturbation"])
@pytest.mark.parametrize("difference", ["more noise", "single precision", "another generator"])
def test_honest_differences_are_not_refuted(name: str, difference: str) -> None:
    found = judge(wrong(name, module(name), difference), name, seed=secrets.randbits(64))
    assert not [finding for finding in found.values() if finding.outcome is Outcome.REFUTED], found
    assert difference == "more noise" or {f.outcome for f in found.values()} == {Outcome.STANDS}, found


def random_start(data: Records, parameters: OpaqueParameters, run: DeclaredRun) -> None:
    """As laplace_gradient, from a random point that is no secret."""
    clip, scale, eta = (float(cast("float", parameters[key])) for key in ("clip", "scale", "eta"))
    x = run.gaussian(data.features.shape[1], 1.0)
    for _ in range(int(cast("int", parameters["iterations"]))):
        margins = np.clip(data.labels * (data.features @ x), -700.0, 700.0)
        gradients = -(data.labels / (1.0 + np.exp(margins)))[:, None] * data.features
        lengths = np.abs(gradients).sum(axis=1, keepdims=True)
        mean = np.mean(gradients * np.minimum(1.0, clip / np.maximum(lengths, 1e-300)), axis=0)
        x = x - eta * run.release("gradient", mean, run.laplace(len(x), scale))
        run.processed("model", x)


@pytest.mark.slow
@pytest.mark.parametrize("seeded", [True, False])
def test_a_random_start_and_an_adapter_without_seeds_are_not_refuted(*, seeded: bool) -> None:
    declare = cast("Declare", module("laplace_gradient").declare)
    for run in (random_start, cast("RunOnce", module("laplace_gradient").run)):
        found = judge(
            InProcess("laplace_gradient", declare, run, seeded=seeded), "laplace_gradient", seed=secrets.randbits(64)
        )
        assert not [finding for finding in found.values() if finding.outcome is Outcome.REFUTED], found
