"""The first stage: is the claimed epsilon what the mechanism costs? Certified, before anything is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accountant import AccountantError, Ledger, Report, Sensitivity, decimal_string, epsilon, mpadmm, ssadmm
from accountant import Release as LedgerRelease
from accountant.precision import fraction_of
from audits.claimfile import Claim, MechanismTable
from audits.findings import Finding, Stage
from audits.verdict import Outcome

if TYPE_CHECKING:
    from audits.gate_run import GateOptions

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Account:
    """A mechanism's price by every method, and what it says about the claim."""

    claim: Claim
    mechanism: MechanismTable
    report: Report | None
    outcome: Outcome
    detail: str

    def finding(self, options: GateOptions) -> Finding:
        """Return it as a finding."""
        name = f"{Stage.ACCOUNT}: {self.mechanism.title}"
        again = options.reproduce(name, options.seed) if self.outcome is Outcome.REFUTED else ""
        return Finding(name, Stage.ACCOUNT, self.outcome, self.detail, again)


def ledger_of(mechanism: MechanismTable) -> Ledger:
    """Return what the mechanism is said to release, exactly as written."""
    if mechanism.algorithm == "ssadmm":
        return ssadmm(
            records=mechanism.records,
            batch=mechanism.batch or mechanism.records,
            iterations=mechanism.iterations,
            sigma=mechanism.sigma,
            clip=mechanism.clip,
        )
    if mechanism.eta is None or mechanism.rho is None:
        raise AssertionError("a validated mpadmm has eta and rho")
    return mpadmm(
        records=mechanism.records,
        eta=mechanism.eta,
        rho=mechanism.rho,
        clip=mechanism.clip,
        sigma=mechanism.sigma,
        epochs=mechanism.iterations,
        release=LedgerRelease.ALL if mechanism.release == "all" else LedgerRelease.PRIMAL,
        sensitivity=Sensitivity.PRINTED if mechanism.sensitivity == "printed" else Sensitivity.CORRECTED,
    )


def account(claim: Claim, mechanism: MechanismTable) -> Account:
    """Price the mechanism and compare: refuted below ``lower``, stands from ``upper`` on, in between inconclusive."""
    try:
        report = epsilon(ledger_of(mechanism), claim.delta)
    except AccountantError as error:
        if error.exit_code == 2:
            raise
        return Account(claim, mechanism, None, Outcome.INCONCLUSIVE, f"nothing could be certified: {error}")
    lower, upper = fraction_of(report.epsilon.lower), fraction_of(report.epsilon.upper)
    low, high = decimal_string(lower, _DIGITS, "down"), decimal_string(upper, _DIGITS, "up")
    delta, claimed = decimal_string(claim.delta, _DIGITS, "up"), decimal_string(claim.epsilon, _DIGITS, "down")
    if claim.epsilon >= upper:
        text = f"epsilon at delta {delta} is at most {high}, claimed is {claimed}"
        return Account(claim, mechanism, report, Outcome.STANDS, text)
    if claim.epsilon < lower:
        text = (
            f"epsilon at delta {delta} is at least {low} (two neighbouring data sets attain it), claimed is {claimed}"
        )
        return Account(claim, mechanism, report, Outcome.REFUTED, text)
    text = (
        f"claimed is {claimed}; certified is only that epsilon at delta {delta} lies between {low} (attained by a "
        f"concrete pair) and {high} (holds for every pair). Claim {high}, or add noise"
    )
    return Account(claim, mechanism, report, Outcome.INCONCLUSIVE, text)
