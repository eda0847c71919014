"""The evidence for LEADER and ADAPTIVE falls with wrong code, and lets an adversary stand who chooses less often."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

import pytest

from accountant.pld.adversary.adaptive_lower import adaptive_delta_lower, adaptive_epsilon_lower
from accountant.pld.adversary.recursion import Course
from accountant.pld.composition import compose
from verification.outcome import Outcome
from verification.smt.prover import Prover
from verification.smt.solvers import Solver
from verification.statements.evidence import adversary

pytestmark = pytest.mark.slow


def _prover() -> Prover:
    """No solver is asked: nothing of this evidence is an obligation."""
    return Prover(cast("tuple[Solver, Solver]", (None, None)))


def test_a_check_that_accepts_anything_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adversary, "check", lambda _: None)
    assert adversary.incomplete_certificates_fail.run(_prover()).outcome is Outcome.REFUTED


def test_a_composition_that_forgets_a_step_is_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adversary, "Course", lambda total, singles, growth: Course(total - 1, singles - 1, growth))
    assert adversary.adaptive_attacks.run(_prover()).outcome is Outcome.REFUTED


@pytest.mark.parametrize("factor", [Fraction(102, 100), Fraction(9, 10)])
def test_a_lower_end_that_is_too_large_or_useless_is_noticed(monkeypatch: pytest.MonkeyPatch, factor: Fraction) -> None:
    honest = adaptive_delta_lower
    monkeypatch.setattr(adversary, "adaptive_delta_lower", lambda step, epsilon: honest(step, epsilon) * factor)
    assert adversary.attained_by_choosing.run(_prover()).outcome is Outcome.REFUTED


def test_the_forward_pair_alone_is_not_the_adaptive_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adversary, "adaptive_delta_lower", lambda step, e: compose([step]).delta_lower(e))
    assert adversary.attained_between.run(_prover()).outcome is Outcome.REFUTED


@pytest.mark.parametrize(
    ("factor", "outcome"), [(Fraction(99, 100), Outcome.REFUTED), (Fraction(9995, 10000), Outcome.STANDS)]
)
def test_an_adaptive_end_that_exceeds_no_fixed_pair_is_noticed(
    monkeypatch: pytest.MonkeyPatch, factor: Fraction, outcome: Outcome
) -> None:
    honest = adaptive_epsilon_lower
    monkeypatch.setattr(adversary, "adaptive_epsilon_lower", lambda step, delta: honest(step, delta) * factor)
    assert adversary.forward_exceeded.run(_prover()).outcome is outcome


def test_an_adversary_who_chooses_less_often_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = adaptive_delta_lower
    monkeypatch.setattr(adversary, "adaptive_delta_lower", lambda step, epsilon: honest(step, epsilon, 2))
    assert adversary.attained_by_choosing.run(_prover()).outcome is Outcome.STANDS
