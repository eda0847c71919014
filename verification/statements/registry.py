"""Every statement of this project, by id, and the evidence by Coq: the theorems that settle a statement or a part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from verification.coq.check import checked
from verification.coq.coq import MISSING, Coq
from verification.coq.link import linked
from verification.coq.table import Theorem, TheoremTable, read
from verification.errors import UnknownStatement
from verification.outcome import Outcome
from verification.smt.prover import Prover
from verification.statements import accounting, errata, optimiser
from verification.statements.catalogue import unknown
from verification.statements.model import Evidence, EvidenceResult, Kind, Statement


def with_theorems(statement: Statement, table: TheoremTable) -> Statement:
    """The statement with its theorems as one more piece of evidence; the statement itself where it has none."""
    theorems = table.of_statement(statement.id)
    return replace(statement, evidence=(*statement.evidence, _by_coq(theorems))) if theorems else statement


def _by_coq(theorems: tuple[Theorem, ...]) -> Evidence:
    names = tuple(theorem.name for theorem in theorems)

    def run(prover: Prover) -> EvidenceResult:
        if not Coq.installed():
            return EvidenceResult(Outcome.INCONCLUSIVE, MISSING)
        report, link = checked(prover.deadline), linked(prover.deadline)
        faults = [*([] if report.undecided else report.about(*names)), *link.faults]
        if not faults and (report.undecided or link.undecided):
            return EvidenceResult(Outcome.INCONCLUSIVE, report.undecided or link.undecided)
        if faults or not link.agrees:
            return EvidenceResult(Outcome.REFUTED, "; ".join(faults) or "nothing was compared with the reference")
        return EvidenceResult(Outcome.STANDS, f"{len(names)} theorems checked by Coq {report.version}")

    return Evidence(", ".join(f"{theorem.file}.{theorem.name}" for theorem in theorems), Kind.COQ, run)


def collected(*groups: Iterable[Statement]) -> dict[str, Statement]:
    """All statements by id and alias, in order; refuses an id that is used twice and a status without support."""
    found: dict[str, Statement] = {}
    for group in groups:
        for statement in group:
            for name in (statement.id, *statement.aliases):
                if name in found:
                    raise ValueError(f"two statements are called {name}")
                found[name] = statement.supported()
    return found


def registry(*more: Statement) -> dict[str, Statement]:
    """Every statement by id and alias, with its theorems; ``more`` are those whose evidence runs other packages."""
    table = read()
    groups = (optimiser.STATEMENTS, accounting.STATEMENTS, more, errata.STATEMENTS)
    return collected(*((with_theorems(statement, table) for statement in group) for group in groups))


def find(name: str, known: Mapping[str, Statement]) -> Statement:
    """The statement of this id or alias, whatever its case; an unknown one is refused with the nearest names."""
    statement = known.get(name.upper())
    if statement is None and name.upper() in {wording.id for wording in errata.WORDING}:
        raise UnknownStatement(f"{name.upper()} is about wording: `dpadmm explain {name.upper()}`; nothing can be run")
    if statement is None:
        raise unknown(name, known)
    return statement
