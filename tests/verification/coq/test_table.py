"""The table of theorems: complete, in step with the files and with the registry of statements."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from dpadmm.statements import BY_NAME, STATEMENTS
from tests.verification.coq.folders import definition, folder, theorem
from tools.statement_pages import assumptions
from verification.coq.link import CASES
from verification.coq.table import FOLDER, Theorem, read
from verification.errors import BadProofTable
from verification.statements.model import Kind

TABLE = read()
FILES = sorted(FOLDER.glob("*.v"))
# Every statement about sensitivity, written down by hand: none may lose its theorem.
SENSITIVITIES = {
    *("SENS-GRADIENT", "SENS-X", "SENS-Z", "SENS-Y", "SENS-X-PRINTED", "SENS-Z-PRINTED", "SENS-Y-PRINTED"),
    *("SENS-PRINTED-SMALL-STEP", "JOINT", "SOFT-THRESHOLD", "PROX-FIRM", "UPDATE-X", "P", "E1", "E2", "E3", "E11"),
    *("THEOREM-3", "DPSGD", "DPADMM", "DPSVRG", "DPSVRG-MARGIN", "GRID", "CLIP"),
}


def test_every_statement_about_sensitivity_has_a_theorem() -> None:
    assert {statement.id for statement in STATEMENTS if statement.id.startswith("SENS-")} <= SENSITIVITIES
    without = {name for name in SENSITIVITIES if not any(e.kind is Kind.COQ for e in BY_NAME[name].evidence)}
    assert without == set()


def test_every_settled_statement_exists() -> None:
    assert {identifier for entry in TABLE.theorem for identifier in entry.settles} <= {s.id for s in STATEMENTS}


@pytest.mark.parametrize("entry", TABLE.theorem, ids=lambda entry: entry.name)
def test_a_theorem_stands_in_its_file_under_the_ids_it_settles(entry: Theorem) -> None:
    text = (FOLDER / f"{entry.file}.v").read_text("utf-8")
    place = re.search(rf"^\s*(?:Theorem|Lemma|Corollary)\s+{re.escape(entry.name)}\b", text, re.MULTILINE)
    assert place is not None
    said = re.findall(r"\(\*\*? Settles:? ([^.]*)\.", text[: place.start()])
    if entry.settles:
        assert said
        assert set(entry.settles) <= {name.strip() for name in said[-1].split(",")}


def test_every_premise_has_a_name_and_every_sign_of_a_name_is_some_premise_s() -> None:
    assumed = tomllib.loads((FOLDER / "assumed.toml").read_text("utf-8"))
    assert all(assumptions(theorem) or not theorem.premises() for theorem in TABLE.theorem)
    premises = {premise for theorem in TABLE.theorem for premise in theorem.premises()}
    signs = [sign for entry in (*assumed["hypothesis"], *assumed["condition"]) for sign in entry["signs"]]
    assert [sign for sign in signs if not any(re.search(sign, premise) for premise in premises)] == []
    unnamed = TABLE.theorem[0].model_copy(update={"statement": "forall x : nat, (x is prime) -> x = x"})
    with pytest.raises(ValueError, match="no name for the premise '\\(x is prime\\)'"):
        assumptions(unnamed)


@pytest.mark.parametrize(
    ("statement", "premises"),
    [
        (
            "forall (a : nat -> nat) b, (a b = 1 -> b = 2) -> let c := (fun x => x) b in 0 < c -> c = b",
            ["(a b = 1 -> b = 2)", "0 < c"],
        ),
        ("forall x y : R, x <= y ->\n forall z, z = x /\\ z = y -> x = y", ["x <= y", "z = x /\\ z = y"]),
        ("True", []),
    ],
)
def test_premises_stand_before_the_arrows(statement: str, premises: list[str]) -> None:
    assert TABLE.theorem[0].model_copy(update={"statement": statement}).premises() == premises


def test_every_method_that_rests_on_a_paper_proof_is_among_the_facts() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "accounting.md").read_text("utf-8")
    rows = [row for row in page.splitlines() if row.startswith("| `") and "paper proof" in row]
    methods = {name for row in rows for name in re.findall(r"`([\w-]+)`", row.split("|")[1])}
    facts = " ".join(each["says"] for each in tomllib.loads((FOLDER / "assumed.toml").read_text("utf-8"))["fact"])
    assert len(methods) > 4
    assert {method for method in methods if f"`{method}`" not in facts} == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_opens_with_sentences_of_plain_english(path: Path) -> None:
    opening = re.match(r"\(\*\*? (.+?)\*\)", path.read_text("utf-8"), re.DOTALL)
    assert opening is not None
    assert len(re.findall(r"[.:;](?:\s|$)", opening[1])) >= 2


def test_the_linked_definitions_are_those_that_are_compared_and_name_functions_of_the_reference() -> None:
    linked = {entry.name: entry.same_as for entry in TABLE.definition if entry.same_as is not None}
    assert linked.keys() == CASES.keys()
    for path in linked.values():
        module, _, attribute = path.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError:
            outer, _, owner = module.rpartition(".")
            found = getattr(getattr(importlib.import_module(outer), owner), attribute)
        assert callable(found)


@pytest.mark.parametrize(
    "table",
    [
        "",
        theorem("a", "True") + theorem("a", "True"),
        theorem("a", "True") + '[[definition]]\nname = "b"\nfile = "Small"\n',
        theorem("a", "True") + '[[lemma]]\nname = "b"\n',
        theorem("a", "True") + 'says_more = "x"\n',
        theorem("a b", "True"),
        theorem("a", "True") + definition("f", "is", "1") + definition("f", "is", "1"),
        theorem("a", "True") + definition("f", "same_as", "reference.updates.update_x"),
        theorem("a", "True") + definition("f", "is", "1") + "type = 'nat'\n",
    ],
)
def test_a_broken_table_is_refused(table: str, tmp_path: Path) -> None:
    with pytest.raises(BadProofTable):
        read(folder(tmp_path / "proofs", "", table))
