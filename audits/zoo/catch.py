"""Put members through conformance, and where that cannot see, through the audit of the last model."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from audits.zoo.last_model import audit_last_model
from audits.zoo.specimen import Member, Sight
from verification.conformance.check import ALL_MODES
from verification.conformance.runner import ConformancePlan, run_checks
from verification.outcome import Finding, Outcome
from verification.wire.parameters import Algorithm
from verification.wire.session import Session

_ALGORITHMS = {str(mode): mode.algorithm for mode in ALL_MODES}
AUDIT = "audit of the last model"


@dataclass(frozen=True, slots=True)
class Catch:
    """What caught a member in one algorithm, how long after the session began, and what it said."""

    by: str
    seconds: float
    detail: str


Caught = dict[Algorithm, Catch]


def command_of(member: Member, sight: Sight) -> list[str]:
    """The command that serves the member."""
    return [sys.executable, "-m", "audits.zoo", member.identity, sight]


def catch(member: Member, sight: Sight, plan: ConformancePlan | None = None, *, audited: bool = True) -> Caught:
    """Run checks until the member is refuted in every algorithm that it claims; then the audit for the others."""
    return catch_command(command_of(member, sight), plan, audited=audited)


def catch_command(command: list[str], plan: ConformancePlan | None = None, *, audited: bool = True) -> Caught:
    """The same for any command; an honest implementation is caught in no algorithm."""
    plan = plan or ConformancePlan()
    caught: Caught = {}
    began = time.monotonic()
    with Session(command) as session:
        wanted = session.description.algorithms
        for finding in _refutations(run_checks(session, plan, lambda: Session(command), began)):
            found = Catch(finding.name, time.monotonic() - began, finding.detail)
            caught.setdefault(_ALGORITHMS[finding.subject], found)
            if len(caught) == len(wanted):
                break
        for algorithm in wanted:
            if audited and algorithm not in caught:
                _audit(session, algorithm, plan, caught, lambda: time.monotonic() - began)
    return caught


def _refutations(findings: Iterator[Finding]) -> Iterator[Finding]:
    return (finding for finding in findings if finding.outcome in (Outcome.REFUTED, Outcome.DEVIATES))


def _audit(
    session: Session, algorithm: Algorithm, plan: ConformancePlan, caught: Caught, elapsed: Callable[[], float]
) -> None:
    outcome = audit_last_model(session, algorithm, np.random.default_rng(plan.seed), alpha=plan.false_alarm)
    if outcome.refuted:
        caught[algorithm] = Catch(AUDIT, elapsed(), outcome.detail)
