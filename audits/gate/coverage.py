"""What was checked, at which size, how often; what was not, by name; what a claim rests on and no check looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from accountant.mechanisms.words import Algorithm, Release
from audits.gate.claim_file import ClaimFile
from verification.judge import Result, not_asked
from verification.outcome import About, Finding, Outcome, Stage, needed_aspects
from verification.plain_text import harmless
from verification.statistics.test import Aspect
from verification.wire.parameters import SCHEMES, Law


@dataclass(frozen=True, slots=True)
class Covered:
    """One thing that was looked at, and at which size."""

    about: About
    size: str
    runs: int
    aspects: tuple[Aspect, ...]


@dataclass(frozen=True, slots=True)
class Uncovered:
    """One thing that was not looked at, and why."""

    about: About
    reason: str

    def describe(self) -> str:
        """As a report prints it."""
        reason = harmless(" ".join(self.reason.split()))
        return f"{self.about} ({self.about.subject}): {reason}" if self.about.subject else f"{self.about}: {reason}"


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
        """What the claim about a subject rests on and no check looked at."""
        seen = {aspect for item in self.covered if item.about.subject == subject for aspect in item.aspects}
        return [aspect for aspect in needed if aspect not in seen]


def covered_by(results: Iterable[Result]) -> Coverage:
    """What the questions and games looked at, and what they could not."""
    covered, skipped = [], []
    for result in results:
        answer, stage = result.answer, result.about.stage
        # a question at a few records may cover no aspect that a claim rests on, and was asked all the same
        asked = (
            answer is not None and not answer.missing and bool(answer.covers or (stage is Stage.SMALL and answer.tests))
        )
        if answer is not None and asked:
            covered.append(Covered(result.about, answer.size, answer.runs, answer.covers))
        if result.needed and result.reason and result.outcome is not Outcome.STANDS:
            skipped.append(Uncovered(result.about, result.reason))
    return Coverage(tuple(covered), tuple(skipped))


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
            why = "; ".join(item.describe() for item in coverage.skipped if item.about.subject in ("", subject))
            findings.append(uncovered(mechanism.title, subject, missing, why or "no check ran"))
    return findings


def uncovered(mechanism: str, subject: str, missing: Sequence[Aspect], why: str) -> Finding:
    """The finding that no check looked at something that the claim rests on."""
    text = f"the claim rests on {', '.join(missing)}, and no check looked at {'it' if len(missing) == 1 else 'them'}"
    about = About("aspects", mechanism, Stage.COVERAGE, subject)
    return not_asked(about, Outcome.INCONCLUSIVE, f"{text}: {why}" if why else text)
