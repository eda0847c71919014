"""The composed profile by other means: Fourier inversion on a saddle-point contour, and direct double integration.

Neither uses a lattice, rounding of losses, a transform, or anything from the files under test.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

import numpy as np
from mpmath import MPContext, mpf
from numpy.typing import NDArray
from scipy.special import erf

Complexes = NDArray[np.complex128]
Floats = NDArray[np.float64]


class Which(enum.Enum):
    """The pair whose profile is wanted."""

    DOMINATING = "dominating"
    FIRST = "mixture first"
    SECOND = "mixture second"


def fourier_log_delta(steps: Sequence[tuple[float, float, int]], which: Which, epsilon: float) -> float:
    r"""Return log delta(epsilon) of steps (q, nu, count), good to about 1e-7 where the integrand dies out.

    delta = (1/2 pi) int M(s) e^{-s eps} / (s(1+s)) over s = theta + i tau, M the moment function of the composed loss.
    """

    def exponent(s: Complexes) -> Complexes:
        total = -s * epsilon - np.log(s) - np.log1p(s)
        for q, nu, count in steps:
            total = total + count * _log_moment(q, 1 / nu, which, s)
        return total

    grid = np.exp(np.linspace(math.log(1e-3 / epsilon), math.log(1e5 / epsilon), 160))
    with np.errstate(all="ignore"):
        theta = float(grid[int(np.nanargmin(exponent(grid.astype(np.complex128)).real))])
    around = exponent(np.array([0.99 * theta, theta, 1.01 * theta], dtype=np.complex128)).real
    curvature = float(around[0] - 2 * around[1] + around[2]) / (0.01 * theta) ** 2
    tau = np.linspace(0.0, 40 / math.sqrt(curvature), 2400)
    values = exponent(np.asarray(theta + 1j * tau, dtype=np.complex128))
    peak = float(values[0].real)
    integrand = np.exp(values - peak).real
    if abs(integrand[-1]) > 1e-12:
        raise ValueError("the integrand does not die out: this oracle says nothing here")
    return peak + math.log(float(integrand.sum() - integrand[0] / 2) * float(tau[1]) / math.pi)


def _log_moment(q: float, mu: float, which: Which, s: Complexes) -> Complexes:
    low = mu / 2 if which is Which.DOMINATING else -16.0
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.linspace(low, 16.0 + mu, 41)
    half = float(edges[1] - edges[0]) / 2
    z = ((edges[:-1] + half)[:, None] + half * nodes).ravel()
    loss = np.log1p(q * np.expm1(mu * (z - mu / 2)))
    base = -z * z / 2 - 0.5 * math.log(2 * math.pi) + np.log(np.tile(half * weights, 40))
    result = np.empty(s.shape, dtype=np.complex128)
    for start in range(0, s.size, 200):
        part = s[start : start + 200, None]
        up = np.exp(base + (1 + part) * loss).sum(axis=1) if which is not Which.SECOND else 0.0
        down = np.exp(base - part * loss).sum(axis=1) if which is not Which.FIRST else 0.0
        atom = (1 - q) * float(erf(mu / math.sqrt(8))) if which is Which.DOMINATING else 0.0
        result[start : start + 200] = np.log(up + down + atom)
    return result


class TwoSteps:
    """delta(epsilon) of two equal steps by one integral over the first step, at 20 digits."""

    def __init__(self, q: str, nu: str) -> None:
        self.mp = MPContext()
        self.mp.dps = 20
        self.q = self.mp.mpf(q)
        self.mu = 1 / self.mp.mpf(nu)

    def delta(self, which: Which, epsilon: str) -> mpf:
        """Integrate the profile of the second step over the loss of the first."""
        mp, eps = self.mp, self.mp.mpf(epsilon)
        base = mp.mpf(0)
        parts = []
        if which is not Which.SECOND:
            parts.append(lambda z: self._density(z) * self._y(z) * self._profile(which, mp.exp(eps) / self._y(z)))
        if which is not Which.FIRST:
            parts.append(lambda z: self._density(z) * self._profile(which, mp.exp(eps) * self._y(z)))
        if which is Which.DOMINATING:
            atom = (1 - self.q) * mp.erf(self.mu / mp.sqrt(8))
            base = atom * self._profile(which, mp.exp(eps))
        kink = self._point(mp.exp(eps))
        low = self.mu / 2 if which is Which.DOMINATING else mp.mpf(-14)
        points = sorted({low, low + 1, low + 3, self.mu / 2 + mp.mpf("0.01"), kink, kink + 1, kink + 3, kink + 9})
        inside = [point for point in points if point >= low] + [max(points) + 30]
        return base + sum((mp.quad(part, inside) for part in parts), mp.mpf(0))

    def _density(self, z: mpf) -> mpf:
        return self.mp.exp(-z * z / 2) / self.mp.sqrt(2 * self.mp.pi)

    def _y(self, z: mpf) -> mpf:
        return 1 + self.q * self.mp.expm1(self.mu * (z - self.mu / 2))

    def _point(self, y: mpf) -> mpf:
        return self.mp.log1p((y - 1) / self.q) / self.mu + self.mu / 2

    def _profile(self, which: Which, y: mpf) -> mpf:
        mirrored = which is Which.SECOND or (which is Which.DOMINATING and y < 1)
        return 1 - y + y * self._first(1 / y) if mirrored else self._first(y)

    def _first(self, y: mpf) -> mpf:
        """The profile of (1-q)N(0)+qN(mu) against N(0) at any y > 0."""
        if y <= 1 - self.q:
            return 1 - y
        z = self._point(y)
        above_base, above_shifted = self._tail(z), self._tail(z - self.mu)
        return self.q * above_shifted + (1 - self.q) * above_base - y * above_base

    def _tail(self, x: mpf) -> mpf:
        return self.mp.erfc(x / self.mp.sqrt(2)) / 2
