"""The checker: a theorem that is weakened, rests on an axiom, or speaks of a changed definition does not stand."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.verification.coq.folders import change, definition, folder, needs_coq, part_of_the_project, theorem
from verification.coq.check import ALLOWED, check, checked
from verification.coq.link import CASES, compare, inputs, linked

# Natural numbers, because Coq needs seconds to load its reals and to list their axioms.
SMALL = """(** A file for tests. It is small. *)
From Coq Require Import ProofIrrelevance.
Definition twice (x : nat) : nat := 2 * x.
Theorem honest (x : nat) : x = 3 -> twice x = 6.
Proof. intros H. rewrite H. reflexivity. Qed.
Theorem weaker (x : nat) : x = 3 -> twice x = 6 \\/ twice x = 12.
Proof. intros H. left. rewrite H. reflexivity. Qed.
Theorem more_hypotheses (x : nat) : x = 3 -> 3 = x -> twice x = 6.
Proof. intros H _. rewrite H. reflexivity. Qed.
Theorem foreign (P : Prop) (a b : P) : a = b.
Proof. apply proof_irrelevance. Qed.
"""
PIN = definition("twice", "is", "fun x => 2 * x")
HONEST = theorem("honest", "forall x, x = 3 -> twice x = 6")
TABLE = (
    PIN
    + HONEST
    + theorem("weaker", "forall x, x = 3 -> twice x = 6")
    + theorem("more_hypotheses", "forall x, x = 3 -> twice x = 6")
    + theorem("foreign", "forall (P : Prop) (a b : P), a = b")
)


@needs_coq
def test_only_the_honest_theorem_stands(tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    report = check(folder(tmp_path / "proofs", SMALL, TABLE), work)
    said = {name: verdict.fault for name, verdict in report.verdicts.items()}
    assert report.faults == ()
    assert not report.stands
    assert said["honest"] == ""
    assert report.verdicts["honest"].axioms == ()
    assert "does not state" in said["weaker"]
    assert "does not state" in said["more_hypotheses"]
    assert "proof_irrelevance" in said["foreign"]


@needs_coq
@pytest.mark.parametrize(
    ("source", "table", "said"),
    [
        (SMALL.replace("nat := 2 * x", "nat := x + x + 0"), PIN + HONEST, "twice is not what the table says"),
        (SMALL, HONEST, "twice occurs in a statement"),
        (SMALL.replace("apply proof_irrelevance", "reflexivity"), PIN + HONEST, "Error"),
        (SMALL + "Lemma x : False. Admitted.", PIN + HONEST, "'Admitted' is not allowed"),
        (SMALL, PIN + HONEST + theorem("elsewhere", "True", "Other"), "no such file"),
    ],
)
def test_a_fault_of_the_files_counts_against_every_theorem(source: str, table: str, said: str, tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    report = check(folder(tmp_path / "proofs", source, table), work)
    assert not report.stands
    assert any(said in fault for fault in report.faults)
    assert report.about("honest")


@needs_coq
@pytest.mark.slow
def test_all_theorems_stand_and_coq_agrees_with_python() -> None:
    report, link = checked(), linked()
    assert report.about(*report.verdicts) == []
    assert {axiom for verdict in report.verdicts.values() for axiom in verdict.axioms} <= ALLOWED.keys()
    assert link.faults == ()
    assert link.compared == sum(map(inputs, CASES))
    assert all(inputs(name) >= 150 for name in ("ssadmm", "mpadmm_all", "mpadmm_primal", "record_gradient"))


RARELY_WRONG = {
    "all_states": ("=> nil | _ :: earlier", "=> nil | _ :: _ :: _ :: _ :: nil => nil | _ :: earlier"),
    "mpadmm_all": ("epoch_all prox rho p grid (eta k)", "epoch_all prox rho p grid (eta (Nat.min k 9))"),
}


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("name", RARELY_WRONG)
def test_an_algorithm_that_differs_only_where_no_random_input_reaches_is_found(name: str, tmp_path: Path) -> None:
    """Bodies are pinned: a run that returns nothing after its fourth step, a step size that stays after the tenth."""
    sources = part_of_the_project(tmp_path / "coq", ["Vectors", "Algorithm", "InnerProduct", "SoftThreshold"])
    change(sources / "Algorithm.v", *RARELY_WRONG[name])
    (work := tmp_path / "work").mkdir()
    report = check(sources, work)
    assert any(f"Algorithm.v: {name} is not what the table says" in fault for fault in report.faults), report.faults


@needs_coq
@pytest.mark.slow
def test_a_doubled_constant_in_a_theorem_turns_the_build_red(tmp_path: Path) -> None:
    """2C/n weakened to 4C/n, with a proof that Coq accepts: the theorem no longer states what the table says."""
    sources = part_of_the_project(tmp_path / "proofs", ["Vectors", "Algorithm", "InnerProduct", "Gradients"])
    path = sources / "Gradients.v"
    text = path.read_text("utf-8")
    start = text.index("Theorem full_gradient_sensitivity")
    strong = text[start : text.index("Qed.", start) + 4]
    weak = re.sub(r"<= 2 \* C / INR n\.\nProof\..*", "<= 4 * C / INR n.\n", strong, flags=re.DOTALL) + (
        "Proof.\n  intros HC Hg HD.\n"
        "  eapply Rle_trans; [apply (full_gradient_strong record gradient C p n j); assumption|].\n"
        "  assert (0 < INR n) by (apply lt_0_INR; destruct HD; lia).\n"
        "  unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; assumption|lra].\nQed."
    )
    renamed = strong.replace("Theorem full_gradient_sensitivity", "Theorem full_gradient_strong")
    change(path, strong, f"{renamed}\n\n{weak}")
    (work := tmp_path / "work").mkdir()
    report = check(sources, work)
    failed = {name for name, verdict in report.verdicts.items() if verdict.fault}
    assert all("no instance shows" in fault for fault in report.faults)  # Instances.v is not in this part
    assert failed == {"full_gradient_sensitivity"}


@needs_coq
def test_what_coq_has_no_time_for_is_undecided_by_name_and_not_refuted(tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    report = check(folder(tmp_path / "coq", SMALL, PIN + HONEST), work, time.monotonic() + 0.05)
    assert not report.stands
    assert report.faults == ()
    assert "coqc" in report.undecided or "coqdep" in report.undecided
    link = compare(each=1, deadline=time.monotonic())
    assert not link.agrees
    assert link.faults == ()
    assert "no end within 0 s" in link.undecided
