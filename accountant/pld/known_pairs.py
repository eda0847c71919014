r"""Loss distributions of steps whose pair of neighbouring outputs is known, rounded so that they dominate.

Binary floats live here, under a bound: every mass returned is at least the true one (of `dominated_*`, which serve
lower ends, at most). A loss between two lattice points
is moved to both so that the masses of both distributions stay what they were (connect-the-dots, as in `upper_step`):
of mass p at loss L between a and b = a + h, p (1 - e^{a-L})/(1 - e^{-h}) goes to b and p (e^{b-L} - 1)/(e^h - 1) to a.

1. **Poisson batches** (`ordered_step`): (1-q)N(0)+qN(mu) against N(0), or the other order. Those of the first are as in
   `upper_step`, on either side of loss 0. Losses below that of the lowest point, down to log(1-q), are split
   between that point and one at or below log(1-q): a chord as well. The other order has mass e^{-l} times that of the
   first at -l: reversing both members of a pair keeps which of two pairs dominates.
2. **Randomised response** (`response_step`), which every pure release is a post-processing of: c of them have losses
   (c - 2k) epsilon with binomial probabilities. They are composed exactly and moved to the lattice once.
3. **Laplace noise** (`laplace_step`): delta(l) = 1 - e^{(l - epsilon)/2} for |l| <= epsilon: mass 1/2 at epsilon,
   e^{-epsilon}/2 at -epsilon and the density e^{(l - epsilon)/2}/4 between. What a cell puts at its ends is closed
   (`_cell_shares`), and from cell to cell it grows by the factor e^{h/2}.

4. **A mixture whose component is public** (`dominating_mixture`): the lattice measures of the parts (`upper_step`) are
   added with their probabilities as weights, the total raised by 2^-53 for each product and each sum; parts that are
   left out count as infinite losses.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.numbers import arb_precision, normal_tail
from accountant.pld.certified_floats import (
    EXP_ERROR,
    SCALAR_BITS,
    UNIT_ROUNDOFF,
    Floats,
    exp,
    float_above,
    float_below,
    normalised,
)
from accountant.pld.guesses import MOST_RESPONSES, loss_at, point_at
from accountant.pld.types import BinaryStep, Frame, LaplaceLosses, LatticeStep, MixedStep, Pair, ResponseLosses
from accountant.pld.upper_step import MAX_CELLS, LatticePoints, cell_masses, dominating_step, loss_mismatch

_LEAST_MASS: Final = 1e-295
_LOWEST_Z: Final = (-9.0, -37.0)
"""Below the first a normal variable is moved up: probability 1e-19; below the second, where that is too far: 1e-299."""
_FAR: Final = 8.0
"""What is moved so far counts e^8 times as much, tilted."""


def ordered_step(step: BinaryStep, frame: Frame, kappa: float) -> LatticeStep:
    """Return a lattice measure that dominates the losses of the mixture pair in the step's order."""
    first = step.order is Pair.MIXTURE_FIRST
    bottom, lowest, highest = reach(step, frame)
    losses = frame.spacing * np.arange(lowest, highest + 1, dtype=np.float64)
    z = point_at(step.q, step.mu, losses)
    z[-lowest] = step.mu / 2
    mismatch = loss_mismatch(step.q, step.mu, z, losses)
    mismatch[-lowest] = 0.0
    tilt = frame.theta if first else -1 - frame.theta  # a mass p e^{-l} at -l, tilted there
    tilted = Frame(frame.spacing, frame.z_top, tilt)
    masses, error = cell_masses(step, tilted, kappa, LatticePoints(z, losses, mismatch))
    masses = masses * (1 + 1.01 * (error + mismatch))
    far, near = split_below(step, float(z[0]), bottom, lowest, tilted)
    whole = np.zeros(highest - bottom + 1)
    whole[lowest - bottom :] = masses
    infinite = arb(0)
    with arb_precision(SCALAR_BITS):
        scale, top = (-arb(kappa)).exp(), arb(float(z[-1]))
        whole[lowest - bottom] += float_above(near * scale)
        whole[0] += float_above(far * scale)
        if first:
            infinite = arb(step.q) * normal_tail(top - arb(step.mu)) + (1 - arb(step.q)) * normal_tail(top)
        else:  # beyond the last point the losses are smaller, and move up
            whole[-1] += float_above(normal_tail(top) * (-arb(frame.theta) * arb(float(losses[-1]))).exp() * scale)
    whole = np.maximum(whole * (1 + 8 * UNIT_ROUNDOFF), _LEAST_MASS)
    scaled, log_scale = normalised(whole if first else whole[::-1], kappa, upwards=True)
    return LatticeStep(
        step.count, 0.0, bottom if first else -highest, scaled, log_scale, float(mismatch.max()), infinite
    )


