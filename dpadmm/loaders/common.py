"""What the loaders share: the result, the error, lines of packed files, labels of two classes."""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reference.arithmetic import Matrix, Vector

LARGEST_BYTES = 4 << 30  # a dense matrix beyond this is far more often a mistyped index than data


class UnreadableData(ValueError):
    """A file that holds no usable records; the message names file, line and what was found there."""

    exit_code = 2


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """Records as they stand in the file, labels mapped to -1 and +1; ``classes`` says which is which."""

    features: Matrix
    labels: Vector
    classes: tuple[str, str]


UNPACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file, packed or not, counted from 1."""
    for number, line in enumerate(_unpacked(path).splitlines(), start=1):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UnreadableData(f"{path}, line {number}: is not text in UTF-8 ({error.reason})") from None


def _unpacked(path: Path) -> bytes:
    packed = path.read_bytes()
    unpack = UNPACK.get(path.suffix)
    if unpack is None:
        return packed
    try:
        return unpack(packed)
    except (lzma.LZMAError, EOFError, OSError, ValueError, zlib.error) as error:
        raise UnreadableData(f"{path}: cannot be unpacked ({error})") from None


def number_at(text: str, where: str) -> float:
    """A finite number, or an error that says where it should have been."""
    try:
        value = float(text)
    except ValueError:
        raise UnreadableData(f"{where}: expected a number, got {text!r}") from None
    if not math.isfinite(value):
        raise UnreadableData(f"{where}: expected a finite number, got {text!r}")
    return value


def require_room(path: Path, records: int, dimension: int) -> None:
    """Refuse a matrix that would not fit."""
    if records * dimension * 8 > LARGEST_BYTES:
        raise UnreadableData(
            f"{path}: {records} records of {dimension} features need {records * dimension * 8 / 2**30:.0f} GiB, "
            f"more than {LARGEST_BYTES >> 30}; is an index mistyped?"
        )


def two_classes(path: Path, labels: Sequence[str]) -> tuple[Vector, tuple[str, str]]:
    """Map the smaller of two label values to -1 and the larger to +1, numbers by value and words by alphabet."""
    if not labels:
        raise UnreadableData(f"{path}: holds no records")
    kinds = sorted(set(labels), key=lambda kind: (_by_value(kind), kind))
    # "1" and "+1.0" are one class: labels that are numbers are compared as numbers.
    values = sorted({_by_value(kind) for kind in kinds})
    if len(values) != 2:
        shown = ", ".join(repr(kind) for kind in kinds[:5]) + (", ..." if len(kinds) > 5 else "")
        raise UnreadableData(f"{path}: labels must be of exactly two classes, got {len(values)}: {shown}")
    signs = {kind: 1.0 if _by_value(kind) == values[1] else -1.0 for kind in kinds}
    names = tuple(next(kind for kind in kinds if _by_value(kind) == value) for value in values)
    return np.array([signs[label] for label in labels]), (names[0], names[1])


def _by_value(label: str) -> tuple[int, float, str]:
    try:
        value = float(label)
    except ValueError:
        return (1, 0.0, label)
    return (0, value, "") if math.isfinite(value) else (1, 0.0, label)
