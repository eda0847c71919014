r"""The shape of noise whatever its scale: Gaussian, centred, independent, fresh.

The direction of a normal vector with independent entries of one variance is uniform and independent of its length; a
fresh chi-distributed length makes the vector standard normal. So every block of noise gets a fresh length
(`without_scale`), and all tests are exact at any size of the noise: size alone never accuses.

Claimed noise with a further, independent noise of any law is as private. So the shape of a stretch that is louder than
claimed is not looked at (`louder`); that choice depends on lengths alone, which say nothing about directions, and what
is left is still exact. Given the further noise e, each value is N(e, 1), and independent of the others. So

* sums of squares are stochastically at least chi-square distributed, in every direction: `noise_tests` needs no change;
  here are the directions (u + v)/sqrt 2 and (u - v)/sqrt 2 of two draws, which tell correlated noise that is loud
  enough (nothing is lost: a part of it is the claimed noise) from noise that cancels;
* the mean of exp(i t value) has an expectation of at most g = exp(-t^2/2) in size. One value of n changes it by 2/n
  at most, and its deviation is at most sqrt((1 - g^2)/n) in the mean: it is above g + sqrt((1 - g^2)/n) + s with
  probability at most exp(-n s^2/2) (McDiarmid 1989). Laws with an edge or a peak, uniform or Laplace, are above.

Noise that was used before is found as a vector that comes twice, up to its length and the signs of its entries, or as
single values in any order: strides that overlap, reversed copies, a table, a coarse grid, a generator that starts anew
with every request. Fresh standard normal values agree to within t in absolute value with probability at most
2 t sqrt(2/pi) a pair, and on a grid of step h (an exact discrete Gaussian) with at most h sqrt(2/pi).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from verification.outcome import Picture
from verification.pictures import against_claim
from verification.statistics import tails
from verification.statistics.test import Aspect, Cause, TailFamily, Test, union
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


def normal_lengths(vectors: Floats) -> Floats:
    """Vectors of uniform direction and length Gamma(p, 1) as standard normal ones, in the last axis; 0 stays 0."""
    p = vectors.shape[-1]
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    low, high = special.gammainc(p, lengths), special.gammaincc(p, lengths)
    # each tail from its own end, so that none is lost to rounding near 1; below all floats both are about e^-length
    halves = np.where(low < high, special.gammaincinv(p / 2, low), special.gammainccinv(p / 2, high))
    fresh = np.sqrt(2.0 * np.where(high > 0.0, halves, lengths))
    normal: Floats = vectors * np.divide(fresh, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return normal


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


def shape_tests(
    noise: dict[str, Floats],
    rng: np.random.Generator,
    grain: float | None = None,
    again: dict[str, Floats] | None = None,
    *,
    step: float = 0.0,
    shared: bool = True,
    constant: float | None = None,
) -> list[Test]:
    """Shape, centring, independence and freshness, each over all streams.

    ``grain`` is how exactly the noise could be read; without it single values are not compared. ``again`` is noise of
    another request: nothing of it may be the same. ``step`` is that of its grid, ``shared``
    whether what it is added to is on it, ``constant`` what is shown in place of some values.
    """
    scaled = {name: Scaled.of(array, rng) for name, array in noise.items()}
    checks = (
        ("noise-shape", _shapes(scaled), Cause.NOISE_LAW),
        ("noise-centring", _means(scaled), Cause.NOISE_MEAN),
        ("noise-independence", [*_ties(scaled), *_between(scaled)], Cause.NOISE_DEPENDENT),
    )
    found = []
    for name, families, cause in checks:
        p_value, at = union(families)
        found.append(Test(name, Aspect.NOISE, p_value, f"least likely: {at}", cause))
    found.append(law_test("noise-law", noise))
    every = [*noise.values(), *([] if again is None else again.values())]
    width = max(array.shape[2] for array in every)
    rows = np.vstack([a.reshape(-1, a.shape[2]) for a in every if a.shape[2] == width])
    found.append(repeats("noise-freshness", rows))
    if grain is not None:
        # vectors without any noise are not used again: they are too small, which is said already
        values = np.concatenate([a[np.abs(a).max(axis=2) > max(_SAME, grain)].ravel() for a in every])
        if constant is not None:
            values = values[np.abs(values - constant) > max(_SAME, grain)]
        found.append(twins("noise-values-fresh", values, grain, step, shared=shared))
    return found


def commonest(values: Floats, grain: float) -> float | None:
    """The value that occurs most often, up to what rounding hides, if some do again and again; None otherwise."""
    ordered = np.sort(values)
    steps = np.flatnonzero(np.diff(ordered) > max(_SAME, grain)) + 1
    ends = np.concatenate([[0], steps, [ordered.size]])
    most = int(np.argmax(np.diff(ends)))
    return float(ordered[ends[most]]) if ends[most + 1] - ends[most] >= FEWEST_EQUAL else None


def length_test(noise: dict[str, Floats]) -> Test:
    """Whether the lengths of the vectors are chi distributed.

    For noise whose privacy is the law of its length, as that of an objective: there another law costs, and size alone
    accuses. Vectors are independent, so that the lengths' values of their distribution function are uniform: DKW.
    """
    families = []
    for name, array in noise.items():
        shares = special.chdtr(array.shape[2], np.sum(array**2, axis=2))
        families.append(TailFamily(f"{name}: lengths", np.array([tails.kolmogorov(special.ndtri(shares))])))
    p_value, at = union(families)
    return Test("noise-lengths", Aspect.NOISE, p_value, f"least likely: {at}", Cause.NOISE_LAW)


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


def law_test(name: str, noise: dict[str, Floats]) -> Test:
    """Whether noise that is louder than claimed can hold the claimed noise; nothing is looked at where none is."""
    families = [_spectrum(stream, array) for stream, array in noise.items() if louder(array).any()]
    p_value, at = union(families)
    detail = f"louder than claimed; least likely: {at}" if families else "not louder than claimed"
    return Test(name, Aspect.NOISE, p_value, detail, Cause.NOISE_LAW)


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
    # of equal draws the difference is nothing: rounding can leave less
    return np.maximum(0.0, np.array(totals)), np.array(degrees, dtype=np.int64), labels


_CLOSE = 1e-6
_SAME = 1e-12
_MOST_VALUES = 1 << 19
_WINDOW = 4
# in fewer dimensions two of many directions are too likely to agree by chance
_FEWEST_COLUMNS = 3


def repeats(name: str, rows: Floats) -> Test:
    """Whether two of the vectors have one direction, up to the signs of their entries."""
    count, p = rows.shape
    lengths = np.linalg.norm(rows, axis=1)
    silent = int(np.sum(lengths == 0))
    if p < _FEWEST_COLUMNS or silent:
        detail = f"{silent} of {count} noise vectors are zero"
        return Test(name, Aspect.NOISE, 0.0 if silent else 1.0, detail, Cause.NOISE_SMALL)
    unit = np.abs(rows / lengths[:, None])
    ordered = unit[np.argsort(unit[:, 0])]
    beside = int(np.sum(np.max(np.abs(np.diff(ordered, axis=0)), axis=1) < _CLOSE))
    found = -(-beside // 2)
    chance = min(1.0, count * (count - 1) / 2 * 2.0**p * _cap(p))
    detail = f"{found} of {count} noise vectors used twice"
    p_value = tails.coincidences(found, chance)
    return Test(name, Aspect.NOISE, p_value, detail, Cause.NOISE_REUSED, draw=lambda: _used_again(count, found, chance))


def _used_again(count: int, found: int, chance: float) -> Picture:
    return against_claim(
        "Noise that was used again",
        "Noise that is drawn anew each time never comes twice.",
        {"vectors drawn": (count, count), "used twice": (found, chance)},
        "noise vectors",
    )


def _cap(p: int) -> float:
    """The share of the sphere in p dimensions within sqrt(p) * closeness of a point."""
    radius = np.sqrt(p) * _CLOSE
    return float(special.betainc((p - 1) / 2, 0.5, min(1.0, radius**2))) / 2


def windows_fresh(vectors: Sequence[Floats]) -> Test:
    r"""Whether four consecutive values come twice, anywhere in all noise that was read, at whatever offset.

    A pool of values that starts again at its end, or a stream that is restarted, repeats in an order of its own. Four
    values agree to within t with probability at most (2 t / sqrt(2 pi))^4 where noise is at least as large as claimed;
    where single values occur more often than that, as on a grid, with at most the fourth power of their share.
    """
    rows = [np.lib.stride_tricks.sliding_window_view(v, _WINDOW, axis=1) for v in vectors if v.shape[1] >= _WINDOW]
    every = np.concatenate([row.reshape(-1, _WINDOW) for row in rows]) if rows else np.zeros((0, _WINDOW))
    count = len(every)
    if count < 2:
        return Test("noise-windows-fresh", Aspect.NOISE, 1.0, "too few values", Cause.NOISE_REUSED)
    order = np.argsort(every[:, 0])
    first = every[order, 0]
    near = np.flatnonzero(np.diff(first) < _CLOSE)
    equal = np.max(np.abs(every[order[near]] - every[order[near + 1]]), axis=1, initial=0.0) < _CLOSE
    found = -(-int(equal.sum()) // 2)
    steps = np.flatnonzero(np.diff(np.round(first / _CLOSE))) + 1
    common = int(np.max(np.diff(np.concatenate([[0], steps, [count]]))))
    single = max(2 * _CLOSE / float(np.sqrt(2 * np.pi)), 2 * common / count if common > FEWEST_EQUAL else 0.0)
    chance = min(1.0, count * (count - 1) / 2 * single**_WINDOW)
    detail = f"{found} of {count:,} stretches of {_WINDOW} noise values used twice"
    return Test("noise-windows-fresh", Aspect.NOISE, tails.coincidences(found, chance), detail, Cause.NOISE_REUSED)


def twins(name: str, values: Floats, grain: float, step: float = 0.0, *, shared: bool = True) -> Test:
    """Whether single values come twice, up to sign and to what rounding hides (``grain``) or a shared grid explains.

    Larger noise is less dense, so that the chance is a bound for it as well. Zeros are noise that is missing.
    """
    sizes = np.sort(np.abs(values[:_MOST_VALUES]))
    same = max(_SAME, grain, step / 2 if shared else 0.0)
    found = -(-int(np.sum(np.diff(sizes) <= same)) // 2)  # of equal values every second pair is disjoint from the last
    chance = min(1.0, sizes.size * (sizes.size - 1) / 2 * 2 * same * float(np.sqrt(2 / np.pi)))
    detail, cause = f"{found} of {sizes.size} noise values used twice (to {same:.1g} deviations)", Cause.NOISE_REUSED
    if step and not shared:
        detail, cause = f"{detail}: a grid of step {step:.3g}, which what it is added to is not on", Cause.NOISE_GRID
    if (missing := int(np.sum(sizes <= same))) >= FEWEST_EQUAL:
        detail, cause = f"{missing} of {sizes.size} noise values are 0", Cause.NOISE_SMALL
    return Test(name, Aspect.NOISE, tails.coincidences(found, chance), detail, cause)


# -- noise that was cut off: too few large values, or values that occur again and again -----------------------------

_LARGE_SIZES = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
LIKELIEST = 2.0**-20
"""No single number of noise drawn in single precision, over its scale, is more likely than this: its values lie at
least 2^-24 of their size apart up to 16 times the scale, and no density here exceeds 1."""
FEWEST_EQUAL = 4


def light_tails(noise: dict[str, Floats]) -> Test:
    """Whether fewer values than declared are large; standard normal if all is well, and larger noise has more."""
    families = []
    for name, array in noise.items():
        sizes = np.abs(array).ravel()
        for threshold in _LARGE_SIZES:
            count, chance = int(np.sum(sizes > threshold)), 2 * float(stats.norm.sf(threshold))
            tail = np.array([float(stats.binom.cdf(count, sizes.size, chance))])
            families.append(TailFamily(f"{name}: {count} of {sizes.size} beyond {threshold:g} deviations", tail))
    p_value, at = union(families)
    return Test("noise-tails", Aspect.NOISE, p_value, f"least likely: {at}", Cause.NOISE_LAW)


def atoms(noise: dict[str, Floats], discrete: Collection[str]) -> Test:
    """Whether one size of noise occurs again and again, which continuous noise does not, even in single precision."""
    families = []
    for name, array in noise.items():
        if name in discrete or not array.size:
            continue
        sizes, counts = np.unique(np.abs(array), return_counts=True)
        most = int(counts.max())
        # of n numbers, some c are equal with probability at most binom(n, c) times (the likeliest number)^(c - 1)
        ways = special.gammaln(array.size + 1) - special.gammaln(most + 1) - special.gammaln(array.size - most + 1)
        chance = min(1.0, float(np.exp(min(0.0, ways + (most - 1) * np.log(2 * LIKELIEST)))))
        label = f"{name}: the size {sizes[counts.argmax()]:.6g} occurs {most} times"
        families.append(TailFamily(label, np.array([chance if most >= FEWEST_EQUAL else 1.0])))
    p_value, at = union(families)
    return Test("noise-atoms", Aspect.NOISE, p_value, f"least likely: {at}", Cause.NOISE_LAW)
