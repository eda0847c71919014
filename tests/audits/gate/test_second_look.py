"""A question with s^2 < p <= s is asked again with fresh randomness; with a smaller p it refutes at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from audits.games.executors import executor
from audits.gate.claim_file import read_claim_file
from audits.gate.questions import SHARE as SHARES
from audits.gate.report import GateReport
from audits.gate.run import GateOptions, run_gate
from tests.audits.gate.test_gate import REFERENCE, claim_file
from verification.outcome import Outcome
from verification.questions.question import OBSERVABLE, Answer, Question, Size
from verification.reading.context import Claimed, Clock, Context
from verification.statistics.test import Aspect, Cause, Test
from verification.wire.faults import AdapterError, AdapterFault, Fault, ProtocolStep

Told = float | AdapterError
FALSE_ALARM = "1e-3"
SHARE = float(FALSE_ALARM) * SHARES[Size.SMALL] / 2
"""Half of a stage that has one statistical question: the other half is that of all runs together."""
NARROW = 0.5 * SHARE


def told(name: str, answers: Iterator[Told], draws: list[float], *, statistical: bool) -> Question:
    """A question that gives these answers, one after the other; and the harness's draw at each."""

    def ask(context: Context, _claimed: Claimed | None, _clock: Clock) -> Answer:
        draws.append(float(context.rng.random()))
        answer = next(answers)
        if isinstance(answer, AdapterError):
            raise answer
        test = Test(name, Aspect.NOISE, answer, "as told", Cause.NOISE_SMALL, deterministic=not statistical)
        return Answer(name, "small sizes", 0, (test,), (Aspect.NOISE,))

    return Question(name, ask, "nothing", (), (Size.SMALL,), needs=OBSERVABLE, statistical=statistical)


def gated(
    answers: list[Told], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, statistical: bool = True
) -> tuple[GateReport, list[float]]:
    """A gate whose only question gives these answers, one after the other; and the harness's draw at each."""
    draws: list[float] = []
    question = told("told", iter(answers), draws, statistical=statistical)
    monkeypatch.setattr("verification.questions.catalogue.QUESTIONS", (question,))
    with executor(1) as pool:
        level = ('false_alarm = "1e-6"', f'false_alarm = "{FALSE_ALARM}"')
        claims = read_claim_file(claim_file(tmp_path, REFERENCE, level))
        return run_gate(claims, pool, GateOptions(5, ("small",))), draws


def test_what_fresh_draws_do_not_confirm_stands_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, draws = gated([NARROW, 0.7], tmp_path, monkeypatch)
    assert report.findings[0].outcome is Outcome.STANDS
    assert f"told (ssadmm) showed p = {NARROW:.2g}, not confirmed by fresh runs" in report.findings[0].detail
    assert len(set(draws)) == 2, "the second time must have draws of its own"


def test_what_fresh_draws_confirm_is_refuted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, draws = gated([NARROW, NARROW], tmp_path, monkeypatch)
    assert report.outcome is Outcome.REFUTED
    assert len(draws) == 2


def test_what_is_larger_than_the_share_stands_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, draws = gated([1.01 * SHARE], tmp_path, monkeypatch)
    assert report.findings[0].outcome is Outcome.STANDS
    assert len(draws) == 1


@pytest.mark.parametrize(("first", "statistical"), [(SHARE**2, True), (0.0, False)])
def test_what_is_certain_gets_no_second_chance(
    first: float, statistical: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, draws = gated([first, 1.0], tmp_path, monkeypatch, statistical=statistical)
    assert report.outcome is Outcome.REFUTED
    assert len(draws) == 1


def test_an_implementation_that_fails_at_the_second_time_does_not_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = AdapterFault(Fault.CRASHED, ProtocolStep.TRIALS, "gone")
    assert gated([NARROW, fault], tmp_path, monkeypatch)[0].outcome in (Outcome.REFUTED, Outcome.ADAPTER_FAILED)
