from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from audits.curves import ApproximateCurve, GaussianCurve, PrivacyCurve
from audits.eprocess.bets import Portfolio
from audits.eprocess.curve_test import FIXED_SAMPLE, CurveTest, design_test, refuted_after
from audits.eprocess.lower_bounds import lower_bound
from audits.eprocess.scores import GaussianScores, tails_of_samples
from audits.errors import AuditError
from benchmarks.estimators import gaussian_family
from tests.audits.mechanisms import HONEST, MU, Honest, gaussian, mu_of
from verification.wire.arrays import Floats

ALPHA = 0.05
CLAIM = GaussianCurve(MU)


def alarms(honest: Honest, repetitions: int, trials: int, seed: int) -> int:
    test = design_test(honest.claim, honest.model, honest.designed_for, alpha=ALPHA, budget=trials)
    first, second = honest.draw((repetitions, trials), seed)
    wealth = test.log_wealth(honest.claim, first, second)
    return int(np.isfinite(refuted_after(wealth, ALPHA)).sum())


def assert_alarms_at_most_as_stated(count: int, repetitions: int, alpha: float) -> None:
    """A binomial test at 1e-6: an auditor whose true rate is ``alpha`` fails it once in a million seeds."""
    assert binom.sf(count - 1, repetitions, alpha) > 1e-6, f"{count} alarms in {repetitions} at {alpha}"


@pytest.mark.parametrize("honest", [h for h in HONEST if h.name in ("no leak", "exact Gaussian")], ids=lambda h: h.name)
def test_honest_mechanisms_alarm_at_most_as_often_as_stated(honest: Honest) -> None:
    assert_alarms_at_most_as_stated(alarms(honest, 400, 500, seed=1), 400, ALPHA)


@pytest.mark.slow
@pytest.mark.parametrize("honest", HONEST, ids=lambda h: h.name)
def test_honest_mechanisms_alarm_at_most_as_often_as_stated_over_2000_audits(honest: Honest) -> None:
    assert_alarms_at_most_as_stated(alarms(honest, 2000, 1000, seed=2), 2000, ALPHA)


@pytest.mark.slow
@pytest.mark.parametrize("offset", [1.0, 1.069])
def test_the_test_behind_the_lower_bound_refutes_the_truth_at_most_as_often_as_stated(offset: float) -> None:
    # a claim is tested with the design of its cell's upper end, up to 7 % above it
    above = MU * offset
    test = design_test(GaussianCurve(above), GaussianScores(), above, alpha=ALPHA, budget=2000, plan=FIXED_SAMPLE)
    first, second = gaussian(MU, 2000 * 2000, np.random.default_rng(50))
    wealth = test.log_wealth(CLAIM, first.reshape(2000, -1), second.reshape(2000, -1))
    assert_alarms_at_most_as_stated(int(np.isfinite(refuted_after(wealth, ALPHA)).sum()), 2000, ALPHA)


class HalfTheDelta(PrivacyCurve):
    """A wrong curve: what an auditor would use who forgot part of delta."""

    __slots__ = ("curve",)

    def __init__(self, curve: PrivacyCurve) -> None:
        self.curve = curve

    def delta(self, epsilon: Floats) -> Floats:
        return 0.5 * self.curve.delta(epsilon)

    def describe(self) -> str:
        return "half the delta"


def test_the_honesty_check_catches_an_auditor_with_too_small_a_delta() -> None:
    wrong = Honest("wrong", HalfTheDelta(CLAIM), MU, gaussian, GaussianScores(), MU)
    count = alarms(wrong, 400, 500, seed=1)
    assert binom.sf(count - 1, 400, ALPHA) < 1e-6


@pytest.mark.parametrize(("divisor", "at_most"), [pytest.param(2**0.5, 2000, marks=pytest.mark.slow), (2.0, 400)])
def test_too_little_noise_is_caught_early(divisor: float, at_most: int) -> None:
    # one design for a budget of 100,000, as an auditor who does not know the violation would use
    test = design_test(CLAIM, GaussianScores(), MU, alpha=ALPHA, budget=100_000)
    first, second = gaussian(MU * divisor, 200 * 3 * at_most, np.random.default_rng(3))
    wealth = test.log_wealth(CLAIM, first.reshape(200, -1), second.reshape(200, -1))
    assert float(np.median(refuted_after(wealth, ALPHA))) <= at_most


