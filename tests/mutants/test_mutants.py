"""The checkers under attack: wrong versions of the reference must turn statements or vectors red."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutants.arena import ROOT, ask, prepare
from tests.mutants.patches import MUTANTS, VECTORS, Mutant

DOCUMENT = ROOT / "docs" / "evidence" / "mutants.md"
BY_CLAIM = [mutant for mutant in MUTANTS if mutant.suspects[0] not in {VECTORS, "PROX-FIRM", "E11"}]


def test_there_are_enough_mutants_and_each_patch_has_its_place(tmp_path: Path) -> None:
    assert len(MUTANTS) >= 25
    assert len({mutant.id for mutant in MUTANTS}) == len(MUTANTS)
    for mutant in MUTANTS:
        assert (ROOT / mutant.path).read_text("utf-8").count(mutant.old) == 1, mutant.id
        ast.parse((ROOT / mutant.path).read_text("utf-8").replace(mutant.old, mutant.new))


def test_the_table_lists_every_mutant_and_no_survivor() -> None:
    rows = [line for line in DOCUMENT.read_text("utf-8").splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == [mutant.id for mutant in MUTANTS]
    assert "**nobody**" not in DOCUMENT.read_text("utf-8")


def noticed(mutant: Mutant, folder: Path, suspects: tuple[str, ...]) -> bool:
    prepare(folder, mutant)
    return any(answer != "stands" for answer in ask(folder, suspects).values())


@pytest.mark.slow
@pytest.mark.parametrize("mutant", BY_CLAIM[::18], ids=lambda mutant: mutant.id)
def test_a_claim_notices_the_mutant(mutant: Mutant, tmp_path: Path) -> None:
    assert noticed(mutant, tmp_path, mutant.suspects[:1])


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS[::6], ids=lambda mutant: mutant.id)
def test_the_first_suspect_notices_the_mutant(mutant: Mutant, tmp_path: Path) -> None:
    assert noticed(mutant, tmp_path, mutant.suspects[:1])


@pytest.mark.slow
def test_without_a_mutant_nobody_cries_wolf(tmp_path: Path) -> None:
    prepare(tmp_path, None)
    answers = ask(tmp_path, (VECTORS, "UPDATE-X", "CLIP", "SCHEDULES", "E13", "GRID"))
    assert set(answers.values()) == {"stands"}


def test_a_patch_without_its_place_is_refused(tmp_path: Path) -> None:
    lost = Mutant("lost", "reference/updates.py", "no such text", "", (VECTORS,))
    with pytest.raises(ValueError, match="is 0 times"):
        prepare(tmp_path, lost)
