r"""The size of noise over its claimed scale: too small somewhere, or too large.

Input are arrays [runs, draws, p], standard normal if all is well. Sums of squares over a set of entries fixed in
advance are chi-square distributed: exact tails. The sets are those of `parts`; standard normal noise is so in every
orthonormal basis, so that sums of squares along the cosines over coordinates and over iterations, which show noise
that cancels in a sum (`noise - noise.mean()`) or over a run, are again chi-square.

For a direction that nobody names: the smallest singular value of N x p standard normal values is below
sqrt N - sqrt p - t with probability at most exp(-t^2/2) (Davidson and Szarek 2001, Theorem II.13). With further noise
E, given it, what is orthogonal to the columns of E are N - p standard normal rows: N - p stands for N.

The direction may be another one in every iteration: the same over all runs of a kind, each iteration by itself
(`Grams`). Or it may depend on what was released before: along the last x, z, y or noise, all of which are known before
the noise is drawn, noise is standard normal as well (`energies_along`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special, stats

from verification.statistics.noise_shape import louder, paired_energies
from verification.statistics.test import Aspect, Cause, Cost, TailFamily, Test, union
from verification.wire.arrays import Floats

PERIODS = range(2, 17)
_TIED = 1e-6
BLOCKS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Sets of entries of one kind: their sums of squares, and how many entries each has."""

    kind: str
    totals: Floats
    degrees: NDArray[np.int64]
    label: Callable[[int], str]
    turned: bool = False  # sums of squares along combinations of values
    single: bool = False  # each of one run alone


def parts(noise: Floats) -> list[Parts]:
    """Every set of entries whose size is looked at."""
    runs, draws, p = noise.shape
    energy = np.sum(noise**2, axis=2)
    by_draw, by_column = energy.sum(axis=0), np.sum(noise**2, axis=(0, 1))

    def alike(kind: str, totals: Floats, degrees: int, label: Callable[[int], str], turned: bool = False) -> Parts:
        return Parts(kind, totals, np.full(totals.size, degrees, dtype=np.int64), label, turned)

    found = [
        alike("overall", energy.sum(keepdims=True).ravel(), noise.size, lambda _: ""),
        alike("iteration", by_draw, runs * p, lambda k: str(k + 1)),
        alike("coordinate", by_column, runs * draws, lambda j: str(j + 1)),
        *_stretches(by_draw, runs * p),
        *_every(by_draw, runs * p),
    ]
    if p > 1:
        found.append(
            alike("cosine over coordinates", *energies_of_cosines(noise, 2), lambda j: str(j + 1), turned=True)
        )
    if draws > 1:
        by_frequency, entries = energies_of_cosines(noise, 1)
        found.append(alike("cosine over iterations", by_frequency, entries, lambda k: str(k + 1), turned=True))
        found += _stretches(by_frequency, entries, "cosines over iterations", turned=True)
        totals, degrees, labels = paired_energies(noise)
        found.append(Parts("sums", totals, degrees, lambda i: labels[i], turned=True))
    if runs > 1:
        each = alike("run", energy.sum(axis=1), draws * p, lambda r: str(r + 1))
        vectors = alike("vector", energy.ravel(), p, lambda i: f"{i % draws + 1} of run {i // draws + 1}")
        found += [replace(part, single=True) for part in (each, vectors)]
    return found


def _stretches(by_draw: Floats, degrees: int, kind: str = "iterations", *, turned: bool = False) -> list[Parts]:
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
            turned=turned,
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
    return [Parts("along the last", totals, degrees, lambda i: names[i], turned=True)]


