"""Epochs: the closed form, all orders of small data, what a pair attains, certificates, wrong claims."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import MPContext, mpf

from accountant import DPSGD, Gaussian, Ledger, SsADMM, UnsupportedSchemeError, certificate, epsilon, recheck
from accountant.calibration import calibrate_noise
from accountant.certificates.certificate import read_certificate
from accountant.errors import CertificateError
from accountant.mechanisms.steps import GaussianStep, ShuffledStep
from accountant.numbers import decimal_string, fraction_of
from accountant.shuffled import shuffled_epsilon

DELTA = Fraction(1, 10**6)
SETTINGS = [(1000, 100, 35, "4", "1e-6"), (1000, 100, 30, "1", "1e-5"), (48842, 221, 2210, "2", "1e-8")]


MP = MPContext()
MP.dps = 40


def normal(x: mpf) -> mpf:
    return MP.erfc(-x / MP.sqrt(2)) / 2


def closed_form(mu: mpf, delta: str) -> mpf:
    """The epsilon of mu-GDP, halved out by mpmath from its definition."""
    low, high = MP.mpf(0), MP.mpf(100)
    for _ in range(80):
        e = (low + high) / 2
        found = normal(mu / 2 - e / mu) - MP.exp(e) * normal(-mu / 2 - e / mu)
        low, high = (e, high) if found > MP.mpf(delta) else (low, e)
    return low


def epochs(sampling: str, n: int, m: int, iterations: int, nu: str, *, group_size: int = 1) -> SsADMM:
    return SsADMM(
        records=n, batch=m, iterations=iterations, noise_multiplier=nu, sampling=sampling, group_size=group_size
    )


@pytest.mark.parametrize(("n", "m", "iterations", "nu", "delta"), SETTINGS)
def test_a_fixed_order_costs_the_closed_form_to_twelve_digits(
    n: int, m: int, iterations: int, nu: str, delta: str
) -> None:
    found = epsilon(epochs("fixed-order", n, m, iterations, nu), delta).epsilon
    truth = closed_form(MP.sqrt(math.ceil(iterations / (n // m))) / MP.mpf(nu), delta)
    for end in (found.least, found.most):
        assert abs(MP.mpf(end.fraction().numerator) / end.fraction().denominator / truth - 1) < MP.mpf("1e-12")
    assert found.least.fraction() <= found.most.fraction()


def cut(order: tuple[int, ...], batch: int) -> list[frozenset[int]]:
    """The batches of one order; what fills none is left out."""
    return [frozenset(order[i : i + batch]) for i in range(0, len(order) - batch + 1, batch)]


@pytest.mark.parametrize(("n", "m", "iterations"), [(4, 2, 3), (4, 2, 4), (5, 2, 3), (4, 1, 6), (4, 3, 2), (3, 3, 2)])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_all_orders_of_small_data_visit_no_group_more_than_is_priced(n: int, m: int, iterations: int, k: int) -> None:
    """The squared numbers of group members in the batches, summed: of one order for all epochs, and of any for each."""
    per_epoch = n // m
    rounds = -(-iterations // per_epoch)
    each = [cut(order, m) for order in itertools.permutations(range(n))]
    priced = epochs("fixed-order", n, m, iterations, "1", group_size=k).ledger()
    assert priced.steps == epochs("shuffle", n, m, iterations, "1", group_size=k).ledger().steps
    steps = [step for step in priced.steps if isinstance(step, GaussianStep)]
    square = sum((step.ratio_squared * step.count for step in steps), Fraction(0))
    group = frozenset(range(k))
    fixed = max(sum(len(b & group) ** 2 for b in (batches * rounds)[:iterations]) for batches in each)
    assert fixed == square  # who knows the order attains it
    distinct = {tuple(len(b & group) for b in batches) for batches in each}
    for chosen in itertools.product(distinct, repeat=min(rounds, 3)):
        visited = [j for numbers in chosen for j in numbers][:iterations]
        assert sum(j**2 for j in visited) <= square


def test_a_claim_of_fresh_batches_is_below_what_epochs_attain() -> None:
    fresh = epsilon(SsADMM(records=1000, batch=100, iterations=35, noise_multiplier=1), DELTA)
    fixed = epsilon(epochs("fixed-order", 1000, 100, 35, "1"), DELTA)
    assert fixed.epsilon.lower > fresh.epsilon.upper  # the wrong claim
    every = epsilon(Gaussian(noise_multiplier=1, iterations=35), DELTA)
    assert fixed.epsilon.upper < every.epsilon.lower  # what nothing-is-gained would have said


@pytest.mark.parametrize(("batches", "nu"), [(2, 0.5), (2, 2.0), (3, 1.0)])
def test_the_lower_end_of_a_shuffled_epoch_is_attained_and_visible(batches: int, nu: float) -> None:
    """delta of the mean over b of N(mu e_b) against N(0), on a grid."""
    mu, points = 1 / nu, 81
    z = np.linspace(-6, 6 + mu, points)
    grid = np.meshgrid(*[z] * batches, indexing="ij")
    q = np.exp(-sum(g**2 for g in grid) / 2) / (2 * math.pi) ** (batches / 2) * (z[1] - z[0]) ** batches
    p = q * np.mean([np.exp(mu * g - mu**2 / 2) for g in grid], axis=0)
    delta = Fraction(1, 10**3)
    step = ShuffledStep(batches, batches, Fraction(1), Fraction(nu), 1)
    found = max(
        shuffled_epsilon(step, delta).fraction(),
        fraction_of(epsilon(Ledger(step.summed(), realisable=step.summed()), delta).epsilon.lower),
    )
    for wrong in (0.0, 0.5):  # half as much again is not attained: the check sees it
        e = math.exp(float(found) + wrong)
        best = max(np.maximum(p - e * q, 0).sum(), np.maximum(q - e * p, 0).sum())
        assert (best >= float(delta) * 0.98) == (wrong == 0.0) or (wrong and found < Fraction(1, 10))


def test_shuffled_epochs_enclose_and_say_that_nothing_is_gained() -> None:
    found = epsilon(epochs("shuffle", 1000, 100, 35, "1/2"), DELTA)
    fixed = epsilon(epochs("fixed-order", 1000, 100, 35, "1/2"), DELTA)
    assert 0 < found.epsilon.lower < found.epsilon.upper == fixed.epsilon.upper
    assert any("random order" in note for note in found.ledger.notes)
    partial = epsilon(epochs("shuffle", 1000, 100, 5, "1/2"), DELTA)  # half an epoch, and records that are left out
    assert 0 <= partial.epsilon.lower <= partial.epsilon.upper
    assert partial.epsilon.lower < epsilon(epochs("shuffle", 1000, 100, 10, "1/2"), DELTA).epsilon.lower


def test_a_shuffled_step_has_no_price_of_its_own() -> None:
    step = ShuffledStep(10, 10, Fraction(1), Fraction(1), 3)
    with pytest.raises(UnsupportedSchemeError, match="one release an epoch"):
        Ledger((step,))


@pytest.mark.parametrize("sampling", ["fixed-order", "shuffle"])
def test_more_iterations_and_phases_never_cost_less(sampling: str) -> None:
    ends = [epsilon(epochs(sampling, 100, 10, count, "2"), DELTA).epsilon for count in (1, 9, 10, 11, 20, 21)]
    assert all(a.upper <= b.upper for a, b in itertools.pairwise(ends))
    assert ends[1].upper == ends[2].upper < ends[3].upper  # a tenth batch of the epoch is another record's
    ledger = epochs(sampling, 100, 10, 25, "2").ledger()
    beside = ledger + Gaussian(noise_multiplier=3, iterations=2).ledger()
    assert epsilon(beside, DELTA).epsilon.lower >= epsilon(ledger, DELTA).epsilon.lower
    assert epsilon(beside, DELTA).epsilon.upper >= epsilon(ledger, DELTA).epsilon.upper


def test_noise_is_calibrated_to_epochs() -> None:
    found = calibrate_noise(
        lambda nu: DPSGD(records=1000, batch=100, iterations=50, noise_multiplier=nu, sampling="shuffle"),
        epsilon=1,
        delta=DELTA,
    )
    assert found.epsilon_upper <= 1
    assert found.missed is not None
    less = DPSGD(records=1000, batch=100, iterations=50, noise_multiplier=found.missed, sampling="fixed-order")
    assert epsilon(less, DELTA).epsilon.lower > 1


@pytest.mark.parametrize("sampling", ["fixed-order", "shuffle"])
@pytest.mark.parametrize(("end", "factor"), [("lower", "1.02"), ("upper", "0.98"), ("upper", "0.999")])
def test_no_moved_end_of_epochs_is_certified(sampling: str, end: str, factor: str) -> None:
    honest = certificate(epsilon(epochs(sampling, 1000, 100, 35, "1"), DELTA)).to_json()
    recheck(read_certificate(json.dumps(honest)))
    forged = json.loads(json.dumps(honest))
    moved = decimal_string(Fraction(forged["epsilon"][end]) * Fraction(factor), forged["digits"], "down")
    forged["epsilon"][end] = moved
    if end == "upper":
        forged["methods"]["gdp"] |= {"upper": moved, "epsilon": moved, "lower": "0"}
    read = read_certificate(json.dumps(forged))
    forged["digest"] = read.expected_digest()
    with pytest.raises(CertificateError):
        recheck(read_certificate(json.dumps(forged)))
