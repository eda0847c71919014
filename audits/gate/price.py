"""What less noise than claimed costs: the certified epsilon of the mechanism with the noise that it really has."""

from __future__ import annotations

from fractions import Fraction

from accountant import AccountantError, decimal_string, epsilon
from accountant.numbers import fraction_of
from audits.errors import AuditError
from audits.gate.account_stage import ledger_of
from audits.gate.claim_file import Claim, MechanismTable
from verification.deployment.noise_tests import Effective

_DIGITS = 4


def priced(claim: Claim, mechanism: MechanismTable, really: Effective) -> str:
    """The sentence: what epsilon at the claimed delta is with the noise measured, and with its limits."""
    if not really.ratio > 0.0:
        return "with no noise at all epsilon is infinite"
    prices = [_epsilon(claim, mechanism, ratio) for ratio in (really.ratio, really.high, really.low)]
    at, least, most = prices
    delta = decimal_string(claim.delta, _DIGITS, "up")
    return f"epsilon at delta {delta} is then {at} ({least} to {most}), claimed is {claim.epsilon_text(_DIGITS)}"


def _epsilon(claim: Claim, mechanism: MechanismTable, ratio: float) -> str:
    """The certified upper bound with noise of this share of the claimed one."""
    if not ratio > 0.0:
        return "infinite"
    factor = Fraction(ratio).limit_denominator(10**6)
    if not factor:
        return "infinite"
    less = {
        name: getattr(mechanism, name) * factor
        for name in ("sigma", "sigma_full")
        if getattr(mechanism, name, None) is not None
    }
    each = mechanism.epsilon_iteration
    if each is not None:
        less = {"epsilon_iteration": each / factor}
    try:
        report = epsilon(ledger_of(mechanism.model_copy(update=less)), claim.delta)
    except (AccountantError, AuditError) as error:
        return f"not certified ({error})"
    return decimal_string(fraction_of(report.epsilon.upper), _DIGITS, "up")