def ratio(epsilon: float, seed: int) -> float:
    first, second = gaussian(mu_of(epsilon, 1e-5), 100_000, np.random.default_rng(seed))
    found = lower_bound(gaussian_family(), GaussianScores(), first, second, delta=1e-5, confidence=0.95)
    return found.epsilon / epsilon


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "at_least"), [(1.0, 0.94), (4.0, 0.98)])
def test_lower_bound_is_tight_on_the_gaussian(epsilon: float, at_least: float) -> None:
    # it varies by about 0.015 between seeds
    found = [ratio(epsilon, seed) for seed in range(100, 105)]
    assert float(np.median(found)) >= at_least


@pytest.mark.slow
def test_lower_bound_exceeds_the_truth_at_most_as_often_as_stated() -> None:
    exceeded, repetitions, confidence = 0, 40, 0.8
    for seed in range(repetitions):
        first, second = gaussian(1.0, 400, np.random.default_rng(seed))
        found = lower_bound(
            gaussian_family(0.8, 1.6), GaussianScores(), first, second, delta=1e-3, confidence=confidence
        )
        exceeded += found.epsilon > GaussianCurve(1.0).epsilon_at(1e-3)
    assert_alarms_at_most_as_stated(exceeded, repetitions, 1.0 - confidence)


def test_lower_bound_of_a_silent_mechanism_is_zero() -> None:
    rng = np.random.default_rng(5)
    found = lower_bound(
        gaussian_family(0.2, 5.0), GaussianScores(), rng.normal(size=2000), rng.normal(size=2000), delta=1e-5
    )
    assert found.epsilon == 0.0


def test_a_rare_total_leak_is_caught() -> None:
    # one run in fifty shows the record outright; the rest is the exact claim
    test = design_test(CLAIM, GaussianScores(), MU, alpha=1e-3, budget=20_000)
    first, second = gaussian(MU, 20_000, np.random.default_rng(6))
    first[::50] = 1e6
    assert np.isfinite(refuted_after(test.log_wealth(CLAIM, first, second), 1e-3))


def test_stakes_that_could_lose_more_than_everything_are_refused() -> None:
    reckless = Portfolio(
        np.array([0.0]), np.array([0]), np.array([1.0]), np.array([False]), np.array([1.0 / math.e + 0.1])
    )
    with pytest.raises(AuditError, match="risk more than the wealth"):
        reckless.log_multipliers(CLAIM)


def test_wealth_never_grows_on_average_whatever_the_bets() -> None:
    # exact expectation under the hardest mechanism of a pure claim (randomised response), over random portfolios
    rng = np.random.default_rng(7)
    truth = 1.0 / (1.0 + np.exp(-1.0))
    for _ in range(200):
        stakes = rng.dirichlet(np.ones(6))[:5] * 0.9
        epsilon = rng.uniform(0.0, 2.0, 5)
        curve = ApproximateCurve(1.0)
        portfolio = Portfolio(
            np.array([0.0, 0.5]),
            rng.integers(0, 2, 5),
            epsilon,
            rng.random(5) < 0.5,
            stakes / (np.exp(epsilon) + curve.delta(epsilon)),
        )
        table = np.exp(portfolio.log_multipliers(curve))
        bins = portfolio.bins(np.array([0.0, 1.0]))
        first, second = np.array([1 - truth, truth]), np.array([truth, 1 - truth])
        assert float(first @ table[np.ix_(bins, bins)] @ second) <= 1.0


def test_unpaired_empty_and_nan_scores_are_refused() -> None:
    test = design_test(CLAIM, GaussianScores(), MU, alpha=0.05, budget=100)
    with pytest.raises(AuditError, match="both neighbours"):
        test.log_wealth(CLAIM, np.zeros(3), np.zeros(4))
    with pytest.raises(AuditError, match="must not contain NaN"):
        test.log_wealth(CLAIM, np.array([0.0, np.nan]), np.zeros(2))
    with pytest.raises(AuditError, match="must not be empty"):
        tails_of_samples(np.zeros(0), np.zeros(3))


def test_shares_of_more_than_the_whole_wealth_are_refused() -> None:
    test = design_test(CLAIM, GaussianScores(), MU, alpha=0.05, budget=100)
    with pytest.raises(AuditError, match="sum to at most 1"):
        CurveTest(test.bets[:2], (0.6, 0.6))
