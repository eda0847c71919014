"""A directory of results that is there as a whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


class OutputRefused(ValueError):
    """A place to which results cannot go."""

    exit_code = 2


def require_free(directory: Path) -> None:
    """Refuse a place that holds something already, before any work is done."""
    if directory.is_dir() and not any(directory.iterdir()):
        return
    if directory.exists():
        raise OutputRefused(f"{directory} exists and is not an empty directory; name another")
    if not directory.parent.is_dir():
        raise OutputRefused(f"{directory.parent} is not a directory")
    if not os.access(directory.parent, os.W_OK | os.X_OK):
        raise OutputRefused(f"{directory} cannot be made there (no permission to write); name another place")


@contextlib.contextmanager
def whole_directory(directory: Path) -> Iterator[Path]:
    """A temporary directory that takes the name only once the body has succeeded; Ctrl-C leaves nothing."""
    require_free(directory)
    try:
        draft = Path(tempfile.mkdtemp(dir=directory.parent, prefix=f".{directory.name}.", suffix=".tmp"))
    except OSError as error:
        raise OutputRefused(f"{directory} cannot be made there ({error.strerror}); name another place") from None
    try:
        yield draft
        draft.chmod(0o755)  # mkdtemp's own mode would keep colleagues out
        draft.rename(directory)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def write_json(path: Path, document: dict[str, object]) -> None:
    """Write one JSON document."""
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
