"""docs/reference/command-line.md is what `--help` prints."""

from __future__ import annotations

import subprocess
import sys

from tools.command_line_page import PAGE


def test_the_page_is_current() -> None:
    # In a process of its own: click keeps the help option of a command that another test called by itself.
    command = [sys.executable, "-m", "tools.command_line_page", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_every_command_has_its_section() -> None:
    page = PAGE.read_text("utf-8")
    for name in ("train", "account ssadmm", "calibrate mpadmm", "vectors check", "adapter new", "gate", "explain"):
        assert f"# dpadmm {name}\n" in page
