r"""The size of noise in directions: too small in a combination of coordinates, or of iterations, is too small.

Noise that is right in every coordinate can be missing in a sum of them (`noise - noise.mean()`), and noise that is
right in every iteration can cancel over a run. Standard normal noise is so in every orthonormal basis, so the sums of
squares along the vectors of the cosine basis, over coordinates and over iterations, are again chi-square: exact tails.

For a direction that nobody names: the smallest singular value of N x p standard normal values is below
sqrt N - sqrt p - t with probability at most exp(-t^2/2) (Davidson and Szarek 2001, Theorem II.13).
"""

from __future__ import annotations

import numpy as np
from scipy import fft

from verification.deployment.sighting import TailFamily
from verification.wire.arrays import Floats

_ROWS_A_COLUMN = 4
_MOST_COLUMNS = 2048


def energies_of_directions(noise: Floats) -> tuple[Floats, int]:
    """Sums of squares [p] of noise [runs, draws, p] along the cosines over coordinates, and the degrees of each."""
    turned = fft.dct(noise, axis=2, norm="ortho")
    return np.sum(turned**2, axis=(0, 1)), noise.shape[0] * noise.shape[1]


def energies_of_frequencies(noise: Floats) -> tuple[Floats, int]:
    """Sums of squares [draws] along the cosines over iterations, and the degrees of each."""
    turned = fft.dct(noise, axis=1, norm="ortho")
    return np.sum(turned**2, axis=(0, 2)), noise.shape[0] * noise.shape[2]


def quietest_direction(noise: Floats) -> list[TailFamily]:
    """A bound on the tail of the smallest singular value of all vectors; nothing where they are too few for one."""
    rows = noise.reshape(-1, noise.shape[2])
    count, p = rows.shape
    if not 1 < p <= _MOST_COLUMNS or count < _ROWS_A_COLUMN * p:
        return []
    smallest = float(np.sqrt(max(0.0, np.linalg.eigvalsh(rows.T @ rows)[0])))
    below = max(0.0, np.sqrt(count) - np.sqrt(p) - smallest)
    label = f"({smallest / np.sqrt(count):.4g} of the claimed size, of {p} directions)"
    return [TailFamily("some direction", np.array([np.exp(-(below**2) / 2)]), lambda _: label)]
