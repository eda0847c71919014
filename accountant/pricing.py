r"""The price of a ledger by every method that is proved for it.

| method | what it is | proved for |
|---|---|---|
| `lemma2-prop1` | [CL20] Lemma 2 and Proposition 1, as printed | batches without replacement, either noise |
| `lemma2-cks` | Lemma 2, better conversion | the same |
| `wbk27-cks` | the source's Theorem 27 | real Gaussian noise; Lemma 2 for other steps beside it |
| `tight-rdp-cks` | tight Renyi divergence, any real alpha | the same |
| `profile` | the dominating profile composed numerically | real Gaussian noise, Laplace; pure steps beside it |
| `adversary` | the exact adversary; where it gains 1 % in 3 s | fixed-size batches, other steps beside them |
| `rdp-prop1`, `rdp-cks` | Renyi curve of the plain release | Gaussian, discrete, Poisson and pure steps |
| `group` | several smaller groups in a row | groups of records on drawn batches |
| `gdp` | exact | real Gaussian noise on everything |
| `pure` | the sum of the epsilons; the only one at delta = 0 | pure steps |
| `optimal-pure` | composition of pure steps without loss | pure steps |
| `unsampled` | as if every record were used in every step; where nothing else has an answer | real Gaussian noise |

For the Renyi methods a `Bound` encloses *the method's value at the order it reports*: only its upper end may support
a claim. `Report.epsilon.upper` is the smallest proved upper end; `Report.epsilon.lower` comes from a realisable pair
alone and says what no accountant that knows only these parameters may go below.

The Renyi curve itself: certified epsilon(alpha) of a mechanism by every theorem that is proved for it.

What RDP users quote before any conversion to (epsilon, delta).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Literal

from accountant.errors import CannotCertifyError, InvalidQuantityError, TimeLimitError, UnsupportedSchemeError
from accountant.groups import grouped_epsilon, smaller_groups
from accountant.limits import check_time, processor_limit, time_left, time_limit
from accountant.lower_end import adaptive_lower, attained, composable, pure_releases
from accountant.mechanisms.ledger import Ledger, gdp_squared, has_leader, unsampled_squared
from accountant.mechanisms.mechanism import Mechanism, ledger_of
from accountant.mechanisms.quantities import delta_or_zero, order
from accountant.mechanisms.steps import (
    GaussianStep,
    LaplaceStep,
    PoissonGaussianStep,
    PureStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Neighbours, Noise
from accountant.numbers import (
    INFINITE,
    Bound,
    Exact,
    arb_from_fraction,
    arb_precision,
    decimal_string,
    fraction_of,
    has_digits,
    precisions,
    shown,
)
from accountant.profiles.gaussian import gaussian_epsilon
from accountant.profiles.pure import pure_epsilon
from accountant.renyi.conversion import Conversion, MomentGuess, best_epsilon
from accountant.renyi.moments import Subsampling, ledger_log_moment

DEFAULT_DIGITS = 15
REPLACE_ONE = Neighbours.REPLACE_ONE
Effort = Literal["quick", "standard", "tight"]
STANDARD_SECONDS = 3.0
"""What a slow method may take with effort "standard", of the processor: the answer is the same on a busy machine."""
WORTH_SAYING = Fraction(1, 100)
"""A gain of less than one per cent is not worth the seconds that it takes."""
REST_SHARE = Fraction(1, 64)
"""The part of delta that steps without a profile are given where they stand beside others."""

RENYI: Mapping[str, tuple[Subsampling, Conversion, str]] = MappingProxyType(
    {
        "lemma2-prop1": (Subsampling.LEMMA2, Conversion.PROPOSITION1, "[CL20] Lemma 2, Lemma 3, Proposition 1"),
        "lemma2-cks": (Subsampling.LEMMA2, Conversion.CKS, "[CL20] Lemma 2, Lemma 3; [CKS20] Proposition 12"),
        "wbk27-cks": (Subsampling.WBK27, Conversion.CKS, "[WBK19] Theorem 27; [CKS20] Proposition 12"),
        "tight-rdp-cks": (
            Subsampling.TIGHT,
            Conversion.CKS,
            "[BBG18] Theorem 9, integrated; [CKS20] Proposition 12",
        ),
        "rdp-prop1": (Subsampling.LEMMA2, Conversion.PROPOSITION1, "[CL20] Lemma 1, Lemma 3, Proposition 1"),
        "rdp-cks": (Subsampling.LEMMA2, Conversion.CKS, "[M17] Proposition 1; [CKS20] Proposition 12"),
    }
)
THEOREMS: Mapping[str, str] = MappingProxyType(
    {name: entry[2] for name, entry in RENYI.items()}
    | {
        "profile": "[BBG18] Theorem 9, composed numerically ([ZDW22] Theorem 10)",
        "adversary": "docs/reference/adversary.md, Theorems 2 and 3, certified numerically",
        "gdp": "[BW18] Theorem 8 with [DRS22] Corollary 3.3",
        "pure": "basic composition",
        "group": "neighbours in a row (docs/reference/accounting.md, Groups), of the composed profile",
        "optimal-pure": "[KOV15] Theorem 3.3; of different epsilons [MV16]",
        "unsampled": "sampling costs nothing; [BW18] Theorem 8 with [DRS22] Corollary 3.3",
    }
)


@dataclass(frozen=True, slots=True)
class MethodResult:
    """One method's answer: the enclosure of its value, the order it used, the theorem it rests on, how it was found."""

    epsilon: Bound
    alpha: Fraction | None
    theorem: str
    how: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """The price of a ledger at delta; `refused` says why a method that was asked for has no answer."""

    ledger: Ledger
    delta: Fraction
    digits: int
    epsilon: Bound
    methods: Mapping[str, MethodResult]
    refused: Mapping[str, str]
    unfinished: frozenset[str] = frozenset()
    """The refused methods that only lacked time."""
    adaptive: Fraction | None = None
    """With effort "tight": a lower end for steps whose vectors follow the outputs (`pld.adversary.adaptive_lower`)."""

    def __repr__(self) -> str:
        return f"<Report: {self}>"

    def __str__(self) -> str:
        """The enclosure, rounded outwards, and the method of its upper end."""
        best = next((name for name, found in self.methods.items() if found.epsilon.most == self.epsilon.most), "none")
        return f"epsilon in {self.epsilon} at delta {decimal_string(self.delta, 4, 'down')} (method {best})"

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        rows = "".join(f"<tr><td>{name}</td><td>{found.epsilon}</td></tr>" for name, found in self.methods.items())
        return f"<b>{self}</b><table><tr><th>method</th><th>epsilon</th></tr>{rows}</table>"


