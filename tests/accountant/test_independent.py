"""Each upper end once more, by another method and another library, on random parameter sets.

| method | by | on |
|---|---|---|
| four Renyi bounds | binary64 on a logarithmic scale, numpy and scipy (`renyi_oracles`) | all, at the order reported |
| the same | mpmath, definitions (`second_route`) | twelve sets, orders up to 300 for Theorem 27 |
| composed profile, upper end | Fourier inversion, numpy and scipy (`inversion`) | wherever it resolves |
| the same | exact integers, to 0.2 % of epsilon (no transform, no floats) | every set that it does not resolve |
| composed profile, lower end | inversion of either order, or a single event in mpmath | wherever one resolves |
| the same | exact integers must not exclude it | every other set |

No set is skipped. 4 and 5 sets by default, 40 and 200 under the slow marker, drawn from fixed seeds: q from 1e-5 to 1
(1 itself in one of twenty), nu from 0.3 to 32, T from 1 to 10^4, delta from 0.1 to 1e-30.
"""

from __future__ import annotations

import functools
import math
import random
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from mpmath import MPContext

from accountant.certificates import mpmath_route as second_route
from accountant.certificates.profile_check import proved_profile_upper, require_profile_lower
from accountant.errors import CertificateError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import SubsampledGaussianStep
from accountant.numbers import fraction_of
from accountant.pld.composition import ComposedProfile, SubsampledGaussian, compose
from accountant.pricing import RENYI, MethodResult, method_epsilon
from tests.accountant import renyi_oracles
from tests.accountant.inversion import Inversion
from tests.accountant.moments import CannotResolve, Which

DIGITS = 10
MPMATH_ORDER = 300
"""Above it Theorem 27 by its definition takes mpmath minutes; `renyi_oracles` has no such limit."""
ORACLE_ERROR = 1e-10
"""Of the size of the summands: a hundred times what `renyi_oracles` was seen to be off by."""
RESOLVED = 1e-4
"""An inversion counts if its error moves epsilon by less than this, relatively: the accountant's own tolerance."""


@dataclass(frozen=True, slots=True)
class Case:
    rate: Fraction
    multiplier: Fraction
    steps: int
    delta: Fraction

    @property
    def step(self) -> SubsampledGaussianStep:
        return SubsampledGaussianStep(self.rate, self.multiplier, self.steps)

    @property
    def ledger(self) -> Ledger:
        return Ledger((self.step,))

    @property
    def composed(self) -> ComposedProfile:
        return compose([SubsampledGaussian(self.rate, self.multiplier, self.steps)], target_delta=self.delta)


@functools.cache
def cases(count: int, seed: int) -> tuple[Case, ...]:
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        everything = rng.random() < 0.05
        rate = Fraction(1) if everything else Fraction(round(10 ** rng.uniform(-5, 0) * 10**9), 10**9)
        multiplier = Fraction(round(10 ** rng.uniform(-0.5, 1.5) * 1000), 1000)
        steps = round(10 ** rng.uniform(0, 4))
        found.append(Case(rate, multiplier, steps, Fraction(1, 10 ** rng.randint(1, 30))))
    return tuple(found)


# The Renyi methods.


def check_renyi(case: Case, *, also_mpmath: bool) -> None:
    """The value at the reported order lies inside the enclosure, for all four methods."""
    for method in ("lemma2-prop1", "lemma2-cks", "wbk27-cks", "tight-rdp-cks"):
        found = method_epsilon(case.ledger, case.delta, method, digits=DIGITS)
        theorem, conversion, _ = RENYI[method]
        assert found.alpha is not None
        lower, upper = float(fraction_of(found.epsilon.lower)), float(fraction_of(found.epsilon.upper))
        assert lower <= upper
        other, size = renyi_oracles.epsilon_at_order(case.step, theorem, conversion, found.alpha, case.delta)
        assert lower - ORACLE_ERROR * size <= other <= upper + ORACLE_ERROR * size, (method, case, other)
        if also_mpmath and not (method == "wbk27-cks" and found.alpha > MPMATH_ORDER):
            # mpmath's quadrature proves nothing: at orders in the thousands it may need more digits to settle. A wrong
            # enclosure disagrees at every number of digits.
            assert any(agrees_with_mpmath(case, method, found, d) for d in (DIGITS + 5, 3 * DIGITS)), (method, case)


