"""Honest implementations stand, or deviate and are not less private: whole gates of five of them.

The gates draw without seeds, at a false-alarm probability of 1e-9 each, so that these tests do not flake. The level as
stated is looked at by ``python -m tests.audits.gate.honest.campaign``: 50 gates of each at a stated level, whose alarms
are compared with the binomial distribution.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from audits.gate.report import GateReport
from tests.audits.gate.honest.campaign import honest_gate
from tests.audits.gate.test_gate import zoo
from verification.outcome import Outcome

EXAMPLE = Path(__file__).parents[3] / "examples" / "adapters" / "c"
REFERENCE = [sys.executable, "-m", "verification.served.loopback"]
VARIANTS = [sys.executable, "-m", "tests.zoo.honest.variants"]
OTHER_UPDATES = [sys.executable, "-m", "tests.zoo.honest.other_updates"]
FEW = 2
SURE = "1e-9"


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The second implementation, built."""
    for tool in ("cc", "make"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    binary = tmp_path_factory.mktemp("c") / "adapter"
    subprocess.run(["make", "-C", str(EXAMPLE), f"OUT={binary}"], check=True, capture_output=True)
    return [str(binary)]


def assert_not_refuted(report: GateReport, outcome: Outcome) -> None:
    assert report.outcome is outcome, [(f.name, f.outcome.value, f.detail) for f in report.findings]
    assert report.outcome.exit_code == 0
    assert all(f.power is not None and f.power.divisor <= 1.2 for f in report.findings if f.power is not None)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(FEW))
def test_the_reference_stands(number: int) -> None:
    assert_not_refuted(honest_gate(REFERENCE, number, SURE), Outcome.STANDS)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(FEW))
def test_the_implementation_in_c_stands(number: int, in_c: list[str]) -> None:
    assert_not_refuted(honest_gate(in_c, number, SURE), Outcome.STANDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["more-noise", "random-start", "single-precision"])
@pytest.mark.parametrize("number", range(FEW))
def test_what_differs_and_is_not_less_private_deviates(name: str, number: int) -> None:
    assert_not_refuted(honest_gate([*VARIANTS, name], number, SURE), Outcome.DEVIATES)


@pytest.mark.slow
def test_exact_discrete_noise_deviates_and_noise_on_a_grid_that_gradients_are_not_on_is_refuted() -> None:
    assert_not_refuted(honest_gate([*VARIANTS, "discrete"], 0, SURE), Outcome.DEVIATES)
    assert honest_gate([*VARIANTS, "noise on a grid"], 0, SURE, only=("claimed",)).outcome is Outcome.REFUTED


@pytest.mark.slow
def test_strict_refuses_what_deviates() -> None:
    report = honest_gate([*VARIANTS, "more-noise"], 0, SURE, extra="strict = true\n")
    assert report.outcome is Outcome.REFUTED


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_the_same_gate_refutes_a_wrong_implementation(number: int) -> None:
    """Standing means something: the very gates that the honest pass refute half the noise."""
    assert honest_gate(zoo("half-the-sensitivity"), number, SURE).outcome is Outcome.REFUTED


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dual-step", "momentum", "scaled-dual"])
def test_updates_of_its_own_without_replay_are_inconclusive(name: str) -> None:
    """What cannot be read is not held against it."""
    report = honest_gate([*OTHER_UPDATES, name, "without-replay"], 0, SURE)
    assert report.outcome is Outcome.INCONCLUSIVE, [(f.name, f.outcome.value, f.detail) for f in report.findings]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["further-laplace", "further-common", "rounded"])
def test_further_noise_of_another_law_and_rounded_values_are_not_refuted_at_the_claimed_size(name: str) -> None:
    report = honest_gate([*VARIANTS, name], 0, SURE, only=("claimed",))
    assert not any(f.outcome is Outcome.REFUTED for f in report.findings), [(f.name, f.detail) for f in report.findings]
