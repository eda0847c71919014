r"""The size of noise over its claimed scale: too small somewhere, or too large.

Input are arrays [runs, draws, p], standard normal if all is well. Sums of squares over a set of entries fixed in
advance are chi-square distributed: exact tails. The sets: everything, each run, each draw over all runs, each vector,
each coordinate, stretches of 2^k consecutive draws, and every j-th draw; sums and differences of two draws
(`law_tests`); each cosine over coordinates, each and stretches of those over draws, and the quietest direction of all
(`direction_tests`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from verification.deployment.direction_tests import (
    energies_along,
    energies_of_directions,
    energies_of_frequencies,
    quietest_direction,
)
from verification.deployment.law_tests import paired_energies
from verification.deployment.sighting import Aspect, Cost, Sighting, TailFamily, union
from verification.wire.arrays import Floats

PERIODS = range(2, 17)
BLOCKS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Sets of entries of one kind: their sums of squares, and how many entries each has."""

    kind: str
    totals: Floats
    degrees: NDArray[np.int64]
    label: Callable[[int], str]


def parts(noise: Floats) -> list[Parts]:
    """Every set of entries whose size is looked at."""
    runs, draws, p = noise.shape
    energy = np.sum(noise**2, axis=2)
    by_draw, by_column = energy.sum(axis=0), np.sum(noise**2, axis=(0, 1))

    def alike(kind: str, totals: Floats, degrees: int, label: Callable[[int], str]) -> Parts:
        return Parts(kind, totals, np.full(totals.size, degrees, dtype=np.int64), label)

    found = [
        alike("overall", energy.sum(keepdims=True).ravel(), noise.size, lambda _: ""),
        alike("iteration", by_draw, runs * p, lambda k: str(k + 1)),
        alike("coordinate", by_column, runs * draws, lambda j: str(j + 1)),
        *_stretches(by_draw, runs * p),
        *_every(by_draw, runs * p),
    ]
    if p > 1:
        found.append(alike("cosine over coordinates", *energies_of_directions(noise), lambda j: str(j + 1)))
    if draws > 1:
        by_frequency, entries = energies_of_frequencies(noise)
        found.append(alike("cosine over iterations", by_frequency, entries, lambda k: str(k + 1)))
        found += _stretches(by_frequency, entries, "cosines over iterations")
        totals, degrees, labels = paired_energies(noise)
        found.append(Parts("sums", totals, degrees, lambda i: labels[i]))
    if runs > 1:
        found.append(alike("run", energy.sum(axis=1), draws * p, lambda r: str(r + 1)))
        found.append(alike("vector", energy.ravel(), p, lambda i: f"{i % draws + 1} of run {i // draws + 1}"))
    return found


def _stretches(by_draw: Floats, degrees: int, kind: str = "iterations") -> list[Parts]:
    draws, total = len(by_draw), np.concatenate([[0.0], np.cumsum(by_draw)])
    spans = [
        (start, start + 2**k)
        for k in range(1, draws.bit_length())
        if 2**k < draws
        for start in range(0, draws - 2**k + 1, 2 ** (k - 1))
    ]
    if not spans:
        return []
    first, last = np.array(spans).T
    return [
        Parts(
            kind,
            total[last] - total[first],
            (last - first) * degrees,
            lambda i: f"{spans[i][0] + 1} to {spans[i][1]}",
        )
    ]


def _every(by_draw: Floats, degrees: int) -> list[Parts]:
    chosen = [(j, first) for j in PERIODS if 2 * j <= len(by_draw) for first in range(j)]
    if not chosen:
        return []
    rows = [by_draw[first::j] for j, first in chosen]
    return [
        Parts(
            "one iteration in",
            np.array([row.sum() for row in rows]),
            np.array([row.size * degrees for row in rows]),
            lambda i: f"{chosen[i][0]}, from {chosen[i][1] + 1} on",
        )
    ]


