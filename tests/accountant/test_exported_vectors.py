"""`dpadmm vectors export --accounting`: both checkers let float64 copies stand and catch one too small."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from dpadmm.cli import group


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exported")
    done = CliRunner().invoke(group, ["vectors", "export", "--accounting", str(path)])
    assert done.exit_code == 0, done.output
    return path


def _checked(command: Sequence[str], folder: Path, factor: float, least: float) -> subprocess.CompletedProcess[str]:
    """Check answers in float64, those above `least` times the factor."""
    rows = [line.split("\t") for line in (folder / "accounting.tsv").read_text("utf-8").splitlines()[1:]]
    values = [(row[0], row[1], float(row[3])) for row in rows if float(row[3]) < float("inf")]
    lines = [f"{name}\t{what}\t{value * factor if value > least else value!r}\n" for name, what, value in values]
    (folder / "answers.tsv").write_text("".join(lines), "utf-8")
    return subprocess.run(
        [*command, "accounting.tsv", "answers.tsv"], cwd=folder, capture_output=True, text=True, check=False
    )


def _command(language: str, folder: Path) -> list[str]:
    if language == "python":
        return [sys.executable, "check.py"]
    if shutil.which("rustc") is None:
        pytest.skip("no Rust here")
    subprocess.run(["rustc", "-O", "check.rs"], cwd=folder, check=True, capture_output=True)
    return ["./check"]


@pytest.mark.parametrize("language", ["python", "rust"])
def test_the_checker_needs_no_dpadmm_and_catches_what_is_too_small(language: str, folder: Path) -> None:
    command = _command(language, folder)
    honest = _checked(command, folder, 1.0, 0.0)
    assert honest.returncode == 0, honest.stdout
    assert honest.stdout.endswith(" answers, 0 below\n")
    assert "above" not in honest.stdout
    looser = _checked(command, folder, 1.5, 1e-300)
    assert looser.returncode == 0
    assert "above" in looser.stdout
    smaller = _checked(command, folder, 0.999, 1e-300)
    assert smaller.returncode == 1
    assert smaller.stdout.count("BELOW") > 1000


def test_the_schema_is_that_of_the_file_and_the_lines_are_its_values(folder: Path) -> None:
    document = json.loads((folder / "accounting.json").read_text("utf-8"))
    jsonschema.validate(document, json.loads((folder / "accounting.schema.json").read_text("utf-8")))
    lines = (folder / "accounting.tsv").read_text("utf-8").splitlines()
    assert len(lines) == 1 + sum(len(vector["values"]) for vector in document["vectors"])
    assert all(len((folder / name).read_text("utf-8").splitlines()) <= 30 for name in ("check.py", "check.rs"))
