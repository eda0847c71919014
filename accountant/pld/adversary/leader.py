r"""The leading profile on a lattice: the forward pair, a small share of the symmetrised one, all rounded upwards.

Binary floats live here, under a bound: every mass returned is at least the true one.

In one step of an adaptive composition an adversary picks a triple; `ordering` certifies that, on the functions that
occur, none is worse than the *leader*

    L = (1 + eta) ((1-s) F + s S) - eta (1-y)_+,

F the forward pair (1-q)N(0)+qN(mu) against N(0), S the symmetrised profile. F and S agree on losses > 0. Masses are
those of connect-the-dots, formulas as in `upper_step` (they hold for cells on either side of loss 0):

    losses > 0:  those of F (and S);     losses < 0:  (1-s) those of F + s e^{-l} those of F at l;
    loss 0: besides what the cells put there, s times the atom of S. Then all times 1 + eta, and eta off the atom.

Below the lowest point z_0 lie losses between log(1-q) and that of z_0. Their mass, which is most of all for small q, is
split between the lattice point of z_0 and one at or below log(1-q), P-mass and Q-mass kept (`split_below`): a chord.
A point z_j misses its loss by at most eta_j, so a true atom lies at most eta_j above its lattice point,
and 1.1 (1+h) eta_j/h of it, moved one point up, makes up for that: no shift of epsilon is left over. What `ordering`
leaves out of a triple (`nodes.rest`) counts as infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision, normal_tail
from accountant.pld.adversary.nodes import rest
from accountant.pld.certified_floats import (
    EXP_ERROR,
    SCALAR_BITS,
    UNIT_ROUNDOFF,
    Floats,
    exp,
    float_above,
    normalised,
)
from accountant.pld.guesses import point_at
from accountant.pld.known_pairs import reach, split_below
from accountant.pld.types import BinaryStep, Frame, LatticeStep
from accountant.pld.upper_step import LatticePoints, cell_masses, loss_mismatch

_LOWEST_EXPONENT: Final = -650.0
_LEAST_MASS: Final = 1e-295


@dataclass(frozen=True, slots=True)
class Leader:
    """q and mu of a step, the share s of the symmetrised profile and the lift eta."""

    q: float
    mu: float
    share: float
    lift: float

    def is_profile(self) -> bool:
        """Say whether the lift leaves an atom at loss 0: then the leader is a convex profile, with masses >= 0."""
        if not (0 < self.q < 1 and self.mu > 0 and 0 <= self.share <= 1 and 0 <= self.lift <= 1):
            return False
        with arb_precision(SCALAR_BITS):
            atom = (1 + arb(self.lift)) * arb(self.share) * (1 - arb(self.q)) * (arb(self.mu) / arb(8).sqrt()).erf()
            return bool(atom >= arb(self.lift))


def leading_step(leader: Leader, count: int, frame: Frame, kappa: float) -> LatticeStep:
    """Return a lattice measure that dominates the leader; see the header."""
    step = BinaryStep(leader.q, leader.mu, count)
    bottom, lowest, highest = reach(step, frame)
    highest = max(highest, -bottom)
    losses = frame.spacing * np.arange(lowest, highest + 1, dtype=np.float64)
    z = point_at(leader.q, leader.mu, losses)
    z[-lowest] = leader.mu / 2
    mismatch = loss_mismatch(leader.q, leader.mu, z, losses)
    mismatch[-lowest] = 0.0
    masses, error = cell_masses(step, frame, kappa, LatticePoints(z, losses, mismatch))
    masses = masses * (1 + 1.01 * error)
    far, near = split_below(step, float(z[0]), bottom, lowest, frame)
    with arb_precision(SCALAR_BITS):
        masses[0] += float_above(near * (-arb(kappa)).exp())
    positive, off = masses[-lowest:], mismatch[-lowest:]
    whole = np.zeros(2 * highest + 1)
    whole[highest:] = positive
    keep = _up(1 - leader.share)
    whole[highest + lowest : highest] = masses[:-lowest] * keep * (1 + 4 * UNIT_ROUNDOFF)
    with arb_precision(SCALAR_BITS):
        whole[highest + bottom] += float_above(far * (-arb(kappa)).exp() * (1 - arb(leader.share)))
    whole[:highest] += _mirrored(positive, losses[-lowest:], off, frame.theta)[:0:-1] * leader.share
    first_cell = LatticePoints(z[-lowest:][:2], losses[-lowest:][:2], mismatch[-lowest:][:2])
    right, right_error = cell_masses(step, frame, kappa, first_cell)
    from_right = float(right[0] * (1 + 1.01 * right_error[0])) * (1 + 4 * UNIT_ROUNDOFF)
    whole[highest] = _middle(leader, float(masses[-lowest]), from_right, kappa, float(z[-1]))
    whole *= (1 + leader.lift) * (1 + 16 * UNIT_ROUNDOFF)
    whole[highest] = _without_lift(float(whole[highest]), leader, kappa)
    misplaced = np.concatenate([off[:0:-1], off])
    misplaced[highest + lowest : highest] = np.maximum(misplaced[highest + lowest : highest], mismatch[:-lowest])
    whole = _raised(whole, misplaced, frame)
    scaled, log_scale = normalised(np.maximum(whole, _LEAST_MASS), kappa, upwards=True)
    with arb_precision(SCALAR_BITS):
        top = arb(float(z[-1]))
        infinite = rest(leader.q, leader.mu) + (1 + arb(leader.lift)) * (
            arb(leader.q) * normal_tail(top - arb(leader.mu)) + (1 - arb(leader.q)) * normal_tail(top)
        )
    return LatticeStep(count, 0.0, -highest, scaled, log_scale, 0.0, infinite)


def _up(x: float) -> float:
    return math.nextafter(x, math.inf)


def _raised(masses: Floats, mismatch: Floats, frame: Frame) -> Floats:
    """Move what a misplaced atom may lack to the next point, tilted there; the last point has infinity above it."""
    h = frame.spacing
    share = 1.1 * (1 + h) * mismatch / h * math.exp(frame.theta * h) * (1 + 1e-9)
    result = masses.copy()
    result[1:] += masses[:-1] * share[:-1]
    return result * (1 + 4 * UNIT_ROUNDOFF)


def _mirrored(positive: Floats, losses: Floats, mismatch: Floats, theta: float) -> Floats:
    """Return the tilted masses at -l for those at l; what underflows is covered by `_LEAST_MASS`."""
    exponent = -(1 + 2 * theta) * losses
    error = UNIT_ROUNDOFF * (4 * np.abs(exponent) + 8) + EXP_ERROR + mismatch
    return positive * exp(np.maximum(exponent, _LOWEST_EXPONENT)) * (1 + 1.01 * error)


def _middle(leader: Leader, at_zero: float, from_right: float, kappa: float, z_top: float) -> float:
    """Return the mass at loss 0 before the lift, rounded up: (1-s) F's + s (twice S's from the right, and its atom).

    What S has below its lattice is put here as well, which moves it up.
    """
    with arb_precision(SCALAR_BITS):
        q, mu, share = arb(leader.q), arb(leader.mu), arb(leader.share)
        atom = (1 - q) * (mu / arb(8).sqrt()).erf() + normal_tail(arb(z_top))
        symmetrised = 2 * arb(from_right) + atom * (-arb(kappa)).exp()
        return float_above((1 - share) * arb(at_zero) + share * symmetrised)


def _without_lift(middle: float, leader: Leader, kappa: float) -> float:
    with arb_precision(SCALAR_BITS):
        rest = arb(middle) - arb(leader.lift) * (-arb(kappa)).exp()
        if not rest > 0:
            raise CannotCertifyError("the lift exceeds the atom at loss 0: the leader is no profile")
        return float_above(rest)
