"""Delimited records, with or without a header; one column holds the label, others numbers or stated categories.

The layout (delimiter, header, label) is found from the first lines or asked for. Columns are read by pandas where it is
installed, else by numpy's loader; where anything is out of order a line-by-line reader says what and where.
"""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from dpadmm.loaders.common import (
    Column,
    Loaded,
    UnreadableData,
    head,
    number_at,
    numbered_lines,
    opened,
    require_room,
    two_classes,
    unpacking,
)
from reference.arithmetic import Matrix, Vector

Categories = Mapping[str, tuple[str, ...]]


def load_csv(
    path: Path, *, label_column: str | None = None, delimiter: str | None = None, categories: Categories | None = None
) -> Loaded:
    """Read a delimited file; what is not said about its layout is found (:func:`layout_of`)."""
    layout, stated = layout_of(path, delimiter), categories or {}
    _require_known(layout, stated)
    label = label_index(layout, label_column, stated)
    if len(layout.first) < 2:
        raise UnreadableData(
            f"{path}: needs a feature beside the label, got one column between delimiters {layout.delimiter!r}; "
            f"see --delimiter"
        )
    names = layout.names
    if names[label] in stated:
        raise UnreadableData(f"{path}: {names[label]!r} is the label; categories are for other columns")
    columns = tuple(Column(name, stated.get(name, ())) for index, name in enumerate(names) if index != label)
    matrix, [labels] = read_features(layout, columns, text=[label])
    signs, classes = two_classes(path, labels, layout.place(label))
    return Loaded(matrix, signs, classes, columns, names[label])


def read_features(layout: FileLayout, columns: Sequence[Column], text: Sequence[int]) -> tuple[Matrix, list[list[str]]]:
    """The features of these columns, in order, and the ``text`` columns as they stand."""
    places = [column_index(layout, column.name) for column in columns]
    for column, place in zip(columns, places, strict=True):
        if place is None:
            raise UnreadableData(f"{layout.path}: no column {column.name!r}; it has {', '.join(layout.names)}")
    found = [place for place in places if place is not None]
    numeric = [place for place, column in zip(found, columns, strict=True) if not column.categories]
    other = [place for place, column in zip(found, columns, strict=True) if column.categories]
    read = read_columns(layout, numeric, [*other, *text]) or _line_by_line(layout, numeric, [*other, *text])
    require_room(layout.path, len(read[1][0]) if read[1] else len(read[0]), sum(len(c.features) for c in columns))
    return _assembled(layout, columns, found, read, len(other)), read[1][len(other) :]


def _assembled(layout: FileLayout, columns: Sequence[Column], places: list[int], read: Read, others: int) -> Matrix:
    """Numbers and categories in the order of the columns."""
    matrix, texts = read
    if not others:
        return matrix
    parts: list[Vector] = []
    numbers, words = iter(matrix.T), iter(texts[:others])
    for column, place in zip(columns, places, strict=True):
        parts += _one_hot(layout, column, place, next(words)) if column.categories else [next(numbers)]
    return np.column_stack(parts)


def _one_hot(layout: FileLayout, column: Column, place: int, values: list[str]) -> list[Vector]:
    codes = {category: code for code, category in enumerate(column.categories)}
    found = np.array([codes.get(value, -1) for value in values])
    for row in np.flatnonzero(found < 0)[:1]:
        raise UnreadableData(
            f"{layout.path}, record {row + 1}, {layout.place(place)}: is not one of the stated categories "
            f"{', '.join(column.categories)}"
        )
    return [(found == code).astype(np.float64) for code in range(len(column.categories))]


def _line_by_line(layout: FileLayout, numeric: Sequence[int], text: Sequence[int]) -> Read:
    """The same, slower, for files with quotes and for those in which something is wrong: it says what, and where."""
    rows: list[list[float]] = []
    texts: list[list[str]] = [[] for _ in text]
    lines = [(number, line) for number, line in numbered_lines(layout.path) if line.strip()]
    for number, line in lines[1:] if layout.header else lines:
        row, where = cells(layout.path, number, line, layout.delimiter), f"{layout.path}, line {number}"
        if len(row) != len(layout.first):
            raise UnreadableData(f"{where}: expected {len(layout.first)} columns, got {len(row)}")
        for values, index in zip(texts, text, strict=True):
            values.append(row[index])
        rows.append([number_at(row[index], f"{where}, {layout.place(index)}", _STATE_THEM) for index in numeric])
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(numeric)), texts


