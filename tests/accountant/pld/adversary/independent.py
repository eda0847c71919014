"""Profiles and adaptive adversaries by plain quadrature: other formulas and other code than the package's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]


def profile(q: float, mu: float, squares: tuple[float, float, float], u: Floats) -> Floats:
    """Return U at u for squared distances (A, B, R): direct integration over the plane, on a fine grid."""
    a, b, r = squares
    product = (a + b - r) / 2
    first = np.sqrt(b) * mu
    along = product / np.sqrt(b) * mu
    across = np.sqrt(max(a * mu**2 - along**2, 0.0))
    x = np.linspace(-9, 9, 1201)
    weight = np.exp(-x * x / 2) * (x[1] - x[0]) / np.sqrt(2 * np.pi)
    other = np.linspace(-8, 8, 321) if across > 1e-9 else np.zeros(1)
    spread = np.exp(-other * other / 2) * 0.05 / np.sqrt(2 * np.pi) if other.size > 1 else np.ones(1)
    near = np.exp(first * x - first**2 / 2)
    far = np.exp((along * x)[:, None] + (across * other)[None, :] - (along**2 + across**2) / 2)
    return np.array(
        [float((weight @ np.maximum(1 - v * (1 - q) * far - ((1 + q * v) * near)[:, None], 0.0)) @ spread) for v in u]
    )


def forward(mu: float, u: Floats) -> Floats:
    """Return U of the forward pair in closed form."""
    log = np.log1p(u) / mu
    return np.asarray(ndtr(mu / 2 - log) - (1 + u) * ndtr(-mu / 2 - log))


def adaptive_delta(q: float, mu: float, steps: int, epsilons: Floats, middles: tuple[float, ...]) -> Floats:
    """Return delta of the adversary who, before each step, picks the best of the given positions of c in [0, 1]."""
    return adaptive_delta_of([(q, mu)] * steps, epsilons, middles)


def adaptive_delta_of(steps: Sequence[tuple[float, float]], epsilons: Floats, middles: tuple[float, ...]) -> Floats:
    """Return the same for steps with a q and a mu of their own, in the order in which they are taken.

    Dynamic programming on a grid of log y with linear interpolation; outputs are one-dimensional.
    """
    x = np.linspace(-3.0, 3.0, 1501)
    value = np.maximum(1 - np.exp(x), 0.0)
    for q, mu in reversed(steps):
        o = np.linspace(-9 / mu, 1 + 9 / mu, 1201)
        normals = {
            c: mu * (o[1] - o[0]) / np.sqrt(2 * np.pi) * np.exp(-((o - c) ** 2) * mu**2 / 2) for c in {*middles, 0, 1}
        }
        best = np.zeros_like(x)
        for c in middles:
            p = (1 - q) * normals[c] + q * normals[1]
            loss = np.log(p) - np.log((1 - q) * normals[c] + q * normals[0])
            moved = np.clip(x[:, None] - loss[None, :], x[0], x[-1])
            best = np.maximum(best, np.interp(moved, x, value) @ p)
        value = best
    return np.asarray(np.interp(epsilons, x, value))
