"""Evidence runs, stands, and catches what it is meant to catch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from accountant import Mechanism, mechanism_from
from dpadmm.statements import STATEMENTS, find
from reference.arithmetic import Vector
from reference.baselines.dpsgd import proximal_step
from reference.baselines.objp import Perturbation
from reference.losses import Logistic, Loss
from reference.problem import Problem
from reference.regularizers import Regularizer
from reference.updates import update_x
from tools.golden_vectors.exact import Exact
from verification.outcome import Outcome
from verification.statements.model import Kind, Statement, check

# Every statement whose evidence takes less than half a second; the slow test runs all of them.
SLOW = {
    *("LOSS-LOGISTIC", "LOSS-HUBER", "SOFT-THRESHOLD", "PROX-FIRM", "SENS-GRADIENT", "SENS-X", "SENS-Z", "LEMMA-2"),
    *("THEOREM-1", "THEOREM-2", "THEOREM-3", "WBK27", "E1", "E4", "E11", "DPSGD", "DPADMM", "DPADMM-THRESHOLD"),
    *("LEADER", "TRAINING", "E16", "VILLE", "EPOCHS", "GROUPS"),
}


def without_coq(statement: Statement) -> Statement:
    """The statement with all its evidence but Coq's, which takes half a minute and has tests of its own."""
    kept = tuple(evidence for evidence in statement.evidence if evidence.kind is not Kind.COQ)
    return replace(statement, evidence=kept)


QUICK = [without_coq(statement) for statement in STATEMENTS if statement.id not in SLOW]


@pytest.mark.slow
def test_the_quick_claims_stand() -> None:
    checked = list(check(QUICK))
    assert {entry.statement.id: entry.status for entry in checked if entry.outcome is not Outcome.STANDS} == {}


@pytest.mark.slow
def test_every_claim_stands() -> None:
    checked = list(check([without_coq(statement) for statement in STATEMENTS]))
    assert {entry.statement.id: entry.status for entry in checked if entry.outcome is not Outcome.STANDS} == {}


def test_the_printed_bound_is_refuted_by_data_sets_that_the_float_reference_reproduces() -> None:
    [checked] = check([without_coq(find("SENS-X-PRINTED"))])
    witness = checked.findings[0].witness
    assert checked.outcome is Outcome.STANDS
    assert "D = {" in witness
    assert "eta = 4" in witness


def without_eta(g: Vector, x: Vector, z: Vector, y: Vector, *, rho: float, eta: float) -> Vector:
    """An x update that divides by 1 + eta rho alone: what the printed bound would be right for."""
    return update_x(g, x, z, y, rho=rho, eta=eta) / eta


@pytest.mark.slow
def test_a_wrong_x_update_breaks_sens_x(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verification.smt.updates.update_x", without_eta)
    statement = find("SENS-X")
    [checked] = check(
        [type(statement)(statement.id, statement.statement, statement.place, statement.status, statement.evidence[:1])]
    )
    assert checked.outcome is Outcome.REFUTED


def test_a_loss_with_slopes_beyond_one_breaks_loss_logistic(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Logistic.slope
    monkeypatch.setattr(Logistic, "slope", lambda self, margin: 2 * right(self, margin))
    [checked] = check([without_coq(find("LOSS-LOGISTIC"))])
    assert [finding.outcome for finding in checked.findings] == [Outcome.REFUTED] * 2


def test_a_prox_that_overshoots_breaks_the_joint_bound_under_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    def overshooting(x: Vector, y: Vector, *, rho: float, regularizer: Regularizer) -> Vector:
        return 1.5 * x

    monkeypatch.setattr("reference.mpadmm.update_z", overshooting)
    [checked] = check([without_coq(find("JOINT"))])
    failed = [finding.name for finding in checked.findings if finding.outcome is Outcome.REFUTED]
    assert "constructed neighbours for joint" in failed


def attacks_of(name: str) -> Outcome:
    """What the attacks of a statement find, without its proofs."""
    statement = find(name)
    attacks = tuple(evidence for evidence in statement.evidence if evidence.kind is Kind.ATTACK)
    [checked] = check([replace(statement, evidence=attacks)])
    return checked.outcome


def test_a_step_twice_as_long_breaks_dpsgd_under_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(problem: Problem, x: Vector, g: Vector, eta: float) -> Vector:
        return proximal_step(problem, x, 2 * g, eta)

    assert attacks_of("DPSGD") is Outcome.STANDS
    monkeypatch.setattr("reference.baselines.dpsgd.proximal_step", twice)
    assert attacks_of("DPSGD") is Outcome.REFUTED


def test_a_price_that_ignores_the_parties_breaks_dpadmm_under_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_one_party(**given: Exact) -> Mechanism:
        return mechanism_from({"algorithm": "dpadmm", **given, "parties": 1})

    assert attacks_of("DPADMM") is Outcome.STANDS
    monkeypatch.setattr("verification.statements.evidence.baselines.DPADMM", of_one_party)
    assert attacks_of("DPADMM") is Outcome.REFUTED


def test_a_price_of_two_c_over_m_for_two_gradients_breaks_dpsvrg_under_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    def cheaper(**given: int) -> Mechanism:
        return mechanism_from({"algorithm": "dpsvrg", **given, "sigma": 2 * given["sigma"]})

    assert attacks_of("DPSVRG") is Outcome.STANDS
    monkeypatch.setattr("verification.statements.evidence.baselines.DPSVRG", cheaper)
    assert attacks_of("DPSVRG") is Outcome.REFUTED


def test_a_perturbation_that_forgets_the_jacobian_breaks_objp(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_for_the_noise(epsilon: float, *, loss: Loss, records: int, rho: float) -> Perturbation:
        assert loss.curvature / (records * rho) > 0
        return Perturbation(epsilon, 0.0, 2 / epsilon)

    assert attacks_of("OBJP") is Outcome.STANDS
    monkeypatch.setattr("verification.statements.evidence.baselines.perturbation", all_for_the_noise)
    assert attacks_of("OBJP") is Outcome.REFUTED


@pytest.mark.parametrize(
    ("statement", "target", "wrong"),
    [
        ("SAMPLER", "bernoulli", lambda probability, below: below(probability.denominator) <= probability.numerator),
        ("SAMPLER", "discrete_laplace", lambda scale, below: below(2 * scale) - scale),
        ("DRAWS", "ExactEntropy._vector", lambda _self, dimension, _variance: np.zeros(dimension)),
        ("DRAWS", "Entropy.batches", lambda _self, _records, size, iterations: iter([np.arange(size)] * iterations)),
    ],
)
def test_a_wrong_draw_is_noticed(
    statement: str, target: str, wrong: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other sabotages run on copies, in test_sabotage.py."""
    monkeypatch.setattr(f"reference.discrete_gaussian.{target}", wrong)
    [checked] = check([find(statement)])
    assert checked.outcome is Outcome.REFUTED
