"""The house is in order: what every file of the project must satisfy."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpadmm.cli import SUBCOMMANDS

ROOT = Path(__file__).resolve().parent.parent
TEXT = {".py", ".md", ".toml", ".json", ".c", ".h", ".mjs", ".js", ".rs", ".txt", ".lock", ".yml", ".yaml", ".html", ""}
SKIPPED = {".git", ".venv", ".venv-peers", "out", "build", "dist", "node_modules", "target"}


def project_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = (
        listed.stdout.splitlines()
        if listed.returncode == 0
        else [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file()]
    )
    return [ROOT / n for n in names if not SKIPPED & set(Path(n).parts) and (ROOT / n).is_file()]


def test_no_file_names_a_machine_path_or_a_package_index() -> None:
    forbidden = re.compile("|".join(["/wor" + "k/", "/roo" + "t/", r"pypi\.or" + "g", "index-" + "url", "/hom" + "e/"]))
    offenders = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in project_files()
        if path.suffix in TEXT and path.name not in {"LICENSE"}
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1)
        if forbidden.search(line)
    ]
    assert offenders == []


def test_every_local_link_in_the_documents_leads_somewhere() -> None:
    broken = [
        f"{path.relative_to(ROOT)} -> {target}"
        for path in project_files()
        if path.suffix == ".md"
        for target in re.findall(r"\]\(([^)#\s]+)", path.read_text("utf-8"))
        if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists()
    ]
    assert broken == []


def test_no_python_file_has_grown_two_concepts() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {lines}"
        for path in project_files()
        if path.suffix == ".py" and (lines := len(path.read_text("utf-8").splitlines())) > 400
    ]
    assert long == []


def subcommands() -> list[str]:
    return [name for name in SUBCOMMANDS if (ROOT / "dpadmm" / "cli" / f"{name}.py").exists()]


@pytest.mark.parametrize("name", subcommands())
def test_every_subcommand_explains_itself(name: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "dpadmm", name, "--help"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert shown.returncode == 0, shown.stderr
    assert "Usage:" in shown.stdout


def test_an_unknown_subcommand_is_a_usage_error() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "dpadmm", "gaet"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert shown.returncode == 2
    assert "gaet" in shown.stderr
