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


def test_a_device_is_written_to_and_not_replaced() -> None:
    before = Path("/dev/null").stat().st_mode
    write_text(Path("/dev/null"), "gone")
    assert Path("/dev/null").stat().st_mode == before
    with pytest.raises(OSError, match="No space left"):
        write_text(Path("/dev/full"), "text")


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_text(path, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert path.is_fifo()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text("utf-8") == "text"
