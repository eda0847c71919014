r"""Composition of tilted lattice measures by one Fourier transform, with every error bounded.

Binary floats live here, under a bound. Let w_i be the float64 masses of step i, taken as exact numbers, and W the
measure of the composed loss (their convolution, w_i taken T_i times). For a real epsilon,

    delta(epsilon) = e^{scale - theta epsilon} A,    A = sum over lattice points x = loss - epsilon > 0 of W g(x),
    g(x) = e^{-theta x} (1 - e^{-x}) <= peak := theta^theta/(1+theta)^(1+theta),

so every error in A counts relative to Chernoff's bound for delta, not relative to 1. What is bounded:

1. Transform, powers, transform back: with s_i = |w_i|_1, e = `transform_error(N)` and u = 2^-53,
   e_z = prod (s_i(1+e))^{T_i} (1+3u)^{sum T} - prod s_i^{T_i} bounds the error at each frequency, and
   E = e_z + e (prod s_i^{T_i} + e_z) the Euclidean error of W; it changes A by at most |g|_2 E.
2. Steps that were composed before (`levels`) and lost something: at most peak times the bound of `Stray`.
3. Wrap-around: mass outside the window comes back inside it. It may be missing where it belongs (upper end) or too much
   where it arrives (lower end): at most peak * P[outside], by Chernoff's bound with a further tilt, evaluated
   on the actual masses.
4. The sum itself, in whatever order: (n + c) u sum |W| g, and g's own error; terms beyond x = 80/theta: at most
   e^-80 sum |W|. (Products are summed by numpy, not by a library's dot: its threads would cost ten times the work.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import Direction, arb_from_fraction, arb_precision, fraction_from_arb
from accountant.pld.certified_fft import PRODUCT, UNDERFLOW, forward, inverse_real, powers_product, transform_error
from accountant.pld.certified_floats import (
    EXP_ERROR,
    EXPM1_ERROR,
    HIGHEST_ARGUMENT,
    SCALAR_BITS,
    UNIT_ROUNDOFF,
    Floats,
    exp,
    expm1,
)
from accountant.pld.types import LatticeStep

_CUT: Final = 80.0
_SUM_MARGIN: Final = 1e-9
"""Relative margin for float64 sums of at most 2^22 positive terms, each off by at most 1e-12: (n + 2) u < 5e-10."""


_LEAST_DELTA: Final = Fraction(1, 2**20000)
_LEAST_DELTA_BALL: Final = arb(2) ** -20000
"""Nothing below this is told apart: exact rationals of any size would exhaust the memory."""


@dataclass(frozen=True, slots=True)
class Window:
    """N consecutive lattice indices from `first`, and the further tilts that bound what lies outside."""

    first: int
    length: int
    below: float
    above: float


@dataclass(frozen=True, slots=True)
class ComposedLattice:
    r"""The composed measure in its window: `weights` within `error` (Euclidean), total mass at most `mass`.

    `astray` bounds, in the 1-norm, what the steps had lost before they were composed.

    At the upper end it dominates the mechanism's losses (after a shift by `slack` and apart from mass `infinite`); at
    the lower end the pair's losses dominate it.
    """

    theta: float
    spacing: float
    offset: Fraction
    first: int
    weights: Floats
    error: arb
    mass: arb
    outside: arb
    log_scale: arb
    slack: Fraction
    infinite: arb
    astray: arb = field(default_factory=arb)

    def delta_upper(self, epsilon: Fraction) -> Fraction:
        """Return an upper bound on delta(epsilon)."""
        return self.judged_upper(epsilon)[0]

    def delta_lower(self, epsilon: Fraction) -> Fraction:
        """Return a lower bound on delta(epsilon), 0 where nothing better is known."""
        return self.judged_lower(epsilon)[0]

    def log_estimate(self, epsilon: Fraction) -> float:
        """Approximate log(delta(epsilon)), without an error bound; -inf where nothing is left."""
        with arb_precision(SCALAR_BITS):
            index, fraction, used = self._locate(epsilon, "down")
            value = self._rough_sum(index, fraction)
            return math.log(value) + float((self.log_scale - self._tilted(used)).mid()) if value > 0 else -math.inf

    def judged_upper(self, epsilon: Fraction) -> tuple[Fraction, float]:
        """Return the upper bound and the errors' share in it: where that is large, another tilt would do better."""
        with arb_precision(SCALAR_BITS):
            index, fraction, used = self._locate(epsilon - self.slack, "down")
            total, kernel_norm = self._kernel_sum(index, fraction)
            rest = kernel_norm * self.error + self._peak() * (self.outside + self.astray) + self._cut() * self.mass
            factor = (self.log_scale - self._tilted(used)).exp()
            bound = _fraction_above((total + rest) * factor + self.infinite)
            kept = float(total.mid())
            return bound, float(rest.mid()) / kept if kept > 0 else math.inf

    def judged_lower(self, epsilon: Fraction) -> tuple[Fraction, float]:
        """Return the lower bound and the errors' share in what they were taken from."""
        with arb_precision(SCALAR_BITS):
            index, fraction, used = self._locate(epsilon + self.slack, "up")
            total, kernel_norm = self._kernel_sum(index, fraction)
            rest = kernel_norm * self.error + self._peak() * (self.outside + self.astray)
            factor = (self.log_scale - self._tilted(used)).exp()
            kept = float(total.mid())
            share = float(rest.mid()) / kept if kept > 0 else math.inf
            return _fraction_below((total - rest) * factor), share

    def _locate(self, epsilon: Fraction, direction: Direction) -> tuple[int, float, Fraction]:
        """Write epsilon, rounded as asked, as offset + (index + fraction) spacing; fraction in [0, 1) of 40 bits."""
        position = (epsilon - self.offset) / Fraction(self.spacing) * 2**40
        scaled = math.floor(position) if direction == "down" else math.ceil(position)
        index, remainder = divmod(scaled, 2**40)
        return index, remainder / 2**40, self.offset + Fraction(scaled, 2**40) * Fraction(self.spacing)

    def _kernel_sum(self, index: int, fraction: float) -> tuple[arb, arb]:
        r"""Enclose sum W g over the window and bound |g|_2; x = (k - index - fraction) h is off by 2u relatively."""
        start = max(index + 1 - self.first, 0)
        reach = math.ceil(_CUT / (self.theta * self.spacing)) + 2
        stop = min(index + reach - self.first, self.weights.size)
        if stop <= start:
            return arb(0), arb(0)
        k = np.arange(start + self.first - index, stop + self.first - index, dtype=np.float64)
        x = (k - fraction) * self.spacing
        kernel = exp(-self.theta * x) * -expm1(-x)
        terms = self.weights[start:stop] * kernel
        value, magnitude = float(terms.sum()), float(np.abs(terms).sum())
        argument = 4 * UNIT_ROUNDOFF * (self.theta * float(x[-1]) + 2)
        relative = (x.size + 8) * UNIT_ROUNDOFF + EXP_ERROR + EXPM1_ERROR + argument
        radius = arb(magnitude) * arb(1.01 * relative) + arb(UNDERFLOW)
        norm = arb(float((kernel * kernel).sum())).sqrt() * arb(1 + _SUM_MARGIN)
        return arb(value) + arb(0, 1) * radius, norm

    def _rough_sum(self, index: int, fraction: float) -> float:
        """Return about the sum that `_kernel_sum` encloses, by a library's exponential: to guess with."""
        start = max(index + 1 - self.first, 0)
        stop = min(index + math.ceil(_CUT / (self.theta * self.spacing)) + 2 - self.first, self.weights.size)
        if stop <= start:
            return 0.0
        x = (
            np.arange(start + self.first - index, stop + self.first - index, dtype=np.float64) - fraction
        ) * self.spacing
        with np.errstate(under="ignore"):
            return -float((self.weights[start:stop] * np.exp(-self.theta * x) * np.expm1(-x)).sum())

    def _peak(self) -> arb:
        theta = arb(self.theta)
        return (-theta * (1 / theta).log1p()).exp() / (1 + theta)

    def _cut(self) -> arb:
        return arb(-_CUT).exp()

    def _tilted(self, epsilon: Fraction) -> arb:
        return arb(self.theta) * arb_from_fraction(epsilon)