def methods_for(priced: Ledger | Mechanism) -> tuple[str, ...]:
    """Return the methods that are proved for the mechanism or ledger, the paper's own first."""
    ledger = ledger_of(priced)
    if ledger.is_pure:
        known = any(isinstance(step, LaplaceStep) for step in ledger.steps)
        return ("pure", "optimal-pure", "rdp-cks", *(("profile",) if known else ()))
    if any(isinstance(step, WithReplacementStep) for step in ledger.steps):
        return ("profile", "group") if smaller_groups(ledger) else ("profile",)
    if any(isinstance(step, SubsampledGaussianStep) and step.neighbours is not REPLACE_ONE for step in ledger.steps):
        return ("tight-rdp-cks", "profile") if ledger.is_exactly_gaussian else ("profile",)
    exact = ("gdp",) if gdp_squared(ledger.steps) is not None else ()
    composed = ("profile",) if composable(ledger.steps) and not exact else ()
    if not ledger.is_subsampled:
        return ("rdp-prop1", "rdp-cks", *composed, *exact)
    if not any(isinstance(step, SubsampledGaussianStep) for step in composable(ledger.steps)):
        return ("lemma2-prop1", "lemma2-cks", *composed)
    return ("lemma2-prop1", "lemma2-cks", "wbk27-cks", "tight-rdp-cks", "profile", *exact)


