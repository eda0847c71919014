"""The gate of a declared algorithm: it is judged by what its adapter says it releases, and by nothing else."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator

import numpy as np

from accountant.mechanisms.words import Sampling
from audits.errors import ContradictionError
from audits.gate.claim_file import ClaimFile
from audits.gate.coverage import Coverage, Covered, Uncovered, needed_aspects
from audits.gate.declared_table import DeclaredTable
from audits.gate.evidence import of_finding
from audits.gate.options import GateOptions, adapter_failed
from audits.gate.time_limit import TookTooLongError, time_limit
from verification.declared.bench import Bench
from verification.declared.checks import account
from verification.declared.promise import Pricing, Promise
from verification.declared.runner import run_declared
from verification.judge import About, Result, concluded, finding
from verification.outcome import Finding, Outcome, Stage
from verification.wire.declaration import Declaration, contradictions
from verification.wire.declared_session import DeclaredQuestion, DeclaredSession
from verification.wire.faults import AdapterError, AdapterSkipped, Fault, ProtocolStep
from verification.wire.process import Limits
from verification.wire.tape import Tape


def declared_stage(
    claims: ClaimFile, table: DeclaredTable, limits: Limits, options: GateOptions
) -> tuple[list[Finding], Coverage]:
    """Ask for the declaration, refuse one that contradicts itself, and run every check of it."""
    if claims.implementation is None:
        raise AssertionError("a checked claim file with [declared] has an [implementation]")
    findings: list[Finding] = []
    coverage = Coverage()
    deadline = time.monotonic() + claims.gate.budget
    try:
        with DeclaredSession(claims.implementation.command, limits) as session:
            tape = session.tape = Tape()
            bench = declared_bench(claims, table, session, options.seed, deadline=deadline)
            # huge but finite answers are answers, whatever overflows on the way to a conclusion about them
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                for result in declared_results(claims, bench, options):
                    if options.wants(result.about.id):
                        options.say(result.about.id)
                        findings.append(_reproducible(finding(result), options))
                    coverage = coverage.joined(_covered(result, table))
            if not (options.only or claims.claim.nothing or _refuted(findings)):
                findings += _uncovered(claims, table, bench.declaration, coverage)
            _keep(findings, session, tape, options)
    except AdapterSkipped as answer:  # never a fault; and nothing is known then
        name = f"adapter/{table.algorithm}/{Stage.DECLARED}"
        reason = f"not offered: {answer.reason}"
        findings.append(Finding(name, Outcome.SKIPPED, reason, table.algorithm, stage=Stage.DECLARED))
        coverage = coverage.joined(Coverage(skipped=(Uncovered(name, table.algorithm, answer.reason),)))
    except AdapterError as error:
        findings.append(adapter_failed(Stage.DECLARED, error, options))
    return findings, coverage


def _keep(findings: list[Finding], session: DeclaredSession, tape: Tape, options: GateOptions) -> None:
    """Keep the whole conversation beside what refutes."""
    if options.evidence is None:
        return
    said = session.description
    for found in findings:
        if found.stage is Stage.DECLARED:
            kept = of_finding(found, said, seed=options.seed, seeded=False, tapes=(tape,), only=options.only)
            options.evidence.keep(found, kept)


def declared_bench(
    claims: ClaimFile,
    table: DeclaredTable,
    session: DeclaredSession,
    seed: int,
    *,
    deadline: float = math.inf,
    kind: type[Bench] = Bench,
) -> Bench:
    """The algorithm as it declares itself; an error if the declaration contradicts itself or the claim."""
    if table.algorithm not in session.description.declared:
        known = ", ".join(session.description.declared)
        detail = f"the claim is about {table.algorithm!r}, declared are {known}"
        raise session.fault(Fault.UNDECLARED, ProtocolStep.START, detail)
    question = DeclaredQuestion(table.algorithm, table.parameters)
    declaration = session.declare(question, table.records, table.columns)
    claim = claims.claim
    found = contradictions(declaration, neighbours=claim.neighbours, pure=claim.delta == 0, records=table.records)
    if found:
        listed = "\n".join(f"  {each}" for each in found)
        raise ContradictionError(f"the declaration of {table.algorithm} contradicts itself or the claim:\n{listed}")
    rng = np.random.default_rng(seed)
    return kind(session, question, declaration, table.records, table.columns, rng, deadline)


def declared_results(claims: ClaimFile, bench: Bench, options: GateOptions) -> Iterator[Result]:
    """Every question; our own computations are limited by the same time."""
    promise = Promise(claims.claim.epsilon, claims.claim.delta)
    about = About("account", bench.question.algorithm, Stage.DECLARED, bench.question.algorithm)
    if claims.claim.nothing:  # where no privacy is claimed there is nothing to protect
        yield concluded(about, lambda: account(bench, Pricing(bench, promise), None), 0.0)
        return
    gate = claims.gate

    def wants(name: str) -> bool:
        return options.wants(f"{name}/{bench.question.algorithm}/{Stage.DECLARED}")

    try:
        with time_limit(2 * gate.budget):
            share = float(gate.false_alarm)
            yield from run_declared(bench, promise, false_alarm=share, power=gate.power, wants=wants)
    except TookTooLongError as error:
        yield Result(about, Outcome.INCONCLUSIVE, reason=f"nothing could be certified: {error}")


def _reproducible(found: Finding, options: GateOptions) -> Finding:
    again = options.reproduce(found.name, options.seed) if found.outcome is Outcome.REFUTED else ""
    return dataclasses.replace(found, reproduction=again)


def _refuted(findings: list[Finding]) -> bool:
    return any(found.outcome is Outcome.REFUTED for found in findings)


def _covered(result: Result, table: DeclaredTable) -> Coverage:
    if result.answer is None:
        return Coverage(skipped=(Uncovered(result.about.id, table.algorithm, result.reason),))
    size = f"{table.records} records of {table.columns} features"
    return Coverage((Covered(result.about.id, table.algorithm, size, 0, result.answer.covers),))


def _uncovered(claims: ClaimFile, table: DeclaredTable, declaration: Declaration, coverage: Coverage) -> list[Finding]:
    """What the claim rests on and no question could look at."""
    needed = needed_aspects(private=True, sampled=declaration.sampling.kind is not Sampling.ALL, clips=True)
    missing = [a for a in coverage.missing(table.algorithm, needed) if a not in claims.gate.accepts]
    if not missing:
        return []
    text = f"the claim rests on {', '.join(missing)}, and nothing could look at {'it' if len(missing) == 1 else 'them'}"
    name = f"aspects/{table.algorithm}/{Stage.COVERAGE}"
    return [Finding(name, Outcome.INCONCLUSIVE, text, table.algorithm, stage=Stage.COVERAGE)]
