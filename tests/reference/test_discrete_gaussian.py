from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import cast

import numpy as np
import pytest
from scipy import stats

from reference.arithmetic import Vector, fractions
from reference.discrete_gaussian import (
    ExactEntropy,
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
)
from reference.errors import InvalidParameter, NotExpressible
from reference.mpadmm import ModelNoise, Release, mpadmm
from reference.problem import State
from reference.rounding import on_grid
from reference.schedules import Constant, steps
from reference.ssadmm import ssadmm
from tests.reference.small import small_problem

DRAWS = 20_000
FALSE_ALARM = 1e-6


def chi_square(draw: Callable[[], int], weight: Callable[[int], float]) -> float:
    """The p-value of integer draws against a symmetric law; cells that expect fewer than 50 are merged."""
    counts = Counter(draw() for _ in range(DRAWS))
    support = range(-400, 401)
    total = sum(weight(y) for y in support)
    expected = {y: DRAWS * weight(y) / total for y in support}
    cells = [y for y in support if expected[y] >= 50]
    observed = [*(counts[y] for y in cells), DRAWS - sum(counts[y] for y in cells)]
    wanted = [*(expected[y] for y in cells), DRAWS - sum(expected[y] for y in cells)]
    return float(stats.chisquare(observed, wanted).pvalue)


def gaussian_weight(variance: Fraction) -> Callable[[int], float]:
    return lambda y: math.exp(-(y**2) / (2 * float(variance)))


@pytest.mark.parametrize(
    "variance",
    [
        Fraction(7, 3),
        pytest.param(Fraction(1, 2), marks=pytest.mark.slow),
        pytest.param(Fraction(40), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_draws_follow_the_exact_mass_function(variance: Fraction) -> None:
    below = random.Random(1).randrange
    assert chi_square(lambda: discrete_gaussian(variance, below), gaussian_weight(variance)) > FALSE_ALARM


def test_rounded_continuous_noise_would_be_caught() -> None:
    normal = random.Random(1)
    draw = lambda: round(normal.gauss(0, math.sqrt(0.5)))  # noqa: E731 - the shortest way to say it
    assert chi_square(draw, gaussian_weight(Fraction(1, 2))) < FALSE_ALARM


@pytest.mark.parametrize("scale", [1, 3])
def test_laplace_draws_follow_their_mass_function(scale: int) -> None:
    below = random.Random(2).randrange
    assert chi_square(lambda: discrete_laplace(scale, below), lambda y: math.exp(-abs(y) / scale)) > FALSE_ALARM


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)], ids=str)
def test_bernoulli_exp_has_probability_exp_of_minus_gamma(gamma: Fraction) -> None:
    below = random.Random(3).randrange
    hits = sum(bernoulli_exp(gamma, below) for _ in range(DRAWS))
    assert stats.binomtest(hits, DRAWS, math.exp(-gamma)).pvalue > FALSE_ALARM


def test_bernoulli_is_exact_by_counting() -> None:
    draws = iter(range(7))
    assert sum(bernoulli(Fraction(3, 7), lambda bound: next(draws) % bound) for _ in range(7)) == 3


def test_bernoulli_exp_sums_the_alternating_series_exactly() -> None:
    # P(K = k stages succeed) = gamma^k/k! - gamma^{k+1}/(k+1)!; every leaf of the decision tree, in rationals.
    gamma, total, alive = Fraction(1, 2), Fraction(0), Fraction(1)
    for k in range(1, 25):
        stop = alive * (1 - gamma / k)
        total += stop if k % 2 else 0
        alive -= stop
    assert abs(float(total) - math.exp(-0.5)) < 1e-16 + float(alive)


@pytest.mark.parametrize("grid", [0.0, 3.0, -1.0, math.inf, math.nan, 0.1])
def test_the_grid_must_be_a_power_of_two(grid: float) -> None:
    with pytest.raises(InvalidParameter, match="grid must be a power of two, got grid="):
        ExactEntropy(grid)


def test_noise_lies_on_the_grid_with_the_variance_asked_for() -> None:
    source = ExactEntropy(2.0**-4, random.Random(5).randrange)
    draws = np.concatenate([*source.noise(50, 1.0, 40)])
    assert np.array_equal(draws * 16, np.rint(draws * 16))
    # 2,000 draws of variance 1 (at 16 cells a deviation the discreteness is below 1e-9): chi-square, both tails.
    p = stats.chi2.cdf(float(draws @ draws), len(draws))
    assert FALSE_ALARM < p < 1 - FALSE_ALARM


def test_release_noise_comes_from_the_system_and_batches_from_entropy() -> None:
    first, second = (np.concatenate([*ExactEntropy(2.0**-20).noise(4, 1.0, 4)]) for _ in range(2))
    assert not np.array_equal(first, second)
    assert all(len(set(batch.tolist())) == 3 for batch in ExactEntropy(0.5).batches(7, 3, 20))
    assert not np.array([*ExactEntropy(0.5).noise(3, 0.0, 4)]).any()
    with pytest.raises(InvalidParameter, match="sigma must be finite and >= 0"):
        ExactEntropy(0.5).noise(3, -1.0, 4)


def test_values_are_rounded_to_the_nearest_multiple() -> None:
    values = np.array([0.3, -0.3, 0.125, 1e-300])
    assert on_grid(values, 0.25).tolist() == [0.25, -0.25, 0.0, 0.0]
    assert on_grid(values, None) is values


def test_rationals_are_rounded_as_binary64_is() -> None:
    values = [Fraction(k, 8) for k in range(-20, 21)]
    exact = on_grid(fractions().array(cast(Vector, np.array(values, dtype=object))), 0.25)
    assert list(exact) == [Fraction(v) for v in on_grid(np.array([float(v) for v in values]), 0.25)]


def test_a_grid_too_fine_for_exact_sums_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="grid is too fine for values this large to be added exactly"):
        on_grid(np.array([1.0]), 2.0**-60)
    with pytest.raises(InvalidParameter, match="grid is too fine"):
        on_grid(np.array([1.0]), 2.0**-52)
    assert on_grid(np.array([1.0 - 2.0**-52]), 2.0**-52) == 1.0 - 2.0**-52
    with pytest.raises(InvalidParameter, match="grid is too fine"):
        on_grid(np.array([math.nan]), 1.0)
    with pytest.raises(InvalidParameter, match="grid is too fine"):
        next(ExactEntropy(2.0**-70, random.Random(1).randrange).noise(3, 1.0, 1))
    with pytest.raises(NotExpressible, match="binary64 and rationals"):
        on_grid(np.array([object()]), 1.0)


def test_both_algorithms_add_their_noise_exactly_on_the_grid() -> None:
    grid = 2.0**-10
    source = ExactEntropy(grid, random.Random(8).randrange)
    problem, start = small_problem(), State.zero(6)
    etas = [*steps(Constant(0.5), 3)]
    for release in Release:
        noise = [ModelNoise(*(next(source.noise(6, 0.5, 1)) for _ in range(3))) for _ in range(3)]
        for state in mpadmm(problem, start, step_sizes=etas, noise=noise, release=release, grid=grid):
            assert np.array_equal(state.x, on_grid(state.x, grid))
    # ssADMM: the noisy gradient is recovered from the first x update and must be a multiple of the grid.
    zero = np.zeros(6)
    first = next(ssadmm(problem, start, step_sizes=[1.0], batches=[np.arange(3)], noise=[zero], grid=grid))
    g = -first.x * (problem.rho + 1.0)
    np.testing.assert_allclose(g, on_grid(problem.gradient(zero, np.arange(3)), grid), rtol=0, atol=1e-15)
