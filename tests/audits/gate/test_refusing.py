"""What refuses a part of the requests is judged by the rest: never accused for it, never a fault, never let off."""

from __future__ import annotations

import sys

import pytest

from audits.games.game import Subject
from audits.games.sequential import learned_game
from tests.audits.gate.honest.campaign import claim_text, honest_gate
from tests.audits.gate.honest.claimed import asked_at_the_claimed_size
from tests.zoo.honest.refusing import NAMES
from verification.conform import conform
from verification.judge import Plan, Result
from verification.outcome import Outcome
from verification.questions.catalogue import find
from verification.wire.faults import AdapterFault
from verification.wire.parameters import Algorithm
from verification.wire.session import Session

RARE = 1e-9


def command(name: str, *more: str) -> list[str]:
    return [sys.executable, "-m", "tests.zoo.honest.refusing", name, *more]


def answers(name: str, *more: str, questions: tuple[str, ...] = ()) -> dict[str, Result]:
    """What is asked of ssADMM at a small claim."""
    asked = command(name, *more)
    return asked_at_the_claimed_size(asked, claim_text(asked, 0, str(RARE)), Plan(RARE, 60.0, 1), questions)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_claimed_size_is_looked_at_whatever_else_is_refused(name: str) -> None:
    found = answers(name)
    assert not any(a.outcome in (Outcome.REFUTED, Outcome.DEVIATES) for a in found.values())
    if name == "without-a-seed":
        assert found["silent"].outcome is Outcome.INCONCLUSIVE
        assert "a seed is needed" in found["silent"].reason
    else:
        wanted = ("silent", "mixed", "marked", "data-shapes", "many-runs")
        assert {q: found[q].outcome for q in wanted} == dict.fromkeys(wanted, Outcome.STANDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name != "without-a-seed"])
def test_who_refuses_is_refuted_all_the_same(name: str) -> None:
    assert answers(name, "noise/2", questions=("silent",))["silent"].outcome is Outcome.REFUTED


def test_a_refused_question_is_left_out_by_name_and_with_the_reason() -> None:
    questions = find(("updates-agree", "silent", "marked"))
    plan = Plan(RARE, float("inf"), 1, seeded=False, effort=0.1)
    report = conform(command("small-data"), plan, questions=questions)
    assert report.fault is None
    assert {f.outcome for f in report.findings} == {Outcome.SKIPPED}
    modes = [f for f in report.findings if "at least 100 records" in f.detail]
    assert {f.name.partition("/")[0] for f in modes} == {question.name for question in questions}


def test_games_are_played_on_more_records_where_few_are_refused() -> None:
    with Session(command("small-data")) as session:
        subject = Subject(Algorithm.SSADMM)
        result = learned_game(session, subject, 1, seeded=False, alpha=RARE)
    assert result.outcome is Outcome.STANDS


def test_an_error_inside_is_a_fault_and_no_refusal() -> None:
    line = 'import sys; sys.stdout.write(\'{"id": 1, "error": {"kind": "internal", "message": "oh"}}\\n\')'
    with pytest.raises(AdapterFault) as caught:
        Session([sys.executable, "-c", f"import sys; sys.stdin.readline(); {line}; sys.stdout.flush()"])
    assert type(caught.value) is AdapterFault


@pytest.mark.slow
def test_a_whole_gate_stands_on_what_was_run_and_names_what_was_not() -> None:
    report = honest_gate(command("small-data"), 0, str(RARE), power="noise/2")
    assert report.outcome is Outcome.STANDS
    assert any("100 records" in item.reason for item in report.coverage.skipped)
    assert any("64-times-the-records" in f.name for f in report.findings)


@pytest.mark.slow
def test_a_whole_gate_of_short_runs_refused_is_inconclusive_with_the_reason() -> None:
    report = honest_gate(command("short-runs"), 0, str(RARE), power="noise/2")
    assert report.outcome is Outcome.INCONCLUSIVE
    assert any("10 iterations" in f.detail for f in report.findings if f.outcome is Outcome.INCONCLUSIVE)
