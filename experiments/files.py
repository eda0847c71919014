"""Folders that are tried before hours of work."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

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
