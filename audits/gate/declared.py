"""The gate of a declared algorithm: it is judged by what its adapter says it releases, and by nothing else."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from accountant.errors import TimeLimitError
from accountant.limits import time_limit
from accountant.mechanisms.words import Sampling
from audits.errors import ContradictionError
from audits.gate.claim_file import ClaimFile, DeclaredTable
from audits.gate.options import GateOptions, adapter_failed
from verification.declared.implementation import DeclaredImplementation
from verification.declared.questions import Shown, about_declared, ask_declared, priced
from verification.judge import Coverage, Result, concluded, finding
from verification.outcome import About, Finding, Outcome, Stage, needed_aspects
from verification.wire import Face
from verification.wire.declaration import contradictions
from verification.wire.faults import AdapterError, AdapterSkipped, Fault, ProtocolStep
from verification.wire.process import Limits
from verification.wire.session import DeclaredAlgorithm, Session
from verification.wire.tape import Tape


def declared_stage(
    claims: ClaimFile, table: DeclaredTable, limits: Limits, options: GateOptions
) -> tuple[list[Finding], Coverage]:
    """Ask for the declaration, refuse one that contradicts itself, and run every check of it."""
    if claims.implementation is None:
        raise AssertionError("a checked claim file with [declared] has an [implementation]")
    findings, results = list[Finding](), list[Result]()
    deadline = time.monotonic() + claims.gate.budget
    try:
        with Session(claims.implementation.command, limits, Face.DECLARED) as session:
            options.described.append(session.description)
            tape = session.tape = Tape()
            declared = declared_implementation(claims, table, session, options.seed, deadline=deadline)
            # huge but finite answers are answers, whatever overflows on the way to a conclusion about them
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                for result in declared_results(claims, declared, options):
                    results.append(result)
                    options.night.question(result)
                    if result.answer is not None and result.answer.energies is not None:
                        options.night.noise(table.algorithm, result.answer.energies)
                    if options.wants(result.about):
                        options.say(str(result.about))
                        findings.append(options.conclude(finding(result)))
            if not (options.only or claims.claim.nothing or _refuted(findings)):
                about = About("aspects", table.algorithm, Stage.COVERAGE, table.algorithm)
                drawn = declared.declaration.sampling.kind is not Sampling.ALL
                needed = needed_aspects(private=True, sampled=drawn)
                findings += Coverage.of(results).gaps(about, needed, claims.gate.accepts)
            for found in findings:
                if found.stage is Stage.DECLARED:
                    options.keep(found, tapes=(tape,))
    except AdapterSkipped as answer:  # never a fault; and nothing is known then
        about = About("adapter", table.algorithm, Stage.DECLARED, table.algorithm)
        results.append(Result(about, Outcome.SKIPPED, reason=f"not offered: {answer.reason}"))
        findings.append(finding(results[-1]))
    except AdapterError as error:
        findings.append(adapter_failed(Stage.DECLARED, error, options))
    return findings, Coverage.of(results)


def declared_implementation(
    claims: ClaimFile,
    table: DeclaredTable,
    session: Session,
    seed: int,
    *,
    deadline: float = math.inf,
) -> DeclaredImplementation:
    """The algorithm as it declares itself; an error if the declaration contradicts itself or the claim."""
    if table.algorithm not in session.description.declared:
        known = ", ".join(session.description.declared)
        detail = f"the claim is about {table.algorithm!r}, declared are {known}"
        raise session.fault(Fault.UNDECLARED, ProtocolStep.START, detail)
    algorithm = DeclaredAlgorithm(table.algorithm, table.parameters)
    declaration = session.declare(algorithm, table.records, table.columns)
    claim = claims.claim
    found = contradictions(declaration, neighbours=claim.neighbours, pure=claim.delta == 0, records=table.records)
    if found:
        listed = "\n".join(f"  {each}" for each in found)
        raise ContradictionError(f"the declaration of {table.algorithm} contradicts itself or the claim:\n{listed}")
    size, at = (table.records, table.columns), (claim.epsilon, claim.delta)
    rng = np.random.default_rng(seed)
    return DeclaredImplementation(session, algorithm, declaration, *size, at, rng, deadline, promises=claim.promises)


def about_account(algorithm: str) -> About:
    """What the price of a declared algorithm is called."""
    return About("account", algorithm, Stage.DECLARED, algorithm)


def declared_results(claims: ClaimFile, declared: DeclaredImplementation, options: GateOptions) -> Iterator[Result]:
    """Every question; our own computations are limited by the same time."""
    gate, about = claims.gate, about_account(declared.algorithm.name)
    share = float(gate.false_alarm)
    if claims.claim.nothing:  # where no privacy is claimed there is nothing to protect
        yield concluded(about, lambda: priced(Shown(declared, share, gate.power), 0.0), 0.0)
        return

    def wants(name: str) -> bool:
        return options.wants(about_declared(declared, name))

    try:
        with time_limit(2 * gate.budget):
            yield from ask_declared(declared, false_alarm=share, power=gate.power, wants=wants)
    except TimeLimitError as error:
        yield Result(about, Outcome.INCONCLUSIVE, reason=f"nothing could be certified: {error}")


def _refuted(findings: list[Finding]) -> bool:
    return any(found.outcome is Outcome.REFUTED for found in findings)
