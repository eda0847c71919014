r"""Which statements the docstrings and comments of this project cite.

A citation is an id behind the word *statement* or *statements* ("statement P", "statements SENS-X, SENS-Z"), or an
erratum in brackets ("(E1, E2)"). A citation of a statement that does not exist is an error: prose must not drift from
the registry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("reference", "accountant", "verification", "audits", "dpadmm")
_ID = r"[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*"
_LIST = re.compile(rf"\b[Ss]tatements?:?[ \n#]+((?:{_ID}\b(?:\s*\([^)]*\))?(?:,\s+|\s+and\s+|\s+to\s+)?)+)")
_ERRATA = re.compile(r"\((E[0-9]{1,2}(?:(?:,| and| to) E[0-9]{1,2})*)\)")
_COMMON_WORDS = {"A", "I", "ID", "THE", "CI", "JSON"}


@dataclass(frozen=True, slots=True)
class Citation:
    """An id that a file cites."""

    path: Path
    line: int
    id: str


def citations(root: Path) -> Iterator[Citation]:
    """Every citation in the Python files of the packages."""
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            yield from cited_in(path.relative_to(root), path.read_text("utf-8"))


def cited_in(path: Path, text: str) -> Iterator[Citation]:
    """The citations of one text."""
    for pattern in (_LIST, _ERRATA):
        for found in pattern.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            without_asides = re.sub(r"\([^)]*\)", "", found[1])
            for name in re.findall(_ID, without_asides):
                if name not in _COMMON_WORDS:
                    yield Citation(path, line, name)
