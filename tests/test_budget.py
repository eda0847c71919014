"""The size of what is shipped, and of what one reads to follow an action: at most the budget.

Every step that makes something smaller lowers the number here; none may be raised without a decision record. The
accountant grew by Laplace steps and the exact Poisson pair (docs/adr/0014), and by declarations (docs/adr/0015); all
rooms by what docs/adr/0016 lists; verification by 143 lines for given values that are met roughly, refused or not
followed, and by 410 for noise of numpy and torch that is watched, and randomness that is not. What came after that is
counted in docs/adr/0017.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.walks import PACKAGES, ROOT

FILES = 292
LINES = 60_021
LINES_OF_A_FILE = 600
LONGER: dict[str, int] = {}
"""Files above that, each with its size as a ceiling."""
LINES_OF_A_PACKAGE = {
    "reference": 3_228,
    "accountant": 15_927,
    "verification": 25_523,
    "audits": 8_130,
    "dpadmm": 7_213,
}
LINES_OF_JUDGING = 16_194
"""Of what sends data, reads values, tests them and concludes: the rooms of `JUDGING`."""
JUDGING = (
    *(f"verification/{name}" for name in ("judge.py", "conform.py", "questions", "reading", "statistics", "declared")),
    *(f"audits/{name}" for name in ("games", "black_box", "gate", "eprocess")),
)
WALKS = {"account": (36, 14), "gate": (119, 98)}
"""Files and changes of package (`python -m tests.walks`)."""


def lines_of_files() -> dict[str, int]:
    """Every Python file of the wheel's packages, with its lines."""
    return {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }


def walked(name: str) -> tuple[int, int]:
    """A walk in a process of its own: nothing is kept from other tests that would shorten it."""
    command = [sys.executable, "-m", "tests.walks", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    files, _, changes_of_package, _ = map(int, done.stdout.splitlines()[-1].split()[1:])
    return files, changes_of_package


def test_the_files_and_lines_of_the_wheel_are_within_the_budget() -> None:
    found = lines_of_files()
    assert len(found) <= FILES
    assert sum(found.values()) <= LINES


@pytest.mark.parametrize("package", PACKAGES)
def test_the_lines_of_a_package_are_within_its_budget(package: str) -> None:
    assert (
        sum(lines for name, lines in lines_of_files().items() if Path(name).parts[0] == package)
        <= (LINES_OF_A_PACKAGE[package])
    )


def test_the_lines_that_judge_are_within_their_budget() -> None:
    assert sum(lines for name, lines in lines_of_files().items() if name.startswith(JUDGING)) <= LINES_OF_JUDGING


def test_no_file_is_too_long_to_be_read_in_one_go() -> None:
    found = lines_of_files()
    assert {name: lines for name, lines in found.items() if lines > LONGER.get(name, LINES_OF_A_FILE)} == {}
    assert set(LONGER) <= {name for name, lines in found.items() if lines > LINES_OF_A_FILE}, "an exception to delete"


@pytest.mark.parametrize("name", ["account", pytest.param("gate", marks=pytest.mark.slow)])
def test_the_walk_of_a_reader_is_within_the_budget(name: str) -> None:
    found = walked(name)
    assert all(count <= budget for count, budget in zip(found, WALKS[name], strict=True)), found