def _along(noise: Floats, before: dict[str, Floats]) -> list[Parts]:
    if noise.shape[1] < 2 or noise.shape[2] < 2:
        return []
    totals, degrees, names = energies_along(noise, before)
    return [Parts("along the last", totals, degrees, lambda i: names[i])]


def size_sightings(where: str, noise: dict[str, Floats], before: dict[str, Floats] | None = None) -> list[Sighting]:
    """Too small costs privacy, too large does not.

    ``before`` are values of every iteration along which the noise of the next one is looked at.
    """
    small, large, shares = [], [], []
    for name, array in noise.items():
        for part in [*parts(array), *_along(array, before or {})]:
            label = _sized(name, part)
            small.append(TailFamily(part.kind, _float64(special.chdtr(part.degrees, part.totals)), label))
            large.append(TailFamily(part.kind, _float64(special.chdtrc(part.degrees, part.totals)), label))
        small += quietest_direction(array)
        low, high = interval(float(np.sum(array**2)), array.size)
        shares.append(f"{name} {np.sqrt(np.mean(array**2)):.4g} ({low:.4g} to {high:.4g})")
    measured = f"standard deviation over the claimed one: {', '.join(shares)}"
    below, at = union(small)
    above, at_most = union(large)
    return [
        Sighting(f"noise-size {where}", Aspect.NOISE, below, f"{measured}; smallest: {at}", cause="noise too small"),
        Sighting(
            f"noise-excess {where}",
            Aspect.NOISE,
            above,
            f"{measured}; largest: {at_most}",
            Cost.NOTHING,
            "noise too large",
        ),
    ]


def _float64(values: object) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _sized(name: str, part: Parts) -> Callable[[int], str]:
    def label(i: int) -> str:
        ratio = np.sqrt(part.totals[i] / part.degrees[i])
        return f"{part.label(i)} ({name}: {ratio:.4g} of the claimed size)".strip()

    return label


def interval(total: float, degrees: int, confidence: float = 0.999) -> tuple[float, float]:
    """Confidence limits of a standard deviation, from a sum of squares: exact for normal noise."""
    beyond = (1 - confidence) / 2
    if not total > 0.0:
        return 0.0, 0.0
    return float(np.sqrt(total / stats.chi2.isf(beyond, degrees))), float(
        np.sqrt(total / stats.chi2.ppf(beyond, degrees))
    )


@dataclass(frozen=True, slots=True)
class Effective:
    """The uniform noise, over the claimed one, that would cost as much privacy as what was seen; 99.9 % limits."""

    ratio: float
    low: float
    high: float


def effective(noise: dict[str, Floats]) -> Effective:
    r"""The harmonic mean of the variance over the parts of the run, in the division that shows the least.

    What T Gaussian releases cost depends on the sum of 1/sigma_k^2. Divisions: the whole, 16 stretches, and every j-th
    iteration; the limits hold for each division by Bonferroni over its parts.
    """
    found = [_harmonic(array, division) for array in noise.values() for division in _divisions(array.shape[1])]
    return min(found, key=lambda each: each.ratio)


def _divisions(draws: int) -> list[NDArray[np.int64]]:
    where = np.arange(draws)
    blocks = where * min(BLOCKS, draws) // draws
    return [np.zeros(draws, dtype=np.int64), blocks, *(where % j for j in PERIODS if 2 * j <= draws)]


def _harmonic(array: Floats, division: NDArray[np.int64]) -> Effective:
    by_draw = np.sum(array**2, axis=(0, 2))
    weights = np.bincount(division) / division.size
    totals = np.bincount(division, by_draw)
    degrees = (np.bincount(division) * array.shape[0] * array.shape[2]).astype(np.int64)
    confidence = 1 - 1e-3 / weights.size
    limits = np.array([interval(float(t), int(d), confidence) for t, d in zip(totals, degrees, strict=True)])
    ratios = [totals / degrees, limits[:, 0] ** 2, limits[:, 1] ** 2]
    with np.errstate(divide="ignore"):
        point, low, high = (float(1 / np.sqrt(np.sum(weights / variance))) for variance in ratios)
    return Effective(point, low, high)
