"""Findings under what caused them: one mistake, one headline, its consequences under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verification.outcome import Finding, Outcome
from verification.statistics.test import Cause


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """What one mistake shows in: the first finding speaks for all of them."""

    cause: str
    subject: str
    findings: tuple[Finding, ...]


def grouped(findings: Sequence[Finding]) -> list[CauseGroup]:
    """The refuted and deviating findings by mechanism and cause, in the order in which the causes were found."""
    wrong = [f for f in findings if f.outcome in (Outcome.REFUTED, Outcome.DEVIATES) and f.waiver is None]
    groups: dict[tuple[str, Cause | str, Outcome], list[Finding]] = {}
    for finding in sorted(wrong, key=_consequence):  # what may be a consequence comes after all that may be its cause
        root = finding.name if finding.cause is None else finding.cause.root
        key = (finding.subject, root, finding.outcome)
        if _consequence(finding):
            key = next((k for k in groups if k[0] == finding.subject and k[2] is Outcome.REFUTED), key)
        groups.setdefault(key, []).append(finding)
    return [CauseGroup(_headline(members), key[0], tuple(members)) for key, members in groups.items()]


def _headline(members: Sequence[Finding]) -> str:
    """The most specific cause of those that are no consequence of another."""
    causes = [f.cause for f in members if f.cause is not None]
    causes = [cause for cause in causes if cause is not Cause.DISTINGUISHED] or causes
    return str(max(causes, key=lambda cause: cause.specific)) if causes else members[0].name


def _consequence(finding: Finding) -> bool:
    """What tells neighbours apart is a consequence of whatever else is wrong with the mechanism."""
    return finding.cause is Cause.DISTINGUISHED
