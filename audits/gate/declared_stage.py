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
from audits.gate.findings import Stage
from audits.gate.options import GateOptions, adapter_failed
from audits.gate.time_limit import TookTooLongError, time_limit
from verification.declared.bench import Bench
from verification.declared.judged import account
from verification.declared.promise import Pricing, Promise
from verification.declared.runner import ASPECTS, run_declared
from verification.outcome import Finding, Outcome
from verification.wire.declaration import Declaration, contradictions
from verification.wire.declared_session import DeclaredQuestion, DeclaredSession
from verification.wire.faults import AdapterError, AdapterSkipped, Fault, ProtocolStep
from verification.wire.process import Limits
from verification.wire.tape import Tape

_LOOKED = (Outcome.STANDS, Outcome.DEVIATES, Outcome.REFUTED)


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
                for finding in declared_findings(claims, bench, options):
                    name = f"{Stage.DECLARED}: {finding.name}"
                    if options.wants(name):
                        options.say(name)
                        findings.append(_named(finding, name, table, options))
                    coverage = coverage.joined(_covered(finding, table))
            if not (options.only or claims.claim.nothing or _refuted(findings)):
                findings += _uncovered(claims, table, bench.declaration, coverage)
            _keep(findings, session, tape, options)
    except AdapterSkipped as answer:  # never a fault; and nothing is known then
        name = f"{Stage.DECLARED}: adapter"
        findings.append(Finding(name, Outcome.SKIPPED, f"not offered: {answer.reason}", table.algorithm))
        coverage = coverage.joined(Coverage(skipped=(Uncovered(name, table.algorithm, answer.reason),)))
    except AdapterError as error:
        findings.append(adapter_failed(Stage.DECLARED, error, options))
    return findings, coverage


def _keep(findings: list[Finding], session: DeclaredSession, tape: Tape, options: GateOptions) -> None:
    """Keep the whole conversation beside what refutes."""
    if options.evidence is None:
        return
    said = session.description
    for finding in findings:
        kept = of_finding(finding, said, seed=options.seed, seeded=False, tapes=(tape,), only=options.only)
        options.evidence.keep(finding, kept)


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


def declared_findings(claims: ClaimFile, bench: Bench, options: GateOptions) -> Iterator[Finding]:
    """Every check; our own computations are limited by the same time."""
    promise = Promise(claims.claim.epsilon, claims.claim.delta)
    if claims.claim.nothing:  # where no privacy is claimed there is nothing to protect
        yield account(bench, Pricing(bench, promise), None)
        return
    gate = claims.gate

    def wants(name: str) -> bool:
        return options.wants(f"{Stage.DECLARED}: {name}")

    try:
        with time_limit(2 * gate.budget):
            share = float(gate.false_alarm)
            yield from run_declared(bench, promise, false_alarm=share, power=gate.power, wants=wants)
    except TookTooLongError as error:
        yield Finding("account", Outcome.INCONCLUSIVE, f"nothing could be certified: {error}")


def _named(finding: Finding, name: str, table: DeclaredTable, options: GateOptions) -> Finding:
    again = options.reproduce(name, options.seed) if finding.outcome is Outcome.REFUTED else ""
    return dataclasses.replace(finding, name=name, subject=table.algorithm, reproduction=again)


def _refuted(findings: list[Finding]) -> bool:
    return any(finding.outcome is Outcome.REFUTED for finding in findings)


def _covered(finding: Finding, table: DeclaredTable) -> Coverage:
    name = f"{Stage.DECLARED}: {finding.name}"
    if finding.outcome not in _LOOKED:
        return Coverage(skipped=(Uncovered(name, table.algorithm, finding.detail),))
    size = f"{table.records} records of {table.columns} features"
    return Coverage((Covered(name, table.algorithm, size, 0, ASPECTS[finding.name]),))


def _uncovered(claims: ClaimFile, table: DeclaredTable, declaration: Declaration, coverage: Coverage) -> list[Finding]:
    """What the claim rests on and no check could look at."""
    needed = needed_aspects(private=True, sampled=declaration.sampling.kind is not Sampling.ALL, clips=True)
    missing = [a for a in coverage.missing(table.algorithm, needed) if a not in claims.gate.accepts]
    if not missing:
        return []
    text = f"the claim rests on {', '.join(missing)}, and nothing could look at {'it' if len(missing) == 1 else 'them'}"
    return [Finding(f"{Stage.COVERAGE}: {table.algorithm}", Outcome.INCONCLUSIVE, text, table.algorithm)]
