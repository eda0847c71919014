"""Records from files: LIBSVM, CSV or NPZ in, validated matrices out; every error names the file and the line.

The format follows from the name: ``.csv``, ``.npz``, else LIBSVM; text may be packed (``.gz``, ``.bz2``, ``.xz``).
"""

from __future__ import annotations

from pathlib import Path

from dpadmm.loaders.common import Column, Loaded, UnreadableData, load_libsvm, load_npz
from dpadmm.loaders.delimited import Categories, load_csv

__all__ = ["FORMATS", "Column", "Loaded", "UnreadableData", "format_of", "load", "load_csv", "load_libsvm", "load_npz"]

FORMATS = ("libsvm", "csv", "npz")
PACKED = {".gz", ".bz2", ".xz"}


def format_of(path: Path) -> str:
    """The format that a file's name says."""
    suffixes = [suffix for suffix in path.suffixes if suffix not in PACKED]
    return {".csv": "csv", ".tsv": "csv", ".npz": "npz"}.get(suffixes[-1] if suffixes else "", "libsvm")


def load(
    path: Path,
    *,
    file_format: str | None = None,
    label_column: str | None = None,
    features: int | None = None,
    delimiter: str | None = None,
    categories: Categories | None = None,
) -> Loaded:
    """Read a file; ``features`` is for LIBSVM, what follows it and ``label_column`` (a name or a number) for CSV."""
    match file_format or format_of(path):
        case "csv":
            return load_csv(path, label_column=label_column, delimiter=delimiter, categories=categories)
        case "npz":
            return load_npz(path)
        case _:
            return load_libsvm(path, features=features)
