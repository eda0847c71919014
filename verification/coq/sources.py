r"""What the text of a ``.v`` file may contain, which files it requires, and which names it defines.

A file is cut into Coq's own sentences, and every sentence must begin with a word of a short list. What is not on the
list is refused, so that a way of asserting without proof that nobody thought of is refused as well.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

THEOREMS = frozenset({"Theorem", "Lemma", "Corollary", "Proposition", "Fact", "Remark"})
DEFINITIONS = frozenset(
    {"Definition", "Fixpoint", "CoFixpoint", "Inductive", "CoInductive", "Variant", "Record", "Structure", "Example"}
)
ASSUMPTIONS = frozenset({"Variable", "Variables", "Hypothesis", "Hypotheses", "Context"})
"""Inside a section these become hypotheses of its theorems; outside they are axioms."""
OTHERS = frozenset({"From", "Import", "Open", "Section", "End", "Arguments", "Implicit", "Ltac", "Let"})
IN_PROOFS = frozenset({"Qed", "Defined", "Unshelve"})
_GIVE_MEANING = frozenset({"From", "Import", "Record", "Structure", "Inductive", "CoInductive", "Variant", "Arguments"})
"""What says, outside a pinned body, what the words of a statement mean: libraries, coercions, fields, scopes."""
# Words that assert without proof or switch a check of the kernel off, wherever in a sentence they stand.
FORBIDDEN = (
    *("Admitted", "admit", "give_up", "Admit Obligations", "Axiom", "Axioms", "Parameter", "Parameters"),
    *("Conjecture", "Conjectures", "Primitive", "Load", "Redirect", "Cd", "bypass_check", "Drop", "Module", "Program"),
    *("Declare", "Include", "Guard Checking", "Positivity Checking", "Universe Checking", "Typing Flags"),
)
_UNSEEN = (r"#\[(?!local\])", r'\bwhere\s+""', r"\bProof\s+(?!\.)")
"""Attributes, notations that come with a type, and proofs that end where they begin."""
RESERVED = re.compile(r"^(?:Expected_.*|Instances_of_.*|Assumptions|Link.*)$")
"""Names of the files that the checker itself writes."""
_FORBIDDEN = re.compile("|".join([*(rf"\b{word.replace(' ', chr(92) + 's+')}\b" for word in FORBIDDEN), *_UNSEEN]))
_BULLETS = re.compile(r"^(?:[-+*{}]+\s*|\d+(?:-\d+)?\s*:\s*\{?\s*|all\s*:\s*)*")
_REQUIRE = re.compile(r"^From\s+([\w.]+)\s+Require\s+Import\s+([\w.\s]+)$")
_NAME = r"[A-Za-z_][\w']*"
_BINDER = re.compile(rf"^(?:Let\s+)?\w+\s+({_NAME})")


@dataclass(frozen=True, slots=True)
class Source:
    """One file without its comments, and with empty strings."""

    name: str
    text: str

    @classmethod
    def read(cls, path: Path) -> Source:
        """Read a file."""
        return cls(path.stem, without_comments(path.read_text("utf-8")))

    def faults(self) -> list[str]:
        """Every sentence that is not on the list, and every assumption outside a section."""
        found = [f"{word[0]!r} is not allowed" for word in _FORBIDDEN.finditer(self.text)]
        if RESERVED.match(self.name):
            found.append("the checker writes files of this name")
        if not self.text.isascii():
            found.append("letters beyond ASCII are not allowed outside comments: some look like others")
        return [f"{self.name}.v: {said}" for said in (*dict.fromkeys(found), *self._misplaced())]

    def requires(self) -> list[tuple[str, tuple[str, ...]]]:
        """Its lines ``From library Require Import files``."""
        found = (_REQUIRE.match(sentence) for sentence in sentences(self.text))
        return [(line[1], tuple(line[2].split())) for line in found if line]

    def modules(self) -> list[str]:
        """The files of this project that it requires."""
        return [name for library, names in self.requires() if library == "DPADMM" for name in names]

    def meanings(self) -> list[str]:
        """Its sentences that can change what the words of a statement mean: libraries, types, arguments."""
        return [each for each in sentences(self.text) if _keyword(each) in _GIVE_MEANING]

    def definitions(self) -> dict[str, tuple[str, ...]]:
        """What it defines, by whatever word: each name, and the names under which it is pinned.

        A record's field is pinned by its constructor, an inductive type by its constructors; a lemma that ends with
        ``Defined`` is a definition.
        """
        found: dict[str, tuple[str, ...]] = {}
        for opening, ending in self._statements():
            keyword = _keyword(opening)
            if keyword in ("Record", "Structure"):
                found |= _record(opening)
            elif keyword in ("Inductive", "CoInductive", "Variant"):
                found |= _inductive(opening)
            elif keyword in DEFINITIONS or (keyword in THEOREMS and ending == "Defined"):
                names = [_name_of(opening), *re.findall(rf"\bwith\s+({_NAME})\s*[({{:]", opening)]
                found |= {name: (name,) for name in names if keyword.endswith("ixpoint") or name == names[0]}
        return found

    def theorems(self) -> set[str]:
        """The names of its theorems, by whatever word they are announced."""
        return {_name_of(opening) for opening, _ in self._statements() if _keyword(opening) in THEOREMS}

    def _statements(self) -> Iterator[tuple[str, str]]:
        """Every theorem and definition, with the word that its proof ends with."""
        opening = ""
        for sentence in sentences(self.text):
            if _keyword(sentence) in THEOREMS | DEFINITIONS:
                if opening:
                    yield opening, ""
                opening = _without_locality(sentence)
            elif sentence in ("Qed", "Defined") and opening:
                yield opening, sentence
                opening = ""
        if opening:
            yield opening, ""

    def _misplaced(self) -> list[str]:
        found, depth, proving, announced = [], 0, False, False
        for sentence in sentences(self.text):
            word = _keyword(sentence)
            if announced and word != "Proof":
                found.append(f"a theorem is followed by {sentence[:40]!r} and not by Proof")
            announced = False
            if proving:
                proving = word not in ("Qed", "Defined")
                if word[:1].isupper() and word not in IN_PROOFS:
                    found.append(f"{word!r} inside a proof is not allowed")
            elif word == "Proof":
                proving = True
            else:
                depth += {"Section": 1, "End": -1}.get(word, 0)
                announced = word in THEOREMS
                found += _refusals(sentence, word, depth)
        return found


def _refusals(sentence: str, word: str, depth: int) -> list[str]:
    local = re.match(r"^(?:#\[local\]|Local)\s", sentence) is not None
    match word:
        case "Notation" | "Infix" | "Tactic" | "Hint":
            return [] if local else [f"{word} must be Local, or it may change what a statement means"]
        case _ if word in ASSUMPTIONS | {"Let"}:
            return [] if depth > 0 else [f"{word!r} outside a section is an axiom"]
        case "From":
            return [] if _REQUIRE.match(sentence) else [f"{sentence[:60]!r} is not From ... Require Import ..."]
        case _ if word in THEOREMS | DEFINITIONS | OTHERS:
            return []
    return [f"{sentence[:40]!r}: a sentence may not begin with {word!r}"]


@functools.lru_cache(maxsize=256)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of Coq, each ended by a full stop before white space, without bullets and braces in front."""
    parts = re.split(r"(?<![.\s])\.(?=\s|$)|(?<=\s)\.(?=\s|$)|\.\.\.(?=\s|$)", text)
    stripped = (_BULLETS.sub("", part.strip()).strip() for part in parts)
    return tuple(part for part in stripped if part)


