"""What came of the mutants: a line of JSON each, kept in the tree, so that the score can be made again from it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

KEPT = Path(__file__).with_name("record.jsonl")
PYTHON = (3, 11)
"""Whose record it is: mutants are named by statements as this version of Python writes them out."""
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one mutant; ``by`` is empty for a survivor."""

    module: str
    function: str
    change: str
    by: str

    @property
    def key(self) -> Key:
        """What tells a mutant from all others."""
        return self.module, self.function, self.change


def read(path: Path) -> dict[Key, Tried]:
    """What has been recorded; the last answer about a mutant counts, because survivors are asked about again."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {tried.key: tried for tried in (Tried(**json.loads(line)) for line in lines)}


def append(path: Path, tried: Tried) -> None:
    """Add one line, in one write, so that several processes may share the file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(_line(tried))


def write(path: Path, every: list[Tried]) -> None:
    """A record with one line a mutant, in order."""
    path.write_text("".join(map(_line, sorted(every, key=lambda tried: tried.key))), "utf-8")


def _line(tried: Tried) -> str:
    return json.dumps(asdict(tried), ensure_ascii=False) + "\n"
