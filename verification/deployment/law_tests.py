r"""Claimed noise with a further one of any law, independent of it: what must still hold.

Given the further noise e, each value is N(e, 1), and independent of the others. So

* sums of squares are stochastically at least chi-square distributed, in every direction: `noise_tests` needs no change;
  here are the directions (u + v)/sqrt 2 and (u - v)/sqrt 2 of two draws, which tell correlated noise that is loud
  enough (nothing is lost: a part of it is the claimed noise) from noise that cancels;
* the mean of exp(i t value) has an expectation of at most g = exp(-t^2/2) in size. One value of n changes it by 2/n
  at most, and its deviation is at most sqrt((1 - g^2)/n) in the mean: it is above g + sqrt((1 - g^2)/n) + s with
  probability at most exp(-n s^2/2) (McDiarmid 1989). Laws with an edge or a peak, uniform or Laplace, are above.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from verification.deployment.sighting import Aspect, Sighting, TailFamily, union
from verification.wire.arrays import Floats

LAGS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512, 1024)
_STRETCH = 4096
"""Values of a stretch that is louder or not: 7 % more variance shows, of less the shape of what is added does not."""
_LEFT_OUT = 1e-3
"""So many stretches of honest noise are taken for louder: no level of a test, for what is left is as exact."""
_FREQUENCIES = np.arange(0.5, 4.25, 0.25)


def louder(noise: Floats) -> NDArray[np.bool_]:
    """Which draws [runs, draws] of noise [runs, draws, p] lie in a stretch of more than the claimed size.

    The first draw of a run, which may hold a start at another point, does not count where there are others.
    """
    runs, draws, p = noise.shape
    energy = np.sum(noise**2, axis=2)
    counted = np.ones((runs, draws), dtype=np.bool_)
    counted[:, 0] = draws == 1
    stretch = np.arange(runs * draws) // max(1, -(-_STRETCH // p))
    totals = np.bincount(stretch, (energy * counted).ravel())
    degrees = p * np.bincount(stretch, counted.ravel().astype(np.float64))
    loud = special.chdtrc(degrees, totals) < _LEFT_OUT
    return np.asarray(loud[stretch].reshape(runs, draws))


def lag_halves(draws: int, lag: int) -> list[NDArray[np.intp]]:
    """Where draws begin whose partner is ``lag`` later, in two halves in each of which no draw is on both sides."""
    where = np.arange(draws - lag)
    return [where[(where // lag) % 2 == parity] for parity in (0, 1)]


def law_sighting(name: str, noise: dict[str, Floats]) -> Sighting:
    """Whether noise that is louder than claimed can hold the claimed noise; nothing is looked at where none is."""
    families = [_spectrum(stream, array) for stream, array in noise.items() if louder(array).any()]
    p_value, at = union(families)
    detail = f"louder than claimed; least likely: {at}" if families else "not louder than claimed"
    return Sighting(name, Aspect.NOISE, p_value, detail, cause="noise is not Gaussian")


def _spectrum(stream: str, noise: Floats) -> TailFamily:
    values = noise.ravel()
    n = values.size
    allowed = np.exp(-(_FREQUENCIES**2) / 2)
    sizes = np.array([abs(np.mean(np.exp(1j * t * values))) for t in _FREQUENCIES])
    above = np.maximum(0.0, sizes - allowed - np.sqrt((1 - allowed**2) / n))

    def label(i: int) -> str:
        return f"of {n} at {_FREQUENCIES[i]:g}: {sizes[i]:.4g}, at most {allowed[i]:.4g} is expected"

    return TailFamily(f"{stream}: characteristic function", np.exp(-n * above**2 / 2), label)


def paired_energies(noise: Floats) -> tuple[Floats, NDArray[np.int64], list[str]]:
    """Sums of squares of (u + v)/sqrt 2 and (u - v)/sqrt 2 over draws u, v of one run so many iterations apart."""
    runs, draws, p = noise.shape
    energy = np.sum(noise**2, axis=(0, 2))
    totals, degrees, labels = [], [], []
    for lag in [lag for lag in LAGS if lag < draws]:
        products = np.einsum("rdp,rdp->d", noise[:, :-lag], noise[:, lag:])
        for half in lag_halves(draws, lag):
            if half.size:
                mean, product = (energy[half].sum() + energy[half + lag].sum()) / 2, products[half].sum()
                totals += [mean + product, mean - product]
                degrees += [half.size * runs * p] * 2
                labels += [f"of draws {lag} apart", f"of differences of draws {lag} apart"]
    return np.array(totals), np.array(degrees, dtype=np.int64), labels
