"""What a gate found, as data: every report is a rendering of these."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import importlib.metadata
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from audits.errors import AuditError, ClaimFileError
from audits.games.game import Subject
from audits.games.sequential import AuditResult
from audits.gate.claim_file import ClaimFile
from verification.declared.questions import QUESTIONS as DECLARED_QUESTIONS
from verification.judge import Coverage
from verification.outcome import About, Finding, Outcome, Power, Stage, headlines
from verification.questions.catalogue import at
from verification.questions.question import Size
from verification.reading.context import Mode
from verification.statistics.test import Cause
from verification.wire.arrays import Floats
from verification.wire.messages import AdapterDescription

if TYPE_CHECKING:
    from audits.gate.price import Account


@dataclasses.dataclass(frozen=True, slots=True)
class FileDigest:
    """A file as the claim file names it, and the SHA-256 of its contents; empty where it cannot be read."""

    name: str
    sha256: str

    @property
    def digest(self) -> str:
        """The SHA-256, for what rests on it: an error where the file cannot be read."""
        if not self.sha256:
            raise AuditError(f"{self.name} cannot be read, so it has no digest: nothing can be stated about it")
        return self.sha256


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


def provenance_of(claims: ClaimFile, source: Path | None) -> Provenance:
    """What is known before anything is run: digests of the claim file and of the files that the command names."""
    folder = Path.cwd() if source is None else source.absolute().parent
    command = [] if claims.implementation is None else claims.implementation.command
    listed = [] if claims.implementation is None else claims.implementation.files
    files = tuple(dict.fromkeys([*_digests(command, folder), *_declared_files(listed, folder)]))
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


def _declared_files(patterns: list[str], folder: Path) -> list[FileDigest]:
    """Every file that [implementation] lists; a pattern without a file would hash nothing, and is refused."""
    found = []
    for pattern in patterns:
        paths = sorted(path for path in folder.glob(pattern) if path.is_file())
        if not paths:
            raise ClaimFileError(f"implementation.files: there is no file {pattern!r} below {folder}")
        found += [FileDigest(path.relative_to(folder).as_posix(), _sha256(path)) for path in paths]
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
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """What one mistake shows in: the first finding speaks for all of them."""

    cause: str
    subject: str
    findings: tuple[Finding, ...]
    where: str = ""  # to look in the code


def grouped(findings: Sequence[Finding]) -> list[CauseGroup]:
    """The refuted and deviating findings by mechanism and cause, in the order in which the causes were found.

    What a declared algorithm releases without noise is said first: later values are computed from it, and move too far.
    """
    wrong = [f for f in findings if f.outcome in (Outcome.REFUTED, Outcome.DEVIATES) and f.waiver is None]
    groups: dict[tuple[str, Cause | str, Outcome], list[Finding]] = {}
    for finding in wrong:
        alike = (f for f in wrong if (f.subject, f.outcome) == (finding.subject, finding.outcome))
        under = headlines(f.cause for f in alike if f.cause is not None)
        head = finding.name if finding.cause is None else under[finding.cause]
        groups.setdefault((finding.subject, head, finding.outcome), []).append(finding)
    clean = {key for key, (first, *_) in groups.items() if first.about.stage is Stage.DECLARED}
    ordered = sorted(groups.items(), key=lambda group: group[0][1] is not Cause.UNNOISED or group[0] not in clean)
    return [
        CauseGroup(
            str(head),
            subject,
            tuple(sorted(members, key=lambda finding: finding.cause is not head)),
            head.where if isinstance(head, Cause) and outcome is Outcome.REFUTED else "",
        )
        for (subject, head, outcome), members in ordered
    ]


@dataclass(frozen=True, slots=True, eq=False)
class GateReport:
    """Everything that a gate found."""

    claims: ClaimFile
    findings: Sequence[Finding]
    accounts: Sequence[Account]
    audits: Sequence[AuditResult]
    seed: int
    seconds: float
    outcome: Outcome
    coverage: Coverage = field(default_factory=Coverage)
    provenance: Provenance = field(default_factory=Provenance)
    partial: bool = False  # only a part was asked for: nothing is said about the claim
    asked: Mapping[str, Finding] = field(default_factory=dict)  # every question that was answered, by its id
    noise: Mapping[str, Sequence[Floats]] = field(default_factory=dict)  # that was read, over its scale, by mode


def least_power(report: GateReport) -> Power | None:
    """What holds of every game: the largest factor, the smallest probability; None where none was played."""
    powers = [f.power for f in report.findings if f.power is not None]
    if not powers:
        return None
    divisor, least = max(p.divisor for p in powers), min(p.at_least for p in powers)
    return Power(divisor, least, min(p.simulations for p in powers))


def ids_of(claims: ClaimFile, *, alone: bool = False) -> list[str]:
    """The ids of everything that a gate asks, in its order, whether it passes or fails; all games together are one.

    ``alone``: only what can be asked by itself, not what is seen by a whole gate.
    """
    if claims.declared is not None:
        return [f"{q.name}/{claims.declared.algorithm}/{Stage.DECLARED}" for q in DECLARED_QUESTIONS]
    found = [f"{mechanism.title}/{Stage.PRICE}" for mechanism in claims.mechanism]
    if claims.implementation is None:
        return found
    pairs = [(m.title, Subject.of(m).mode) for m in claims.mechanism]
    modes = dict.fromkeys(mode for _, mode in pairs)
    found += [f"{q.name}/{mode}/{Stage.SMALL}" for q in at(Size.SMALL) for mode in modes if mode in q.modes]
    if claims.claim.nothing:
        return found
    for title, mode in pairs:
        found += [] if alone else [str(about_offered(title))]
        found += [f"{q.name}/{title}/{Stage.CLAIMED}" for q in at(Size.CLAIMED) if mode in q.modes]
    return [*found, *([] if alone else [str(about_all_runs(mode)) for mode in modes]), str(Stage.GAMES)]


def about_offered(title: str) -> About:
    """Whether the implementation offers a mechanism at the claimed size."""
    return About("offered", title, Stage.CLAIMED)


def about_all_runs(mode: Mode) -> About:
    """All runs of the gate whose noise could be read, of one mode together."""
    return About("all-runs", str(mode), Stage.CLAIMED, str(mode))
