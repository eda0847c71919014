"""How `dpadmm verify` shows what it found."""

from __future__ import annotations

from verification.outcome import Outcome
from verification.statements.runner import Checked

_WIDTHS = (24, 12, 10, 9)


def title() -> str:
    """The head of the table."""
    return _row("statement", "status", "tightness", "seconds") + "evidence"


def line(checked: Checked) -> str:
    """One statement: a line, and below it the witnesses and whatever did not stand."""
    tightness = "" if checked.tightness is None else f"{checked.tightness:.6f}"
    kinds = ", ".join(dict.fromkeys(evidence.kind.value for evidence in checked.statement.evidence))
    lines = [_row(checked.statement.id, checked.status, tightness, f"{checked.seconds:.1f}") + kinds]
    for finding in checked.findings:
        if finding.outcome is not Outcome.STANDS:
            lines.append(f"    {finding.outcome}: {finding.name}: {finding.detail}")
        elif finding.witness:
            lines.append(f"    witness: {finding.witness}")
    return "\n".join(lines)


def summary(checked: list[Checked], seconds: float) -> str:
    """How many statements have which status."""
    counts: dict[str, int] = {}
    for entry in checked:
        counts[entry.status] = counts.get(entry.status, 0) + 1
    shown = ", ".join(f"{count} {status}" for status, count in counts.items())
    return f"{len(checked)} statements in {seconds:.0f} s: {shown}"


def as_json(checked: list[Checked], seconds: float, exit_code: int) -> dict[str, object]:
    """The versioned document; reals are decimal strings."""
    return {
        "format": "dpadmm-verify",
        "version": 2,
        "exit_code": exit_code,
        "seconds": f"{seconds:.3f}",
        "statements": [_statement(entry) for entry in checked],
    }


def _statement(checked: Checked) -> dict[str, object]:
    return {
        "id": checked.statement.id,
        "status": checked.status,
        "expected": checked.statement.status.value,
        "outcome": checked.outcome.value,
        "place": checked.statement.place,
        "statement": checked.statement.statement,
        "truth": checked.statement.truth or None,
        "tightness": None if checked.tightness is None else f"{checked.tightness:.9f}",
        "seconds": f"{checked.seconds:.3f}",
        "evidence": [
            {
                "name": finding.name,
                "kind": evidence.kind.value,
                "outcome": finding.outcome.value,
                "detail": finding.detail,
                "witness": finding.witness or None,
                "seconds": f"{finding.seconds:.3f}",
            }
            for evidence, finding in zip(checked.statement.evidence, checked.findings, strict=True)
        ],
    }


def _row(*cells: str) -> str:
    return "".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True))