def slow_methods_for(priced: Ledger | Mechanism) -> tuple[str, ...]:
    """Return the methods that are proved as well but take seconds: part of the answer unless effort is "quick"."""
    return ("adversary",) if has_leader(ledger_of(priced).steps) else ()


def wide_by(report: Report) -> Fraction:
    """Return the width of the enclosure over its upper end: 1 where the lower end is 0, or nothing is certified."""
    if report.epsilon.most == INFINITE:
        return Fraction(1)
    lower, upper = fraction_of(report.epsilon.least), fraction_of(report.epsilon.most)
    return (upper - lower) / upper if upper else Fraction(0)


def may_gain(report: Report) -> Fraction:
    """Return the part of epsilon that a slow method may still take off at most; 0 where that is little, or none can."""
    left = set(slow_methods_for(report.ledger)) - set(report.methods) - (set(report.refused) - report.unfinished)
    if report.epsilon.most == INFINITE or report.ledger.corrected or not left:
        return Fraction(0)
    gain = wide_by(report)
    return gain if gain >= WORTH_SAYING else Fraction(0)


def last_resort_for(priced: Ledger | Mechanism) -> tuple[str, ...]:
    """Return the method that always has a quick answer, if a loose one: no part of the default answer."""
    return () if unsampled_squared(ledger_of(priced).steps) is None else ("unsampled",)


