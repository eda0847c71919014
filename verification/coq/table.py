r"""The table of theorems: what each must state, in full, and the definitions that these statements use.

The statements are written apart from the proofs, with every bound spelled out, so that a theorem that is weakened in
its ``.v`` file no longer matches. Definitions are pinned for the same reason: a statement about ``norm`` means nothing
if ``norm`` may change. ``names.toml`` lists every entry with a digest, so that deleting or weakening one on *both*
sides is a changed line of a second file. One more digest is that of the libraries, types and arguments of the files: of
what a statement's words mean.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import Counter
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from verification.coq.sources import Source
from verification.errors import BadProofTable

FOLDER = Path(__file__).parent
NAMES = "names.toml"
_MEANINGS = "From, Import, Arguments, Record and Inductive of all files"
_CLOSES = {"forall": ", ", "let": " in "}
_BINDER = re.compile(r"\b(forall|let)\b")
_IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_']*$"


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=_IDENTIFIER)
    file: str = Field(pattern=_IDENTIFIER)  # without .v
    imports: tuple[str, ...] = ()  # modules to import besides those that the file itself requires

    @property
    def full_name(self) -> str:
        """Its name in Coq, fully qualified."""
        return f"DPADMM.{self.file}.{self.name}"


class Theorem(_Entry):
    """A theorem, what it says in words, its statement in Coq, and the statements of this project that it settles."""

    settles: tuple[str, ...]
    says: str = Field(min_length=1)
    statement: str = Field(min_length=1)

    @property
    def text(self) -> str:
        """What is pinned."""
        return self.statement

    @property
    def promised(self) -> str:
        """What may not change unnoticed: what is pinned, what its words mean, and what it settles."""
        return f"{self.statement} {self.imports} {self.settles}"

    def premises(self) -> list[str]:
        """What the statement assumes: what stands before its arrows, without the variables that it is about."""
        text, found, start, at, depth = " ".join(self.statement.split()), list[str](), 0, 0, 0
        while at < len(text):
            bound = None if depth or text[start:at].strip() else _BINDER.match(text, at)
            if bound:
                start = at = _end_of_binder(text, bound.end(), _CLOSES[bound[1]])
                continue
            if not depth and text.startswith("->", at):
                found.append(text[start:at].strip())
                start = at = at + 2
                continue
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        return found


class Definition(_Entry):
    """A definition that statements use, pinned by ``is``, its body, or ``type``, the type of a constructor.

    ``same_as`` names the function of the Python reference with which it is compared, besides, on random rationals
    (:mod:`verification.coq.link`): what differs for inputs that are not among those would go unnoticed.
    """

    body: str | None = Field(default=None, alias="is")
    type: str | None = None
    same_as: str | None = None

    @model_validator(mode="after")
    def _pinned_once(self) -> Definition:
        if (self.body is None) == (self.type is None):
            raise ValueError(f"definition {self.name} needs exactly one of is and type")
        return self

    @property
    def text(self) -> str:
        """What is pinned."""
        return self.body or self.type or ""

    @property
    def promised(self) -> str:
        """What may not change unnoticed: what is pinned, what its words mean, and what it is compared with."""
        return f"{self.text} {self.imports} {self.same_as}"


class TheoremTable(BaseModel):
    """All theorems and definitions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    theorem: tuple[Theorem, ...] = ()
    definition: tuple[Definition, ...] = ()
    names: dict[str, str] = {}  # File.name: digest of what is pinned
    meanings: str = ""  # the sentences of the files that say what words mean

    @model_validator(mode="after")
    def _names_are_unique(self) -> TheoremTable:
        for entries in (self.theorem, self.definition):
            twice = [key for key, count in Counter((e.file, e.name) for e in entries).items() if count > 1]
            if twice:
                raise ValueError(f"listed twice: {twice}")
        return self

    def of_statement(self, identifier: str) -> tuple[Theorem, ...]:
        """The theorems that settle a statement of this project, or a part of it."""
        return tuple(theorem for theorem in self.theorem if identifier in theorem.settles)

    def digests(self) -> dict[str, str]:
        """What ``names.toml`` must hold: every entry, and a digest of what is promised (spaces do not count)."""
        entries: list[Theorem | Definition] = [*self.theorem, *self.definition]
        return {f"{e.file}.{e.name}": _digest(e.promised) for e in entries} | {_MEANINGS: _digest(self.meanings)}

    def changed(self) -> list[str]:
        """Every entry that was deleted, added or changed without its line in ``names.toml``."""
        now = self.digests()
        said = {
            **dict.fromkeys(self.names.keys() - now, "is listed in names.toml and has no theorem or definition"),
            **dict.fromkeys(now.keys() - self.names, "is not listed in names.toml"),
            **dict.fromkeys(
                (name for name in now.keys() & self.names if self.names[name] != now[name]),
                "does not say what it said when it was listed in names.toml",
            ),
        }
        return [f"{name} {said[name]}" for name in sorted(said)]


def _end_of_binder(text: str, at: int, close: str) -> int:
    depth = 0
    while depth or not text.startswith(close, at):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at + len(close)


def _digest(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]


def names_text(table: TheoremTable) -> str:
    """``names.toml`` for the table as it is; the file itself is kept by hand."""
    head = "# Every theorem and definition with a digest of its statement. A changed line here is a changed promise.\n"
    lines = (f'"{name}" = "{digest}"' for name, digest in sorted(table.digests().items()))
    return "\n".join([head + "[names]", *lines, ""])


def read(folder: Path = FOLDER) -> TheoremTable:
    """The table, from every file in ``theorems/``; refuses an empty one."""
    theorems: list[object] = []
    definitions: list[object] = []
    for path in sorted((folder / "theorems").glob("*.toml")):
        document = tomllib.loads(path.read_text("utf-8"))
        theorems += document.pop("theorem", [])
        definitions += document.pop("definition", [])
        if document:
            raise BadProofTable(f"{path.name}: a table holds theorem and definition, got {sorted(document)}")
    meanings = [f"{path.stem}: {said}" for path in sorted(folder.glob("*.v")) for said in Source.read(path).meanings()]
    names = folder / NAMES
    listed = tomllib.loads(names.read_text("utf-8")).get("names", {}) if names.is_file() else {}
    try:
        table = TheoremTable.model_validate(
            {"theorem": theorems, "definition": definitions, "names": listed, "meanings": "\n".join(meanings)}
        )
    except ValidationError as wrong:
        raise BadProofTable(f"theorems/*.toml: {wrong}") from wrong
    if not table.theorem:
        raise BadProofTable("theorems/*.toml list no theorem")
    return table
