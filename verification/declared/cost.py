r"""What wrong noise costs: the epsilon of what was seen, as large as the evidence allows.

Several ways to be wrong have an epsilon of their own, and the largest is named: releases without noise, or with the
same noise (infinite); noise that is too small (the declaration's price with the measured scale); Gaussian noise whose
parts are not independent (the price of the worst movement against the measured covariance); and noise of another shape
(a lower bound by events, with confidence).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy import stats

from accountant import AccountantError, decimal_string
from verification.declared.ledger import ratios
from verification.declared.noise import over_scale
from verification.declared.promise import Pricing
from verification.wire.arrays import Floats
from verification.wire.declaration import Declaration, DeclaredValue, NoiseKind

_DIGITS = 6
_CONFIDENCE = 0.999
_THRESHOLDS = 40
_RUNS_FOR_EACH = 5
"""So many runs for every coordinate of a covariance matrix that is estimated."""
_NOTICED = 1.05  # a price must be larger by this factor to be named in place of that of the scale alone
_SINGULAR = 1e-9
_EDGE = 0.8  # of Marchenko and Pastur's lower edge


def cost_of_noise(pricing: Pricing, noise: Mapping[str, Floats]) -> str:
    """The sentence that ends a refutation of noise."""
    declaration, infinite = pricing.bench.declaration, pricing.promise.infinite()
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
    named = _epsilon(pricing, weights)
    together = {n: dependent_weight(values[n], a, declaration.releases(values[n])) for n, a in noise.items()}
    if any(weight == math.inf for weight in together.values()):
        return f"some combination of the releases has no noise: {infinite}"
    most = {name: max(weight, weights[name]) for name, weight in together.items()}
    if _epsilon(pricing, most) > _NOTICED * named:
        named = _epsilon(pricing, most)
        text = f"the noise of some combination of releases is smaller than that of each; {pricing.sentence(most)}"
    for name, array in noise.items():
        least = shape_epsilon(declaration, values[name], array, float(pricing.promise.delta))
        if least > named:
            named = least
            text = (
                f"the shape of the noise of {name} alone tells values apart that are as far apart as declared: epsilon "
                f"is at least {least:.4g} (confidence {_CONFIDENCE:g}), {pricing.promise.claimed()}"
            )
    return text


def _epsilon(pricing: Pricing, weights: Mapping[str, float]) -> float:
    """The price as a number; 0 where none can be certified."""
    if any(not math.isfinite(weight) for weight in weights.values()):
        return math.inf
    try:
        return float(decimal_string(pricing.weighted(weights).upper, _DIGITS, "up"))
    except AccountantError:
        return 0.0


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
        rows = array.reshape(len(array), -1)
        if rows.shape[1] > 1:
            fresh = len(np.unique(rows, axis=0))
            if fresh < len(rows):
                share = f"{len(rows) - fresh} of {len(rows)}"
                return (
                    f"{share} runs have noise of {name} that another run has had: whoever knows it subtracts it, and "
                    "epsilon is then infinite at any delta below that share"
                )
    return ""


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
    if sizes[0] < _SINGULAR * sizes[-1]:
        return math.inf
    if sizes[0] > _EDGE * (1 - np.sqrt(rows.shape[1] / runs)) ** 2 * np.mean(sizes):
        return 0.0  # no less than the least eigenvalue that so many independent runs show
    moved = directions[:, 0].reshape(releases, p)
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    moved = np.divide(moved, lengths, out=np.zeros_like(moved), where=lengths > 0).ravel()
    along = directions.T @ moved
    return float(np.sqrt(np.sum(along**2 / sizes) / releases))


def shape_epsilon(declaration: Declaration, value: DeclaredValue, noise: Floats, delta: float) -> float:
    """A lower bound on epsilon by events: a coordinate beyond a threshold, moved by the whole sensitivity or not.

    All numbers are taken as draws of one law; the limits of Clopper and Pearson hold together over all events.
    """
    if value.noise is NoiseKind.DISCRETE or value.enters == "objective":
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
