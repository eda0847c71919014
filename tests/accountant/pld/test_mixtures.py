"""Groups on Poisson batches: both ends against quadrature, all small data, a second route, the price of k - 1."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

from accountant import Poisson, epsilon
from accountant.certificates.profile_check import proved_profile_upper, require_profile_lower
from accountant.errors import CertificateError
from accountant.mechanisms.steps import GroupStep, Step
from accountant.numbers import fraction_of
from accountant.pld.ledger_steps import attained_epsilon, composed_epsilon_upper, ordered_profile, poisson_group
from accountant.pld.plan import Resolution
from tests.accountant.test_groups import joined, worst_delta

DELTA = Fraction(1, 10**6)
Z = np.linspace(-20.0, 30.0, 200_001)


def steps(q: str, nu: str, count: int, k: int) -> tuple[Step, ...]:
    return Poisson(sampling_rate=q, noise_multiplier=nu, iterations=count, group_size=k).ledger().steps


def densities(removed: int, added: int, q: float, nu: float, z: np.ndarray = Z) -> tuple[np.ndarray, np.ndarray]:
    first = sum(stats.binom.pmf(j, removed, q) * stats.norm.pdf(z, j / nu) for j in range(removed + 1))
    second = sum(stats.binom.pmf(j, added, q) * stats.norm.pdf(z, -j / nu) for j in range(added + 1))
    return np.asarray(first), np.asarray(second)


def one_release(removed: int, added: int, q: float, nu: float) -> float:
    first, second = densities(removed, added, q, nu)

    def excess(eps: float) -> float:
        return float(np.maximum(first - math.exp(eps) * second, 0).sum() * (Z[1] - Z[0])) - float(DELTA)

    return float(optimize.brentq(excess, 0, 100)) if excess(0) > 0 else 0.0


@pytest.mark.parametrize(("q", "nu", "k"), [("0.01", "2", 3), ("0.2", "1", 2), ("0.001", "0.7", 5), ("0.5", "5", 4)])
def test_one_release_is_enclosed_in_every_order(q: str, nu: str, k: int) -> None:
    release = steps(q, nu, 1, k)
    truths = [one_release(removed, k - removed, float(q), float(nu)) for removed in range(k, -1, -1)]
    profile = ordered_profile(release, DELTA, Resolution())
    assert max(truths) * (1 - 1e-6) <= float(profile.epsilon_upper(DELTA)) <= max(truths) * (1 + 1e-3)
    for removed, order in zip(range(k, -1, -1), profile._orders, strict=True):
        first, second = densities(removed, k - removed, float(q), float(nu))
        for eps in (max(truths) / 3, max(truths)):
            truth = float(np.maximum(first - math.exp(eps) * second, 0).sum() * (Z[1] - Z[0]))
            found = float(order.delta_upper(Fraction(eps)))
            assert truth * (1 - 1e-6) <= found <= truth * 1.02 + float(DELTA) / 100
    lower = float(attained_epsilon(release, DELTA))
    assert max(truths) * (1 - 1e-3) <= lower <= max(truths) * (1 + 1e-6)
    assert one_release(k - 1, 0, float(q), float(nu)) < lower  # the price of a smaller group is refuted


def test_many_releases_are_enclosed_by_their_fourier_composition() -> None:
    """Losses on a line, an error of half a cell a release either way."""
    q, nu, k, count, h = 0.05, 1.5, 3, 30, 1e-4
    first, second = densities(k, 0, q, nu)
    losses = np.rint((np.log(first) - np.log(second)) / h).astype(int)
    size = 1 << 18
    masses = np.bincount(losses + size // 8, weights=first * (Z[1] - Z[0]), minlength=size)[:size]
    power = np.fft.irfft(np.fft.rfft(masses) ** count, size)
    at = h * (np.arange(size) - count * (size // 8) % size)
    at = np.where(at < -size * h / 2, at + size * h, at)
    found = epsilon(
        Poisson(sampling_rate="0.05", noise_multiplier="1.5", iterations=count, group_size=k), DELTA
    ).epsilon
    lower, upper = fraction_of(found.lower), fraction_of(found.upper)
    for end, sign in ((lower, 1), (upper, -1)):
        away = float(end) - sign * 2e-3
        delta = float((np.maximum(power, 0) * np.where(at > away, -np.expm1(away - at), 0)).sum())
        assert sign * (delta - float(DELTA)) > 0
    assert lower < upper < lower * Fraction(1001, 1000)


def test_no_small_data_costs_more_than_the_largest_of_the_orders() -> None:
    """A user's records join or leave, or some of each, beside other records, at values of norm at most one."""
    z, rate, k = np.linspace(-14, 14, 1501), 0.2, 3
    for nu, eps in ((0.7, 0.0), (0.7, 0.7), (2.0, 0.0), (2.0, 0.7)):
        pairs = [densities(a, k - a, rate, nu, z / nu) for a in range(k + 1)]
        bound = max(worst_delta(p / nu, q / nu, eps, z[1] - z[0]) for p, q in pairs)
        smaller = max(worst_delta(p / nu, q / nu, eps, z[1] - z[0]) for p, q in (densities(2, 0, rate, nu, z / nu),))
        worst = 0.0
        for rest in ((), (1.0,), (-1.0, 1.0)):
            for own, other in (((1.0,) * 3, ()), ((1.0, 1.0), (-1.0,)), ((1.0, -1.0, 0.3), ()), ((0.3,), (1.0, -1.0))):
                p, q = joined(own + rest, rate, nu, z), joined(other + rest, rate, nu, z)
                worst = max(worst, worst_delta(p, q, eps, z[1] - z[0]))
        assert smaller < worst <= bound * (1 + 1e-9)


@pytest.mark.parametrize(("k", "count"), [(5, 100), pytest.param(20, 100, marks=pytest.mark.slow)])
def test_a_large_group_is_priced_to_a_thousandth(k: int, count: int) -> None:
    found = epsilon(Poisson(sampling_rate="0.01", noise_multiplier=2, iterations=count, group_size=k), DELTA).epsilon
    assert 0 < fraction_of(found.lower) < fraction_of(found.upper) < fraction_of(found.lower) * Fraction(1001, 1000)


def test_exact_integers_confirm_both_ends_and_refuse_what_is_moved() -> None:
    release = steps("0.02", "2", 5, 2)
    upper, lower = composed_epsilon_upper(release, DELTA, Fraction(1, 10**4)), attained_epsilon(release, DELTA)
    assert proved_profile_upper(release, DELTA, upper).upper < upper * Fraction(1001, 1000)
    assert require_profile_lower(release, DELTA, lower).how == "exact integers"
    with pytest.raises(CertificateError):
        proved_profile_upper(release, DELTA, lower * Fraction(995, 1000))
    with pytest.raises(CertificateError):
        require_profile_lower(release, DELTA, upper * Fraction(1005, 1000))


def test_the_exact_pairs_are_for_one_size_of_group_on_poisson_batches_alone() -> None:
    (group,) = steps("0.02", "2", 5, 2)
    (single,) = steps("0.02", "2", 5, 1)
    (larger,) = steps("0.02", "2", 5, 3)
    assert isinstance(group, GroupStep)
    assert poisson_group((group, group)) == 2
    assert poisson_group((group, single)) == poisson_group((group, larger)) == poisson_group((single,)) == 0
