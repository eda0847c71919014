"""Findings under what caused them: one mistake, one headline, its consequences under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verification.outcome import Finding, Outcome

_PREFIX = "cause: "
_ROOTS = {"noise": "noise", "draws": "noise", "batches": "batches", "a record": "record", "another": "update"}
LEAK = "more is revealed than the claimed curve allows"
PRICE = "the mechanism costs more than is claimed"


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """What one mistake shows in: the first finding speaks for all of them."""

    cause: str
    subject: str
    findings: tuple[Finding, ...]


def cause_of(finding: Finding) -> str:
    """The cause that a finding names; a game says only that something leaks, a price only that it is too high."""
    named = next((tag.removeprefix(_PREFIX) for tag in finding.tags if tag.startswith(_PREFIX)), "")
    return named or {"audit": LEAK, "account": PRICE}.get(finding.stage, finding.name)


def grouped(findings: Sequence[Finding]) -> list[CauseGroup]:
    """The refuted and deviating findings by mechanism and cause, in the order in which the causes were found.

    What leaks in a game, or tells neighbours apart, is a consequence of whatever else is wrong with the mechanism.
    """
    wrong = [f for f in findings if f.outcome in (Outcome.REFUTED, Outcome.DEVIATES) and f.waiver is None]
    groups: dict[tuple[str, str, Outcome], list[Finding]] = {}
    for finding in sorted(wrong, key=_consequence):  # what may be a consequence comes after all that may be its cause
        key = (finding.subject, _root(cause_of(finding)), finding.outcome)
        if key[1] in (LEAK, "record") and _consequence(finding):
            key = next((k for k in groups if k[0] == finding.subject and k[2] is Outcome.REFUTED), key)
        groups.setdefault(key, []).append(finding)
    return [CauseGroup(_headline(members), key[0], tuple(members)) for key, members in groups.items()]


def _headline(members: Sequence[Finding]) -> str:
    """The most telling cause: one with a direction before one without."""
    causes = [cause_of(finding) for finding in members]
    return next((cause for cause in causes if "too" in cause), causes[0])


def _root(cause: str) -> str:
    return next((root for start, root in _ROOTS.items() if cause.startswith(start)), cause)


def _consequence(finding: Finding) -> bool:
    return finding.stage == "audit" or finding.name.endswith("distinguishable")
