"""LIBSVM's sparse text: ``label index:value index:value ...`` a line, indices from 1, rising."""

from __future__ import annotations

import math
from array import array
from operator import lt
from pathlib import Path

import numpy as np

from dpadmm.loaders.common import (
    LARGEST_BYTES,
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
    most = features if features is not None else LARGEST_BYTES // 8
    labels: list[str] = []
    known: dict[str, str] = {}
    columns, values, lengths = array("q"), array("d"), array("q")
    for number, line in numbered_lines(path):
        record = line.partition("#")[0]
        words = record.split(None, 1)
        if words:
            labels.append(known.setdefault(words[0], words[0]))
            entries = words[1] if len(words) > 1 else ""
            row = _well_formed(entries, most) or _entries(entries.split(), f"{path}, line {number}", most)
            columns.extend(row[0])
            values.extend(row[1])
            lengths.append(len(row[0]))
    signs, classes = two_classes(path, labels)
    dimension = features if features is not None else max(columns, default=0)
    if dimension < 1:
        raise UnreadableData(f"{path}: no record has a feature; state their number (--features)")
    require_room(path, len(labels), dimension)
    matrix = np.zeros((len(labels), dimension))
    matrix[np.repeat(np.arange(len(labels)), lengths), np.frombuffer(columns, dtype=np.int64) - 1] = values
    return Loaded(matrix, signs, classes, numbered_columns(dimension))


def _well_formed(entries: str, most: int) -> Entries | None:
    """Indices and values of a line that keeps every rule, fast; None for any other, which :func:`_entries` explains."""
    pairs = entries.count(":")
    words = entries.replace(":", " : ").split()
    indices = words[::3]
    if len(entries.split()) != pairs or len(words) != 3 * pairs or words[1::3] != [":"] * pairs:
        return None
    together = "".join(indices)
    if pairs and not (together.isascii() and together.isdigit()):
        return None
    try:
        columns, values = list(map(int, indices)), list(map(float, words[2::3]))
    except ValueError:
        return None
    rising = all(map(lt, columns, columns[1:]))
    inside = not columns or (columns[0] >= 1 and columns[-1] <= most)
    return (columns, values) if rising and inside and all(map(math.isfinite, values)) else None


def _entries(words: list[str], where: str, most: int) -> Entries:
    columns: list[int] = []
    values: list[float] = []
    for word in words:
        index, colon, value = word.partition(":")
        if not colon or not (index.isascii() and index.isdigit()):
            raise UnreadableData(f"{where}: expected index:value after the label")
        column = int(index)
        if column < 1:
            raise UnreadableData(f"{where}: indices count from 1, got index 0")
        if columns and column <= columns[-1]:
            raise UnreadableData(f"{where}: indices must rise, got index {column} after index {columns[-1]}")
        if column > most:
            raise UnreadableData(f"{where}: index must be at most {most}, got index {column}")
        columns.append(column)
        values.append(number_at(value, where))
    return columns, values
