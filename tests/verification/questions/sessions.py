"""Sessions for the tests of this folder."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from tests.verification.questions.in_process import InProcess
from verification.conform import FALSE_ALARM, everything
from verification.judge import Plan, finding, judge
from verification.outcome import Finding
from verification.questions.catalogue import find
from verification.served.stepwise import Stepwise

LOOPBACK = [sys.executable, "-m", "verification.served.loopback"]


def wrong(name: str) -> list[str]:
    """The command that serves one of the wrong implementations."""
    return [sys.executable, "-m", "tests.zoo.conformance.wrong", name]


def plan(effort: float = 1.0, seed: int = 0) -> Plan:
    """As the command asks, with sample sizes of its own."""
    return Plan(FALSE_ALARM, math.inf, seed, effort=effort)


def question_of(found: Finding) -> str:
    """Which question a finding answers."""
    return found.name.split("/")[0]


def results_of(
    implementation: Callable[[], Stepwise], *questions: str, effort: float = 1.0, seed: int = 0
) -> list[Finding]:
    """Ask an implementation in this process some questions at a few records; all of them if none is named."""
    session = InProcess(implementation())
    asked = everything(session.description, find(questions))
    results = judge([session], asked, plan(effort, seed), lambda: InProcess(implementation()))
    return [finding(result) for result in results]
