"""Runs a page as its reader would: one folder, the blocks in order, what is printed compared with what is shown."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.matching import matches
from tests.docs.pages import ROOT, Block, Kind

SECONDS = 900
CI = ("CI", "BUILD_NUMBER")  # pytest prints long lines whole where one of these is set; a reader's shell has none


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a page: what the page shows under it, what it printed, how it ended."""

    block: Block
    command: str
    shown: str
    printed: str
    status: int
    status_is_shown: bool  # the next command of the page is `echo $?`

    @property
    def agrees(self) -> bool:
        """Whether a reader sees what the page shows; a failure must be shown with `echo $?`."""
        return (self.status == 0 or self.status_is_shown) and matches(self.shown, self.printed)

    def __str__(self) -> str:
        return f"$ {self.command}\n--- the page shows\n{self.shown}--- printed (status {self.status})\n{self.printed}"


@dataclass(slots=True)
class Session:
    """A folder with the project's examples and shims for `dpadmm` and `python`."""

    folder: Path
    environment: dict[str, str] = field(init=False)
    status: int = 0

    def __post_init__(self) -> None:
        tools = self.folder / ".tools"
        tools.mkdir()
        for name, module in (("dpadmm", " -m dpadmm"), ("python", ""), ("python3", "")):
            shim = tools / name
            shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{module} "$@"\n', "utf-8")
            shim.chmod(0o755)
        (self.folder / "examples").symlink_to(ROOT / "examples")
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in CI},
            "PATH": f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "NO_COLOR": "1",
            "COLUMNS": "120",
        }

    def run(self, command: str) -> str:
        """What a command prints, errors included."""
        if command == "echo $?":
            return f"{self.status}\n"
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        self.status = done.returncode
        return re.sub(r"^seed \d+\n", "", done.stdout)  # to stderr; the result repeats it

    def play(self, page: list[Block], *, slow: bool) -> Iterator[Step]:
        """Write the files and run the commands and programs of a page, in order."""
        for number, block in enumerate(page):
            if block.kind is Kind.FILE:
                (self.folder / block.title).write_text(block.body, "utf-8")
            elif block.slow and not slow:
                continue
            elif block.kind is Kind.CONSOLE:
                yield from self._console(block)
            elif block.kind is Kind.PYTHON:
                (self.folder / "block.py").write_text(block.body, "utf-8")
                after = page[number + 1] if number + 1 < len(page) else None
                shows = after if after is not None and after.kind is Kind.OUTPUT else None
                printed = self.run("python block.py")
                yield Step(shows or block, "python", shows.body if shows else printed, printed, self.status, False)

    def _console(self, block: Block) -> Iterator[Step]:
        listed = commands(block.body)
        for number, (command, shown) in enumerate(listed):
            printed = self.run(command)
            asked = number + 1 < len(listed) and listed[number + 1][0] == "echo $?"
            yield Step(block, command, shown, printed, 0 if command == "echo $?" else self.status, asked)


def commands(body: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output shown under it."""
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)
    if parts[0]:
        raise ValueError(f"a console block begins with a command, got {parts[0].splitlines()[0]!r}")
    found = []
    for part in parts[1:]:
        lines = part.splitlines(keepends=True)
        end = next(i for i, line in enumerate(lines, 1) if not line.endswith("\\\n"))
        found.append(("".join(lines[:end]).strip(), "".join(lines[end:])))
    return found
