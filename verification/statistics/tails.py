r"""Exact or conservative tail probabilities: they keep the false-alarm probability of a check at its level.

Every function returns a number that is at most 1 and at least the probability, under the stated hypothesis, of an
observation as extreme as the one given (up to the rounding of scipy's special functions, about 1e-13 relative).
Two-sided probabilities are twice the smaller tail.
"""

from __future__ import annotations

import enum
import math

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from verification.wire.arrays import Floats


def smallest(p_values: Floats) -> tuple[float, int]:
    """Bonferroni: the probability that the least of many is this small, and which one it was.

    One that is not a number counts as 0: whatever led to it, it was not what an honest implementation shows.
    """
    flat = np.nan_to_num(np.ravel(p_values), nan=0.0)
    if not flat.size:
        return 1.0, 0
    where = int(np.argmin(flat))
    return min(1.0, float(flat[where]) * flat.size), where


def normal(z: Floats) -> Floats:
    """Two-sided tails of standard normal values."""
    tails: Floats = np.minimum(1.0, 2.0 * special.ndtr(-np.abs(z)))
    return tails


def binomial(successes: NDArray[np.int64], trials: int, probability: float) -> Floats:
    """Two-sided tails of binomial counts: exact."""
    lower = stats.binom.cdf(successes, trials, probability)
    upper = stats.binom.sf(successes - 1, trials, probability)
    tails: Floats = np.minimum(1.0, 2.0 * np.minimum(lower, upper))
    return tails


class Side(enum.StrEnum):
    """On which side values of the first sample may lie."""

    SMALLER = "smaller"
    LARGER = "larger"
    EITHER = "either"


def two_samples(first: Floats, second: Floats, side: Side) -> float:
    """Kolmogorov and Smirnov's test of two samples of n values: P(sup (F - G) >= k/n) = n!^2 / ((n - k)! (n + k)!).

    Exact for every continuous law (Gnedenko and Korolyuk), and at least the probability where values are equal.
    """
    n, every = len(first), np.sort(np.concatenate([first, second]))
    apart = np.searchsorted(np.sort(first), every, "right") - np.searchsorted(np.sort(second), every, "right")
    sides = {Side.SMALLER: apart.max(), Side.LARGER: -apart.min(), Side.EITHER: np.abs(apart).max()}
    k = max(0, int(sides[side]))
    log = 2 * special.gammaln(n + 1) - special.gammaln(n - k + 1) - special.gammaln(n + k + 1)
    return float(min(1.0, (2.0 if side is Side.EITHER else 1.0) * np.exp(log)))


def kolmogorov(values: Floats) -> float:
    """DKW with Massart's constant: P(sup |F_n - Phi| >= d) <= 2 exp(-2 n d^2) for n standard normal values."""
    ordered = np.sort(np.ravel(values))
    n = len(ordered)
    cdf = special.ndtr(ordered)
    steps = np.arange(n + 1) / n
    distance = float(max(np.max(steps[1:] - cdf), np.max(cdf - steps[:-1])))
    return min(1.0, 2.0 * math.exp(-2.0 * n * distance**2))


def correlation(first: Floats, second: Floats) -> Floats:
    r"""Two-sided tails for independence of standard normal columns; both arrays [samples, columns].

    Given the first column u, <u, v>/||u|| is *exactly* standard normal if v is independent standard normal: no
    asymptotics, any number of samples. Returns the tails of all pairs of columns, [columns, columns]. A column of
    zeros, which standard normal values never are, has tail 0.
    """
    lengths = np.linalg.norm(first, axis=0)[:, None]
    dots = first.T @ second / np.where(lengths > 0.0, lengths, 1.0)
    return np.where(lengths > 0.0, normal(dots), 0.0)


def shifted_means(first: Floats, second: Floats, distance: float) -> float:
    r"""Upper tail of Hotelling's statistic if two Gaussian samples have means `distance` apart, or less.

    ``first`` and ``second`` are [samples, dimension] with one unknown covariance of full rank. The squared
    Mahalanobis distance of the sample means, scaled, has a non-central F distribution: exact, and stochastically
    increasing in the true distance, so a true distance below `distance` only lowers the tail.
    """
    n1, n2, d = len(first), len(second), first.shape[1]
    freedom = n1 + n2 - d - 1
    if freedom < 1:
        raise ValueError(f"Hotelling's statistic needs more than {d + 1} samples, got {n1 + n2}")
    shift = first.mean(axis=0) - second.mean(axis=0)
    centred = np.vstack([first - first.mean(axis=0), second - second.mean(axis=0)])
    _, singular, axes = np.linalg.svd(centred, full_matrices=False)
    weight = n1 * n2 / (n1 + n2)
    # without noise in some direction the distance there is infinite, or (where the means agree, too) not a number
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = weight * float(np.sum((axes @ shift / singular) ** 2)) * freedom / d
    return float(stats.ncf.sf(observed, d, freedom, weight * distance**2))


def coincidences(pairs: int, chance: float) -> float:
    """P(at least so many disjoint pairs coincide) if one pair among all does with at most this chance: union bound.

    A chance that is too small for a double, as of vectors with many columns, is 0.
    """
    if pairs == 0 or chance >= 1:
        return 1.0
    return min(1.0, math.exp(pairs * math.log(chance) - math.lgamma(pairs + 1))) if chance > 0 else 0.0
