r"""The shape of noise whatever its scale: Gaussian, centred, independent, fresh.

The direction of a normal vector with independent entries of one variance is uniform and independent of its length; a
fresh chi-distributed length makes the vector standard normal. So every block of noise gets a fresh length
(`without_scale`), and all tests are exact at any size of the noise: size alone never accuses.

Claimed noise with a further, independent noise of any law is as private. So the shape of a stretch that is louder than
claimed is not looked at (`louder`); that choice depends on lengths alone, which say nothing about directions, and what
is left is still exact. What must hold of louder noise is in `law_tests`, and its size in every direction is still
looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verification.conformance import tails
from verification.deployment.law_tests import LAGS, lag_halves, law_sighting, louder
from verification.deployment.reuse_tests import repeats, twins
from verification.deployment.sighting import Aspect, Sighting, TailFamily, union
from verification.wire.arrays import Floats

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


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """Noise without its scale [runs, draws, p], and which draws [runs, draws] are looked at; the others are 0."""

    values: Floats
    kept: NDArray[np.bool_]

    @classmethod
    def of(cls, noise: Floats, rng: np.random.Generator) -> Scaled:
        """Leave out what is louder than claimed."""
        kept = ~louder(noise)
        return cls(without_scale(noise, rng) * kept[:, :, None], kept)

    @property
    def rows(self) -> Floats:
        """The vectors that are looked at."""
        return np.asarray(self.values[self.kept])

    def part(self, runs: slice, draws: slice | NDArray[np.intp]) -> Scaled:
        """Some of them."""
        return Scaled(self.values[runs, draws], self.kept[runs, draws])


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
    scaled = {name: Scaled.of(array, rng) for name, array in noise.items()}
    checks = (
        ("noise-shape", _shapes(scaled), "noise is not Gaussian"),
        ("noise-centring", _means(scaled), "noise is not centred"),
        ("noise-independence", [*_ties(scaled), *_between(scaled)], "noise is not independent"),
    )
    found = []
    for name, families, cause in checks:
        p_value, at = union(families)
        found.append(Sighting(f"{name} {where}", Aspect.NOISE, p_value, f"least likely: {at}", cause=cause))
    found.append(law_sighting(f"noise-law {where}", noise))
    every = [*noise.values(), *([] if again is None else again.values())]
    width = max(array.shape[2] for array in every)
    rows = np.vstack([a.reshape(-1, a.shape[2]) for a in every if a.shape[2] == width])
    found.append(repeats(f"noise-freshness {where}", rows))
    if grain is not None:
        found.append(twins(f"noise-values-fresh {where}", np.concatenate([a.ravel() for a in every]), grain, step))
    return found


def _shapes(scaled: dict[str, Scaled]) -> list[TailFamily]:
    families = []
    for name, each in scaled.items():
        values = each.rows.ravel()
        if not values.size:
            continue
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


def _means(scaled: dict[str, Scaled]) -> list[TailFamily]:
    sums = {name: each.rows for name, each in scaled.items() if each.kept.any()}
    together = [
        TailFamily(f"{name}: all coordinates together", tails.normal(np.array([rows.sum() / np.sqrt(rows.size)])))
        for name, rows in sums.items()
    ]
    return together + [
        TailFamily(f"{name}: coordinate", tails.normal(rows.sum(axis=0) / np.sqrt(len(rows))), lambda j: str(j + 1))
        for name, rows in sums.items()
    ]


def _ties(scaled: dict[str, Scaled]) -> list[TailFamily]:
    """Pairs of coordinates; each draw with the one so many iterations later; consecutive runs."""
    families = []
    for name, each in scaled.items():
        runs, draws, p = each.values.shape
        rows = each.rows[:, :_PAIRED_COLUMNS]
        if p > 1 and len(rows) > 1:
            first, second = np.triu_indices(rows.shape[1], k=1)
            families.append(_pairs(f"{name}: coordinates", tails.correlation(rows, rows), first, second))
        lags = [lag for lag in LAGS if lag < draws]
        if lags:
            products = np.array([product for lag in lags for product in _lagged(each, lag)])
            families.append(
                TailFamily(f"{name}: iterations apart by", tails.normal(products), lambda i, own=lags: str(own[i // 2]))  # type: ignore[misc]
            )
        if runs > 1:
            everything = slice(None)
            halves = each.part(slice(0, runs - 1, 2), everything), each.part(slice(1, None, 2), everything)
            families.append(TailFamily(f"{name}: consecutive runs", tails.normal(np.array([_product(*halves)]))))
    return families


def _pairs(name: str, matrix: Floats, first: NDArray[np.intp], second: NDArray[np.intp]) -> TailFamily:
    return TailFamily(name, matrix[first, second], lambda i: f"{first[i] + 1} and {second[i] + 1}")


def _lagged(each: Scaled, lag: int) -> list[float]:
    """Draws with those ``lag`` later, in two halves in each of which no draw is on both sides."""
    everything = slice(None)
    return [
        _product(each.part(everything, half), each.part(everything, half + lag)) if half.size else 0.0
        for half in lag_halves(each.values.shape[1], lag)
    ]


def _product(first: Scaled, second: Scaled) -> float:
    """<u, v>/|u|: standard normal if v is, independent of u; infinite for a u that is all zeros.

    Of pairs of which both are looked at: 0 where there is none.
    """
    both = (first.kept & second.kept)[:, :, None]
    if not both.any():
        return 0.0
    length = float(np.linalg.norm(first.values * both))
    return float(np.sum(first.values * second.values)) / length if length > 0 else np.inf


def _between(scaled: dict[str, Scaled]) -> list[TailFamily]:
    """Two streams in the same iteration, where both draw as often.

    The first iteration is left out where there are others: a start at another point is in both.
    """
    everything = slice(None)
    later = {
        name: each.part(everything, slice(1 if each.values.shape[1] > 1 else 0, None)) for name, each in scaled.items()
    }
    names = list(later)
    pairs = [
        (a, b) for i, a in enumerate(names) for b in names[i + 1 :] if later[a].values.shape == later[b].values.shape
    ]
    products = np.array([_product(later[a], later[b]) for a, b in pairs])
    return [TailFamily("streams", tails.normal(products), lambda i: " and ".join(pairs[i]))] if pairs else []
