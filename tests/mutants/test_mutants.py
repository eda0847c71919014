"""The checkers under attack: wrong versions of the reference must turn claims or vectors red."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from reference import mpadmm, updates
from tests.mutants.arena import ROOT, ask, prepare
from tests.mutants.general import PAPER, exchange, functions_of, pool_of, run
from tests.mutants.operators import changes
from tests.mutants.patches import MUTANTS, VECTORS, Mutant
from tests.mutants.score import why
from tests.mutants.survivors import EXPLAINED

DOCUMENT = ROOT / "docs" / "mutants.md"
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


@pytest.mark.parametrize("mutant", BY_CLAIM[::9], ids=lambda mutant: mutant.id)
def test_a_claim_notices_the_mutant(mutant: Mutant, tmp_path: Path) -> None:
    assert noticed(mutant, tmp_path, mutant.suspects[:1])


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS[::6], ids=lambda mutant: mutant.id)
def test_the_first_suspect_notices_the_mutant(mutant: Mutant, tmp_path: Path) -> None:
    assert noticed(mutant, tmp_path, mutant.suspects[:1])


def test_without_a_mutant_nobody_cries_wolf(tmp_path: Path) -> None:
    prepare(tmp_path, None)
    answers = ask(tmp_path, (VECTORS, "UPDATE-X", "CLIP", "SCHEDULES", "E13", "GRID"))
    assert set(answers.values()) == {"stands"}


def test_a_patch_without_its_place_is_refused(tmp_path: Path) -> None:
    lost = Mutant("lost", "reference/updates.py", "no such text", "", (VECTORS,))
    with pytest.raises(ValueError, match="is 0 times"):
        prepare(tmp_path, lost)


def test_the_operators_change_what_runs_and_nothing_else() -> None:
    lines = [
        "def f(a):",
        '    """1 + 1."""',
        "    if a < 0:",
        '        raise ValueError(f"{a + 1}")',
        "    return -a * 2",
    ]
    source = "\n".join(lines)
    became = {(change.was, change.became) for change in changes(source)}
    assert ("a < 0", "a <= 0") in became
    assert ("-a * 2", "-a / 2") in became
    assert ("-a", "a") in became
    assert not any("a + 1" in was for was, _ in became)


def test_exchanged_code_is_seen_by_everybody_who_imported_the_function() -> None:
    imported = vars(mpadmm)["update_y"]
    [function] = [f for f in functions_of(updates) if f.__name__ == "update_y"]
    assert function is imported
    before = function.__code__
    try:
        exchange(updates, ast.parse("def update_y(y, x, z, *, rho):\n    return y\n"))
        assert imported(1.0, 2.0, 3.0, rho=4.0) == 1.0
    finally:
        function.__code__ = before


@pytest.mark.slow
def test_a_random_sample_of_general_mutants_is_noticed_or_explained() -> None:
    tried = run(PAPER, seconds=60, seed=1)
    assert len(tried) >= 3
    assert [entry for entry in tried if not entry.by and not why(entry)] == []


@pytest.mark.slow
def test_explanations_are_about_mutants_that_exist() -> None:
    modules = {entry.module for entry in EXPLAINED}
    possible = {(name, c.function, c.was, c.became) for name, c in pool_of(tuple(sorted(modules)), 0)}
    assert [e for e in EXPLAINED if (e.module, e.function, e.was, e.became) not in possible] == []
