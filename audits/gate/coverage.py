"""What was checked, at which size, how often; what was not, by name; what a claim rests on and no check looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from accountant.mechanisms.words import Algorithm, Release
from audits.gate.claim_file import ClaimFile
from verification.judge import About
from verification.outcome import Finding, Outcome, Stage, needed_aspects
from verification.plain_text import harmless
from verification.statistics.test import Aspect
from verification.wire.schemes import SCHEMES, Law


@dataclass(frozen=True, slots=True)
class Covered:
    """One thing that was looked at: the id of its finding, and at which size."""

    what: str
    subject: str
    size: str
    runs: int
    aspects: tuple[Aspect, ...]

    @property
    def question(self) -> str:
        """What was asked; the mechanism and the size stand beside it."""
        return About.of(self.what, self.subject).question

    def describe(self) -> str:
        """As a report prints it."""
        runs = f", {self.runs:,} runs" if self.runs > 1 else (", 1 run" if self.runs == 1 else "")
        return f"{self.what} ({self.subject}; {self.size}{runs})"


@dataclass(frozen=True, slots=True)
class Uncovered:
    """One thing that was not looked at, and why."""

    what: str
    subject: str
    reason: str

    def describe(self) -> str:
        """As a report prints it."""
        reason = harmless(" ".join(self.reason.split()))
        return f"{self.what} ({self.subject}): {reason}" if self.subject else f"{self.what}: {reason}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """The third part of a verdict, beside the outcome and the power."""

    covered: tuple[Covered, ...] = ()
    skipped: tuple[Uncovered, ...] = ()
    rare: str = ""

    def joined(self, other: Coverage) -> Coverage:
        """Both together."""
        rare = self.rare if not other.rare else (other.rare if not self.rare else f"{self.rare}; {other.rare}")
        return Coverage((*self.covered, *other.covered), (*self.skipped, *other.skipped), rare)

    def missing(self, subject: str, needed: Iterable[Aspect]) -> list[Aspect]:
        """What the claim about a subject rests on and nobody looked at."""
        seen = {aspect for item in self.covered if item.subject == subject for aspect in item.aspects}
        return [aspect for aspect in needed if aspect not in seen]


def coverage_findings(claims: ClaimFile, coverage: Coverage) -> list[Finding]:
    """One for each mechanism of which a part was not looked at and is not accepted by name."""
    findings = []
    for mechanism in claims.mechanism:
        algorithm = Algorithm(str(mechanism.algorithm))
        scheme = SCHEMES[algorithm]
        release = getattr(mechanism, "release", None)
        subject = str(algorithm) if release is None else f"{algorithm}/{Release(str(release))}"
        batch = getattr(mechanism, "batch", None)
        needed = needed_aspects(
            private=scheme.law is not Law.NONE,
            sampled=batch is not None and batch < getattr(mechanism, "records", batch),
            clips=scheme.law is not Law.NONE,
        )
        missing = [aspect for aspect in coverage.missing(subject, needed) if aspect not in claims.gate.accepts]
        if missing:
            why = "; ".join(item.describe() for item in coverage.skipped if item.subject in ("", subject))
            parts = ", ".join(missing)
            text = f"the claim rests on {parts}, and nothing could look at {_them(missing)}: {why or 'no check ran'}"
            name = f"aspects/{mechanism.title}/{Stage.COVERAGE}"
            findings.append(Finding(name, Outcome.INCONCLUSIVE, text, subject, stage=Stage.COVERAGE))
    return findings


def _them(missing: Sequence[str]) -> str:
    return "it" if len(missing) == 1 else "them"
