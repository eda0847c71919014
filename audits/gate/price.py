"""What less noise than claimed costs: the certified epsilon of the mechanism with the noise that was measured."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

from accountant import AccountantError, Mechanism, decimal_string
from accountant.numbers import fraction_of
from accountant.pricing import method_epsilon, methods_for
from audits.gate.claim_file import Claim
from audits.gate.time_limit import TookTooLongError, time_limit
from verification.statistics.noise_size import Effective, effective
from verification.wire.arrays import Floats

_DIGITS = 4
_SECONDS = 1.5  # for each method: some are slow where there is next to no noise, and others are not


def measured_cost(claim: Claim, mechanism: Mechanism, noise: dict[str, Floats]) -> str:
    """The noise that was measured, over the claimed one, and the epsilon that it costs."""
    seen = effective(noise)
    text = f"measured noise: {seen.ratio:.4g} of the claimed (99.9 %: {seen.low:.4g} to {seen.high:.4g})"
    return f"{text}; {priced(claim, mechanism, seen)}"


def priced(claim: Claim, mechanism: Mechanism, seen: Effective) -> str:
    """The sentence: what epsilon at the claimed delta is with the noise measured, and with its limits."""
    if not seen.ratio > 0.0:
        return "with no noise at all epsilon is infinite"
    most = _epsilon(claim, mechanism, seen.low)
    at = _least(_epsilon(claim, mechanism, seen.ratio), most)
    least = _least(_epsilon(claim, mechanism, seen.high), at)
    delta = decimal_string(claim.delta, _DIGITS, "up")
    return (
        f"epsilon at delta {delta} is then at most {_shown(at)} "
        f"({_shown(least)} to {_shown(most)} within these limits), claimed is {claim.epsilon_text(_DIGITS)}"
    )


def _shown(bound: Fraction | None) -> str:
    return "not certified" if bound is None else decimal_string(bound, _DIGITS, "up")


def _least(bound: Fraction | None, with_less_noise: Fraction | None) -> Fraction | None:
    """What holds with less noise holds with more, though another method may have answered in time."""
    known = [one for one in (bound, with_less_noise) if one is not None]
    return min(known) if known else None


def _epsilon(claim: Claim, mechanism: Mechanism, ratio: float) -> Fraction | None:
    """The least certified upper bound of those methods that are quick, with noise of this share of the claimed one.

    None: nothing finite was certified.
    """
    factor = Fraction(ratio).limit_denominator(10**6)
    if not factor > 0:
        return None
    ledger = with_less_noise(mechanism, factor).ledger()
    bounds: list[Fraction] = []
    for method in methods_for(ledger):
        try:
            with time_limit(_SECONDS):
                bounds.append(fraction_of(method_epsilon(ledger, claim.delta, method, digits=_DIGITS).epsilon.upper))
        except (AccountantError, TookTooLongError):
            continue
    return min(bounds) if bounds else None


def with_less_noise(mechanism: Mechanism, factor: Fraction) -> Mechanism:
    """The same mechanism with all of its noise multiplied by the factor."""
    names = ("sigma", "anchor_sigma", "noise_multiplier")
    less: dict[str, object] = {
        name: getattr(mechanism, name) * factor for name in names if getattr(mechanism, name, None) is not None
    }
    spent = getattr(mechanism, "epsilon", None)
    if spent is not None:
        less = {"epsilon": tuple(one / factor for one in spent)}
    changed: Mechanism = dataclasses.replace(mechanism, **less)  # type: ignore[arg-type]  # fields by name
    return changed