def reach(step: BinaryStep, frame: Frame) -> tuple[int, int, int]:
    """Return an index whose loss is at most log(1-q), the lowest one of a point (<= 0) and the highest one."""
    top = max(frame.z_top, step.mu / 2)
    ends = loss_at(step.q, step.mu, np.array([min(_LOWEST_Z[0], step.mu / 2 - 9.0), top, _LOWEST_Z[1]]))
    moved = step.order is Pair.MIXTURE_SECOND and (ends[0] - math.log1p(-step.q)) * frame.theta > _FAR
    lowest = min(math.ceil(float(ends[2 if moved else 0]) / frame.spacing), 0)
    highest = math.ceil(float(ends[1]) / frame.spacing) + 1
    with arb_precision(SCALAR_BITS):
        bottom = min(math.floor(float_below((-arb(step.q)).log1p() / arb(frame.spacing))), lowest - 1)
    if highest - bottom > MAX_CELLS:
        raise CannotCertifyError(f"a step spans {highest - bottom} lattice cells, more than {MAX_CELLS}")
    return bottom, lowest, highest


def split_below(step: BinaryStep, z_low: float, bottom: int, lowest: int, frame: Frame) -> tuple[arb, arb]:
    """Return the masses below z_low, split between the points `bottom` and that of z_low, and tilted there."""
    with arb_precision(SCALAR_BITS):
        q, mu, z, h, theta = (arb(x) for x in (step.q, step.mu, z_low, frame.spacing, frame.theta))
        second = normal_tail(-z)
        first = (1 - q) * second + q * normal_tail(mu - z)
        low, high = (-h * bottom).exp(), 1 / (1 + q * (mu * (z - mu / 2)).expm1())
        far = (second - first * high) / (low - high)
        return far * (theta * h * bottom).exp(), (first - far) * (theta * h * lowest).exp()


def response_step(step: ResponseLosses, frame: Frame, kappa: float) -> LatticeStep:
    """Return a lattice measure that dominates the losses of all the responses together: one step."""
    if step.responses > MOST_RESPONSES:
        raise CannotCertifyError(f"more than {MOST_RESPONSES} pure releases of one epsilon")
    last = math.ceil(step.responses * step.epsilon / frame.spacing) + 1
    if 2 * last > MAX_CELLS:
        raise CannotCertifyError(f"pure releases span {2 * last} lattice cells, more than {MAX_CELLS}")
    masses = np.zeros(2 * last + 1)
    with arb_precision(SCALAR_BITS + step.responses.bit_length()):
        e, scale = arb(step.epsilon), (-arb(kappa)).exp()
        factor = (-e).exp()
        mass = (1 / (1 + factor)) ** step.responses
        for k in range(step.responses + 1):
            check_time()
            _place(masses, last, (step.responses - 2 * k) * e, mass * scale, frame)
            mass = mass * factor * (step.responses - k) / (k + 1)
    whole = np.maximum(masses * (1 + (step.responses + 8) * UNIT_ROUNDOFF), _LEAST_MASS)
    scaled, log_scale = normalised(whole, kappa, upwards=True)
    return LatticeStep(1, 0.0, -last, scaled, log_scale, 0.0, arb(0))


def _place(masses: Floats, zero: int, loss: arb, mass: arb, frame: Frame) -> None:
    """Add an atom to the lattice points around its loss, tilted there."""
    h, theta = arb(frame.spacing), arb(frame.theta)
    index = int((loss / h).upper().floor().fmpz())
    low, high = index * h, (index + 1) * h  # the loss is below `high`; a hair below `low` at most, and then moves up
    above = mass * (1 - (low - loss).exp()) / (1 - (-h).exp())
    below = mass * ((high - loss).exp() - 1) / (h.exp() - 1)
    masses[zero + index] += max(float_above(below * (theta * low).exp()), 0.0)
    masses[zero + index + 1] += max(float_above(above * (theta * high).exp()), 0.0)


