"""Finished units, one line each: appended as they finish, read back when an interrupted study resumes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from experiments.errors import OutputError
from verification.files import append_line, write_text


class Row(BaseModel):
    """One model's measurements: a row of the tidy results."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    algorithm: str
    accounting: str
    loss: str
    lam: str
    epsilon: str
    dataset: int
    fold: int
    repeat: int
    accuracy: float
    objective: float | None
    nonzeros: int
    residual: float | None = None
    xi: dict[int, float] = {}


class FinishedUnit(BaseModel):
    """The rows of one unit, and the CPU seconds that each algorithm took."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    fingerprint: str
    repeat: int
    dataset: int
    fold: int
    seconds: dict[str, float]
    rows: list[Row]


class StudyCheckpoint:
    """A file of finished units that belong to one fingerprint."""

    def __init__(self, path: Path, fingerprint: str, *, fresh: bool) -> None:
        self._path, self._fingerprint = path, fingerprint
        self.finished: list[FinishedUnit] = [] if fresh else list(self._read())
        # Rewritten whole: a line that was cut off by an interruption is gone before anything is appended after it.
        write_text(path, "".join(line.model_dump_json() + "\n" for line in self.finished))

    def append(self, unit: FinishedUnit) -> None:
        """Record one finished unit; it survives whatever happens next."""
        append_line(self._path, unit.model_dump_json())
        self.finished.append(unit)

    def _read(self) -> Iterator[FinishedUnit]:
        if not self._path.is_file():
            return
        for unit in read_finished(self._path):
            if unit.fingerprint != self._fingerprint:
                raise OutputError(
                    f"{self._path} holds results of another configuration or other data; "
                    "give another --out, or start over with --fresh"
                )
            yield unit


def read_finished(path: Path) -> Iterable[FinishedUnit]:
    """The units of a checkpoint; an incomplete last line is left out, a broken line before it is an error."""
    lines = path.read_text("utf-8").split("\n")
    for number, line in enumerate(lines[:-1], start=1):
        try:
            yield FinishedUnit.model_validate_json(line)
        except (ValidationError, json.JSONDecodeError) as error:
            raise OutputError(f"{path}, line {number}: not a finished unit: {error}") from None
