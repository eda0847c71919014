"""Batches with replacement: sound against the exact profile of concrete pairs, tight where it is known."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from accountant import Ledger, SsADMM, epsilon
from accountant.certificates.certificate import certificate
from accountant.certificates.profile_check import proved_profile_upper
from accountant.certificates.recheck import recheck
from accountant.copies import Copies
from accountant.errors import CannotCertifyError, CertificateError
from accountant.mechanisms.steps import SubsampledGaussianStep, WithReplacementStep
from accountant.mechanisms.words import Neighbours
from accountant.numbers import fraction_of
from accountant.pld.ledger_steps import composed_epsilon_upper, with_public_copies
from accountant.profiles.with_replacement import batch_rates, public_copies, single_delta

DELTA = Fraction(1, 10**6)


def copies(records: int, batch: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """p_0, p_1, ..., p_m."""
    return np.asarray(stats.binom.pmf(np.arange(batch + 1), batch, 1 / records))


def attained_delta(records: int, batch: int, nu: float, eps: float) -> float:
    """delta(eps) of all other records equal: sum p_k N(k/nu) against N(0), both orders, by integration."""
    z = np.linspace(-12, 12 + batch / nu, 20_001)
    base = stats.norm.pdf(z)
    mixture = sum(p * stats.norm.pdf(z - k / nu) for k, p in enumerate(copies(records, batch)))
    step = z[1] - z[0]
    orders = (mixture - math.exp(eps) * base, base - math.exp(eps) * mixture)
    return max(float(np.maximum(order, 0).sum() * step) for order in orders)


@pytest.mark.parametrize(("records", "batch", "nu"), [(20, 10, 10.0), (1000, 64, 2.0), (5, 5, 1.0), (100, 1, 0.7)])
@pytest.mark.parametrize("eps", [0.0, 0.1, 1.0, 4.0])
def test_one_step_costs_at_least_what_a_pair_attains(records: int, batch: int, nu: float, eps: float) -> None:
    bound = float(single_delta(Copies(batch, 1, records), Fraction(nu), Fraction(eps)))
    assert bound >= attained_delta(records, batch, nu, eps) * (1 - 1e-4)  # the error of the grid


def test_the_theorem_is_the_sum_over_copies() -> None:
    records, batch, nu, eps = 50, 8, 3.0, 0.5
    eta = 1 - (1 - 1 / records) ** batch
    inner = math.log1p(math.expm1(eps) / eta)
    total = 0.0
    for k, p in enumerate(copies(records, batch)):
        if k:
            mu = k / nu
            tail = stats.norm.cdf(mu / 2 - inner / mu) - math.exp(inner) * stats.norm.cdf(-mu / 2 - inner / mu)
            total += p * float(tail)
    assert float(single_delta(Copies(batch, 1, records), Fraction(3), Fraction(1, 2))) == pytest.approx(total, rel=1e-9)


def test_one_draw_is_a_batch_of_one_without_replacement() -> None:
    for count in (1, 100):
        drawn = epsilon(Ledger((WithReplacementStep(50, 1, Fraction(2), count),)), DELTA).epsilon.upper
        batch = composed_epsilon_upper(
            (SubsampledGaussianStep(Fraction(1, 50), Fraction(2), count),), DELTA, Fraction(1, 10**4)
        )
        assert float(fraction_of(drawn)) == pytest.approx(float(batch), rel=1e-6)


@pytest.mark.parametrize("spare", [Fraction(1, 8), Fraction(1, 10**7), Fraction(1, 10**40)])
def test_what_is_announced_is_the_number_of_copies(spare: Fraction) -> None:
    records, batch = 100, 10
    announced = public_copies(Copies(batch, 1, records), Fraction(4), 7, spare)
    p = copies(records, batch)
    assert [float(w) for w in announced.weights] == pytest.approx((p[1:] / p[1:].sum())[: len(announced.weights)])
    assert (
        1 <= sum(announced.weights) + announced.rest <= 1 + Fraction(1, 10**20)
    )  # nothing is left out, all rounded up
    assert announced.rest <= spare
    assert float(announced.rate) == pytest.approx(p[1:].sum())


def test_draws_of_one_record_are_not_announced() -> None:
    announced, others = with_public_copies((WithReplacementStep(50, 1, Fraction(2), 3),), DELTA)
    assert not announced
    assert [type(step) for step in others] == [SubsampledGaussianStep]


def test_more_copies_than_can_be_listed_are_refused() -> None:
    with pytest.raises(CannotCertifyError, match="drawn more than"):
        public_copies(Copies(1000, 1, 2), Fraction(4), 7, Fraction(1, 10**9))


def composed_announced(records: int, batch: int, nu: float, count: int, delta: float) -> float:
    """The epsilon of steps that announce the number of copies, on a fine grid of losses, nothing rounded up."""
    z = np.linspace(-10, 40, 100_001)
    base = stats.norm.pdf(z) * (z[1] - z[0])
    p = copies(records, batch)
    eta = 1 - p[0]
    parts = []
    for k, weight in enumerate(p[1:][p[1:] > 1e-30], start=1):
        ratio = 1 - eta + eta * np.exp(k / nu * z - (k / nu) ** 2 / 2)
        loss, mass = np.log(ratio[ratio > 1]), (base * ratio)[ratio > 1]
        rest = 1 - mass.sum() - (mass * np.exp(-loss)).sum()
        parts += [(loss, weight / eta * mass), (-loss, weight / eta * mass * np.exp(-loss))]
        parts += [(np.zeros(1), np.array([weight / eta * rest]))]
    return composed(np.concatenate([x for x, _ in parts]), np.concatenate([m for _, m in parts]), count, delta)


def composed_by_hand(records: int, batch: int, nu: float, count: int, delta: float) -> float:
    """The epsilon of the pair of equal other records, composed on a fine grid of losses: what no bound may be below."""
    z = np.linspace(-10, 20, 100_001)
    base = stats.norm.pdf(z) * (z[1] - z[0])
    ratio = sum(p * np.exp(k / nu * z - (k / nu) ** 2 / 2) for k, p in enumerate(copies(records, batch)) if p > 1e-30)
    return composed(np.log(ratio), base * ratio, count, delta)


def composed(
    loss: np.ndarray[tuple[int], np.dtype[np.float64]],
    weights: np.ndarray[tuple[int], np.dtype[np.float64]],
    count: int,
    delta: float,
) -> float:
    """Epsilon of so many equal losses, rounded down on a grid."""
    spacing, reach = 5e-4, 40.0
    size = int(2 * reach / spacing)
    mass = np.bincount(
        np.clip(np.floor((loss + reach) / spacing).astype(int), 0, size - 1), weights=weights, minlength=size
    )
    offset, total = -reach, np.fft.rfft(mass / mass.sum())
    composed = np.fft.irfft(total**count, size)
    losses = np.mod(offset * count + spacing * np.arange(size) + reach, 2 * reach) - reach
    low, high = 0.0, reach
    for _ in range(50):
        middle = (low + high) / 2
        above = losses > middle
        found = float((composed[above] * -np.expm1(middle - losses[above])).sum())
        low, high = (low, middle) if found <= delta else (middle, high)
    return high


@pytest.mark.parametrize(("records", "batch", "nu", "count"), [(100, 10, 4, 100), (20, 10, 10, 3), (1000, 64, 2, 200)])
def test_many_steps_cost_at_least_what_the_pair_attains(records: int, batch: int, nu: int, count: int) -> None:
    bound = epsilon(Ledger((WithReplacementStep(records, batch, Fraction(nu), count),)), DELTA).epsilon
    truth = composed_by_hand(records, batch, float(nu), count, 1e-6)
    assert float(fraction_of(bound.upper)) >= truth * 0.999
    assert float(fraction_of(bound.lower)) <= truth * 1.001
    # the theorem shows the adversary how often the record was drawn: so much is lost by it at most here
    assert float(fraction_of(bound.upper)) <= 2 * truth
    announced = composed_announced(records, batch, float(nu), count, 1e-6)
    assert float(fraction_of(bound.upper)) == pytest.approx(announced, rel=0.02)  # the grid rounds down
    assert float(fraction_of(bound.upper)) >= announced


def test_drawing_with_replacement_costs_more_and_the_mechanism_says_so() -> None:
    common = {"records": 200, "batch": 10, "iterations": 20, "noise_multiplier": 3, "clip": 1}
    with_replacement = epsilon(SsADMM(**common, sampling="with-replacement"), DELTA)  # type: ignore[arg-type]
    without = epsilon(SsADMM(**common, sampling="without-replacement"), DELTA)  # type: ignore[arg-type]
    assert with_replacement.epsilon.upper > without.epsilon.upper
    assert list(with_replacement.methods) == ["profile"]
    assert 0 < with_replacement.epsilon.lower <= with_replacement.epsilon.upper


def test_rates_enclose_the_chance_to_be_drawn() -> None:
    low, high = batch_rates(Copies(7, 1, 30))
    exact = 1 - Fraction(29, 30) ** 7
    assert low <= exact <= high
    assert float(high - low) < 1e-25


@pytest.mark.parametrize("relation", [Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE])
def test_a_certificate_of_one_step_is_read_back_and_rederived(relation: Neighbours) -> None:
    ledger = Ledger((WithReplacementStep(50, 8, Fraction(3), 1, relation),))
    assert any(found.subject == "profile" for found in recheck(certificate(epsilon(ledger, DELTA))))


def test_an_upper_end_that_is_too_small_is_refused() -> None:
    steps = (WithReplacementStep(50, 8, Fraction(3), 1),)
    upper = composed_epsilon_upper(steps, DELTA, Fraction(1, 10**4))
    proved_profile_upper(steps, DELTA, upper)
    with pytest.raises(CertificateError):
        proved_profile_upper(steps, DELTA, upper * Fraction(999, 1000))


@pytest.mark.slow
def test_a_certificate_of_many_steps_is_rederived() -> None:
    ledger = Ledger((WithReplacementStep(50, 3, Fraction(6), 5),))
    assert any(found.subject == "profile" for found in recheck(certificate(epsilon(ledger, DELTA))))
