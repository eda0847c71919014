"""Updates of its own with a mistake: what a refutation rests on is kept, and the conclusion is drawn again from it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.audits.gate.honest.campaign import claim_text
from tests.audits.gate.test_gate import dpadmm

UPDATES = [sys.executable, "-m", "tests.zoo.honest.other_updates"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mistake", "only"),
    [("noise/3", "silent/ssadmm/claimed"), ("first-records", "marked/ssadmm/claimed"), ("plain-dual", "small")],
)
def test_a_refuted_update_of_its_own_is_examined_without_the_implementation(
    mistake: str, only: str, tmp_path: Path
) -> None:
    claim, folder = tmp_path / "claim.toml", tmp_path / "evidence"
    claim.write_text(claim_text([*UPDATES, "dual-first", mistake], 0, "1e-6"), encoding="utf-8")
    refuted = dpadmm("gate", str(claim), "--only", only, "--evidence", str(folder))
    assert refuted.returncode == 1, refuted.stdout
    kept = sorted(folder.glob("*.json.gz"))
    assert kept
    claim.unlink()  # the claim is in the evidence, and the implementation is not needed
    again = dpadmm("gate", "--examine", str(folder))
    assert again.returncode == 1, again.stdout
    assert again.stdout.count("refuted") >= len(kept), again.stdout
