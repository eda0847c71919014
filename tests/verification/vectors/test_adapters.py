"""Independent implementations behind the wire, in C and JavaScript, agree with every case that they offer."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from verification.outcome import Outcome
from verification.vectors import model
from verification.vectors.checking import check_adapter

ADAPTERS = Path(__file__).parents[3] / "examples" / "adapters"


def require_agreement(command: list[str], cases: list[model.Case], missing: set[str]) -> None:
    report = check_adapter(command, cases)
    assert report.fault is None, report.fault
    assert [result for result in report.findings if result.outcome is Outcome.REFUTED] == []
    assert report.outcome is Outcome.STANDS
    skipped = {result.detail for result in report.findings if result.outcome is Outcome.SKIPPED}
    assert skipped == {f"not offered: {regularizer}" for regularizer in missing}


@pytest.mark.skipif(not (shutil.which("cc") and shutil.which("make")), reason="no C compiler or make here")
def test_the_adapter_in_c_agrees(cases: list[model.Case], tmp_path: Path) -> None:
    program = tmp_path / "adapter"
    subprocess.run(["make", "-s", "-C", str(ADAPTERS / "c"), f"OUT={program}"], check=True, timeout=120)
    require_agreement([str(program)], cases, {"nuclear", "scad", "mcp"})


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_the_adapter_in_javascript_agrees(cases: list[model.Case]) -> None:
    require_agreement(["node", str(ADAPTERS / "node" / "adapter.mjs")], cases, {"nuclear", "group-l1"})
