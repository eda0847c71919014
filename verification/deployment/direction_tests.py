r"""The size of noise in directions: too small in a combination of coordinates, or of iterations, is too small.

Noise that is right in every coordinate can be missing in a sum of them (`noise - noise.mean()`), and noise that is
right in every iteration can cancel over a run. Standard normal noise is so in every orthonormal basis, so the sums of
squares along the vectors of the cosine basis, over coordinates and over iterations, are again chi-square: exact tails.

For a direction that nobody names: the smallest singular value of N x p standard normal values is below
sqrt N - sqrt p - t with probability at most exp(-t^2/2) (Davidson and Szarek 2001, Theorem II.13). With further noise
E, given it, what is orthogonal to the columns of E are N - p standard normal rows: N - p stands for N.

The direction may be another one in every iteration: the same over all runs of a kind, each iteration by itself
(`Grams`). Or it may depend on what was released before: along the last x, z, y or noise, all of which are known before
the noise is drawn, noise is standard normal as well (`energies_along`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from verification.deployment.law_tests import louder
from verification.deployment.sighting import TailFamily
from verification.wire.arrays import Floats

_ROWS_A_COLUMN = 4
_MOST_COLUMNS = 2048
_MOST_PRODUCTS = 4_000_000


def energies_of_directions(noise: Floats) -> tuple[Floats, int]:
    """Sums of squares [p] of noise [runs, draws, p] along the cosines over coordinates, and the degrees of each."""
    turned = fft.dct(noise, axis=2, norm="ortho")
    return np.sum(turned**2, axis=(0, 1)), noise.shape[0] * noise.shape[1]


def energies_of_frequencies(noise: Floats) -> tuple[Floats, int]:
    """Sums of squares [draws] along the cosines over iterations, and the degrees of each."""
    turned = fft.dct(noise, axis=1, norm="ortho")
    return np.sum(turned**2, axis=(0, 2)), noise.shape[0] * noise.shape[2]


def energies_along(noise: Floats, before: dict[str, Floats]) -> tuple[Floats, NDArray[np.int64], list[str]]:
    """Sums of squares of noise [runs, draws, p] along values [runs, draws, p] of the iteration before, and of it."""
    totals, degrees, names = [], [], []
    for name, values in {**before, "noise": noise}.items():
        if values.shape != noise.shape:
            continue
        lengths = np.linalg.norm(values[:, :-1], axis=2)
        along = np.einsum("rdp,rdp->rd", noise[:, 1:], values[:, :-1])
        some = lengths > 0
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
