r"""Re-derive a certificate by an independent route: mpmath against flint, exact integers against Fourier transforms.

- Renyi methods: the value at the stated order, from `mpmath_route`, must lie inside the stated ends.
- `gdp`: delta at both stated ends, from mpmath, must lie on either side of the stated delta.
- `profile`: `integer_route` must confirm delta(upper) <= delta, and must not exclude `lower`. Its grid
  is coarser than the fast one, so this is decided to `PROFILE_SLACK` of epsilon; a certificate that claims an epsilon
  smaller than the truth by more than twice that is refused.
- `epsilon` must be what the methods support, and the digest must fit.

Whatever does not fit raises `CertificateError`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from accountant.certificates.certificate import Certificate, MethodRecord, certificate, read_ledger
from accountant.certificates.integer_route import ExactPair, Grid, exact_delta_upper
from accountant.certificates.mpmath_route import epsilon_at_order, gaussian_delta
from accountant.errors import CannotCertifyError, CertificateError
from accountant.mechanisms.ledger import Ledger, gdp_squared
from accountant.mechanisms.quantities import failure_probability, order
from accountant.mechanisms.steps import PureStep, Step
from accountant.numbers import exact, fraction_of
from accountant.pld.invert import log_of
from accountant.pld.ledger_steps import composed_profile, profile_steps
from accountant.pricing import RENYI, THEOREMS, methods_for, slow_methods_for
from accountant.pricing import epsilon as price

PROFILE_SLACK = Fraction(1, 500)
MAX_WINDOW = 1 << 18
SPACING_BITS = 20
SECOND_ROUTE_DIGITS = 8
"""The second route carries this many digits more than it is compared in."""


@dataclass(frozen=True, slots=True)
class Rederived:
    """What was re-derived, and how it compared."""

    subject: str
    statement: str


def recheck(document: Certificate) -> tuple[Rederived, ...]:
    """Re-derive every number of the certificate, or raise the first that does not fit."""
    if document.digest != document.expected_digest():
        raise CertificateError(f"the digest is {document.digest[:16]}..., its content has another: it was altered")
    ledger, delta = read_ledger(document.ledger), failure_probability(document.delta)
    if document.sound != ledger.sound:
        raise CertificateError(f"sound={document.sound} does not fit the ledger")
    findings = [
        _recheck_method(ledger, delta, name, record, document.digits) for name, record in document.methods.items()
    ]
    return (*findings, _recheck_upper(ledger, delta, document), _recheck_lower(ledger, delta, document))


def _recheck_method(ledger: Ledger, delta: Fraction, name: str, record: MethodRecord, digits: int) -> Rederived:
    if name not in methods_for(ledger) + slow_methods_for(ledger):
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
    if name == "gdp":
        _require_gdp(gdp_squared(ledger.steps), delta, lower, upper, digits=digits, name=name)
        return Rederived(name, "mpmath finds delta on either side of the target at the two ends")
    if name == "pure":
        total = sum((s.count * s.epsilon for s in ledger.steps if isinstance(s, PureStep)), Fraction(0))
        if not lower <= total <= upper:
            raise CertificateError(f"pure: the epsilons add up to {total}")
        return Rederived(name, f"the epsilons add up to {total}")
    if name == "adversary":
        from accountant.pld.adversary.recheck import require_adversary_upper  # noqa: PLC0415 - numpy only where needed

        return Rederived(name, require_adversary_upper(ledger.steps, delta, upper))
    return _recheck_profile(ledger.steps, delta, lower, upper)


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
    if fraction_of(gaussian_delta(mu_squared, upper, precise)) > delta + slack:
        raise CertificateError(f"{name}: delta at the upper end exceeds the stated delta")
    if lower > 0 and fraction_of(gaussian_delta(mu_squared, lower, precise)) < delta - slack:
        raise CertificateError(f"{name}: delta at the lower end is below the stated delta")


def _recheck_profile(steps: tuple[Step, ...], delta: Fraction, lower: Fraction, upper: Fraction) -> Rederived:
    require_profile_upper(steps, delta, upper)
    if lower > 0:
        require_profile_lower(steps, delta, lower)
    return Rederived("profile", f"exact integers confirm both ends to {float(2 * PROFILE_SLACK):.1%}")


def require_profile_upper(steps: tuple[Step, ...], delta: Fraction, upper: Fraction) -> None:
    """Raise unless exact integers confirm that epsilon = upper (1 + slack) has at most this delta.

    Every grid gives an upper bound, so the first that confirms decides; the grid is refined where one does not.
    """
    below, widened = profile_steps(steps, "down"), upper * (1 + PROFILE_SLACK)
    grid = recheck_grid(steps, delta, upper)
    for finer in (1, 2, 4, 8):
        refined = Grid(grid.spacing / finer, grid.window * finer, grid.bits + finer)
        if refined.window > MAX_WINDOW:
            break
        if exact_delta_upper(below, ExactPair.DOMINATING, widened, refined) <= delta:
            return
    raise CertificateError(f"profile: exact integers find delta({_show(upper)}) above the stated delta")


def require_profile_lower(steps: tuple[Step, ...], delta: Fraction, lower: Fraction) -> None:
    """Raise where exact integers prove that neither order of the realisable pair reaches delta at lower."""
    above, grid = profile_steps(steps, "up"), recheck_grid(steps, delta, lower)
    if all(
        exact_delta_upper(above, pair, lower * (1 - PROFILE_SLACK), grid) < delta
        for pair in (ExactPair.MIXTURE_FIRST, ExactPair.MIXTURE_SECOND)
    ):
        raise CertificateError(f"profile: no realisable pair reaches the stated delta at {_show(lower)}")


def recheck_grid(steps: tuple[Step, ...], delta: Fraction, epsilon: Fraction) -> Grid:
    r"""Return a grid whose chords cost about half the slack: they shift epsilon by about theta T h^2/12.

    theta is the slope of -log(delta). It and the reach are asked of the fast composition, for a guess only: every grid
    is sound. Beyond the window may lie a tenth of what the slack allows of delta: P[L > x + y] <= delta(x)/(1 - e^-y).
    """
    composed, T = composed_profile(steps, delta), sum(step.count for step in steps)
    near = epsilon or composed.epsilon_upper(min(delta, composed.delta_upper(Fraction(0))) / 4)
    if not near > 0:
        raise CannotCertifyError("the losses are too small to re-derive the profile on a grid")
    drop = log_of(composed.delta_upper(near * Fraction(99, 100))) - log_of(composed.delta_upper(near))
    theta = max(100 * drop, 1.0)
    mantissa, exponent = math.frexp(float(near) * math.sqrt(6 * float(PROFILE_SLACK) / (theta * T)))
    spacing = Fraction(round(mantissa * 2**SPACING_BITS)) * Fraction(2) ** (exponent - SPACING_BITS)
    spare = delta * PROFILE_SLACK * Fraction(theta) / 10
    reach = min(composed.epsilon_upper(spare * min(y, Fraction(1)) / 2) + y for y in (near, Fraction(1)))
    window = (reach / spacing).__ceil__() + 1
    if window > MAX_WINDOW:
        raise CannotCertifyError(f"re-deriving the profile needs {window} points a side, above {MAX_WINDOW}")
    bits = (1 / delta).__ceil__().bit_length() + T.bit_length() + window.bit_length() + 16
    return Grid(spacing, window, bits)


def _recheck_upper(ledger: Ledger, delta: Fraction, document: Certificate) -> Rederived:
    _, upper = _ends("epsilon", document.epsilon.lower, document.epsilon.upper)
    methods, whose = document.methods, ""
    if ledger.corrected:
        truth, whose = Ledger(ledger.corrected), " for the corrected sensitivities"
        methods = certificate(price(truth, delta, digits=document.digits)).methods
        for name, record in methods.items():
            _recheck_method(truth, delta, name, record, document.digits)
    if upper < min(exact("upper", record.upper) for record in methods.values()):
        raise CertificateError(f"epsilon.upper={document.epsilon.upper} is below what every method supports{whose}")
    return Rederived("epsilon.upper", f"supported by the best method{whose}")


def _recheck_lower(ledger: Ledger, delta: Fraction, document: Certificate) -> Rederived:
    lower, _ = _ends("epsilon", document.epsilon.lower, document.epsilon.upper)
    if lower == 0:
        return Rederived("epsilon.lower", "0 is always true")
    mu_squared = gdp_squared(ledger.realisable)
    if mu_squared is not None:
        attained = fraction_of(gaussian_delta(mu_squared, lower, document.digits + 2 * SECOND_ROUTE_DIGITS))
        if attained < delta * (1 - Fraction(1, 10 ** (document.digits + SECOND_ROUTE_DIGITS))):
            raise CertificateError(f"epsilon.lower={document.epsilon.lower} is not attained by the realisable pair")
        return Rederived("epsilon.lower", "attained by a Gaussian pair")
    if not ledger.realisable:
        raise CertificateError("epsilon.lower > 0 needs a realisable pair, and the ledger names none")
    checked = document.methods.get("profile") if ledger.realisable == ledger.steps else None
    if checked is None or exact("lower", checked.lower) < lower:
        require_profile_lower(ledger.realisable, delta, lower)
    return Rederived("epsilon.lower", "not excluded by exact integers")


def _show(value: Fraction) -> str:
    return f"{float(value):.10g}"