def compose_lattices(steps: Sequence[LatticeStep], theta: float, spacing: float, window: Window) -> ComposedLattice:
    """Convolve the steps, each `count` times, and bound every error as the header says."""
    length = window.length
    weights = np.roll(_convolved(steps, length), -(window.first % length))
    offset = sum((Fraction(step.offset) * step.count for step in steps), Fraction(0))
    slack = sum((Fraction(step.slack) * step.count for step in steps), Fraction(0))
    with arb_precision(SCALAR_BITS):
        mass, error = _arithmetic_error(steps, length)
        above = _tail(steps, spacing, window.above, window.first + length)
        below = _tail(steps, spacing, -window.below, window.first - 1)
        log_scale = sum((step.count * step.log_scale for step in steps), arb(0))
        infinite = sum((step.count * step.infinite for step in steps), arb(0))
        astray = _astray(steps, log_scale)
    return ComposedLattice(
        theta=theta,
        spacing=spacing,
        offset=offset,
        first=window.first,
        weights=weights,
        error=error,
        mass=mass,
        outside=above + below,
        log_scale=log_scale,
        slack=slack,
        infinite=infinite,
        astray=astray,
    )


def _convolved(steps: Sequence[LatticeStep], length: int) -> Floats:
    if _is_copied(steps, length):
        return _wrapped(steps[0], length)
    return inverse_real(powers_product((forward(_wrapped(step, length)), step.count) for step in steps))


