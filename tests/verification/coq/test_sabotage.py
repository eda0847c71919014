"""Ways to fool the checker of theorems: each was, or might have been, green once; each is red.

Natural numbers wherever possible, because Coq needs seconds to load its reals and to list their axioms.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verification.coq.folders import change, definition, folder, listed, needs_coq, theorem
from verification.coq.check import check
from verification.coq.coq import Coq
from verification.coq.sources import Source, without_comments
from verification.coq.table import read

SMALL = """(** A file for tests. It is small. *)
Definition twice (x : nat) : nat := 2 * x.
Theorem honest (x : nat) : x = 3 -> twice x = 6.
Proof. intros H. rewrite H. reflexivity. Qed.
"""
TABLE = definition("twice", "is", "fun x => 2 * x") + theorem("honest", "forall x, x = 3 -> twice x = 6")
FALSE = theorem("absurd", "False")
INSTANCE = "(** Two. Sentences. *)\nFrom DPADMM Require Import Small.\nDefinition at_honest := {}.\n"


def red(path: Path, said: str) -> None:
    """The check of a folder finds this fault, and the theorem does not stand."""
    (work := path.parent / "work").mkdir()
    report = check(path, work)
    found = [*report.faults, *(verdict.fault for verdict in report.verdicts.values())]
    assert not report.stands
    assert any(said in fault for fault in found), found


@needs_coq
def test_the_honest_file_stands(tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    assert check(folder(tmp_path / "coq", SMALL, TABLE), work).stands


SOURCES = {
    "an inner module with admitted obligations": (
        "Module Inner. Program Definition absurd : False := _. Admit Obligations. End Inner. Export Inner.",
        "'Module' is not allowed",
    ),
    "a hidden variable behind a decoy": (
        "Module M. Section S. End S. Variable absurd : False. End M. Export M.",
        "'Variable' outside a section",
    ),
    "a variable after the section that seems to hold it": (
        "Section S. End S. Local Variable absurd : False.",
        "'Variable' outside a section",
    ),
    "a module type with an axiom": (
        "Module Type T. Parameter absurd : False. End T. Declare Module M : T.",
        "'Module'",
    ),
    "obligations admitted one by one": (
        "Program Definition absurd : False := _. Next Obligation. Admitted.",
        "'Program'",
    ),
    "an admitted proof under another word": (
        "Fact absurd : False. Proof. admit. Admitted.",
        "'Admitted' is not allowed",
    ),
    "an aborted proof and an axiom in its place": ("Theorem absurd : False. Abort. Axiom absurd : False.", "'Axiom'"),
    "a coercion that changes what a statement means": (
        "Definition more (n : nat) : Prop := True. Coercion more : nat >-> Sortclass.",
        "may not begin with 'Coercion'",
    ),
    "an option that switches the guard off": (
        "Unset Guard Checking. Fixpoint absurd (n : nat) : False := absurd n.",
        "'Guard Checking' is not allowed",
    ),
    "an attribute that does the same": (
        "#[bypass_check(guard)] Fixpoint absurd (n : nat) : False := absurd n.",
        "'bypass_check' is not allowed",
    ),
    "a global notation": ('Notation "6" := 7.', "Notation must be Local"),
    "a command inside a proof": (
        "Lemma fine : True. Proof. Hypothesis absurd : False. exact I. Qed.",
        "'Hypothesis' inside a proof",
    ),
    "a letter that looks like another": ("Definition tw\u0456ce (x : nat) := 12.", "letters beyond ASCII"),
    "another file read in": ('Load "Other".', "'Load' is not allowed"),
    "a theorem without Proof": ("Theorem fine : True. exact I. Qed.", "and not by Proof"),
    "a proof that ends where it begins, and a command that seems to be in it": (
        "Lemma fine : True. Proof I. #[global] Hypothesis absurd : False.",
        "'#[' is not allowed",
    ),
    "a proof term in the place of a proof": ("Lemma fine : True. Proof I.", "'Proof ' is not allowed"),
    "a notation that comes with a type": (
        'Inductive any (x y : nat) : Prop := one : any x y where "x = y" := (any x y) : type_scope.',
        "is not allowed",
    ),
    "an option of universes": ("Set Universe Polymorphism.", "may not begin with 'Set'"),
    "universes that are not checked": ("Unset Universe Checking.", "'Universe Checking' is not allowed"),
    "proofs of equality that compute": ("Set Definitional UIP.", "may not begin with 'Set'"),
    "a plugin": ('Declare ML Module "absurd".', "'Declare'"),
    "an attribute for obligations": ("#[program] Definition absurd : False := _.", "'#[' is not allowed"),
    "a file exported": ("From Coq Require Export Arith.", "is not From ... Require Import"),
    "a declaration of another kind": ("Add Ring r : r.", "may not begin with 'Add'"),
    "an axiom behind a functor": (
        "Module Type T. Axiom absurd : False. End T. Module F (X : T). Definition absurd := X.absurd. End F.",
        "'Axiom' is not allowed",
    ),
    "types that need not be positive": (
        "Unset Positivity Checking. Inductive bad := c : (bad -> False) -> bad.",
        "'Positivity Checking' is not allowed",
    ),
    "a check that is switched off for a file": ("Local Unset Guard Checking.", "'Guard Checking' is not allowed"),
    "a primitive": ("Primitive int := #int63_type.", "'Primitive' is not allowed"),
    "a name of the kernel's": ("Register twice as core.nat.S.", "may not begin with 'Register'"),
    "a definition that is not unfolded": ("Opaque twice.", "may not begin with 'Opaque'"),
    "an order of unfolding": ("Strategy 1000 [twice].", "may not begin with 'Strategy'"),
    "a hint for other files": ("Hint Extern 0 => exact I : core.", "Hint must be Local"),
    "a canonical structure": ("Canonical Structure natural := Wrap nat.", "may not begin with 'Canonical'"),
    "a coercion between two names of a class": ("Identity Coercion i : a >-> b.", "may not begin with 'Identity'"),
    "a class of what exists": ("Existing Class twice.", "may not begin with 'Existing'"),
    "universes of a definition": ("Polymorphic Definition a := Type.", "may not begin with 'Polymorphic'"),
    "a tactic for obligations": ("#[local] Obligation Tactic := idtac.", "may not begin with 'Obligation'"),
    "a bare Require, which hides what is imported": ("Require Import Arith.", "may not begin with 'Require'"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_that_asserts_without_proof_is_refused(name: str) -> None:
    text, said = SOURCES[name]
    faults = Source("Small", without_comments(SMALL + text)).faults()
    assert any(said in fault for fault in faults), faults


def test_a_file_that_takes_a_name_of_the_checker_is_refused() -> None:
    assert Source("Assumptions", "").faults()
    assert Source("Expected_Small", "").faults()


@needs_coq
def test_a_file_of_the_name_of_a_library_of_axioms_is_refused(tmp_path: Path) -> None:
    path = folder(tmp_path / "coq", SMALL, TABLE)
    (path / "Classical_Prop.v").write_text(
        "(** Two. Sentences. *)\nLemma classic : True. Proof. exact I. Qed.", "utf-8"
    )
    red(path, "Coq's library has a file of this name")


@needs_coq
def test_an_axiom_of_an_allowed_name_and_another_type_is_not_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "(** Two. Sentences. *)\nFrom Coq Require Import Classical_Prop.\nTheorem honest (P : Prop) : P \\/ ~ P.\n"
    path = folder(
        tmp_path / "coq", source + "Proof. apply classic. Qed.", theorem("honest", "forall P : Prop, P \\/ ~ P")
    )
    (work := tmp_path / "first").mkdir()
    assert check(path, work).stands
    monkeypatch.setattr("verification.coq.check.ALLOWED", {"Classical_Prop.classic": "False"})
    red(path, "rests on axioms that are not allowed")


@needs_coq
def test_a_lemma_that_shadows_a_function_of_the_library_changes_no_statement(tmp_path: Path) -> None:
    """`Lemma max ... Defined` once weakened every statement about max."""
    source = "(** Two. Sentences. *)\nFrom Coq Require Import PeanoNat.\n"
    source += "Lemma max (a b : nat) : nat.\nProof. exact 0. Defined.\n"
    source += "Theorem honest (a b : nat) : max a b = 0.\nProof. reflexivity. Qed.\n"
    table = theorem("honest", "forall a b : nat, max a b = 0")
    red(folder(tmp_path / "coq", source, table), "max occurs in a statement but is not pinned")


@needs_coq
def test_a_definition_made_by_a_lemma_must_be_pinned(tmp_path: Path) -> None:
    source = "(** Two. Sentences. *)\nLemma big (a : nat) : nat.\nProof. exact 0. Defined.\n"
    source += "Theorem honest (a : nat) : big a = 0.\nProof. reflexivity. Qed.\n"
    red(folder(tmp_path / "coq", source, theorem("honest", "forall a : nat, big a = 0")), "is not pinned")


@needs_coq
def test_a_renamed_theorem_is_a_fault_and_no_traceback(tmp_path: Path) -> None:
    path = folder(tmp_path / "coq", SMALL, TABLE)
    change(path / "Small.v", "Theorem honest", "Theorem renamed")
    red(path, "does not state what the table says")


@needs_coq
@pytest.mark.parametrize(
    ("old", "new"),
    [("twice x = 6", "twice x = 6 \\/ x = 7"), ("x = 3 -> ", "x = 3 -> x = 4 -> ")],
    ids=["weakened", "with contradictory hypotheses"],
)
def test_a_theorem_that_is_changed_on_both_sides_is_found_by_its_digest(old: str, new: str, tmp_path: Path) -> None:
    path = folder(tmp_path / "coq", SMALL, TABLE)
    for file in (path / "Small.v", path / "theorems" / "small.toml"):
        change(file, old, new)
    red(path, "does not say what it said when it was listed")


@needs_coq
def test_a_theorem_that_is_deleted_on_both_sides_is_missed(tmp_path: Path) -> None:
    path = folder(tmp_path / "coq", SMALL + SMALL[SMALL.index("Theorem") :].replace("honest", "second"), TABLE)
    more = TABLE + theorem("second", "forall x, x = 3 -> twice x = 6")
    (path / "theorems" / "small.toml").write_text(more, "utf-8")
    listed(path)
    (path / "theorems" / "small.toml").write_text(TABLE, "utf-8")
    red(path, "Small.second is listed in names.toml and has no theorem")


@needs_coq
def test_a_statement_of_two_sentences_is_refused(tmp_path: Path) -> None:
    injected = "True := I. Definition hidden : forall x, x = 3 -> twice x = 6"
    red(folder(tmp_path / "coq", SMALL, TABLE.replace("forall x, x = 3 -> twice x = 6", injected)), "one sentence")


@needs_coq
def test_a_definition_of_one_name_in_two_files_is_refused(tmp_path: Path) -> None:
    path = folder(tmp_path / "coq", SMALL, TABLE)
    (path / "Other.v").write_text("(** Two. Sentences. *)\nDefinition twice (x : nat) : nat := 2 * x.", "utf-8")
    red(path, "twice is defined in Other and Small")


@needs_coq
@pytest.mark.parametrize(
    ("term", "said"),
    [
        ("@DPADMM.Small.honest 3 eq_refl", ""),
        ("@DPADMM.Small.honest 3", "a hypothesis is left"),
        ("@DPADMM.Small.honest 4 eq_refl", "cannot unify"),
        ("eq_refl 6", "not applied"),
        ("(fun _ => eq_refl 6) (@DPADMM.Small.honest)", "not applied"),
        ("(@DPADMM.Small.honest 3 : id (3 = 3 -> twice 3 = 6))", "a hypothesis is left"),
    ],
)
def test_an_instance_satisfies_every_hypothesis_or_is_refused(term: str, said: str, tmp_path: Path) -> None:
    path = folder(tmp_path / "coq", SMALL, TABLE)
    (path / "Instances.v").write_text(INSTANCE.format(term), "utf-8")
    listed(path)
    if said:
        red(path, said)
    else:
        (work := tmp_path / "work").mkdir()
        assert check(path, work).stands


@needs_coq
def test_a_theorem_with_many_hypotheses_and_no_instance_is_refused(tmp_path: Path) -> None:
    many = "forall x, " + "x = 3 -> " * 12 + "twice x = 6"
    source = SMALL + f"Theorem long : {many}.\nProof. intros. subst. reflexivity. Qed.\n"
    red(folder(tmp_path / "coq", source, TABLE + theorem("long", many)), "no instance shows")


@needs_coq
def test_the_second_checker_finds_an_axiom_that_the_scan_did_not(tmp_path: Path) -> None:
    coq = Coq(tmp_path)
    coq.text("Hidden", "Axiom absurd : False.")
    assert coq.recheck(["Hidden"]) == ["coqchk: DPADMM.Hidden.absurd is an axiom"]


@needs_coq
def test_the_second_checker_finds_a_check_that_was_switched_off(tmp_path: Path) -> None:
    coq = Coq(tmp_path)
    coq.text("Hidden", "Unset Guard Checking. Fixpoint absurd (n : nat) : False := absurd n.")
    assert any("unsafe (co)fixpoints" in said for said in coq.recheck(["Hidden"]))


SHADOWS = {
    "a notation that comes with a type": (
        'Inductive any (A : Type) (x y : A) : Prop := one : any A x y where "x = y" := (any _ x y) : type_scope.\n',
        "forall x, x = 3 -> twice x = 6",
        "intros. apply one.",
    ),
    "a function that comes with another": (
        "Fixpoint any (n : nat) : nat := n with length A (l : list A) {struct l} : nat := 1. Arguments length {A} l.\n",
        "forall l : list nat, length l = 1",
        "intros [|]; reflexivity.",
    ),
    "a type of variables that nothing has": (
        "Implicit Types x : False.\n",
        "forall x, x = x",
        "intros x. reflexivity.",
    ),
}


@needs_coq
@pytest.mark.parametrize("name", SHADOWS)
def test_a_file_cannot_change_what_a_statement_means(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the scan: a statement is read where nothing of ours is imported."""
    shadow, statement, proof = SHADOWS[name]
    source = SMALL[: SMALL.index("Theorem")] + shadow + f"Theorem honest : {statement}.\nProof. {proof} Qed.\n"
    monkeypatch.setattr(Source, "faults", lambda _: [])
    table = definition("twice", "is", "fun x => 2 * x") + theorem("honest", statement)
    red(folder(tmp_path / "coq", source, table), "does not state what the table says")


