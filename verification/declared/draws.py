r"""The draws of unseeded runs: whether noise and batches are as declared, and what wrong noise costs.

*Noise.* Every kind is turned into standard normal values, exactly distributed if all is well: Laplace and discrete
noise through their distribution functions, a gamma-norm vector by giving its direction the length of a normal vector.

*Cost.* Several ways to be wrong have an epsilon of their own, and the largest is named: releases without noise, or with
the same noise (infinite); noise that is too small (the declaration's price with the measured scale); Gaussian noise
whose parts are not independent (the price of the worst movement against the measured covariance); and noise of
another shape (a lower bound by events, with confidence).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from accountant.mechanisms.words import Sampling
from verification.declared.price import Pricing, ratios, schedule
from verification.statistics import tails
from verification.statistics.batches import batch_tests, epoch_tests
from verification.statistics.noise_shape import LIKELIEST, atoms, light_tails, normal_lengths, shape_tests
from verification.statistics.noise_size import size_tests
from verification.statistics.run_energies import RunEnergies
from verification.statistics.test import Aspect, Cause, TailFamily, Test, union
from verification.wire.arrays import Floats
from verification.wire.declaration import PURE, Declaration, DeclaredSampling, DeclaredValue, NoiseKind, Norm

Runs = list[list[list[int]]]
_MARKS = 512
_CONFIDENCE = 0.999
_THRESHOLDS = 40
_RUNS_FOR_EACH = 5
"""So many runs for every coordinate of a covariance matrix that is estimated."""
_DOUBT = 1e-12  # probability that a rate is above the end that is used for it
_NOTICED = 1.05  # a price must be larger by this factor to be named in place of that of the scale alone
_SINGULAR = 1e-9
_EDGE = 0.8  # of Marchenko and Pastur's lower edge


def over_scale(value: DeclaredValue, noise: Floats, count: int) -> Floats:
    """Noise [runs, releases, numbers] over its declared scale; correlated over releases, made independent.

    Of as many releases as are declared.
    """
    if value.covariance is not None:
        # the root is lower triangular: what the first releases are over their noise depends on no later one
        root = np.linalg.cholesky(np.array(value.covariance))[: noise.shape[1], : noise.shape[1]]
        return np.asarray(np.linalg.solve(root, noise[:, : len(root)]), dtype=np.float64)
    scales = np.array(schedule(value.scale, count))[: noise.shape[1]]
    scaled: Floats = noise[:, : len(scales)] / scales[None, :, None]
    return scaled


def least_scale(value: DeclaredValue, count: int) -> float:
    """The least scale of any combination of releases."""
    if value.covariance is not None:
        return float(np.sqrt(np.linalg.eigvalsh(np.array(value.covariance))[0]))
    return min(schedule(value.scale, count))


def joint_distance(value: DeclaredValue, moved: Floats, count: int) -> float:
    """How far [releases, numbers] moved together, over the noise: what the price of the whole run rests on."""
    over = over_scale(value, moved[None], count)[0]
    lengths = np.linalg.norm(over, 1 if value.norm is Norm.L1 else 2, axis=1)
    return float(lengths.sum() if value.noise in PURE else np.linalg.norm(lengths))


def standard_normal(value: DeclaredValue, noise: Floats) -> Floats:
    """Noise over its scale, turned into standard normal values."""
    if value.noise is NoiseKind.LAPLACE:
        # log P(X > |x|) = -|x| - log 2; the quantile through logarithms keeps the tails
        quantiles: Floats = special.ndtri_exp(-np.abs(noise) - np.log(2.0))
        return -np.sign(noise) * quantiles
    return normal_lengths(noise) if value.noise is NoiseKind.GAMMA_NORM else noise


def discrete_normal(value: DeclaredValue, noise: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Discrete Gaussian noise [runs, releases, numbers] as normal values: uniform inside each step of its law."""
    grid = value.grid or 1.0
    points = np.rint(noise / grid).astype(np.int64)
    result = np.zeros_like(noise)
    for k, scale in enumerate(schedule(value.scale, count)[: noise.shape[1]]):
        reach = int(np.ceil(40 * scale / grid)) + int(np.abs(points[:, k]).max(initial=0)) + 1
        weights = np.exp(-((np.arange(-reach, reach + 1) * grid / scale) ** 2) / 2)
        mass = weights / weights.sum()
        below = np.concatenate([[0.0], np.cumsum(mass)])
        at = points[:, k] + reach
        places = below[at] + rng.random(at.shape) * mass[at]
        result[:, k] = special.ndtri(np.clip(places, 1e-300, 1 - 1e-16))
    return result


