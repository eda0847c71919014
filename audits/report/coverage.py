"""The coverage of a gate on the HTML page: what was checked at which size, and what was not."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from audits.gate.coverage import Coverage
from audits.report.table import escaped, table
from verification.plain_text import harmless


def coverage_section(coverage: Coverage) -> str:
    """Two tables; checks of the same mechanism, size and subject matter share a row."""
    parts = []
    if coverage.covered:
        head = ("of which mechanism", "at which size", "what about", "checks")
        parts.append(f'<h3>Checked</h3><div class="coverage">{table(head, map(escaped, _rows(coverage)))}</div>')
    if coverage.rare:
        parts.append(f"<p>Rare failures: {escape(harmless(coverage.rare))}.</p>")
    parts.append("<h3>Not checked</h3>")
    skipped = dict.fromkeys((item.what, item.subject, " ".join(item.reason.split())) for item in coverage.skipped)
    if skipped:
        parts.append(table(("what", "of which mechanism", "why not"), map(escaped, skipped)))
    else:
        parts.append("<p>Nothing that was planned was left out.</p>")
    return "".join(parts)


def _rows(coverage: Coverage) -> Iterator[tuple[str, str, str, str]]:
    rows: dict[tuple[str, str, str], list[str]] = {}
    for item in coverage.covered:
        runs = f" ({item.runs:,} run{'s' if item.runs > 1 else ''})" if item.runs else ""
        about = ", ".join(map(str, item.aspects)) or "other"
        rows.setdefault((item.subject, item.size, about), []).append(f"{item.what}{runs}")
    for key, checks in rows.items():
        yield *key, ", ".join(checks)
