"""`dpadmm verify` and `dpadmm explain`: tables, JSON, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.verification.proofs.folders import needs_coq
from verification.statements.registry import STATEMENTS


def dpadmm(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ if path is None else {**os.environ, "PATH": path}
    command = [sys.executable, "-m", "dpadmm", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_statements_that_need_no_coq_exit_0() -> None:
    shown = dpadmm("verify", "--statement", "LOSS-HUBER-CASES", "--statement", "E5")
    assert shown.returncode == 0, shown.stderr
    assert "refuted" in shown.stdout
    assert "proved" in shown.stdout


def test_without_coq_a_proof_is_not_re_checked_and_nothing_is_called_proved(tmp_path: Path) -> None:
    shown = dpadmm("verify", "--statement", "SENS-PRINTED-SMALL-STEP", path=str(tmp_path))
    assert shown.returncode == 3
    assert "proof not re-checked here" in shown.stdout
    assert "proved" not in shown.stdout


@needs_coq
@pytest.mark.slow
def test_a_refuted_erratum_exits_0_and_prints_the_data_sets() -> None:
    shown = dpadmm("verify", "--statement", "SENS-X-PRINTED", "--statement", "SENS-PRINTED-SMALL-STEP")
    assert shown.returncode == 0, shown.stderr
    assert "refuted" in shown.stdout
    assert "proved" in shown.stdout
    assert "D' = {" in shown.stdout


def test_json_is_versioned_and_reals_are_strings() -> None:
    shown = dpadmm("verify", "--statement", "E5", "--statement", "LEMMA-1", "--format", "json")
    document = json.loads(shown.stdout)
    assert (document["format"], document["version"], document["exit_code"]) == ("dpadmm-verify", 2, 0)
    assert [statement["status"] for statement in document["statements"]] == ["refuted", "holds"]
    assert isinstance(document["statements"][1]["tightness"], str)


@pytest.mark.parametrize("arguments", [("--budget", "0.000001"), ("--question", "0.00001")])
def test_what_is_not_decided_in_time_is_unknown_and_exits_3(arguments: tuple[str, str]) -> None:
    shown = dpadmm("verify", "--statement", "LOSS-HUBER-CASES", *arguments)
    assert shown.returncode == 3
    assert "unknown" in shown.stdout
    assert "proved" not in shown.stdout


@pytest.mark.parametrize("arguments", [("--statement", "NOPE"), ("--budget", "soon"), ("--budget", "-3s")])
def test_wrong_usage_exits_2(arguments: tuple[str, str]) -> None:
    assert dpadmm("verify", *arguments).returncode == 2


def test_explain_prints_statement_truth_place_and_obligations() -> None:
    shown = dpadmm("explain", "e1")
    assert shown.returncode == 0
    for word in ("says:", "truth:", "place:", "witness:", "proof:", "dpadmm verify --statement E1"):
        assert word in shown.stdout


def test_explain_without_an_id_lists_every_claim() -> None:
    shown = dpadmm("explain")
    assert len(shown.stdout.splitlines()) == len(STATEMENTS)


def test_explain_refuses_an_unknown_claim() -> None:
    shown = dpadmm("explain", "SENS-Q")
    assert shown.returncode == 2
    assert "SENS-X" in shown.stderr
