"""The counted instances of the theory: what is wrong by a little is caught, what is true and different is not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from verification.statements.evidence import finite_laws as laws
from verification.statements.evidence import finite_steps as steps

HALF = Fraction(1, 2)
Rule = Callable[[Fraction, Fraction, Fraction], tuple[Fraction, Fraction]]


def test_the_rule_of_amplification_is_attained() -> None:
    assert laws.worst_amplification(laws.amplified) == 1


@pytest.mark.parametrize(
    "rule",
    [
        lambda q, y, delta: (1 + q * (y - 1), q * q * delta),
        lambda q, y, delta: (1 + q * (y - 1), q * delta * Fraction(99, 100)),
        lambda q, y, delta: (1 + q * q * (y - 1), q * delta * Fraction(9, 10)),
    ],
    ids=["rate squared", "one per cent too small", "eps too small"],
)
def test_a_rule_that_promises_too_much_is_caught(rule: Rule) -> None:
    assert laws.worst_amplification(rule) > 1


def test_a_rule_that_promises_less_stands() -> None:
    assert laws.worst_amplification(lambda q, y, delta: (1 + q * (y - 1), delta)) <= 1


def test_a_product_of_profiles_is_the_divergence_of_two_independent_releases() -> None:
    pair = ((HALF, HALF), (Fraction(1, 4), Fraction(3, 4)))
    twice = [tuple(a * b for a in law for b in law) for law in pair]
    for y in laws.LEVELS:
        assert steps.largest([pair], 2)(y) == laws.hockey(y, *twice)


def test_an_array_with_a_bend_of_the_wrong_sign_has_a_negative_weight() -> None:
    nodes = [Fraction(k) for k in range(4)]
    good = [Fraction(9, 20), Fraction(4, 20), Fraction(1, 20), Fraction(0)]
    bent = [Fraction(9, 20), Fraction(8, 20), Fraction(1, 20), Fraction(0)]
    assert min(weight for weight, _ in steps.atoms(HALF, nodes, good, good)) >= 0
    assert min(weight for weight, _ in steps.atoms(HALF, nodes, bent, good)) < 0


def test_the_check_at_y_equal_to_1_is_not_implied_by_the_others() -> None:
    # Convex on either side, yet too steep at 0: the atom at y = 1 would be negative.
    nodes = [Fraction(0), Fraction(1, 10), Fraction(1)]
    steep = [Fraction(1), Fraction(1, 10), Fraction(0)]
    weights = {place: weight for weight, place in steps.atoms(HALF, nodes, steep, steep)}
    assert weights[Fraction(1)] < 0


def test_a_false_claim_is_refuted_more_often_than_alpha() -> None:
    true = steps.refutation_probability((HALF, HALF), (Fraction(1), Fraction(0)), Fraction(1), HALF)
    false = steps.refutation_probability((Fraction(9, 10), HALF), (Fraction(1), Fraction(0)), Fraction(1), HALF)
    assert true <= HALF < false


def test_more_than_the_largest_stake_may_lose_everything_and_is_no_fair_bet() -> None:
    # With twice the largest stake the wealth turns negative, and two losses in a row look like a win.
    assert steps.refutation_probability((HALF, HALF), (Fraction(1), Fraction(0)), Fraction(3), HALF) > HALF
