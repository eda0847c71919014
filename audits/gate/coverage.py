"""What was checked, at which size, how often; what was not, by name; what nobody looked at though a claim needs it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from verification.judge import About
from verification.plain_text import harmless
from verification.statistics.test import Aspect


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


def needed_aspects(*, private: bool, sampled: bool, clips: bool) -> Sequence[Aspect]:
    """What a claim rests on."""
    if not private:
        return ()
    wanted = [Aspect.NOISE, Aspect.RELEASED]
    if sampled:
        wanted.append(Aspect.BATCHES)
    if clips:
        wanted.append(Aspect.CLIPPING)
    return wanted
