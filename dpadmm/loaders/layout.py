"""How a delimited file is laid out: its delimiter, its header, its label; found from the first lines or asked for."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dpadmm.loaders.common import UnreadableData, head, numbered_lines

DELIMITERS = ("\t", ";", "|", ",")
LABELS = ("label", "target", "class", "y", "outcome")
"""Names that a label's column is known by, in any case."""
_LINES = 20


@dataclass(frozen=True, slots=True)
class FileLayout:
    """A delimited file as its first lines show it; ``first`` are the cells of the first record."""

    path: Path
    delimiter: str
    header: tuple[str, ...] | None
    first: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The header, or the numbers of the columns from 1."""
        return self.header or tuple(str(number) for number in range(1, len(self.first) + 1))

    def place(self, column: int) -> str:
        """A column for a message: its number, and its name where it has one."""
        return f"column {column + 1}" + (f" ({self.header[column]})" if self.header else "")


def cells(path: Path, number: int, line: str, delimiter: str) -> list[str]:
    """The cells of one line."""
    try:
        return [cell.strip() for cell in next(csv.reader([line], strict=True, delimiter=delimiter))]
    except csv.Error as error:
        raise UnreadableData(f"{path}, line {number}: {error}") from None


def layout_of(path: Path, delimiter: str | None = None) -> FileLayout:
    """Look at the first lines; a header is a first line of which no cell is a number."""
    lines = list(islice(((number, line) for number, line in numbered_lines(path, head(path)) if line.strip()), _LINES))
    if not lines:
        raise UnreadableData(f"{path}: holds no records")
    chosen = _delimiter([line for _, line in lines]) if delimiter is None else _asked(path, delimiter)
    rows = [cells(path, number, line, chosen) for number, line in lines[:2]]
    rows[0][0] = rows[0][0].removeprefix("\ufeff")
    headed = not any(is_number(cell) for cell in rows[0])
    if headed and len(rows) < 2:
        raise UnreadableData(f"{path}: holds no records")
    if headed and len(set(rows[0])) < len(rows[0]):
        raise UnreadableData(f"{path}: two columns of the header have the same name")
    return FileLayout(path, chosen, tuple(rows[0]) if headed else None, tuple(rows[1] if headed else rows[0]))


def _asked(path: Path, delimiter: str) -> str:
    r"""The delimiter that was asked for; ``\t`` as a shell passes it is a tab."""
    one = "\t" if delimiter == r"\t" else delimiter
    if len(one) != 1 or one in '"\r\n':
        raise UnreadableData(rf"{path}: a delimiter is one character, such as ; or | or \t, got {delimiter!r}")
    return one


def _delimiter(lines: Sequence[str]) -> str:
    """The first delimiter that cuts every line into as many cells, more than one; else a comma."""
    for delimiter in DELIMITERS:
        counts = {line.count(delimiter) for line in lines}
        if len(counts) == 1 and counts != {0}:
            return delimiter
    return next((delimiter for delimiter in DELIMITERS if delimiter in lines[0]), ",")


def is_number(cell: str) -> bool:
    """Whether a cell is a number, finite or not."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def column_index(layout: FileLayout, wanted: str) -> int | None:
    """The column of this name or number (from 1)."""
    if layout.header and wanted in layout.header:
        return layout.header.index(wanted)
    return int(wanted) - 1 if wanted.isdigit() and 1 <= int(wanted) <= len(layout.first) else None


def label_index(layout: FileLayout, wanted: str | None, categories: Mapping[str, tuple[str, ...]]) -> int:
    """The label's column: as asked for, by a name that labels have, or the only one that holds no numbers."""
    names = layout.names
    if wanted is not None:
        found = column_index(layout, wanted)
        if found is not None:
            return found
        known = f"its header has {', '.join(names)}" if layout.header else f"it has no header and {len(names)} columns"
        raise UnreadableData(f"{layout.path}: no label column {wanted!r}; {known}")
    if layout.header is None:
        return len(names) - 1
    named = [index for index, name in enumerate(names) if name.lower() in LABELS]
    text = [index for index, cell in enumerate(layout.first) if not is_number(cell) and names[index] not in categories]
    for candidates in (named, text):
        if len(candidates) == 1:
            return candidates[0]
    raise UnreadableData(
        f"{layout.path}: say which column is the label with --label-column, one of {', '.join(names)}; no single one "
        f"is called {', '.join(LABELS)} or is the only one without numbers"
    )