def agrees_with_mpmath(case: Case, method: str, found: MethodResult, digits: int) -> bool:
    theorem, conversion, _ = RENYI[method]
    assert found.alpha is not None
    other = fraction_of(
        second_route.epsilon_at_order(
            case.ledger, theorem, conversion, alpha=found.alpha, delta=case.delta, digits=digits
        )
    )
    slack = other / 10 ** (DIGITS + 3)
    return bool(fraction_of(found.epsilon.lower) - slack <= other <= fraction_of(found.epsilon.upper) + slack)


@pytest.mark.parametrize(("sets", "by_mpmath"), [(4, 1), pytest.param(40, 12, marks=pytest.mark.slow)])
def test_random_sets_agree_with_two_libraries(sets: int, by_mpmath: int) -> None:
    for i, case in enumerate(cases(40, seed=1)[:sets]):
        check_renyi(case, also_mpmath=i < by_mpmath)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_two_hundred_random_sets_agree_with_another_library(part: int) -> None:
    for case in cases(200, seed=2)[100 * part : 100 * part + 100]:
        check_renyi(case, also_mpmath=False)


# The composed profile.


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who confirmed which end, and how far the certified end is from the oracle's epsilon, relatively."""

    upper_by: str
    lower_by: str
    excess: float | None
    shortfall: float | None


def check_profile(case: Case) -> Verdict:
    """Both ends of the enclosure stand before an independent computation; none is left unchecked."""
    bound = case.composed.epsilon(case.delta)
    lower, upper = fraction_of(bound.lower), fraction_of(bound.upper)
    assert 0 <= lower <= upper
    upper_by, excess = confirm_upper(case, upper)
    lower_by, shortfall = confirm_lower(case, lower)
    return Verdict(upper_by, lower_by, excess, shortfall)


def confirm_upper(case: Case, upper: Fraction) -> tuple[str, float | None]:
    if upper == 0 and union_of_steps(case) <= case.delta:
        return "union bound", None
    try:
        excess = relative_distance(case, Which.DOMINATING, float(upper))
    except CannotResolve:
        assert exact_integers_confirm(case, upper), (case, float(upper))
        return "exact integers", None
    assert excess >= 0, (case, float(upper), excess)
    return "inversion", excess


def confirm_lower(case: Case, lower: Fraction) -> tuple[str, float | None]:
    if lower == 0:
        return "nothing to confirm", None
    for which in (Which.FIRST, Which.SECOND):
        try:
            excess = relative_distance(case, which, float(lower))
        except CannotResolve:
            continue
        if excess <= 0:
            return "inversion", -excess
    if event_delta(case, lower) >= case.delta:
        return "event", None
    assert exact_integers_admit(case, lower), (case, float(lower))
    return "exact integers", None


def relative_distance(case: Case, which: Which, epsilon: float) -> float:
    """Return epsilon over the oracle's, less 1; 0 where its error does not tell the two apart."""
    goal = math.log(case.delta)
    steps = [(float(case.rate), float(case.multiplier), case.steps)]
    oracle = Inversion(steps, which, epsilon, goal)
    value = oracle.log_delta(epsilon)
    if epsilon == 0:
        return 0.0 if value.log_delta <= goal + value.error else -1.0
    truth = oracle.epsilon(goal, epsilon)
    slope = (goal - value.log_delta) / (epsilon - truth) if abs(epsilon - truth) > 1e-9 * epsilon else math.inf
    steepness = min(abs(slope), abs(oracle.log_delta(epsilon * 0.999).log_delta - value.log_delta) / (1e-3 * epsilon))
    error = value.error / (steepness * epsilon)
    if not error <= RESOLVED:
        raise CannotResolve(f"epsilon to {error} only")
    distance = epsilon / truth - 1
    return 0.0 if abs(distance) <= error else distance


def union_of_steps(case: Case) -> Fraction:
    """Return T q (2 Phi(mu/2) - 1), which bounds delta(0), rounded up."""
    mp = MPContext()
    mp.dps = 40
    mu = mp.mpf(case.multiplier.denominator) / case.multiplier.numerator
    return case.steps * case.rate * fraction_of(mp.erf(mu / mp.sqrt(mp.mpf(8)))) * (1 + Fraction(1, 10**30))


def event_delta(case: Case, epsilon: Fraction) -> Fraction:
    """Return P[E] - e^eps Q[E] for E: in some step the loss exceeds epsilon; mpmath, 80 digits."""
    mp = MPContext()
    mp.dps = 80
    q, nu, e = (mp.mpf(x.numerator) / x.denominator for x in (case.rate, case.multiplier, epsilon))
    z = nu * mp.log1p(mp.expm1(e) / q) + 1 / (2 * nu)
    base, shifted = (mp.erfc(x / mp.sqrt(mp.mpf(2))) / 2 for x in (z, z - 1 / nu))
    joined = -mp.expm1(case.steps * mp.log1p(-(q * shifted + (1 - q) * base)))
    value = joined + mp.exp(e) * mp.expm1(case.steps * mp.log1p(-base))
    return fraction_of(value) if value > 0 else Fraction(0)


