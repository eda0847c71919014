"""From ledgers to the composed profile: roots and floats are rounded down for the upper bound, up for the lower."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accountant.calibration import calibrate_noise
from accountant.errors import InvalidQuantityError, UnsupportedSchemeError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import GaussianStep, PoissonGaussianStep, PureStep, Step, SubsampledGaussianStep
from accountant.mechanisms.words import Noise
from accountant.numbers import fraction_of
from accountant.pld import ledger_steps as composed
from accountant.pld.composition import SubsampledGaussian, compose
from accountant.pld.types import Pair
from accountant.pricing import epsilon
from accountant.profiles.gaussian import gaussian_epsilon

DELTA = Fraction(1, 10**6)


@given(st.fractions(Fraction(1, 10**40), Fraction(10**40)))
@example(Fraction(3 * 10**33))
@example(Fraction(7, 10**33))
@example(Fraction(2 * 10**38, 3))
def test_roots_are_exact_or_on_the_stated_side_and_close(number: Fraction) -> None:
    assert composed.root(number**2, "down") == composed.root(number**2, "up") == number
    low, high = composed.root(number, "down"), composed.root(number, "up")
    assert low**2 <= number <= high**2
    assert high - low <= low * Fraction(1, 2 ** (composed.ROOT_BITS - 2))


@pytest.mark.parametrize("count", [1, 7])
def test_however_coarsely_a_root_is_rounded_the_enclosure_holds_the_exact_price(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    steps = (GaussianStep(Fraction(2), count),)
    exact = gaussian_epsilon(Fraction(2 * count), DELTA)
    fine = composed.composed_epsilon(steps, DELTA)
    assert fine.lower <= exact.upper
    assert exact.lower <= fine.upper
    monkeypatch.setattr(composed, "ROOT_BITS", 6)
    coarse = composed.composed_epsilon(steps, DELTA)
    assert coarse.lower < fine.lower < fine.upper < coarse.upper


@pytest.mark.parametrize(
    "step",
    [
        GaussianStep(Fraction(1), 1, Noise.DISCRETE),
        SubsampledGaussianStep(Fraction(1, 2), Fraction(1), 1, Noise.DISCRETE),
        PureStep(Fraction(1), 1),
    ],
    ids=lambda step: type(step).__name__,
)
def test_what_the_profile_was_not_proved_for_is_refused(step: Step) -> None:
    with pytest.raises(UnsupportedSchemeError, match="real Gaussian noise"):
        composed.composed_profile((step,))


@pytest.mark.parametrize("pair", list(Pair))
def test_rates_and_noise_are_rounded_to_the_side_of_their_end(pair: Pair) -> None:
    rate, multiplier = Fraction(1, 3), Fraction(7, 5)
    steps = [SubsampledGaussian(rate, multiplier, 2), SubsampledGaussian(Fraction(1), Fraction(3), 2)]
    profile = compose(steps)
    sampled, gaussian = profile._binary(pair)
    above = pair is Pair.DOMINATING
    assert (Fraction(sampled.q) > rate) is above
    assert (Fraction(sampled.mu) > 1 / multiplier) is above
    assert (Fraction(gaussian.mu) ** 2 > Fraction(2, 9)) is above
    assert (gaussian.q, gaussian.count, sampled.count) == (1.0, 1, 2)
    for rounded, exact in ((sampled.q, rate), (sampled.mu, 1 / multiplier)):
        assert abs(Fraction(rounded) / exact - 1) < Fraction(1, 2**51)


@pytest.mark.parametrize("multiplier", [Fraction(1, 2), Fraction(2)])
def test_hardly_sampled_steps_cost_no_more_than_unsampled_ones_and_hardly_less(multiplier: Fraction) -> None:
    steps = [SubsampledGaussian(Fraction(9999, 10000), multiplier, 3), SubsampledGaussian(Fraction(1), multiplier, 1)]
    profile = compose(steps)
    unsampled = fraction_of(gaussian_epsilon(4 / multiplier**2, DELTA).upper)
    assert profile.epsilon_lower(DELTA) <= profile.epsilon_upper(DELTA) <= unsampled
    assert profile.epsilon_upper(DELTA) >= unsampled * Fraction(99, 100)


def test_the_bound_at_epsilon_zero_is_the_sum_of_the_steps_total_variations() -> None:
    sampled, plain = (
        SubsampledGaussian(Fraction(1, 100), Fraction(10), 1),
        SubsampledGaussian(Fraction(1), Fraction(100), 1),
    )
    alone = [fraction_of(compose([step]).delta(Fraction(0)).upper) for step in (sampled, plain)]
    bound = compose([sampled, sampled, plain])._total_variation()
    assert abs(bound / (2 * alone[0] + alone[1]) - 1) < Fraction(1, 2**90)  # closed forms of 30 digits and more


def test_one_digit_may_be_asked_for_and_none_may_not() -> None:
    report = epsilon(Ledger((GaussianStep(Fraction(1), 1),)), DELTA, digits=1)
    assert report.epsilon.lower <= report.epsilon.upper
    found = calibrate_noise(lambda nu: Ledger((GaussianStep(1 / nu**2, 1),)), epsilon=1, delta=DELTA, digits=1)
    assert found.value == 5
    for refused in (
        lambda: epsilon(report.ledger, DELTA, digits=0),
        lambda: calibrate_noise(lambda _: report.ledger, epsilon=1, delta=DELTA, digits=0),
    ):
        with pytest.raises(InvalidQuantityError, match="digits must be >= 1"):
            refused()


@pytest.mark.parametrize(
    "step",
    [
        lambda zero: PureStep(zero, 1),
        lambda zero: GaussianStep(zero, 1),
        lambda zero: SubsampledGaussianStep(Fraction(1, 2), zero, 1),
        lambda zero: SubsampledGaussianStep(zero, Fraction(1), 1),
        lambda zero: PoissonGaussianStep(Fraction(1, 2), zero, 1),
        lambda zero: PoissonGaussianStep(zero, Fraction(1), 1),
        lambda zero: PureStep(1 - zero, int(zero)),
        lambda zero: SubsampledGaussianStep(1 + Fraction(1, 10**9), 1 - zero, 1),
    ],
)
def test_steps_without_cost_noise_or_members_are_refused(step: Callable[[Fraction], Step]) -> None:
    with pytest.raises(InvalidQuantityError, match=r"must (be|lie)"):
        step(Fraction(0))
