"""What a gate found, as data: every report is a rendering of these."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audits.gate.claim_file import ClaimFile
from audits.gate.observed import ObservedNoise
from audits.trials.sequential import AuditResult
from verification.outcome import Finding, Outcome

if TYPE_CHECKING:
    from audits.gate.account_stage import Account


class Stage(enum.StrEnum):
    """The three stages, in order of cost."""

    ACCOUNT = "account"
    CONFORM = "conform"
    AUDIT = "audit"


@dataclass(frozen=True, slots=True, eq=False)
class GateReport:
    """Everything that a gate found."""

    claims: ClaimFile
    findings: Sequence[Finding]
    accounts: Sequence[Account]
    audits: Sequence[AuditResult]
    observed: ObservedNoise | None
    seed: int
    seconds: float
    outcome: Outcome