def epsilon(
    priced: Ledger | Mechanism,
    delta: Exact,
    *,
    methods: Sequence[str] | None = None,
    digits: int = DEFAULT_DIGITS,
    effort: Effort = "quick",
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Price a mechanism or a ledger at delta; raise if no method can.

    Effort "standard" adds the exact adversary where it may gain one per cent, for at most three seconds; "tight" adds
    it in any case, without that limit.

    A method named in `methods` that is not proved for it is an error, never silently left out.
    """
    ledger = ledger_of(priced)
    d = delta_or_zero(delta, pure=ledger.is_pure)
    if digits < 1:
        raise InvalidQuantityError(f"digits must be >= 1, got digits={digits}")
    default = methods_for(ledger) + (slow_methods_for(ledger) if effort == "tight" else ())
    chosen = tuple(methods) if methods is not None else (default if d else ("pure",))
    if not d and chosen != ("pure",):
        raise UnsupportedSchemeError(f"at delta = 0 only the method 'pure' is proved, got {', '.join(chosen)}")
    _refuse_unproved(ledger, chosen)
    pricing = _Pricing(ledger, d, digits, progress)
    for name in chosen:
        pricing.add(name, None if name == chosen[-1] else time_left() / 2)  # the last one may use all that is left
    if not pricing.results and methods is None and d:
        pricing.results |= {name: method_epsilon(ledger, d, name, digits=digits) for name in last_resort_for(ledger)}
    if not pricing.results:
        raise CannotCertifyError("no method could certify anything: " + "; ".join(pricing.refused.values()))
    report = pricing.report(effort)
    if effort == "standard" and methods is None and d and STANDARD_SECONDS and may_gain(report):
        with processor_limit(STANDARD_SECONDS):
            for name in slow_methods_for(ledger):
                pricing.add(name, None)
        smallest = min(result.epsilon.most for result in pricing.results.values())
        tightened = Bound(report.epsilon.least, min(report.epsilon.most, smallest))
        unfinished = frozenset(pricing.unfinished)
        return replace(
            report, epsilon=tightened, methods=pricing.results, refused=pricing.refused, unfinished=unfinished
        )
    if effort == "tight" and methods is None:
        return replace(report, adaptive=adaptive_lower(ledger, d, progress))
    return report


@dataclass(slots=True)
class _Pricing:
    """The answers of methods so far."""

    ledger: Ledger
    delta: Fraction
    digits: int
    progress: Callable[[str], None] | None
    results: dict[str, MethodResult] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    unfinished: set[str] = field(default_factory=set)

    def add(self, name: str, seconds: float | None) -> None:
        """Ask one method, within so many seconds."""
        if self.progress is not None:
            self.progress(name)
        try:
            with time_limit(seconds):
                check_time()
                self.results[name] = method_epsilon(self.ledger, self.delta, name, digits=self.digits)
        except (CannotCertifyError, ArithmeticError) as reason:  # numbers that float64 cannot hold certify nothing
            self.refused[name] = str(reason)
            if isinstance(reason, TimeLimitError):
                self.unfinished.add(name)

    def report(self, effort: Effort) -> Report:
        """Return what they come to."""
        enclosure = _enclosure(self.ledger, self.delta, self.results, self.digits, effort)
        unfinished = frozenset(self.unfinished)
        return Report(self.ledger, self.delta, self.digits, enclosure, self.results, self.refused, unfinished)


def method_epsilon(ledger: Ledger, delta: Fraction, method: str, *, digits: int) -> MethodResult:
    """Return one method's answer at delta."""
    theorem = THEOREMS[method]
    if method in RENYI:
        subsampling, conversion, _ = RENYI[method]
        found = best_epsilon(
            lambda alpha, bits: ledger_log_moment(ledger, subsampling, alpha, bits),
            delta,
            conversion,
            digits=digits,
            integers=ledger.is_subsampled and subsampling is not Subsampling.TIGHT,
            whole=_is_discrete(ledger),
            hints=order_hints(ledger, delta),
            guess=_order_guess(ledger, subsampling),
        )
        return MethodResult(found.epsilon, found.alpha, theorem)
    if method in {"profile", "group"}:
        bound = _profile_epsilon(ledger, delta) if method == "profile" else _group_epsilon(ledger, delta)
        return MethodResult(bound, None, theorem)
    if method == "adversary":
        from accountant.pld.adversary.method import ledger_epsilon  # noqa: PLC0415 - numpy is loaded only when needed

        bound, how = ledger_epsilon(ledger, delta)
        return MethodResult(bound, None, theorem, how)
    if method in {"gdp", "unsampled"}:
        mu_squared = gdp_squared(ledger.steps) if method == "gdp" else unsampled_squared(ledger.steps)
        if mu_squared is None:
            raise UnsupportedSchemeError(f"{method} needs real Gaussian noise on everything")
        return MethodResult(gaussian_epsilon(mu_squared, delta, digits=digits), None, theorem)
    if method == "optimal-pure":
        return MethodResult(pure_epsilon(pure_releases(ledger.steps), delta, digits=digits), None, theorem)
    total = sum((step.count * step.epsilon for step in ledger.steps if isinstance(step, PureStep)), Fraction(0))
    return MethodResult(Bound.from_fractions(total, total), None, theorem)


def _is_discrete(ledger: Ledger) -> bool:
    """Whether all noise is discrete: then the price is that of the end-to-end theorems in Coq, at integer orders."""
    gaussian = (GaussianStep, SubsampledGaussianStep)
    return all(isinstance(step, gaussian) and step.noise is Noise.DISCRETE for step in ledger.steps)


def _order_guess(ledger: Ledger, theorem: Subsampling) -> MomentGuess | None:
    """Return about the Renyi curve where it is an integral; the sums of the printed theorems are quick as they are."""
    integrals = any(isinstance(step, PoissonGaussianStep | SubsampledGaussianStep) for step in ledger.steps)
    if not integrals or (ledger.is_subsampled and theorem is not Subsampling.TIGHT):
        return None
    from accountant.pld.guesses import moment_guess  # noqa: PLC0415 - numpy is loaded only when needed

    return moment_guess(ledger.steps)


def order_hints(ledger: Ledger, delta: Fraction) -> tuple[int, ...]:
    r"""Return the k for which 1 + 2^k is near sqrt(2 log(1/delta)/x), the best order of the unamplified ledger."""
    x = Fraction(0)
    for step in ledger.steps:
        if isinstance(step, PureStep):
            x += step.count * step.epsilon**2
        else:
            x += step.count * (step.ratio_squared if isinstance(step, GaussianStep | SubsampledGaussianStep) else 1)
    log_inverse = max(1, (1 / delta).__ceil__().bit_length())
    square = 2 * log_inverse / x
    return ((square.numerator.bit_length() - square.denominator.bit_length()) // 2,)


def _refuse_unproved(ledger: Ledger, chosen: tuple[str, ...]) -> None:
    proved = methods_for(ledger) + slow_methods_for(ledger) + last_resort_for(ledger)
    for name in chosen:
        if name not in THEOREMS:
            raise InvalidQuantityError(f"method must be one of {', '.join(THEOREMS)}, got method={name!r}")
        if name not in proved:
            raise UnsupportedSchemeError(
                f"method {name!r} is not proved for this ledger; proved are {', '.join(proved)}"
            )


def _enclosure(ledger: Ledger, delta: Fraction, results: dict[str, MethodResult], digits: int, effort: Effort) -> Bound:
    """Return the certified enclosure: the smallest proved upper end, a realisable pair's lower end."""
    if ledger.corrected:
        truth = Ledger(ledger.corrected, ledger.realisable)
        return epsilon(truth, delta, digits=digits, effort=effort).epsilon
    upper = min((result.epsilon.most for result in results.values()), default=INFINITE)
    composed = results["profile"].epsilon.least if ledger.realisable == ledger.steps and "profile" in results else None
    return Bound(attained(ledger.realisable, delta, upper, composed, digits=digits), upper)


def profile_upper(ledger: Ledger, delta: Fraction, tolerance: Fraction) -> Fraction:
    r"""Return an upper epsilon by the composed profile, pure steps on the same lattice; others are priced apart.

    (e1, d1) and (e2, d2) compose to (e1 + e2, d1 + d2), pure steps to the sum of their epsilons.
    """
    from accountant.pld.ledger_steps import composed_epsilon_upper  # noqa: PLC0415 - numpy is loaded only when needed

    core, pure, rest = parted(ledger.steps)
    if pure:
        with contextlib.suppress(CannotCertifyError):
            added, spent = _added(rest, delta)
            return added + composed_epsilon_upper((*core, *pure), delta - spent, tolerance)
        check_time()
    if not core:
        raise CannotCertifyError("no lattice certified anything")
    added, spent = _added((*pure, *rest), delta)
    return added + composed_epsilon_upper(core, delta - spent, tolerance)


def _quick_upper(ledger: Ledger, delta: Fraction) -> Fraction:
    """Return the upper end of the composed profile, or the closed form."""
    mu_squared = gdp_squared(ledger.steps)
    if mu_squared is not None:
        return gaussian_epsilon(mu_squared, delta, digits=10).most.fraction()
    return profile_upper(ledger, delta, Fraction(1, 10**3))


def _group_epsilon(ledger: Ledger, delta: Fraction) -> Bound:
    return Bound.from_fractions(Fraction(0), grouped_epsilon(_quick_upper, ledger, delta))


def parted(steps: tuple[Step, ...]) -> tuple[tuple[Step, ...], tuple[Step, ...], tuple[Step, ...]]:
    """Return the steps with Gaussian noise that have a profile, the pure ones, and those without a profile."""
    core = composable(steps)
    pure = tuple(step for step in steps if isinstance(step, PureStep))
    return core, pure, tuple(step for step in steps if step not in core and step not in pure)


def _added(steps: tuple[Step, ...], delta: Fraction) -> tuple[Fraction, Fraction]:
    """Return what steps cost that are priced apart, and the part of delta that they are given."""
    if not steps:
        return Fraction(0), Fraction(0)
    others, spent = Ledger(steps), delta * REST_SHARE
    if not others.is_pure:
        return method_epsilon(others, spent, methods_for(others)[-1], digits=10).epsilon.most.fraction(), spent
    found = method_epsilon(others, spent, "pure", digits=10).epsilon.most
    with contextlib.suppress(CannotCertifyError):
        found = min(found, method_epsilon(others, spent, "optimal-pure", digits=10).epsilon.most)
    return found.fraction(), spent


def _profile_epsilon(ledger: Ledger, delta: Fraction) -> Bound:
    from accountant.pld.ledger_steps import attained_epsilon, composed_epsilon  # noqa: PLC0415 - as above

    core = composable(ledger.steps)
    if core == ledger.steps:
        return composed_epsilon(core, delta)
    upper = profile_upper(ledger, delta, Fraction(1, 10**4))
    lower = attained_epsilon(core, delta) if core else Fraction(0)
    return Bound.from_fractions(min(lower, upper), upper)


@dataclass(frozen=True, slots=True)
class RenyiPoint:
    """epsilon(alpha) by each theorem; `refused` says why one has no value there.

    `between` are the integers around an order that is none: there `lemma2` and `wbk27`, theorems about integers, are
    the chord of (alpha-1) epsilon(alpha), which is convex (E4); `tight-rdp` and `rdp` hold at every real order.
    """

    alpha: Fraction
    epsilon: Mapping[str, Bound]
    refused: Mapping[str, str]

    @property
    def between(self) -> tuple[int, int] | None:
        """The two integers around the order; None for an integer, and where no theorem is about integers alone."""
        chords = {"lemma2", "wbk27"} & {*self.epsilon, *self.refused}
        below = self.alpha.__floor__()
        return (below, below + 1) if chords and below != self.alpha else None


def rdp(priced: Ledger | Mechanism, alpha: Exact, *, digits: int = 50, theorem: str | None = None) -> Bound:
    """Enclose the Renyi epsilon of order alpha > 1 to `digits` digits, by the tightest proved theorem or the one named.

    Numbers of any mpmath context go in; `lower` and `upper` hold all digits, whatever `mpmath.mp.dps` is.
    """
    (point,) = renyi_curve(priced, [alpha], digits=digits)
    if theorem is not None and theorem not in {*point.epsilon, *point.refused}:
        proved = ", ".join([*point.epsilon, *point.refused])
        raise InvalidQuantityError(f"theorem must be one of {proved} for these steps, got theorem={theorem!r}")
    found = [bound for name, bound in point.epsilon.items() if theorem in {None, name}]
    if not found:
        raise CannotCertifyError("; ".join(point.refused.values()))
    return min(found, key=lambda bound: bound.most)


def renyi_curve(priced: Ledger | Mechanism, orders: Sequence[Exact], *, digits: int = 15) -> tuple[RenyiPoint, ...]:
    """Enclose the Renyi divergence at each order (> 1), to `digits` significant digits, by every proved theorem.

    Where printed sensitivities are violated the corrected steps are the ones whose curve this is.
    """
    ledger = ledger_of(priced)
    true = Ledger(ledger.corrected) if ledger.corrected else ledger
    if digits < 1:
        raise InvalidQuantityError(f"digits must be >= 1, got digits={digits}")
    theorems = renyi_theorems(true)
    return tuple(_point(true, theorems, order(alpha), digits) for alpha in orders)


def renyi_theorems(ledger: Ledger) -> dict[str, Subsampling]:
    """Return the theorems proved for the ledger by name: `rdp` where nothing is sampled."""
    proved = methods_for(ledger)
    named = {name.rpartition("-")[0]: RENYI[name][0] for name in proved if name in RENYI}
    return named if ledger.is_subsampled else {"rdp": Subsampling.LEMMA2}


def _point(ledger: Ledger, theorems: Mapping[str, Subsampling], alpha: Fraction, digits: int) -> RenyiPoint:
    values: dict[str, Bound] = {}
    refused: dict[str, str] = {}
    for name, theorem in theorems.items():
        try:
            values[name] = renyi_epsilon(ledger, theorem, alpha, digits)
        except (CannotCertifyError, ArithmeticError) as reason:
            refused[name] = str(reason)
    return RenyiPoint(alpha, MappingProxyType(values), MappingProxyType(refused))


def renyi_epsilon(ledger: Ledger, theorem: Subsampling, alpha: Fraction, digits: int) -> Bound:
    """Enclose epsilon(alpha) = K(alpha)/(alpha-1) by one theorem."""
    for bits in precisions(digits):
        check_time()
        with arb_precision(bits):
            value = ledger_log_moment(ledger, theorem, alpha, bits) / arb_from_fraction(alpha - 1)
            if has_digits(value, digits):
                return Bound.from_arb(value)
    raise CannotCertifyError(f"no {digits} certified digits of the divergence at alpha={shown(alpha)}")
