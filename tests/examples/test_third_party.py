"""Third-party code behind adapters: what is wrong is found, what is right stands, and the page says so."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from audits.gate.examine import examine
from benchmarks.third_party import EVIDENCE, EXAMPLES, PEERS, RESULTS, ROOT, kept, page, run
from benchmarks.third_party_cases import CASES, ThirdPartyCase
from verification.outcome import Outcome

GATES = [case for case in CASES if not case.black_box]
named = pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.name))


def needs(package: str) -> None:
    """Skip where the package is not there, and say how it comes."""
    python = PEERS / "bin" / "python"
    found = (
        python.exists()
        and not subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False).returncode
    )
    if not found:
        pytest.skip(f"{package} is not installed in {PEERS.name}: make setup-third-party")


@pytest.mark.peers
@named
def test_the_verdict_is_the_expected_one(case: ThirdPartyCase) -> None:
    needs(case.package)
    if case.language != "Python" and not shutil.which(case.program):
        pytest.skip(f"there is no {case.program}")
    if not case.commit.startswith("release") and "DPADMM_THIRD_PARTY" not in os.environ:
        pytest.skip("DPADMM_THIRD_PARTY names no folder of sources")
    found = run(case)
    assert found.outcome == case.expected.value, found
    refuted = {name for name, outcome, _ in found.findings if outcome == Outcome.REFUTED.value}
    assert set(case.refuted_by) <= refuted, found


@named
def test_what_is_kept_is_the_expected_verdict(case: ThirdPartyCase) -> None:
    found = kept().cases.get(case.name)
    if found is None:
        pytest.skip(f"not run for the page: python -m benchmarks.third_party run {case.name}")
    assert found.outcome == case.expected.value
    refuted = {name for name, outcome, _ in found.findings if outcome == Outcome.REFUTED.value}
    assert set(case.refuted_by) <= refuted


REFUTED = [case for case in GATES if case.expected is Outcome.REFUTED]


@pytest.mark.parametrize("case", [case for case in REFUTED if case.evidence], ids=lambda case: str(case.name))
def test_the_kept_evidence_refutes_without_the_sources(case: ThirdPartyCase) -> None:
    examined = examine(EVIDENCE / case.name)
    assert [each.kept.about.question for each in examined] == [case.evidence]
    assert all(each.confirmed for each in examined), [each.detail for each in examined]


@pytest.mark.parametrize("case", REFUTED, ids=lambda case: str(case.name))
def test_what_the_board_says_of_epsilon_is_what_was_found(case: ThirdPartyCase) -> None:
    told = [detail for name, _, detail in kept().cases[case.name].findings if name in case.refuted_by]
    assert any(case.attained in detail for detail in told)


def test_the_board_has_twelve_repositories_in_three_languages() -> None:
    run_for_the_page = [case for case in CASES if case.name in kept().cases]
    assert len({case.repository for case in run_for_the_page}) >= 12
    assert len({case.language for case in run_for_the_page}) >= 3


def test_the_page_is_made_of_what_is_kept() -> None:
    text = RESULTS.with_suffix(".md").read_text(encoding="utf-8")
    assert text == "\n".join(page(kept())) + "\n", "python -m benchmarks.third_party page > docs/evidence/board.md"


def test_every_claim_file_has_a_case() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.toml")} == {case.name for case in GATES}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: str(path.name))
def test_adapters_are_small(path: object) -> None:
    lines = (ROOT / str(path)).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 125
