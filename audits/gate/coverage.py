"""What was checked, at which size, how often; what was not, by name; what nobody looked at though a claim needs it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from verification.conformance.check import Family
from verification.deployment.sighting import Aspect
from verification.plain_text import harmless


@dataclass(frozen=True, slots=True)
class Covered:
    """One thing that was looked at."""

    what: str
    subject: str
    size: str
    runs: int
    aspects: tuple[Aspect, ...]

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


ASPECT_OF_FAMILY: dict[Family, tuple[Aspect, ...]] = {
    Family.UPDATES: (Aspect.UPDATES,),
    Family.SENSITIVITY: (Aspect.RELEASED,),
    Family.CLIPPING: (Aspect.CLIPPING,),
    Family.BATCHES: (Aspect.BATCHES,),
    Family.NOISE: (Aspect.NOISE,),
    Family.DETERMINISM: (),
    Family.SCALE: (Aspect.NOISE,),
}
NOT_ENOUGH = frozenset({"refuses-not-finite", "intercept-before-bounding", "updates-scale", "refuses-jumping-prox"})
"""Checks that look at a part of their aspect only, and do not cover it by themselves."""


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