def _without_locality(sentence: str) -> str:
    return re.sub(r"^(?:#\[local\]\s*|Local\s+|Global\s+)*", "", sentence)


def _keyword(sentence: str) -> str:
    """The word that says what a sentence is; the sentence's opening where it begins with none."""
    found = re.match(r"[A-Za-z_]\w*", _without_locality(sentence))
    return found[0] if found else sentence[:10]


def _name_of(opening: str) -> str:
    found = _BINDER.match(opening)
    return found[1] if found else ""


def _record(opening: str) -> dict[str, tuple[str, ...]]:
    _, _, body = opening.partition(":=")
    constructor = re.match(rf"\s*({_NAME})\s*{{", body)
    name = _name_of(opening)
    pinned = (constructor[1],) if constructor else (f"Build_{name}",)
    fields = [part.strip() for part in body.partition("{")[2].rpartition("}")[0].split(";")]
    names = [re.match(rf"({_NAME})", part) for part in fields]
    return dict.fromkeys([name, *pinned, *(found[1] for found in names if found)], pinned)


def _inductive(opening: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for part in re.split(r"\bwith\b", opening):
        _, _, body = part.partition(":=")
        constructors = tuple(re.findall(rf"(?:^|\|)\s*({_NAME})", body.strip()))
        name = _name_of(part) or (re.match(rf"\s*({_NAME})", part) or ["", ""])[1]
        found |= {name: constructors, **{each: (each,) for each in constructors}}
    return found


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
    return set(re.findall(_NAME, text))
