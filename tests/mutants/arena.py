"""Apply a mutant to a copy of the packages and ask who notices, in a process that sees the copy alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.patches import Mutant

ROOT = Path(__file__).parents[2]
PACKAGES = ("reference", "accountant", "verification", "audits", "dpadmm")


def prepare(folder: Path, mutant: Mutant | None) -> None:
    """Copy the packages and patch them; refuses a patch whose place is missing or ambiguous."""
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "*.vo*", "*.glob")
        )
    if mutant is not None:
        path = folder / mutant.path
        text = path.read_text("utf-8")
        if text.count(mutant.old) != 1:
            raise ValueError(f"mutant {mutant.id}: {mutant.old!r} is {text.count(mutant.old)} times in {mutant.path}")
        path.write_text(text.replace(mutant.old, mutant.new), "utf-8")


def ask(folder: Path, suspects: Sequence[str]) -> dict[str, str]:
    """What each suspect says about the packages in a folder: stands, or how it notices."""
    ran = _run(folder, [folder, ROOT], "tests.mutants.suspects", str(folder), *suspects)
    if ran.returncode:
        raise RuntimeError(f"the suspects could not be asked:\n{ran.stderr[-3000:]}")
    answers: dict[str, str] = json.loads(ran.stdout.splitlines()[-1])
    return answers


def verify(folder: Path, statements: Sequence[str]) -> tuple[int, dict[str, str]]:
    """The exit code of `dpadmm verify` in a folder, and the outcomes; without Coq, which compiles for minutes."""
    named = [word for name in statements for word in ("--statement", name)]
    ran = _run(folder, [folder], "dpadmm", "verify", "--format", "json", *named, PATH="")
    found = json.loads(ran.stdout)["statements"]
    return ran.returncode, {entry["id"]: entry["outcome"] for entry in found}


def _run(folder: Path, path: Sequence[Path], *command: str, **changed: str) -> subprocess.CompletedProcess[str]:
    """A module in a process that finds the packages of a folder first."""
    # -P: without it the working directory, with the right packages, would come before the copy.
    words = [sys.executable, "-P", "-m", *command]
    seen = {"PYTHONPATH": os.pathsep.join(map(str, path)), "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {**os.environ, **seen, **changed}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=900)
