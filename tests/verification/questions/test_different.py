"""Clipped at less, in smaller batches, rounded, from another start: different, and not less private."""

from __future__ import annotations

import math
import sys

import pytest

from tests.verification.questions.sessions import question_of, results_of
from tests.zoo.conformance.different import DIFFERENT, SmallerBatches
from verification.conform import conform
from verification.judge import Plan
from verification.outcome import Outcome


def command(name: str) -> list[str]:
    return [sys.executable, "-m", "tests.zoo.conformance.different", name]


def test_smaller_batches_deviate() -> None:
    (found,) = [f for f in results_of(SmallerBatches, "marked") if f.subject == "ssadmm"]
    assert found.outcome is Outcome.DEVIATES


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_batches_of_what_is_different_are_not_refuted(name: str) -> None:
    refuted = [f for f in results_of(DIFFERENT[name], "marked") if f.outcome is Outcome.REFUTED]
    assert not refuted, refuted


@pytest.mark.slow
@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_different_and_not_less_private_is_not_refuted(name: str) -> None:
    report = conform(command(name), Plan(1e-9, math.inf, 0, seeded=False))
    refuted = [f"{f.name}: {f.detail}" for f in report.findings if f.outcome is Outcome.REFUTED]
    assert not refuted, refuted
    assert report.outcome in (Outcome.DEVIATES, Outcome.STANDS)
    deviates = {question_of(f) for f in report.findings if f.outcome is Outcome.DEVIATES}
    assert deviates
