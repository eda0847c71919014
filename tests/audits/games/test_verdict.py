from __future__ import annotations

import itertools

import numpy as np
import pytest

from audits.curves import GaussianCurve
from audits.eprocess.curve_test import anytime_p_value, design_test
from audits.eprocess.power import caught, lack_of_power, smallest_caught
from audits.eprocess.scores import GaussianScores
from tests.audits.mechanisms import MU, gaussian
from verification.judge import concluded, finding
from verification.outcome import PRECEDENCE, About, Aspect, Cause, Outcome, Power, Stage, worst
from verification.questions.question import Answer
from verification.statistics.test import Test


def test_nothing_checked_is_inconclusive_and_never_a_pass() -> None:
    assert worst([]) is Outcome.INCONCLUSIVE


def test_precedence_is_fault_refuted_adapter_inconclusive_stands() -> None:
    assert [o.exit_code for o in PRECEDENCE] == [70, 1, 4, 3, 0, 0]
    for pair in itertools.combinations(PRECEDENCE, 2):
        assert worst(pair) is worst(reversed(pair)) is pair[0]


POWER = Power(1.5, 0.92, 200)


@pytest.mark.parametrize(
    ("log_wealth", "power", "wanted", "outcome"),
    [
        (3.0, None, None, Outcome.REFUTED),
        (3.0, POWER, 1.2, Outcome.REFUTED),
        (2.9, POWER, 2.0, Outcome.STANDS),
        (0.0, POWER, None, Outcome.STANDS),
        (0.0, POWER, 1.2, Outcome.INCONCLUSIVE),
        (0.0, None, None, Outcome.INCONCLUSIVE),
    ],
)
def test_no_audit_stands_without_the_power_asked_for(
    log_wealth: float, power: Power | None, wanted: float | None, outcome: Outcome
) -> None:
    """The e-process hands the judge a test like any other: its p-value is 1/e-value, and no power no pass."""
    p_value, weakness = anytime_p_value(log_wealth), lack_of_power(power, wanted)
    test = Test("game", Aspect.RELEASED, p_value, "", Cause.DISTINGUISHED, power=power, weakness=weakness)
    answer = Answer("game", "n = 4", 200, (test,), ())
    found = finding(concluded(About("game", "ssadmm", Stage.GAMES), lambda: answer, 0.05))
    assert found.outcome is outcome
    assert (found.p_value, found.false_alarm, found.trials, found.power) == (p_value, 0.05, 200, power)


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
