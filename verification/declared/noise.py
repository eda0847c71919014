r"""Whether what is added is noise of the declared kind and scale, independent and fresh.

Every kind is turned into standard normal values, exactly distributed if all is well: Laplace and discrete noise through
their distribution functions, a gamma-norm vector by giving its direction the length of a normal vector. Then the tests
of normal noise apply (sizes of every part, shape, centring, independence, repetition) and those of `extremes`. For the
tests of shape the total size of every run is first replaced by a fresh one: noise that is only too large does not
accuse.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from verification.declared.ledger import schedule
from verification.statistics.noise_shape import atoms, light_tails, shape_tests
from verification.statistics.noise_size import size_tests
from verification.statistics.test import Aspect, Cause, Test
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
    chi = np.where(high > 0.0, chi, norms)  # where the tail is below the range of floats both tails are about e^-norm
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


def noise_tests(
    noise: dict[str, Floats],
    values: dict[str, DeclaredValue],
    counts: dict[str, int],
    rng: np.random.Generator,
) -> list[Test]:
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
    found = size_tests(sized)
    discrete = [name for name in noise if values[name].noise is NoiseKind.DISCRETE]
    excess = min((t.p_value for t in found if t.cause is Cause.NOISE_LARGE), default=1.0)
    blurred = bool(discrete) and excess < 1e-3
    if not blurred:  # a discrete law that is too wide has another shape, and is not less private for it
        found += shape_tests(shaped, rng)
    return [*found, light_tails(sized), atoms(noise, discrete), *_off_grid(noise, values)]


def _off_grid(noise: dict[str, Floats], values: dict[str, DeclaredValue]) -> list[Test]:
    found = []
    for name, array in noise.items():
        grid = values[name].grid
        if grid is not None:
            away = float(np.abs(array / grid - np.rint(array / grid)).max(initial=0.0))
            p_value = 1.0 if away < 1e-6 else 0.0
            detail = f"{name}: noise lies up to {away:.3g} grid steps from the grid"
            found.append(Test("noise-grid", Aspect.NOISE, p_value, detail, Cause.NOISE_LAW))
    return found
