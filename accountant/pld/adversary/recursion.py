r"""From one step to T: single steps on symmetric functions, then blocks on extended ones.

`ordering` certified, for every triple t and leaders L,

    (windows) K_t f <= L f at y >= 1   for every symmetric unimodal f,
    (stairs)  K_t g <= L g everywhere  for every g whose m_j e^{-l x_j} is nonincreasing from -infinity on, l the rise.

A single step therefore is f_{k+1} = L f_k for y >= 1, continued by symmetry. Blocks: K_t and L are convolutions in
log y, which commute, so K_t L g = L K_t g <= L L g, and b adaptive steps on g are at most L^b g. The state is raised to
such a g below loss 0 (`extended_step`): the larger the rise, the less it is raised, and the larger the leader's share.
After k steps the composed loss is sqrt(k) times as wide as one step, and a share of about 1/sqrt(k) buys a rise that
costs next to nothing.

*Several phases.* The batches of a run may change their (q, nu), in an order that is known; the value is built from its
last step on. A single step is led by its own phase's leader. Let the phases of a block have leaders L_1, L_2, ..., each
certified for a rise of at least l: a g of rise l is also of every larger rise, so K_t g <= L_i g for each triple t of
phase i, and K_t (product of L's) g = (product) K_t g <= (product) L_i g. So a block is at most the product of its
steps' leaders, in whatever order it takes them.

*Other steps.* Let each other step have a profile that dominates all its pairs, K_t h <= K h for every h, and V_i be the
value of i steps on batches alone. Convolutions commute and sup_t K_t (K h) <= K sup_t K_t h; so with i steps on batches
and any others to go, in whatever order, the value is at most (product of the others' K) V_i: they may be applied last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.numbers import arb_precision
from accountant.pld.adversary.leader import Leader, leading_step
from accountant.pld.adversary.ordering import Ordering, Stairs
from accountant.pld.adversary.state import (
    FEWEST_POINTS,
    BoundState,
    extended_step,
    first_state,
    flattened,
    spread_out,
    spreading_step,
    state_after,
    symmetric_mass,
    symmetric_step,
    trimmed,
    unimodal,
    window_for,
)
from accountant.pld.certified_fft import Complexes, product, product_error, transformed
from accountant.pld.certified_floats import SCALAR_BITS, exp
from accountant.pld.convolution import ComposedLattice, compose_lattices
from accountant.pld.guesses import Sketch, log_moment, sketch, tail_tilts
from accountant.pld.types import BinaryStep, Frame, LatticeStep, Pair

_LOG_TAIL: Final = math.log(1e-13)
_SUM_MARGIN: Final = 1e-9
_FAR: Final = 3.0
_QUIET_POINTS: Final = 1 << 16
"""So far a window of single steps may be widened for the sake of quiet."""


@dataclass(frozen=True, slots=True)
class Course:
    """How T steps are taken: `singles` one by one, then blocks that each multiply the number by about 1 + `growth`.

    Early blocks use stairs whose rise, times the width of the composed loss, is about `rise`, if there are any;
    `epsilon` is about what the composition is for. From `settled` steps on the rest is one block: the losses that
    decide are then so far above 0 that nothing near 0 matters.

    `phases` says of several phases, the last one first, how many steps each has and how much one of them counts beside
    an average one; numbers of steps above are then numbers of average ones.
    """

    total: int
    singles: int
    growth: float
    rise: float = 0.0
    epsilon: float = 0.0
    settled: float = math.inf
    phases: tuple[tuple[int, float], ...] = ()

    def blocks(self) -> list[int]:
        """Return the sizes of the blocks; they add up to total - singles."""
        done, sizes = self.singles, []
        while done < self.total:
            size = self.total - done
            if self.weight(done) < self.settled:
                size = self._steps_of(self.weight(done) * self.growth, done)
            sizes.append(size)
            done += size
        return sizes

    def taken(self, size: int, start: int = 0) -> list[tuple[int, int]]:
        """Return which phases `size` steps belong to after the first `start` ones, and how many of each."""
        found, first = [], 0
        for place, (count, _) in enumerate(self.phases or ((self.total, 1.0),)):
            number = min(first + count, start + size) - max(first, start)
            if number > 0:
                found.append((place, number))
            first += count
        return found

    def weight(self, done: int) -> float:
        """Return how many average steps the first ones count for."""
        return sum(number * self.phases[place][1] for place, number in self.taken(done)) if self.phases else done

    def _steps_of(self, weight: float, start: int) -> int:
        """Return how many steps weigh so much: one at least."""
        steps = 0
        for place, number in self.taken(self.total - start, start):
            each = self.phases[place][1] if self.phases else 1.0
            steps += min(max(math.ceil(weight / each), 1 - steps), number)
            weight -= number * each
            if weight <= 0:
                break
        return steps


def composed(
    certificates: Sequence[Ordering], frame: Frame, course: Course, log_spill: float, others: Sequence[LatticeStep] = ()
) -> ComposedLattice:
    """Return the composition of `course.total` adaptive steps, whose delta_upper holds for every adversary.

    There is a certificate for each phase of the course, the last one taken first. About e^log_spill of probability may
    be called infinite before each block, to keep windows small. `others` dominate other steps of the run, wherever they
    stand.
    """
    guide = _Guide([certificate.single for certificate in certificates], frame, course)
    spread = spreading_step(frame.spacing, frame.theta, 0.0)
    state = first_state(frame.spacing, frame.theta)
    blocks = course.blocks()
    singles = course.singles if blocks or others else course.singles - 1
    if singles:
        ones = [(guide.one(place, certificates[place].single), number) for place, number in course.taken(singles)]
        state = _singles(state, ones, spread, guide.top(singles, log_spill))
    if not blocks and others:  # V is symmetric: above loss 0 as it was found, below it the mirror image
        last = unimodal(trimmed(state, log_spill))
        whole = symmetric_step(last, last.masses.size)
        return _block([whole, *_all_losing(others, symmetric_mass(last), frame)], frame, log_spill)
    if not blocks:
        one = guide.one(len(certificates) - 1, certificates[-1].single)
        last = unimodal(trimmed(state, log_spill))
        start = spread_out(symmetric_step(last, one.masses.size), spread)
        return _block([start, *_all_losing([one], symmetric_mass(last), frame)], frame, log_spill)
    steps: dict[Leader, LatticeStep] = {}
    for turn, size in enumerate(blocks):
        check_time()
        before = unimodal(flattened(unimodal(trimmed(state, log_spill))))
        part, width = course.weight(state.steps) / course.weight(course.total), guide.width(state.steps)
        taken = course.taken(size, state.steps)
        chosen = [_chosen(certificates[place].stairs, part, width, course) for place, _ in taken]
        rise = min(stairs.rise for stairs in chosen)
        applied = []
        for (place, number), stairs in zip(taken, chosen, strict=True):
            one = steps.get(stairs.leader) or guide.one(place, stairs.leader)
            steps[stairs.leader] = one
            applied.append(replace(one, count=number))
        spread = spreading_step(frame.spacing, frame.theta, rise)
        start = spread_out(extended_step(before, rise), spread)
        applied += others if turn == len(blocks) - 1 else ()
        result = _block([start, *_all_losing(applied, _total(start, frame), frame)], frame, log_spill)
        state = state_after(result, state.steps + size)
    return result


def _chosen(stairs: tuple[Stairs, ...], done: float, width: float, course: Course) -> Stairs:
    """Return the stairs of the smallest share whose rise is large enough (a guess; all are sound).

    After a part `done` of the steps the losses that decide lie near `done` times epsilon. Where that is many widths
    away from 0, what the state is raised by below 0 does not matter, and no rise is needed.
    """
    distance = done * course.epsilon / width
    least = course.rise * max(1 - distance / _FAR, 0.0) / width
    enough = [entry for entry in stairs if entry.rise >= least]
    if enough:
        return min(enough, key=lambda entry: entry.leader.share)
    return max(stairs, key=lambda entry: entry.rise)


class _Guide:
    """Approximate range of the composed loss of single steps, without an error bound."""

    def __init__(self, leaders: Sequence[Leader], frame: Frame, course: Course) -> None:
        self._ones = [sketch(BinaryStep(leader.q, leader.mu, 1), Pair.MIXTURE_FIRST, frame.z_top) for leader in leaders]
        self._frame, self._course = frame, course
        theta = np.array([frame.theta])
        self._kappas = [float(log_moment([one], theta)[0]) for one in self._ones]

    def one(self, place: int, leader: Leader) -> LatticeStep:
        """Return one step of a phase by one of its leaders."""
        return leading_step(leader, 1, self._frame, self._kappas[place])

    def width(self, steps: int) -> float:
        """Return the deviation of the composed loss where m is its density, weighted by e^{-x/2}."""
        variance = 0.0
        for place, number in self._course.taken(steps):
            losses = self._ones[place].losses
            weights = np.exp(self._ones[place].log_weights - losses / 2)
            variance += number * float((weights * losses**2).sum() / weights.sum())
        return math.sqrt(variance)

    def top(self, steps: int, log_spill: float) -> int:
        """Return how many lattice points above 0 hold about all of the tilted composed loss.

        What spills over the top is noise of the transforms, too, and should not exceed e^log_spill as a true mass.
        """
        taken = [(self._ones[place], number) for place, number in self._course.taken(steps)]
        many = [Sketch(one.losses, one.log_weights, number) for one, number in taken]
        high = tail_tilts(many, self._frame.theta, _LOG_TAIL)[1]
        quiet = (math.log(steps) + _LOG_TAIL - log_spill) / self._frame.theta
        widest = max(4 * high, _QUIET_POINTS * self._frame.spacing)
        return max(math.ceil(max(1.1 * high, min(quiet, widest)) / self._frame.spacing), 16)


def _all_losing(steps: Sequence[LatticeStep], mass: arb, frame: Frame) -> list[LatticeStep]:
    """Return steps on a function with f(0) <= mass: each may lose its `infinite` times what f(0) has become."""
    with arb_precision(SCALAR_BITS):
        for step in steps:
            mass = mass * _total(step, frame) ** step.count
        return [replace(step, infinite=arb((step.infinite * mass).upper())) for step in steps]


def _total(one: LatticeStep, frame: Frame) -> arb:
    """Return an upper bound, at least 1, of the true mass of a step, the infinite part included."""
    x = frame.spacing * np.arange(one.first, one.first + one.masses.size, dtype=np.float64)
    stored = float((one.masses * exp(-frame.theta * x)).sum()) * (1 + _SUM_MARGIN)
    with arb_precision(SCALAR_BITS):
        return arb((arb(stored) * one.log_scale.exp() + one.infinite).upper()).max(arb(1))


def _block(steps: list[LatticeStep], frame: Frame, log_spill: float) -> ComposedLattice:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        window = window_for(steps, frame.spacing, log_spill)
        return compose_lattices(steps, frame.theta, frame.spacing, window)


@dataclass(frozen=True, slots=True)
class _Kernel:
    """The leader of a single step, spread and transformed for products of `length` points; `top` are kept above 0."""

    one: LatticeStep
    transformed: Complexes
    mass: float
    reach: int
    top: int
    length: int


def _singles(state: BoundState, ones: Sequence[tuple[LatticeStep, int]], spread: LatticeStep, top: int) -> BoundState:
    """Take single steps, so many of each, on a window of at least `top` points above 0; what leaves it is infinite."""
    reach = max(one.masses.size for one, _ in ones) // 2 + 1
    length = max(FEWEST_POINTS, 1 << math.ceil(math.log2(top + 3 * reach + 2)))
    for one, number in ones:
        masses = spread_out(one, spread).masses
        mass = float(masses.sum()) * (1 + _SUM_MARGIN)
        own = one.masses.size // 2 + 1
        kernel = _Kernel(one, transformed(masses, length), mass, own, max(length - 3 * reach - 2, 1), length)
        for _ in range(number):
            check_time()
            state = _single(unimodal(state), kernel)
    return state


def _single(state: BoundState, kernel: _Kernel) -> BoundState:
    start, top = symmetric_step(state, kernel.reach), kernel.top
    if start.masses.size + 2 * kernel.reach > kernel.length:
        raise CannotCertifyError("the window of the adversary's recursion is too small")
    values = product(transformed(start.masses, kernel.length), kernel.transformed)
    zero = kernel.reach - start.first
    error = product_error(float(start.masses.sum()) * (1 + _SUM_MARGIN), kernel.mass, kernel.length)
    kept = np.maximum(values[zero + 1 : zero + top + 1], 0.0) + error
    highest = min(start.first + start.masses.size - 1, top) + kernel.reach
    above = np.maximum(values[zero + top + 1 : zero + highest + 1], 0.0)
    spilled = (float(above.sum()) + error * math.sqrt(above.size + 1)) * (1 + _SUM_MARGIN)  # Cauchy and Schwarz
    with arb_precision(SCALAR_BITS):
        scale = start.log_scale + kernel.one.log_scale
        beyond = arb(spilled) * (scale - arb(state.theta) * arb(state.spacing) * (top + 1)).exp()
        infinite = arb((state.infinite + kernel.one.infinite * symmetric_mass(state) + beyond).upper())
    return BoundState(state.steps + 1, state.spacing, state.theta, kept * (1 + 1e-15), scale, infinite)
