"""The loss distribution of a step that says aloud which of its parts is taken: the mixture of theirs.

Binary floats live here, under a bound: every mass returned is at least the true one. The lattice measures of the parts
(`upper_step`) share lattice and tilt, so they are added with their probabilities as weights; each product and each sum
is off by at most 2^-53, and the total is raised by that much. Parts that are left out count as infinite losses.
"""

from __future__ import annotations

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision
from accountant.pld.certified_exp import UNIT_ROUNDOFF
from accountant.pld.rounding import SCALAR_BITS, float_above, normalised
from accountant.pld.types import Frame, LatticeStep, MixedStep, Pair
from accountant.pld.upper_step import dominating_step


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
