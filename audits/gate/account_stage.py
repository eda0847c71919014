"""The first stage: is the claimed epsilon what the mechanism costs? Certified, before anything is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from accountant import AccountantError, Ledger, Report, Sensitivity, decimal_string, epsilon, mpadmm, ssadmm
from accountant import Release as LedgerRelease
from accountant.mechanisms.baselines import admm_objp, dp_admm, dp_sgd, dp_svrg
from accountant.numbers import fraction_of
from audits.errors import AuditError
from audits.gate.claim_file import Claim, MechanismTable
from audits.gate.findings import Stage
from verification.outcome import Finding, Outcome

if TYPE_CHECKING:
    from audits.gate.options import GateOptions

_DIGITS = 6
T = TypeVar("T")


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
        return Finding(name, self.outcome, self.detail, reproduction=again)


def _ssadmm(m: MechanismTable) -> Ledger:
    """Algorithm 1; DP-SGD releases the same and costs the same."""
    price = ssadmm if m.algorithm == "ssadmm" else dp_sgd
    return price(
        records=m.records, batch=given(m.batch), iterations=m.iterations, sigma=given(m.sigma), clip=given(m.clip)
    )


def _mpadmm(m: MechanismTable) -> Ledger:
    return mpadmm(
        records=m.records,
        eta=given(m.eta),
        rho=given(m.rho),
        clip=given(m.clip),
        sigma=given(m.sigma),
        epochs=m.iterations,
        release=LedgerRelease.ALL if m.release == "all" else LedgerRelease.PRIMAL,
        sensitivity=Sensitivity.PRINTED if m.sensitivity == "printed" else Sensitivity.CORRECTED,
    )


def _dpadmm(m: MechanismTable) -> Ledger:
    return dp_admm(
        records=m.records,
        eta=given(m.eta),
        rho=given(m.rho),
        clip=given(m.clip),
        sigma=given(m.sigma),
        iterations=m.iterations,
        parties=given(m.parties),
    )


def _dpsvrg(m: MechanismTable) -> Ledger:
    inner = given(m.inner)
    return dp_svrg(
        records=m.records,
        batch=given(m.batch),
        epochs=m.iterations // inner,
        inner=inner,
        sigma_full=given(m.sigma_full),
        sigma_inner=given(m.sigma),
        clip=given(m.clip),
    )


def _objp(m: MechanismTable) -> Ledger:
    return admm_objp(epsilon=given(m.epsilon_iteration), iterations=m.iterations)


_LEDGERS: dict[str, Callable[[MechanismTable], Ledger]] = {
    "ssadmm": _ssadmm,
    "mpadmm": _mpadmm,
    "dpsgd": _ssadmm,
    "dpadmm": _dpadmm,
    "dpsvrg": _dpsvrg,
    "objp": _objp,
}
"""What is not here adds no noise, and no epsilon is large enough for it."""


def given(value: T | None) -> T:
    """The value, of a mechanism that was validated to have one."""
    if value is None:
        raise AssertionError("a validated mechanism holds what its algorithm needs")
    return value


def ledger_of(mechanism: MechanismTable) -> Ledger:
    """Return what the mechanism is said to release, exactly as written."""
    if mechanism.algorithm not in _LEDGERS:
        raise AuditError(f"{mechanism.algorithm} adds no noise: it has no price")
    return _LEDGERS[mechanism.algorithm](mechanism)


def account(claim: Claim, mechanism: MechanismTable) -> Account:
    """Price the mechanism and compare: refuted below ``lower``, stands from ``upper`` on, in between inconclusive."""
    if mechanism.algorithm not in _LEDGERS:
        text = (
            f"{mechanism.algorithm} adds no noise: its epsilon is infinite (an output that one of two neighbours alone "
            f"can show; statement SADMM-SAMPLING), claimed is {claim.epsilon_text(_DIGITS)}"
        )
        return Account(claim, mechanism, None, Outcome.STANDS if claim.nothing else Outcome.REFUTED, text)
    try:
        report = epsilon(ledger_of(mechanism), claim.delta)
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
