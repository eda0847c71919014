"""What is filed: badge, signed statement, deployment fields, comparison; ids that do not depend on the outcome."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from audits.errors import AuditError, ClaimFileError
from audits.gate.claim_file import TEMPLATE, ClaimFile, read_claim_file
from audits.gate.report import GateReport, Provenance, ids_of, provenance_of
from audits.report.filed import (
    PREDICATE,
    STATEMENT,
    _rounded_up,
    changes,
    render_badge,
    render_badge_svg,
    render_deployment,
    render_intoto,
    verify,
)
from audits.report.html import render_html
from audits.report.machine import DOCS, MEANING, RULES, document, render_junit, render_sarif, slug
from audits.report.text import headline, render_markdown, render_summary, render_text, unused_waivers
from tests.audits.schemas import errors_of, junit_errors, sarif_errors
from verification.judge import Coverage
from verification.outcome import About, Cause, Finding, Outcome, Power, Stage, Waived, worst

ROOT = Path(__file__).resolve().parents[3]
WAIVER = """
[[waiver]]
finding = "silent/ssadmm/claimed"
reason = "fixed in release 2.1, which goes out on Monday"
expires = 2100-01-31
"""
STANDS = Finding(About("", "ssadmm", Stage.PRICE), Outcome.STANDS, "fine")
PLAYED = Finding(About("learned", "ssadmm", Stage.GAMES, "ssadmm"), Outcome.STANDS, "", power=Power(1.2, 0.97, 9))
SILENT = About("silent", "ssadmm", Stage.CLAIMED, "ssadmm")
REFUTED = Finding(SILENT, Outcome.REFUTED, "too quiet", cause=Cause.NOISE_SMALL)
LATE = Finding(About("aspects", "ssadmm", Stage.COVERAGE, "ssadmm"), Outcome.INCONCLUSIVE, "no check looked")


def claimed(folder: Path, more: str = "") -> tuple[ClaimFile, Path]:
    path = folder / "privacy-claim.toml"
    (folder / "adapter.py").write_text("print('adapter')\n")
    (folder / "my_admm.py").write_text("print('the bug is here')\n")
    path.write_text(TEMPLATE.replace('# files = ["my_admm.py", "src/*.c"]', 'files = ["my_admm.py"]') + more)
    return read_claim_file(path), path


def made(folder: Path, *findings: Finding, more: str = "", delta: str = "1e-8") -> GateReport:
    claims, path = claimed(folder, more)
    claims = claims.model_copy(update={"claim": claims.claim.model_copy(update={"delta": Fraction(delta)})})
    asked = {f.name: f for f in findings} | {"ssadmm/price": STANDS}
    outcome = worst(f.outcome for f in findings if f.waiver is None)
    return GateReport(claims, findings, (), (), 7, 1.0, outcome, Coverage(), provenance_of(claims, path), asked=asked)


def cases(report: GateReport) -> list[str]:
    text = render_junit(report)
    assert junit_errors(text) == []
    return [case.attrib["name"] for case in ET.fromstring(text).iter("testcase")]


def test_junit_names_are_the_same_on_a_green_and_a_red_run(tmp_path: Path) -> None:
    green, red, late = (made(tmp_path, STANDS, f) for f in (PLAYED, REFUTED, LATE))
    assert cases(green) == cases(red) == cases(late)
    assert cases(green)[: len(ids_of(green.claims))] == ids_of(green.claims)
    assert ' failures="1"' in render_junit(red)
    assert ' errors="1"' in render_junit(late)


def page() -> str:
    """The page of the documentation."""
    parts = ["# Causes of a refutation", ""]
    parts += ["One mistake is one cause, whichever questions show it. SARIF has a rule for each, with this text; with"]
    parts += [f"`{DOCS}=https://...` in the environment, its `helpUri` leads to a published copy of this page.", ""]
    for cause, text in MEANING.items():
        title = str(cause)
        parts += [f"## {title[0].upper()}{title[1:]}" + f" {{#{slug(cause)}}}", "", text, ""]
    parts += ["## Findings without a cause", "", "A finding that is inconclusive has the rule of its stage.", ""]
    for stage, text in RULES.items():
        parts += [f"### Stage {stage} {{#{stage}}}", "", f"{text}.", ""]
    return "\n".join(parts)


def test_every_cause_is_a_rule_with_its_own_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(MEANING) == set(Cause)
    assert (ROOT / "docs/reference/causes.md").read_text("utf-8") == page()
    monkeypatch.setenv(DOCS, "https://docs.example.com/dpadmm/")
    text = render_sarif(made(tmp_path, STANDS, REFUTED))
    assert sarif_errors(text) == []
    run = json.loads(text)["runs"][0]
    assert run["results"][0]["ruleId"] == slug(Cause.NOISE_SMALL) == "noise-too-small"
    rules = run["tool"]["driver"]["rules"]
    assert {r["id"] for r in rules} == {*map(slug, Cause), *Stage}
    for rule in rules:
        assert rule["helpUri"] == f"https://docs.example.com/dpadmm/reference/causes.html#{rule['id']}"
        assert f"{{#{rule['id']}}}" in page()


def test_a_badge_states_epsilon_delta_power_and_date(tmp_path: Path) -> None:
    report = made(tmp_path, STANDS, PLAYED)
    badge = json.loads(render_badge(report))
    assert badge["schemaVersion"] == 1
    assert badge["color"] == "brightgreen"
    assert re.search(r"ε = 1, δ = 0\.00000001|1e-8", badge["message"])
    assert "noise/1.2" in badge["message"]
    ET.fromstring(render_badge_svg(report))
    assert json.loads(render_badge(made(tmp_path, STANDS, REFUTED)))["color"] == "red"


def test_the_statement_covers_the_files_that_are_run_and_is_verified(tmp_path: Path) -> None:
    report = made(tmp_path, STANDS, PLAYED)
    text = render_intoto(report)
    stated = json.loads(text)
    assert errors_of("in-toto-test-result-0.1.json", text) == []
    assert errors_of("in-toto-test-result-0.1.json", text.replace('"PASSED"', '"stands"')) != []
    assert (stated["_type"], stated["predicateType"]) == (STATEMENT, PREDICATE)
    names = [each["name"] for each in stated["subject"]]
    assert {"privacy-claim.toml", "adapter.py", "my_admm.py"} <= set(names)
    assert all(re.fullmatch("[0-9a-f]{64}", each["digest"]["sha256"]) for each in stated["subject"])
    assert stated["predicate"]["result"] == "PASSED"
    claims, path = report.claims, tmp_path / "privacy-claim.toml"
    assert verify(text, claims, path) == []
    (tmp_path / "my_admm.py").write_text("print('changed')\n")
    assert verify(text, claims, path) == ["my_admm.py has another digest than stated"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_a_statement_is_signed_and_verified_as_the_guide_says(tmp_path: Path) -> None:
    (tmp_path / "statement.json").write_text(render_intoto(made(tmp_path, STANDS, PLAYED)))
    key, guide = tmp_path / ".ssh" / "id_ed25519", (ROOT / "docs/guides/continuous-integration.md").read_text("utf-8")
    key.parent.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    program = f'dpadmm() {{ {shlex.quote(sys.executable)} -m dpadmm "$@"; }}\n'

    def runs(script: str) -> int:
        script = program + script.replace("~", shlex.quote(str(tmp_path)))
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env=environment, check=False).returncode

    signing, verifying, _cosign = re.findall(r"```text\n(.*?)```", guide.partition("## 7. ")[2], re.DOTALL)
    assert (runs(signing), runs(verifying)) == (0, 0)
    (tmp_path / "statement.json").write_text((tmp_path / "statement.json").read_text() + " ")
    assert runs(verifying) != 0, "what was signed is another text"


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [
        ('"epsilon": "1"', '"epsilon": "0.1"', "epsilon is 1"),
        ('"result": "PASSED"', '"result": "WARNED"', "is not what the listed tests come to"),
        ('"failedTests": []', '"failedTests": ["silent/ssadmm/claimed"]', "is not what the listed tests come to"),
        (STATEMENT, "https://example.com", "of another type"),
    ],
)
def test_a_forged_statement_is_noticed(tmp_path: Path, before: str, after: str, wrong: str) -> None:
    report = made(tmp_path, STANDS, PLAYED)
    text = render_intoto(report)
    assert before in text
    found = verify(text.replace(before, after), report.claims, tmp_path / "privacy-claim.toml")
    assert any(wrong in line for line in found), found


def test_what_is_no_statement_and_a_report_without_files_are_refused(tmp_path: Path) -> None:
    report = made(tmp_path, STANDS)
    with pytest.raises(AuditError, match="not a statement"):
        verify("{}", report.claims, tmp_path / "privacy-claim.toml")
    with pytest.raises(AuditError, match="no file"):
        render_intoto(dataclasses.replace(report, provenance=Provenance()))


def test_a_listed_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    claims, path = claimed(tmp_path)
    (tmp_path / "my_admm.py").unlink()
    with pytest.raises(ClaimFileError, match=r"my_admm\.py"):
        provenance_of(claims, path)


def test_a_comparison_says_what_changed(tmp_path: Path) -> None:
    old, new = (document(made(tmp_path, STANDS, f)) for f in (PLAYED, REFUTED))
    lines = changes(old, new)
    assert lines[0] == "conclusion: stands -> refuted"
    assert "silent/ssadmm/claimed: not asked -> refuted" in lines
    assert "new cause: noise too small (ssadmm)" in lines
    assert changes(old, old) == []


@pytest.mark.parametrize("found", [PLAYED, REFUTED, LATE])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_the_default_text_fits_a_screen(tmp_path: Path, found: Finding, count: int) -> None:
    again = "dpadmm gate " + "a/long/folder/" * 6 + "claim.toml --only silent/ssadmm/claimed"
    each = [
        dataclasses.replace(
            found,
            about=dataclasses.replace(found.about, mechanism=f"m{k}", subject=f"m{k}"),
            detail="word " * 300,
            reproduction=again if found is REFUTED else "",
        )
        for k in range(count)
    ]
    report = made(tmp_path, STANDS, *each, more=WAIVER)
    lines = render_summary(report).splitlines()
    assert len(lines) <= 30
    assert all(len(line) <= 100 for line in lines if "a/long/folder" not in line)
    assert lines[0].startswith(report.outcome.value)
    assert " ".join(headline(report).split()[:5]) in lines[0]
    left_out = count > 1 and found is REFUTED  # whose details take ten lines each; one reason is said once
    assert ("more (--details lists them)" in "\n".join(lines)) == left_out
    if found is LATE:
        assert render_text(report).count("word " * 250) == 1
    if found is REFUTED:
        assert f"look at {Cause.NOISE_SMALL.where[:40]}" in "\n".join(lines), "the line to change is named"
        _, _, rest = "\n".join(lines).partition("again: ")
        command = re.match(r"(?:.*\\\n)*.*", rest)
        assert command is not None
        assert shlex.split(command[0].replace("\\\n", " ")) == shlex.split(again), "it can be copied"


def test_an_unused_waiver_is_reported_everywhere_and_a_used_one_is_not(tmp_path: Path) -> None:
    report = made(tmp_path, STANDS, more=WAIVER)
    assert [str(waiver.finding) for waiver in unused_waivers(report)] == ["silent/ssadmm/claimed"]
    assert document(report)["unused_waivers"] == [
        {"finding": "silent/ssadmm/claimed", "reason": report.claims.waiver[0].reason, "expires": "2100-01-31"}
    ]
    for render in (render_text, render_summary, render_markdown, render_html):
        assert "goes out on Monday" in render(report)
    used = dataclasses.replace(REFUTED, waiver=Waived(report.claims.waiver[0].reason, datetime.date(2100, 1, 31)))
    assert list(unused_waivers(made(tmp_path, STANDS, used, more=WAIVER))) == []


@pytest.mark.parametrize(("epsilon", "flavor"), [("1e-8", "Approximate DP"), ("0", "Pure DP")])
def test_the_fields_of_a_deployment_are_those_of_the_registry(tmp_path: Path, epsilon: str, flavor: str) -> None:
    text = render_deployment(made(tmp_path, STANDS, delta=epsilon))
    assert errors_of("dp-deployment.json", text) == []
    fields = json.loads(text)["deployment"]
    assert fields["dp_flavor"]["name"] == flavor
    loss = fields["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 1.0, "delta": float(epsilon)}
    assert loss["privacy_unit"] is None, "not stated"
    assert loss["privacy_unit_description"].startswith("replace-one: one record is replaced")
    page = (ROOT / "docs/reference/auditing.md").read_text("utf-8")
    assert all(f"`{name}" in page for name in fields), "the page says where each field comes from"


def test_a_number_of_the_registry_is_rounded_up() -> None:
    assert _rounded_up(Fraction(1, 10)) == 0.1, "already above"
    assert _rounded_up(Fraction(3, 10)) == math.nextafter(0.3, 1.0) > Fraction(3, 10)
    assert _rounded_up(math.inf) is None


DECLARED = f"""
[claim]
epsilon = "1.0849728"
delta = "1e-5"
neighbours = "replace-one"

