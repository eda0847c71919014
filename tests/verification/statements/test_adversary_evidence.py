"""The evidence for LEADER falls with a check that accepts anything, and with a step that is forgotten."""

from __future__ import annotations

from typing import cast

import pytest

from accountant.pld.adversary.recursion import Course
from verification.lemmas.prover import Prover
from verification.lemmas.solvers import Solver
from verification.outcome import Outcome
from verification.statements.evidence import adversary

pytestmark = pytest.mark.slow


def _prover() -> Prover:
    """No solver is asked: nothing of this evidence is an obligation."""
    return Prover(cast("tuple[Solver, Solver]", (None, None)))


def test_a_check_that_accepts_anything_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adversary, "check", lambda _: None)
    assert adversary.incomplete_certificates_fail().run(_prover()).outcome is Outcome.REFUTED


def test_a_composition_that_forgets_a_step_is_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adversary, "Course", lambda total, singles, growth: Course(total - 1, singles - 1, growth))
    assert adversary.adaptive_attacks().run(_prover()).outcome is Outcome.REFUTED