def size_tests(noise: dict[str, Floats], before: dict[str, Floats] | None = None) -> list[Test]:
    """Too small costs privacy, too large does not.

    ``before`` are values of every iteration along which the noise of the next one is looked at.
    """
    small, single, large, turned = (list[TailFamily]() for _ in range(4))
    shares = []
    for name, array in noise.items():
        for part in [*parts(array), *_along(array, before or {})]:
            label = _sized(name, part)
            below_it = turned if part.turned else single if part.single else small
            below_it.append(TailFamily(part.kind, _float64(special.chdtr(part.degrees, part.totals)), label))
            large.append(TailFamily(part.kind, _float64(special.chdtrc(part.degrees, part.totals)), label))
        turned += quietest_direction(array)
        low, high = interval(float(np.sum(array**2)), array.size)
        shares.append(f"{name} {np.sqrt(np.mean(array**2)):.4g} ({low:.4g} to {high:.4g})")
    measured = f"standard deviation over the claimed one: {', '.join(shares)}"
    below, at = union([*small, *single, *turned])
    above, at_most = union(large)
    # of the claimed size where it is added, too small in a combination: what is wrong is that its parts are tied;
    # then single vectors are too small as well, but less certainly
    tied = union(small)[0] > _TIED and union(turned)[0] <= union(single)[0]
    cause = Cause.NOISE_DEPENDENT if tied else Cause.NOISE_SMALL
    return [
        Test("noise-size", Aspect.NOISE, below, f"{measured}; smallest: {at}", cause),
        Test("noise-excess", Aspect.NOISE, above, f"{measured}; largest: {at_most}", Cause.NOISE_LARGE, Cost.NOTHING),
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


_ROWS_A_COLUMN = 4
_MOST_COLUMNS = 2048
_MOST_PRODUCTS = 4_000_000


def energies_of_cosines(noise: Floats, over: int) -> tuple[Floats, int]:
    """Sums of squares of noise [runs, draws, p] along the cosines over draws (1) or coordinates (2); their degrees."""
    turned = fft.dct(noise, axis=over, norm="ortho")
    return np.sum(turned**2, axis=(0, 3 - over)), noise.size // noise.shape[over]


def energies_along(noise: Floats, before: dict[str, Floats]) -> tuple[Floats, NDArray[np.int64], list[str]]:
    """Sums of squares of noise [runs, draws, p] along values [runs, draws, p] of the iteration before, and of it."""
    totals, degrees, names = [], [], []
    for name, values in {**before, "noise": noise}.items():
        if values.shape != noise.shape:
            continue
        lengths = np.linalg.norm(values[:, :-1], axis=2)
        along = np.einsum("rdp,rdp->rd", noise[:, 1:], values[:, :-1])
        some = lengths > 0
        if not some.any():
            continue
        totals.append(float(np.sum((along[some] / lengths[some]) ** 2)))
        degrees.append(int(some.sum()))
        names.append(name)
    return np.array(totals), np.array(degrees, dtype=np.int64), names


def quietest_direction(noise: Floats) -> list[TailFamily]:
    """A bound on the tail of the smallest singular value of all vectors; nothing where they are too few for one."""
    rows = noise.reshape(-1, noise.shape[2])
    count, p = rows.shape
    if not 1 < p <= _MOST_COLUMNS or count < _ROWS_A_COLUMN * p:
        return []
    tail, smallest = _tail((rows.T @ rows)[None], count - (p if louder(noise).any() else 0))
    label = f"({smallest[0] / np.sqrt(count):.4g} of the claimed size, of {p} directions)"
    return [TailFamily("some direction", tail, lambda _: label)]


def _tail(grams: Floats, count: int) -> tuple[Floats, Floats]:
    """The bound for each of several products of so many vectors with themselves [k, p, p], and the singular values."""
    smallest = np.sqrt(np.maximum(0.0, np.linalg.eigvalsh(grams)[:, 0]))
    below = np.maximum(0.0, np.sqrt(count) - np.sqrt(grams.shape[1]) - smallest)
    return np.exp(-(below**2) / 2), smallest


@dataclass(slots=True, eq=False)
class Grams:
    """Products of the noise vectors of each iteration with themselves, summed over runs of one length."""

    sums: dict[tuple[str, int, int], Floats] = field(default_factory=dict)
    counts: dict[tuple[str, int, int], int] = field(default_factory=dict)
    loud: set[tuple[str, int, int]] = field(default_factory=set)

    def add(self, name: str, noise: Floats) -> None:
        """Noise [runs, draws, p]; none where that would take too much room."""
        runs, draws, p = noise.shape
        if p == 1 or draws * p * p > _MOST_PRODUCTS:
            return
        key = (name, draws, p)
        if louder(noise).any():
            self.loud.add(key)
        across = noise.transpose(1, 2, 0)
        self.sums[key] = self.sums.get(key, 0.0) + across @ across.transpose(0, 2, 1)
        self.counts[key] = self.counts.get(key, 0) + runs

    def families(self) -> list[TailFamily]:
        """Every iteration of which there are runs enough."""
        found = []
        for key, sums in self.sums.items():
            (name, draws, p), count = key, self.counts[key]
            if count >= _ROWS_A_COLUMN * p:
                tails, smallest = _tail(sums, count - (p if key in self.loud else 0))
                found.append(TailFamily(f"{name}: iteration", tails, _labels(smallest / np.sqrt(count), draws)))
        return found


def _labels(ratios: Floats, draws: int) -> Callable[[int], str]:
    return lambda k: f"{k + 1} of {draws} (some direction has {ratios[k]:.4g} of the claimed size)"
