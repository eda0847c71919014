r"""The moment function of one step's loss, by Gauss-Legendre quadrature: for the inversion oracle.

With l(z) = log(1-q+q e^t), t = mu(z - mu/2), z standard normal and mu = 1/nu, M(s) = E_P[e^{s loss}] is

    first   (1-q)N(0)+qN(mu) against N(0):   M(s) = E[e^{(1+s) l}]
    second  N(0) against the mixture:        M(s) = E[e^{-s l}]
    dominating, whose profile is H(y) = q H_G(log(1+(y-1)/q)) for y >= 1 and 1-y+y H(1/y) below:
            M(s) = a + E[(e^{(1+s) l} + e^{-s l}) 1{z > mu/2}],  a = (1-q)(1 - 2 Phi(-mu/2)).

(-H' is the tail of the second distribution, so y > 1 leaves the losses of `first`, y < 1 those of `second`, and the
kink of H at 1 the atom a; the masses add up to 1.)

For large s the far tail of z, where l grows like mu z, would take over E[e^{(1+s) l}] though it hardly matters for
delta. So z is tapered off smoothly above a point `top` beyond which lies a stated, negligible mass.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from mpmath import MPContext
from numpy.typing import NDArray
from scipy.special import erf, log_ndtr

from accountant.numbers import fraction_of
from tests.accountant.nonuniform import gauss

Floats = NDArray[np.float64]

NEGLIGIBLE: Final = 42.0
"""Quadrature weights below e^-42 of the largest are left out."""
MOST_PANELS: Final = 12_000
PANEL: Final = 0.5
TAPER: Final = 0.5
TAPERED_OUT: Final = 8.0
REAL_NODES: Final = 24
_NODES_FOR_SHAPE: Final = 14
"""Of the nodes in a panel this many are spent on everything but the phase."""

_mp = MPContext()
_mp.dps = 60


class CannotResolve(Exception):
    """The integral would have to be too long, or two evaluations disagree: no answer."""


class Which(enum.Enum):
    """The pair whose profile is wanted."""

    DOMINATING = "dominating"
    FIRST = "mixture first"
    SECOND = "mixture second"


@dataclass(frozen=True, slots=True)
class Step:
    """q, mu = 1/nu, how often, and where the tail of z is tapered off."""

    q: float
    mu: float
    count: int
    top: float

    @property
    def atom(self) -> float:
        """The mass of loss 0 under the dominating pair."""
        return (1 - self.q) * float(erf(self.mu / math.sqrt(8)))


def step_tapered(q: float, nu: float, count: int, log_mass: float) -> Step:
    """Return a step whose taper removes at most about e^log_mass of the mixture.

    What it removes below top - 2.5 TAPER is less than 1e-9 of a tail that is hardly larger.
    """
    mu, low, high = 1 / nu, 0.0, 1e6
    for _ in range(60):
        middle = (low + high) / 2
        z = middle - 2.5 * TAPER
        parts = [math.log(q) + float(log_ndtr(mu - z))]
        if q < 1:
            parts.append(math.log1p(-q) + float(log_ndtr(-z)))
        low, high = (middle, high) if np.logaddexp.reduce(parts) > log_mass else (low, middle)
    return Step(q, mu, count, high)


def log_one_step(step: Step, epsilon: float) -> float:
    r"""Return log of the profile of one step, q(Phi(mu - z) - e^t Phi(-z)), t = log(1+(e^eps-1)/q), at 60 digits."""
    q, mu = _mp.mpf(repr(step.q)), _mp.mpf(repr(step.mu))
    t = _mp.log1p(_mp.expm1(_mp.mpf(repr(epsilon))) / q)
    z, root = t / mu + mu / 2, _mp.sqrt(_mp.mpf(2))
    value = _mp.log(q * (_mp.erfc((z - mu) / root) - _mp.exp(t) * _mp.erfc(z / root)) / 2)
    return float(fraction_of(value))


def log_moment(steps: Sequence[Step], which: Which, theta: float) -> float:
    """Return log of the product of M(theta)^count."""
    return sum(step.count * tilted_law(step, which, theta, 0.0, REAL_NODES)[2] for step in steps)


def tilted_law(step: Step, which: Which, theta: float, tau: float, nodes: int) -> tuple[Floats, Floats, float]:
    """Return losses, their probabilities after tilting by theta, and log M(theta); fit for phases up to tau."""
    left, width = _panels(step, which, theta, tau, nodes)
    points, rule = gauss(nodes)
    z = (left[:, None] + width[:, None] / 2 * (1 + points)).ravel()
    losses, exponents = _tilted(step, which, theta, z, np.log((width[:, None] / 2 * rule).ravel()))
    if which is Which.DOMINATING and step.atom > 0:
        losses, exponents = np.append(losses, 0.0), np.append(exponents, math.log(step.atom))
    highest = float(exponents.max())
    keep = exponents > highest - NEGLIGIBLE
    weights = np.exp(exponents[keep] - highest)
    total = float(weights.sum())
    return losses[keep], weights / total, highest + math.log(total)


def _tilted(step: Step, which: Which, theta: float, z: Floats, log_weights: Floats) -> tuple[Floats, Floats]:
    """Return losses and logarithms of their tilted weights."""
    loss = _loss(step, z)
    base = log_weights - z * z / 2 - 0.5 * math.log(2 * math.pi)
    if which is Which.SECOND:
        return -loss, base - theta * loss
    # Phi(-sinh(x)) is 1 below, 0 above, analytic, and steep enough for any tilt.
    taper = log_ndtr(-np.sinh(np.clip((z - step.top) / TAPER, -20.0, 20.0)))
    up = base + (1 + theta) * loss + taper
    if which is Which.FIRST:
        return loss, up
    return np.concatenate([loss, -loss]), np.concatenate([up, base - theta * loss])


def _panels(step: Step, which: Which, theta: float, tau: float, nodes: int) -> tuple[Floats, Floats]:
    """Return where panels start and how wide they are: every z that matters, few turns of the phase in each."""
    low, high = _range(step, which, theta)
    number = max(12, math.ceil((high - low) / PANEL))
    if number > MOST_PANELS:
        raise CannotResolve(f"{number} panels at theta={theta}")
    edges = np.linspace(low, high, number + 1)
    _, exponents = _tilted(step, which, theta, edges, np.zeros(edges.size))
    highest = exponents.reshape(-1, edges.size).max(axis=0)
    near = np.maximum(highest[:-1], highest[1:]) > highest.max() - 2 * NEGLIGIBLE
    starts, widths = edges[:-1][near], np.diff(edges)[near]
    turns = widths * tau * _slope(step, starts + widths) / (2 * (nodes - _NODES_FOR_SHAPE))
    pieces = np.maximum(np.ceil(turns), 1).astype(np.int64)
    if pieces.sum() > MOST_PANELS:
        raise CannotResolve(f"{pieces.sum()} panels for phases up to tau={tau}")
    position = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    width = np.repeat(widths / pieces, pieces)
    return np.repeat(starts, pieces) + position * width, width


def _range(step: Step, which: Which, theta: float) -> tuple[float, float]:
    if which is Which.SECOND:
        most = math.sqrt(-2 * theta * math.log1p(-step.q)) if step.q < 1 else math.inf
        return -14.0 - min(theta * step.mu, most), 14.0 + step.mu / 2
    low = step.mu / 2 if which is Which.DOMINATING else -14.0
    high = min(14.0 + step.mu * (1 + theta), step.top + TAPERED_OUT * TAPER)
    return low, max(high, low + 1)


def _loss(step: Step, z: Floats) -> Floats:
    t = step.mu * (z - step.mu / 2)
    small = np.log1p(step.q * np.expm1(np.minimum(t, 300.0))) if step.q < 1 else t
    return np.where(t <= 300.0, small, t + math.log(step.q))


def _slope(step: Step, z: Floats) -> Floats:
    """Return dl/dz, which grows with z."""
    return np.asarray(step.mu * step.q * np.exp(step.mu * (z - step.mu / 2) - _loss(step, z)))
