"""Records from files: LIBSVM, CSV or NPZ in, validated matrices out; every error names the file and the line.

The format follows from the name: ``.csv``, ``.npz``, else LIBSVM; text may be packed (``.gz``, ``.bz2``, ``.xz``).
"""

from __future__ import annotations

from pathlib import Path

from dpadmm.loaders.common import Loaded, UnreadableData
from dpadmm.loaders.delimited import load_csv
from dpadmm.loaders.libsvm import load_libsvm
from dpadmm.loaders.numpy_archive import load_npz

__all__ = ["FORMATS", "Loaded", "UnreadableData", "format_of", "load", "load_csv", "load_libsvm", "load_npz"]

FORMATS = ("libsvm", "csv", "npz")
PACKED = {".gz", ".bz2", ".xz"}


def format_of(path: Path) -> str:
    """The format that a file's name says."""
    suffixes = [suffix for suffix in path.suffixes if suffix not in PACKED]
    return suffixes[-1][1:] if suffixes and suffixes[-1] in {".csv", ".npz"} else "libsvm"


def load(
    path: Path, *, file_format: str | None = None, label_column: str | None = None, features: int | None = None
) -> Loaded:
    """Read a file; ``label_column`` is for CSV (a name or a number, the last by default), ``features`` for LIBSVM."""
    match file_format or format_of(path):
        case "csv":
            return load_csv(path, label_column=label_column)
        case "npz":
            return load_npz(path)
        case _:
            return load_libsvm(path, features=features)