def fresh_size(value: DeclaredValue, noise: Floats, rng: np.random.Generator) -> Floats:
    """Noise over its scale with the total size of every run replaced by a fresh one of the right law.

    Sums of |x| (Laplace) and of lengths (gamma-norm) are Gamma distributed and independent of the proportions.
    """
    runs, releases, p = noise.shape
    if value.noise is NoiseKind.LAPLACE:
        totals = np.abs(noise).sum(axis=(1, 2))
    elif value.noise is NoiseKind.GAMMA_NORM:
        totals = np.linalg.norm(noise, axis=2).sum(axis=1)
    else:
        return noise  # the tests of normal noise do so themselves
    fresh = rng.gamma(releases * p, size=runs)
    factors = np.divide(fresh, totals, out=np.zeros(runs), where=totals > 0)
    resized: Floats = noise * factors[:, None, None]
    return resized


def normal_values(
    noise: Mapping[str, Floats],
    values: Mapping[str, DeclaredValue],
    counts: Mapping[str, int],
    rng: np.random.Generator,
) -> dict[str, Floats]:
    """The noise of several values, [runs, releases, numbers] each, as standard normal values if all is well."""
    return {
        name: discrete_normal(values[name], array, counts[name], rng)
        if values[name].noise is NoiseKind.DISCRETE
        else standard_normal(values[name], over_scale(values[name], array, counts[name]))
        for name, array in noise.items()
    }


def noise_tests(
    noise: dict[str, Floats],
    values: dict[str, DeclaredValue],
    counts: dict[str, int],
    rng: np.random.Generator,
) -> list[Test]:
    """All tests of the noise of several values, [runs, releases, numbers] each."""
    sized = normal_values(noise, values, counts, rng)
    shaped = {
        name: sized[name]
        if values[name].noise is NoiseKind.DISCRETE
        else standard_normal(values[name], fresh_size(values[name], over_scale(values[name], array, counts[name]), rng))
        for name, array in noise.items()
    }
    found = size_tests(sized)
    discrete = [name for name in noise if values[name].noise is NoiseKind.DISCRETE]
    excess = min((t.p_value for t in found if t.cause is Cause.NOISE_LARGE), default=1.0)
    blurred = bool(discrete) and excess < 1e-3
    if not blurred:  # a discrete law that is too wide has another shape, and is not less private for it
        found += shape_tests(shaped, rng)
    sums = {name: sized[name] for name in noise if values[name].noise is NoiseKind.GAUSSIAN}
    found.append(_runs_fresh({name: array for name, array in noise.items() if name not in discrete}))
    return [*found, smallest_sums(sums), light_tails(sized), atoms(noise, discrete), *_off_grid(noise, values)]


