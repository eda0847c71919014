"""The owner of a CI, literally from the guide: a claim file, the price, the whole job, its reports and exit codes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from audits.gate.claim_file import read_claim_file
from audits.gate.report import ids_of
from tests.audits.report.test_sarif_places import github_errors
from tests.audits.schemas import junit_errors, sarif_errors
from tests.docs.pages import ROOT

yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.slow
GUIDE = (ROOT / "docs" / "guides" / "continuous-integration.md").read_text("utf-8")


@dataclass(frozen=True)
class Owner:
    """A repository of one's own, with `dpadmm` on the path and nothing else of the project in it."""

    folder: Path

    def runs(self, script: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        # as at night, when the workflow adds up evidence
        night = {"HISTORY": "--history=privacy-history.jsonl"}
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **night}
        command = ["bash", "-e", "-o", "pipefail", "-c", script]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=600
        )

    def edits(self, *changes: tuple[str, str]) -> None:
        path = self.folder / "privacy-claim.toml"
        text = path.read_text("utf-8")
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        path.write_text(text, "utf-8")


def repository(folder: Path) -> Owner:
    (folder / ".git").mkdir()
    program = folder / "bin" / "dpadmm"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m dpadmm "$@"\n')
    program.chmod(0o755)
    return Owner(folder)


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    return repository(tmp_path)


@pytest.fixture(scope="module")
def green(tmp_path_factory: pytest.TempPathFactory) -> Owner:
    """Where the job passed."""
    owner = repository(tmp_path_factory.mktemp("green"))
    assert owner.runs(first_command()).returncode == 0
    again = owner.runs(first_command())
    assert again.returncode == 2, "an existing claim file must not be overwritten"
    assert owner.runs("dpadmm gate privacy-claim.toml --only price").returncode == 3
    owner.edits(command_line("verification.served.loopback"))
    done = owner.runs(job())
    assert done.returncode == 0, done.stdout + done.stderr
    return owner


@pytest.fixture(scope="module")
def red(tmp_path_factory: pytest.TempPathFactory) -> Owner:
    """Where a wrong implementation failed the job."""
    owner = repository(tmp_path_factory.mktemp("red"))
    owner.runs(first_command())
    owner.edits(command_line("tests.zoo", "epoch-wise-shuffle"))
    done = owner.runs(job())
    assert done.returncode == 1, done.stdout + done.stderr
    return owner


def first_command() -> str:
    """What the guide says to type first."""
    found = re.search(r"^\$ (dpadmm gate --init .*)$", GUIDE, re.MULTILINE)
    assert found is not None
    return found[1]


def job() -> str:
    """The step `Gate` of the workflow that the guide shows."""
    workflow = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)[0])
    (step,) = [step for step in workflow["jobs"]["gate"]["steps"] if step.get("name") == "Gate"]
    return str(step["run"])


def exit_codes() -> dict[int, str]:
    """The table of the guide's last step."""
    return {int(code): what for code, what in re.findall(r"^\| (\d+) \| (.*?) \|$", GUIDE, re.MULTILINE)}


def command_line(*words: str) -> tuple[str, str]:
    return ('["python", "adapter.py"]', json.dumps([sys.executable, "-m", *words]))


def test_from_an_empty_repository_to_a_job_that_passes(green: Owner) -> None:
    assert exit_codes()[0] == "pass"
    reports = green.folder / "privacy-reports"
    assert sarif_errors((reports / "gate.sarif").read_text("utf-8")) == []
    assert json.loads((reports / "gate.sarif").read_text("utf-8"))["runs"][0]["results"] == []
    assert junit_errors((reports / "junit.xml").read_text("utf-8")) == []
    assert (reports / "summary.md").read_text("utf-8").startswith("## Privacy gate: every claim stands")
    assert "every claim stands" in (reports / "gate.html").read_text("utf-8")


def test_names_are_the_same_on_the_green_and_on_the_red_run_and_the_night_is_kept(green: Owner, red: Owner) -> None:
    names = []
    for owner in (green, red):
        cases = ET.parse(owner.folder / "privacy-reports" / "junit.xml").getroot().iter("testcase")
        names.append([case.attrib["name"] for case in cases])
        (night,) = (owner.folder / "privacy-history.jsonl").read_text("utf-8").splitlines()
        assert json.loads(night)["on_questions"]
    assert names[0] == names[1]
    assert names[0][: len(ids_of(read_claim_file(green.folder / "privacy-claim.toml")))] == ids_of(
        read_claim_file(red.folder / "privacy-claim.toml")
    )
    assert names[0][-1] == "history/claimed"
    assert json.loads((green.folder / "privacy-history.jsonl").read_text("utf-8"))["on_noise"]["ssadmm"][1] > 1e5


def test_a_wrong_implementation_fails_the_job_with_alerts_at_the_claim_and_evidence(red: Owner) -> None:
    assert "refuted" in exit_codes()[1]
    reports = red.folder / "privacy-reports"
    text = (reports / "gate.sarif").read_text("utf-8")
    assert (sarif_errors(text), github_errors(text)) == ([], [])
    alerts = [r for r in json.loads(text)["runs"][0]["results"] if r["level"] == "error"]
    assert alerts
    where = alerts[0]["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uri"] == "privacy-claim.toml"
    lines = (red.folder / "privacy-claim.toml").read_text("utf-8").splitlines()
    assert lines[where["region"]["startLine"] - 1].startswith("epsilon = ")
    assert int(ET.parse(reports / "junit.xml").getroot().attrib["failures"]) >= 1
    page = (reports / "gate.html").read_text("utf-8")
    assert "This promise is not kept" in page
    assert "<svg" in page
    assert red.runs("dpadmm gate --examine privacy-reports/evidence").returncode == 1


def test_every_other_exit_code_of_the_guide(owner: Owner) -> None:
    owner.runs(first_command())
    assert owner.runs(job()).returncode == 4, "there is no adapter.py yet"
    owner.edits(('epsilon = "1.0"', 'epsilon = "0.1"'))
    assert owner.runs("dpadmm gate privacy-claim.toml --only price").returncode == 1
    owner.edits(('epsilon = "0.1"', "epsilon = 0.1"))
    broken = owner.runs("dpadmm gate privacy-claim.toml")
    assert broken.returncode == 2
    assert "claim.epsilon" in broken.stderr
    assert set(exit_codes()) == {0, 1, 2, 3, 4, 70}