[declared]
algorithm = "stranger"
records = 24
columns = 3

[implementation]
command = ["{sys.executable}", "-m", "tests.frozen.stranger", "descent"]
"""


@pytest.mark.slow
@pytest.mark.parametrize(("claimed", "wrong"), [("1.0849728", 0), ("1.05", 1)])
def test_a_declared_claim_is_priced_again(
    tmp_path: Path, claimed: str, wrong: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    path = tmp_path / "privacy-claim.toml"
    path.write_text(DECLARED.replace("1.0849728", claimed))
    claims = read_claim_file(path)
    report = GateReport(claims, (STANDS,), (), (), 7, 1.0, Outcome.STANDS, provenance=provenance_of(claims, path))
    found = verify(render_intoto(report), claims, path)
    assert len(found) == wrong
    assert all(line.startswith("account/stranger/declared, computed anew: ") for line in found)


def test_a_file_that_cannot_be_read_cannot_be_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claims, path = claimed(tmp_path)

    def refuse(*_: object) -> object:
        raise PermissionError

    monkeypatch.setattr("hashlib.file_digest", refuse)
    report = GateReport(claims, (STANDS,), (), (), 7, 1.0, Outcome.STANDS, provenance=provenance_of(claims, path))
    with pytest.raises(AuditError, match=r"my_admm\.py|adapter\.py|python"):
        render_intoto(report)