@needs_coq
def test_a_compiled_file_of_an_older_source_is_not_used(tmp_path: Path) -> None:
    path = folder(tmp_path / "coq", SMALL, TABLE)
    Coq(path).compile("Small")
    change(path / "Small.v", "x = 3 -> twice x = 6", "x = 3 -> x = 4 -> twice x = 6")
    change(path / "Small.v", "intros H.", "intros H _.")
    red(path, "does not state what the table says")


@needs_coq
def test_a_false_proof_by_computation_is_refused(tmp_path: Path) -> None:
    path = folder(tmp_path / "coq", SMALL, TABLE)
    change(path / "Small.v", "intros H. rewrite H. reflexivity.", "intros H. vm_cast_no_check (eq_refl 6).")
    red(path, "Error")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("settles = []", "settles = ['VILLE']"),
        ("settles = []", "settles = []\nimports = ['Nat']"),
        ("[[definition]]\n", "[[definition]]\nsame_as = 'reference.updates.update_x'\n"),
    ],
)
def test_what_a_theorem_settles_and_where_its_words_come_from_are_listed(old: str, new: str, tmp_path: Path) -> None:
    path = folder(tmp_path / "coq", SMALL, TABLE)
    change(path / "theorems" / "small.toml", old, new)
    assert any("does not say what it said" in fault for fault in read(path).changed())