def exact_integers_confirm(case: Case, upper: Fraction) -> bool:
    """Some grid proves delta(upper (1 + slack)) <= delta. Every grid gives an upper bound, so one suffices."""
    try:
        proved_profile_upper((case.step,), case.delta, upper)
    except CertificateError:
        return False
    return True


def exact_integers_admit(case: Case, lower: Fraction) -> bool:
    """No grid proves that both orders of the pair stay below delta at lower (1 - slack)."""
    try:
        require_profile_lower((case.step,), case.delta, lower)
    except CertificateError:
        return False
    return True


def summary(verdicts: list[Verdict]) -> str:
    lines = []
    for name, values in (
        ("upper over oracle", [v.excess for v in verdicts if v.excess is not None]),
        ("lower under oracle", [v.shortfall for v in verdicts if v.shortfall is not None]),
    ):
        lines.append(f"{name}: median {float(np.median(values)):.2g}, worst {max(values):.2g} ({len(values)} sets)")
    for end in ("upper_by", "lower_by"):
        names = [getattr(v, end) for v in verdicts]
        lines.append(f"{end}: " + ", ".join(f"{n} {names.count(n)}" for n in sorted(set(names))))
    return "\n".join(lines)


@pytest.mark.parametrize(("sets", "resolved"), [(5, 3), pytest.param(40, 30, marks=pytest.mark.slow)])
def test_random_profiles_agree_with_inversion_or_exact_integers(sets: int, resolved: int) -> None:
    verdicts = [check_profile(case) for case in cases(40, seed=1)[:sets]]
    print(summary(verdicts))
    assert sum(v.upper_by != "exact integers" for v in verdicts) >= resolved
    assert float(np.median([v.excess for v in verdicts if v.excess is not None])) <= 2e-4


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_two_hundred_random_profiles_agree_with_inversion_or_exact_integers(part: int) -> None:
    verdicts = [check_profile(case) for case in cases(200, seed=2)[100 * part : 100 * part + 100]]
    print(summary(verdicts))
    assert len(verdicts) == 100
    assert sum(v.upper_by != "exact integers" for v in verdicts) >= 75
    assert float(np.median([v.excess for v in verdicts if v.excess is not None])) <= 2e-4


# The checkers checked: shrink an end, and they must object.

ORDINARY = Case(Fraction(1, 100), Fraction(1), 50, Fraction(1, 10**6))


@pytest.mark.parametrize("method", ["lemma2-prop1", "lemma2-cks", "wbk27-cks", "tight-rdp-cks"])
def test_a_renyi_bound_that_is_a_billionth_too_small_would_be_noticed(method: str) -> None:
    found = method_epsilon(ORDINARY.ledger, ORDINARY.delta, method, digits=DIGITS)
    theorem, conversion, _ = RENYI[method]
    assert found.alpha is not None
    other, size = renyi_oracles.epsilon_at_order(ORDINARY.step, theorem, conversion, found.alpha, ORDINARY.delta)
    assert other > float(fraction_of(found.epsilon.upper)) * (1 - 1e-9) + ORACLE_ERROR * size


def test_a_profile_end_that_is_a_thousandth_off_would_be_noticed() -> None:
    bound = ORDINARY.composed.epsilon(ORDINARY.delta)
    with pytest.raises(AssertionError):
        confirm_upper(ORDINARY, fraction_of(bound.upper) * Fraction(999, 1000))
    with pytest.raises(AssertionError):
        confirm_lower(ORDINARY, fraction_of(bound.lower) * Fraction(1005, 1000))


@pytest.mark.slow
def test_exact_integers_alone_would_notice_half_a_percent() -> None:
    bound = ORDINARY.composed.epsilon(ORDINARY.delta)
    lower, upper = fraction_of(bound.lower), fraction_of(bound.upper)
    assert exact_integers_confirm(ORDINARY, upper)
    assert not exact_integers_confirm(ORDINARY, upper * Fraction(995, 1000))
    assert exact_integers_admit(ORDINARY, lower)
    assert not exact_integers_admit(ORDINARY, lower * Fraction(1008, 1000))
