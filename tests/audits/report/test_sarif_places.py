"""SARIF as GitHub's code scanning reads it: its published rules, and the line of the claim."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from audits.gate.claim_file import TEMPLATE, read_claim_file
from audits.gate.report import GateReport, provenance_of
from audits.report.machine import claim_line, relative_uri, render_sarif
from tests.audits.report.test_report_schemas import every_kind
from tests.audits.schemas import sarif_errors
from verification.outcome import About, Finding, Outcome


def github_errors(text: str) -> list[str]:
    """What breaks the published rules: "SARIF support for code scanning" in GitHub's documentation."""
    document, wrong = json.loads(text), list[str]()
    if len(gzip.compress(text.encode())) > 10 * 2**20 or len(document["runs"]) > 20:
        wrong.append("too large")
    for run in document["runs"]:
        rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
        for rule in rules.values():
            texts = [rule[key]["text"] for key in ("shortDescription", "fullDescription")]
            if any(not 0 < len(each) <= 1024 for each in texts) or len(rule["name"]) > 255 or not rule["help"]["text"]:
                wrong.append(f"rule {rule['id']}")
        if len(run["results"]) > 25_000 or len(rules) > 25_000:
            wrong.append("too many")
        for result in run["results"]:
            wrong += _result_errors(result, set(rules))
    return wrong


def _result_errors(result: dict[str, object], rules: set[str]) -> list[str]:
    wrong, locations = [], result.get("locations")
    if result.get("ruleId") not in rules:
        wrong.append("ruleId")
    if result.get("level") not in ("error", "warning", "note"):
        wrong.append("level")
    if not (result.get("message") or {}).get("text"):  # type: ignore[attr-defined]  # JSON
        wrong.append("message")
    if not (result.get("partialFingerprints") or {}).get("primaryLocationLineHash"):  # type: ignore[attr-defined]
        wrong.append("partialFingerprints")
    if not isinstance(locations, list) or not 1 <= len(locations) <= 1000:
        return [*wrong, "locations"]
    for location in locations:
        physical = location.get("physicalLocation", {})
        uri = physical.get("artifactLocation", {}).get("uri", "")
        if not uri or re.match(r"[a-z]+:|/", uri) or ".." in uri.split("/"):
            wrong.append(f"uri {uri}")
        if not physical.get("region", {}).get("startLine", 0) >= 1:
            wrong.append("region")
    return wrong


def report(path: Path, *findings: Finding, text: str = TEMPLATE) -> GateReport:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text)
    claims = read_claim_file(path)
    known = provenance_of(claims, path)
    return GateReport(claims, findings, (), (), 7, 1.0, Outcome.REFUTED, provenance=known)


def test_results_obey_the_schema_and_githubs_rules_whatever_was_found(tmp_path: Path) -> None:
    for count in (0, 1, None):
        text = render_sarif(report(tmp_path / "claim.toml", *every_kind()[:count]))
        assert sarif_errors(text) == []
        assert github_errors(text) == []


@pytest.mark.parametrize(
    ("pattern", "wrong"),
    [
        (r'"uri": "[^"]*"', '"uri": "file:///claim.toml"'),
        (r'"uri": "[^"]*"', '"uri": "../claim.toml"'),
        (r'"startLine": \d+', '"startLine": 0'),
        (r'"ruleId": "games"', '"ruleId": "other"'),
        (r"primaryLocationLineHash", "other"),
        (r'"level": "error"(?=,\n *"message)', '"level": "none"'),
        (r'"physicalLocation"', '"logicalLocation"'),
    ],
)
def test_the_rules_notice_what_is_wrong(tmp_path: Path, pattern: str, wrong: str) -> None:
    text, replaced = re.subn(pattern, wrong, render_sarif(report(tmp_path / "claim.toml", *every_kind())))
    assert replaced > 0
    assert github_errors(text) != []


def test_the_place_is_the_epsilon_of_the_claim_below_the_root_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    path = tmp_path / "a folder" / "privacy-claim.toml"
    finding = Finding(About.read("ssadmm/price"), Outcome.REFUTED, "too much")
    (result,) = json.loads(render_sarif(report(path, finding)))["runs"][0]["results"]
    where = result["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uri"] == "a%20folder/privacy-claim.toml"
    line = where["region"]["startLine"]
    assert TEMPLATE.splitlines()[line - 1].startswith("epsilon = ")


def test_a_file_outside_of_any_repository_and_of_the_working_directory_goes_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert relative_uri(tmp_path / "claim.toml") == "claim.toml"
    assert relative_uri(Path("claim.toml")) == "claim.toml"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("epsilon = '1'\n", 1),
        ("\n[claim]\ndelta = '1'\n", 2),
        ("[mechanism]\nepsilon = '1'\n\n[claim] # x\n# epsilon = 3\ndelta = '1'\nepsilon = '2'\n", 7),
        ("[claim]\ndelta = '1'\n[mechanism]\nepsilon = '1'\n", 1),
    ],
)
def test_the_line_of_the_claim(text: str, line: int) -> None:
    assert claim_line(text) == line


def test_what_stands_is_counted_and_raises_no_alert(tmp_path: Path) -> None:
    findings = [
        Finding(About.read("x/price"), Outcome.STANDS, ""),
        Finding(About.read("claimed"), Outcome.SKIPPED, "not offered"),
    ]
    run = json.loads(render_sarif(report(tmp_path / "claim.toml", *findings)))["runs"][0]
    assert run["results"] == []
    assert run["properties"] == {"seed": "7", "stands": 1, "skipped": 1}
