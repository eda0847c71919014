r"""T equal steps at the cost of about log T: composed on lattices that get coarser from level to level.

A composed lattice as one step on a coarser one, rounded to the side of its end: what `levels` repeats.

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

Composition in levels: T equal steps at the cost of about log T.

Composed at once, T steps need a lattice fine enough for one step and wide enough for all of them, about T^(3/4) points.
In levels, B steps are composed on a fine lattice, the result becomes one step on a coarser one (`coarser`), B of these
are composed, and so on: each lattice only spans its own B steps. Moving losses to lattice points costs about
(1 + theta) n h^2/12 of epsilon at each level, n the number of units that are composed there; so the distance h may grow
with 1/sqrt(n), and every level gets the same part of the tolerance.

Which levels are chosen is a guess; what is certified is what `coarser` and `convolution` prove of each of them. Where
no levels fit, `plan.build` composes at once.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.numbers import arb_precision
from accountant.pld import plan as single
from accountant.pld.certified_floats import SCALAR_BITS, UNIT_ROUNDOFF, Floats, float_above, normalised
from accountant.pld.convolution import ComposedLattice, growth_of, log_mass_bound
from accountant.pld.guesses import Sketch, loss_at, sketch, tail_tilts, tilted_deviation
from accountant.pld.plan import LOG_TAIL, MOST_POINTS, CompositionPlan, Reach, composed, lattice_step, within_float64
from accountant.pld.types import BinaryStep, ComposableStep, Frame, LatticeStep, MixedStep, Pair, Stray
from accountant.pld.upper_step import MAX_CELLS

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


LEVELLED_FROM: Final = 1 << 15
"""Lattices longer than this are composed in levels."""
FEWEST_STEPS: Final = 1000
"""Fewer steps are composed at once: that is quick, and one rare loss may decide, which a coarse lattice blurs."""
LONGEST: Final = 1 << 17
MOST_LEVELS: Final = 6
FEWEST_JOINED: Final = 9
HOPELESS: Final = 100.0
"""Spacings so many times the wanted one shift epsilon by about epsilon itself: nothing is built."""
_PER_DEVIATION: Final = ((10**6, 3.0), (0, 1.0))
"""From so many steps on, so many lattice points in a standard deviation of one step's loss: a coarser lattice would
round every loss, and that adds up."""
_MOST_LOST: Final = 0.1
"""Of the tilted mass, which is about 1: where more went astray, nothing useful is left."""
_MANY: Final = 100
_SPACING_BITS: Final = 16
_FEWEST_POINTS: Final = 1 << 10


@dataclass(frozen=True, slots=True)
class Levels:
    """The distances of lattice points from level to level, by whole ratios, and how many units each level joins."""

    joined: int
    finest: float
    ratios: tuple[int, ...]

    @property
    def last(self) -> int:
        """The coarsest level."""
        return len(self.ratios)

    def spacing(self, level: int) -> float:
        """Return the distance of lattice points at a level, 0 the finest."""
        return self.finest * float(math.prod(self.ratios[:level]))

    def first_level(self, count: int, most: int) -> int:
        """Return the coarsest level at which a phase of `count` steps may be put in: as few as units there."""
        level = 0
        while level < self.last and count * self.joined ** (level + 1) <= most:
            level += 1
        return level


def build(plan: CompositionPlan) -> ComposedLattice:
    """Return the certified composition for the plan, in levels where that is cheaper."""
    check_time()
    levels = chosen(plan)
    if levels is not None:
        try:
            with within_float64():
                return _levelled(plan, levels)
        except CannotCertifyError:
            check_time()  # at once, if at all
    refuse_hopeless(plan)
    return single.build(plan)


def refuse_hopeless(plan: CompositionPlan) -> None:
    """Refuse at once what would be refused, or be of no use, after seconds."""
    if plan.length >= MOST_POINTS and plan.frame.spacing > HOPELESS * plan.wanted:
        raise CannotCertifyError(f"the composition needs {plan.frame.spacing / plan.wanted:.3g} times as many points")
    for part in (part for step in plan.steps for part in _parts(step)):
        largest = float(loss_at(part.q, part.mu, np.array([max(plan.frame.z_top, part.mu / 2)]))[0])
        if largest > MAX_CELLS * plan.frame.spacing:
            raise CannotCertifyError(f"a step spans {largest / plan.frame.spacing:.3g} lattice cells: too many")


def _parts(step: ComposableStep) -> list[BinaryStep]:
    if isinstance(step, MixedStep):
        return [part for _, part in step.parts]
    return [step] if isinstance(step, BinaryStep) else []


def chosen(plan: CompositionPlan) -> Levels | None:
    """Return levels whose lattices are short; None where the steps are better composed at once."""
    most = max(step.count for step in plan.steps)
    width, wanted = plan.frame.spacing * plan.length, min(plan.wanted, plan.frame.spacing)
    if most < FEWEST_STEPS:
        return None
    shapes = [sketch(step, plan.pair, plan.frame.z_top) for step in plan.steps if step.count >= _MANY]
    scales = [tilted_deviation([dataclasses.replace(shape, count=1)], plan.frame.theta) for shape in shapes]
    points = next(points for fewest, points in _PER_DEVIATION if most >= fewest)
    fine = min([wanted, *(scale / points for scale in scales)])
    if not fine > 0 or width <= fine * LEVELLED_FROM:
        return None
    found: Levels | None = None
    for number in range(2, MOST_LEVELS + 1):
        levels = _spread(most, number, fine / math.sqrt(number))
        if levels is None:
            break
        if width <= levels.spacing(levels.last) * LEVELLED_FROM:
            return levels
        if found is None and width <= levels.spacing(levels.last) * LONGEST:
            found = levels
    return found


def _spread(most: int, number: int, fine: float) -> Levels | None:
    """Return `number` levels, the distances about fine sqrt(steps in a unit); None where they join too few."""
    joined = math.ceil(most ** (1 / number))
    if joined < FEWEST_JOINED:
        return None
    finest = _short(fine)
    ratios: list[int] = []
    for level in range(1, number):
        reached = finest * math.prod(ratios)
        ratios.append((math.floor(fine * math.sqrt(joined**level) / reached) - 1) // 2 * 2 + 1)
    return Levels(joined, finest, tuple(ratios))


def _short(spacing: float) -> float:
    """Return a spacing of few bits, at most the given one: multiples of it are exact in float64."""
    mantissa, exponent = math.frexp(spacing)
    return math.ldexp(math.floor(mantissa * 2**_SPACING_BITS), exponent - _SPACING_BITS)


def _levelled(plan: CompositionPlan, levels: Levels) -> ComposedLattice:
    most = max(step.count for step in plan.steps)
    parts: list[LatticeStep] = []
    for step, kappa in zip(plan.steps, plan.kappas, strict=True):
        parts += _joined(plan, step, kappa, levels, levels.first_level(step.count, most))
    spacing = levels.spacing(levels.last)
    width = plan.frame.spacing * plan.length
    reach = Reach(plan.low, _length(width, spacing), plan.below, plan.above)
    found = composed(parts, plan.frame.theta, spacing, reach)
    if not found.outside + found.astray < _MOST_LOST:
        raise CannotCertifyError("the levels lost too much mass")
    return found


def _joined(plan: CompositionPlan, step: ComposableStep, kappa: float, levels: Levels, level: int) -> list[LatticeStep]:
    """Return one phase as a few steps on the coarsest lattice: units of equally many steps, and one of the rest."""
    theta, pair = plan.frame.theta, plan.pair
    shape = sketch(step, pair, plan.frame.z_top)
    # First of all: where a lattice would be too long, nothing has been built.
    reaches = [
        _reach(plan, levels, here, dataclasses.replace(shape, count=levels.joined ** (here + 1 - level)))
        for here in range(level, levels.last)
    ]
    main = lattice_step(pair, step, Frame(levels.spacing(level), plan.frame.z_top, theta), kappa)
    rest: LatticeStep | None = None
    unit, left = 1, 0  # steps in a unit of `main`, steps in `rest`
    for here in range(level, levels.last):
        count, over = divmod(main.count, levels.joined)
        if over or rest is not None:
            left += over * unit
            inner = [dataclasses.replace(main, count=over)] if over else []
            inner += [] if rest is None else [rest]
            rest = _unit(plan, levels, here, inner, _reach(plan, levels, here, dataclasses.replace(shape, count=left)))
        unit *= levels.joined
        inner = [dataclasses.replace(main, count=levels.joined)]
        joined = _unit(plan, levels, here, inner, reaches[here - level])
        main = dataclasses.replace(joined, count=count)
    return [main] if rest is None else [main, rest]


def _unit(plan: CompositionPlan, levels: Levels, level: int, inner: list[LatticeStep], reach: Reach) -> LatticeStep:
    """Return the inner steps composed in the window, as one step of the next level."""
    lattice = composed(inner, plan.frame.theta, levels.spacing(level), reach)
    with arb_precision(SCALAR_BITS):
        log_mass, growth = log_mass_bound(inner), growth_of(inner)
    return coarser(lattice, levels.ratios[level], log_mass, growth, upwards=plan.pair is Pair.DOMINATING)


def _reach(plan: CompositionPlan, levels: Levels, level: int, shape: Sketch) -> Reach:
    """Return the window of a sum with about this law."""
    alike = max(step.count for step in plan.steps) / shape.count  # so many are composed later: their tails add up
    low, high, below, above = tail_tilts([shape], plan.frame.theta, LOG_TAIL - math.log(max(alike, 1.0)))
    return Reach(low, _length(high - low, levels.spacing(level)), below, above)


def _length(width: float, spacing: float) -> int:
    points = max(width / spacing + 2, _FEWEST_POINTS)
    if not points <= LONGEST:
        raise CannotCertifyError(f"a level would need {points:.3g} lattice points")
    return 1 << math.ceil(math.log2(points))
