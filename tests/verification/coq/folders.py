"""Small folders of proofs for the tests of the checker, and the mark of tests that need Coq."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from verification.coq.coq import MISSING, Coq
from verification.coq.table import FOLDER, NAMES, names_text, read
from verification.errors import BadProofTable

needs_coq = pytest.mark.skipif(not Coq.installed(), reason=MISSING)


def folder(path: Path, source: str, table: str) -> Path:
    """A folder with one file ``Small.v`` and a table for it."""
    (path / "theorems").mkdir(parents=True)
    (path / "Small.v").write_text(source, "utf-8")
    (path / "theorems" / "small.toml").write_text(table, "utf-8")
    return listed(path) if table else path


def listed(path: Path) -> Path:
    """Write the list of names for the table as it is now."""
    with contextlib.suppress(BadProofTable):  # a table that is refused needs no list
        (path / NAMES).write_text(names_text(read(path)), "utf-8")
    return path


def part_of_the_project(path: Path, names: Iterable[str]) -> Path:
    """A folder with some files of this project and the part of the table that is about them."""
    wanted = set(names)
    (path / "theorems").mkdir(parents=True)
    for name in wanted:
        shutil.copyfile(FOLDER / f"{name}.v", path / f"{name}.v")
    for table in (FOLDER / "theorems").glob("*.toml"):
        entries = re.split(r"(?=^\[\[)", table.read_text("utf-8"), flags=re.MULTILINE)
        kept = [entry for entry in entries if _file_of(entry) in wanted]
        (path / "theorems" / table.name).write_text("".join(kept), "utf-8")
    return listed(path)


def _file_of(entry: str) -> str:
    about = re.search(r'^file = "(\w+)"', entry, re.MULTILINE)
    return about[1] if about else ""


def change(path: Path, old: str, new: str) -> None:
    """Replace a text that occurs exactly once."""
    text = path.read_text("utf-8")
    assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {path.name}"
    path.write_text(text.replace(old, new), "utf-8")


def theorem(name: str, statement: str, file: str = "Small") -> str:
    """An entry of the table."""
    head = f'[[theorem]]\nname = "{name}"\nfile = "{file}"\nsettles = []\nsays = "..."\n'
    return f"{head}statement = '''{statement}'''\n"


def definition(name: str, key: str, value: str) -> str:
    """An entry of the table."""
    return f"[[definition]]\nname = \"{name}\"\nfile = \"Small\"\n{key} = '''{value}'''\n"
