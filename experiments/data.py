r"""The records of the studies: read from a path, known by their hash, or refused with where to get them.

Altered copies of Adult circulate (a feature appended, a row invented or lost), so a file whose SHA-256 is not the
known one is used only when the user says that it can be trusted.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.errors import DataError
from reference.dataset import Dataset, min_max_bounds

ADULT_FEATURES = 123
IPUMS_FEATURES = 52


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file by name, the hash of its unpacked content, and where it comes from."""

    name: str
    sha256: str
    origin: str


LIBSVM = "LIBSVM's binary classification data (csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html)"
A9A = KnownFile("a9a", "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906", LIBSVM)
A9A_TEST = KnownFile("a9a.t", "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9", LIBSVM)
IPUMS_BR = KnownFile(
    "ipums-br.txt",
    "9bcc80cf279457d62e9025d31a05c3e494e9d6edbb2097ba935eb4926a39884a",
    "IPUMS International (international.ipums.org), which does not permit copies: 38,000 rows of 52 features and "
    "the label, separated by spaces or commas",
)
UNPACKERS: dict[str, Callable[[bytes], bytes]] = {".xz": lzma.decompress, ".gz": gzip.decompress, "": lambda raw: raw}
OPENML_NAME = "openml:"


def adult(source: str, *, trust: bool) -> Dataset:
    """Adult as the paper uses it: a9a and a9a.t together, 48,842 records of 123 binary features."""
    if source.startswith(OPENML_NAME):
        return openml(source.removeprefix(OPENML_NAME))
    folder = Path(source)
    parts = [_libsvm(_content(folder, known, trust=trust), known.name, ADULT_FEATURES) for known in (A9A, A9A_TEST)]
    return Dataset.of(np.vstack([s for s, _ in parts]), np.concatenate([label for _, label in parts]))


def ipums_br(source: str, *, trust: bool) -> Dataset:
    """IPUMS-BR: a text file, the label in the last column; two label values, the larger becomes +1."""
    text = _content(Path(source), IPUMS_BR, trust=trust).decode("utf-8", "strict")
    rows = [line.replace(",", " ").split() for line in text.splitlines() if line.strip()]
    for number, row in enumerate(rows, start=1):
        if len(row) != IPUMS_FEATURES + 1:
            raise DataError(f"line {number} must have {IPUMS_FEATURES} features and a label, got {len(row)} columns")
    try:
        table = np.array(rows, dtype=np.float64)
    except ValueError as error:
        raise DataError(f"IPUMS-BR must hold numbers only: {error}") from None
    values = np.unique(table[:, -1])
    if len(values) != 2:
        raise DataError(f"the last column must hold two label values, got {len(values)}: {values[:5]}")
    return Dataset.of(table[:, :-1], np.where(table[:, -1] == values[1], 1.0, -1.0))


def openml(name: str) -> Dataset:
    """A binary classification set of OpenML by name, categories one-hot; needs scikit-learn and the internet."""
    from sklearn.datasets import fetch_openml  # noqa: PLC0415 - an extra, and only for this

    try:
        bunch = fetch_openml(name=name, version=1, as_frame=False, parser="liac-arff")
    except Exception as error:
        raise DataError(
            f"OpenML could not be asked for {name!r} ({type(error).__name__}); without the internet, download the "
            f"files elsewhere and give their folder with --data (Adult: {A9A.name} and {A9A_TEST.name} from {LIBSVM})"
        ) from error
    values, labels = np.unique(bunch.target, return_inverse=True)
    if len(values) != 2:
        raise DataError(f"{name} must have two classes, got {len(values)}")
    return Dataset.of(np.asarray(bunch.data, dtype=np.float64), np.where(labels == 1, 1.0, -1.0))


def prepared(data: Dataset, scaling: str) -> Dataset:
    """Scaled, the intercept added, *then* the rows normalised: the order that keeps ||s|| <= 1.

    ``min-max`` repeats the paper and reads the data outside the privacy budget (E12); ``unit`` uses the public bounds
    [0, 1]; ``none`` leaves features that are standardised by construction.
    """
    if scaling == "min-max":
        data = data.scaled(*min_max_bounds(data))
    elif scaling == "unit":
        data = data.scaled(0.0, 1.0)
    return data.with_intercept().normalised()


def _content(place: Path, known: KnownFile, *, trust: bool) -> bytes:
    """The unpacked bytes of a known file, in a folder or given directly."""
    candidates = [place] if place.is_file() else [place / (known.name + suffix) for suffix in UNPACKERS]
    path = next((candidate for candidate in candidates if candidate.is_file()), None)
    if path is None:
        raise DataError(f"{known.name} (or .xz, .gz) is not in {place}; it comes from {known.origin}")
    try:
        content = UNPACKERS.get(path.suffix, UNPACKERS[""])(path.read_bytes())
    except (lzma.LZMAError, gzip.BadGzipFile, EOFError) as error:
        raise DataError(f"{path} cannot be unpacked: {error}") from None
    found = hashlib.sha256(content).hexdigest()
    if found != known.sha256 and not trust:
        raise DataError(
            f"{path} is not the file that is known: sha256 {found}, expected {known.sha256}; "
            "altered copies circulate. Use it anyway with --trust-data"
        )
    return content


def _libsvm(content: bytes, name: str, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Dense features and labels of `label index:value ...` lines, indices from 1."""
    rows = [line.split() for line in content.splitlines() if line.strip()]
    s, labels = np.zeros((len(rows), features)), np.empty(len(rows))
    for number, row in enumerate(rows):
        try:
            labels[number] = float(row[0])
            columns = [int(pair.split(b":")[0]) for pair in row[1:]]
            values = [float(pair.split(b":")[1]) for pair in row[1:]]
        except (ValueError, IndexError):
            raise DataError(f"{name}, line {number + 1}: not `label index:value ...`, got {row[:3]!r}") from None
        if columns and not (min(columns) >= 1 and max(columns) <= features):
            raise DataError(f"{name}, line {number + 1}: an index must lie in 1..{features}, got {max(columns)}")
        s[number, [column - 1 for column in columns]] = values
    return s, labels
