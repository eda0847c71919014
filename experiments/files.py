"""Files that are written whole or not at all, and folders that are tried before hours of work."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from experiments.errors import OutputError

NEEDED_BYTES = 64 * 2**20  # a full study's checkpoints, tables, figures and page take well under half of this


def require_room(folder: Path, *, needed: int = NEEDED_BYTES) -> None:
    """Create the folder and prove that a file can be written there, with enough space left for the results."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder) as probe:
            probe.write(b"\0" * 4096)
            probe.flush()
            os.fsync(probe.fileno())
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise OutputError(f"{folder} cannot be written to: {error.strerror or error}") from error
    if free < needed:
        raise OutputError(f"{folder} has {free // 2**20} MB left, the results need up to {needed // 2**20} MB")


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name only when it is complete."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            yield cast(BinaryIO, file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file whole."""
    with written_whole(path) as file:
        file.write(text.encode("utf-8"))