def _require_known(layout: FileLayout, stated: Categories) -> None:
    for name, values in stated.items():
        if name not in layout.names:
            raise UnreadableData(f"{layout.path}: no column {name!r} for categories; it has {', '.join(layout.names)}")
        if len(set(values)) < max(2, len(values)):
            raise UnreadableData(f"{layout.path}: categories of {name!r} must be two or more, each once")


DELIMITERS = ("\t", ";", "|", ",")
LABELS = ("label", "target", "class", "y", "outcome")
"""Names that a label's column is known by, in any case."""
_LINES = 20
_STATE_THEM = "; a column of words needs its public categories: --categories NAME=A,B,... (categories= of load_csv)"


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
        f"{layout.path}: name the label's column with --label-column, one of {', '.join(names)}; no single one "
        f"is called {', '.join(LABELS)} or is the only one without numbers"
    )


Read = tuple[Matrix, list[list[str]]]
_CHUNK = 1 << 20


def read_columns(layout: FileLayout, numeric: Sequence[int], text: Sequence[int]) -> Read | None:
    """The numeric columns as a matrix and the others as lists, or None where they cannot be read that way."""
    if not numeric or not _a_line_a_record(layout):
        return None
    try:
        read = _by_pandas if importlib.util.find_spec("pandas") else _by_numpy
        matrix, texts = read(layout, list(numeric), list(text))
    except (ValueError, UnicodeDecodeError):
        return None
    return (matrix, texts) if bool(np.isfinite(matrix).all()) else None


def _a_line_a_record(layout: FileLayout) -> bool:
    """Whether quotes, if there are any, come in pairs on every line: none holds the end of a line."""
    with unpacking(layout.path), opened(layout.path) as file:
        while block := file.readlines(_CHUNK):
            if b'"' in b"".join(block) and any(line.count(b'"') % 2 for line in block):
                return False
    return True


def _by_pandas(layout: FileLayout, numeric: list[int], text: list[int]) -> Read:
    import pandas  # noqa: PLC0415 - an extra

    columns = range(len(layout.first))
    with unpacking(layout.path), opened(layout.path) as file:
        frame = pandas.read_csv(
            file,
            sep=layout.delimiter,
            header=None,
            names=list(columns),  # all of them: of chosen ones pandas would not notice a line that is too long
            skiprows=0 if layout.header is None else 1,
            dtype={column: np.float64 if column in numeric else str for column in columns},
            keep_default_na=False,
            skipinitialspace=True,
            encoding="utf-8",
        )
    words = {column: frame[column].tolist() for column in columns if column not in numeric}
    if not all(isinstance(cell, str) and cell for cells in words.values() for cell in cells):
        raise ValueError("a line is too short")
    matrix = np.ascontiguousarray(frame[numeric], dtype=np.float64)
    return matrix, [[cell.strip() for cell in words[column]] for column in text]


def _by_numpy(layout: FileLayout, numeric: list[int], text: list[int]) -> Read:
    kinds = [("", np.float64 if column in numeric else object) for column in range(len(layout.first))]
    with unpacking(layout.path), opened(layout.path) as file:
        table = np.loadtxt(
            file,
            dtype=np.dtype(kinds),
            delimiter=layout.delimiter,
            quotechar='"',
            skiprows=0 if layout.header is None else 1,
            comments=None,
            ndmin=1,
            encoding="utf-8",
        )
    matrix = np.empty((len(table), len(numeric)))
    for place, column in enumerate(numeric):
        matrix[:, place] = table[f"f{column}"]
    return matrix, [[cell.strip() for cell in table[f"f{column}"]] for column in text]
