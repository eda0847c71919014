"""The first stage: is the claimed epsilon what the mechanism costs? Certified, before anything is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accountant import AccountantError, Mechanism, Report, decimal_string, epsilon
from accountant.numbers import fraction_of
from accountant.pricing import slow_methods_for
from audits.gate.claim_file import Claim
from verification.outcome import Finding, Outcome, Stage
from verification.statistics.test import Cause

if TYPE_CHECKING:
    from audits.gate.options import GateOptions

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Account:
    """A mechanism's price by every method, and what it says about the claim."""

    claim: Claim
    mechanism: Mechanism
    report: Report | None
    outcome: Outcome
    detail: str

    @property
    def name(self) -> str:
        """The id of its finding."""
        return f"{self.mechanism.title}/{Stage.PRICE}"

    def finding(self, options: GateOptions) -> Finding:
        """Return it as a finding."""
        name = self.name
        refuted = self.outcome is Outcome.REFUTED
        again = options.reproduce(name, options.seed) if refuted else ""
        cause = Cause.PRICE if refuted else None
        return Finding(name, self.outcome, self.detail, reproduction=again, stage=Stage.PRICE, cause=cause)


def account(claim: Claim, mechanism: Mechanism) -> Account:
    """Price the mechanism and compare: refuted below ``lower``, stands from ``upper`` on, in between inconclusive."""
    if not mechanism.private:
        text = (
            f"{mechanism.algorithm} adds no noise: its epsilon is infinite (an output that one of two neighbours alone "
            f"can show; statement SADMM-SAMPLING), claimed is {claim.epsilon_text(_DIGITS)}"
        )
        return Account(claim, mechanism, None, Outcome.STANDS if claim.nothing else Outcome.REFUTED, text)
    try:
        report = _report(claim, mechanism)
    except AccountantError as error:
        if error.exit_code == 2:
            raise
        return Account(claim, mechanism, None, Outcome.INCONCLUSIVE, f"nothing could be certified: {error}")
    lower, upper = fraction_of(report.epsilon.lower), fraction_of(report.epsilon.upper)
    low, high = decimal_string(lower, _DIGITS, "down"), decimal_string(upper, _DIGITS, "up")
    delta, claimed = decimal_string(claim.delta, _DIGITS, "up"), claim.epsilon_text(_DIGITS)
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


def _report(claim: Claim, mechanism: Mechanism) -> Report:
    """Price it by the quick methods; where these leave the claim undecided, by the slow ones too."""
    report = epsilon(mechanism, claim.delta)
    undecided = fraction_of(report.epsilon.lower) <= claim.epsilon < fraction_of(report.epsilon.upper)
    return epsilon(mechanism, claim.delta, effort="tight") if undecided and slow_methods_for(mechanism) else report