def smallest_sums(noise: dict[str, Floats]) -> Test:
    """Whether some combination of the releases of a run has less noise than declared, however loud the others are.

    It is chosen by one half of the runs. In the other its square is chi^2 distributed if the noise, over its scale, is
    standard normal; with further noise, independent of it, at least as large.
    """
    families = []
    for name, array in noise.items():
        runs, releases, numbers = array.shape
        if 2 <= releases <= runs // 2 * numbers // _RUNS_FOR_EACH:
            chosen, counted = (
                part.transpose(0, 2, 1).reshape(-1, releases) for part in np.split(array[: runs // 2 * 2], 2)
            )
            along = counted @ np.linalg.eigh(chosen.T @ chosen)[1][:, 0]
            size = float(np.sqrt(np.mean(along**2)))
            tail = np.array([stats.chi2.cdf(float(along @ along), len(along))])
            families.append(TailFamily(f"{name}: {size:.4g} of the declared scale in a sum of releases", tail))
    p_value, at = union(families)
    return Test("noise-together", Aspect.NOISE, p_value, f"least likely: {at}", Cause.NOISE_DEPENDENT)


def noise_energies(
    noise: Mapping[str, Floats], declaration: Declaration, rng: np.random.Generator
) -> RunEnergies | None:
    """The sum of squares of each run's noise, chi-square distributed if all is well.

    None where the noise enters an objective: then it counts only if the minimiser is exact, and whether noise counts
    beside that of other gates must not depend on what it shows.
    """
    values = {value.name: value for value in declaration.noised}
    if any(value.enters == "objective" for value in values.values()):
        return None
    return RunEnergies.of(normal_values(noise, values, {n: declaration.releases(values[n]) for n in noise}, rng))


def _off_grid(noise: dict[str, Floats], values: dict[str, DeclaredValue]) -> list[Test]:
    found = []
    for name, array in noise.items():
        grid = values[name].grid
        if grid is not None:
            away = float(np.abs(array / grid - np.rint(array / grid)).max(initial=0.0))
            detail = f"{name}: noise lies up to {away:.3g} grid steps from the grid"
            found.append(Test("noise-grid", Aspect.NOISE, float(away < 1e-6), detail, Cause.NOISE_LAW))
    return found


# -- batches ---------------------------------------------------------------------------------------------------------


def malformed(runs: Runs, sampling: DeclaredSampling, records: int) -> str:
    """What no draw of the declared sampling can show; empty if there is nothing."""
    for number, run in enumerate(runs):
        for step, batch in enumerate(run):
            where = f"run {number + 1}, step {step + 1}"
            if any(i >= records for i in batch):
                return f"{where}: there is no record {max(batch)}"
            if sampling.batch is not None and len(batch) != sampling.batch:
                return f"{where}: {len(batch)} records are drawn, declared are {sampling.batch}"
            if sampling.kind is not Sampling.WITH_REPLACEMENT and len(set(batch)) < len(batch):
                return f"{where}: a record is drawn twice, and batches are declared {sampling.kind}"
    return ""


def sampling_tests(runs: Runs, sampling: DeclaredSampling, records: int, rng: np.random.Generator) -> list[Test]:
    """The tests of the declared sampling; runs of one length."""
    steps = min(len(run) for run in runs)
    marks = np.sort(rng.permutation(records)[:_MARKS])
    counts = np.zeros((len(runs), steps, records), dtype=np.int64)
    for r, run in enumerate(runs):
        for k in range(steps):
            np.add.at(counts[r, k], run[k], 1)
    match sampling.kind:
        case Sampling.WITHOUT_REPLACEMENT:
            return batch_tests(counts[:, :, marks] > 0, marks, records=records, batch=sampling.batch or 1)
        case Sampling.FIXED_ORDER | Sampling.SHUFFLE:
            held, shuffle = counts[:, :, marks] > 0, sampling.kind is Sampling.SHUFFLE
            return epoch_tests(held, marks, records=records, batch=sampling.batch or 1, shuffle=shuffle)
        case Sampling.POISSON:
            return _poisson(counts > 0, sampling.rate or 0.0)
        case _:
            return _with_replacement(runs, counts, sampling.batch or 1)


def _poisson(held: NDArray[np.bool_], rate: float) -> list[Test]:
    runs, steps, n = held.shape
    sizes = held.sum(axis=2)
    deviation = np.sqrt(n * rate * (1 - rate))
    near = np.abs(np.arange(n + 1) - n * rate) <= deviation
    chance = float(stats.binom.pmf(np.arange(n + 1), n, rate)[near].sum())
    middle = np.array([np.sum(near[sizes])])
    families = [
        TailFamily("all records", tails.binomial(np.array([held.sum()]), held.size, rate)),
        TailFamily("record", tails.binomial(held.sum(axis=(0, 1)), runs * steps, rate), lambda i: str(i + 1)),
        TailFamily("step", tails.binomial(held.sum(axis=(0, 2)), runs * n, rate), lambda k: str(k + 1)),
        TailFamily("spread of the sizes of batches", tails.binomial(middle, sizes.size, chance)),
    ]
    flat = held.reshape(runs * steps, n)
    both = flat[0 : len(flat) - 1 : 2] & flat[1::2]
    if both.size:
        families.append(TailFamily("consecutive batches", tails.binomial(np.array([both.sum()]), both.size, rate**2)))
    if runs > 1:
        between = held[0 : runs - 1 : 2] & held[1::2]
        families.append(
            TailFamily("consecutive runs", tails.binomial(np.array([between.sum()]), between.size, rate**2))
        )
    return [_test(families)]


def _with_replacement(runs: Runs, counts: NDArray[np.int64], size: int) -> list[Test]:
    n = counts.shape[2]
    draws = counts.shape[0] * counts.shape[1] * size
    drawn = np.array([i for run in runs for batch in run[: counts.shape[1]] for i in batch])
    pairs = drawn[: len(drawn) // 2 * 2].reshape(-1, 2)
    equal = np.array([np.sum(pairs[:, 0] == pairs[:, 1])])
    families = [
        TailFamily("record", tails.binomial(counts.sum(axis=(0, 1)), draws, 1 / n), lambda i: str(i + 1)),
        TailFamily("draws of one record in a row", tails.binomial(equal, len(pairs), 1 / n)),
    ]
    return [_test(families)]


def _test(families: list[TailFamily]) -> Test:
    p_value, at = union(families)
    return Test("batch-law", Aspect.BATCHES, p_value, f"least likely: {at}", Cause.BATCH_LAW)


# -- what wrong noise costs ------------------------------------------------------------------------------------------


def cost_of_noise(pricing: Pricing, noise: Mapping[str, Floats]) -> str:
    """The sentence that ends a refutation of noise."""
    declaration, infinite = pricing.declaration, pricing.infinite()
    missing = missing_draws(noise)
    if missing:
        return missing
    shared = shared_draws(noise)
    if shared:
        return f"{shared} have the same noise, so their difference has none: {infinite}"
    again = used_again(noise)
    if again:
        return again
    values = {value.name: value for value in declaration.noised if value.name in noise}
    scales = {n: measured_scale(values[n], a, declaration.releases(values[n])) for n, a in noise.items()}
    weights = {name: 1 / scale if scale > 0 else math.inf for name, scale in scales.items()}
    listed = ", ".join(f"{name} {scale:.4g}" for name, scale in scales.items())
    text = f"scale of the noise over the declared one: {listed}; {pricing.sentence(weights)}"
    if math.inf in weights.values():
        return text
    named = pricing.about(weights)
    together = {n: dependent_weight(values[n], a, declaration.releases(values[n])) for n, a in noise.items()}
    if any(weight == math.inf for weight in together.values()):
        return f"some combination of the releases has no noise: {infinite}"
    most = {name: max(weight, weights[name]) for name, weight in together.items()}
    if pricing.about(most) > _NOTICED * named:
        named = pricing.about(most)
        text = f"the noise of some combination of releases is smaller than that of each; {pricing.sentence(most)}"
    for name, array in noise.items():
        least = shape_epsilon(declaration, values[name], array, float(pricing.delta))
        if least > named:
            named = least
            text = (
                f"the shape of the noise of {name} alone tells values apart that are as far apart as declared: epsilon "
                f"is at least {least:.4g} (confidence {_CONFIDENCE:g}), {pricing.claimed()}"
            )
    return text


def measured_scale(value: DeclaredValue, noise: Floats, count: int) -> float:
    """The scale of the noise over the declared one, by its moments: the least of all releases."""
    scaled = over_scale(value, noise, count)
    match value.noise:
        case NoiseKind.LAPLACE:
            sizes = np.abs(scaled).mean(axis=(0, 2))
        case NoiseKind.GAMMA_NORM:
            sizes = np.linalg.norm(scaled, axis=2).mean(axis=0) / noise.shape[2]
        case _:
            sizes = np.sqrt(np.mean(scaled**2, axis=(0, 2)))
    overall = float(np.mean(sizes)) if noise.size else 0.0
    doubtful = 5.0 / np.sqrt(max(1, noise.shape[0] * noise.shape[2]))
    return float(sizes.min()) if sizes.min() < overall * (1 - doubtful) else overall


def missing_draws(noise: Mapping[str, Floats]) -> str:
    """What it means that some releases have no noise at all while others have; empty where all have some."""
    for name, array in noise.items():
        sizes = np.linalg.norm(array, axis=2)
        missing = int(np.sum(sizes <= 1e-6 * np.median(sizes)))
        if 0 < missing < sizes.size:
            share = f"{missing} of {sizes.size}"
            return f"{share} releases of {name} have no noise: epsilon is then infinite at any delta below that share"
    return ""


def used_again(noise: Mapping[str, Floats]) -> str:
    """What it means that runs have the noise of other runs; empty where all of it is fresh."""
    for name, array in noise.items():
        if found := _had_before(array):
            return (
                f"{found} of {len(array)} runs have noise of {name} that another run has had: whoever knows it "
                "subtracts it, and epsilon is then infinite at any delta below that share"
            )
    return ""


def _had_before(array: Floats) -> int:
    """How many runs have noise that another run has had, number for number; nothing is said of single numbers."""
    rows = array[np.any(array, axis=(1, 2))].reshape(-1, array.shape[1] * array.shape[2])
    return len(rows) - len(np.unique(rows, axis=0)) if rows.shape[1] > 1 else 0


def _runs_fresh(noise: Mapping[str, Floats]) -> Test:
    found = sum(map(_had_before, noise.values()))
    chance = sum(len(a) ** 2 / 2 * _likeliest(a) ** (a.shape[1] * a.shape[2]) for a in noise.values())
    p_value = min(1.0, tails.coincidences(found, chance) + len(noise) * _DOUBT)
    detail = f"{found} runs have noise that another run has had"
    return Test("noise-runs-fresh", Aspect.NOISE, p_value, detail, Cause.NOISE_REUSED)


def _likeliest(array: Floats) -> float:
    """How likely two numbers are equal: as in single precision, or Garwood's upper end for equal pairs of other runs.

    That end is too low with a probability of `_DOUBT`, for which the test pays.
    """
    numbers = np.unique(array.reshape(len(array), -1), axis=0)
    repeated = np.unique(numbers, return_counts=True)[1].astype(np.float64)
    equal, pairs = float(np.sum(repeated * (repeated - 1))) / 2, numbers.size * (numbers.size - 1) / 2
    return min(1.0, max(2 * LIKELIEST, float(stats.gamma.isf(_DOUBT, equal + 1)) / max(pairs, 1.0)))


def shared_draws(noise: Mapping[str, Floats]) -> str:
    """Which releases of one run have the same noise, up to a factor: their difference has none."""
    rows = [(f"{name} {k + 1}", array[:, k]) for name, array in noise.items() for k in range(array.shape[1])]
    for i, (first, one) in enumerate(rows):
        for second, other in rows[i + 1 :]:
            if one.shape == other.shape and one.shape[1] > 1 and _parallel(one, other):
                return f"{first} and {second}"
        halves = one.shape[1] // 2
        if one.shape[1] > 2 and one.shape[1] % 2 == 0 and _parallel(one[:, :halves], one[:, halves:]):
            return f"the first and second half of {first}"
    return ""


def _parallel(one: Floats, other: Floats) -> bool:
    """Whether every run has two vectors of one direction."""
    products = np.sum(one * other, axis=1)
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return bool(np.all(lengths > 0) and np.all(np.abs(products) >= lengths * (1 - 1e-12)))


def dependent_weight(value: DeclaredValue, noise: Floats, count: int) -> float:
    r"""How many times as costly the noise of all releases together is as that which is declared; 0 if unknown.

    Gaussian noise of covariance S (over the declared scale) hides a movement d of all releases as mu^2 = d' S^-1 d,
    where independent noise has mu^2 = the number of releases. d is the direction that S^-1 stretches most, with every
    release moved by its whole sensitivity; infinite where some direction has no noise at all.
    """
    if value.noise is not NoiseKind.GAUSSIAN:
        return 0.0
    scaled = over_scale(value, noise, count)
    runs, releases, p = scaled.shape
    rows = scaled.reshape(runs, releases * p)
    if runs < _RUNS_FOR_EACH * rows.shape[1] or rows.shape[1] < 2:
        return 0.0
    sizes, directions = np.linalg.eigh(rows.T @ rows / runs)
    if sizes[0] <= _SINGULAR * sizes[-1]:
        return math.inf
    if sizes[0] > _EDGE * (1 - np.sqrt(rows.shape[1] / runs)) ** 2 * np.mean(sizes):
        return 0.0  # no less than the least eigenvalue that so many independent runs show
    if value.joint is not None:  # may all lie in that direction
        return float(1 / np.sqrt(sizes[0]))
    moved = directions[:, 0].reshape(releases, p)
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    moved = np.divide(moved, lengths, out=np.zeros_like(moved), where=lengths > 0).ravel()
    along = directions.T @ moved
    return float(np.sqrt(np.sum(along**2 / sizes) / releases))


def shape_epsilon(declaration: Declaration, value: DeclaredValue, noise: Floats, delta: float) -> float:
    """A lower bound on epsilon by events: a coordinate beyond a threshold, moved by the whole sensitivity or not.

    All numbers are taken as draws of one law; the limits of Clopper and Pearson hold together over all events.
    """
    if value.noise is NoiseKind.DISCRETE or value.enters == "objective" or value.joint is not None:
        return 0.0
    count = declaration.releases(value)
    shift = float(max(ratios(declaration, value, {})))
    numbers = np.sort(over_scale(value, noise, count).ravel())
    n = numbers.size
    places = np.unique(np.concatenate([np.quantile(numbers, np.linspace(0, 1, _THRESHOLDS)), np.array([0.0])]))
    thresholds = np.concatenate([places, places + shift, places - shift])
    level = (1 - _CONFIDENCE) / (8 * thresholds.size)
    best = 0.0
    for sign in (1.0, -1.0):
        moved, still = _above(sign * numbers, sign * thresholds - shift), _above(sign * numbers, sign * thresholds)
        for first, second in ((moved, still), (n - still, n - moved)):
            low = stats.beta.ppf(level, np.maximum(first, 1), n - first + 1) * (first > 0)
            high = np.where(second < n, stats.beta.ppf(1 - level, second + 1, np.maximum(n - second, 1)), 1.0)
            useful = low > delta
            best = max(best, float(np.max(np.log((low[useful] - delta) / high[useful]), initial=0.0)))
    return best


def _above(numbers: Floats, thresholds: Floats) -> Floats:
    """How many numbers are above each threshold."""
    found: Floats = numbers.size - np.searchsorted(np.sort(numbers), thresholds, side="right").astype(np.float64)
    return found
