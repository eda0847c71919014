"""What `gate --init` asks for on a terminal: answers become the [statement] of a claim file that can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from audits.gate.claim_file import TEMPLATE, StatementTable, read_claim_file
from dpadmm.cli.gate import QUESTIONS, statement_answers, with_statement


def written(tmp_path: Path, answers: dict[str, str]) -> StatementTable:
    path = tmp_path / "claim.toml"
    path.write_text(with_statement(TEMPLATE, answers), encoding="utf-8")
    return read_claim_file(path).statement


def test_there_is_a_question_for_each_line() -> None:
    assert set(QUESTIONS) == set(StatementTable.model_fields)
    assert all(f"# {key} = " in TEMPLATE for key in QUESTIONS)


@pytest.mark.parametrize("answer", ["one person", 'said "so" \\ and\nmore', "größer \\1 & <b>"])
def test_answers_are_read_back_as_they_were_given(tmp_path: Path, answer: str) -> None:
    answers = statement_answers(lambda question: f"  {answer} " if question == QUESTIONS["trust"] else "")
    assert written(tmp_path, answers) == StatementTable(trust=answer)
    assert written(tmp_path, dict.fromkeys(QUESTIONS, answer)).hazards == answer


def test_without_answers_the_file_is_the_template(tmp_path: Path) -> None:
    assert with_statement(TEMPLATE, statement_answers(lambda _: " ")) == TEMPLATE
    assert written(tmp_path, {}) == StatementTable()
