"""Every kind of accountant gets its verdict: the wrong ones are refuted, honest and loose ones stand."""

from __future__ import annotations

import json
import sys
from fractions import Fraction

import pytest
from click.testing import CliRunner

from accountant.mechanisms.words import Neighbours, Sampling
from accountant.numbers import exact, fraction_of
from dpadmm.cli import group
from tests.zoo.accountants import SEED, questions
from verification.accountants.judging import (
    AccountantReport,
    AnswerVerdict,
    confirmed,
    enclosure,
    judge,
    judge_all,
    request_of,
)
from verification.accountants.questions import Quantity, golden_questions, random_questions
from verification.outcome import Outcome
from verification.wire.process import Limits

LIMITS = Limits(request_seconds=60, start_seconds=60)
ASKED = questions()


def asked(kind: str) -> AccountantReport:
    command = [sys.executable, "-m", "tests.zoo.accountants", kind]
    return judge_all(command, ASKED, LIMITS)


@pytest.mark.parametrize(
    ("kind", "verdict", "outcome"),
    [
        ("honest", AnswerVerdict.VALID, Outcome.STANDS),
        ("loose", AnswerVerdict.VALID, Outcome.STANDS),
        ("short", AnswerVerdict.UNSOUND, Outcome.REFUTED),
        ("zero", AnswerVerdict.UNSOUND, Outcome.REFUTED),
        ("refusing", AnswerVerdict.REFUSED, Outcome.INCONCLUSIVE),
        ("nan", AnswerVerdict.CRASHED, Outcome.ADAPTER_FAILED),
        ("negative", AnswerVerdict.CRASHED, Outcome.ADAPTER_FAILED),
        ("raising", AnswerVerdict.CRASHED, Outcome.ADAPTER_FAILED),
    ],
)
def test_every_kind_of_accountant_gets_its_verdict(kind: str, verdict: AnswerVerdict, outcome: Outcome) -> None:
    report = asked(kind)
    assert {each.verdict for each in report.judged} == {verdict}
    assert report.outcome is outcome
    if kind == "loose":
        assert all(
            each.loose is None or abs(each.loose - Fraction(1, 2)) < Fraction(1, 10**6) for each in report.judged
        )


def test_half_the_sensitivity_is_found_unaided_and_only_where_a_record_is_replaced() -> None:
    report = asked("half")
    for each in report.judged:
        replaced = each.question.neighbours is Neighbours.REPLACE_ONE
        assert (each.verdict is AnswerVerdict.UNSOUND) == replaced
        if replaced:
            assert each.detail.startswith("confirmed by")
    assert report.outcome is Outcome.REFUTED


def test_an_accountant_that_dies_is_asked_the_next_question() -> None:
    report = asked("dying")
    for each in report.judged:
        dies = each.question.quantity is Quantity.EPSILON
        assert each.verdict is (AnswerVerdict.CRASHED if dies else AnswerVerdict.VALID)


def test_the_command_prints_the_refutation_and_exits_1() -> None:
    fake = [sys.executable, "-m", "tests.zoo.accountants", "half"]
    result = CliRunner().invoke(
        group, ["vectors", "accountant", "--no-golden", "--random", "4", "--seed", str(SEED), "--", *fake]
    )
    assert result.exit_code == 1
    assert "at least" in result.output
    assert f"seed {SEED}" in result.output
    as_json = CliRunner().invoke(
        group,
        [
            "vectors",
            "accountant",
            "--no-golden",
            "--random",
            "2",
            "--seed",
            str(SEED),
            "--format",
            "json",
            "--",
            *fake[:-1],
            "nan",
        ],
    )
    assert as_json.exit_code == 4
    assert {each["verdict"] for each in json.loads(as_json.output)["answers"]} == {"crashed"}


@pytest.mark.parametrize(("kind", "code"), [("refusing", 3), ("nan", 4)])
def test_the_table_of_an_accountant_without_one_valid_answer_is_printed(kind: str, code: int) -> None:
    fake = [sys.executable, "-m", "tests.zoo.accountants", kind]
    result = CliRunner().invoke(
        group, ["vectors", "accountant", "--no-golden", "--random", "2", "--seed", str(SEED), "--", *fake]
    )
    assert result.exit_code == code, result.output
    assert "of 2 questions; seed" in result.output


def test_an_answer_at_either_end_is_not_refuted_and_one_short_of_it_is() -> None:
    question = ASKED[-1]
    assert question.sampling is Sampling.WITHOUT_REPLACEMENT
    ends = enclosure(question)
    lower, upper = fraction_of(ends.lower), fraction_of(ends.upper)
    assert judge(question, str(lower)).verdict is not AnswerVerdict.UNSOUND
    assert judge(question, str(upper)).verdict is AnswerVerdict.VALID
    assert judge(question, str(lower * Fraction(99999, 100000))).verdict is AnswerVerdict.UNSOUND
    assert judge(question, "inf").verdict is AnswerVerdict.VALID


def test_questions_are_their_own_and_the_same_seed_asks_the_same() -> None:
    golden = golden_questions()
    assert len(golden) > 300
    assert len({q.id for q in golden}) == len(golden)
    assert random_questions(30, 5) == random_questions(30, 5)
    assert random_questions(30, 5) != random_questions(30, 6)
    for q in golden:
        assert exact("noise", str(request_of(q)["noise"])) == q.noise


@pytest.mark.slow
def test_every_golden_lower_end_is_confirmed_by_the_second_route() -> None:
    """Every eighth golden question: no enclosure rests on one route."""
    for question in golden_questions()[::8]:
        ends = enclosure(question)
        assert ends.lower <= ends.upper
        assert confirmed(question, fraction_of(ends.lower))
