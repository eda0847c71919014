r"""What the text of a ``.v`` file may not contain, which files it requires, and which definitions it makes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

# Anything that asserts without proof, switches off a check of the kernel, or reads another file. `Print Assumptions`
# finds most of these again; the scan also covers theorems that are not in the table.
FORBIDDEN = (
    *("Admitted", "admit", "give_up", "Axiom", "Axioms", "Parameter", "Parameters", "Conjecture", "Conjectures"),
    *("Primitive", "Load", "Redirect", "Cd", "bypass_check", "Declare ML Module", "Drop"),
    *("Guard Checking", "Positivity Checking", "Universe Checking", "Typing Flags"),
)
_FORBIDDEN = re.compile("|".join(rf"\b{word.replace(' ', chr(92) + 's+')}\b" for word in FORBIDDEN))
_GLOBAL_NOTATION = re.compile(r"(?<!Local )\b(?:Reserved\s+)?(?:Notation|Infix)\b")
_DECLARED = re.compile(r"(?:^|\.\s)\s*(Variables?|Hypothes[ie]s|Context|Section|End)\b", re.MULTILINE)
_REQUIRE = re.compile(r"^From\s+(\w+)\s+Require\s+(?:Import|Export)\s+([^.]+(?:\.[A-Za-z][^.]*)*)\.$", re.MULTILINE)
_DEFINED = re.compile(r"^\s*(?:Local\s+)?(?:Definition|Fixpoint|Inductive|Variant)\s+([A-Za-z_][\w']*)", re.MULTILINE)
_RECORD = re.compile(r"^\s*Record\s+([A-Za-z_][\w']*)[^.]*?:=\s*([A-Za-z_][\w']*)?\s*\{", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Source:
    """One file without its comments and strings."""

    name: str
    text: str

    @classmethod
    def read(cls, path: Path) -> Source:
        """Read a file."""
        return cls(path.stem, without_comments(path.read_text("utf-8")))

    def faults(self) -> list[str]:
        """Every forbidden word, global notation, and assumption outside a section."""
        found = [f"{self.name}.v: {word[0]!r} is not allowed" for word in _FORBIDDEN.finditer(self.text)]
        if _GLOBAL_NOTATION.search(self.text):
            found.append(f"{self.name}.v: a notation must be Local, or it may change what a statement means")
        depth = 0
        for word in _DECLARED.finditer(self.text):
            depth += {"Section": 1, "End": -1}.get(word[1], 0)
            if depth <= 0 and word[1] not in ("Section", "End"):
                found.append(f"{self.name}.v: {word[1]!r} outside a section is an axiom")
        return found

    def requires(self) -> list[str]:
        """Its lines ``From ... Require Import ...``, verbatim."""
        return [line[0] for line in _REQUIRE.finditer(self.text)]

    def modules(self) -> list[str]:
        """The files of this project that it requires."""
        return [name for line in _REQUIRE.finditer(self.text) if line[1] == "DPADMM" for name in line[2].split()]

    def definitions(self) -> dict[str, str]:
        """What it defines: name, and under which name that is pinned (a record's constructor, else itself)."""
        found = {name[1]: name[1] for name in _DEFINED.finditer(self.text)}
        return found | {name[1]: name[2] or name[1] for name in _RECORD.finditer(self.text)}


def without_comments(text: str) -> str:
    """The text without comments, which nest, and with empty strings."""
    kept: list[str] = []
    depth = position = 0
    while position < len(text):
        two = text[position : position + 2]
        if two == "(*":
            depth, position = depth + 1, position + 2
        elif two == "*)" and depth:
            depth, position = depth - 1, position + 2
            kept.append(" ")
        elif text[position] == '"':
            end = text.find('"', position + 1)
            position = len(text) if end < 0 else end + 1
            kept.append('""' if not depth else "")
        else:
            kept.append(text[position] if not depth else "")
            position += 1
    return "".join(kept)


def words(text: str) -> set[str]:
    """The identifiers in a piece of Coq."""
    return set(re.findall(r"[A-Za-z_][\w']*", text))
