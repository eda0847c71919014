"""A check with s^2 < p <= s is rerun with fresh randomness; a smaller p, or no second run, stays refuted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from audits.gate.claim_file import read_claim_file
from audits.gate.findings import GateReport
from audits.gate.options import CONFORMANCE_SHARE
from audits.gate.run import GateOptions, run_gate
from audits.trials.executors import executor
from tests.audits.gate.test_gate import REFERENCE, claim_file
from verification.conformance.check import Check, Family, Observation
from verification.conformance.context import Context
from verification.outcome import Outcome
from verification.wire.faults import AdapterError, AdapterFault, Fault, ProtocolStep

SHARE = 1e-3 * CONFORMANCE_SHARE
NARROW = 0.5 * SHARE


def gated(
    answers: list[float | AdapterError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, statistical: bool = True
) -> tuple[GateReport, list[float]]:
    """A gate whose only check gives these answers, one after the other; and the harness's draw at each."""
    left: Iterator[float | AdapterError] = iter(answers)
    draws: list[float] = []

    def run(context: Context) -> Observation:
        draws.append(float(context.rng.random()))
        answer = next(left)
        if isinstance(answer, AdapterError):
            raise answer
        return Observation(answer, "as told")

    check = Check("told", Family.NOISE, "nothing", (), run, statistical)
    monkeypatch.setattr("audits.gate.conform_stage.CHECKS", (check,))
    with executor(1) as pool:
        claims = read_claim_file(claim_file(tmp_path, REFERENCE))
        return run_gate(claims, pool, GateOptions(5, ("conform",))), draws


def test_what_fresh_draws_do_not_confirm_stands_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, draws = gated([NARROW, 0.7], tmp_path, monkeypatch)
    assert report.findings[0].outcome is Outcome.STANDS
    assert f"told (ssadmm) showed p = {NARROW:.2g}, and 0.7 in fresh runs" in report.findings[0].detail
    assert len(set(draws)) == 2, "the second look must have draws of its own"


def test_what_fresh_draws_confirm_is_refuted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, draws = gated([NARROW, NARROW], tmp_path, monkeypatch)
    assert report.outcome is Outcome.REFUTED
    assert len(draws) == 2


@pytest.mark.parametrize(("first", "statistical"), [(SHARE**2, True), (0.0, False)])
def test_what_is_certain_gets_no_second_chance(
    first: float, statistical: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, draws = gated([first, 1.0], tmp_path, monkeypatch, statistical=statistical)
    assert report.outcome is Outcome.REFUTED
    assert len(draws) == 1


def test_an_implementation_that_fails_at_the_second_look_stays_refuted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = AdapterFault(Fault.CRASHED, ProtocolStep.TRIALS, "gone")
    assert gated([NARROW, fault], tmp_path, monkeypatch)[0].outcome is Outcome.REFUTED


@pytest.mark.parametrize(("again", "outcome"), [(0.7, Outcome.DEVIATES), (NARROW, Outcome.REFUTED)])
def test_an_update_of_its_own_is_judged_after_the_second_look(
    again: float, outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"updates-agree": [0.0], "one-step-sensitivity": [1.0], "noise-variance": [NARROW, again]}
    checks = tuple(told(name, iter(each), statistical=len(each) > 1) for name, each in answers.items())
    monkeypatch.setattr("audits.gate.conform_stage.CHECKS", checks)
    with executor(1) as pool:
        claims = read_claim_file(claim_file(tmp_path, REFERENCE))
        report = run_gate(claims, pool, GateOptions(5, ("conform",)))
    assert {f.outcome for f in report.findings if f.name == "conform: updates-agree"} == {outcome}


def told(name: str, answers: Iterator[float], *, statistical: bool) -> Check:
    """A check that gives these answers, one after the other."""
    return Check(name, Family.NOISE, "nothing", (), lambda _: Observation(next(answers), "as told"), statistical)
