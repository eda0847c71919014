"""The CI examples: they parse, name what exists, and the parts that can run here are run."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from audits.gate.claim_file import TEMPLATE

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[3]
CI = ROOT / "examples" / "ci"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a claim file, and `dpadmm` on the path."""
    (tmp_path / "privacy-claim.toml").write_text(TEMPLATE.replace('epsilon = "1.0"', 'epsilon = "0.1"'))
    program = tmp_path / "bin" / "dpadmm"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m dpadmm "$@"\n')
    program.chmod(0o755)
    return tmp_path


def environment(place: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT), **more}


def test_the_github_action_reports_and_fails_with_the_gates_own_exit_code(place: Path) -> None:
    action = yaml.safe_load((CI / "github" / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    (step,) = action["runs"]["steps"]
    assert set(step["env"]) == {"CLAIM", "SEED", "REPORTS"}
    values = {"CLAIM": "privacy-claim.toml", "SEED": "3", "REPORTS": "out"}
    output, summary = place / "output", place / "summary"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=place,
        env=environment(place, GITHUB_OUTPUT=str(output), GITHUB_STEP_SUMMARY=str(summary), **values),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert output.read_text() == "exit-code=1\n"
    assert "a claim is refuted" in summary.read_text()
    assert {p.name for p in (place / "out").iterdir()} == {"junit.xml", "gate.sarif", "summary.md", "gate.html"}


def test_the_pre_commit_hook_prices_the_claim(place: Path) -> None:
    (hook,) = yaml.safe_load((CI / "pre-commit-hooks.yaml").read_text())
    command = [*shlex.split(hook["entry"]), "privacy-claim.toml"]
    done = subprocess.run(command, cwd=place, env=environment(place), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "epsilon at delta" in done.stdout


def test_the_pre_commit_hook_lets_a_claim_pass_whose_price_is_right(place: Path) -> None:
    (hook,) = yaml.safe_load((CI / "pre-commit-hooks.yaml").read_text())
    command = [*shlex.split(hook["entry"]), str(CI.parent / "claims" / "reference.toml")]
    done = subprocess.run(command, cwd=place, env=environment(place), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "stands         account: ssADMM" in done.stdout


def test_the_gitlab_job_runs_the_gate_and_keeps_its_reports() -> None:
    job = yaml.safe_load((CI / "gitlab" / "privacy-gate.yml").read_text())["privacy-gate"]
    assert any(line.startswith('dpadmm gate "$CLAIM"') for line in job["script"])
    assert job["artifacts"]["when"] == "always"
    assert job["artifacts"]["reports"]["junit"] in " ".join(job["script"])
