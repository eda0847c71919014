"""What a report is about, so that it can be filed: the claim file, the implementation's files, versions, the time."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import importlib.metadata
import platform
import shutil
from pathlib import Path
from typing import Self

from audits.gate.claim_file import ClaimFile
from audits.trials.executors import Target
from verification.wire.declared_session import DeclaredSession
from verification.wire.faults import AdapterError
from verification.wire.messages import AdapterDescription
from verification.wire.session import Session


@dataclasses.dataclass(frozen=True, slots=True)
class FileDigest:
    """A file as the claim file names it, and the SHA-256 of its contents."""

    name: str
    sha256: str


@dataclasses.dataclass(frozen=True, slots=True)
class Provenance:
    """Everything that tells one run of the gate from another; empty where it is not known."""

    date: datetime.datetime = dataclasses.field(default_factory=lambda: datetime.datetime.now(datetime.UTC))
    claim: FileDigest | None = None
    source: Path | None = None
    text: str = ""
    files: tuple[FileDigest, ...] = ()
    implementation: AdapterDescription | None = None
    version: str = dataclasses.field(default_factory=lambda: importlib.metadata.version("dpadmm"))
    system: str = dataclasses.field(
        default_factory=lambda: f"Python {platform.python_version()}, {platform.platform()}"
    )

    def described_by(self, target: Target, kind: type[Session | DeclaredSession] = Session) -> Self:
        """The same, with what the implementation says of itself; unchanged if it cannot be asked."""
        try:
            with kind(target.command, target.limits) as session:
                return dataclasses.replace(self, implementation=session.description)
        except AdapterError:
            return self  # the stages meet the same fault and report it


def provenance_of(claims: ClaimFile, source: Path | None) -> Provenance:
    """What is known before anything is run: digests of the claim file and of the files that the command names."""
    folder = Path.cwd() if source is None else source.absolute().parent
    command = [] if claims.implementation is None else claims.implementation.command
    files = tuple(_digests(command, folder))
    if source is None:
        return Provenance(files=files)
    try:
        content = source.read_bytes()
    except OSError:
        return Provenance(files=files)
    claim = FileDigest(source.name, hashlib.sha256(content).hexdigest())
    return Provenance(claim=claim, source=source, text=content.decode("utf-8", "replace"), files=files)


def _digests(command: list[str], folder: Path) -> list[FileDigest]:
    """The program, and every argument that is a file or, after -m, a module beside the claim file."""
    found = []
    for place, word in enumerate(command):
        path = _program(word, folder) if place == 0 else _file(word, folder)
        if path is None and place > 0 and command[place - 1] == "-m":
            path = _module(word, folder)
        if path is not None:
            found.append(FileDigest(word, _sha256(path)))
    return found


def _program(word: str, folder: Path) -> Path | None:
    found = shutil.which(word)
    return _file(word, folder) if found is None else Path(found)


def _file(word: str, folder: Path) -> Path | None:
    return next((base / word for base in (folder, Path.cwd()) if word and (base / word).is_file()), None)


def _module(word: str, folder: Path) -> Path | None:
    inside = word.replace(".", "/")
    candidates = (base / name for base in (folder, Path.cwd()) for name in (f"{inside}.py", f"{inside}/__main__.py"))
    return next((path for path in candidates if path.is_file()), None)


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"could not be read: {error.strerror}"
