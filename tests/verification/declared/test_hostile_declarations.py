"""Declarations that are hostile or contradict themselves, values that do not arrive, answers that are skipped."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pytest
from pydantic import ValidationError

from tests.verification.declared.inprocess import InProcess, findings
from tests.verification.declared.test_adapters import DECLARATION, Mean
from tests.verification.declared.test_declaration import VALUE, declared, problems
from verification.outcome import Outcome
from verification.served.declared import DeclaredRun
from verification.wire import messages as m
from verification.wire.arrays import WireModel
from verification.wire.declaration import MOST_RELEASES, OpaqueParameters
from verification.wire.faults import AdapterFault, AdapterSkipped, Fault, ProtocolStep
from verification.wire.records import Records
from verification.wire.session import DeclaredAlgorithm

BOX: dict[str, object] = {"kind": "domain", "box": [-1.0, 1.0]}
MODEL: dict[str, object] = {"name": "m", "noise": "none", "from": ["w"]}


@pytest.mark.parametrize(
    "value",
    [
        {"scale": 0.0},
        {"scale": float("inf")},
        {"scale": float("nan")},
        {"scale": "1"},
        {"scale": True},
        {"scale": []},
        {"scale": [1.0, -1.0]},
        {"sensitivity": 0.0},
        {"sensitivity": None},
        {"norm": "linf"},
        {"norm": None},
        {"count": 0},
        {"count": 1.5},
        {"count": MOST_RELEASES + 1},
        {"name": ""},
        {"name": "a b"},
        {"name": "x\x1b[31m"},
        {"name": "x" * 100_000},
        {"uses": "some"},
        {"enters": "elsewhere"},
        {"enters": "objective"},
        {"jacobian": -1.0, "enters": "objective", "noise": "gamma-norm"},
        {"noise": "discrete-gaussian"},
        {"noise": "discrete-gaussian", "grid": 0.0},
        {"secret": 1},
    ],
    ids=str,
)
def test_a_value_of_another_shape_is_no_declaration(value: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        declared({**VALUE, **value})


@pytest.mark.parametrize(
    "fields",
    [
        {"values": []},
        {"values": [VALUE, VALUE]},
        {"neighbours": "add-or-remove-one"},
        {"neighbours": None},
        {"iterations": 0},
        {"iterations": MOST_RELEASES + 1},
        {"iterations": True},
        {"stopping": "when-done"},
        {"bound": None},
        {"bound": {"kind": "domain"}},
        {"bound": {"kind": "clip"}},
        {"bound": {"kind": "none", "radius": 1.0}},
        {"bound": {"kind": "none", "box": [-1.0, 1.0]}},
        {"bound": {"kind": "clip", "box": [-1.0, 1.0]}},
        {"bound": {"kind": "domain", "box": [1.0, -1.0]}},
        {"bound": {"kind": "domain", "box": [0.0, 1e300]}},
        {"bound": {"kind": "clip", "radius": 1e308}},
        {"bound": {"kind": "clip", "radius": -1.0}},
        {"bound": {**BOX, "labels": [1.0, 1.0]}},
        {"sampling": {"kind": "poisson"}},
        {"sampling": {"kind": "poisson", "rate": 0.0}},
        {"sampling": {"kind": "poisson", "rate": 1.5}},
        {"sampling": {"kind": "poisson", "rate": 0.5, "batch": 3}},
        {"sampling": {"kind": "without-replacement"}},
        {"sampling": {"kind": "without-replacement", "batch": 0}},
        {"sampling": {"kind": "all", "batch": 3}},
        {"sampling": {"kind": "shuffle"}},
        {"sampling": {"kind": "fixed-order", "rate": 0.5}},
        {"secret": 1},
    ],
    ids=str,
)
def test_a_declaration_of_another_shape_is_none(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        declared(**fields)


@pytest.mark.parametrize(
    ("values", "fields", "pure", "message"),
    [
        ([MODEL], {}, False, "nothing that is released has noise"),
        ([VALUE | {"noise": "discrete-gaussian", "grid": 1.0}], {}, True, "no finite epsilon at delta 0"),
        ([VALUE | {"from": ["w"]}], {}, False, "computed from w, of which nothing is declared"),
        ([VALUE, MODEL | {"from": ["w", "w2"]}], {}, False, "w2, of which nothing is declared"),
        ([VALUE | {"noise": "gamma-norm", "norm": "l1"}], {}, False, "hides an l2 sensitivity"),
        ([VALUE | {"sensitivity": [0.5] * 4}], {"iterations": 3}, False, "4 entries for 3 releases"),
        ([VALUE | {"count": 2, "scale": [1.0]}], {"iterations": 9}, False, "1 entries for 2 releases"),
        (
            [VALUE],
            {"sampling": {"kind": "poisson", "rate": 0.5, "amplification": "without-replacement"}},
            False,
            "drawn poisson and priced as without-replacement",
        ),
        (
            [VALUE],
            {"sampling": {"kind": "all", "amplification": "poisson"}},
            False,
            "drawn all and priced as poisson",
        ),
        (
            [VALUE],
            {"sampling": {"kind": "without-replacement", "batch": 3, "amplification": "with-replacement"}},
            False,
            "drawn without-replacement and priced as with-replacement",
        ),
    ],
)
def test_more_that_no_run_could_make_true(
    values: list[dict[str, object]], fields: dict[str, object], pure: bool, message: str
) -> None:
    assert message in problems(declared(*values, **fields), pure=pure)


class Skipping(InProcess):
    """Answers `skipped` to requests of some kind."""

    kinds: frozenset[str] = frozenset()

    def exchange(self, request: WireModel, step: ProtocolStep, limit: int | None) -> bytes:
        asked = json.loads(m.line_of(request))
        if asked["request"] in self.kinds:
            return m.line_of(m.Answer[m.StopResult](id=asked["id"], skipped=m.Skipped(reason="not today")))
        return super().exchange(request, step, limit)


def skipping(*kinds: str) -> Skipping:
    asked = Skipping("mean", lambda _p, _n, _c: DECLARATION, Mean())
    asked.kinds = frozenset(kinds)
    return asked


@pytest.mark.parametrize("kinds", [("data",), ("record",), ("trials",), ("record", "trials"), ("data", "trials")])
def test_what_is_skipped_is_never_a_fault_nor_an_accusation(kinds: tuple[str, ...]) -> None:
    found = {f.name: f for f in findings(skipping(*kinds), {}, epsilon="0.3", delta="0", seed=2, effort=0.05)}
    outcomes = {f.outcome for f in found.values()}
    assert Outcome.SKIPPED in outcomes
    assert outcomes <= {Outcome.SKIPPED, Outcome.STANDS}
    assert (found["sensitivity"].outcome is Outcome.SKIPPED) == (kinds != ("trials",))


def test_a_declaration_that_is_skipped_says_so() -> None:
    asked = skipping("declare")
    with pytest.raises(AdapterSkipped, match="not today"):
        asked.declare(DeclaredAlgorithm("mean", {}), 24, 3)


def releasing(run: object, told: Mapping[str, object] = DECLARATION) -> InProcess:
    return InProcess("mean", lambda _p, _n, _c: told, run)  # type: ignore[arg-type]  # wrong on purpose


def only_sometimes(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
    """The sign is released only where the mean is positive."""
    before = data.features.mean(axis=0)
    released = run.release("mean", before, run.laplace(len(before), 1.0))
    if released[0] > 0:
        run.processed("sign", released)


def under_another_name(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
    before = data.features.mean(axis=0)
    run.processed("Sign", run.release("mean", before, run.laplace(len(before), 1.0)))


def without_what_was_before(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
    run.processed("sign", run.processed("mean", data.features.mean(axis=0)))


def noise_on_what_has_none(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
    before = data.features.mean(axis=0)
    run.release("sign", run.release("mean", before, run.laplace(len(before), 1.0)), run.laplace(len(before), 1.0))


def undeclared_batches(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
    before = data.features[run.batch(data.count, 3)].mean(axis=0)
    run.processed("sign", run.release("mean", before, run.laplace(len(before), 1.0)))


def not_finite(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
    before = data.features.mean(axis=0)
    run.processed("sign", run.release("mean", before, run.laplace(len(before), 1.0)) * float("inf"))


def noise_of_another_shape(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
    before = data.features.mean(axis=0)
    run.processed("sign", run.release("mean", before, run.laplace(1, 1.0)))


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        (only_sometimes, Fault.UNDECLARED),
        (under_another_name, Fault.UNDECLARED),
        (without_what_was_before, Fault.UNDECLARED),
        (noise_on_what_has_none, Fault.UNDECLARED),
        (undeclared_batches, Fault.UNDECLARED),
        (not_finite, Fault.NOT_FINITE),
        (noise_of_another_shape, Fault.WRONG_SHAPE),
    ],
)
def test_what_arrives_is_what_is_declared_or_a_fault(run: object, fault: Fault) -> None:
    with pytest.raises(AdapterFault) as caught:
        list(findings(releasing(run), {}, epsilon="0.3", delta="0", seed=2, effort=0.05))
    assert caught.value.fault is fault


def longer_on_some_data(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
    before = data.features.mean(axis=0)
    before = np.tile(before, 2) if data.features[0, 0] > 0 else before
    run.processed("sign", run.release("mean", before, run.laplace(len(before), 1.0)))


def test_a_shape_that_depends_on_a_record_is_refuted() -> None:
    found = {
        f.name: f for f in findings(releasing(longer_on_some_data), {}, epsilon="0.3", delta="0", seed=1, effort=0.05)
    }
    finding = found["data-independence"]
    assert finding.outcome is Outcome.REFUTED
    assert "mean has shape" in finding.detail
    assert "epsilon is then infinite" in finding.detail
    assert found["noise"].outcome is Outcome.INCONCLUSIVE


def without_numbers(data: Records, _parameters: OpaqueParameters, run: DeclaredRun) -> None:
    run.processed("sign", run.release("mean", np.zeros(0), run.laplace(0, float(data.count))))


def test_values_without_any_number_are_inconclusive() -> None:
    found = findings(releasing(without_numbers), {}, epsilon="0.3", delta="0", seed=2, effort=0.05)
    assert {f.outcome for f in found if f.name == "noise"} == {Outcome.INCONCLUSIVE}


class SeldomReleased(Mean):
    """Releases nothing at all in some runs, whatever the data: an empty array of releases is an answer."""

    def __call__(self, data: Records, parameters: OpaqueParameters, run: DeclaredRun) -> None:
        super().__call__(data, parameters, run)
        if float(run.gaussian(1, 1.0)[0]) > 0:
            for shown in run._shown.values():
                shown.clear()
            run._order.clear()


class Emptied(InProcess):
    """Stacks of no releases keep their width."""

    def exchange(self, request: WireModel, step: ProtocolStep, limit: int | None) -> bytes:
        told = json.loads(super().exchange(request, step, limit))
        none = {"shape": [0, 3], "base64": ""}
        if step is ProtocolStep.RECORD and told["result"]["values"]["mean"].get("before") is None:
            told["result"]["values"] = {"mean": dict.fromkeys(("released", "before", "noise"), none)}
            told["result"]["values"]["sign"] = {"released": none}
        return json.dumps(told).encode()


def test_a_value_that_is_not_released_in_some_runs_accuses_nobody_of_having_no_noise() -> None:
    told = {**DECLARATION, "stopping": "from-released"}
    asked = Emptied("mean", lambda _p, _n, _c: told, SeldomReleased())
    found = {f.name: f for f in findings(asked, {}, epsilon="0.3", delta="0", seed=2, effort=0.05)}
    assert found["noise"].outcome is Outcome.INCONCLUSIVE, found["noise"]
    assert Outcome.REFUTED not in {f.outcome for f in found.values()}, found


def test_batches_that_are_declared_and_not_shown_are_a_fault() -> None:
    told = {**DECLARATION, "sampling": {"kind": "poisson", "rate": 0.5}, "neighbours": "add-or-remove"}
    with pytest.raises(AdapterFault, match="batches are declared and not shown"):
        list(findings(releasing(Mean(), told), {}, epsilon="0.3", delta="0", seed=2, effort=0.05))


def test_a_declaration_about_another_algorithm_is_a_fault() -> None:
    with pytest.raises(AdapterFault, match="asked was about"):
        releasing(Mean(), {**DECLARATION, "name": "other"}).declare(DeclaredAlgorithm("mean", {}), 24, 3)
