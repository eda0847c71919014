"""Evidence by the two solvers: proofs, and counterexamples that the float reference reproduces."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import z3

from verification.outcome import Outcome
from verification.smt.obligation import Obligation, script
from verification.smt.prover import ProofStatus, Prover
from verification.smt.solvers import SolverAnswer
from verification.smt.updates import coordinatewise_maps, is_coordinatewise
from verification.statements.model import Evidence, EvidenceResult, Kind

Lemma = Callable[[], list[Obligation]]
Model = dict[str, Fraction]
LENGTHS = (1, 2, 3, 4)


def proved(*lemmas: Lemma) -> Evidence:
    """Every obligation of the lemmas, by both solvers, each with its sharper twin refuted."""

    def obligations() -> list[Obligation]:
        return [obligation for lemma in lemmas for obligation in lemma()]

    def run(prover: Prover) -> EvidenceResult:
        proofs = [prover.prove(obligation) for obligation in obligations()]
        for verdict, outcome in ((ProofStatus.REFUTED, Outcome.REFUTED), (ProofStatus.UNKNOWN, Outcome.INCONCLUSIVE)):
            bad = [entry for entry in proofs if entry.verdict is verdict]
            if bad:
                return EvidenceResult(outcome, "; ".join(f"{entry.name}: {entry.detail}" for entry in bad))
        asked = sum(entry.queries for entry in proofs)
        return EvidenceResult(Outcome.STANDS, f"{len(proofs)} obligations, {asked} questions, z3 and cvc5 agree")

    return Evidence(_name(*lemmas), Kind.SMT, run, obligations)


def _name(*lemmas: Lemma) -> str:
    return ", ".join(f"{lemma.__module__.rpartition('.')[2]}.{lemma.__name__}" for lemma in lemmas)


def coordinatewise() -> Evidence:
    """Every map that is proved for one coordinate works coordinate by coordinate."""

    def run(prover: Prover) -> EvidenceResult:  # noqa: ARG001 - compares terms; no solver is needed
        maps = coordinatewise_maps()
        mixed = [
            f"{name} at length {length}"
            for name, function, arguments in maps
            for length in LENGTHS
            if not is_coordinatewise(function, arguments, length)
        ]
        detail = f"{len(maps)} maps at lengths {LENGTHS[0]} to {LENGTHS[-1]}" if not mixed else ", ".join(mixed)
        return EvidenceResult.check(not mixed, detail, size=len(maps) * len(LENGTHS))

    return Evidence("reduction to coordinates", Kind.ENCLOSURE, run)


def counterexample(prover: Prover, hypotheses: tuple[z3.BoolRef, ...], statement: z3.BoolRef) -> Model | EvidenceResult:
    """Values under which the statement fails, invented by the solver; a finding where there are none."""
    reply = prover.ask_for_model(script((*hypotheses, z3.Not(statement))))
    match reply.answer:
        case SolverAnswer.SATISFIABLE:
            return reply.model
        case SolverAnswer.UNSATISFIABLE:
            return EvidenceResult(Outcome.REFUTED, "the statement was to be refuted, but holds")
        case SolverAnswer.UNKNOWN:
            return EvidenceResult(Outcome.INCONCLUSIVE, "no counterexample was found in time")
