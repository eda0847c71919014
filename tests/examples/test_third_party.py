"""Third-party code behind adapters: what is wrong is found, what is right stands, and the page says so."""

from __future__ import annotations

import subprocess

import pytest

from benchmarks.third_party import EXAMPLES, PEERS, RESULTS, ROOT, kept, page, run
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


def test_the_page_is_made_of_what_is_kept() -> None:
    text = RESULTS.with_suffix(".md").read_text(encoding="utf-8")
    assert text == "\n".join(page(kept())) + "\n", (
        "python -m benchmarks.third_party page > docs/evidence/third-party.md"
    )


def test_every_claim_file_has_a_case() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.toml")} == {case.name for case in GATES}


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: str(path.name))
def test_adapters_are_small(path: object) -> None:
    lines = (ROOT / str(path)).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 125
