from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from audits.curves.privacy_curve import GaussianCurve
from audits.estimators.curve_eprocess import design_test
from audits.score_models.model import GaussianScores
from audits.trials.power import caught, smallest_caught
from audits.trials.verdict import judge
from tests.audits.mechanisms import MU, gaussian
from verification.outcome import PRECEDENCE, Outcome, Power, worst


def test_nothing_checked_is_inconclusive_and_never_a_pass() -> None:
    assert worst([]) is Outcome.INCONCLUSIVE


def test_precedence_is_fault_refuted_adapter_inconclusive_stands() -> None:
    assert [o.exit_code for o in PRECEDENCE] == [70, 1, 4, 3, 0, 0]
    for pair in itertools.combinations(PRECEDENCE, 2):
        assert worst(pair) is worst(reversed(pair)) is pair[0]


POWER = Power(1.5, 0.92, 200)


@pytest.mark.parametrize(
    ("refuted_after", "power", "wanted", "outcome"),
    [
        (10.0, None, None, Outcome.REFUTED),
        (10.0, POWER, 1.2, Outcome.REFUTED),
        (math.inf, POWER, 2.0, Outcome.STANDS),
        (math.inf, POWER, None, Outcome.STANDS),
        (math.inf, POWER, 1.2, Outcome.INCONCLUSIVE),
        (math.inf, None, None, Outcome.INCONCLUSIVE),
    ],
)
def test_no_verdict_stands_without_the_power_asked_for(
    refuted_after: float, power: Power | None, wanted: float | None, outcome: Outcome
) -> None:
    verdict = judge(refuted_after=refuted_after, trials=100, log_wealth=0.0, alpha=0.05, power=power, wanted=wanted)
    assert verdict.outcome is outcome


@pytest.mark.slow
def test_the_stated_power_is_there_and_less_is_not_claimed() -> None:
    curve, trials, alpha = GaussianCurve(MU), 1500, 1e-3
    test = design_test(curve, GaussianScores(), MU, alpha=alpha, budget=trials)
    power = smallest_caught(test, curve, gaussian, claimed=MU, alpha=alpha, trials=trials, seed=4)
    assert power is not None
    fresh = np.random.default_rng(99)
    here = caught(test, curve, gaussian, MU * power.divisor, alpha=alpha, trials=trials, simulations=300, rng=fresh)
    well_below = caught(
        test,
        curve,
        gaussian,
        MU * (1 + 0.7 * (power.divisor - 1)),
        alpha=alpha,
        trials=trials,
        simulations=300,
        rng=fresh,
    )
    assert here >= 0.9 * 300
    assert well_below < 0.9 * 300


def test_a_budget_too_small_for_any_power_says_so() -> None:
    curve = GaussianCurve(MU)
    test = design_test(curve, GaussianScores(), MU, alpha=1e-3, budget=3)
    assert smallest_caught(test, curve, gaussian, claimed=MU, alpha=1e-3, trials=3) is None
