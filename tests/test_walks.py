"""The walk of a reader: one iteration of ssADMM stays inside the reference, and the count counts."""

from __future__ import annotations

from tests.walks import Walk, iteration


def test_one_iteration_is_read_in_few_files_of_one_package() -> None:
    walk = iteration()
    files, _, packages, _ = walk.row()
    assert files <= 9
    assert packages == 0
    assert walk.files[0] == "reference/ssadmm.py"


def test_changes_are_counted_along_the_functions_and_along_the_files() -> None:
    codes = [compile(str(i), "walk", "eval") for i in range(5)]
    places = ["one/a.py", "other/b.py", "one/a.py", "one/c.py", "other/b.py"]
    walk = Walk(dict(zip(codes, places, strict=True)))
    assert walk.row() == (3, 4, 3, 2)
    assert list(walk.steps()).count("") == 3
