"""`dpadmm verify` and `dpadmm explain`: tables, JSON, exit codes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from dpadmm.statements import BY_NAME, STATEMENTS
from tests.dpadmm.in_process import CommandLine
from tests.verification.coq.folders import needs_coq
from verification.outcome import Outcome
from verification.smt.prover import Prover
from verification.smt.solvers import solvers
from verification.statements.errata import WORDING


@pytest.fixture
def dpadmm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capsys)


def test_statements_that_need_no_coq_exit_0(dpadmm: CommandLine) -> None:
    shown = dpadmm("verify", "--statement", "LOSS-HUBER-CASES", "--statement", "E13")
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
    shown = dpadmm("verify", "--statement", "E13", "--statement", "LEMMA-1", "--format", "json")
    document = json.loads(shown.stdout)
    assert (document["format"], document["version"], document["exit_code"]) == ("dpadmm-verify", 3, 0)
    assert [statement["status"] for statement in document["statements"]] == ["refuted", "enclosed"]
    assert document["statements"][1]["looked_at"] == "6 points"
    assert isinstance(document["statements"][1]["tightness"], str)


@pytest.mark.parametrize("arguments", [("--budget", "0.000001"), ("--question", "0.00001")])
def test_what_is_not_decided_in_time_is_undecided_and_exits_3(dpadmm: CommandLine, arguments: tuple[str, str]) -> None:
    shown = dpadmm("verify", "--statement", "LOSS-HUBER-CASES", *arguments)
    assert shown.code == 3
    assert "undecided" in shown.stdout
    assert "proved" not in shown.stdout


@needs_coq
def test_the_budget_ends_coq_too_and_what_it_did_not_check_is_undecided() -> None:
    evidence = BY_NAME["CONNECT-THE-DOTS"].evidence[-1]
    with solvers() as pair:
        prover = Prover(pair)
        prover.deadline = time.monotonic()
        found = evidence.run(prover)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert "not checked in time: coqdep" in found.detail


@pytest.mark.parametrize("seconds", ["0.001s", "0.01s", "0.3s"])
def test_at_any_time_limit_what_is_undecided_is_named_and_nothing_crashes(dpadmm: CommandLine, seconds: str) -> None:
    """If-then-else inside hypotheses once reached the clearing of denominators and crashed it."""
    shown = dpadmm("verify", "--statement", "E16", "--question", seconds)
    assert shown.code in (0, 3)
    assert shown.code == 0 or "noise" in shown.stdout


@pytest.mark.parametrize("arguments", [("--statement", "NOPE"), ("--budget", "soon"), ("--budget", "-3s")])
def test_wrong_usage_exits_2(dpadmm: CommandLine, arguments: tuple[str, str]) -> None:
    assert dpadmm("verify", *arguments).code == 2


def test_explain_prints_statement_truth_place_and_obligations(dpadmm: CommandLine) -> None:
    shown = dpadmm("explain", "e1")
    assert shown.code == 0
    for word in ("says:", "truth:", "place:", "witness:", "smt:", "dpadmm verify --statement E1"):
        assert word in shown.stdout


def test_explain_without_an_id_lists_every_claim(dpadmm: CommandLine) -> None:
    shown = dpadmm("explain")
    entries = [line for line in shown.stdout.splitlines() if not line.startswith(" ")]
    assert len(entries) == len(STATEMENTS) + len(WORDING)


def test_explain_refuses_an_unknown_claim(dpadmm: CommandLine) -> None:
    shown = dpadmm("explain", "SENS-Q")
    assert shown.code == 2
    assert "SENS-X" in shown.stderr
