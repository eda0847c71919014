"""Real third-party code behind the wire: what the generic checks find in APPFL's ADMM trainers.

Skipped where APPFL is not installed; DPADMM_APPFL_PYTHON names the interpreter of the environment that has it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from verification.conformance.check import MPADMM_ALL
from verification.conformance.registry import find
from verification.conformance.runner import ConformancePlan, conform
from verification.outcome import Finding, Outcome
from verification.wire.process import Limits

ADAPTER = Path(__file__).parents[2] / "examples" / "appfl" / "adapter.py"
PYTHON = os.environ.get("DPADMM_APPFL_PYTHON", sys.executable)


@pytest.fixture(scope="module", autouse=True)
def _appfl() -> None:
    """Importing it takes ten seconds, so ask once."""
    found = subprocess.run(
        [PYTHON, "-c", "import appfl.algorithm.trainer"], capture_output=True, check=False, timeout=120
    )
    if found.returncode:
        pytest.skip(f"appfl cannot be imported by {PYTHON}; see examples/appfl/README.md")


def _found(which: str, *checks: str) -> dict[str, Finding]:
    plan = ConformancePlan(checks=find(checks), effort=0.2)
    patient = Limits(start_seconds=120.0, request_seconds=120.0, stop_seconds=30.0)
    report = conform([PYTHON, str(ADAPTER), which], plan, patient)
    assert report.fault is None, report.fault
    return {result.name: result for result in report.findings if result.subject == str(MPADMM_ALL)}


def test_the_dual_that_iceadmm_sends_without_noise_is_found() -> None:
    found = _found("iceadmm", "coupled-releases", "distinguishable")
    with_replay, by_trials = found["coupled-releases"], found["distinguishable"]
    assert with_replay.outcome is Outcome.REFUTED
    assert "y still differs" in with_replay.detail, "the check names the value that leaks, nobody told it"
    assert by_trials.outcome is Outcome.REFUTED
    assert "reveals the record with certainty" in by_trials.detail


def test_iiadmm_which_keeps_its_dual_is_not_accused_of_that() -> None:
    found = _found("iiadmm", "coupled-releases", "distinguishable")
    assert {result.outcome for result in found.values()} == {Outcome.STANDS}, found


@pytest.mark.parametrize("which", ["iceadmm", "iiadmm"])
def test_laplace_noise_and_clipping_of_the_mean_are_found(which: str) -> None:
    found = _found(which, "clips-each-record", "noise-gaussian")
    assert {result.outcome for result in found.values()} == {Outcome.REFUTED}, found
