"""The first stage: is the claimed epsilon what the mechanism costs? Certified, before anything is run.

Also the price of noise that was measured, for a finding that noise is too small.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction

from accountant import AccountantError, Mechanism, Report, decimal_string, epsilon
from accountant.limits import time_limit
from accountant.mechanisms.batches import NoisyGradients
from accountant.mechanisms.declaration import declared_ledger
from accountant.mechanisms.words import Sampling
from accountant.numbers import fraction_of
from accountant.pricing import method_epsilon, methods_for, slow_methods_for
from audits.gate.claim_file import Claim
from verification.judge import Result, concluded
from verification.outcome import About, Aspect, Cause, Outcome, Stage
from verification.questions.question import Answer
from verification.statistics.noise_size import Effective, effective
from verification.statistics.test import Test
from verification.wire.arrays import Floats

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Account:
    """A mechanism's price by every method, and what it says about the claim."""

    claim: Claim
    mechanism: Mechanism
    report: Report | None
    judged: Result


def account(claim: Claim, mechanism: Mechanism, seconds: float = math.inf) -> Account:
    """Price the mechanism and compare: refuted below ``lower``, stands from ``upper`` on, in between inconclusive."""
    about = About("", mechanism.title, Stage.PRICE)
    if not mechanism.private:
        text = (
            f"{mechanism.algorithm} adds no noise: its epsilon is infinite (an output that one of two neighbours "
            f"alone can show; statement SADMM-SAMPLING), claimed is {claim.epsilon_text(_DIGITS)}"
        )
        return Account(claim, mechanism, None, _judged(about, text, holds=claim.nothing))
    try:
        with time_limit(seconds):
            report = _report(claim, mechanism)
            promised = [promise.compared(report.ledger) for promise in claim.promises]
    except AccountantError as error:
        if error.exit_code == 2:
            raise
        return Account(claim, mechanism, None, _judged(about, f"nothing could be certified: {error}", holds=None))
    holds, text = _compared(claim, report)
    # what a promise implies may be more than it says: then the promise itself decides, unless even that is refuted
    parts = promised if claim.implied and holds is not False else [(holds, text), *promised]
    ends = [end for end, _ in parts]
    together = False if False in ends else None if None in ends else True
    shown = [said for end, said in parts if end is together]
    return Account(claim, mechanism, report, _judged(about, "; ".join(shown), holds=together))


def _compared(claim: Claim, report: Report) -> tuple[bool | None, str]:
    lower, upper = fraction_of(report.epsilon.lower), fraction_of(report.epsilon.upper)
    low, high = decimal_string(lower, _DIGITS, "down"), decimal_string(upper, _DIGITS, "up")
    delta, claimed = decimal_string(claim.delta, _DIGITS, "up"), claim.epsilon_text(_DIGITS)
    if claim.epsilon >= upper:
        text = f"epsilon at delta {delta} is at most {high}, claimed is {claimed}"
        return True, "; ".join([text, *report.ledger.notes])
    if claim.epsilon < lower:
        text = f"epsilon at delta {delta} is at least {low} (two neighbouring data sets attain it)"
        return False, f"{text}, claimed is {claimed}"
    late = f"; no time was left for {', '.join(sorted(report.unfinished))}" if report.unfinished else ""
    return None, (
        f"claimed is {claimed}; certified is only that epsilon at delta {delta} lies between {low} (attained by a "
        f"concrete pair) and {high} (holds for every pair){late}. Claim {high}, or add noise"
    )


def _judged(about: About, detail: str, *, holds: bool | None) -> Result:
    """Hand the judge a test without chance; where neither end decides it is inconclusive."""
    if holds is None:
        return Result(about, Outcome.INCONCLUSIVE, reason=detail)
    test = Test.exact("price", Aspect.RELEASED, holds, detail, Cause.PRICE)
    return concluded(about, Answer("", "", 0, (test,), ()), 0.0)


def _report(claim: Claim, mechanism: Mechanism) -> Report:
    """Price it; where that leaves the claim undecided, with the slow methods for as long as they take."""
    report = epsilon(mechanism, claim.delta, effort="standard")
    undecided = fraction_of(report.epsilon.lower) <= claim.epsilon < fraction_of(report.epsilon.upper)
    return epsilon(mechanism, claim.delta, effort="tight") if undecided and slow_methods_for(mechanism) else report


_FEW_DIGITS = 4
_SECONDS = 1.5  # for each method: some are slow where there is next to no noise, and others are not


def measured_cost(claim: Claim, mechanism: Mechanism, noise: dict[str, Floats]) -> str:
    """The noise that was measured, over the claimed one, and the epsilon that it costs."""
    seen = effective(noise)
    text = f"measured noise: {seen.ratio:.4g} of the claimed (99.9 %: {seen.low:.4g} to {seen.high:.4g})"
    return f"{text}; {priced(claim, mechanism, seen)}"


def epochs_cost(claim: Claim, mechanism: Mechanism) -> str:
    """What it costs that batches which are claimed to be fresh are those of shuffled epochs; empty without a price."""
    if not isinstance(mechanism, NoisyGradients):
        return ""
    try:
        epochs = dataclasses.replace(mechanism, sampling=Sampling.SHUFFLE)
        with time_limit(_SECONDS):
            bound = epsilon(epochs, claim.delta, digits=_DIGITS).epsilon
    except AccountantError:
        return ""
    low = decimal_string(fraction_of(bound.lower), _DIGITS, "down")
    high = decimal_string(fraction_of(bound.upper), _DIGITS, "up")
    return (
        f"batches are those of epochs: epsilon at delta {decimal_string(claim.delta, _DIGITS, 'up')} is then at "
        f'least {low} and at most {high}, claimed is {claim.epsilon_text(_DIGITS)}; sampling = "shuffle" claims that'
    )


def priced(claim: Claim, mechanism: Mechanism, seen: Effective) -> str:
    """The sentence: what epsilon at the claimed delta is with the noise measured, and with its limits."""
    if not seen.ratio > 0.0:
        return "with no noise at all epsilon is infinite"
    most = _epsilon(claim, mechanism, seen.low)
    at = _least(_epsilon(claim, mechanism, seen.ratio), most)
    least = _least(_epsilon(claim, mechanism, seen.high), at)
    delta = decimal_string(claim.delta, _FEW_DIGITS, "up")
    return (
        f"epsilon at delta {delta} is then at most {_shown(at)} "
        f"({_shown(least)} to {_shown(most)} within these limits), claimed is {claim.epsilon_text(_FEW_DIGITS)}"
    )


def _shown(bound: Fraction | None) -> str:
    return "not certified" if bound is None else decimal_string(bound, _FEW_DIGITS, "up")


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
    try:
        ledger = declared_ledger(mechanism.declaration().with_noise(factor))
    except AccountantError:
        return None
    bounds: list[Fraction] = []
    for method in methods_for(ledger):
        try:
            with time_limit(_SECONDS):
                bounds.append(
                    fraction_of(method_epsilon(ledger, claim.delta, method, digits=_FEW_DIGITS).epsilon.upper)
                )
        except AccountantError:
            continue
    return min(bounds) if bounds else None
