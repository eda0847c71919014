r"""The shape of noise whatever its scale: Gaussian, centred, independent, fresh.

The direction of a normal vector with independent entries of one variance is uniform and independent of its length; a
fresh chi-distributed length makes the vector standard normal. So every block of noise gets a fresh length
(`without_scale`), and all tests are exact at any size of the noise: size alone never accuses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from verification.conformance import tails
from verification.deployment.reuse_tests import repeats, twins
from verification.deployment.sighting import Aspect, Sighting, TailFamily, union
from verification.wire.arrays import Floats

LAGS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512, 1024)
TAILS = (2.0, 2.5, 3.0, 3.5, 4.0, 4.5)
_BLOCK = 128
_PAIRED_COLUMNS = 160


def without_scale(noise: Floats, rng: np.random.Generator) -> Floats:
    """The noise [runs, draws, p] with the length of every block of a run's draws replaced by a fresh one.

    A block is long enough that little is lost with its length; the first draw is a block by itself where p > 1, for a
    start at another point changes its size alone.
    """
    runs, draws, p = noise.shape
    first = 1 if p > 1 else 0
    starts = [*range(first), *range(first, draws, max(1, -(-_BLOCK // p)))]
    result = np.zeros_like(noise)
    for start, stop in zip(starts, [*starts[1:], draws], strict=True):
        block = noise[:, start:stop]
        lengths = np.linalg.norm(block.reshape(runs, -1), axis=1)
        fresh = np.sqrt(rng.chisquare((stop - start) * p, runs))
        factors = np.divide(fresh, lengths, out=np.zeros(runs), where=lengths > 0)
        result[:, start:stop] = block * factors[:, None, None]
    return result


def shape_sightings(
    where: str,
    noise: dict[str, Floats],
    rng: np.random.Generator,
    grain: float | None = None,
    again: dict[str, Floats] | None = None,
    *,
    step: float = 0.0,
) -> list[Sighting]:
    """Shape, centring, independence and freshness, each over all streams.

    ``grain`` is how exactly the noise could be read; without it single values are not compared. ``again`` is noise of
    another request: nothing of it may be the same. ``step`` is that of a grid on which everything noised lies, too.
    """
    scaled = {name: without_scale(array, rng) for name, array in noise.items()}
    checks = (
        ("noise-shape", _shapes(scaled), "noise is not Gaussian"),
        ("noise-centring", _means(scaled), "noise is not centred"),
        ("noise-independence", [*_ties(scaled), *_between(scaled)], "noise is not independent"),
    )
    found = []
    for name, families, cause in checks:
        p_value, at = union(families)
        found.append(Sighting(f"{name} {where}", Aspect.NOISE, p_value, f"least likely: {at}", cause=cause))
    every = [*noise.values(), *([] if again is None else again.values())]
    width = max(array.shape[2] for array in every)
    rows = np.vstack([a.reshape(-1, a.shape[2]) for a in every if a.shape[2] == width])
    found.append(repeats(f"noise-freshness {where}", rows))
    if grain is not None:
        found.append(twins(f"noise-values-fresh {where}", np.concatenate([a.ravel() for a in every]), grain, step))
    return found


def _shapes(scaled: dict[str, Floats]) -> list[TailFamily]:
    families = []
    for name, array in scaled.items():
        values = array.ravel()
        families.append(TailFamily(f"{name}: distribution function", np.array([tails.kolmogorov(values)])))
        families += beyond(name, values.size, [int(np.sum(np.abs(values) > threshold)) for threshold in TAILS])
    return families


def beyond(name: str, values: int, counts: Sequence[int]) -> list[TailFamily]:
    """How many of so many standard normal values are beyond each of `TAILS`: exact binomial tails."""
    families = []
    for threshold, count in zip(TAILS, counts, strict=True):
        chance = float(tails.normal(np.array(threshold)))
        label = f"{name}: {count} of {values} beyond {threshold:g} deviations"
        families.append(TailFamily(label, tails.binomial(np.array([count]), values, chance)))
    return families


def _means(scaled: dict[str, Floats]) -> list[TailFamily]:
    sums = {name: array.reshape(-1, array.shape[2]) for name, array in scaled.items()}
    together = [
        TailFamily(f"{name}: all coordinates together", tails.normal(np.array([rows.sum() / np.sqrt(rows.size)])))
        for name, rows in sums.items()
    ]
    return together + [
        TailFamily(f"{name}: coordinate", tails.normal(rows.sum(axis=0) / np.sqrt(len(rows))), lambda j: str(j + 1))
        for name, rows in sums.items()
    ]


def _ties(scaled: dict[str, Floats]) -> list[TailFamily]:
    """Pairs of coordinates; each draw with the one so many iterations later; consecutive runs."""
    families = []
    for name, array in scaled.items():
        runs, draws, p = array.shape
        rows = array.reshape(-1, p)[:, :_PAIRED_COLUMNS]
        if p > 1 and len(rows) > 1:
            first, second = np.triu_indices(rows.shape[1], k=1)
            families.append(_pairs(f"{name}: coordinates", tails.correlation(rows, rows), first, second))
        lags = [lag for lag in LAGS if lag < draws]
        if lags:
            products = np.array([product for lag in lags for product in _lagged(array, lag)])
            families.append(
                TailFamily(f"{name}: iterations apart by", tails.normal(products), lambda i, own=lags: str(own[i // 2]))  # type: ignore[misc]
            )
        if runs > 1:
            product = np.array([_product(array[0 : runs - 1 : 2], array[1::2])])
            families.append(TailFamily(f"{name}: consecutive runs", tails.normal(product)))
    return families


def _pairs(name: str, matrix: Floats, first: NDArray[np.intp], second: NDArray[np.intp]) -> TailFamily:
    return TailFamily(name, matrix[first, second], lambda i: f"{first[i] + 1} and {second[i] + 1}")


def _lagged(array: Floats, lag: int) -> list[float]:
    """Draws with those ``lag`` later, in two halves in each of which no draw is on both sides."""
    where = np.arange(array.shape[1] - lag)
    halves = [where[(where // lag) % 2 == parity] for parity in (0, 1)]
    return [_product(array[:, half], array[:, half + lag]) if half.size else 0.0 for half in halves]


def _product(first: Floats, second: Floats) -> float:
    """<u, v>/|u|: standard normal if v is, independent of u; infinite for a u that is all zeros."""
    length = float(np.linalg.norm(first))
    return float(np.sum(first * second)) / length if length > 0 else np.inf


def _between(scaled: dict[str, Floats]) -> list[TailFamily]:
    """Two streams in the same iteration, where both draw as often.

    The first iteration is left out where there are others: a start at another point is in both.
    """
    scaled = {name: array[:, 1:] if array.shape[1] > 1 else array for name, array in scaled.items()}
    names = list(scaled)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if scaled[a].shape == scaled[b].shape]
    products = np.array([_product(scaled[a], scaled[b]) for a, b in pairs])
    return [TailFamily("streams", tails.normal(products), lambda i: " and ".join(pairs[i]))] if pairs else []
