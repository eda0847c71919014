"""Clipped at less, in smaller batches, rounded, from another start: different, and not less private."""

from __future__ import annotations

import sys

import pytest

from tests.verification.conformance.different import DIFFERENT
from tests.verification.conformance.sessions import results_of
from verification.conformance.runner import UPDATE_CHECKS, ConformancePlan, conform
from verification.outcome import Outcome


def command(name: str) -> list[str]:
    return [sys.executable, "-m", "tests.verification.conformance.different", name]


def test_smaller_batches_deviate() -> None:
    found = {f.name: f for f in results_of(command("SmallerBatches"), "batch-size", "batch-uniform")}
    assert found["batch-size"].outcome is Outcome.DEVIATES
    assert found["batch-uniform"].outcome is Outcome.STANDS


@pytest.mark.slow
@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_different_and_not_less_private_is_not_refuted(name: str) -> None:
    report = conform(command(name), ConformancePlan(false_alarm=1e-9, seeded=False))
    refuted = [f"{f.name} {f.subject}: {f.detail}" for f in report.findings if f.outcome is Outcome.REFUTED]
    assert not refuted, refuted
    assert report.outcome in (Outcome.DEVIATES, Outcome.STANDS)
    assert {f.name for f in report.findings if f.outcome is Outcome.DEVIATES} & {*UPDATE_CHECKS, "batch-size"}
