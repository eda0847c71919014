"""Learned scores: the event is chosen on one half by a quick estimate; what it is tested with is a proved bound."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from audits.curves.privacy_curve import GaussianCurve
from audits.games.learned import promise, tail

RUNS = 400
CURVE = GaussianCurve(0.5)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(("hits", "misses"), [(0, 0), (0, RUNS), (RUNS, RUNS), (RUNS, 0), (150, 60), (37, 1)])
def test_the_tail_is_the_product_of_two_binomial_tails(hits: int, misses: int, epsilon: float) -> None:
    """At least as much as at any single point, and not much more: recomputed with scipy.stats."""
    delta = float(CURVE.delta(np.array([epsilon]))[0])
    there = np.linspace(0.0, 1.0, 5001)
    here = np.minimum(1.0, np.exp(epsilon) * there + delta)
    pointwise = stats.binom.sf(hits - 1, RUNS, here) * stats.binom.cdf(misses, RUNS, there)
    bound = tail(hits, misses, RUNS, epsilon, CURVE)
    assert bound >= float(pointwise.max()) * (1 - 1e-9)
    assert np.log(bound + 1e-300) <= 0.7 * np.log(pointwise.max() + 1e-300) + 0.1


def test_the_quick_estimate_prefers_what_the_bound_prefers() -> None:
    rng = np.random.default_rng(3)
    hits, misses = rng.integers(100, 300, 40), rng.integers(20, 150, 40)
    quick = promise(hits, misses, RUNS, 0.5, CURVE)
    exact = np.array([tail(int(h), int(m), RUNS, 0.5, CURVE) for h, m in zip(hits, misses, strict=True)])
    chosen, best = exact[int(np.argmin(quick))], exact.min()
    assert np.log(chosen) <= 0.9 * np.log(best)
