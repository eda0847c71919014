"""The CI examples: they parse, name what exists, and the parts that can run here are run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import click
import pytest

from audits.gate.claim_file import TEMPLATE
from dpadmm.cli import group

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[3]
CI = ROOT / "examples" / "ci"
WORKFLOW = CI / "github" / "privacy.yml"
FILES = {"junit.xml", "gate.sarif", "summary.md", "gate.html"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a claim file that is refuted by its price, and `dpadmm` on the path."""
    (tmp_path / "privacy-claim.toml").write_text(TEMPLATE.replace('epsilon = "1.0"', 'epsilon = "0.1"'))
    program = tmp_path / "bin" / "dpadmm"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m dpadmm "$@"\n')
    program.chmod(0o755)
    return tmp_path


def run(place: Path, command: list[str], **more: str) -> subprocess.CompletedProcess[str]:
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **more}
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)


def commands(text: str) -> Iterator[list[str]]:
    """Every call of dpadmm in a shell script, as words."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["dpadmm"]:
            yield words[: words.index("||") if "||" in words else len(words)]


def scripts(node: object) -> Iterator[str]:
    """Every script of a workflow, a job or an action."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("run", "entry") and isinstance(value, str):
                yield value
            elif key in ("script", "before_script") and isinstance(value, list):
                yield from value
            else:
                yield from scripts(value)
    elif isinstance(node, list):
        for value in node:
            yield from scripts(value)


def test_every_file_parses_and_every_command_in_it_exists() -> None:
    files = [*CI.rglob("*.yml"), *CI.rglob("*.yaml"), ROOT / "action.yml"]
    assert len(files) >= 4
    parsed = [script for path in files for script in scripts(yaml.safe_load(path.read_text()))]
    found = [words for text in (*parsed, (CI / "pre-commit" / "price-claims").read_text()) for words in _calls(text)]
    assert len(found) >= 4
    for words in found:
        command = group.get_command(click.Context(group), words[1])
        assert command is not None, words
        options = {name for parameter in command.params for name in parameter.opts}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options, words


def _calls(text: str) -> list[list[str]]:
    return list(commands("\n".join(line.strip() for line in text.replace("\\\n", " ").splitlines())))


def test_every_file_is_named_in_the_readme() -> None:
    readme = (CI / "README.md").read_text()
    for path in CI.rglob("*"):
        if path.is_file() and path.name != "README.md":
            assert f"`{path.relative_to(CI).as_posix()}`" in readme


@pytest.mark.slow
def test_the_github_workflow_installs_gates_uploads_and_comments(place: Path) -> None:
    job = yaml.safe_load(WORKFLOW.read_text())
    assert job["permissions"] == {"contents": "read", "security-events": "write", "pull-requests": "write"}
    steps = {step["name"]: step for step in job["jobs"]["gate"]["steps"] if "name" in step}
    names = ["Evidence of earlier nights", "Install", "Gate", "Evidence of this night", "Summary", "Code scanning"]
    assert list(steps) == [*names, "Comment", "Reports"]
    assert all("always()" in steps[name]["if"] for name in names[3:])
    pinned = [step["uses"] for step in job["jobs"]["gate"]["steps"] if "uses" in step]
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", each) for each in pinned), pinned
    assert job[True]["schedule"], "nightly"  # YAML 1.1 reads `on` as true
    done = run(place, ["bash", "-e", "-o", "pipefail", "-c", steps["Gate"]["run"]], HISTORY="")
    assert done.returncode == 1, done.stderr
    assert {path.name for path in (place / "privacy-reports").iterdir() if path.is_file()} == {
        *FILES,
        "statement.json",
        "badge.svg",
    }
    assert (place / steps["Code scanning"]["with"]["sarif_file"]).is_file()
    assert "privacy-reports/summary.md" in steps["Comment"]["run"]
    summary = place / "summary"
    assert run(place, ["bash", "-e", "-c", steps["Summary"]["run"]], GITHUB_STEP_SUMMARY=str(summary)).returncode == 0
    assert "a claim is refuted" in summary.read_text()


@pytest.mark.slow
def test_the_github_action_reports_and_fails_with_the_gates_own_exit_code(place: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    used = [each["uses"] for each in action["runs"]["steps"] if "uses" in each]
    assert [use.partition("@")[0] for use in used] == ["actions/setup-python", "github/codeql-action/upload-sarif"]
    assert all(use in WORKFLOW.read_text() for use in used), "the same versions as the workflow"
    assert action["inputs"]["version"]["default"] == project()["version"]
    (step,) = [each for each in action["runs"]["steps"] if each.get("id") == "gate"]
    assert set(step["env"]) == {"CLAIM", "SEED", "REPORTS", "HISTORY", "VERSION"}
    values = {"CLAIM": "privacy-claim.toml", "SEED": "3", "REPORTS": "out", "HISTORY": "", "VERSION": ""}
    output, summary = place / "output", place / "summary"
    values |= {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
    done = run(place, ["bash", "-e", "-o", "pipefail", "-c", step["run"]], **values)
    assert done.returncode == 1, done.stderr
    assert output.read_text() == "exit-code=1\n"
    assert "a claim is refuted" in summary.read_text()
    assert {p.name for p in (place / "out").iterdir()} == FILES


def project() -> dict[str, str]:
    found: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def test_the_container_gets_every_package_of_the_wheel() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    assert re.search(r"^FROM \S+:\d+\.\d+\.\d+-", text, re.MULTILINE), "a pinned tag"
    copied = set(re.findall(r"^COPY (\w+) \1$", text, re.MULTILINE))
    found = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]["find"]
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert copied == {name for name in packages if any(fnmatch(name, pattern) for pattern in found["include"])}


@pytest.mark.slow
def test_the_pre_commit_hook_prices_each_of_several_claims(place: Path) -> None:
    (hook,) = yaml.safe_load((CI / "pre-commit" / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert Path(hook["entry"]).name == "price-claims"
    program = str(CI / "pre-commit" / "price-claims")
    (published,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    right = str(CI.parent / "claims" / "reference.toml")
    entry = shlex.split(published["entry"])
    assert run(place, [*entry, right, "privacy-claim.toml"]).returncode == 1
    assert run(place, [*entry, right]).returncode == 0
    done = run(place, [program, right, "privacy-claim.toml"])
    assert done.returncode == 1
    assert done.stdout.count("epsilon at delta") >= 2
    assert "stands         ssADMM/price" in done.stdout
    assert run(place, [program, "missing.toml", "privacy-claim.toml"]).returncode == 2
    assert run(place, [program, right]).returncode == 0


def test_the_gitlab_job_installs_runs_the_gate_and_keeps_its_reports() -> None:
    job = yaml.safe_load((CI / "gitlab" / "privacy-gate.yml").read_text())["privacy-gate"]
    assert job["before_script"][0] == "pip install dpadmm==0.1.0"
    assert any(line.startswith('dpadmm gate "$CLAIM"') for line in job["script"])
    assert job["artifacts"]["when"] == "always"
    assert job["artifacts"]["reports"]["junit"] in " ".join(job["script"])


def test_the_guide_shows_the_files_as_they_are() -> None:
    guide = (ROOT / "docs" / "guides" / "continuous-integration.md").read_text("utf-8")
    shown = (WORKFLOW, CI / "gitlab" / "privacy-gate.yml", CI / "pre-commit" / ".pre-commit-config.yaml")
    assert all(f"```yaml\n{path.read_text('utf-8')}```" in guide for path in shown)
