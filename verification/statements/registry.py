"""Every statement of this project, by id."""

from __future__ import annotations

from collections.abc import Iterable

from verification.proofs.table import read
from verification.statements.catalogue import unknown
from verification.statements.evidence.theorems import with_theorems
from verification.statements.model import Statement
from verification.statements.texts import baselines, building_blocks, errata, privacy, sensitivities


def collected(*groups: Iterable[Statement]) -> dict[str, Statement]:
    """All statements by id and alias, in order; refuses an id that is used twice."""
    found: dict[str, Statement] = {}
    for group in groups:
        for statement in group:
            for name in (statement.id, *statement.aliases):
                if name in found:
                    raise ValueError(f"two statements are called {name}")
                found[name] = statement
    return found


_THEOREMS = read()
_GROUPS = (building_blocks, sensitivities, privacy, baselines, errata)
BY_NAME = collected(*((with_theorems(s, _THEOREMS) for s in group.STATEMENTS) for group in _GROUPS))
STATEMENTS: tuple[Statement, ...] = tuple(dict.fromkeys(BY_NAME.values()))


def find(name: str) -> Statement:
    """The statement of this id or alias, whatever its case; an unknown one is refused with the nearest names."""
    statement = BY_NAME.get(name.upper())
    if statement is None:
        raise unknown(name, BY_NAME)
    return statement
