r"""Whether what is added is noise of the declared kind and scale, independent and fresh.

Every kind is turned into standard normal values, exactly distributed if all is well: Laplace and discrete noise through
their distribution functions, a gamma-norm vector by giving its direction the length of a normal vector. Then the tests
of normal noise apply (sizes of every part, shape, centring, independence, repetition). For the tests of shape the
total size of every run is first replaced by a fresh one: noise that is only too large does not accuse.
"""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from verification.declared.ledger import schedule
from verification.deployment.noise_tests import size_sightings
from verification.deployment.shape_tests import shape_sightings
from verification.deployment.sighting import Aspect, Sighting
from verification.wire.arrays import Floats
from verification.wire.declaration import DeclaredValue, NoiseKind


def over_scale(value: DeclaredValue, noise: Floats, count: int) -> Floats:
    """Noise [runs, releases, numbers] over its declared scale."""
    scales = np.array(schedule(value.scale, count))[: noise.shape[1]]
    scaled: Floats = noise / scales[None, :, None]
    return scaled


def standard_normal(value: DeclaredValue, noise: Floats) -> Floats:
    """Noise over its scale, turned into standard normal values."""
    if value.noise is NoiseKind.LAPLACE:
        # log P(X > |x|) = -|x| - log 2; the quantile through logarithms keeps the tails
        quantiles: Floats = special.ndtri_exp(-np.abs(noise) - np.log(2.0))
        return -np.sign(noise) * quantiles
    return _normal_lengths(noise) if value.noise is NoiseKind.GAMMA_NORM else noise


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


def _normal_lengths(noise: Floats) -> Floats:
    """Vectors of Gamma(p)-distributed length with the chi-distributed length of the same probability."""
    p = noise.shape[2]
    norms = np.linalg.norm(noise, axis=2, keepdims=True)
    low = special.gammainc(p, norms)
    high = special.gammaincc(p, norms)
    chi = np.where(low < 0.5, special.gammaincinv(p / 2, low), special.gammainccinv(p / 2, high))
    fresh = np.sqrt(2.0 * chi)
    scaled: Floats = noise * np.divide(fresh, norms, out=np.zeros_like(norms), where=norms > 0)
    return scaled


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


def noise_sightings(
    where: str,
    noise: dict[str, Floats],
    values: dict[str, DeclaredValue],
    counts: dict[str, int],
    rng: np.random.Generator,
) -> list[Sighting]:
    """All tests of the noise of several values, [runs, releases, numbers] each."""
    sized, shaped = {}, {}
    for name, array in noise.items():
        value = values[name]
        if value.noise is NoiseKind.DISCRETE:
            sized[name] = shaped[name] = discrete_normal(value, array, counts[name], rng)
            continue
        scaled = over_scale(value, array, counts[name])
        sized[name] = standard_normal(value, scaled)
        shaped[name] = standard_normal(value, fresh_size(value, scaled, rng))
    found = size_sightings(where, sized)
    excess = min((s.p_value for s in found if s.name.startswith("noise-excess")), default=1.0)
    blurred = any(values[name].noise is NoiseKind.DISCRETE for name in noise) and excess < 1e-3
    if not blurred:  # a discrete law that is too wide has another shape, and is not less private for it
        found += shape_sightings(where, shaped, rng)
    return [*found, *_off_grid(where, noise, values)]


def _off_grid(where: str, noise: dict[str, Floats], values: dict[str, DeclaredValue]) -> list[Sighting]:
    found = []
    for name, array in noise.items():
        grid = values[name].grid
        if grid is not None:
            away = float(np.abs(array / grid - np.rint(array / grid)).max(initial=0.0))
            p_value = 1.0 if away < 1e-6 else 0.0
            detail = f"{name}: noise lies up to {away:.3g} grid steps from the grid"
            found.append(Sighting(f"noise-grid {where}", Aspect.NOISE, p_value, detail, cause="noise is not discrete"))
    return found


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


def missing_draws(noise: dict[str, Floats]) -> str:
    """What it means that some releases have no noise at all while others have; empty where all have some."""
    for name, array in noise.items():
        sizes = np.linalg.norm(array, axis=2)
        missing = int(np.sum(sizes <= 1e-6 * np.median(sizes)))
        if 0 < missing < sizes.size:
            share = f"{missing} of {sizes.size}"
            return f"{share} releases of {name} have no noise: epsilon is then infinite at any delta below that share"
    return ""


def shared_draws(noise: dict[str, Floats]) -> str:
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


def tail_epsilon(kind: NoiseKind, factor: float, dimension: int, delta: float) -> float:
    r"""An epsilon below which no claim can hold at delta if the scale differs by this factor between neighbours.

    The event that the noise is longer than t has probability Q(t/f) on one and Q(t) on the other, Q the tail of its
    length over the scale: epsilon >= log((Q(t/f) - delta)/Q(t)), at the best t. At delta = 0 that has no bound.
    """
    if delta == 0 or factor == np.inf:
        return np.inf
    # of Gaussian and Laplace noise one coordinate: what all of them show together is no less
    k = dimension if kind is NoiseKind.GAMMA_NORM else 1
    t = np.linspace(0.0, 60.0 * k * factor, 4001)
    if kind in (NoiseKind.LAPLACE, NoiseKind.GAMMA_NORM):
        larger, smaller = stats.gamma.sf(t / factor, k), stats.gamma.logsf(t, k)
    else:
        larger, smaller = stats.chi.sf(t / factor, 1), np.log(2.0) + stats.norm.logsf(t)
    useful = (larger > delta) & np.isfinite(smaller)
    return float(np.max(np.log(larger[useful] - delta) - smaller[useful], initial=0.0))
