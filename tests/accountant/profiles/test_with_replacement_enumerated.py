"""Batches with replacement, small: all n^m batches are listed, so that the exact delta of every pair is known."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from accountant.copies import Copies
from accountant.mechanisms.words import Neighbours
from accountant.profiles.with_replacement import batch_rates, single_delta

Values = tuple[float, ...]
Array = np.ndarray[tuple[int], np.dtype[np.float64]]
SIZES = [(2, 2), (2, 4), (3, 2), (3, 3), (4, 3), (5, 2)]
EPSILONS = (0.0, 0.2, 1.0, 2.5)
GRID = 4_001
ERROR = 1e-5  # of the integrals below, whose integrand is 1 at most and has few kinks


def sums(values: Values, batch: int) -> Counter[float]:
    """How often each sum comes up among all batches of so many draws with replacement."""
    return Counter(math.fsum(drawn) for drawn in itertools.product(values, repeat=batch))


def density(values: Values, batch: int, sigma: float, z: Array) -> Array:
    """Of the sum over a batch plus Gaussian noise, exactly: a mixture over all batches."""
    found = sums(values, batch)
    total = sum(found.values())
    parts = [count / total * stats.norm.pdf(z, loc=at, scale=sigma) for at, count in found.items()]
    return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


def exact_deltas(first: Values, second: Values, batch: int, sigma: float) -> Array:
    """delta at EPSILONS of two data sets, the larger of both orders."""
    z = np.linspace(-batch - 10 * sigma, batch + 10 * sigma, GRID)
    p, q = density(first, batch, sigma, z), density(second, batch, sigma, z)
    factor = np.exp(EPSILONS)[:, None]
    orders = np.maximum([p - factor * q, q - factor * p], 0)
    return np.asarray(orders.sum(axis=2).max(axis=0) * (z[1] - z[0]))


def gaussian_delta(mu: float, eps: float) -> float:
    """Of N(mu) against N(0)."""
    return float(stats.norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * stats.norm.cdf(-mu / 2 - eps / mu))


def neighbours(records: int, relation: Neighbours) -> list[tuple[Values, Values]]:
    """A record at +1 made -1 or 0.3, or taken away; the others anywhere on (-1, 0.3, 1)."""
    others = itertools.combinations_with_replacement((-1.0, 0.3, 1.0), records - 1)
    if relation is Neighbours.ADD_OR_REMOVE:
        return [((1.0, *rest), rest) for rest in others]
    return [((1.0, *rest), (other, *rest)) for rest in others for other in (-1.0, 0.3)]


@pytest.mark.parametrize("relation", [Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE])
@pytest.mark.parametrize(("records", "batch"), SIZES)
def test_no_pair_of_small_data_sets_costs_more_than_the_theorem(records: int, batch: int, relation: Neighbours) -> None:
    pairs = neighbours(records, relation)
    for nu in (0.5, 2.0):
        bound = [float(single_delta(Copies(batch, 1, records), Fraction(nu), Fraction(eps))) for eps in EPSILONS]
        worst = np.max([exact_deltas(*pair, batch, 2 * nu) for pair in pairs], axis=0)
        assert (worst <= np.add(bound, ERROR)).all(), nu


@pytest.mark.parametrize("relation", [Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE])
@pytest.mark.parametrize(("records", "batch"), SIZES)
def test_equal_others_attain_the_lower_end(records: int, batch: int, relation: Neighbours) -> None:
    """The delta of a batch without replacement of rate eta."""
    eta = float(batch_rates(Copies(batch, 1, records))[0])
    others = (-1.0,) * (records - 1)
    second = others if relation is Neighbours.ADD_OR_REMOVE else (-1.0, *others)
    for nu in (0.5, 2.0):
        attained = exact_deltas((1.0, *others), second, batch, 2 * nu)
        lower = [eta * gaussian_delta(1 / nu, math.log1p(math.expm1(eps) / eta)) for eps in EPSILONS]
        assert (np.subtract(lower, ERROR) <= attained).all(), nu


@pytest.mark.parametrize("wrong", ["group", "rate", "without"])
def test_the_enumeration_refutes_wrong_forms_of_the_theorem(wrong: str) -> None:
    """One delta for every number of copies; (1-1/n)^m for its complement; the price without replacement."""
    records, batch, nu, at = 3, 3, 0.5, 1
    eta = {"rate": (1 - 1 / records) ** batch, "without": 1 / records}.get(wrong, 1 - (1 - 1 / records) ** batch)
    inner = math.log1p(math.expm1(EPSILONS[at]) / eta)
    weights = stats.binom.pmf(np.arange(1, batch + 1), batch, 1 / records)
    claimed = math.fsum(w * gaussian_delta((k if wrong == "rate" else 1) / nu, inner) for k, w in enumerate(weights, 1))
    if wrong == "without":
        claimed = eta * gaussian_delta(1 / nu, inner)
    worst = max(exact_deltas(*p, batch, 2 * nu)[at] for p in neighbours(records, Neighbours.REPLACE_ONE))
    assert worst > claimed + ERROR
