"""NPZ archives with ``features`` and ``labels`` (or ``X`` and ``y``); nothing in them is executed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpadmm.loaders.common import Loaded, UnreadableData, numbered_columns, require_room, two_classes

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
        raise UnreadableData(f"{path}: is no NPZ archive of plain arrays ({error})") from None


def _checked(path: Path, features: NDArray[np.generic], labels: NDArray[np.generic]) -> Loaded:
    if features.ndim != 2 or features.dtype.kind not in "fiub" or 0 in features.shape:
        raise UnreadableData(
            f"{path}: features must be a non-empty matrix of numbers, "
            f"got shape {features.shape} of dtype {features.dtype}"
        )
    if labels.shape != features.shape[:1]:
        raise UnreadableData(f"{path}: labels must be one a record, {len(features)} in all, got shape {labels.shape}")
    require_room(path, *features.shape)
    numbers = features.astype(np.float64)
    for row, column in np.argwhere(~np.isfinite(numbers))[:1]:
        raise UnreadableData(
            f"{path}, row {row}, column {column}: expected a finite number, got {numbers[row, column]}"
        )
    signs, classes = two_classes(path, [str(label) for label in labels.tolist()])
    return Loaded(numbers, signs, classes, numbered_columns(numbers.shape[1]))
