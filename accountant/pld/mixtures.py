r"""A step whose pair is known to be two mixtures of Gaussians: groups of records on Poisson batches, on a lattice.

**Theorem.** Data sets differ in k records at most, a of them only in the first, b only in the second, a + b = k. Each
record joins a batch independently with probability q and moves its sum by at most 1/nu of the noise. The pair

    P = sum_j Bin(a, q)(j) N(j mu),    Q = sum_i Bin(b, q)(i) N(-i mu),    mu = 1/nu,

dominates the outputs, also if the vectors are chosen adaptively; so the price is the largest over a = 0, ..., k. For
b = 0 and a = 0 it is [G24] (arXiv:2401.10294), which has it for removed records.

*Proof.* Announce which other records join (joint convexity) and take their sum off. What is left is
P = sum_S p_S N(x_S) against Q = sum_T q_T N(y_T), x_S the sum of |S| vectors of norm at most mu. With
W_u = e^{<u, g> - |u|^2/2} for a standard normal g, D(P, Q) = E f(sum_S p_S W_{x_S} - e^eps sum_T q_T W_{y_T}),
f(x) = max(x, 0). Kahane's inequality: along Gaussian fields whose covariances go from G to G' the derivative of it is

    (1/2) sum_uv (G'_uv - G_uv) c_u c_v E[W_u W_v f''],    c_u = p_S or -e^eps q_T,

and f'' >= 0 (a limit of smooth convex functions). So D rises with the covariances within either side, and falls with
those across. <x_S, x_S'> is at most |S| |S'| mu^2 and <x_S, y_T> at least -|S| |T| mu^2, all of which vectors e of
norm mu and -e reach at once. Given what was released before the pair is of this kind, so it composes. QED

The same inequality shows that larger shifts dominate smaller ones: they are rounded up at the upper end.

The loss L(z) = log(P/Q) rises in z. With z_n the points of loss nh, A = P/phi and B = Q/phi, a cell between losses
l < l' puts (connect-the-dots, as in `upper_step`)

    int phi ((A(z) - A(z_n)) + e^l (B(z_n) - B(z))) dz / (1 - e^{-h})   at l',

and the mirror image at l: all terms are positive, and each is that of one Gaussian against N(0), which `cell_masses`
integrates; those of B with the axis and the order reversed, as in `known_pairs`. The points are guesses; `_mismatch`
bounds how far off they are.

Lower end: only the cell of z is kept, cut about halfway between lattice points, as in `lower_step`. Its loss is bounded
by the masses themselves.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision, normal_tail
from accountant.pld.certified_floats import (
    EXP_ERROR,
    NODES,
    QUADRATURE_ERROR,
    SCALAR_BITS,
    UNIT_ROUNDOFF,
    Floats,
    exp,
    float_above,
    float_below,
    normalised,
    panels,
)
from accountant.pld.guesses import mixture_losses, mixture_slopes
from accountant.pld.lower_step import best_slack, placed, untilted
from accountant.pld.types import BinaryStep, Frame, LatticeStep, Mixtures, Parts
from accountant.pld.upper_step import MAX_CELLS, LatticePoints, cell_masses

_LOWEST_Z: Final = -9.0
"""Below this N(0) has probability 1e-19."""
_LOWEST_EXPONENT: Final = -650.0
_LEAST_MASS: Final = 1e-295
_NEWTON_STEPS: Final = 6
_MOST_MISMATCH: Final = 0.01
_FEW_CELLS: Final = 8
_MOST_TERMS: Final = 1 << 22
_INVERSE_ROOT_TWO_PI: Final = 0.3989422804014326


def dominating_mixtures(step: Mixtures, frame: Frame, kappa: float) -> LatticeStep:
    """Return a lattice measure that dominates the loss distribution of the step."""
    h, theta = frame.spacing, frame.theta
    bounded = _is_plain(step.first)
    low, high = mixture_losses(step, np.array([_LOWEST_Z, max(frame.z_top, 1.0)])) / h
    lowest, highest = math.ceil(low), math.ceil(high) + 1
    top = _top(step, h) if bounded else math.inf
    bounded = highest >= top - 1
    highest = math.floor(high) if bounded else highest
    losses, z = _points(step, lowest, highest, frame)
    mismatch = _mismatch(step, z, losses)
    points, mirrored = LatticePoints(z, losses, mismatch), LatticePoints(-z[::-1], -losses[::-1], mismatch[::-1])
    whole = np.zeros(losses.size)
    for weight, shift in step.first:
        if shift > 0:
            whole += _rounded_up(cell_masses(BinaryStep(weight, shift, 1), frame, kappa, points))
    reverse = Frame(h, frame.z_top, -1 - theta)
    for weight, shift in step.second:
        if shift > 0:
            whole += _rounded_up(cell_masses(BinaryStep(weight, shift, 1), reverse, kappa, mirrored))[::-1]
    whole *= 1 + (len(step.first) + len(step.second) + 4) * UNIT_ROUNDOFF
    with arb_precision(SCALAR_BITS):
        scale, hidden = (-arb(kappa)).exp(), arb(step.rest)
        first_z, last_z, last = arb(float(z[0])), arb(float(z[-1])), arb(float(losses[-1]))
        below = sum((arb(w) * normal_tail(arb(shift) - first_z) for w, shift in step.first), arb(0))
        whole[0] += float_above(below * (arb(theta) * arb(float(losses[0]))).exp() * scale)
        beyond = sum((arb(w) * normal_tail(last_z - arb(shift)) for w, shift in step.first), arb(0))
        if bounded:  # losses are that close to the largest one: a chord to a point beyond all
            last_index = max(int(top), highest + 1)
            after, own = arb(last_index) * arb(h), last + arb(float(mismatch[-1])) * arb(0, 1)
            other = sum((arb(w) * normal_tail(last_z + arb(shift)) for w, shift in step.second), arb(0))
            up = (beyond - own.exp() * other) / -(-(after - own)).expm1()
            up = up.max(arb(0)).min(beyond)
            whole = np.concatenate([whole, np.zeros(last_index - highest)])
            whole[-1] += float_above(up * (arb(theta) * after).exp() * scale)
            whole[highest - lowest] += float_above((beyond - up) * (arb(theta) * last).exp() * scale)
        else:
            hidden += beyond
    whole = np.maximum(whole * (1 + 4 * UNIT_ROUNDOFF), _LEAST_MASS)
    scaled, log_scale = normalised(whole, kappa, upwards=True)
    return LatticeStep(step.count, 0.0, lowest, scaled, log_scale, float(mismatch.max()), hidden)


def _rounded_up(found: tuple[Floats, Floats]) -> Floats:
    masses, error = found
    return masses * (1 + 1.01 * error)


def _top(step: Mixtures, spacing: float) -> int:
    """Return an index beyond all losses, where the first side is N(0): at most log of its mass over that of N(0)."""
    mass = sum((arb(weight) for weight, _ in step.first), arb(0))
    nearest = sum((arb(weight) for weight, shift in step.second if shift == 0), arb(0))
    if not nearest > 0:
        raise CannotCertifyError("every batch holds some of the group")
    with arb_precision(SCALAR_BITS):
        return int(((mass / nearest).log() / arb(spacing)).upper().ceil().fmpz())


def _points(step: Mixtures, lowest: int, highest: int, frame: Frame) -> tuple[Floats, Floats]:
    """Return the losses of the lattice points and about the z that have them."""
    if not 1 <= highest - lowest <= MAX_CELLS:
        raise CannotCertifyError(f"a step spans {highest - lowest} lattice cells, not 1 to {MAX_CELLS}")
    if (highest - lowest) * (len(step.first) + len(step.second)) > _MOST_TERMS:
        raise CannotCertifyError(f"a step of {len(step.first) + len(step.second)} Gaussians spans too many cells")
    losses = frame.spacing * np.arange(lowest, highest + 1, dtype=np.float64)
    return losses, _inverse(step, losses, max(frame.z_top, 1.0))


def _inverse(step: Mixtures, losses: Floats, z_top: float) -> Floats:
    high = z_top
    while float(mixture_losses(step, np.array([high]))[0]) < float(losses[-1]) and high < 2 * z_top + 100:
        high += 0.5
    grid = np.linspace(_LOWEST_Z - 1, high, min(4 * losses.size, 4096) + 64)
    z = np.interp(losses, mixture_losses(step, grid), grid)
    for _ in range(_NEWTON_STEPS):
        z = z - np.clip((mixture_losses(step, z) - losses) / mixture_slopes(step, z)[0], -1.0, 1.0)
    return np.asarray(z)


def _mismatch(step: Mixtures, z: Floats, losses: Floats) -> Floats:
    """Return a proved bound on |L(z_n) - losses_n|, both taken as exact: of log(A e^{-l}/B)."""
    common = -0.5 * losses  # taken off both sides, so that neither overflows
    above, its_error = _sum(step.first, z, losses + common)
    below, other_error = _sum(step.second, -z, common)
    ratio = above / below
    found = 1.02 * (np.abs(ratio - 1) + ratio * (its_error + other_error + 4 * UNIT_ROUNDOFF))
    if not float(found.max()) <= _MOST_MISMATCH:
        raise CannotCertifyError("the lattice points could not be located in float64 at these parameters")
    return np.asarray(found)


def _sum(parts: Parts, z: Floats, taken: Floats) -> tuple[Floats, Floats]:
    """Return the sum of w e^{s(z - s/2) - taken} and its relative error."""
    total, error = np.zeros_like(z), np.zeros_like(z)
    for weight, shift in parts:
        at = shift * (z - shift / 2)
        term = weight * exp(np.maximum(at - taken, _LOWEST_EXPONENT))
        total += term
        error += term * (UNIT_ROUNDOFF * (4 * np.abs(at) + 3 * np.abs(taken) + len(parts) + 8) + EXP_ERROR)
    return total, (error + len(parts) * _LEAST_MASS) / total  # what is clipped is below e^-650


def dominated_mixtures(step: Mixtures, frame: Frame, kappa: float) -> LatticeStep:
    """Return a lattice measure that the loss distribution of the step dominates: only the cell of z is kept."""
    h, theta = frame.spacing, frame.theta
    low, high = mixture_losses(step, np.array([_LOWEST_Z, max(frame.z_top, 1.0)])) / h
    lowest, highest = math.ceil(low) + 1, math.floor(high) - 1
    losses = _points(step, lowest, highest, frame)[0]
    edges = _inverse(step, np.append(losses - h / 2, losses[-1] + h / 2), max(frame.z_top, 1.0))
    slope, density_slope = mixture_slopes(step, edges)
    edges = edges - np.clip(h * h / 12 * (density_slope + 0.5), -h / 4, h / 4) / slope
    widths = np.diff(edges)
    if not float(widths.min()) > 0:
        raise CannotCertifyError("neighbouring lattice points coincide in float64: use fewer points")
    first, first_error = _cells(step.first, edges, theta * losses - kappa)
    second, second_error = _cells(tuple((w, -s) for w, s in step.second), edges, (theta + 1) * losses - kappa)
    least = np.maximum(first * (1 - 1.01 * first_error), 0.0)
    most = np.maximum(second * (1 + 1.01 * second_error), _LEAST_MASS)
    gaps = np.where(least > 0, 1 - most / np.maximum(least, _LEAST_MASS), -math.inf) - 8 * UNIT_ROUNDOFF
    kept = gaps > -0.25  # log(P/Q) - l >= 1 - (Q e^l)/P; what is worse is left out
    slack = best_slack(gaps[kept], least[kept], h)
    fallen = np.maximum(np.ceil((-gaps[kept] - slack) / h * (1 + 1e-12)), 0.0)
    index = (np.arange(lowest, highest + 1)[kept] - fallen).astype(np.int64)
    ends = ((step.second, edges[0], -1, lowest), (step.first, edges[-1], 1, highest))
    bounded = [(float(edge), sign, near) for parts, edge, sign, near in ends if _is_plain(parts)]
    outer = [_outer(step, end, frame, kappa) for end in bounded]
    index = np.append(index, [place for place, _ in outer])
    masses, start = placed(index, np.append(untilted(least[kept], fallen, frame), [mass for _, mass in outer]))
    scaled, log_scale = normalised(masses, kappa, upwards=False)
    return LatticeStep(step.count, 0.0, start, scaled, log_scale, slack, arb(0))


def _is_plain(parts: Parts) -> bool:
    """Say whether a side is N(0) alone: then losses are bounded at one end."""
    return all(shift == 0 for _, shift in parts)


def _outer(step: Mixtures, end: tuple[float, int, int], frame: Frame, kappa: float) -> tuple[int, float]:
    """Return the index below the loss of what lies beyond an edge, and its tilted mass, rounded down."""
    edge, sign, near = end
    with arb_precision(SCALAR_BITS):
        at, h = arb(sign) * arb(edge), arb(frame.spacing)
        first = sum((arb(w) * normal_tail(at - sign * arb(shift)) for w, shift in step.first), arb(0))
        second = sum((arb(w) * normal_tail(at + sign * arb(shift)) for w, shift in step.second), arb(0))
        place = (first / second).log() / h
        if not place.is_finite() or abs(float(place) - near) > _FEW_CELLS:
            return near, 0.0
        index = int(place.lower().floor().fmpz())
        return index, max(float_below(first * (arb(frame.theta) * index * h - arb(kappa)).exp()), 0.0)


def _cells(parts: Parts, edges: Floats, tilts: Floats) -> tuple[Floats, Floats]:
    """Return the tilted masses of the mixture in the cells, and their relative errors."""
    widths = np.diff(edges)
    furthest = max(abs(shift) for _, shift in parts)
    reach = np.maximum(np.abs(edges[:-1]), np.abs(edges[1:])) + furthest
    grid = panels(widths, reach + widths + 4)
    total = np.zeros(widths.size)
    for weight, shift in parts:
        x = (edges[:-1] - shift)[grid.cell][:, None] + grid.from_left
        exponent = tilts[grid.cell][:, None] - x * x / 2
        density = np.where(exponent > _LOWEST_EXPONENT, exp(np.maximum(exponent, _LOWEST_EXPONENT)), 0.0)
        total += weight * _INVERSE_ROOT_TWO_PI * grid.per_cell(density)
    rounding = 8 * reach**2 + 6 * np.abs(tilts) + (NODES + 1) * grid.counts + 2 * len(parts) + 24
    return total, rounding * UNIT_ROUNDOFF + EXP_ERROR + QUADRATURE_ERROR
