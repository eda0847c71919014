"""The fenced blocks of a page, in order: files to write, commands to run, programs, and what is only shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Pages whose console and Python blocks are run. Generated pages have tests of their own.
PAGES = (
    ROOT / "README.md",
    DOCS / "index.md",
    DOCS / "getting-started.md",
    *sorted((DOCS / "guides").glob("*.md")),
    DOCS / "reference" / "python-api.md",
    DOCS / "reference" / "accounting.md",
    DOCS / "reference" / "protocol.md",
    DOCS / "reference" / "vectors.md",
    DOCS / "reference" / "claim-file.md",
    DOCS / "reference" / "auditing.md",
)
RUN = {"console", "python"}
SHOWN = {"text", "yaml", "json", "toml", "diff", "c"}

_FENCE = re.compile(
    r"^(?P<mark><!-- slow -->\n)?```(?P<language>[a-z]*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


class Kind(StrEnum):
    """What is done with a block."""

    FILE = "file"  # written under its title
    CONSOLE = "console"  # commands with their output
    PYTHON = "python"  # a program
    OUTPUT = "output"  # what the program before it prints
    SHOWN = "shown"  # not run


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block and where its body stands in the page."""

    kind: Kind
    language: str
    title: str
    body: str
    slow: bool
    start: int
    end: int


def blocks(text: str) -> list[Block]:
    """Every fenced block of a page."""
    return list(_blocks(text))


def _blocks(text: str) -> Iterator[Block]:
    for found in _FENCE.finditer(text):
        language, title = found["language"], found["title"] or ""
        yield Block(
            _kind(language, title),
            language,
            title,
            found["body"],
            found["mark"] is not None,
            found.start("body"),
            found.end("body"),
        )


def _kind(language: str, title: str) -> Kind:
    if language == "console":
        return Kind.CONSOLE
    if language == "text" and title == "prints":
        return Kind.OUTPUT
    if title:
        return Kind.FILE
    return Kind.PYTHON if language == "python" else Kind.SHOWN
