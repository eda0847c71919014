"""What a gate found, as data: every report is a rendering of these."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audits.gate.claim_file import ClaimFile, Waiver
from audits.gate.observed import Observed
from audits.trials.sequential import AuditResult
from audits.trials.verdict import Outcome, Power

if TYPE_CHECKING:
    from audits.gate.account_stage import Account


class Stage(enum.StrEnum):
    """The three stages, in order of cost."""

    ACCOUNT = "account"
    CONFORM = "conform"
    AUDIT = "audit"


@dataclass(frozen=True, slots=True)
class Finding:
    """One conclusion, by a name that a waiver or --only can refer to.

    ``mode`` is the algorithm that it is about, with what that releases; empty where it is about none in particular.
    """

    name: str
    stage: Stage
    outcome: Outcome
    detail: str
    reproduction: str = ""
    seconds: float = 0.0
    trials: int | None = None
    power: Power | None = None
    waiver: Waiver | None = None
    mode: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class GateReport:
    """Everything that a gate found."""

    claims: ClaimFile
    findings: Sequence[Finding]
    accounts: Sequence[Account]
    audits: Sequence[AuditResult]
    observed: Observed | None
    seed: int
    seconds: float
    outcome: Outcome