def laplace_step(step: LaplaceLosses, frame: Frame, kappa: float) -> LatticeStep:
    """Return a lattice measure that dominates the loss distribution of one release with Laplace noise."""
    spacing = frame.spacing
    with arb_precision(SCALAR_BITS):
        ratio = arb(step.epsilon) / arb(spacing)
        first, last = int((-ratio).lower().floor().fmpz()), int(ratio.upper().ceil().fmpz())
    if last - first > MAX_CELLS:
        raise CannotCertifyError(f"a step spans {last - first} lattice cells, more than {MAX_CELLS}")
    masses = np.zeros(last - first + 3)
    zero = 1 - first
    inner = np.arange(first + 1, last - 1, dtype=np.float64)  # whole cells [j, j+1] within (-epsilon, epsilon)
    with arb_precision(SCALAR_BITS):
        e, h, theta, scale = arb(step.epsilon), arb(spacing), arb(frame.theta), (-arb(kappa)).exp()
        if inner.size:
            below, above = _cell_shares(-e / 2, h)
            exponent = (frame.theta + 0.5) * spacing * inner
            error = UNIT_ROUNDOFF * (4 * np.abs(exponent) + 2 * abs(kappa) + 16) + EXP_ERROR
            grown = exp(np.maximum(exponent - kappa, -650.0)) * (1 + 1.01 * error)
            at = inner.astype(np.int64) + zero
            masses[at] += grown * float_above(below)
            masses[at + 1] += grown * float_above(above * (theta * h).exp())
        _place(masses, zero, e, scale / 2, frame)
        _place(masses, zero, -e, (-e).exp() / 2 * scale, frame)
        for low, high in _ends(e, h, first, last, whole=bool(inner.size)):
            index, above, below = _density_shares(low, high, e, h)
            masses[zero + index] += max(float_above(below * (theta * index * h).exp() * scale), 0.0)
            masses[zero + index + 1] += max(float_above(above * (theta * (index + 1) * h).exp() * scale), 0.0)
    whole = np.maximum(masses * (1 + 16 * UNIT_ROUNDOFF), _LEAST_MASS)
    scaled, log_scale = normalised(whole, kappa, upwards=True)
    return LatticeStep(step.count, 0.0, -zero, scaled, log_scale, 0.0, arb(0))


def _cell_shares(start: arb, h: arb) -> tuple[arb, arb]:
    r"""Return what the density e^{(l-epsilon)/2}/4 of a whole cell puts at its ends, for e^{(a-epsilon)/2} = e^start.

    P-mass p = e^start (e^{h/2} - 1)/2 and Q-mass e^{-a} e^start (1 - e^{-h/2})/2.
    """
    p, q = start.exp() * (h / 2).expm1() / 2, -start.exp() * (-h / 2).expm1() / 2
    above = (p - q) / (1 - (-h).exp())
    return p - above, above


def _ends(e: arb, h: arb, first: int, last: int, *, whole: bool) -> list[tuple[arb, arb]]:
    """Return the parts of (-epsilon, epsilon) that are no whole cells, each within one cell."""
    if whole:
        return [(-e, (first + 1) * h), ((last - 1) * h, e)]
    points = [point * h for point in range(first + 1, last)]
    return list(itertools.pairwise([-e, *points, e]))


def _density_shares(low: arb, high: arb, e: arb, h: arb) -> tuple[int, arb, arb]:
    """Return the cell that holds low and high, and what the density between them puts at its upper and lower end."""
    index = math.floor(float(((low + high) / (2 * h)).mid()))
    p = (((high - e) / 2).exp() - ((low - e) / 2).exp()) / 2
    q = ((-(low + e) / 2).exp() - (-(high + e) / 2).exp()) / 2
    above = (p - (index * h).exp() * q) / (1 - (-h).exp())
    return index, above, p - above


