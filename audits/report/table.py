"""Tables of the HTML page: wide on a desk, stacked on a phone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from audits.report.glossary import explained
from verification.plain_text import harmless


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already; on a narrow screen a cell is named by its column."""
    names = "".join(f"<th>{explained(name)}</th>" for name in head)
    top = f"<thead><tr>{names}</tr></thead>" if head else ""
    labels = [""] + [f' data-name="{escape(name, quote=True)}"' for name in head[1:]]

    def cells(row: Sequence[str]) -> str:
        return "".join(f"<td{labels[i] if i < len(labels) and cell else ''}>{cell}</td>" for i, cell in enumerate(row))

    body = "".join(f"<tr>{cells(row)}</tr>" for row in rows)
    return f"<table>{top}<tbody>{body}</tbody></table>"


def escaped(row: Sequence[str]) -> tuple[str, ...]:
    """Cells of plain text, from outside perhaps, as HTML."""
    return tuple(escape(harmless(cell)) for cell in row)
