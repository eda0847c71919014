"""How `dpadmm verify` shows what it found."""

from __future__ import annotations

from verification.statements.model import Outcome
from verification.statements.runner import Checked

_WIDTHS = (24, 12, 10, 9)


def title() -> str:
    """The head of the table."""
    return _row("claim", "status", "tightness", "seconds") + "evidence"


def line(checked: Checked) -> str:
    """One claim: a line, and below it the witnesses and whatever did not stand."""
    tightness = "" if checked.tightness is None else f"{checked.tightness:.6f}"
    kinds = ", ".join(dict.fromkeys(entry.evidence.kind.value for entry in checked.ran))
    lines = [_row(checked.claim.id, checked.status, tightness, f"{checked.seconds:.1f}") + kinds]
    for entry in checked.ran:
        if entry.finding.outcome is not Outcome.STANDS:
            lines.append(f"    {entry.finding.outcome.value}: {entry.evidence.name}: {entry.finding.detail}")
        elif entry.finding.witness:
            lines.append(f"    witness: {entry.finding.witness}")
    return "\n".join(lines)


def summary(checked: list[Checked], seconds: float) -> str:
    """How many claims have which status."""
    counts: dict[str, int] = {}
    for entry in checked:
        counts[entry.status] = counts.get(entry.status, 0) + 1
    shown = ", ".join(f"{count} {status}" for status, count in counts.items())
    return f"{len(checked)} claims in {seconds:.0f} s: {shown}"


def as_json(checked: list[Checked], seconds: float, exit_code: int) -> dict[str, object]:
    """The versioned document; reals are decimal strings."""
    return {
        "format": "dpadmm-verify",
        "version": 1,
        "exit_code": exit_code,
        "seconds": f"{seconds:.3f}",
        "claims": [_claim(entry) for entry in checked],
    }


def _claim(checked: Checked) -> dict[str, object]:
    return {
        "id": checked.claim.id,
        "status": checked.status,
        "expected": checked.claim.status.value,
        "outcome": checked.outcome.value,
        "place": checked.claim.place,
        "statement": checked.claim.statement,
        "truth": checked.claim.truth or None,
        "tightness": None if checked.tightness is None else f"{checked.tightness:.9f}",
        "seconds": f"{checked.seconds:.3f}",
        "evidence": [
            {
                "name": entry.evidence.name,
                "kind": entry.evidence.kind.value,
                "outcome": entry.finding.outcome.value,
                "detail": entry.finding.detail,
                "witness": entry.finding.witness or None,
                "seconds": f"{entry.seconds:.3f}",
            }
            for entry in checked.ran
        ],
    }


def _row(*cells: str) -> str:
    return "".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True))
