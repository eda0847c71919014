r"""A composed lattice as one step on a coarser one, rounded to the side of its end: what `levels` repeats.

Binary floats live here, under a bound. Let c be the computed weights of a composed lattice, negative ones set to 0,
taken as exact numbers: they differ from the exact measure by at most sqrt(N) E + 2 (mass outside) in the 1-norm
(`Stray`), and c itself is a measure of losses x with P-masses e^{-theta x} c and Q-masses e^{-x} times these. The
coarser lattice has every r-th point; d is a distance from a coarse point, H the distance of two of them.

- Upwards a loss moves to the two coarse points around it so that its P- and its Q-mass stay what they were
  (connect-the-dots, as in `upper_step`): of a loss at distance d above a coarse point, the share
  (1 - e^{-d})/(1 - e^{-H}) moves up. That dominates.
- Downwards losses are joined to groups (a post-processing, which is dominated; a loss may belong in parts to two
  groups). A group whose masses satisfy sum c e^{-theta d} (e^{-d} - 1) = 0 has exactly the loss of its coarse point.
  Groups are closed greedily, from the middle of the measure outwards; what the balance misses by rounding is the
  `slack`. The last group upwards cannot be balanced: it counts at the coarse point below all of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_precision
from accountant.pld.certified_exp import UNIT_ROUNDOFF, Floats
from accountant.pld.convolution import ComposedLattice
from accountant.pld.rounding import SCALAR_BITS, float_above, normalised
from accountant.pld.types import LatticeStep, Stray

_LEAST_SHARE: Final = 1e-14
"""Downwards, weights beyond the first below this part of the largest are left out: less mass is dominated too, and
there is only the noise of the transforms."""


def coarser(lattice: ComposedLattice, ratio: int, log_mass: arb, growth: arb, *, upwards: bool) -> LatticeStep:
    """Return the composed lattice as one step on every `ratio`-th point: dominating (upwards) or dominated.

    `log_mass` and `growth` are those of the steps that it was composed of (`Stray`).
    """
    weights = np.maximum(lattice.weights, 0.0)
    slack = lattice.slack
    if upwards:
        first, masses = split(weights, lattice.first, ratio, lattice.theta, lattice.spacing)
    else:
        first, masses, missed = grouped(weights, lattice.first, ratio, lattice.theta, lattice.spacing)
        slack += Fraction(missed)
    scaled, log_factor = normalised(masses, 0.0, upwards=upwards)
    with arb_precision(SCALAR_BITS):
        total = arb(float(weights.sum()))
        margin = arb(0, 1) * (4 + weights.size) * arb(UNIT_ROUNDOFF) * total
        lost = arb(weights.size).sqrt() * lattice.error + 2 * lattice.outside
        own = (lost / (total + margin).lower()).log1p()
        bound = log_mass.max((total + margin).log() + lattice.log_scale)
        stray = Stray(arb((growth + own).upper()), arb(bound.upper()))
        log_scale = lattice.log_scale + log_factor
    return LatticeStep(1, lattice.offset, first, scaled, log_scale, slack, lattice.infinite, stray)


def split(weights: Floats, first: int, ratio: int, theta: float, spacing: float) -> tuple[int, Floats]:
    """Return the first coarse index and masses there, each at least what connect-the-dots moves to it."""
    start = first // ratio
    lead = first - start * ratio
    rows = -(-(lead + weights.size) // ratio)
    padded = np.zeros(rows * ratio)
    padded[lead : lead + weights.size] = weights
    table = padded.reshape(rows, ratio)
    with arb_precision(SCALAR_BITS):
        h, whole = arb(spacing), arb(spacing) * ratio
        up = [-(-h * d).expm1() / -(-whole).expm1() for d in range(ratio)]
        to_lower = [float_above((1 - share) * (-arb(theta) * h * d).exp()) for d, share in enumerate(up)]
        to_upper = [float_above(share * (arb(theta) * (whole - h * d)).exp()) for d, share in enumerate(up)]
    masses = np.zeros(rows + 1)
    masses[:-1] = (table * np.array(to_lower)).sum(axis=1)
    masses[1:] += (table * np.array(to_upper)).sum(axis=1)
    return start, masses * (1 + (2 * ratio + 8) * UNIT_ROUNDOFF)


def grouped(weights: Floats, first: int, ratio: int, theta: float, spacing: float) -> tuple[int, Floats, float]:
    """Return the first coarse index, masses there that the measure dominates, and by how much a loss may fall short."""
    peak = int(np.argmax(weights))
    small = np.flatnonzero(weights <= _LEAST_SHARE * float(weights[peak]))
    if small.size == weights.size:
        raise CannotCertifyError("no mass of the pair is left to bound from below")
    after = int(np.searchsorted(small, peak))  # of the small ones, those before the peak
    low = first + (int(small[after - 1]) + 1 if after else 0)
    stop = first + (int(small[after]) if after < small.size else weights.size)
    edge = min(max((first + peak) // ratio * ratio - ratio // 2, low), stop - 1)
    measure = _Measure(weights.tolist(), first, ratio, _scales(theta, spacing, ratio))
    groups = _closed(range(edge, stop), measure, sign=1) + _closed(range(edge - 1, low - 1, -1), measure, sign=-1)
    start = min(group.index for group in groups)
    masses = np.zeros(max(group.index for group in groups) - start + 1)
    for group in groups:
        masses[group.index - start] += group.mass
    most_added = len(groups)  # a group that fell may share its point with another one
    return start, masses * (1 - most_added * UNIT_ROUNDOFF), max(group.missed for group in groups)


@dataclass(frozen=True, slots=True)
class _Group:
    """A closed group: its coarse point, a lower bound of its tilted mass, an upper bound of what its loss misses."""

    index: int
    mass: float
    missed: float


@dataclass(frozen=True, slots=True)
class _Scales:
    """e^{-theta d} and e^{-theta d}(e^{-d} - 1) for d = -reach h, ..., reach h, to the nearest float64."""

    tilts: list[float]
    pulls: list[float]
    reach: int


@dataclass(frozen=True, slots=True)
class _Measure:
    """Weights from index `first` on, the ratio of the two lattices, and what moving by d does."""

    values: list[float]
    first: int
    ratio: int
    scales: _Scales


def _scales(theta: float, spacing: float, ratio: int) -> _Scales:
    reach = 4 * ratio
    with arb_precision(SCALAR_BITS):
        h = arb(spacing)
        tilts = [(-arb(theta) * h * d).exp() for d in range(-reach, reach + 1)]
        pulls = [tilt * (-h * d).expm1() for d, tilt in zip(range(-reach, reach + 1), tilts, strict=True)]
        return _Scales([float(tilt) for tilt in tilts], [float(pull) for pull in pulls], reach)


def _closed(places: range, measure: _Measure, *, sign: int) -> list[_Group]:
    """Return groups closed one after the other, upwards (sign 1) or downwards (-1); one loop, for it is long."""
    values, first, ratio = measure.values, measure.first, measure.ratio
    tilts, pulls, reach = measure.scales.tilts, measure.scales.pulls, measure.scales.reach
    groups: list[_Group] = []
    if not places:
        return groups
    index, begun = _coarse(places[0], ratio, sign), places[0]
    mass = balance = magnitude = 0.0
    terms = 0
    for place in places:
        rest = values[place - first]
        distance = place - index * ratio
        if abs(distance) > reach:  # too steep to balance: what lies beyond is left out, which is dominated too
            break
        pull = pulls[distance + reach]
        term = pull * rest
        if sign * distance > 0 and sign * (balance + term) < 0:  # on the far side, and more than is needed
            taken = min(max(balance / -pull, 0.0), rest)
            mass += taken * tilts[distance + reach]
            balance += taken * pull
            magnitude += abs(taken * pull)
            groups.append(_group(index, mass, balance, magnitude, terms + 1))
            rest = math.nextafter(rest - taken, 0.0) if taken > 0.0 else rest
            index, begun = _coarse(place, ratio, sign), place
            distance = place - index * ratio
            mass = balance = magnitude = 0.0
            terms = 0
            pull = pulls[distance + reach]
            term = pull * rest
        mass += rest * tilts[distance + reach]
        balance += term
        magnitude += abs(term)
        terms += 1
    last = _group(index, mass, balance, magnitude, terms)
    if sign > 0:  # nothing is left above to balance it: it counts at the point below all of it
        fallen = begun // ratio
        drop = tilts[reach + ratio * (index - fallen)]
        last = _Group(fallen, last.mass * drop * (1 - 4 * UNIT_ROUNDOFF), 0.0)
    return [*groups, last]


def _coarse(place: int, ratio: int, sign: int) -> int:
    """Return the coarse point at or beyond a place, in the direction of the sign."""
    return -(-place // ratio) if sign > 0 else place // ratio


def _group(index: int, mass: float, balance: float, magnitude: float, terms: int) -> _Group:
    """Return a group with its rounding: each term has three roundings, the sums one a term."""
    error = (terms + 8) * UNIT_ROUNDOFF
    least = mass * (1 - error)
    missed = (max(balance, 0.0) + error * (magnitude + abs(balance))) / least * (1 + 1e-12) if least > 0.0 else 0.0
    return _Group(index, least, missed)
