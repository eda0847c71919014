"""Comma-separated records, with or without a header; one column holds the label, all others are numbers."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from dpadmm.loaders.common import Loaded, UnreadableData, number_at, numbered_lines, require_room, two_classes


def load_csv(path: Path, *, label_column: str | None = None) -> Loaded:
    """Read a CSV file; the label is the last column unless another is named (or numbered from 1)."""
    lines = [(number, _cells(path, number, line)) for number, line in numbered_lines(path) if line.strip()]
    if not lines:
        raise UnreadableData(f"{path}: holds no records")
    first = lines[0][1]
    # A header is a first line of which no cell is a number.
    header = None if any(_is_number(cell) for cell in first) else first
    label = _label_index(path, label_column, header, len(first))
    rows: list[list[float]] = []
    labels: list[str] = []
    for number, cells in lines[1:] if header else lines:
        if len(cells) != len(first):
            raise UnreadableData(f"{path}, line {number}: expected {len(first)} columns, got {len(cells)}")
        labels.append(cells[label])
        rows.append(
            [number_at(cell, f"{path}, line {number}, column {i + 1}") for i, cell in enumerate(cells) if i != label]
        )
    signs, classes = two_classes(path, labels)
    if len(first) < 2:
        raise UnreadableData(f"{path}: needs a feature beside the label, got one column")
    require_room(path, len(rows), len(first) - 1)
    return Loaded(np.array(rows), signs, classes)


def _cells(path: Path, number: int, line: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], strict=True))]
    except csv.Error as error:
        raise UnreadableData(f"{path}, line {number}: {error}") from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _label_index(path: Path, wanted: str | None, header: list[str] | None, columns: int) -> int:
    if wanted is None:
        return columns - 1
    if header and wanted in header:
        return header.index(wanted)
    if wanted.isdigit() and 1 <= int(wanted) <= columns:
        return int(wanted) - 1
    known = f"; its header has {', '.join(header)}" if header else f"; it has no header and {columns} columns"
    raise UnreadableData(f"{path}: no label column {wanted!r}{known}")
