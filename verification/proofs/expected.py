r"""The generated Coq files that compare a source file with the table, and that list the axioms of theorems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from verification.proofs.coq import Coq, CoqFault
from verification.proofs.sources import Source, words
from verification.proofs.table import Definition, Theorem

_CLOSED = "Closed under the global context"


def mismatches(coq: Coq, source: Source, entries: Sequence[Theorem | Definition]) -> dict[str, str]:
    """The entries of one file that do not match it: name, and what Coq says."""
    try:
        coq.text(f"Expected_{source.name}", _text(source, entries))
    except CoqFault as fault:
        if len(entries) == 1:
            return {entries[0].name: str(fault)}
        return {name: said for entry in entries for name, said in mismatches(coq, source, [entry]).items()}
    return {}


def _text(source: Source, entries: Iterable[Theorem | Definition]) -> str:
    imports = dict.fromkeys(f"Import {module}." for entry in entries for module in entry.imports)
    scope = ["Open Scope R_scope."] if "Reals" in words("".join(source.requires())) else []
    head = [*source.requires(), f"From DPADMM Require Import {source.name}.", *imports, *scope, ""]
    return "\n".join([*head, *(line for entry in entries for line in _expectation(entry))])


def _expectation(entry: Theorem | Definition) -> list[str]:
    # Each in a module of its own, so that no expectation can hide a name from the next.
    match entry:
        case Theorem():
            line = f"Definition expected : {entry.statement.strip()} := @{entry.name}."
        case Definition(body=str(body)):
            line = f"Definition expected : @{entry.name} = ({body.strip()}) := eq_refl."
        case Definition(type=str(constructor)):
            line = f"Definition expected : {constructor.strip()} := @{entry.name}."
        case _:
            return []
    return [f"Module Check_{entry.name}.", line, f"End Check_{entry.name}."]


def axioms(coq: Coq, theorems: Sequence[Theorem]) -> tuple[str, ...] | None:
    """All axioms that the theorems together rest on, as Coq lists them; None where the list cannot be read."""
    # Required, not imported: Coq then prints the axioms of its library under their qualified names. One list for all,
    # because Coq walks through its whole library of reals for every list.
    modules = dict.fromkeys(theorem.file for theorem in theorems)
    everything = ", ".join(f"@DPADMM.{theorem.file}.{theorem.name}" for theorem in theorems)
    lines = [*(f"Require DPADMM.{module}." for module in modules), f"Definition everything := ({everything}, tt)."]
    return _listed(coq.text("Assumptions", "\n".join([*lines, "Print Assumptions everything.", ""])))


def _listed(printed: str) -> tuple[str, ...] | None:
    """The names in one answer to ``Print Assumptions``; None where it has another form."""
    if printed.strip() == _CLOSED:
        return ()
    first, _, rest = printed.strip().partition("\n")
    if first != "Axioms:":
        return None
    names = [re.match(r"^([\w.']+)(?:\s:|$)", line) for line in rest.splitlines() if not line.startswith(" ")]
    found = [name[1] for name in names if name]
    return tuple(found) if found and len(found) == len(names) else None
