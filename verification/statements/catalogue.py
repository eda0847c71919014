"""The statements as text: what `dpadmm explain` prints, from a generated file, so that no solver is loaded for it.

``python -m tools.statement_pages`` writes the file; a test fails when it is stale.
"""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import resources
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from verification.errors import UnknownStatement

if TYPE_CHECKING:
    from verification.statements.errata import Wording
    from verification.statements.model import Evidence, Statement

FILE_NAME = "catalogue.json"


@dataclass(frozen=True, slots=True)
class DescribedObligation:
    """A proof obligation and the digest of its hypotheses, goal and variant."""

    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class DescribedEvidence:
    """A piece of evidence by name and kind."""

    name: str
    kind: str
    obligations: tuple[DescribedObligation, ...]


@dataclass(frozen=True, slots=True)
class Described:
    """A statement without the means to run its evidence."""

    id: str
    aliases: tuple[str, ...]
    status: str
    statement: str
    truth: str
    place: str
    evidence: tuple[DescribedEvidence, ...]


def catalogue_text(statements: Iterable[Statement], wording: Iterable[Wording]) -> str:
    """The file, from the registry; errata about wording have no evidence."""
    described = [
        Described(
            statement.id,
            statement.aliases,
            statement.status.value,
            statement.statement,
            statement.truth,
            statement.place,
            tuple(_described(evidence) for evidence in statement.evidence),
        )
        for statement in statements
    ]
    described += [Described(each.id, (), "wording", each.statement, each.truth, each.place, ()) for each in wording]
    return json.dumps([asdict(each) for each in described], indent=1, ensure_ascii=False) + "\n"


def _described(evidence: Evidence) -> DescribedEvidence:
    found = evidence.obligations() if evidence.obligations else []
    obligations = tuple(DescribedObligation(obligation.name, obligation.digest) for obligation in found)
    return DescribedEvidence(evidence.name, evidence.kind.value, obligations)


@functools.cache
def catalogue() -> tuple[Described, ...]:
    """Every statement, in the order of the registry."""
    return TypeAdapter(tuple[Described, ...]).validate_json(
        (resources.files(__package__) / FILE_NAME).read_text("utf-8")
    )


def described(name: str) -> Described:
    """The statement of this id or alias, whatever its case; an unknown one is refused with the nearest names."""
    by_name = {each: entry for entry in catalogue() for each in (entry.id, *entry.aliases)}
    found = by_name.get(name.upper())
    if found is None:
        raise unknown(name, by_name)
    return found


def unknown(name: str, known: Iterable[str]) -> UnknownStatement:
    """The error for an id that no statement has, with the nearest that one has."""
    near = difflib.get_close_matches(name.upper(), list(known), n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else "; `dpadmm explain` lists them"
    return UnknownStatement(f"there is no statement {name!r}{hint}")
