"""Scores saved chunk by chunk, so that a killed audit resumes and never counts a trial twice.

One JSON line per chunk, appended in one write and synced; the first line names the audit by a digest of everything
its numbers depend on. A line cut short by a kill is dropped and its chunk run again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from audits.errors import CheckpointError
from audits.games.executors import Scored
from audits.games.game import Game
from verification.files import append_line
from verification.wire.arrays import Floats

_VERSION = 2


def fingerprint(game: Game, command: tuple[str, ...], seed: int, stream: int, size: int) -> str:
    """Return a digest of all that the scores of an audit depend on."""
    digest = hashlib.sha256()
    plain = [game.name, str(game.algorithm), game.visibility.value, list(command), seed, stream, size]
    digest.update(json.dumps(plain).encode())
    digest.update(game.parameters.model_dump_json().encode())
    for records in (game.first, game.second):
        digest.update(np.ascontiguousarray(records.features).tobytes())
        digest.update(np.ascontiguousarray(records.labels).tobytes())
    return digest.hexdigest()


class Checkpoint:
    """The chunks of one audit that are already done, in a file."""

    def __init__(self, path: Path, identity: str) -> None:
        self._path = path
        self._identity = identity
        self.done: dict[int, Scored] = {}
        if path.exists():
            self._load()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append({"version": _VERSION, "audit": identity})

    def add(self, scored: Scored) -> None:
        """Write one chunk; a chunk that is already there is left as it is."""
        if scored.number in self.done:
            return
        first, second = _packed(scored.first), _packed(scored.second)
        line = {"chunk": scored.number, "pairs": int(scored.first.size), "first": first, "second": second}
        self._append({**line, "digest": self._digest(line)})
        self.done[scored.number] = scored

    def _digest(self, line: Mapping[str, object]) -> str:
        """Of the audit and the whole line: what was altered, or belongs elsewhere, is not counted."""
        plain = [self._identity, *(line.get(key) for key in ("chunk", "pairs", "first", "second"))]
        return hashlib.sha256(json.dumps(plain).encode()).hexdigest()

    def _append(self, line: dict[str, object]) -> None:
        append_line(self._path, json.dumps(line, separators=(",", ":")))

    def _load(self) -> None:
        whole = self._path.read_bytes()
        complete = whole[: whole.rfind(b"\n") + 1]
        if len(complete) < len(whole):
            # the run was killed in the middle of a line: cut it off, or the next line would be glued to it
            os.truncate(self._path, len(complete))
        lines = complete.splitlines()
        header = self._parsed(lines[0], 1) if lines else {}
        if header.get("version") != _VERSION or header.get("audit") != self._identity:
            raise CheckpointError(
                f"{self._path} belongs to another audit (other claim, parameters, command or seed); name another file "
                "or delete it"
            )
        for number, line in enumerate(lines[1:], start=2):
            scored = self._scored(self._parsed(line, number), number)
            # the first copy counts: a chunk written twice holds the same trials
            self.done.setdefault(scored.number, scored)

    def _parsed(self, line: bytes, number: int) -> dict[str, object]:
        try:
            value = json.loads(line)
        except ValueError:
            raise CheckpointError(f"{self._path}:{number} is damaged: not JSON") from None
        if not isinstance(value, dict):
            raise CheckpointError(f"{self._path}:{number} is damaged: not an object")
        return value

    def _scored(self, value: dict[str, object], number: int) -> Scored:
        chunk, first, second = value.get("chunk"), value.get("first"), value.get("second")
        if not isinstance(chunk, int) or not isinstance(first, str) or not isinstance(second, str):
            raise CheckpointError(f"{self._path}:{number} is damaged: needs chunk, first and second")
        if value.get("digest") != self._digest(value):
            raise CheckpointError(f"{self._path}:{number} is damaged: its digest is another")
        try:
            scored = Scored(chunk, _unpacked(first), _unpacked(second))
        except ValueError as error:
            raise CheckpointError(f"{self._path}:{number} is damaged: {error}") from None
        if not scored.first.size == scored.second.size == value.get("pairs"):
            raise CheckpointError(f"{self._path}:{number} is damaged: unpaired scores")
        if not (np.isfinite(scored.first).all() and np.isfinite(scored.second).all()):
            raise CheckpointError(f"{self._path}:{number} is damaged: scores that are not finite")
        return scored

    def __iter__(self) -> Iterator[Scored]:
        return iter(sorted(self.done.values(), key=lambda s: s.number))


def _packed(values: Floats) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode("ascii")


def _unpacked(text: str) -> Floats:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64)
