"""The registry is complete and cannot be thinned out: what must be there is written down here, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import z3

from dpadmm.statements import BY_NAME, STATEMENTS, find
from tests.verification.statements.citations import citations, cited_in
from tools import statement_pages
from verification.errors import UnknownStatement
from verification.outcome import Outcome
from verification.smt import updates
from verification.smt.obligation import Obligation
from verification.smt.prover import Prover
from verification.statements import errata
from verification.statements.catalogue import described
from verification.statements.model import (
    COQ_SECONDS,
    Evidence,
    EvidenceResult,
    Kind,
    Statement,
    Status,
    check,
    proved,
)
from verification.statements.registry import collected

ROOT = Path(__file__).parents[3]
P, E, A, R = Status.PROVED, Status.ENCLOSED, Status.ATTACKED, Status.REFUTED

# Statement, status, and how many proof obligations it rests on at least. A missing statement, status or proof
# turns this red even if documents are generated anew.
REQUIRED: dict[str, tuple[Status, int]] = {
    "LOSS-LOGISTIC": (P, 4), "LOSS-HUBER": (P, 4), "LOSS-HUBER-CASES": (P, 1), "LOSS-ROUNDING": (E, 0), "CLIP": (P, 4),
    "SOFT-THRESHOLD": (P, 4), "PROX-FIRM": (P, 10), "UPDATE-X": (P, 1), "SENS-GRADIENT": (P, 7), "SENS-X": (P, 1),
    "SENS-Z": (P, 6), "SENS-Y": (P, 2), "SENS-X-PRINTED": (R, 0), "SENS-Z-PRINTED": (R, 0), "SENS-Y-PRINTED": (R, 0),
    "SENS-PRINTED-SMALL-STEP": (P, 3), "JOINT": (P, 4), "P": (P, 2), "INTERCEPT-ORDER": (A, 0), "GRID": (E, 0),
    "SAMPLER": (E, 0), "DRAWS": (E, 0), "TRAINING": (E, 0), "ALGORITHM-1": (E, 0), "ALGORITHM-2": (E, 0),
    "ENGINE": (A, 0),
    "SCHEDULES": (E, 0), "LEMMA-1": (E, 0), "LEMMA-2": (E, 0), "LEMMA-3": (P, 0), "PROPOSITION-1": (E, 0),
    "THEOREM-1": (A, 9), "THEOREM-2": (A, 7), "THEOREM-3": (R, 1), "G": (E, 0), "D": (E, 0), "R": (E, 0),
    "HOCKEY-STICK": (P, 0), "TESTS": (P, 0), "SUBSAMPLING": (P, 0), "TRIPLES": (P, 0), "COMPOSITION": (P, 0),
    "CONNECT-THE-DOTS": (P, 0), "LEADER": (E, 0), "ADAPTIVE": (E, 0), "VILLE": (P, 0),
    "FORWARD-EXCEEDED": (E, 0),
    "TOLD-DRAWS": (E, 0), "EPOCHS": (P, 0), "GROUPS": (E, 0), "LOSS-LEVELS": (E, 0),
    "L": (E, 0), "WBK27": (E, 0), "CAP": (E, 0), "DPSGD": (A, 7), "DPADMM": (A, 3), "DPADMM-ALL-RECORDS": (R, 0),
    "DPADMM-ONE-PARTY": (R, 0), "DPADMM-THRESHOLD": (R, 0), "DPSVRG": (A, 7), "DPSVRG-MARGIN": (A, 0), "OBJP": (A, 0),
    "OBJP-INEXACT": (R, 0), "SADMM-SAMPLING": (R, 0), "E1": (R, 2), "E2": (R, 0), "E3": (R, 4), "E4": (R, 0),
    "E8": (R, 0), "E9": (R, 1), "E10": (R, 0), "E11": (R, 13), "E12": (R, 0),
    "E13": (R, 0), "E14": (R, 1), "E15": (R, 0), "E16": (P, 2), "E18": (R, 0),
}  # fmt: skip
WORDING = {"E5", "E6", "E7", "E17", "E19"}


def obligations(statement: Statement) -> list[Obligation]:
    return [o for evidence in statement.evidence if evidence.obligations for o in evidence.obligations()]


def test_the_registry_holds_exactly_what_is_required() -> None:
    assert {statement.id for statement in STATEMENTS} == set(REQUIRED)
    assert {each.id for each in errata.WORDING} == WORDING


def test_an_erratum_about_wording_is_explained_and_not_run() -> None:
    assert described("E6").evidence == ()
    with pytest.raises(UnknownStatement, match="wording"):
        find("E6")


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.id)
def test_a_claim_keeps_its_status_and_its_proofs(statement: Statement) -> None:
    status, count = REQUIRED[statement.id]
    assert statement.status is status
    assert len(obligations(statement)) >= count


def test_every_claim_cited_in_the_code_exists() -> None:
    assert [entry for entry in citations(ROOT) if entry.id not in BY_NAME and entry.id not in WORDING] == []


@pytest.mark.parametrize(
    "text",
    [
        '"""Rests on statement NO-SUCH-THING."""',
        "# statements: SENS-X, SENS-Q.",
        "(E20)",
        "see statement E77",
        "Statements X and Y",
    ],
)
def test_a_citation_of_an_unknown_claim_is_found(text: str) -> None:
    assert any(entry.id not in BY_NAME for entry in cited_in(Path("file.py"), text))


def test_citations_are_found_at_all() -> None:
    found = {entry.id for entry in citations(ROOT)}
    assert {"SENS-X", "JOINT", "P", "E1", "E11", "PROX-FIRM", "CLIP", "GRID", "INTERCEPT-ORDER"} <= found


def test_a_claim_without_evidence_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="no evidence"):
        replace(find("SENS-X"), evidence=()).supported()


def test_a_claim_cannot_be_called_proved_without_a_proof() -> None:
    attack = next(evidence for evidence in find("SENS-X").evidence if evidence.kind is Kind.ATTACK)
    with pytest.raises(ValueError, match="needs a"):
        replace(find("SENS-X"), evidence=(attack,)).supported()


@pytest.mark.parametrize("name", ["HOCKEY-STICK", "SUBSAMPLING", "VILLE"])
def test_an_enclosure_is_no_proof(name: str) -> None:
    """With the theorems deleted from the table, what only Coq proves is no longer called proved: it is refused."""
    without = replace(find(name), evidence=tuple(e for e in find(name).evidence if e.kind is not Kind.COQ))
    with pytest.raises(ValueError, match=r"needs a coq or smt|no evidence"):
        collected([without])


def test_evidence_that_does_not_say_how_much_it_looked_at_is_a_fault() -> None:
    silent = Evidence("silent", Kind.ENCLOSURE, lambda _: EvidenceResult.check(True, "fine"))
    [checked] = check([replace(find("G"), evidence=(silent,))])
    assert checked.outcome is Outcome.FAULT


def test_a_fault_of_one_piece_of_evidence_hides_no_other_statement() -> None:
    def broken(_: Prover) -> EvidenceResult:
        raise RuntimeError("boom")

    wrong = replace(find("G"), evidence=(Evidence("broken", Kind.ENCLOSURE, broken),))
    checked = list(check([wrong, find("E13")]))
    assert [entry.outcome for entry in checked] == [Outcome.FAULT, Outcome.STANDS]
    assert "boom" in checked[0].findings[0].detail


def test_a_claim_cannot_be_called_refuted_without_a_witness() -> None:
    with pytest.raises(ValueError, match="needs a"):
        replace(find("E1"), evidence=(proved(updates.primal),)).supported()


def test_two_claims_cannot_share_a_name() -> None:
    with pytest.raises(ValueError, match="two statements"):
        collected([find("E1")], [find("E1")])


def test_the_documents_are_current() -> None:
    assert statement_pages.stale() == []


def weaker() -> list[Obligation]:
    """SENS-X with half of its content gone: some bound, not the tight one."""
    eta, rho = z3.Real("eta"), z3.Real("rho")
    [tight] = updates.printed_for_small_steps()
    _, epoch = updates.epochs()[0]
    generous = 2 * z3.If(epoch.dg >= 0, epoch.dg, -epoch.dg) * eta / (1 + eta * rho)
    size = z3.If(epoch.dx >= 0, epoch.dx, -epoch.dx)
    assert tight.goal is not None
    return [Obligation("x moves by some bound", epoch.domain, size <= generous, size <= z3.Q(999, 1000) * generous)]


def test_a_weakened_proof_turns_the_claim_red() -> None:
    weakened = replace(find("SENS-X"), evidence=(proved(weaker),))
    [checked] = check([weakened])
    assert checked.outcome is Outcome.REFUTED
    assert checked.status == "BROKEN"


def test_a_weakened_or_deleted_proof_changes_the_generated_document(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tuple(evidence for evidence in find("SENS-X").evidence if evidence.kind is not Kind.SMT)
    for changed in (
        replace(find("SENS-X"), status=Status.ATTACKED, evidence=kept),
        replace(find("SENS-X"), evidence=(proved(weaker),)),
    ):
        altered = tuple(changed if statement.id == "SENS-X" else statement for statement in STATEMENTS)
        monkeypatch.setattr(statement_pages, "STATEMENTS", altered)
        assert statement_pages.stale() == ["statements.md", "proofs.md", "catalogue.json"]


def test_a_refutation_that_fails_turns_the_claim_red() -> None:
    never = Evidence("no witness", Kind.WITNESS, lambda _: EvidenceResult(Outcome.REFUTED, "it holds after all"))
    [checked] = check([replace(find("E1"), evidence=(never,))])
    assert checked.status == "NOT REFUTED"


def test_what_the_budget_does_not_cover_is_unknown() -> None:
    checked = list(check([find("E9"), find("E13")], budget=1e-9))
    assert {entry.outcome for entry in checked} == {Outcome.INCONCLUSIVE}


def test_coq_is_not_begun_with_little_of_a_budget_left() -> None:
    began: list[str] = []

    def run(_: Prover) -> EvidenceResult:
        began.append("Coq")
        return EvidenceResult(Outcome.STANDS, "checked")

    pair = [replace(find("VILLE"), evidence=(Evidence(f"theorems {k}", Kind.COQ, run),)) for k in range(2)]
    assert {entry.outcome for entry in check(pair, budget=COQ_SECONDS - 1)} == {Outcome.INCONCLUSIVE}
    assert began == []
    assert {entry.outcome for entry in check(pair, budget=COQ_SECONDS + 60)} == {Outcome.STANDS}
    assert began == ["Coq"] * 2


def test_an_unknown_claim_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(UnknownStatement, match="SENS-X"):
        find("SENS-Q")


def test_claims_are_found_by_alias_and_in_lower_case() -> None:
    assert find("j") is find("JOINT")
