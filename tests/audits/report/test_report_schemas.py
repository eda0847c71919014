"""JUnit and SARIF reports obey the schemas of those who read them, whatever was found."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path

import pytest

from audits.gate.claim_file import TEMPLATE, read_claim_file
from audits.gate.report import GateReport
from audits.report.machine import render_junit, render_sarif
from tests.audits.schemas import junit_errors, sarif_errors
from verification.outcome import About, Finding, Outcome, Power, Waived, worst

WAIVER = Waived(reason='fixed "soon" & <tested>', expires=datetime.date(2999, 1, 1))
HOSTILE = 'line one\nline two \x00\x1b[31m ]]> <failure message="x"> & \ud7ff \U0001f512'


def report(tmp_path: Path, *findings: Finding) -> GateReport:
    path = tmp_path / "claim.toml"
    path.write_text(TEMPLATE)
    outcome = worst(f.outcome for f in findings if f.waiver is None)
    return GateReport(read_claim_file(path), findings, (), (), 7, 12345.6789, outcome)


def every_kind() -> list[Finding]:
    power = Power(1.2, 0.95, 150)
    plain = [
        Finding(
            About.read(f"{outcome}/ssadmm/games"),
            outcome,
            HOSTILE,
            reproduction="dpadmm gate 'a b'",
            seconds=1234.5678,
            trials=10,
            power=power,
        )
        for outcome in Outcome
    ]
    waived = Finding(About.read("small"), Outcome.REFUTED, HOSTILE, waiver=WAIVER)
    return [*plain, waived, Finding(About(), Outcome.STANDS, "")]


@pytest.mark.parametrize("chosen", [slice(0), slice(1), slice(None)], ids=["nothing", "one", "every kind"])
def test_reports_obey_the_official_schemas(tmp_path: Path, chosen: slice) -> None:
    found = report(tmp_path, *every_kind()[chosen])
    assert junit_errors(render_junit(found)) == []
    assert sarif_errors(render_sarif(found)) == []


@pytest.mark.parametrize(
    ("pattern", "wrong"),
    [
        ("<testcase ", '<testcase colour="red" '),
        ("<testcase name=", "<testcase title="),
        (' tests="9"', ""),
        ("<failure", "<refutation/><failure"),
        ("</testsuite>", "</testsuite><testcase name='lost'/>"),
    ],
)
def test_the_junit_schema_notices_what_is_wrong(tmp_path: Path, pattern: str, wrong: str) -> None:
    text = render_junit(report(tmp_path, *every_kind()))
    assert pattern in text
    assert junit_errors(text.replace(pattern, wrong)) != []


@pytest.mark.parametrize(
    ("pattern", "wrong"),
    [
        (r'"version": "2.1.0"', '"version": "2.2.0"'),
        (r'"level": "error"', '"level": "fatal"'),
        (r'"kind": "fail"', '"kind": "refuted"'),
        (r'"executionSuccessful": \w+,', ""),
        (r'"name": "dpadmm",', ""),
        (r'"ruleId"', '"rule"'),
        (r'"kind": "external"', '"kind": "waiver"'),
        (r'"exitCode": 70', '"exitCode": "70"'),
    ],
)
def test_the_sarif_schema_notices_what_is_wrong(tmp_path: Path, pattern: str, wrong: str) -> None:
    text, replaced = re.subn(pattern, wrong, render_sarif(report(tmp_path, *every_kind())))
    assert replaced > 0
    assert sarif_errors(text) != []


def test_a_waived_refutation_is_neither_a_failure_nor_hidden(tmp_path: Path) -> None:
    found = report(tmp_path, every_kind()[-2])
    assert ' failures="0"' in render_junit(found)
    assert "<skipped" in render_junit(found)
    (result,) = json.loads(render_sarif(found))["runs"][0]["results"]
    assert result["suppressions"][0]["justification"] == WAIVER.reason
