"""The scan of ``.v`` files: what asserts without proof is found wherever it stands, and nothing else is."""

from __future__ import annotations

import pytest

from verification.coq.sources import Source, without_comments
from verification.coq.table import FOLDER


def faults(text: str) -> list[str]:
    return Source("Small", without_comments(text)).faults()


@pytest.mark.parametrize(
    "text",
    [
        "Lemma a : False. Admitted.",
        "Lemma a : False. Proof. admit. Defined.",
        "Lemma a : False.\nProof. give_up. Qed.",
        "Axiom a : False.",
        "Parameter a : False.",
        "Parameters (a : False).",
        "Conjecture a : False.",
        "Variable a : False.",
        "Section S. End S.\nHypothesis a : False.",
        "Section S.\nVariable b : nat.\nEnd S.\nContext (a : False).",
        "#[bypass_check(guard)] Fixpoint f (n : nat) : False := f n.",
        "Unset Guard Checking.",
        "Unset  Positivity   Checking.",
        'Declare ML Module "x".',
        'Load "x".',
        'Notation "2" := 4.',
        'Infix "+" := mult.',
    ],
)
def test_what_asserts_without_proof_is_found(text: str) -> None:
    assert faults(text)


@pytest.mark.parametrize(
    "text",
    [
        "(* Admitted (* Axiom *) admit *) Lemma a : True. Proof. exact I. Qed.",
        "Section S.\nVariable a : nat.\nHypothesis b : a = a.\nEnd S.",
        'Local Notation "2" := 4.\nLocal Infix "+" := mult.',
        "Lemma admitted : True. Proof. exact I. Qed.",
        'Definition s := "Admitted"%string.',
    ],
)
def test_comments_strings_sections_and_local_notations_are_let_stand(text: str) -> None:
    assert faults(text) == []


def test_a_comment_that_is_never_closed_hides_nothing_behind_it() -> None:
    assert without_comments("a (* b *) c (* d") == "a   c "


def test_definitions_and_requirements_are_read() -> None:
    head = "From Coq Require Import Reals Lra.\nFrom DPADMM Require Import A B.\n"
    source = Source("Small", f"{head}Definition f := 1.\nRecord r := Make {{ x : nat }}.")
    assert source.requires() == [("Coq", ("Reals", "Lra")), ("DPADMM", ("A", "B"))]
    assert source.modules() == ["A", "B"]
    assert source.definitions() == {"f": ("f",), "r": ("Make",), "Make": ("Make",), "x": ("Make",)}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.v")), ids=lambda path: path.stem)
def test_the_files_of_this_project_pass(path: object) -> None:
    assert Source.read(FOLDER / str(path)).faults() == []
