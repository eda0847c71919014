from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from audits.curves import ApproximateCurve, GaussianCurve
from audits.errors import AuditError
from benchmarks.estimators import gaussian_family
from benchmarks.one_run import (
    Guesses,
    binomial_p_value,
    curve_lower_bound,
    curve_p_value,
    guess_by_score,
    point_lower_bound,
)
from tests.audits.eprocess.test_curve_eprocess import assert_alarms_at_most_as_stated
from tests.audits.mechanisms import MU, mu_of
from verification.wire.arrays import Floats


def gaussian_canaries(mu: float, count: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    coins = rng.choice([-1.0, 1.0], count)
    return 0.5 * mu * coins + rng.normal(size=count), coins


@pytest.mark.parametrize("guesses", [10, 60, 200])
def test_p_values_are_at_least_the_exact_ones_of_randomised_response(guesses: int) -> None:
    # of independent randomised responses the number of right guesses is exactly binomial
    success = 1.0 / (1.0 + np.exp(-1.0))
    for correct in range(guesses // 2, guesses + 1, max(1, guesses // 12)):
        truth = float(binom.sf(correct - 1, guesses, success))
        seen = Guesses(guesses, guesses, correct)
        assert binomial_p_value(seen, 1.0, 0.0) >= truth
        assert curve_p_value(seen, ApproximateCurve(1.0)) >= truth * (1 - 1e-6) - 1e-11


@pytest.mark.parametrize("count", [50, 400])
def test_the_curve_p_value_is_valid_for_gaussian_canaries(count: int) -> None:
    repetitions, refuted = 2000, 0
    decisions: dict[Guesses, bool] = {}
    for seed in range(repetitions):
        seen = guess_by_score(*gaussian_canaries(1.0, count, seed), count // 5)
        if seen not in decisions:
            decisions[seen] = curve_p_value(seen, GaussianCurve(1.0)) <= 0.1
        refuted += decisions[seen]
    assert_alarms_at_most_as_stated(refuted, repetitions, 0.1)


def test_bounds_grow_with_canaries_and_say_little_below_a_thousand() -> None:
    mu = mu_of(1.0, 1e-5)
    few = guess_by_score(*gaussian_canaries(mu, 500, 1), 10)
    many = guess_by_score(*gaussian_canaries(mu, 100_000, 1), 2000)
    assert point_lower_bound(few, delta=1e-5).epsilon < 0.4
    assert 0.55 <= point_lower_bound(many, delta=1e-5).epsilon <= 1.0
    assert 0.63 <= curve_lower_bound(gaussian_family(), many, delta=1e-5).epsilon <= 1.0


def test_delta_is_charged_for_every_canary() -> None:
    seen = Guesses(1000, 100, 80)
    assert binomial_p_value(seen, 0.5, 1e-4) > binomial_p_value(seen, 0.5, 0.0)
    assert binomial_p_value(Guesses(10_000, 100, 80), 0.5, 1e-4) > binomial_p_value(seen, 0.5, 1e-4)


def test_guesses_without_the_coins_are_worth_nothing() -> None:
    scores, _ = gaussian_canaries(MU, 4000, 2)
    _, coins = gaussian_canaries(MU, 4000, 3)
    seen = guess_by_score(scores, coins, 400)
    assert point_lower_bound(seen, delta=1e-5, confidence=0.999).epsilon == 0.0


@pytest.mark.parametrize(("m", "r", "v"), [(0, 0, 0), (5, 6, 1), (5, 3, 4), (5, 3, -1)])
def test_impossible_counts_are_refused(m: int, r: int, v: int) -> None:
    with pytest.raises(AuditError, match="0 <= correct <= guesses <= canaries"):
        Guesses(m, r, v)
