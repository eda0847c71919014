"""Sabotaged copies of the reference and of the accountant: every statement notices at least one, by its name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from dpadmm.statements import STATEMENTS
from tests.mutants.arena import ROOT, ask, prepare
from tests.verification.statements.sabotage import TEN, TURNED_BY


def test_every_statement_has_a_change_of_the_shipped_code_that_turns_it() -> None:
    assert {statement.id for statement in STATEMENTS} == TURNED_BY.keys()
    assert len(TEN) == 10


def test_every_sabotage_has_its_place() -> None:
    for mutant in (*TEN.values(), *TURNED_BY.values()):
        text = (ROOT / mutant.path).read_text("utf-8")
        assert text.count(mutant.old) == 1, mutant.id
        ast.parse(text.replace(mutant.old, mutant.new))


@pytest.mark.slow
@pytest.mark.parametrize("name", TEN)
def test_one_of_the_ten_sabotaged_references_is_named_by_its_statement(name: str, tmp_path: Path) -> None:
    prepare(tmp_path, TEN[name])
    [suspect] = TEN[name].suspects
    assert ask(tmp_path, (suspect,)) == {suspect: "refuted"}


@pytest.mark.slow
@pytest.mark.parametrize("statement", [name for name in TURNED_BY if TURNED_BY[name].id not in TEN])
def test_a_statement_notices_its_sabotage(statement: str, tmp_path: Path) -> None:
    prepare(tmp_path, TURNED_BY[statement])
    assert ask(tmp_path, (statement,))[statement] in ("refuted", "fault")
