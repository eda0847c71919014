r"""Re-derive a certificate by independent routes: mpmath against flint, contours and exact integers against lattices.

Nothing in the certificate is trusted but the mechanisms' parameters (and delta): the ledger must be theirs, and every
other number is derived again. A certificate of a ledger that was put together by hand names no mechanisms; then its
steps are taken as they are, and its lower end is not certified: nothing shows that a pair of neighbours attains it.

- Renyi methods: the value at the stated order, from `mpmath_route`, must lie inside the stated ends.
- `gdp`: delta at both stated ends, from mpmath, must lie on either side of the stated delta.
- `optimal-pure`: the same, from the definition of delta over all answers.
- `profile`: both ends by `profile_check`, to 1e-4 of epsilon or better.
- `adversary`: other lattices and a fresh test of every box.
- **What is certified** is the upper end that these routes prove. Where they confirm the stated one only to a width, the
  wider end is certified (`certified_upper`), and the stated one is refused if a lower end that this program proves is
  above it: the realisable pairs' on a lattice, and for `adversary` the adaptive adversary's. A lower end that they
  confirm only to a width is certified no further than lattices prove it as well (`certified_lower`).
- The pair behind `epsilon.lower` may use no more than the steps release: each of its steps is one of them, or one with
  a smaller sensitivity. `epsilon` must be what the methods support, and the digest must fit.

Whatever does not fit raises `CertificateError`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from mpmath import mpf

from accountant.certificates.certificate import Certificate, MethodRecord, certificate, read_ledger, read_mechanism
from accountant.certificates.mpmath_route import (
    epsilon_at_order,
    exceeds,
    gaussian_delta,
    laplace_delta,
    randomised_response_delta,
    reaches,
    shuffled_delta,
)
from accountant.certificates.profile_check import (
    Attained,
    Proved,
    is_attained_by_mixture,
    losses_reach,
    proved_profile_upper,
    require_profile_lower,
    unsampled_square,
)
from accountant.errors import CannotCertifyError, CertificateError
from accountant.groups import share_of_delta, smaller_groups
from accountant.limits import check_time, time_limit
from accountant.lower_end import (
    adaptive_lower,
    attained,
    composable,
    gaussian_steps,
    pure_releases,
    responses_in,
    with_sums,
)
from accountant.mechanisms.ledger import Ledger, gdp_squared
from accountant.mechanisms.quantities import delta_or_zero, order
from accountant.mechanisms.steps import GaussianStep, LaplaceStep, PureStep, ShuffledStep, Step
from accountant.mechanisms.words import Noise
from accountant.numbers import INFINITE, exact, fraction_of
from accountant.pld.ledger_steps import attained_steps, profile_steps
from accountant.pricing import (
    RENYI,
    REST_SHARE,
    THEOREMS,
    last_resort_for,
    methods_for,
    parted,
    slow_methods_for,
)
from accountant.pricing import epsilon as price
from accountant.profiles.pure import MOST_LOSSES, pure_parts
from accountant.shuffled import levels

SECOND_ROUTE_DIGITS = 8
"""The second route carries this many digits more than it is compared in."""
MOST_SECONDS = 60.0
FEWEST_DIGITS = 15
"""It never carries fewer than these, whatever the certificate says."""


@dataclass(frozen=True, slots=True)
class Rederived:
    """What was re-derived, and how it compared."""

    subject: str
    statement: str
    proved: Fraction | None = None
    """The end that was proved, where this is about one; never inside of the stated ones."""
    whole: bool = False
    """Whether it is an end of the certificate, and not that of one of its methods."""
    decided: bool = True
    """Whether the lower end was decided, and not only confirmed to a width."""


def certified_upper(findings: Sequence[Rederived]) -> Fraction:
    """Return the upper end of epsilon that a check has proved."""
    return _certified(findings)[0]


def certified_lower(findings: Sequence[Rederived]) -> Fraction:
    """Return the lower end of epsilon that a check has proved."""
    return _certified(findings)[1]


def _certified(findings: Sequence[Rederived]) -> tuple[Fraction, Fraction]:
    ends = [finding.proved for finding in findings if finding.whole and finding.proved is not None]
    if len(ends) != 2:
        raise CertificateError("no ends were proved")
    return ends[0], ends[1]


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
    ledger = dataclasses.replace(ledger, mechanisms=tuple(map(read_mechanism, document.mechanisms)))
    delta = delta_or_zero(document.delta, pure=ledger.is_pure)
    if document.sound != ledger.sound:
        raise CertificateError(f"sound={document.sound} does not fit the ledger")
    if not document.methods:
        raise CertificateError("a certificate without a method certifies nothing")
    for name in document.refused:
        if name not in (*methods_for(ledger), *slow_methods_for(ledger)) or name in document.methods:
            raise CertificateError(f"refused: {name!r} is no method that could have been refused here")
    _require_within(ledger)
    digits = max(document.digits, FEWEST_DIGITS)
    findings = _recheck_methods(ledger, delta, document.methods, digits)
    upper = _recheck_upper(ledger, delta, document, findings)
    return (*findings, upper, _recheck_lower(ledger, delta, document, findings))


def _recheck_methods(
    ledger: Ledger, delta: Fraction, methods: Mapping[str, MethodRecord], digits: int
) -> list[Rederived]:
    """Re-derive each method; one that is too large for its second route proves nothing, and one at least must."""
    findings: list[Rederived] = []
    refusal: CannotCertifyError | None = None
    for name, record in methods.items():
        try:
            findings.append(_recheck_method(ledger, delta, name, record, digits))
        except CannotCertifyError as reason:
            check_time()
            refusal = refusal or reason
            findings.append(Rederived(name, f"not re-derived, and not counted: {reason}"))
    if refusal is not None and all(finding.proved is None for finding in findings):
        raise refusal
    return findings


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
        return Rederived(name, f"mpmath finds {_show(value)} at alpha={record.alpha}", upper)
    if name in {"gdp", "unsampled"}:
        square = gdp_squared(ledger.steps) if name == "gdp" else unsampled_square(ledger.steps)
        if square is None:
            raise CertificateError(f"{name}: these steps are not Gaussian releases of everything")
        return _require_delta(name, functools.partial(gaussian_delta, square), delta, (lower, upper), digits)
    if name == "pure":
        total = sum((s.count * s.epsilon for s in ledger.steps if isinstance(s, PureStep)), Fraction(0))
        if not lower <= total <= upper:
            raise CertificateError(f"pure: the epsilons add up to {total}")
        return Rederived(name, f"the epsilons add up to {total}", upper)
    if name == "optimal-pure":
        found = functools.partial(randomised_response_delta, pure_releases(ledger.steps))
        return _require_delta(name, found, delta, (lower, upper), digits)
    if name in {"adversary", "group"}:
        return (_recheck_adversary if name == "adversary" else _recheck_groups)(ledger, delta, upper)
    return _recheck_profile(ledger, delta, lower, upper)


def _recheck_groups(ledger: Ledger, delta: Fraction, upper: Fraction) -> Rederived:
    """Derive the upper end of some groups in a row again: each by a second route, at its share of delta."""
    undecided: CannotCertifyError | None = None
    for groups, part in smaller_groups(ledger):
        check_time()
        each = upper / groups
        try:
            proved = groups * proved_profile_upper(part.steps, share_of_delta(groups, each, delta), each).upper
        except CannotCertifyError as reason:
            undecided = reason
            continue
        except CertificateError:
            continue
        # a wider end of each group needs more of delta than its share, which a second look at that end decides
        if proved <= upper:
            return Rederived("group", f"a second route proves it for {groups} groups in a row", proved)
        each = proved / groups
        with contextlib.suppress(CertificateError, CannotCertifyError):
            again = groups * proved_profile_upper(part.steps, share_of_delta(groups, each, delta), each).upper
            if again <= proved:
                return Rederived(
                    "group", f"a second route proves it{_widened(upper, proved)} for {groups} groups", proved
                )
    if undecided is not None:
        raise undecided
    raise CertificateError("group: no number of smaller groups in a row confirms the stated end")


def _recheck_adversary(ledger: Ledger, delta: Fraction, upper: Fraction) -> Rederived:
    """Derive the upper end again; a stated end that is not confirmed must not be below what an adversary attains."""
    from accountant.pld.adversary.method import proved_adversary_upper  # noqa: PLC0415 - numpy only where needed

    proved = proved_adversary_upper(ledger, delta, upper)
    if proved > upper:
        attained = adaptive_lower(ledger, delta, None)
        if attained is not None and attained > upper:
            raise CertificateError(f"adversary: an adaptive adversary attains {_show(attained)}, above {_show(upper)}")
    how = "other lattices and a fresh test of all boxes"
    return Rederived("adversary", f"{how} prove it{_widened(upper, proved)}", proved)


def _widened(upper: Fraction, proved: Fraction) -> str:
    return f" to {float(proved / upper - 1):.2%}" if proved > upper else ""


def _ends(name: str, lower: str, upper: str) -> tuple[Fraction, Fraction]:
    ends = exact(f"{name}.lower", lower), exact(f"{name}.upper", upper)
    if not 0 <= ends[0] <= ends[1]:
        raise CertificateError(f"{name}: [{lower}, {upper}] is no enclosure of an epsilon")
    return ends


def _require_delta(
    name: str, found: Callable[[Fraction, int], mpf], delta: Fraction, ends: tuple[Fraction, Fraction], digits: int
) -> Rederived:
    """Refuse ends on either side of which delta, as a second route finds it, does not lie."""
    lower, upper = ends
    slack, precise = delta / 10 ** (digits + SECOND_ROUTE_DIGITS), digits + 2 * SECOND_ROUTE_DIGITS
    if exceeds(found(upper, precise), delta + slack):
        raise CertificateError(f"{name}: delta at the upper end exceeds the stated delta")
    if lower > 0 and not reaches(found(lower, precise), delta - slack):
        raise CertificateError(f"{name}: delta at the lower end is below the stated delta")
    return Rederived(name, "mpmath finds delta on either side of the target at the two ends", upper)


def _recheck_profile(ledger: Ledger, delta: Fraction, lower: Fraction, upper: Fraction) -> Rederived:
    core, pure, rest = parted(ledger.steps)
    ways = [((*core, *pure), rest), (core, (*pure, *rest))] if pure else [(core, rest)]
    found = _first_proved([way for way in ways if way[0]], delta, upper)
    below = require_profile_lower(core, delta, lower) if lower > 0 else Attained(found.how)
    how = " and ".join(sorted({found.how, below.how}))
    return Rederived("profile", f"{how} for both ends", found.upper, decided=below.decided)


def _first_proved(
    ways: Sequence[tuple[tuple[Step, ...], tuple[Step, ...]]], delta: Fraction, upper: Fraction
) -> Proved:
    """Return the first way to compose some steps and to add what the others cost that proves the end."""
    refusal: Exception | None = None
    for composed, apart in ways:
        spent = delta * REST_SHARE if apart else Fraction(0)
        added = _rest(apart, spent) if apart else Fraction(0)
        if upper < added:
            refusal = refusal or CertificateError(f"profile: the steps without a profile alone cost {_show(added)}")
            continue
        try:
            found = proved_profile_upper(composed, delta - spent, upper - added)
        except (CertificateError, CannotCertifyError) as reason:
            check_time()
            refusal = refusal or reason
            continue
        return Proved(added + found.upper, found.how)
    raise refusal or CertificateError("profile: nothing to compose")


def _rest(steps: tuple[Step, ...], delta: Fraction) -> Fraction:
    """Return what steps without a profile cost by the methods that `profile` adds them by, re-derived."""
    others = Ledger(steps)
    names = ["optimal-pure", "pure"] if others.is_pure else list(methods_for(others)[-1:])
    report = price(others, delta, methods=names, digits=10)
    for name, record in certificate(report).methods.items():
        _recheck_method(others, delta, name, record, FEWEST_DIGITS)
    return min(result.epsilon.most for result in report.methods.values()).fraction()


def _require_ledger(document: Certificate, ledger: Ledger) -> None:
    """Refuse a ledger that is not the one of the mechanisms: its realisable part would support any lower end."""
    if not document.mechanisms:
        return
    true = functools.reduce(operator.add, [read_mechanism(record).ledger() for record in document.mechanisms])
    for name in ("neighbours", "steps", "realisable", "corrected", "notes", "ordered"):
        if getattr(ledger, name) != getattr(true, name):
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
        weaker = step.count <= released.count and step.ratio_squared <= released.ratio_squared
        return weaker and step.noise is released.noise
    if isinstance(step, PureStep) and isinstance(released, PureStep):
        weaker = step.count <= released.count and step.epsilon <= released.epsilon
        return weaker and type(step) is type(released) and step.neighbours is released.neighbours
    if isinstance(step, ShuffledStep) and isinstance(released, GaussianStep):
        weaker = released.ratio_squared * step.noise_multiplier**2 >= 1 and step.count <= released.count
        return weaker and released.noise is Noise.GAUSSIAN  # a group's releases move further than one record's
    return step == released


def _recheck_upper(ledger: Ledger, delta: Fraction, document: Certificate, findings: Sequence[Rederived]) -> Rederived:
    _, upper = _ends("epsilon", document.epsilon.lower, document.epsilon.upper)
    supported, whose = min(exact("upper", record.upper) for record in document.methods.values()), ""
    if ledger.corrected:
        truth, whose = Ledger(ledger.corrected), " for the corrected sensitivities"
        priced = price(truth, delta, digits=max(document.digits, FEWEST_DIGITS))
        digits = max(document.digits, FEWEST_DIGITS)
        findings = _recheck_methods(truth, delta, certificate(priced).methods, digits)
        supported = min(fraction_of(result.epsilon.upper) for result in priced.methods.values())
    if upper < supported:
        raise CertificateError(f"epsilon.upper={document.epsilon.upper} is below what every method supports{whose}")
    proved = max(upper, min(finding.proved for finding in findings if finding.proved is not None))
    if proved > upper:
        least = attained(composable(ledger.corrected or ledger.steps), delta, INFINITE, None, digits=FEWEST_DIGITS)
        if least.fraction() > upper:
            raise CertificateError(f"a pair of neighbours attains {_show(least.fraction())}, above {_show(upper)}")
        how = f"proved{_widened(upper, proved)} by the best method{whose}"
        return Rederived("epsilon.upper", how, proved, whole=True)
    return Rederived("epsilon.upper", f"supported by the best method{whose}", proved, whole=True)


def _recheck_lower(ledger: Ledger, delta: Fraction, document: Certificate, findings: Sequence[Rederived]) -> Rederived:
    lower, _ = _ends("epsilon", document.epsilon.lower, document.epsilon.upper)
    found = _confirmed_lower(ledger, delta, lower, document, findings) if lower else Attained("0 is always true")
    if not found.decided:  # what lattices prove themselves is certified, where that is less
        lower = min(lower, attained(ledger.realisable, delta, INFINITE, None, digits=FEWEST_DIGITS).fraction())
    return Rederived("epsilon.lower", found.how, lower, whole=True)


def _confirmed_lower(
    ledger: Ledger, delta: Fraction, lower: Fraction, document: Certificate, findings: Sequence[Rederived]
) -> Attained:
    """Return how a pair of neighbours was found to attain the lower end, or raise."""
    if _is_attained_by_shuffled(ledger.realisable, delta, lower, document):
        return Attained("attained by the largest value of each shuffled epoch")
    ledger = dataclasses.replace(ledger, realisable=with_sums(ledger.realisable))
    if not ledger.realisable:
        raise CertificateError("epsilon.lower > 0 needs a realisable pair, and the ledger names none")
    if Ledger(ledger.realisable).is_pure and delta == 0:
        whole = sum((epsilon * count for epsilon, count in pure_releases(ledger.realisable)), Fraction(0))
        if lower > whole:
            raise CertificateError(f"epsilon.lower={document.epsilon.lower} exceeds the sum of the epsilons")
        return Attained("attained by the pure releases")
    responses = responses_in(ledger.realisable)
    for attains, steps, what in (
        (_is_attained_by_pure, responses, "randomised response alone"),
        (_is_attained_by_laplace, ledger.realisable, "one release with Laplace noise"),
        (_is_attained_by_gaussian, responses, "Gaussian steps alone"),
        (_is_attained_by_levels, responses, "levels that losses reach"),
    ):
        if attains(steps, delta, lower, document):
            return Attained(f"attained by {what}")
    if _is_attained_together(ledger.realisable, delta, lower):
        return Attained("attained by all steps together (exact integers)", decided=False)
    if not composable(ledger.realisable):
        raise CertificateError(f"epsilon.lower={document.epsilon.lower} is not attained by the pure releases")
    checked = document.methods.get("profile") if ledger.realisable == ledger.steps else None
    if checked is None or exact("lower", checked.lower) < lower:
        found = require_profile_lower(composable(ledger.realisable), delta, lower)
        return Attained(f"{found.how} for the pair", found.decided)
    return Attained("the lower end of the profile", all(finding.decided for finding in findings))


def _is_attained_by_shuffled(steps: tuple[Step, ...], delta: Fraction, lower: Fraction, document: Certificate) -> bool:
    """Say whether the largest value of every epoch reaches delta at the lower end."""
    epochs = [step for step in steps if isinstance(step, ShuffledStep)]
    tried = (functools.partial(shuffled_delta, step, level) for step in epochs for level in levels(step, delta))
    return any(_is_reached(found, delta, lower, document) for found in tried)


def _is_attained_by_pure(steps: tuple[Step, ...], delta: Fraction, lower: Fraction, document: Certificate) -> bool:
    """Say whether the pure steps alone reach delta at the lower end: leaving the others out is post-processing."""
    return any(
        _is_reached(functools.partial(randomised_response_delta, part), delta, lower, document)
        for part in pure_parts(pure_releases(steps))
        if lower <= sum((epsilon * count for epsilon, count in part), Fraction(0))
        and math.prod(count + 1 for _, count in part) <= MOST_LOSSES  # else it has no price of its own
    )


def _is_attained_by_laplace(steps: tuple[Step, ...], delta: Fraction, lower: Fraction, document: Certificate) -> bool:
    """Say whether one release with Laplace noise alone reaches delta at the lower end."""
    largest = max((step.epsilon for step in steps if isinstance(step, LaplaceStep)), default=lower)
    return lower < largest and _is_reached(functools.partial(laplace_delta, largest), delta, lower, document)


def _is_attained_together(steps: tuple[Step, ...], delta: Fraction, lower: Fraction) -> bool:
    """Say whether steps of several kinds, pure ones among them, reach delta together at the lower end."""
    core, pure = parted(steps)[:2]
    if not pure or (not core and not any(isinstance(step, LaplaceStep) for step in pure)):
        return False
    try:
        return is_attained_by_mixture((*core, *pure), delta, lower)
    except CannotCertifyError:
        check_time()
        return False


def _is_attained_by_levels(steps: tuple[Step, ...], delta: Fraction, lower: Fraction, _: Certificate) -> bool:
    """Say whether the losses of all steps exceed the lower end often enough."""
    drawn = profile_steps(attained_steps(composable(steps), delta), "up")
    return losses_reach(drawn, pure_releases(steps), delta, lower)


def _is_attained_by_gaussian(steps: tuple[Step, ...], delta: Fraction, lower: Fraction, document: Certificate) -> bool:
    """Say whether the Gaussian releases of everything alone reach delta at the lower end."""
    square = gdp_squared(gaussian_steps(steps) or steps)
    return square is not None and _is_reached(functools.partial(gaussian_delta, square), delta, lower, document)


def _is_reached(found: Callable[[Fraction, int], mpf], delta: Fraction, lower: Fraction, document: Certificate) -> bool:
    """Say whether delta, as a second route finds it, is reached at the lower end."""
    check_time()
    digits = max(document.digits, FEWEST_DIGITS) + SECOND_ROUTE_DIGITS
    return reaches(found(lower, digits + SECOND_ROUTE_DIGITS), delta * (1 - Fraction(1, 10**digits)))


def _show(value: Fraction) -> str:
    return f"{float(value):.10g}"
