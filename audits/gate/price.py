"""What less noise than claimed costs: the certified epsilon of the mechanism with the noise that it really has."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

from accountant import AccountantError, Mechanism, decimal_string, epsilon
from accountant.numbers import fraction_of
from accountant.pricing import methods_for
from audits.errors import AuditError
from audits.gate.claim_file import Claim
from audits.gate.time_limit import TookTooLongError, time_limit
from verification.deployment.noise_tests import Effective

_DIGITS = 4
_SECONDS = 10.0
_SLOW = "profile"  # tighter by some per cent, and slow where there is next to no noise


def priced(claim: Claim, mechanism: Mechanism, really: Effective) -> str:
    """The sentence: what epsilon at the claimed delta is with the noise measured, and with its limits."""
    if not really.ratio > 0.0:
        return "with no noise at all epsilon is infinite"
    try:
        with time_limit(_SECONDS):
            prices = [_epsilon(claim, mechanism, ratio) for ratio in (really.ratio, really.high, really.low)]
    except TookTooLongError as error:
        return f"what epsilon that costs could not be computed: {error}"
    at, least, most = prices
    delta = decimal_string(claim.delta, _DIGITS, "up")
    return (
        f"epsilon at delta {delta} is then at most {at} ({least} to {most} within these limits), "
        f"claimed is {claim.epsilon_text(_DIGITS)}"
    )


def _epsilon(claim: Claim, mechanism: Mechanism, ratio: float) -> str:
    """The certified upper bound with noise of this share of the claimed one."""
    if not ratio > 0.0:
        return "infinite"
    factor = Fraction(ratio).limit_denominator(10**6)
    if not factor:
        return "infinite"
    less = {
        name: getattr(mechanism, name) * factor
        for name in ("sigma", "anchor_sigma", "noise_multiplier")
        if getattr(mechanism, name, None) is not None
    }
    each = getattr(mechanism, "epsilon", None)
    if each is not None:
        less = {"epsilon": tuple(one / factor for one in each)}
    try:
        ledger = dataclasses.replace(mechanism, **less).ledger()
        quick = [method for method in methods_for(ledger) if method != _SLOW]
        report = epsilon(ledger, claim.delta, methods=quick or None)
    except (AccountantError, AuditError) as error:
        return f"not certified ({error})"
    return decimal_string(fraction_of(report.epsilon.upper), _DIGITS, "up")
