"""Each upper end once more, by another method and another library, on random parameter sets.

Renyi methods against mpmath (definitions, no tricks), the composed profile against exact integers (no Fourier
transform, no binary floats). 40 sets by default, 500 under the slow marker; the sets are drawn once from a fixed seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

import pytest

from accountant import second_route
from accountant.composed import profile_steps
from accountant.errors import CannotCertifyError
from accountant.exact_composition import ExactPair, exact_delta_upper
from accountant.ledger import Ledger
from accountant.precision import fraction_of
from accountant.pricing import RENYI, MethodResult, method_epsilon
from accountant.rechecking import PROFILE_SLACK, recheck_grid, require_profile_lower, require_profile_upper
from accountant.steps import SubsampledGaussianStep

DIGITS = 10
LONGEST_WINDOW = 2000
MPMATH_ORDER = 300
"""Above it Theorem 27 by its definition takes mpmath minutes."""


@dataclass(frozen=True, slots=True)
class Case:
    ledger: Ledger
    delta: Fraction


def cases(count: int, seed: int) -> list[Case]:
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        rate = Fraction(rng.randint(1, 200), rng.choice([200, 1000, 10_000, 100_000]))
        multiplier = Fraction(round(10 ** rng.uniform(-0.2, 1.3), 3)).limit_denominator(1000)
        steps = int(10 ** rng.uniform(0, 3.3))
        delta = Fraction(1, 10 ** rng.choice([2, 4, 6, 8, 10, 15, 30]))
        found.append(Case(Ledger((SubsampledGaussianStep(rate, multiplier, steps),)), delta))
    return found


def agrees(case: Case, method: str, found: MethodResult, digits: int) -> bool:
    theorem, conversion, _ = RENYI[method]
    assert found.alpha is not None
    other = fraction_of(
        second_route.epsilon_at_order(
            case.ledger, theorem, conversion, alpha=found.alpha, delta=case.delta, digits=digits
        )
    )
    slack = other / 10 ** (DIGITS + 3)
    lower, upper = fraction_of(found.epsilon.lower), fraction_of(found.epsilon.upper)
    assert lower <= upper
    return bool(lower - slack <= other <= upper + slack)


def check_renyi(case: Case) -> int:
    """mpmath's value at the same order lies inside the enclosure; return how many methods were compared."""
    compared = 0
    for method in ("lemma2-prop1", "lemma2-cks", "wbk27-cks", "tight-rdp-cks"):
        found = method_epsilon(case.ledger, case.delta, method, digits=DIGITS)
        assert found.alpha is not None
        if method == "wbk27-cks" and found.alpha > MPMATH_ORDER:
            continue
        compared += 1
        # mpmath's quadrature proves nothing: at orders in the thousands it may need more digits to settle. A wrong
        # enclosure disagrees at every number of digits.
        assert agrees(case, method, found, DIGITS + 5) or agrees(case, method, found, 3 * DIGITS), (method, case)
    return compared


def check_profile(case: Case) -> bool:
    """Exact integers confirm the upper end and do not exclude the lower one; False if their grid is too long."""
    found = method_epsilon(case.ledger, case.delta, "profile", digits=DIGITS).epsilon
    lower, upper = fraction_of(found.lower), fraction_of(found.upper)
    try:
        if upper == 0 or recheck_grid(case.ledger.steps, case.delta, upper).window > LONGEST_WINDOW:
            return False
    except CannotCertifyError:
        return False
    require_profile_upper(case.ledger.steps, case.delta, upper)
    if lower > 0:
        require_profile_lower(case.ledger.steps, case.delta, lower)
    return True


def test_forty_random_sets_agree_with_mpmath() -> None:
    assert sum(check_renyi(case) for case in cases(40, seed=1)) >= 4 * 40 * 0.9


def test_ten_random_sets_agree_with_exact_integers() -> None:
    assert sum(check_profile(case) for case in cases(40, seed=1)[:10]) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_five_hundred_random_sets_agree_with_mpmath(part: int) -> None:
    chosen = cases(500, seed=2)[part * 100 : part * 100 + 100]
    assert sum(check_renyi(case) for case in chosen) >= 4 * 100 * 0.9


@pytest.mark.slow
def test_many_random_profiles_agree_with_exact_integers() -> None:
    checked = sum(check_profile(case) for case in cases(500, seed=2)[:80])
    assert checked >= 20


def test_a_bound_that_is_a_tenth_of_a_percent_too_small_would_be_noticed() -> None:
    """The checker checked: shrink the enclosure and it must object."""
    case = Case(Ledger((SubsampledGaussianStep(Fraction(1, 100), Fraction(1), 50),)), Fraction(1, 10**6))
    found = method_epsilon(case.ledger, case.delta, "wbk27-cks", digits=DIGITS)
    assert found.alpha is not None
    theorem, conversion, _ = RENYI["wbk27-cks"]
    other = fraction_of(
        second_route.epsilon_at_order(
            case.ledger, theorem, conversion, alpha=found.alpha, delta=case.delta, digits=DIGITS + 5
        )
    )
    assert other > fraction_of(found.epsilon.upper) * (1 - Fraction(1, 10**10))
    upper = fraction_of(method_epsilon(case.ledger, case.delta, "profile", digits=DIGITS).epsilon.upper)
    grid = recheck_grid(case.ledger.steps, case.delta, upper)
    too_small = upper * (1 - 2 * PROFILE_SLACK)
    steps = profile_steps(case.ledger.steps, "down")
    assert exact_delta_upper(steps, ExactPair.DOMINATING, too_small, grid) > case.delta
