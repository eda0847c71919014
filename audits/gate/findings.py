"""What a gate found, as data: every report is a rendering of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from audits.gate.claim_file import ClaimFile
from audits.gate.coverage import Coverage
from audits.gate.observed import ObservedNoise
from audits.gate.provenance import Provenance
from audits.trials.sequential import AuditResult
from verification.outcome import Finding, Outcome

if TYPE_CHECKING:
    from audits.gate.account_stage import Account


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
    coverage: Coverage = field(default_factory=Coverage)
    provenance: Provenance = field(default_factory=Provenance)
    partial: bool = False  # only a part was asked for: nothing is said about the claim
