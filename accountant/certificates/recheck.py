r"""Re-derive a certificate by independent routes: mpmath against flint, contours and exact integers against lattices.

Nothing in the certificate is trusted but the mechanisms' parameters (and delta): the ledger must be theirs, and every
other number is derived again. A certificate of a ledger that was put together by hand names no mechanisms; then its
steps are taken as they are, and its lower end is not certified: nothing shows that a pair of neighbours attains it.

- Renyi methods: the value at the stated order, from `mpmath_route`, must lie inside the stated ends.
- `gdp`: delta at both stated ends, from mpmath, must lie on either side of the stated delta.
- `optimal-pure`: the same, from the definition of delta over all answers.
- `profile`: both ends by `profile_check`, to 1e-4 of epsilon or better.
- `adversary`: another lattice and a fresh test of every box, to 1 %; and, unless it is too long (few steps), a contour
  integral of the forward pair, which no upper end may be below.
- The pair behind `epsilon.lower` may use no more than the steps release: each of its steps is one of them, or one with
  a smaller sensitivity. `epsilon` must be what the methods support, and the digest must fit.

Whatever does not fit raises `CertificateError`.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from accountant.attained import composable, gaussian_steps, pure_releases
from accountant.certificates.certificate import Certificate, MethodRecord, certificate, read_ledger
from accountant.certificates.comparing import exceeds, reaches
from accountant.certificates.contour_route import composed_delta
from accountant.certificates.integer_route import ExactPair
from accountant.certificates.level_route import losses_reach
from accountant.certificates.mechanism_record import read_mechanism
from accountant.certificates.mpmath_pure import randomised_response_delta
from accountant.certificates.mpmath_route import epsilon_at_order, gaussian_delta
from accountant.certificates.profile_check import CONTOUR_SLACK, require_profile_lower, require_profile_upper
from accountant.errors import CannotCertifyError, CertificateError
from accountant.limits import time_limit
from accountant.mechanisms.ledger import Ledger, gdp_squared
from accountant.mechanisms.quantities import delta_or_zero, order
from accountant.mechanisms.steps import GaussianStep, PureStep, Step
from accountant.numbers import arb_from_fraction, arb_precision, exact, fraction_of
from accountant.pld.ledger_steps import attained_steps, profile_steps
from accountant.pricing import (
    RENYI,
    REST_SHARE,
    THEOREMS,
    last_resort_for,
    methods_for,
    slow_methods_for,
)
from accountant.pricing import epsilon as price
from accountant.profiles.pure import MOST_LOSSES, pure_parts

SECOND_ROUTE_DIGITS = 8
"""The second route carries this many digits more than it is compared in."""
MOST_SECONDS = 60.0
FEWEST_DIGITS = 15
_BITS = 96
"""It never carries fewer than these, whatever the certificate says."""


@dataclass(frozen=True, slots=True)
class Rederived:
    """What was re-derived, and how it compared."""

    subject: str
    statement: str


def recheck(document: Certificate, *, seconds: float | None = MOST_SECONDS) -> tuple[Rederived, ...]:
    """Re-derive every number of the certificate, or raise the first that does not fit.

    A certificate is somebody else's: after so many seconds (None: without end) `TimeLimitError` is raised, and nothing
    is said about it.
    """
    with time_limit(seconds):
        return _rederived(document)


def _rederived(document: Certificate) -> tuple[Rederived, ...]:
    if document.digest != document.expected_digest():
        raise CertificateError(f"the digest is {document.digest[:16]}..., its content has another: it was altered")
    ledger = read_ledger(document.ledger)
    _require_ledger(document, ledger)
    delta = delta_or_zero(document.delta, pure=ledger.is_pure)
    if document.sound != ledger.sound:
        raise CertificateError(f"sound={document.sound} does not fit the ledger")
    if not document.methods:
        raise CertificateError("a certificate without a method certifies nothing")
    for name in document.refused:
        if name not in methods_for(ledger) or name in document.methods:
            raise CertificateError(f"refused: {name!r} is no method that could have been refused here")
    _require_within(ledger)
    digits = max(document.digits, FEWEST_DIGITS)
    findings = [_recheck_method(ledger, delta, name, record, digits) for name, record in document.methods.items()]
    return (*findings, _recheck_upper(ledger, delta, document), _recheck_lower(ledger, delta, document))


def _recheck_method(ledger: Ledger, delta: Fraction, name: str, record: MethodRecord, digits: int) -> Rederived:
    if name not in methods_for(ledger) + slow_methods_for(ledger) + last_resort_for(ledger):
        raise CertificateError(f"method {name!r} is not proved for this ledger")
    if record.theorem != THEOREMS[name] or record.epsilon != record.upper:
        raise CertificateError(f"{name}: the record contradicts itself")
    lower, upper = _ends(name, record.lower, record.upper)
    if name in RENYI:
        if record.alpha is None:
            raise CertificateError(f"{name}: an order is missing")
        theorem, conversion, _ = RENYI[name]
        alpha = order(record.alpha)
        value = fraction_of(
            epsilon_at_order(ledger, theorem, conversion, alpha=alpha, delta=delta, digits=digits + SECOND_ROUTE_DIGITS)
        )
        error = abs(value) / 10 ** (digits + SECOND_ROUTE_DIGITS // 2)
        if not lower - error <= value <= upper + error:
            raise CertificateError(
                f"{name}: mpmath finds {_show(value)} at alpha={record.alpha}, not in [{record.lower}, {record.upper}]"
            )
        return Rederived(name, f"mpmath finds {_show(value)} at alpha={record.alpha}")
    if name in {"gdp", "unsampled"}:
        square = gdp_squared(ledger.steps) if name == "gdp" else _squared_as_if_unsampled(ledger)
        _require_gdp(square, delta, lower, upper, digits=digits, name=name)
        return Rederived(name, "mpmath finds delta on either side of the target at the two ends")
    if name == "pure":
        total = sum((s.count * s.epsilon for s in ledger.steps if isinstance(s, PureStep)), Fraction(0))
        if not lower <= total <= upper:
            raise CertificateError(f"pure: the epsilons add up to {total}")
        return Rederived(name, f"the epsilons add up to {total}")
    if name == "optimal-pure":
        _require_pure(pure_releases(ledger.steps), delta, lower, upper, digits=digits)
        return Rederived(name, "mpmath finds delta on either side of the target at the two ends")
    if name == "adversary":
        return _recheck_adversary(ledger, delta, upper)
    return _recheck_profile(ledger, delta, lower, upper)


def _squared_as_if_unsampled(ledger: Ledger) -> Fraction:
    """Return the sum of (Delta/sigma)^2 over all steps, whatever they sample."""
    terms = [
        step.count * (step.ratio_squared if isinstance(step, GaussianStep) else 1 / step.noise_multiplier**2)
        for step in ledger.steps
        if not isinstance(step, PureStep)
    ]
    return sum(terms, Fraction(0))


def _recheck_adversary(ledger: Ledger, delta: Fraction, upper: Fraction) -> Rederived:
    """Confirm the upper end on another lattice; an end that the forward pair exceeds, by a contour, is false."""
    from accountant.pld.adversary.recheck import require_adversary_upper  # noqa: PLC0415 - numpy only where needed

    how = require_adversary_upper(ledger.steps, delta, upper)
    try:
        attained = composed_delta(profile_steps(ledger.steps, "down"), ExactPair.MIXTURE_FIRST, upper, delta)
    except CannotCertifyError:  # the contour is too long for few steps
        return Rederived("adversary", how)
    with arb_precision(_BITS):
        if not attained < arb_from_fraction(delta * (1 + CONTOUR_SLACK)):
            raise CertificateError(
                f"adversary: a contour integral finds delta({_show(upper)}) of a realisable pair above"
            )
    return Rederived("adversary", f"{how}; a contour integral finds the forward pair below it")


def _ends(name: str, lower: str, upper: str) -> tuple[Fraction, Fraction]:
    ends = exact(f"{name}.lower", lower), exact(f"{name}.upper", upper)
    if not 0 <= ends[0] <= ends[1]:
        raise CertificateError(f"{name}: [{lower}, {upper}] is no enclosure of an epsilon")
    return ends


def _require_gdp(
    mu_squared: Fraction | None, delta: Fraction, lower: Fraction, upper: Fraction, *, digits: int, name: str
) -> None:
    if mu_squared is None:
        raise CertificateError(f"{name}: these steps are not Gaussian releases of everything")
    slack = delta / 10 ** (digits + SECOND_ROUTE_DIGITS)
    precise = digits + 2 * SECOND_ROUTE_DIGITS
    if exceeds(gaussian_delta(mu_squared, upper, precise), delta + slack):
        raise CertificateError(f"{name}: delta at the upper end exceeds the stated delta")
    if lower > 0 and not reaches(gaussian_delta(mu_squared, lower, precise), delta - slack):
        raise CertificateError(f"{name}: delta at the lower end is below the stated delta")


def _require_pure(
    releases: Sequence[tuple[Fraction, int]], delta: Fraction, lower: Fraction, upper: Fraction, *, digits: int
) -> None:
    slack = delta / 10 ** (digits + SECOND_ROUTE_DIGITS)
    precise = digits + 2 * SECOND_ROUTE_DIGITS
    if exceeds(randomised_response_delta(releases, upper, precise), delta + slack):
        raise CertificateError("optimal-pure: delta at the upper end exceeds the stated delta")
    if lower > 0 and not reaches(randomised_response_delta(releases, lower, precise), delta - slack):
        raise CertificateError("optimal-pure: delta at the lower end is below the stated delta")


def _recheck_profile(ledger: Ledger, delta: Fraction, lower: Fraction, upper: Fraction) -> Rederived:
    core = composable(ledger.steps)
    rest = tuple(step for step in ledger.steps if step not in core)
    spent, added = (delta * REST_SHARE, _rest(rest, delta * REST_SHARE)) if rest else (Fraction(0), Fraction(0))
    if upper < added:
        raise CertificateError(f"profile: the steps without a profile alone cost {_show(added)}")
    how = {require_profile_upper(core, delta - spent, upper - added)}
    if lower > 0:
        how.add(require_profile_lower(core, delta, lower))
    return Rederived("profile", f"{' and '.join(sorted(how))} for both ends")


def _rest(steps: tuple[Step, ...], delta: Fraction) -> Fraction:
    """Return what steps without a profile cost by the methods that `profile` adds them by, re-derived."""
    others = Ledger(steps)
    report = certificate(price(others, delta, methods=sorted({*methods_for(others)[-1:], *_pure(others)}), digits=10))
    for name, record in report.methods.items():
        _recheck_method(others, delta, name, record, FEWEST_DIGITS)
    # Rounded up when it was written down: a trifle is allowed back.
    return min(exact("upper", record.upper) for record in report.methods.values()) * (1 - Fraction(1, 10**8))


def _pure(ledger: Ledger) -> tuple[str, ...]:
    return ("pure",) if ledger.is_pure else ()


def _require_ledger(document: Certificate, ledger: Ledger) -> None:
    """Refuse a ledger that is not the one of the mechanisms: its realisable part would support any lower end."""
    if not document.mechanisms:
        return
    true = functools.reduce(operator.add, [read_mechanism(record).ledger() for record in document.mechanisms])
    for name, stated, derived in (
        ("neighbours", ledger.neighbours, true.neighbours),
        ("steps", ledger.steps, true.steps),
        ("realisable", ledger.realisable, true.realisable),
        ("corrected", ledger.corrected, true.corrected),
        ("notes", ledger.notes, true.notes),
    ):
        if stated != derived:
            raise CertificateError(f"ledger.{name} is not what the mechanisms' parameters give")


def _require_within(ledger: Ledger) -> None:
    """Refuse a realisable part that the steps do not contain: it would support any lower end."""
    truth = list(ledger.corrected or ledger.steps)
    for step in ledger.realisable:
        place = next((i for i, released in enumerate(truth) if _is_within(step, released)), None)
        if place is None:
            raise CertificateError(f"the realisable part has a step that was not released: {step}")
        del truth[place]


def _is_within(step: Step, released: Step) -> bool:
    if isinstance(step, GaussianStep) and isinstance(released, GaussianStep):
        return (
            step.noise is released.noise
            and step.count <= released.count
            and (step.ratio_squared <= released.ratio_squared)
        )
    if isinstance(step, PureStep) and isinstance(released, PureStep):
        return (
            step.neighbours is released.neighbours and step.count <= released.count and step.epsilon <= released.epsilon
        )
    return step == released


def _recheck_upper(ledger: Ledger, delta: Fraction, document: Certificate) -> Rederived:
    _, upper = _ends("epsilon", document.epsilon.lower, document.epsilon.upper)
    supported, whose = min(exact("upper", record.upper) for record in document.methods.values()), ""
    if ledger.corrected:
        truth, whose = Ledger(ledger.corrected), " for the corrected sensitivities"
        priced = price(truth, delta, digits=max(document.digits, FEWEST_DIGITS))
        for name, record in certificate(priced).methods.items():
            _recheck_method(truth, delta, name, record, max(document.digits, FEWEST_DIGITS))
        supported = min(fraction_of(result.epsilon.upper) for result in priced.methods.values())
    if upper < supported:
        raise CertificateError(f"epsilon.upper={document.epsilon.upper} is below what every method supports{whose}")
    return Rederived("epsilon.upper", f"supported by the best method{whose}")


def _recheck_lower(ledger: Ledger, delta: Fraction, document: Certificate) -> Rederived:
    lower, _ = _ends("epsilon", document.epsilon.lower, document.epsilon.upper)
    if lower == 0:
        return Rederived("epsilon.lower", "0 is always true")
    if not ledger.realisable:
        raise CertificateError("epsilon.lower > 0 needs a realisable pair, and the ledger names none")
    mu_squared = gdp_squared(ledger.realisable)
    if mu_squared is not None:
        digits = max(document.digits, FEWEST_DIGITS)
        attained = gaussian_delta(mu_squared, lower, digits + 2 * SECOND_ROUTE_DIGITS)
        if not reaches(attained, delta * (1 - Fraction(1, 10 ** (digits + SECOND_ROUTE_DIGITS)))):
            raise CertificateError(f"epsilon.lower={document.epsilon.lower} is not attained by the realisable pair")
        return Rederived("epsilon.lower", "attained by a Gaussian pair")
    if Ledger(ledger.realisable).is_pure:
        digits = max(document.digits, FEWEST_DIGITS)
        whole = sum((epsilon * count for epsilon, count in pure_releases(ledger.realisable)), Fraction(0))
        if delta == 0 and lower > whole:
            raise CertificateError(f"epsilon.lower={document.epsilon.lower} exceeds the sum of the epsilons")
        ways = (_is_attained_by_pure, _is_attained_by_levels)
        if delta > 0 and not any(attains(ledger.realisable, delta, lower, document) for attains in ways):
            _require_pure(pure_releases(ledger.realisable), delta, lower, whole, digits=digits)
        return Rederived("epsilon.lower", "attained by randomised response")
    for attains, what in (
        (_is_attained_by_pure, "randomised response alone"),
        (_is_attained_by_gaussian, "Gaussian steps alone"),
        (_is_attained_by_levels, "levels that losses reach"),
    ):
        if attains(ledger.realisable, delta, lower, document):
            return Rederived("epsilon.lower", f"attained by {what}")
    checked = document.methods.get("profile") if ledger.realisable == ledger.steps else None
    if checked is None or exact("lower", checked.lower) < lower:
        return Rederived(
            "epsilon.lower", f"{require_profile_lower(composable(ledger.realisable), delta, lower)} for the pair"
        )
    return Rederived("epsilon.lower", "the lower end of the profile")


def _is_attained_by_pure(steps: tuple[Step, ...], delta: Fraction, lower: Fraction, document: Certificate) -> bool:
    """Say whether the pure steps alone reach delta at the lower end: leaving the others out is post-processing."""
    digits = max(document.digits, FEWEST_DIGITS)
    for part in pure_parts(pure_releases(steps)):
        if lower > sum((epsilon * count for epsilon, count in part), Fraction(0)):
            continue
        if math.prod(count + 1 for _, count in part) <= MOST_LOSSES:  # else it has no price of its own
            found = randomised_response_delta(part, lower, digits + 2 * SECOND_ROUTE_DIGITS)
            if reaches(found, delta * (1 - Fraction(1, 10 ** (digits + SECOND_ROUTE_DIGITS)))):
                return True
    return False


def _is_attained_by_levels(steps: tuple[Step, ...], delta: Fraction, lower: Fraction, _: Certificate) -> bool:
    """Say whether the losses of all steps exceed the lower end often enough."""
    drawn = profile_steps(attained_steps(composable(steps)), "up")
    return losses_reach(drawn, pure_releases(steps), delta, lower)


def _is_attained_by_gaussian(steps: tuple[Step, ...], delta: Fraction, lower: Fraction, document: Certificate) -> bool:
    """Say whether the Gaussian releases of everything alone reach delta at the lower end."""
    mu_squared, digits = gdp_squared(gaussian_steps(steps)), max(document.digits, FEWEST_DIGITS)
    if mu_squared is None:
        return False
    return reaches(gaussian_delta(mu_squared, lower, digits + 2 * SECOND_ROUTE_DIGITS), delta)


def _show(value: Fraction) -> str:
    return f"{float(value):.10g}"
