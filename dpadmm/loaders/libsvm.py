"""LIBSVM's sparse text: ``label index:value index:value ...`` a line, indices from 1, rising."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpadmm.loaders.common import (
    Loaded,
    UnreadableData,
    number_at,
    numbered_columns,
    numbered_lines,
    require_room,
    two_classes,
)

Entries = tuple[list[int], list[float]]


def load_libsvm(path: Path, *, features: int | None = None) -> Loaded:
    """Read a LIBSVM file; ``features`` says how many there are, else the largest index does.

    The largest index is a property of the data: where the number of features must be public, say it.
    """
    labels: list[str] = []
    rows: list[Entries] = []
    for number, line in numbered_lines(path):
        words = line.partition("#")[0].split()
        if words:
            labels.append(words[0])
            rows.append(_entries(words[1:], f"{path}, line {number}", features))
    signs, classes = two_classes(path, labels)
    largest = max((columns[-1] for columns, _ in rows if columns), default=-1)
    dimension = features if features is not None else largest + 1
    if dimension < 1:
        raise UnreadableData(f"{path}: no record has a feature; say how many there are")
    require_room(path, len(rows), dimension)
    matrix = np.zeros((len(rows), dimension))
    for row, (columns, values) in enumerate(rows):
        matrix[row, columns] = values
    return Loaded(matrix, signs, classes, numbered_columns(dimension))


def _entries(words: list[str], where: str, features: int | None) -> Entries:
    columns: list[int] = []
    values: list[float] = []
    for word in words:
        index, colon, value = word.partition(":")
        if not colon or not (index.isascii() and index.isdigit()):
            raise UnreadableData(f"{where}: expected index:value after the label")
        column = int(index) - 1
        if column < 0:
            raise UnreadableData(f"{where}: indices count from 1, got index 0")
        if columns and column <= columns[-1]:
            raise UnreadableData(f"{where}: indices must rise, got index {column + 1} after index {columns[-1] + 1}")
        if features is not None and column >= features:
            raise UnreadableData(f"{where}: index must be at most {features}, got index {column + 1}")
        columns.append(column)
        values.append(number_at(value, where))
    return columns, values
