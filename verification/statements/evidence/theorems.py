"""Evidence by Coq: the theorems of ``verification/proofs`` that settle a statement, or a part of it."""

from __future__ import annotations

from dataclasses import replace

from verification.lemmas.prover import Prover
from verification.outcome import Outcome
from verification.proofs.check import checked
from verification.proofs.coq import MISSING, Coq
from verification.proofs.link import linked
from verification.proofs.table import Theorem, TheoremTable
from verification.statements.model import Evidence, EvidenceResult, Kind, Statement


def with_theorems(statement: Statement, table: TheoremTable) -> Statement:
    """The statement with its theorems as one more piece of evidence; the statement itself where it has none."""
    theorems = table.of_statement(statement.id)
    return replace(statement, evidence=(*statement.evidence, _by_coq(theorems))) if theorems else statement


def _by_coq(theorems: tuple[Theorem, ...]) -> Evidence:
    names = tuple(theorem.name for theorem in theorems)

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - Coq needs no SMT solver
        if not Coq.installed():
            return EvidenceResult(Outcome.INCONCLUSIVE, MISSING)
        report, link = checked(), linked()
        faults = [*report.about(*names), *link.faults]
        if faults or not link.agrees:
            return EvidenceResult(Outcome.REFUTED, "; ".join(faults) or "nothing was compared with the reference")
        return EvidenceResult(Outcome.STANDS, f"{len(names)} theorems checked by Coq {report.version}")

    return Evidence(", ".join(f"{theorem.file}.{theorem.name}" for theorem in theorems), Kind.COQ, run)
