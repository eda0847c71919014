"""Honest implementations stand in every one of many whole gates with different seeds.

Each gate alarms with probability at most 1e-3, so that 2 * GATES gates of honest implementations see an alarm with
probability at most 0.1 over the choice of seeds; the seeds are fixed. The budget is short, the power asked for is the
usual one (noise/1.2). An idle core needs 5 to 9 s for a gate of the reference, 2 to 6 s for one of the implementation
in C.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from audits.gate.claim_file import read_claim_file
from audits.gate.findings import GateReport
from audits.gate.run import GateOptions, run_gate
from audits.trials.executors import executor
from tests.audits.gate.test_gate import MPADMM, REFERENCE, claim_file, zoo
from verification.outcome import Outcome

GATES = 50
EXAMPLE = Path(__file__).parents[3] / "examples" / "adapters" / "c"
SHORT = ('budget = "5m"', 'budget = "60s"')


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The second implementation, built."""
    for tool in ("cc", "make"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    binary = tmp_path_factory.mktemp("c") / "adapter"
    subprocess.run(["make", "-C", str(EXAMPLE), f"OUT={binary}"], check=True, capture_output=True)
    return [str(binary)]


def gated(command: list[str], seed: int, folder: Path) -> GateReport:
    """A whole gate: of ssADMM for even seeds, of mpADMM for odd ones."""
    claim = () if seed % 2 == 0 else (*MPADMM, ('epsilon = "1.0"', 'epsilon = "1.23"'))
    claims = read_claim_file(claim_file(folder, command, *claim, SHORT))
    with executor(1) as pool:
        return run_gate(claims, pool, GateOptions(seed))


def assert_stands(report: GateReport) -> None:
    assert report.outcome is Outcome.STANDS, [(f.name, f.outcome.word, f.detail) for f in report.findings]
    assert [str(f.stage) for f in report.findings] == ["account", "conform", "audit", "audit"]
    assert all(f.power is not None and f.power.divisor <= 1.2 for f in report.findings[2:])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(GATES))
def test_the_reference_stands_in_every_gate(seed: int, tmp_path: Path) -> None:
    assert_stands(gated(REFERENCE, seed, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 100 + GATES))
def test_the_implementation_in_c_stands_in_every_gate(seed: int, tmp_path: Path, in_c: list[str]) -> None:
    assert_stands(gated(in_c, seed, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_gate_refutes_a_wrong_implementation(seed: int, tmp_path: Path) -> None:
    """Standing means something: the very gates that the honest pass refute half the noise."""
    assert gated(zoo("half-the-sensitivity"), seed, tmp_path).outcome is Outcome.REFUTED
