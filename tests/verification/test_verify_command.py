"""`dpadmm verify` and `dpadmm explain`: tables, JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.dpadmm.in_process import CommandLine
from tests.verification.proofs.folders import needs_coq
from verification.statements.registry import STATEMENTS


@pytest.fixture
def dpadmm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capsys)


def test_statements_that_need_no_coq_exit_0(dpadmm: CommandLine) -> None:
    shown = dpadmm("verify", "--statement", "LOSS-HUBER-CASES", "--statement", "E5")
    assert shown.code == 0, shown.stderr
    assert "refuted" in shown.stdout
    assert "proved" in shown.stdout


@pytest.mark.slow
def test_without_coq_a_proof_is_not_re_checked_and_nothing_is_called_proved(
    dpadmm: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    shown = dpadmm("verify", "--statement", "SENS-PRINTED-SMALL-STEP")
    assert shown.code == 3
    assert "proof not re-checked here" in shown.stdout
    assert "proved" not in shown.stdout


@needs_coq
@pytest.mark.slow
def test_a_refuted_erratum_exits_0_and_prints_the_data_sets(dpadmm: CommandLine) -> None:
    shown = dpadmm("verify", "--statement", "SENS-X-PRINTED", "--statement", "SENS-PRINTED-SMALL-STEP")
    assert shown.code == 0, shown.stderr
    assert "refuted" in shown.stdout
    assert "proved" in shown.stdout
    assert "D' = {" in shown.stdout


def test_json_is_versioned_and_reals_are_strings(dpadmm: CommandLine) -> None:
    shown = dpadmm("verify", "--statement", "E5", "--statement", "LEMMA-1", "--format", "json")
    document = json.loads(shown.stdout)
    assert (document["format"], document["version"], document["exit_code"]) == ("dpadmm-verify", 2, 0)
    assert [statement["status"] for statement in document["statements"]] == ["refuted", "holds"]
    assert isinstance(document["statements"][1]["tightness"], str)


@pytest.mark.parametrize("arguments", [("--budget", "0.000001"), ("--question", "0.00001")])
def test_what_is_not_decided_in_time_is_unknown_and_exits_3(dpadmm: CommandLine, arguments: tuple[str, str]) -> None:
    shown = dpadmm("verify", "--statement", "LOSS-HUBER-CASES", *arguments)
    assert shown.code == 3
    assert "unknown" in shown.stdout
    assert "proved" not in shown.stdout


@pytest.mark.parametrize("arguments", [("--statement", "NOPE"), ("--budget", "soon"), ("--budget", "-3s")])
def test_wrong_usage_exits_2(dpadmm: CommandLine, arguments: tuple[str, str]) -> None:
    assert dpadmm("verify", *arguments).code == 2


def test_explain_prints_statement_truth_place_and_obligations(dpadmm: CommandLine) -> None:
    shown = dpadmm("explain", "e1")
    assert shown.code == 0
    for word in ("says:", "truth:", "place:", "witness:", "proof:", "dpadmm verify --statement E1"):
        assert word in shown.stdout


def test_explain_without_an_id_lists_every_claim(dpadmm: CommandLine) -> None:
    shown = dpadmm("explain")
    assert len(shown.stdout.splitlines()) == len(STATEMENTS)


def test_explain_refuses_an_unknown_claim(dpadmm: CommandLine) -> None:
    shown = dpadmm("explain", "SENS-Q")
    assert shown.code == 2
    assert "SENS-X" in shown.stderr
