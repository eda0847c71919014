"""Ask members the questions at a few records, and where these cannot see, audit the last model."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tests.zoo import updates
from tests.zoo.last_model import audit_last_model
from tests.zoo.specimen import Harm, Member, Sight
from verification.conform import FALSE_ALARM, everything
from verification.judge import Plan, Result, finding, judge
from verification.outcome import Outcome
from verification.questions.question import Question
from verification.wire.parameters import Algorithm
from verification.wire.session import Session

AUDIT = "audit of the last model"
PLAN = Plan(FALSE_ALARM, float("inf"), 0, fail_fast=True)
_DIFFERENT = (Outcome.REFUTED, Outcome.DEVIATES)


@dataclass(frozen=True, slots=True)
class Catch:
    """What caught a member in one algorithm, how long after the session began, and what it said."""

    by: str
    seconds: float
    detail: str


Caught = dict[Algorithm, Catch]


def command_of(member: Member, sight: Sight) -> list[str]:
    """The command that serves the member."""
    return [sys.executable, "-m", "tests.zoo", member.identity, sight]


def catch(
    member: Member,
    sight: Sight,
    plan: Plan = PLAN,
    questions: Sequence[Question] | None = None,
    *,
    audited: bool = True,
) -> Caught:
    """Ask until the member is caught in every algorithm that it claims; then the audit for the others.

    What costs privacy is caught only by a refutation; what costs none, and an update that is another one, whose cost
    depends on the claim, also where it deviates.
    """
    leaks = member.harm is Harm.LEAK and member.kind.__module__ != updates.__name__
    outcomes = (Outcome.REFUTED,) if leaks else _DIFFERENT
    return catch_command(command_of(member, sight), plan, questions, outcomes, audited=audited)


def catch_command(
    command: list[str],
    plan: Plan = PLAN,
    questions: Sequence[Question] | None = None,
    outcomes: Sequence[Outcome] = _DIFFERENT,
    *,
    audited: bool = True,
) -> Caught:
    """The same for any command; an honest implementation is caught in no algorithm."""
    caught: Caught = {}
    began = time.monotonic()
    with Session(command) as session:

        def seen(result: Result) -> None:
            if result.outcome in outcomes:
                found = Catch(result.about.question, time.monotonic() - began, finding(result).detail)
                caught.setdefault(algorithm, found)

        wanted = session.description.algorithms
        asked = everything(session.description, questions)
        modes = list(dict.fromkeys(each.mode for each in asked))
        for mode in modes:
            algorithm = mode.algorithm
            if algorithm not in caught:
                part = replace(plan, false_alarm=plan.false_alarm / len(modes))
                judge([session], [a for a in asked if a.mode == mode], part, lambda: Session(command), seen)
        for algorithm in wanted:
            if audited and algorithm not in caught:
                rng = np.random.default_rng(plan.seed)
                audit = audit_last_model(session, algorithm, rng, alpha=plan.false_alarm)
                if audit.refuted:
                    caught[algorithm] = Catch(AUDIT, time.monotonic() - began, audit.detail)
    return caught
