"""What the loaders share, and two of them: NPZ archives, and LIBSVM's sparse text.

An archive has ``features`` and ``labels`` (or ``X`` and ``y``); nothing in it is executed. LIBSVM has
``label index:value index:value ...`` a line, indices from 1, rising.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import zipfile
import zlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import lt
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic import Matrix, Vector

LARGEST_BYTES = 4 << 30  # a dense matrix beyond this is far more often a mistyped index than data


class UnreadableData(ValueError):
    """A file that holds no usable records; the message names file, line and what was found there."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file: its name, and its categories if it does not hold numbers."""

    name: str
    categories: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features that it becomes."""
        return tuple(f"{self.name}={category}" for category in self.categories) or (self.name,)


def numbered_columns(count: int) -> tuple[Column, ...]:
    """Columns of a file that does not name them, counted from 1."""
    return tuple(Column(str(number)) for number in range(1, count + 1))


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """Records as they stand in the file, labels mapped to -1 and +1; ``classes`` says which is which.

    ``columns`` are the columns that the features come from; a column of categories becomes one feature each.
    """

    features: Matrix
    labels: Vector
    classes: tuple[str, str]
    columns: tuple[Column, ...]
    label: str = ""


def numbered_lines(path: Path, content: bytes | None = None) -> Iterator[tuple[int, str]]:
    """The lines of a file, packed or not, counted from 1; or of that part of it."""
    number = 0
    with unpacking(path), opened(path) if content is None else io.BytesIO(content) as file:
        for ended in file:
            for line in ended.splitlines():
                number += 1
                try:
                    yield number, line.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise UnreadableData(
                        f"{path}, line {number}: is not text in UTF-8 ({error.reason}); convert it, "
                        f"for example with iconv -f latin1 -t utf-8"
                    ) from None


def opened(path: Path) -> IO[bytes]:
    """A file to read from, unpacked on the way where it is packed."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]  # a GzipFile reads bytes, but is no IO to its stub
    if path.suffix == ".bz2":
        return bz2.open(path, "rb")
    return lzma.open(path, "rb") if path.suffix == ".xz" else path.open("rb")


@contextmanager
def unpacking(path: Path) -> Iterator[None]:
    """Turn what goes wrong in reading packed content into an error that names the file."""
    try:
        yield
    except (UnreadableData, FileNotFoundError, UnicodeDecodeError):
        raise
    except (lzma.LZMAError, EOFError, OSError, zlib.error) as error:
        raise UnreadableData(f"{path}: cannot be unpacked ({error})") from None


def head(path: Path, limit: int = 1 << 16) -> bytes:
    """The first bytes of a file, packed or not, up to its last line end."""
    with unpacking(path), opened(path) as file:
        first = file.read(limit)
    return first if len(first) < limit else first[: first.rfind(b"\n") + 1 or limit]


def number_at(text: str, where: str, hint: str = "") -> float:
    """A finite number, or an error that says where it should have been; never what stands there."""
    try:
        value = float(text)
    except ValueError:
        found = f"text{hint}" if text.strip() else "nothing"
        raise UnreadableData(f"{where}: expected a number, got {found}") from None
    if not math.isfinite(value):
        raise UnreadableData(f"{where}: expected a finite number, got {value}")
    return value


def require_room(path: Path, records: int, dimension: int) -> None:
    """Refuse a matrix that would not fit."""
    if records * dimension * 8 > LARGEST_BYTES:
        raise UnreadableData(
            f"{path}: {records} records of {dimension} features need {records * dimension * 8 / 2**30:.0f} GiB, "
            f"more than {LARGEST_BYTES >> 30}; is an index mistyped?"
        )


def signs_of(path: Path, labels: Sequence[str], classes: tuple[str, str]) -> Vector:
    """-1 and +1 for labels of known classes; another label is refused by its place."""
    values = {_by_value(name): sign for name, sign in zip(classes, (-1.0, 1.0), strict=True)}
    found = [values.get(_by_value(label)) for label in labels]
    for row, sign in enumerate(found, start=1):
        if sign is None:
            raise UnreadableData(f"{path}, record {row}: the label is not one of the model's classes {classes}")
    return np.array(found, dtype=np.float64)


def two_classes(path: Path, labels: Sequence[str], where: str = "") -> tuple[Vector, tuple[str, str]]:
    """Map the smaller of two label values to -1 and the larger to +1, numbers by value and words by alphabet.

    ``where`` names the column in a message.
    """
    if not labels:
        raise UnreadableData(f"{path}: holds no records")
    kinds = sorted(set(labels), key=lambda kind: (_by_value(kind), kind))
    # "1" and "+1.0" are one class: labels that are numbers are compared as numbers.
    values = sorted({_by_value(kind) for kind in kinds})
    if len(values) != 2:
        place = f" in {where}" if where else ""
        raise UnreadableData(f"{path}: labels{place} must be of exactly two classes, got {len(values)}")
    signs = {kind: 1.0 if _by_value(kind) == values[1] else -1.0 for kind in kinds}
    names = tuple(next(kind for kind in kinds if _by_value(kind) == value) for value in values)
    return np.array([signs[label] for label in labels]), (names[0], names[1])


def _by_value(label: str) -> tuple[int, float, str]:
    try:
        value = float(label)
    except ValueError:
        return (1, 0.0, label)
    return (0, value, "") if math.isfinite(value) else (1, 0.0, label)


NAMES = (("features", "labels"), ("X", "y"))


def load_npz(path: Path) -> Loaded:
    """Read an archive of two arrays; pickled objects are refused."""
    arrays = _arrays(path)
    pair = next((names for names in NAMES if set(names) <= set(arrays)), None)
    if pair is None:
        raise UnreadableData(
            f"{path}: needs arrays 'features' and 'labels' (or 'X' and 'y'), got {', '.join(arrays) or 'none'}"
        )
    features, labels = arrays[pair[0]], arrays[pair[1]]
    return _checked(path, features, labels)


def _arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    try:
        # Opened as the zip file it must be: numpy would take a pickle for one.
        with path.open("rb") as file, np.lib.npyio.NpzFile(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UnreadableData(f"{path}: is not an NPZ archive of plain arrays ({error})") from None


def _checked(path: Path, features: NDArray[np.generic], labels: NDArray[np.generic]) -> Loaded:
    if features.ndim != 2 or features.dtype.kind not in "fiub" or 0 in features.shape:
        raise UnreadableData(
            f"{path}: features must be a non-empty matrix of numbers, "
            f"got shape {features.shape} of dtype {features.dtype}"
        )
    if labels.shape != features.shape[:1]:
        raise UnreadableData(
            f"{path}: there must be one label for each of {len(features)} records, got shape {labels.shape}"
        )
    require_room(path, *features.shape)
    numbers = features.astype(np.float64)
    for row, column in np.argwhere(~np.isfinite(numbers))[:1]:
        raise UnreadableData(
            f"{path}, row {row}, column {column}: expected a finite number, got {numbers[row, column]}"
        )
    signs, classes = two_classes(path, [str(label) for label in labels.tolist()])
    return Loaded(numbers, signs, classes, numbered_columns(numbers.shape[1]))


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
