"""Honest implementations that keep their claim in another way are not refuted, and their wrong twins are."""

from __future__ import annotations

import sys

import pytest

from accountant.mechanisms.words import Algorithm
from tests.audits.gate.honest.campaign import honest_gate
from tests.zoo.honest.same_claim import ALGORITHMS, HONEST, TWINS
from verification.outcome import Cause, Outcome

LEVEL = "1e-3"
HIDDEN = {"normalised-noisy-gradient"}
"""What it does with noisy values hides their noise: nothing refutes it, and nothing can be said of its noise."""
POOLED = {"noise-pool"}
"""A million values are more than a gate of this size reads; `test_windows` has it at a smaller size."""


def number_of(name: str) -> int:
    """Which of the two claims: that of its algorithm, or one of both."""
    if name in ALGORITHMS:
        return 0 if ALGORITHMS[name] is Algorithm.SSADMM else 1
    return sorted({**HONEST, **TWINS}).index(name) % 2


def command(name: str) -> list[str]:
    return [sys.executable, "-m", "tests.zoo.honest.same_claim", name]


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_implementation_is_not_refuted(name: str) -> None:
    report = honest_gate(command(name), number_of(name), LEVEL)
    refuted = [f"{f.name}: {f.detail}" for f in report.findings if f.outcome is Outcome.REFUTED]
    assert not refuted, refuted
    expected = (Outcome.INCONCLUSIVE,) if name in HIDDEN else (Outcome.STANDS, Outcome.DEVIATES)
    assert report.outcome in expected
    harmless = {f.cause for f in report.findings if f.outcome is Outcome.DEVIATES}
    assert harmless <= {Cause.UPDATE, Cause.NOISE_LARGE, Cause.BATCH_SIZE}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TWINS if name not in POOLED])
def test_its_wrong_twin_is_refuted(name: str) -> None:
    assert honest_gate(command(name), number_of(name), LEVEL).outcome is Outcome.REFUTED
