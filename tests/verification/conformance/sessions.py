"""Sessions for the tests of this folder."""

from __future__ import annotations

import sys
import time

from verification.conformance.registry import find
from verification.conformance.runner import ConformancePlan, run_checks
from verification.outcome import Finding
from verification.wire.session import Session

LOOPBACK = [sys.executable, "-m", "verification.served.loopback"]


def wrong(name: str) -> list[str]:
    """The command that serves one of the wrong implementations."""
    return [sys.executable, "-m", "tests.verification.conformance.wrong", name]


def results_of(command: list[str], *checks: str, effort: float = 1.0, seed: int = 0) -> list[Finding]:
    """Run some checks without the smoke test in front of them."""
    plan = ConformancePlan(find(checks), seed=seed, effort=effort)
    with Session(command) as session:
        return list(run_checks(session, plan, lambda: Session(command), time.monotonic()))
