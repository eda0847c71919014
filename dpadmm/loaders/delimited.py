"""Delimited records, with or without a header; one column holds the label, others numbers or stated categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from dpadmm.loaders.common import (
    Column,
    Loaded,
    UnreadableData,
    number_at,
    numbered_lines,
    require_room,
    two_classes,
)
from dpadmm.loaders.layout import FileLayout, cells, column_index, label_index, layout_of
from dpadmm.loaders.readers import Read, read_columns
from reference.arithmetic import Matrix, Vector

Categories = Mapping[str, tuple[str, ...]]


def load_csv(
    path: Path, *, label_column: str | None = None, delimiter: str | None = None, categories: Categories | None = None
) -> Loaded:
    """Read a delimited file; what is not said about its layout is found (:mod:`dpadmm.loaders.layout`)."""
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
            f"{layout.path}, record {row + 1}, {layout.place(place)}: is none of the stated categories "
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
        rows.append([number_at(row[index], f"{where}, {layout.place(index)}") for index in numeric])
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(numeric)), texts


def _require_known(layout: FileLayout, stated: Categories) -> None:
    for name, values in stated.items():
        if name not in layout.names:
            raise UnreadableData(f"{layout.path}: no column {name!r} for categories; it has {', '.join(layout.names)}")
        if len(set(values)) < max(2, len(values)):
            raise UnreadableData(f"{layout.path}: categories of {name!r} must be two or more, each once")
