"""Files that are there as a whole or not at all, and lines that survive what happens next.

The one place that writes results: commands, reports, checkpoints and experiments all come here.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Write a file that is either complete under its name or not there at all, Ctrl-C included.

    A device or a pipe is written to, never replaced; a link stays a link. An error of the system names the file that
    was asked for, not the temporary one.
    """
    if _is_special(path):
        with path.open("ab") as stream:
            yield cast(BinaryIO, stream)
        return
    path = path.resolve()
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield cast(BinaryIO, file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o666 & ~_umask())  # mkstemp is for secrets; a result is a file like any other
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file as a whole."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))


def append_line(path: Path, line: str) -> None:
    """Append one line in one write, on the disk when this returns; creates the file."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    with os.fdopen(handle, "ab", buffering=0) as file:
        file.write(f"{line}\n".encode())
        os.fsync(file.fileno())


def _is_special(path: Path) -> bool:
    """Whether this is no file that could be replaced by another: a device, a pipe, an open file of a process."""
    return path.absolute().parts[1:2] in (("dev",), ("proc",)) or (path.exists() and not path.is_file())


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
