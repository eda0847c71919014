"""Reads the columns of a delimited file fast: by pandas where it is installed, else by numpy's own loader.

Both return None where anything is out of order; the line-by-line reader then says what, or reads what they cannot.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from dpadmm.loaders.common import UNPACK, unpacked
from dpadmm.loaders.layout import FileLayout
from reference.arithmetic import Matrix

Read = tuple[Matrix, list[list[str]]]
_CHUNK = 1 << 20


def read_columns(layout: FileLayout, numeric: Sequence[int], text: Sequence[int]) -> Read | None:
    """The numeric columns as a matrix and the others as lists, or None where they cannot be read that way."""
    delimiters, quoted = _counted(layout)
    if not numeric or quoted:
        return None
    try:
        read = _by_pandas if importlib.util.find_spec("pandas") else _by_numpy
        matrix, texts = read(layout, list(numeric), list(text))
    except (ValueError, UnicodeDecodeError):
        return None
    lines = len(matrix) + (layout.header is not None)
    # a line that is too long would be cut off by a reader of chosen columns
    whole = delimiters == lines * (len(layout.first) - 1)
    sound = all(len(values) == len(matrix) for values in texts) and bool(np.isfinite(matrix).all())
    return (matrix, texts) if whole and sound else None


def _counted(layout: FileLayout) -> tuple[int, bool]:
    """How many delimiters a file has, and whether it has quotes."""
    count, quoted, sign = 0, False, layout.delimiter.encode()
    for chunk in _chunks(layout.path):
        count += chunk.count(sign)
        quoted = quoted or b'"' in chunk
    return count, quoted


def _chunks(path: Path) -> Iterator[bytes]:
    with _opened(path) as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _opened(path: Path) -> IO[bytes]:
    return io.BytesIO(unpacked(path)) if path.suffix in UNPACK else path.open("rb")


def _by_pandas(layout: FileLayout, numeric: list[int], text: list[int]) -> Read:
    import pandas  # noqa: PLC0415 - an extra

    with _opened(layout.path) as file:
        frame = pandas.read_csv(
            file,
            sep=layout.delimiter,
            header=None,
            skiprows=0 if layout.header is None else 1,
            usecols=sorted([*numeric, *text]),
            dtype=dict.fromkeys(numeric, np.float64) | dict.fromkeys(text, str),
            keep_default_na=False,
            skipinitialspace=True,
            encoding="utf-8",
        )
    words = [frame[column].tolist() for column in text]
    if not all(isinstance(cell, str) and cell for column in words for cell in column):
        raise ValueError("a line is too short")
    texts = [[cell.strip() for cell in column] for column in words]
    return np.asarray(frame[numeric], dtype=np.float64), texts


def _by_numpy(layout: FileLayout, numeric: list[int], text: list[int]) -> Read:
    skip = 0 if layout.header is None else 1
    texts: list[list[str]] = []
    if text:
        with _opened(layout.path) as file:
            words = np.loadtxt(
                file,
                dtype=str,
                delimiter=layout.delimiter,
                usecols=text,
                skiprows=skip,
                comments=None,
                ndmin=2,
                encoding="utf-8",
            )
        texts = [[str(cell).strip() for cell in column] for column in words.T]
    with _opened(layout.path) as file:
        matrix = np.loadtxt(
            file,
            dtype=np.float64,
            delimiter=layout.delimiter,
            usecols=numeric,
            skiprows=skip,
            comments=None,
            ndmin=2,
            encoding="utf-8",
        )
    return matrix, texts
