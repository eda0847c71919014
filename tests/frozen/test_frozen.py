"""Every frozen gate concludes what it did; causes and coverage differ only where `changes.toml` says why."""

from __future__ import annotations

import pytest

from tests.frozen.run import (
    VOCABULARY,
    Change,
    Conclusion,
    conclude,
    differences,
    faulty,
    names,
    read_changes,
    read_record,
)

WAS = Conclusion("refuted", 1, ("batches",), {"ssadmm": ("batches", "noise")}, sometimes=("noise-size",))


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_a_gate_concludes_what_is_frozen(name: str) -> None:
    assert list(differences(name, read_record()[name], conclude(name), read_changes())) == []


def test_at_least_thirty_gates_of_every_kind_are_frozen() -> None:
    record = read_record()
    assert list(record) == names()
    assert len(record) >= 30
    kinds = {name.partition("-")[0] for name in record}
    assert {"reference", "baselines", "honest", "zoo", "production", "declared", "black"} <= kinds
    assert {entry.outcome for entry in record.values()} >= {"stands", "deviates", "refuted", "inconclusive"}
    assert {cause for entry in record.values() for cause in entry.causes} <= set(VOCABULARY.values())


def test_every_change_is_of_a_frozen_gate_and_has_a_reason() -> None:
    assert list(faulty(read_changes(), read_record())) == []


def test_what_differs_is_said_and_a_cause_that_only_some_runs_name_may_be_missing() -> None:
    same = Conclusion("refuted", 1, ("batches",), WAS.covered)
    assert list(differences("one", WAS, same)) == []
    assert list(differences("one", WAS, Conclusion("refuted", 1, ("batches", "noise-size"), WAS.covered))) == []
    for now in (
        Conclusion("stands", 0, ("batches",), WAS.covered),
        Conclusion("refuted", 1, (), WAS.covered),
        Conclusion("refuted", 1, ("batches", "update"), WAS.covered),
        Conclusion("refuted", 1, ("batches",), {"ssadmm": ("batches",)}),
    ):
        assert len(list(differences("one", WAS, now))) == 1


def test_a_change_that_is_meant_must_be_there_and_outcomes_cannot_be_changed() -> None:
    change = Change("one", "causes", ["batches"], ["update"], "the update is what is wrong")
    now = Conclusion("refuted", 1, ("update",), WAS.covered)
    assert list(differences("one", WAS, now, [change])) == []
    assert len(list(differences("one", WAS, WAS, [change]))) == 1
    assert list(faulty([change], {"one": WAS})) == []
    assert len(list(faulty([change, change], {"one": WAS}))) == 1
    for wrong in (
        Change("other", "causes", ["batches"], ["update"], "no such gate"),
        Change("one", "outcome", "refuted", "stands", "outcomes are never changed"),
        Change("one", "causes", ["noise-size"], ["update"], "not what is frozen"),
        Change("one", "causes", ["batches"], ["batches"], "no difference"),
        Change("one", "causes", ["batches"], ["update"], " "),
    ):
        assert len(list(faulty([wrong], {"one": WAS}))) == 1
