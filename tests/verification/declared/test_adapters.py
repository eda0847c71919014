"""Adapters that offer less, or contradict themselves: never a pass, and no accusation."""

from __future__ import annotations

import numpy as np
import pytest

from tests.verification.declared.inprocess import InProcess, findings
from verification.outcome import Finding, Outcome
from verification.served.declared import DeclaredRun
from verification.wire.declaration import OpaqueParameters
from verification.wire.faults import AdapterFault, AdapterSkipped, Fault
from verification.wire.messages import Capability
from verification.wire.records import Records

DECLARATION = {
    "neighbours": "replace-one",
    "bound": {"kind": "domain", "box": [-1.0, 1.0]},
    "values": [
        {"name": "mean", "noise": "laplace", "scale": 1.0, "norm": "l1", "sensitivity": 0.25},
        {"name": "sign", "noise": "none", "from": ["mean"]},
    ],
}


class Mean:
    """A mean with Laplace noise, and its sign, which may be blurred by randomness of its own."""

    def __init__(self, *, blurred: bool = False) -> None:
        self._blurred = blurred

    def __call__(self, data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        before = data.features.mean(axis=0)
        released = run.release("mean", before, run.laplace(len(before), 1.0))
        blur = np.random.default_rng().normal(size=len(released)) if self._blurred else 0.0
        run.processed("sign", np.sign(released) + blur)


def session(mean: Mean, *, seeded: bool = True) -> InProcess:
    return InProcess("mean", lambda _p, _n, _c: DECLARATION, mean, seeded=seeded)


def judged(asked: InProcess) -> dict[str, Finding]:
    return {f.name: f for f in findings(asked, {}, epsilon="0.3", delta="0", seed=2, effort=0.05)}


def test_an_error_of_the_code_is_told_with_its_line_and_is_no_fault_of_the_data() -> None:
    def run(_data: Records, _parameters: OpaqueParameters, _run: DeclaredRun) -> None:
        raise KeyError("theirs")

    asked = InProcess("mean", lambda _p, _n, _c: DECLARATION, run)
    found = judged(asked)["noise"]
    assert found.outcome is Outcome.SKIPPED
    assert "error internal: KeyError: 'theirs' (test_adapters.py:" in found.detail
    assert 'raise KeyError("theirs")' in found.detail


def test_without_runs_from_the_inside_only_the_price_is_known() -> None:
    asked = session(Mean())
    asked.description = asked.description.model_copy(update={"capabilities": [Capability.TRIALS]})
    found = judged(asked)
    assert found["account"].outcome is Outcome.STANDS
    assert {f.outcome for name, f in found.items() if name != "account"} == {Outcome.SKIPPED}


def test_a_request_that_is_skipped_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = session(Mean())

    def skipped(*_args: object, **_options: object) -> object:
        raise AdapterSkipped("not today")

    monkeypatch.setattr(asked, "record", skipped)
    found = judged(asked)
    assert found["sensitivity"].outcome is Outcome.SKIPPED
    assert found["noise"].outcome is Outcome.SKIPPED


def test_without_given_released_values_noise_is_still_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = session(Mean())
    honest = asked.record

    def alone(*args: object, **options: object) -> object:
        if options.get("outputs") is not None:
            raise AdapterSkipped("not with these")
        return honest(*args, **options)  # type: ignore[arg-type]  # handed on as they came

    monkeypatch.setattr(asked, "record", alone)
    found = judged(asked)
    assert {found[name].outcome for name in ("account", "noise", "own-runs")} == {Outcome.STANDS}
    assert "not with these" in found["sensitivity"].detail


def test_post_processing_with_randomness_of_its_own_accuses_nobody() -> None:
    found = judged(session(Mean(blurred=True), seeded=False))
    assert found["post-processing"].outcome is Outcome.INCONCLUSIVE
    assert "two runs on the same data" in found["post-processing"].detail
    assert Outcome.REFUTED not in {f.outcome for f in found.values()}


def test_a_seed_that_does_not_repeat_is_a_fault() -> None:
    with pytest.raises(AdapterFault) as caught:
        judged(session(Mean(blurred=True)))
    assert caught.value.fault is Fault.IGNORES_SEED


def test_trials_that_are_not_the_recorded_runs_are_a_fault() -> None:
    asked = session(Mean())
    honest = asked.declared_trials

    def other(*args: object, **options: object) -> object:
        runs = honest(*args, **options)  # type: ignore[arg-type]  # handed on as they came
        return [{name: array * 1.5 for name, array in run.items()} for run in runs] if options.get("seed") else runs

    asked.declared_trials = other  # type: ignore[assignment, method-assign]  # one adapter that answers two ways
    with pytest.raises(AdapterFault) as caught:
        judged(asked)
    assert caught.value.fault is Fault.CONTRADICTION


@pytest.mark.parametrize("swapped", [True, False])
def test_an_order_that_depends_on_a_record_is_refuted(*, swapped: bool) -> None:
    def declare(_parameters: OpaqueParameters, _records: int, _columns: int) -> dict[str, object]:
        value = {"noise": "laplace", "scale": 1.0, "norm": "l1", "sensitivity": 0.25}
        return {**DECLARATION, "values": [{"name": name, **value} for name in ("a", "b")]}

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        names = ("b", "a") if swapped and data.features[0, 0] > 0.5 else ("a", "b")
        for name in names:
            run.release(name, data.features.mean(axis=0), run.laplace(data.features.shape[1], 1.0))

    found = findings(InProcess("both", declare, run), {}, epsilon="0.51", delta="0", seed=2)
    finding = next(f for f in found if f.name == "data-independence")
    assert finding.outcome is (Outcome.REFUTED if swapped else Outcome.STANDS), finding
    assert not swapped or ("leaves on one where" in finding.detail and "epsilon is then infinite" in finding.detail)


def test_an_order_that_is_not_that_of_the_releases_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = DeclaredRun.recorded
    monkeypatch.setattr(DeclaredRun, "recorded", lambda run: honest(run).model_copy(update={"order": ["mean"]}))
    with pytest.raises(AdapterFault) as caught:
        judged(session(Mean()))
    assert caught.value.fault is Fault.WRONG_SHAPE


@pytest.mark.parametrize("counted", [True, False])
def test_records_that_nothing_bounds_may_be_counted_and_not_added(*, counted: bool) -> None:
    """Labels are counted in a release of sensitivity 1; a sum of features has no sensitivity at all."""

    def declare(_parameters: OpaqueParameters, _records: int, _columns: int) -> dict[str, object]:
        value = {"name": "count", "noise": "laplace", "scale": 2.0, "sensitivity": 1.0, "norm": "l1"}
        return {"neighbours": "replace-one", "bound": {"kind": "none"}, "values": [value]}

    def run(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
        before = np.array([np.sum(data.labels > 0) if counted else data.features.sum()], dtype=np.float64)
        run.release("count", before, run.laplace(1, 2.0))

    found = findings(InProcess("count", declare, run), {}, epsilon="0.50001", delta="0", seed=3)
    outcomes = {finding.name: finding.outcome for finding in found}
    assert outcomes["sensitivity"] is (Outcome.STANDS if counted else Outcome.REFUTED)
    assert not counted or set(outcomes.values()) == {Outcome.STANDS}, outcomes
