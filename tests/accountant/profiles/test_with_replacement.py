"""Batches with replacement: sound against the exact profile of concrete pairs, tight where it is known."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from accountant import Ledger, SsADMM, epsilon
from accountant.certificates.certificate import certificate
from accountant.certificates.profile_check import require_profile_upper
from accountant.certificates.recheck import recheck
from accountant.errors import CertificateError
from accountant.mechanisms.steps import SubsampledGaussianStep, WithReplacementStep
from accountant.mechanisms.words import Neighbours
from accountant.numbers import fraction_of
from accountant.pld.ledger_steps import composed_epsilon_upper, dominating_ledgers
from accountant.profiles.with_replacement import batch_rates, dominating_phases, single_delta

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
    bound = float(single_delta(records, batch, Fraction(nu), Fraction(eps)))
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
    assert float(single_delta(records, batch, Fraction(3), Fraction(1, 2))) == pytest.approx(total, rel=1e-9)


def test_one_draw_is_a_batch_of_one_without_replacement() -> None:
    for count in (1, 100):
        drawn = epsilon(Ledger((WithReplacementStep(50, 1, Fraction(2), count),)), DELTA).epsilon.upper
        batch = composed_epsilon_upper(
            (SubsampledGaussianStep(Fraction(1, 50), Fraction(2), count),), DELTA, Fraction(1, 10**4)
        )
        assert float(fraction_of(drawn)) == pytest.approx(float(batch), rel=1e-6)


@pytest.mark.parametrize("spare", [Fraction(1, 8), Fraction(1, 10**7)])
def test_draws_exceed_the_phases_with_the_stated_probability_at_most(spare: Fraction) -> None:
    records, batch, count = 100, 10, 100
    phases = dominating_phases(records, batch, count, spare)
    assert sum(steps for _, steps in phases) == count
    p = copies(records, batch)
    missed = 0.0
    for k in range(2, batch + 1):
        most = sum(steps for copied, steps in phases if copied >= k)
        missed += float(stats.binom.sf(most, count, p[k:].sum() / p[1:].sum()))
    assert missed <= float(spare)


def test_the_shares_of_delta_add_up_to_it() -> None:
    ledgers = dominating_ledgers((WithReplacementStep(100, 10, Fraction(4), 100),), DELTA)
    spent, missed = Fraction(0), Fraction(1)
    for _, allowed in ledgers:
        spent, missed = spent + allowed * missed, missed / 8
    assert spent + missed <= DELTA


def composed_by_hand(records: int, batch: int, nu: float, count: int, delta: float) -> float:
    """The epsilon of the pair of equal other records, composed on a fine grid of losses: what no bound may be below."""
    z = np.linspace(-10, 20, 100_001)
    base = stats.norm.pdf(z) * (z[1] - z[0])
    ratio = sum(p * np.exp(k / nu * z - (k / nu) ** 2 / 2) for k, p in enumerate(copies(records, batch)) if p > 1e-30)
    loss = np.log(ratio)
    spacing, reach = 2e-3, 40.0
    size = int(2 * reach / spacing)
    mass = np.bincount(
        np.clip(np.floor((loss + reach) / spacing).astype(int), 0, size - 1), weights=base * ratio, minlength=size
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
    assert float(fraction_of(bound.upper)) <= 4 * truth


def test_drawing_with_replacement_costs_more_and_the_mechanism_says_so() -> None:
    common = {"records": 200, "batch": 10, "iterations": 20, "noise_multiplier": 3, "clip": 1}
    with_replacement = epsilon(SsADMM(**common, sampling="with-replacement"), DELTA)  # type: ignore[arg-type]
    without = epsilon(SsADMM(**common, sampling="without-replacement"), DELTA)  # type: ignore[arg-type]
    assert with_replacement.epsilon.upper > without.epsilon.upper
    assert list(with_replacement.methods) == ["profile"]
    assert 0 < with_replacement.epsilon.lower <= with_replacement.epsilon.upper


def test_rates_enclose_the_chance_to_be_drawn() -> None:
    low, high = batch_rates(30, 7)
    exact = 1 - Fraction(29, 30) ** 7
    assert low <= exact <= high
    assert float(high - low) < 1e-25


@pytest.mark.parametrize("relation", list(Neighbours))
def test_a_certificate_of_one_step_is_read_back_and_rederived(relation: Neighbours) -> None:
    ledger = Ledger((WithReplacementStep(50, 8, Fraction(3), 1, relation),))
    assert any(found.subject == "profile" for found in recheck(certificate(epsilon(ledger, DELTA))))


def test_an_upper_end_that_is_too_small_is_refused() -> None:
    steps = (WithReplacementStep(50, 8, Fraction(3), 1),)
    upper = composed_epsilon_upper(steps, DELTA, Fraction(1, 10**4))
    require_profile_upper(steps, DELTA, upper)
    with pytest.raises(CertificateError):
        require_profile_upper(steps, DELTA, upper * Fraction(999, 1000))


@pytest.mark.slow
def test_a_certificate_of_many_steps_is_rederived() -> None:
    ledger = Ledger((WithReplacementStep(50, 3, Fraction(6), 5),))
    assert any(found.subject == "profile" for found in recheck(certificate(epsilon(ledger, DELTA))))
