r"""Composition in levels: T equal steps at the cost of about log T.

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
from typing import Final

import numpy as np

from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.numbers import arb_precision
from accountant.pld import plan as single
from accountant.pld.coarser import coarser
from accountant.pld.convolution import ComposedLattice, growth_of, log_mass_bound
from accountant.pld.heuristics import Sketch, loss_at, sketch, tail_tilts, tilted_deviation
from accountant.pld.plan import LOG_TAIL, MOST_POINTS, CompositionPlan, Reach, composed, lattice_step, within_float64
from accountant.pld.rounding import SCALAR_BITS
from accountant.pld.types import BinaryStep, ComposableStep, Frame, LatticeStep, Pair
from accountant.pld.upper_step import MAX_CELLS

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
    return [step] if isinstance(step, BinaryStep) else [part for _, part in step.parts]


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