def _wrapped(step: LatticeStep, length: int) -> Floats:
    """Return the masses by residue modulo the length."""
    padded_size = -(-step.masses.size // length) * length
    padded = np.zeros(padded_size)
    padded[: step.masses.size] = step.masses
    folded = padded.reshape(-1, length).sum(axis=0) if padded_size > length else padded
    return np.roll(folded, step.first % length)


def _arithmetic_error(steps: Sequence[LatticeStep], length: int) -> tuple[arb, arb]:
    """Return prod s_i^T_i and E, rounded up; folding the masses adds a relative 2^-53 for each turn to the first."""
    transform = arb(transform_error(length))
    log_mass, log_growth = arb(0), arb(0)
    for step in steps:
        turns = step.masses.size // length + 2
        log_mass += step.count * (arb(float(step.masses.sum())) * arb(1 + _SUM_MARGIN)).log()
        log_growth += step.count * (transform + arb(turns * UNIT_ROUNDOFF) + arb(PRODUCT))
    mass = _upper(log_mass.exp())
    if _is_copied(steps, length):
        return mass, arb(0)
    at_frequency = mass * log_growth.expm1() + arb(UNDERFLOW)
    return mass, _upper(at_frequency + transform * (mass + at_frequency) + arb(UNDERFLOW))


def _astray(steps: Sequence[LatticeStep], log_scale: arb) -> arb:
    """Bound the 1-norm of what steps that were composed before have lost, in units of e^log_scale."""
    growth = growth_of(steps)
    if growth.is_zero():
        return arb(0)
    return _upper((log_mass_bound(steps) - log_scale).exp() * growth.expm1())


def growth_of(steps: Sequence[LatticeStep]) -> arb:
    """Return the steps' `Stray.growth`, added."""
    return sum((step.count * step.stray.growth for step in steps if step.stray is not None), arb(0))


def log_mass_bound(steps: Sequence[LatticeStep]) -> arb:
    """Bound the logarithm of the tilted mass of all steps together, scale included, at every level they came from."""
    return sum((step.count * _log_mass(step) for step in steps), arb(0))


def _log_mass(step: LatticeStep) -> arb:
    own = (arb(float(step.masses.sum())) * arb(1 + _SUM_MARGIN)).log() + step.log_scale
    return _upper(own if step.stray is None else own.max(step.stray.log_mass))


def _is_copied(steps: Sequence[LatticeStep], length: int) -> bool:
    """Say whether nothing is computed at all: a single step that fits the window."""
    return sum(step.count for step in steps) == 1 and steps[0].masses.size <= length


def _tail(steps: Sequence[LatticeStep], spacing: float, tilt: float, index: int) -> arb:
    """Bound the composed tilted mass at indices >= index (tilt > 0) or <= index (tilt < 0) by Chernoff."""
    lowest = sum(step.count * step.first for step in steps)
    highest = lowest + sum(step.count * (step.masses.size - 1) for step in steps)
    if (tilt > 0 and highest < index) or (tilt < 0 and lowest > index):
        return arb(0)
    exponent = -arb(tilt) * arb(spacing) * index
    for step in steps:
        centre = step.first + step.masses.size // 2
        steps_away = np.arange(step.masses.size, dtype=np.float64) - step.masses.size // 2
        arguments = (tilt * spacing) * steps_away
        if float(arguments.max()) > HIGHEST_ARGUMENT:
            raise CannotCertifyError("the tail of the composition could not be bounded: change the points")
        moment = float((step.masses * exp(arguments)).sum())
        exponent += step.count * (
            (arb(moment) * arb(1 + _SUM_MARGIN) + arb(UNDERFLOW)).log() + arb(tilt) * arb(spacing) * centre
        )
    return _upper(exponent.exp())


def _upper(ball: arb) -> arb:
    if not ball.is_finite():
        raise CannotCertifyError("an error bound of the composition is not finite: use more points")
    return arb(ball.upper())


def _fraction_above(ball: arb) -> Fraction:
    """Return an exact rational at or above the ball and at most 1, which delta never exceeds; at least 2^-20000."""
    if not ball.is_finite() or ball > 1:
        return Fraction(1)
    return _LEAST_DELTA if ball < _LEAST_DELTA_BALL else min(fraction_from_arb(ball.upper()), Fraction(1))


def _fraction_below(ball: arb) -> Fraction:
    """Return an exact rational at or below the ball and at least 0; 0 below 2^-20000."""
    if not ball.is_finite() or not ball.lower() > _LEAST_DELTA_BALL:
        return Fraction(0)
    return fraction_from_arb(ball.lower())
