"""The house is in order: what every file of the project must satisfy."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpadmm.cli import SUBCOMMANDS, group

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


EVIDENCE = re.compile(r"\]\([^)]*(?:proofs\.md|statements\.md|accounting\.md#methods)|\]\(#methods\)")
NO_CLAIM = (
    *("proved error", "proved tolerances", "proves the tolerance"),  # of a computation, not of privacy
    *("nothing is proved", "nothing is claimed", "is not proved"),  # the contrary
)
"""Words of paragraphs that say "proved" and claim no privacy."""


def without_evidence(name: str, text: str) -> list[str]:
    """What a page says is proved or certified without saying where: by paragraph, and "certified" by page."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    parts = re.split(r"\n\s*\n|\n(?=[-*#] |\|)", text)
    bare = [part for part in parts if not EVIDENCE.search(part) and not any(words in part for words in NO_CLAIM)]
    found = [part for part in bare if re.search(r"\b(?:proved|private at)\b", part)]
    return found or [name for _ in bare[:1] if re.search(r"\bcertified\b", text) and not EVIDENCE.search(text)]


def test_what_a_page_says_about_privacy_leads_to_its_evidence() -> None:
    """Proofs, statements, or the list of methods, which says what is enclosed and what a paper proves."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("[gr]*/*.md")]  # evidence aside
    spoken = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in pages}
    assert {name: found for name, text in spoken.items() if (found := without_evidence(name, text))} == {}


def test_a_sentence_about_privacy_that_leads_nowhere_is_found() -> None:
    link = "[proofs](../evidence/proofs.md)"
    assert without_evidence("page.md", "It is proved to be private.") == ["It is proved to be private."]
    assert without_evidence("page.md", f"It is private at 1.\n\nSee {link}.") == ["It is private at 1."]
    assert without_evidence("page.md", "A certified epsilon.") == ["page.md"]
    assert without_evidence("page.md", f"A certified epsilon.\n\nSee {link}, where it is proved.") == []


def test_every_file_that_is_named_exists() -> None:
    """Paths from the top of the project, in documents, docstrings and comments; ADR 0005 is history."""
    top = {path.name for path in ROOT.iterdir() if path.is_dir()} - SKIPPED
    named = re.compile(r"(?<![\w./-])((?:" + "|".join(sorted(top)) + r")/[\w./-]+\.(?:py|md|toml|json|v))\b")
    missing = [
        f"{path.relative_to(ROOT)} -> {name}"
        for path in project_files()
        if path.suffix in {".py", ".md"} and not path.name.startswith("0005-")
        for name in named.findall(path.read_text("utf-8"))
        if not (ROOT / name).exists() and not (path.parent / name).exists() and "out/" not in name
    ]
    assert missing == []


def test_no_python_file_has_grown_two_concepts() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {lines}"
        for path in project_files()
        if path.suffix == ".py" and (lines := len(path.read_text("utf-8").splitlines())) > 600
    ]
    assert long == []


SHIPPED = ("reference", "accountant", "verification", "audits", "dpadmm")
# A class name has one meaning in its package.
TWO_MEANINGS = {"Answer": "of an adapter on the wire, and of an implementation to a question"}


def test_no_class_name_has_two_meanings_in_its_package() -> None:
    places: dict[tuple[str, str], list[str]] = {}
    for path in project_files():
        file = path.relative_to(ROOT)
        if file.parts[0] in SHIPPED and path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places.setdefault((file.parts[0], node.name), []).append(file.as_posix())
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert {name: files for name, files in twice.items() if name[1] not in TWO_MEANINGS} == {}
    assert set(TWO_MEANINGS) <= {name for _, name in twice}, "an exception that is needed no more"


def test_arrays_of_floats_have_one_name() -> None:
    """``Floats``, once on each side of the import rule; Vector and Matrix hold numbers of any system."""
    alias = re.compile(r"^(\w+)(?:: TypeAlias)? = (?:npt\.)?NDArray\[np\.float64\]", re.MULTILINE)
    found = {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for path in project_files()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in SHIPPED
        for name in alias.findall(path.read_text("utf-8"))
    }
    assert found == {
        "accountant/pld/certified_floats.py: Floats",
        "verification/wire/arrays.py: Floats",
        "reference/arithmetic/system.py: Vector",
        "reference/arithmetic/system.py: Matrix",
    }


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_subcommand_explains_itself(name: str) -> None:
    shown = CliRunner().invoke(group, [name, "--help"])
    assert shown.exit_code == 0, shown.output
    assert "Usage:" in shown.output


def test_an_unknown_subcommand_is_a_usage_error() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "dpadmm", "gaet"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert shown.returncode == 2
    assert "gaet" in shown.stderr


def test_the_citation_names_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {project['version']}\n" in citation
    assert f"\nlicense: {project['license']}\n" in citation
