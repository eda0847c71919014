r"""The loss distribution of one step on a lattice, rounded so that it dominates: the upper end of the composition.

Binary floats live here, under a bound: every mass returned is at least the true one.

With t = mu(z - mu/2), y(z) = 1 - q + q e^t and l = log y, the dominating pair of a step (Balle, Barthe and Gaboardi
2018, Theorem 9) is, on losses > 0, the mixture (1-q)N(0)+qN(mu) against N(0) on z > mu/2; on losses < 0 its mirror
image; and an atom (1-q)(1 - 2 Phi(-mu/2)) at 0. A loss in the cell [l_j, l_{j+1}], l_j = jh, is moved to the two ends
so that the masses of both distributions stay what they were (connect-the-dots: Doroshenko et al. 2022), which
replaces the convex profile by its chords and so can only raise it. The densities cancel to integrals of positive
functions,

    to l_j:      q/(e^h - 1)    int phi(z - mu) (e^{mu(z_{j+1} - z)} - 1) dz,
    to l_{j+1}:  q/(1 - e^{-h}) int phi(z - mu) (1 - e^{-mu(z - z_j)}) dz,

and the mass at -l_j is e^{-l_j} times the mass at l_j. Beyond the last cell the mass counts as an infinite loss,
below the first it moves up. Masses come out tilted, times e^{theta l - kappa}.

The points z_j are only guessed; `loss_mismatch` bounds |l(z_j) - l_j| afterwards. Such a mismatch changes the masses
by a relative (1+h)(eta_j + eta_{j+1})/h and the losses by eta: the latter is returned as `slack`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision, normal_tail
from accountant.pld.certified_floats import (
    EXP_ERROR,
    EXPM1_ERROR,
    NODES,
    QUADRATURE_ERROR,
    SCALAR_BITS,
    UNIT_ROUNDOFF,
    Floats,
    blocks,
    exp,
    expm1,
    float_above,
    normalised,
    panels,
)
from accountant.pld.guesses import loss_at, point_at
from accountant.pld.types import BinaryStep, Frame, LatticeStep

MAX_CELLS: Final = 1 << 21
MAX_RELATIVE_MISMATCH: Final = 1e-3
_LOWEST_EXPONENT: Final = -650.0
_LEAST_MASS: Final = 1e-295
"""Tilted masses are raised to at least these: above underflow, far below anything that counts."""


def dominating_step(step: BinaryStep, frame: Frame, kappa: float) -> LatticeStep:
    """Return a lattice measure that dominates the loss distribution of the step; see the header."""
    q, mu, theta = step.q, step.mu, frame.theta
    cells = _cell_count(float(loss_at(q, mu, np.array([max(frame.z_top, mu / 2)]))[0]), frame.spacing)
    losses = frame.spacing * np.arange(cells + 1, dtype=np.float64)
    z = point_at(q, mu, losses)
    z[0] = mu / 2
    mismatch = loss_mismatch(q, mu, z, losses)
    mismatch[0] = 0.0
    positive, error = cell_masses(step, frame, kappa, LatticePoints(z, losses, mismatch))
    mirror = -(1 + 2 * theta) * losses
    negative = positive * exp(np.maximum(mirror, _LOWEST_EXPONENT))
    negative_error = error + UNIT_ROUNDOFF * (4 * np.abs(mirror) + 4) + EXP_ERROR + mismatch
    atom, below, infinite = _scalar_masses(step, float(z[-1]), float(losses[-1]), theta, kappa)
    negative = negative * (1 + 1.01 * negative_error)
    positive = positive * (1 + 1.01 * error)
    negative[-1] += below
    middle = np.array([(atom + positive[0] + negative[0]) * (1 + 4 * UNIT_ROUNDOFF)])
    masses = np.concatenate([negative[:0:-1], middle, positive[1:]]) * (1 + 4 * UNIT_ROUNDOFF)
    scaled, log_scale = normalised(np.maximum(masses, _LEAST_MASS), kappa, upwards=True)
    return LatticeStep(step.count, 0.0, -cells, scaled, log_scale, float(mismatch.max()), infinite)


def _cell_count(top_loss: float, spacing: float) -> int:
    number = math.ceil(top_loss / spacing) + 1
    if number > MAX_CELLS:
        raise CannotCertifyError(f"a step spans {number} lattice cells, more than {MAX_CELLS}: use fewer points")
    return number


@dataclass(frozen=True, slots=True)
class LatticePoints:
    """Points z_j, the losses l_j that they stand for, and how far off l(z_j) is at most."""

    z: Floats
    losses: Floats
    mismatch: Floats


def cell_masses(step: BinaryStep, frame: Frame, kappa: float, points: LatticePoints) -> tuple[Floats, Floats]:
    """Return tilted masses at l_0, l_1, ... and their relative errors."""
    q, mu, spacing, theta = step.q, step.mu, frame.spacing, frame.theta
    z, losses, mismatch = points.z, points.losses, points.mismatch
    widths, v = np.diff(z), z[:-1] - mu
    if not float(widths.min()) > 0:
        raise CannotCertifyError("neighbouring lattice points coincide in float64: use fewer points")
    reach = np.abs(v) + widths
    steepness = reach + 2 * mu + 4
    masses, counts = np.zeros(z.size), np.zeros(widths.size)
    to_lower, to_upper = _cell_factors(q, spacing, theta)
    tilts = theta * losses[:-1] - kappa
    above = np.zeros(widths.size)
    for cells in blocks(widths, steepness):
        grid = panels(widths[cells], steepness[cells])
        density = _density(v[cells][grid.cell][:, None] + grid.from_left, tilts[cells][grid.cell][:, None])
        masses[:-1][cells] = grid.per_cell(_times(density, to_lower, mu * grid.from_right))
        above[cells] = grid.per_cell(_times(density, -to_upper, -mu * grid.from_left))
        counts[cells] = grid.counts
    masses[1:] += above
    rounding = (
        6.5 * reach**2
        + 3 * np.abs(theta * losses[:-1])
        + 2 * abs(kappa)
        + 5 * (1 + mu * widths)
        + (NODES + 1) * counts
        + 24
    )
    drift = 1.1 * (1 + spacing) * (mismatch[:-1] + mismatch[1:]) / spacing
    if not float(drift.max()) <= MAX_RELATIVE_MISMATCH:
        raise CannotCertifyError("the lattice is too fine for float64 at these parameters: use fewer points")
    cell_error = rounding * UNIT_ROUNDOFF + EXP_ERROR + EXPM1_ERROR + QUADRATURE_ERROR + drift
    error = np.empty(z.size)
    error[0], error[-1] = cell_error[0], cell_error[-1]
    error[1:-1] = np.maximum(cell_error[:-1], cell_error[1:])
    return masses, error


def _density(x: Floats, tilts: Floats) -> Floats:
    """Return e^(tilt - x^2/2); x is overwritten: with very wide cells these arrays are what fills the memory."""
    np.multiply(x, x, out=x)
    x /= 2
    np.subtract(tilts, x, out=x)
    np.maximum(x, _LOWEST_EXPONENT, out=x)
    return exp(x)


def _times(density: Floats, factor: float, exponent: Floats) -> Floats:
    """Return density * (factor * (e^exponent - 1))."""
    product = expm1(exponent)
    product *= factor
    product *= density
    return product


def _cell_factors(q: float, spacing: float, theta: float) -> tuple[float, float]:
    with arb_precision(SCALAR_BITS):
        h, root = arb(spacing), (2 * arb.pi()).sqrt()
        return (
            float_above(arb(q) / (h.expm1() * root)),
            float_above(arb(q) * (arb(theta) * h).exp() / (-(-h).expm1() * root)),
        )


def _scalar_masses(
    step: BinaryStep, z_last: float, loss_last: float, theta: float, kappa: float
) -> tuple[float, float, arb]:
    """Return the atom at 0 and the mass below the lattice, both tilted and rounded up, and the mass at infinity."""
    with arb_precision(SCALAR_BITS):
        q, mu, z = arb(step.q), arb(step.mu), arb(z_last)
        atom = (1 - q) * (mu / arb(8).sqrt()).erf() * (-arb(kappa)).exp()
        below = normal_tail(z) * (-arb(theta) * arb(loss_last) - arb(kappa)).exp()
        infinite = q * normal_tail(z - mu) + (1 - q) * normal_tail(z)
        return float_above(atom), float_above(below), infinite


def loss_mismatch(q: float, mu: float, z: Floats, losses: Floats) -> Floats:
    r"""Return a proved bound on |l(z_j) - losses_j|, z and losses taken as exact.

    e^{l(z)-l} - 1 is evaluated as q e^{t-l} (1-e^{-t}) - (1-e^{-l}) for t > 0, and for t <= 0 both as
    e^{-l} (q (e^t-1) - (e^l-1)) and as (1-q+q e^t) e^{-l} - 1, whichever has the smaller error.
    t = mu(z - mu/2) is off by 2u|t|.
    """
    t = mu * (z - mu / 2)
    u = UNIT_ROUNDOFF
    result = np.empty_like(z)
    up = t > 0
    if np.any(up):
        result[up] = _mismatch_above(q, t[up], losses[up], u)
    if not np.all(up):
        result[~up] = _mismatch_below(q, t[~up], losses[~up], u)
    if not float(result.max()) <= 0.01:
        raise CannotCertifyError("the lattice points could not be located in float64 at these parameters")
    return result * 1.01


def _mismatch_above(q: float, t: Floats, losses: Floats, u: float) -> Floats:
    difference = t - losses
    first = q * exp(difference) * -expm1(-t)
    second = -expm1(-losses)
    error = first * u * (2 * t + np.abs(difference) + 60) + np.abs(second) * 40 * u
    return np.asarray(np.abs(first - second) + error)


def _mismatch_below(q: float, t: Floats, losses: Floats, u: float) -> Floats:
    relative = 60 * u + 2 * u * np.abs(t)
    shrink = exp(-losses)
    first, second = q * expm1(t), expm1(losses)
    fine = np.abs(first - second) * (1 + 20 * u) + (np.abs(first) + np.abs(second)) * relative
    value = ((1 - q) + q * exp(t)) * shrink
    coarse = np.abs(value - 1) + value * relative + u
    return np.asarray(np.minimum(fine * shrink * (1 + 20 * u), coarse))
