r"""The loss distribution of one step of a realisable pair on a lattice, rounded so that it is dominated: the lower end.

Binary floats live here, under a bound: every mass returned is at most the true one.

The pair is (1-q)N(0)+qN(mu) against N(0), in either order: all records alike but one; attained with clipping. The
z-axis is cut into cells and only the cell is kept: a post-processing, so the losses log(P(cell)/Q(cell)) are dominated
by the true ones. The cuts (`cell_edges`) are chosen such that these losses lie on a lattice offset + jh but for a tiny
mismatch. What they are does not matter for soundness: the loss of each cell is bounded afterwards, and a cell whose
loss falls short of its point by more than `slack` is counted at a lower point.

With z_j a point of loss l_j (up to `loss_mismatch`), S0 and S1 the integrals over the cell of
r(z) = exp((z_j^2 - z^2)/2) and of r(z)(e^{mu(z - z_j)} - 1), and w_j = q e^{t_j - l_j}, t_j = mu(z_j - mu/2), the cell
has

    Q = phi(z_j) S0,    P = phi(z_j) e^{l_j} S0 (1 + R),    R = w_j S1/S0,    loss log(P/Q) = l_j + log(1 + R),

and R/(1+R) <= log(1+R) <= R.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision
from accountant.pld.cell_edges import Cuts, cut_axis
from accountant.pld.certified_exp import EXP_ERROR, EXPM1_ERROR, UNIT_ROUNDOFF, Floats, exp, expm1
from accountant.pld.quadrature import NODES, QUADRATURE_ERROR, panels
from accountant.pld.rounding import SCALAR_BITS, float_below, normal_tail, normalised
from accountant.pld.types import BinaryStep, Frame, LatticeStep, Pair
from accountant.pld.upper_step import loss_mismatch

_INVERSE_ROOT_TWO_PI: Final = 0.3989422804014326
_LEAST_MASS: Final = 1e-290
_FAR_ENOUGH: Final = 9.0
"""With the mixture second, losses fall with z: beyond this point lie 1e-19 of the mass, at the least losses of all."""


@dataclass(frozen=True, slots=True)
class _Cells:
    """Per cell: l_j, z_j, S0 and its relative error, R and its absolute error, and the mismatch of l_j."""

    losses: Floats
    points: Floats
    integral: Floats
    relative_error: Floats
    excess: Floats
    excess_error: Floats
    mismatch: Floats


def dominated_step(step: BinaryStep, pair: Pair, frame: Frame, kappa: float, cuts: Cuts | None = None) -> LatticeStep:
    """Return a lattice measure that the loss distribution of the pair dominates; `pair` is not DOMINATING.

    `cuts` are other cells than the usual ones, on a lattice of the frame's spacing: any are sound.
    """
    if pair is Pair.DOMINATING:
        raise CannotCertifyError("a lower bound needs a realisable pair, got the dominating one")
    sign = 1.0 if pair is Pair.MIXTURE_FIRST else -1.0
    top = frame.z_top if sign > 0 else min(frame.z_top, _FAR_ENOUGH)
    cuts = cuts or cut_axis(step.q, step.mu, frame.spacing, (-frame.z_top, top))
    cells = _cells(step, cuts)
    lowest_mass, lowest_gap = _lowest_cell(step, cuts, sign, frame.theta, kappa)
    excess = cells.excess / (1 + cells.excess) if sign > 0 else -cells.excess
    cell_gaps = excess - 4 * UNIT_ROUNDOFF * np.abs(excess) - 2 * cells.excess_error - cells.mismatch
    gaps = np.concatenate([np.array([lowest_gap]), cell_gaps])
    masses = np.concatenate([np.array([lowest_mass]), _tilted_masses(cells, sign, frame.theta, kappa)])
    slack = _best_slack(gaps, masses, frame.spacing)
    fallen = np.maximum(np.ceil((-gaps - slack) / frame.spacing * (1 + 1e-12)), 0.0)
    index = (sign * np.concatenate([np.zeros(1), cuts.numbers]) - fallen).astype(np.int64)
    placed, first = _placed(index, _untilted(masses, fallen, frame))
    scaled, log_scale = normalised(placed, kappa, upwards=False)
    return LatticeStep(step.count, sign * cuts.offset, first, scaled, log_scale, slack, arb(0))


def _untilted(masses: Floats, fallen: Floats, frame: Frame) -> Floats:
    """Take off the tilt that a mass loses with the lattice points it falls."""
    drop = frame.theta * frame.spacing * fallen
    error = UNIT_ROUNDOFF * (3 * drop + 4) + EXP_ERROR
    return np.where(fallen > 0, masses * exp(-drop) * (1 - error), masses)


def _placed(index: np.typing.NDArray[np.int64], masses: Floats) -> tuple[Floats, int]:
    first = int(index.min())
    sums = np.asarray(np.bincount(index - first, weights=masses), dtype=np.float64)
    terms = np.bincount(index - first)
    sums *= 1 - UNIT_ROUNDOFF * (2.0 * terms + 2)
    return np.where(sums >= _LEAST_MASS, sums, 0.0), first


def _best_slack(gaps: Floats, masses: Floats, spacing: float) -> float:
    """Return the uniform shortfall to allow: its cost against that of the mass which must else fall a whole cell."""
    candidates = spacing * 0.5 ** np.arange(1.0, 45.0)
    total = float(masses.sum())
    if not total > 0:
        raise CannotCertifyError("no mass of the pair is left to bound from below")
    cost = [c + spacing * float(masses[gaps < -c].sum()) / total for c in candidates]
    return float(candidates[int(np.argmin(cost))])


def _cells(step: BinaryStep, cuts: Cuts) -> _Cells:
    """Return S0 and R of every cell but the lowest, with proved errors."""
    q, mu, points, losses = step.q, step.mu, cuts.points, cuts.losses
    widths = np.diff(cuts.edges)
    if not float(widths.min()) > 0:
        raise CannotCertifyError("neighbouring lattice points coincide in float64: use fewer points")
    mismatch = loss_mismatch(q, mu, points, losses) + 2 * UNIT_ROUNDOFF * (np.abs(losses) + abs(cuts.offset))
    span = np.abs(cuts.edges[:-1] - points) + widths
    reach = np.abs(points) + 2 * span
    grid = panels(widths, reach + 2 * mu + 4)
    s = (cuts.edges[:-1] - points)[grid.cell][:, None] + grid.from_left
    ratio = exp(-s * (points[grid.cell][:, None] + s / 2))
    integral = grid.per_cell(ratio)
    t = mu * (points - mu / 2)
    weight = q * exp(t - losses)
    s *= mu
    ratio *= expm1(s)
    excess = weight * (grid.per_cell(ratio) / integral)
    rounding = 12 * reach * (span + 1) + (NODES + 1) * grid.counts + 8 * mu * span + 40
    relative = rounding * UNIT_ROUNDOFF + EXP_ERROR + EXPM1_ERROR + QUADRATURE_ERROR
    weight_error = UNIT_ROUNDOFF * (3 * np.abs(t) + 2 * np.abs(losses) + 20) + 2 * mismatch
    excess_error = 3 * relative * weight * expm1(mu * span) + 2 * weight_error * np.abs(excess)
    if not float(np.max(np.abs(excess) + excess_error)) < 0.4:
        raise CannotCertifyError("the cells of the pair are too wide: use more points")
    return _Cells(losses, points, integral, relative, excess, excess_error, mismatch)


def _tilted_masses(cells: _Cells, sign: float, theta: float, kappa: float) -> Floats:
    """Return lower bounds of P e^{theta l} (sign 1) or Q e^{-theta l} (sign -1), times e^-kappa."""
    tilt = sign * theta + (1.0 if sign > 0 else 0.0)
    exponent = tilt * cells.losses - cells.points * cells.points / 2 - kappa
    masses = exp(exponent) * cells.integral * _INVERSE_ROOT_TWO_PI
    if sign > 0:
        masses *= 1 + cells.excess
    magnitude = 4 * np.abs(tilt * cells.losses) + 2 * cells.points**2 + 2 * abs(kappa) + 16
    error = magnitude * UNIT_ROUNDOFF + EXP_ERROR + cells.relative_error + 2 * cells.excess_error + 2 * cells.mismatch
    return np.asarray(np.maximum(masses * (1 - 1.01 * error), 0.0))


def _lowest_cell(step: BinaryStep, cuts: Cuts, sign: float, theta: float, kappa: float) -> tuple[float, float]:
    """Return the tilted mass of (-inf, b], rounded down, and how much its loss exceeds its point, rounded down."""
    with arb_precision(SCALAR_BITS):
        q, mu, b, offset = arb(step.q), arb(step.mu), arb(float(cuts.edges[0])), arb(cuts.offset)
        base, shifted = normal_tail(-b), normal_tail(mu - b)
        loss = (q * (shifted / base - 1)).log1p()
        first = loss if sign > 0 else arb(0)
        mass = base * (first + arb(sign * theta) * offset - arb(kappa)).exp()
        gap = arb(sign) * (loss - offset)
        return max(float_below(mass), 0.0), float_below(gap)