@needs_coq
def test_a_library_s_name_in_a_statement_means_the_library_s_even_if_a_file_pins_its_own(tmp_path: Path) -> None:
    """A statement about `Nat.max` is not met by a theorem about a definition of ours that is called max."""
    source = "(** Two. Sentences. *)\nFrom Coq Require Import PeanoNat.\nDefinition max (a b : nat) : nat := 0.\n"
    source += "Theorem honest (a b : nat) : max a b = 0.\nProof. reflexivity. Qed.\n"
    table = definition("max", "is", "fun _ _ : nat => 0") + theorem("honest", "forall a b : nat, Nat.max a b = 0")
    red(folder(tmp_path / "coq", source, table), "does not state")


CARRIER = definition("Numbers", "type", "forall number : Type, number -> numbers")
NUMBERS = "Record numbers := Numbers { number :> Type; one : number }.\n"
EQUAL = CARRIER + theorem("honest", "forall (K : numbers) (x y : K), x = y")
LENGTHS = theorem("honest", "forall a b, length (a ++ b) = length (b ++ a)")
ANOTHER_MEANING: dict[str, tuple[str, str, str, str]] = {
    "a type that takes the place of numbers": (
        *(EQUAL, "", NUMBERS.replace(":>", ":") + "Record > wrap := W { evil :> Type := unit; base : numbers }.\n"),
        "intros K x y. destruct x, y. reflexivity.",
    ),
    "a field of a record with a value": (
        *(EQUAL, "", "Record numbers := Numbers { evil :> Type := unit; number : Type; one : number }.\n"),
        "intros K x y. destruct x, y. reflexivity.",
    ),
    "a type of numbers made by a constructor": (
        *(EQUAL, "", "Inductive other := Other :> nat -> other.\n" + NUMBERS),
        "intros. now apply one_number.",
    ),
    "fields that exchange their names": (
        definition("Bounds", "type", "nat -> nat -> bounds") + theorem("honest", "forall a b, least (Bounds a b) = b"),
        *("", "Record bounds := Bounds { most : nat; least : nat }.\n", "reflexivity."),
    ),
    "lengths of another library": (
        *(LENGTHS, "From Coq Require Import List String.\nOpen Scope string_scope.\n", ""),
        "induction a, b; reflexivity.",
    ),
    "numbers of another library": (
        *(theorem("honest", "forall x, x = x + 0 -> x = x + 0"), "From Coq Require Import QArith.\n", ""),
        "auto.",
    ),
    "arguments of another scope": (
        definition("same", "is", "fun (A : Type) (x y : A) => x = y") + theorem("honest", "@same nat 0 0"),
        *("", "Definition same {A : Type} (x y : A) := x = y.\nArguments same {A} x%nat_scope y%nat_scope.\n"),
        "reflexivity.",
    ),
}


