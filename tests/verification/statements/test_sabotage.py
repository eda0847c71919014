"""Sabotaged copies of the packages: every statement notices at least one, by its name, and faults at none."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from dpadmm.statements import STATEMENTS
from tests.mutants.arena import ROOT, ask, prepare, verify
from tests.mutants.patches import Mutant
from tests.verification.statements.sabotage import ALSO, TEN, TURNED_BY

EVERY: dict[tuple[str, str, str], Mutant] = {}
"""The changes, each once, with all the statements that notice it."""
for _mutant in (*TURNED_BY.values(), *ALSO):
    _change = _mutant.path, _mutant.old, _mutant.new
    _known = EVERY.get(_change, replace(_mutant, suspects=()))
    EVERY[_change] = replace(_known, suspects=(*_known.suspects, *_mutant.suspects))


def test_every_statement_has_a_change_of_the_shipped_code_that_turns_it() -> None:
    assert {statement.id for statement in STATEMENTS} == TURNED_BY.keys()
    assert len(TEN) == 10


@pytest.mark.parametrize("mutant", [*TEN.values(), *EVERY.values()], ids=lambda mutant: mutant.id)
def test_every_sabotage_has_its_place(mutant: Mutant) -> None:
    text = (ROOT / mutant.path).read_text("utf-8")
    assert text.count(mutant.old) == 1
    ast.parse(text.replace(mutant.old, mutant.new))


@pytest.mark.slow
@pytest.mark.parametrize("name", TEN)
def test_dpadmm_verify_names_one_of_the_ten_sabotaged_references(name: str, tmp_path: Path) -> None:
    prepare(tmp_path, TEN[name])
    [suspect] = TEN[name].suspects
    assert verify(tmp_path, [suspect]) == (1, {suspect: "refuted"})


@pytest.mark.slow
@pytest.mark.parametrize("mutant", EVERY.values(), ids=lambda mutant: mutant.id)
def test_statements_notice_their_sabotage(mutant: Mutant, tmp_path: Path) -> None:
    prepare(tmp_path, mutant)
    assert ask(tmp_path, mutant.suspects) == dict.fromkeys(mutant.suspects, "refuted")
