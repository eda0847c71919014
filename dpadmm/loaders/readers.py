"""Reads the columns of a delimited file fast: by pandas where it is installed, else by numpy's own loader.

Both return None where anything is out of order; the line-by-line reader then says what, or reads what they cannot.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import numpy as np

from dpadmm.loaders.common import opened, unpacking
from dpadmm.loaders.layout import FileLayout
from reference.arithmetic import Matrix

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
