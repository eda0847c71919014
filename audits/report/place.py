"""Where a claim is written: its file, relative to the repository, and the line of its epsilon."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from audits.gate.findings import GateReport

UNKNOWN = "privacy-claim.toml"
"""The file where a report does not know its own: what `--init` writes."""
_HEADER = re.compile(r"^\s*\[claim\]\s*(#.*)?$")
_EPSILON = re.compile(r"^\s*epsilon\s*=")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file; ``uri`` is relative, without a scheme."""

    uri: str
    line: int


def place_of(report: GateReport) -> Place:
    """The place of the claim of a report."""
    source = report.provenance.source
    return Place(UNKNOWN if source is None else relative_uri(source), claim_line(report.provenance.text))


def relative_uri(path: Path) -> str:
    """The path below the repository that holds it, else below the working directory, else its name alone."""
    whole = path.absolute().resolve()
    root = next((folder for folder in whole.parents if (folder / ".git").exists()), Path.cwd().resolve())
    inside = whole.relative_to(root) if whole.is_relative_to(root) else Path(whole.name)
    return quote(inside.as_posix())


def claim_line(text: str) -> int:
    """The line of epsilon in [claim], else of [claim], else the first."""
    lines = text.splitlines()
    header = next((number for number, line in enumerate(lines, start=1) if _HEADER.match(line)), None)
    if header is None:
        return 1
    for number, line in enumerate(lines[header:], start=header + 1):
        if line.lstrip().startswith("["):
            break
        if _EPSILON.match(line):
            return number
    return header
