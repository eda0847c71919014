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
PACKAGES = ("reference", "accountant", "audits")


def prepare(folder: Path, mutant: Mutant | None) -> None:
    """Copy the packages and patch them; refuses a patch whose place is missing or ambiguous."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    if mutant is not None:
        path = folder / mutant.path
        text = path.read_text("utf-8")
        if text.count(mutant.old) != 1:
            raise ValueError(f"mutant {mutant.id}: {mutant.old!r} is {text.count(mutant.old)} times in {mutant.path}")
        path.write_text(text.replace(mutant.old, mutant.new), "utf-8")


def ask(folder: Path, suspects: Sequence[str]) -> dict[str, str]:
    """What each suspect says about the packages in a folder: stands, or how it notices."""
    # -P: without it the working directory, with the right packages, would come before the copy.
    command = [sys.executable, "-P", "-m", "tests.mutants.suspects", str(folder), *suspects]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=900)
    if ran.returncode:
        raise RuntimeError(f"the suspects could not be asked:\n{ran.stderr[-3000:]}")
    answers: dict[str, str] = json.loads(ran.stdout.splitlines()[-1])
    return answers
