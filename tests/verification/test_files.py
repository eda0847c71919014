"""Results are written as a whole or not at all; lines are appended one at a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from verification.files import append_line, atomic_write, write_text


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old", "utf-8")

    def broken() -> None:
        with atomic_write(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert path.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_written_file_replaces_the_old_one_with_the_usual_mode(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", "utf-8")
    before = os.umask(0o027)
    try:
        write_text(path, "ε")
    finally:
        os.umask(before)
    assert path.read_bytes() == "ε".encode()
    assert path.stat().st_mode & 0o777 == 0o640


def test_lines_are_appended_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.jsonl"
    for line in ("one", "δ"):
        append_line(path, line)
    assert path.read_text("utf-8") == "one\nδ\n"
