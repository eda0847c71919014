"""Findings under what caused them: one mistake, one headline, its consequences under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verification.outcome import Cause, Finding, Outcome, headlines


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """What one mistake shows in: the first finding speaks for all of them."""

    cause: str
    subject: str
    findings: tuple[Finding, ...]
    where: str = ""  # to look in the code


def grouped(findings: Sequence[Finding]) -> list[CauseGroup]:
    """The refuted and deviating findings by mechanism and cause, in the order in which the causes were found."""
    wrong = [f for f in findings if f.outcome in (Outcome.REFUTED, Outcome.DEVIATES) and f.waiver is None]
    groups: dict[tuple[str, Cause | str, Outcome], list[Finding]] = {}
    for finding in wrong:
        alike = (f for f in wrong if (f.subject, f.outcome) == (finding.subject, finding.outcome))
        under = headlines(f.cause for f in alike if f.cause is not None)
        head = finding.name if finding.cause is None else under[finding.cause]
        groups.setdefault((finding.subject, head, finding.outcome), []).append(finding)
    return [
        CauseGroup(
            str(head),
            subject,
            tuple(sorted(members, key=lambda finding: finding.cause is not head)),
            head.where if isinstance(head, Cause) and outcome is Outcome.REFUTED else "",
        )
        for (subject, head, outcome), members in groups.items()
    ]
