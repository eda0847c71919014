"""Runs inside the arena: statements and vectors on whatever packages this process sees; one JSON line at the end."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import reference
from tests.mutants.patches import VECTORS


def vectors() -> str:
    """The golden vectors, over the wire, through the loopback of the packages this process sees."""
    from verification.outcome import Outcome
    from verification.vectors.checking import check_adapter
    from verification.vectors.files import load_all

    cases = [case for file in load_all() for case in file.cases]
    report = check_adapter([sys.executable, "-P", "-m", "verification.served.loopback"], cases)
    if report.outcome is Outcome.STANDS:
        return "stands"
    wrong = [result for result in report.findings if result.outcome is Outcome.REFUTED]
    return f"fails: {len(wrong)} of {len(cases)} cases" if wrong else f"fails: {report.outcome}"


def statement(name: str) -> str:
    """One statement; an exception is noticed as well."""
    from dpadmm.statements import find
    from verification.statements.model import Kind, check

    try:
        # Coq is left out: its theorems are about its own definitions, whatever this copy computes.
        found = find(name)
        [checked] = check([replace(found, evidence=tuple(e for e in found.evidence if e.kind is not Kind.COQ))])
    except Exception as error:
        return f"raises {type(error).__name__}"
    return checked.outcome.value


def main(folder: str, names: list[str]) -> None:
    """Ask each suspect."""
    answers = {name: vectors() if name == VECTORS else statement(name) for name in names}
    # Afterwards: what was imported on the way may have brought the right packages with it.
    if "dpadmm._own" in sys.modules or not Path(str(reference.__file__)).is_relative_to(Path(folder).resolve()):
        raise SystemExit(f"this process sees {reference.__file__} or dpadmm._own, not the copy in {folder} alone")
    print(json.dumps(answers))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