@needs_coq
@pytest.mark.parametrize("name", ANOTHER_MEANING)
def test_what_gives_words_another_meaning_is_listed_though_the_table_is_untouched(name: str, tmp_path: Path) -> None:
    """By a coercion of `wrap`, any two numbers of any system once were equal, and the theorem stood."""
    table, libraries, types, proof = ANOTHER_MEANING[name]
    path = folder(tmp_path / "coq", "(** Two. Sentences. *)\n" + NUMBERS, table)
    statement = table.partition("statement = '''")[2].partition("'''")[0]
    theorem_of_it = f"Theorem honest : {statement}.\nProof. {proof} Qed.\n"
    (path / "Small.v").write_text(f"(** Two. Sentences. *)\n{libraries}{types}{theorem_of_it}", "utf-8")
    red(path, "From, Import, Arguments, Record and Inductive of all files does not say")


@needs_coq
def test_a_local_file_of_the_name_of_a_library_s_module_changes_what_is_listed(tmp_path: Path) -> None:
    source = (
        "(** Two. Sentences. *)\nTheorem honest (a b : nat) : Nat.max a b = Nat.max b a.\nProof. reflexivity. Qed.\n"
    )
    table = theorem("honest", "forall a b : nat, Nat.max a b = Nat.max b a")
    path = folder(tmp_path / "coq", source, table)
    (path / "Nat.v").write_text("(** Two. Sentences. *)\nDefinition max (a b : nat) := 0.\n", "utf-8")
    change(path / "Small.v", "Theorem", "From DPADMM Require Import Nat.\nTheorem")
    red(path, "of all files does not say")
