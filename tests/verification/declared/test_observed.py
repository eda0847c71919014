"""Code that is only observed: a sum with its noise is a release, wherever it stands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.verification.declared.inprocess import InProcess, findings
from verification.outcome import Outcome
from verification.served.declared import DeclaredRun
from verification.served.observed import drawn, noise, observe
from verification.wire.arrays import Floats
from verification.wire.declaration import OpaqueParameters
from verification.wire.records import Records

SIGMA = 0.5
POINTS = Records(np.eye(3), np.ones(3))


@noise("gradient")
def draw(size: int) -> Floats:
    return np.random.default_rng().normal(0.0, SIGMA, size)


@drawn
def batch(records: int) -> list[int]:
    return list(range(records))


def recorded(form: str) -> tuple[DeclaredRun, Floats]:
    def train(features: Floats, _labels: Floats, _parameters: OpaqueParameters) -> Floats:
        value = features.mean(axis=0)
        if form == "in place":
            value += draw(3)
            return np.asarray(value, dtype=np.float64)
        forms: dict[str, Callable[[], Floats]] = {
            "right": lambda: value + draw(3),
            "left": lambda: draw(3) + value,
            "minus": lambda: value - draw(3),
            "scaled": lambda: value + 2.0 * draw(3) / 2.0,
            "number": lambda: 1.0 + draw(3),
        }
        return forms[form]()

    run = DeclaredRun([1])
    result = observe(train, POINTS, {}, run)
    assert isinstance(result, np.ndarray)
    return run, result


@pytest.mark.parametrize("form", ["right", "left", "minus", "scaled", "in place", "number"])
def test_what_noise_is_added_to_is_released(form: str) -> None:
    run, result = recorded(form)
    assert type(result) is np.ndarray
    shown = run.recorded().values["gradient"]
    assert shown.before is not None
    assert run.released().released["gradient"] == shown.released
    before = np.ones(3) if form == "number" else np.full(3, 1 / 3)
    assert np.allclose(result - before, _unpacked(run), atol=1e-12)


def _unpacked(run: DeclaredRun) -> Floats:
    ((_, _, added),) = run.shown("gradient")
    assert added is not None
    return added


def test_nothing_happens_outside_of_an_observed_run() -> None:
    assert type(draw(3)) is np.ndarray
    assert batch(2).tolist() == [0, 1]


@pytest.mark.parametrize(("leaks", "name"), [(False, ""), (True, "post-processing")])
def test_observed_code_is_judged_like_any_other(leaks: bool, name: str) -> None:
    def train(features: Floats, _labels: Floats, _parameters: OpaqueParameters) -> Floats:
        x = np.zeros(3)
        for _ in range(3):
            gradient = np.clip(features, -1, 1).mean(axis=0) + draw(3)
            x = x - 0.1 * gradient
        return x + (features.mean(axis=0) if leaks else 0.0)

    def run(data: Records, parameters: OpaqueParameters, run: DeclaredRun) -> None:
        run.processed("model", np.asarray(observe(train, data, parameters, run), dtype=np.float64))

    gradient = {"name": "gradient", "noise": "gaussian", "scale": SIGMA, "norm": "l2", "sensitivity": 2 * 3**0.5 / 24}
    values = [gradient, {"name": "model", "noise": "none", "from": ["gradient"], "count": 1}]
    told = {"neighbours": "replace-one", "bound": {"kind": "domain", "box": [-1.0, 1.0]}, "values": values}
    session = InProcess("observed", lambda _p, _n, _c: told | {"iterations": 3}, run, seeded=False)
    found = {f.name: f for f in findings(session, {}, epsilon="3", delta="1e-5", seed=4)}
    refuted = [each for each, finding in found.items() if finding.outcome is Outcome.REFUTED]
    assert refuted == ([name] if leaks else []), found
    assert leaks or {f.outcome for f in found.values()} == {Outcome.STANDS}