def dominated_responses(step: ResponseLosses, frame: Frame, kappa: float) -> LatticeStep:
    """Return a lattice measure that the losses of all the responses together dominate: each moves down to a point."""
    last = math.ceil(step.responses * step.epsilon / frame.spacing) + 1
    if step.responses > MOST_RESPONSES or 2 * last > MAX_CELLS:
        raise CannotCertifyError(f"{step.responses} pure releases span {2 * last} lattice cells: too many")
    masses = np.zeros(2 * last + 1)
    with arb_precision(SCALAR_BITS + step.responses.bit_length()):
        e, h, theta, scale = arb(step.epsilon), arb(frame.spacing), arb(frame.theta), (-arb(kappa)).exp()
        factor = (-e).exp()
        mass = (1 / (1 + factor)) ** step.responses
        for k in range(step.responses + 1):
            check_time()
            index = int(((step.responses - 2 * k) * e / h).lower().floor().fmpz())
            masses[last + index] += max(float_below(mass * scale * (theta * index * h).exp()), 0.0)
            mass = mass * factor * (step.responses - k) / (k + 1)
    scaled, log_scale = normalised(masses * (1 - (step.responses + 8) * UNIT_ROUNDOFF), kappa, upwards=False)
    return LatticeStep(1, 0.0, -last, scaled, log_scale, 0.0, arb(0))


def dominated_laplace(step: LaplaceLosses, frame: Frame, kappa: float) -> LatticeStep:
    r"""Return a lattice measure that the losses of a release with Laplace noise dominate, on the points epsilon - jh.

    The losses within h/2 of epsilon - jh are merged, which leaves P/Q = e^{epsilon - jh} exactly: mass e^{-jh/2}
    sinh(h/4). Those between epsilon - h/2 and epsilon move down to epsilon - h, the lowest ones to the last point.
    """
    spacing = frame.spacing
    with arb_precision(SCALAR_BITS):
        number = int((2 * arb(step.epsilon) / arb(spacing)).upper().ceil().fmpz())
    if number > MAX_CELLS:
        raise CannotCertifyError(f"a step spans {number} lattice cells, more than {MAX_CELLS}")
    j = np.arange(number + 1, dtype=np.float64)
    exponent = frame.theta * (step.epsilon - spacing * j) - kappa
    error = UNIT_ROUNDOFF * (8 * (abs(frame.theta) * step.epsilon + abs(kappa) + np.abs(spacing * j)) + 16) + EXP_ERROR
    tilts = exp(np.maximum(exponent, -700.0)) * (1 - 1.01 * error)
    plain = exp(np.maximum(-spacing * j / 2, -700.0)) * (1 - 1.01 * error)
    with arb_precision(SCALAR_BITS):
        h = arb(spacing)
        masses = plain * float_below((h / 4).sinh())
        whole = max(math.floor(2 * step.epsilon / spacing - 0.5 - 1e-6), 0)
        masses[whole:] = 0.0  # no whole cell any more
        masses[0] = 0.5
        if number >= 2:
            masses[1] += max(float_below(-(-h / 4).expm1() / 2), 0.0)
        border = (-(max(whole, 1) - arb(1) / 2) * h / 2).exp() if number >= 2 else arb(1)
        masses[number] += max(float_below(border / 2), 0.0)  # all below the last whole cell, the atom included
    tilted = np.where(exponent > -700.0, masses * tilts, 0.0)[::-1]
    scaled, log_scale = normalised(tilted * (1 - 16 * UNIT_ROUNDOFF), kappa, upwards=False)
    offset = Fraction(step.epsilon) - number * Fraction(spacing)
    return LatticeStep(step.count, offset, 0, scaled, log_scale, 0.0, arb(0))


def dominating_mixture(step: MixedStep, pair: Pair, frame: Frame, kappa: float) -> LatticeStep:
    """Return a lattice measure that dominates the loss distribution of the step."""
    if pair is not Pair.DOMINATING:
        raise CannotCertifyError("a step that says which part is taken has an upper end alone")
    lattices = [(weight, dominating_step(part, frame, kappa)) for weight, part in step.parts]
    first = min(lattice.first for _, lattice in lattices)
    last = max(lattice.first + lattice.masses.size for _, lattice in lattices)
    masses = np.zeros(last - first)
    with arb_precision(SCALAR_BITS):
        scale = lattices[0][1].log_scale
        infinite = arb(step.rest)
        for weight, lattice in lattices:
            factor = float_above(arb(weight) * (lattice.log_scale - scale).exp())
            start = lattice.first - first
            masses[start : start + lattice.masses.size] += lattice.masses * factor
            infinite += arb(weight) * lattice.infinite
        masses *= 1 + (len(lattices) + 4) * UNIT_ROUNDOFF
        scaled, log_factor = normalised(masses, 0.0, upwards=True)
        slack = max(lattice.slack for _, lattice in lattices)
        return LatticeStep(step.count, 0.0, first, scaled, scale + log_factor, slack, infinite)
