"""What the hardest pair attains: the accountant's lower end, by other means; and bounds that come close to it."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from accountant import SsADMM, epsilon
from accountant.numbers import fraction_of
from audits.curves import GaussianCurve
from audits.eprocess.curve_test import FIXED_SAMPLE, design_test, refuted_after
from audits.eprocess.lower_bounds import (
    ComposedScores,
    GaussianRatios,
    attained_curve,
    pair_lower_bound,
    with_less_noise,
)
from audits.eprocess.scores import ScoreModel, StepwiseScores
from audits.errors import AuditError
from audits.games.executors import Chunk, Target, close_sessions, score_chunk
from audits.games.plans import batch_game
from tests.audits.eprocess.test_curve_eprocess import assert_alarms_at_most_as_stated
from verification.wire.process import Limits
from verification.wire.session import Session

# records, batch, noise multiplier, steps
SETTINGS = [
    (12, 3, "0.5", 3),
    (12, 3, "1", 4),
    (12, 3, "1", 10),
    (40, 4, "1", 20),
    (40, 4, "0.5", 10),
    (12, 3, "2", 20),
]
REFERENCE = Target((sys.executable, "-m", "verification.served.loopback"), Limits())


def certified(records: int, batch: int, nu: str, steps: int, delta: str) -> tuple[float, float]:
    """The accountant's two ends; C = 1, so that sigma = 2 nu / m."""
    ledger = SsADMM(records=records, batch=batch, iterations=steps, sigma=Fraction(nu) * 2 / batch, clip=1).ledger()
    bound = epsilon(ledger, delta, methods=["profile"]).epsilon
    return float(fraction_of(bound.lower)), float(fraction_of(bound.upper))


@pytest.mark.parametrize("delta", ["1e-5", "1e-2"])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_attained_curve_is_the_accountants_lower_end_rounded_up(
    setting: tuple[int, int, str, int], delta: str
) -> None:
    records, batch, nu, steps = setting
    found = attained_curve(batch / records, float(nu), steps).epsilon_at(float(delta))
    lower, _ = certified(*setting, delta)
    # the accountant's own lower end is within 1e-4 of what the pair attains
    assert lower - 1e-4 * lower <= found <= lower + 0.0105


@pytest.mark.parametrize("eps", [0.0, 0.3, 1.0, 2.5])
def test_one_step_is_the_integral_of_its_definition_in_the_worse_order(eps: float) -> None:
    rate, nu = 0.3, 0.8

    def positive(first: str, x: float) -> float:
        plain = float(norm.pdf(x, 0.0, nu))
        mixed = (1.0 - rate) * plain + rate * float(norm.pdf(x, 1.0, nu))
        p, q = (mixed, plain) if first == "mixture" else (plain, mixed)
        return max(p - math.exp(eps) * q, 0.0)

    both = [quad(lambda x, f=first: positive(f, x), -9, 10, limit=500)[0] for first in ("mixture", "plain")]
    found = float(attained_curve(rate, nu, 1).delta(np.array([eps]))[0])
    assert max(both) <= found <= max(both) + 0.01


@pytest.mark.parametrize("strength", [0.8, 1.0, 1.3])
@pytest.mark.parametrize(
    ("model", "pair"),
    [
        (ComposedScores(0.25, 1.0, 5), StepwiseScores(0.25, (1.0,) * 5)),
        (GaussianRatios(2.0), StepwiseScores(1.0, (1.0,) * 4)),
    ],
    ids=["batches", "every record"],
)
def test_computed_tails_are_those_of_simulated_scores(model: ScoreModel, pair: StepwiseScores, strength: float) -> None:
    tails = model.tails(strength)
    for side, sample in zip((tails.first, tails.second), pair(strength, 20_000, np.random.default_rng(4)), strict=True):
        inside = sample[(sample > tails.thresholds[0]) & (sample < tails.thresholds[-1])]
        # between thresholds the tail is interpolated: compared at the thresholds themselves
        empirical = 1.0 - np.searchsorted(np.sort(sample), tails.thresholds, side="right") / sample.size
        # Dvoretzky-Kiefer-Wolfowitz at 1e-9 over both sides and six cases; the lattice moves scores by 0.02 at most
        assert np.max(np.abs(empirical - side)) < np.sqrt(np.log(24e9) / (2 * sample.size)) + 0.01
        assert inside.size > 0.99 * sample.size


