"""Pure releases on drawn records: sound against every mechanism on finitely many outputs, attained by one."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from accountant import InvalidQuantityError, UnsupportedSchemeError, epsilon
from accountant.mechanisms.declaration import amplified_epsilon
from accountant.mechanisms.pure import Laplace, Pure
from accountant.numbers import fraction_of


def worst_ratio(eps: float, rate: float, rng: np.random.Generator, *, removed: bool) -> float:
    """The largest P/Q over random A, P1, Q1 on two outputs that are pairwise within e^eps."""
    worst = 0.0
    for _ in range(4000):
        a, p, q = rng.random(3)
        if removed:
            q = a
        pairs = [(x, y) for x, y in itertools.permutations((a, p, q), 2)]
        near = all(x <= math.exp(eps) * y and 1 - x <= math.exp(eps) * (1 - y) for x, y in pairs)
        if near:
            first, second = (1 - rate) * a + rate * p, (1 - rate) * a + rate * q
            worst = max(worst, first / second, (1 - first) / (1 - second), second / first, (1 - second) / (1 - first))
    return worst


@pytest.mark.parametrize("removed", [False, True])
@pytest.mark.parametrize(("eps", "rate"), [(0.5, 0.1), (1.0, 0.5), (2.0, 0.9)])
def test_no_mechanism_exceeds_it(eps: float, rate: float, *, removed: bool) -> None:
    bound = math.exp(float(amplified_epsilon(Fraction(eps), Fraction(rate))))
    assert worst_ratio(eps, rate, np.random.default_rng(5), removed=removed) <= bound * (1 + 1e-12)


def test_a_released_bit_attains_it() -> None:
    """P1 and A within e^eps on an output that Q = A has with small probability: (1 - q) + q e^eps."""
    eps, rate = 1.0, 0.25
    small = 1e-9
    attained = ((1 - rate) * small + rate * math.exp(eps) * small) / small
    assert math.log(attained) == pytest.approx(float(amplified_epsilon(Fraction(eps), Fraction(rate))), rel=1e-12)


def test_laplace_on_batches_costs_the_amplified_epsilon_and_composes_without_loss() -> None:
    drawn = epsilon(Laplace(noise_multiplier=1, sampling="without-replacement", sampling_rate="0.1", iterations=3), 0)
    expected = 3 * math.log1p(0.1 * math.expm1(1.0))
    assert float(fraction_of(drawn.epsilon.upper)) == pytest.approx(expected, rel=1e-12)
    assert float(fraction_of(drawn.epsilon.upper)) >= expected
    many = epsilon(
        Pure(epsilon=1, iterations=200, sampling="poisson", sampling_rate="0.1", neighbours="add-or-remove"), "1e-6"
    )
    assert float(fraction_of(many.epsilon.upper)) < 200 * math.log1p(0.1 * math.expm1(1.0)) / 2
    assert float(fraction_of(many.epsilon.lower)) == 0


@pytest.mark.parametrize(
    ("sampling", "neighbours"),
    [("poisson", "replace-one"), ("with-replacement", "replace-one"), ("shuffle", "add-or-remove")],
)
def test_what_has_no_theorem_is_refused(sampling: str, neighbours: str) -> None:
    with pytest.raises(UnsupportedSchemeError, match="no theorem here"):
        Laplace(noise_multiplier=1, sampling=sampling, sampling_rate="0.1", neighbours=neighbours)


def test_a_rate_belongs_to_drawn_records() -> None:
    with pytest.raises(InvalidQuantityError, match="sampling_rate belongs to drawn records"):
        Laplace(noise_multiplier=1, sampling_rate="0.1")
    with pytest.raises(InvalidQuantityError, match="sampling_rate belongs"):
        Pure(epsilon=1, sampling="without-replacement")
    with pytest.raises(InvalidQuantityError, match=r"in \(0, 1\]"):
        Pure(epsilon=1, sampling="without-replacement", sampling_rate=2)