def test_the_family_is_the_pair_itself_and_grows_with_the_strength() -> None:
    family, _ = with_less_noise(StepwiseScores(0.25, (1.0,) * 4))
    eps = np.linspace(0.0, 6.0, 40)
    assert np.all(family.curve(1.1).delta(eps) >= family.curve(1.0).delta(eps))
    family, _ = with_less_noise(StepwiseScores(1.0, (1.0,) * 4))
    assert family.curve(1.0) == GaussianCurve(2.0)


def test_a_pair_beyond_the_family_gets_its_greatest_member(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audits.eprocess.lower_bounds.LEAST", 1.0)
    monkeypatch.setattr("audits.eprocess.lower_bounds.GREATEST", 1.2)
    first, second = np.full(400, 50.0), np.full(400, -50.0)
    found = pair_lower_bound(StepwiseScores(1.0, (1.0,)), first, second, delta=1e-5)
    assert found.epsilon == GaussianCurve(1.2).epsilon_at(1e-5)


@pytest.mark.parametrize("call", [(0.0, 1.0, 2), (1.0, 1.0, 2), (0.5, 0.0, 2), (0.5, 1.0, 0), (0.5, 1e-5, 4)])
def test_impossible_parameters_are_refused(call: tuple[float, float, int]) -> None:
    with pytest.raises(AuditError):
        attained_curve(*call)


def test_batches_with_changing_noise_are_refused() -> None:
    with pytest.raises(AuditError, match="same noise multiplier"):
        with_less_noise(StepwiseScores(0.5, (1.0, 2.0)))


@pytest.mark.slow
def test_the_curve_of_the_pair_is_refuted_by_the_pair_at_most_as_often_as_stated() -> None:
    pair, repetitions, pairs, alpha = StepwiseScores(0.25, (0.7,) * 3), 2000, 300, 0.05
    family, model = with_less_noise(pair)
    curve = family.curve(1.0)
    test = design_test(curve, model, 1.0, alpha=alpha, budget=pairs, plan=FIXED_SAMPLE)
    for strength, alarms in ((1.0, False), (1.5, True)):
        scores = pair(strength, repetitions * pairs, np.random.default_rng(8))
        wealth = test.log_wealth(curve, *(side.reshape(repetitions, pairs) for side in scores))
        refuted = int(np.isfinite(refuted_after(wealth, alpha)).sum())
        if alarms:
            assert refuted > 0.5 * repetitions
        else:
            assert_alarms_at_most_as_stated(refuted, repetitions, alpha)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_bounds_on_the_reference_reach_nine_tenths_of_the_accountants_lower_end(
    setting: tuple[int, int, str, int],
) -> None:
    """The hardest pair, every iterate visible, 50,000 trial pairs behind the wire, delta = 1e-5, 95 %."""
    records, batch, nu, steps = setting
    with Session(REFERENCE.command, REFERENCE.limits) as session:
        planned = batch_game(session, records=records, batch=batch, steps=steps, multiplier=float(nu))
    assert isinstance(planned.simulate, StepwiseScores)
    parts = [score_chunk(REFERENCE, planned.game, planned.attack, Chunk(7, 0, i, 2500)) for i in range(20)]
    close_sessions()
    first, second = (np.concatenate([getattr(p, side) for p in parts]) for side in ("first", "second"))
    found = pair_lower_bound(planned.simulate, first, second, delta=1e-5).epsilon
    lower, upper = certified(*setting, "1e-5")
    print(f"{setting}: {found:.4f} of {lower:.4f}, {found / lower:.3f}")
    assert 0.9 * lower <= found <= upper
