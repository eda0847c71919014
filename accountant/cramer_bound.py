r"""Levels that the loss of many sampled steps reaches, from three moments: no lattice, the same cost at every size.

With K(theta) = log E_P[e^{theta L}] of a phase and P_theta its distribution tilted by theta > 0, Chernoff's bounds
P_theta[L < a] <= 1/2 and P_theta[L > b] <= 1/3 hold for

    a = (K(theta) - K(theta - u) - log 2)/u,    b = (K(theta + v) - K(theta) + log 3)/v,

so that P[L >= a] >= E_theta[e^{K(theta) - theta L}; a <= L <= b] >= e^{K(theta) - theta b}/6: Cramer's lower bound with
numbers. Where delta is large, Chernoff's bound from below is enough, P[L < a] <= e^{sa} E[e^{-sL}] for any 0 < s < 1,
and takes all phases together. K(theta) is (alpha - 1) times the Renyi divergence of order alpha = 1 + theta of the pair
(1-q)N(0)+qN(mu) against N(0), enclosed by `renyi.integrals`. Which theta, u and v are taken is a guess.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.numbers import arb_from_fraction, arb_precision, float_down
from accountant.pld.guesses import Sketch, log_moment, sketch, tilted_deviation, truncation_point
from accountant.pld.types import BinaryStep, Pair
from accountant.profiles.one_step import SubsampledGaussian
from accountant.profiles.without_lattice import LossLevel, costliest, drawn_level, levels_of, positive_part
from accountant.renyi.integrals import poisson_deficit, poisson_moment

_LEAST_NOISE: Final = Fraction(1, 20)
"""With less noise `profiles.without_lattice` does well, and the integrals take long."""
_FEWEST: Final = 16
"""Of fewer steps a lattice does better."""
_BITS: Final = 64
_DOWN, _UP = math.sqrt(2 * math.log(2)), math.sqrt(2 * math.log(3))
"""In standard deviations: where Chernoff's bound of a Gaussian is 1/2, and 1/3."""
_TILTS: Final = tuple(1.15**k for k in range(-30, 50))
_RETREATS: Final = (1.0, 0.98, 0.9)


@dataclass(frozen=True, slots=True)
class Tilt:
    """theta, and the distances to the tilts of the two Chernoff bounds."""

    theta: float
    down: float
    up: float

    def nearer(self, part: float) -> Tilt:
        """Return the tilt taken back towards 0."""
        return Tilt(self.theta * part, self.down * part, self.up)

    def orders(self) -> tuple[Fraction, Fraction, Fraction]:
        """Return the three alphas, exactly."""
        theta = Fraction(self.theta)
        return 1 + theta - Fraction(self.down), 1 + theta, 1 + theta + Fraction(self.up)


@dataclass(frozen=True, slots=True)
class _Guess:
    """About what a tilt gives: a level, and log of the probability with which it is reached."""

    level: float
    log_chance: float
    tilt: Tilt


def close_levels_of(
    steps: Sequence[SubsampledGaussian], delta: Fraction, pure: Sequence[tuple[Fraction, int]] = ()
) -> list[LossLevel]:
    """Return `levels_of` the phases, with tilted levels where there are many steps."""
    close = [step for step in costliest(steps) if is_fit(step)]
    others = [step for step in steps if not is_fit(step)]
    return [*levels_of(others, pure), *(_level_of(step, delta) for step in close)]


def is_fit(step: SubsampledGaussian) -> bool:
    """Say whether tilts are of use: many sampled steps, and not too little noise."""
    return step.sampling_rate < 1 and step.count >= _FEWEST and step.noise_multiplier >= _LEAST_NOISE


def best_tilt(step: SubsampledGaussian, delta: Fraction, log_p: float) -> Tilt | None:
    """Return the tilt that should give the largest level reached with probability p; a guess."""
    best = _best(_guesses(step, delta), log_p)
    return None if best is None else best.tilt


def _level_of(step: SubsampledGaussian, delta: Fraction) -> LossLevel:
    guesses = _guesses(step, delta)
    return LossLevel(
        lambda log_p: _larger(drawn_level(step, log_p), tilted_level(step, guesses, log_p)),
        lambda log_p: _larger(drawn_level(step, log_p), _about(guesses, float(log_p))),
    )


def _larger(one: arb | None, other: arb | None) -> arb | None:
    return max((level.lower() for level in (one, other) if level is not None), default=None)


def _about(guesses: Sequence[_Guess], log_p: float) -> arb | None:
    best = _best(guesses, log_p)
    return None if best is None or not math.isfinite(best.level) else arb(best.level)


def _best(guesses: Sequence[_Guess], log_p: float) -> _Guess | None:
    return max((one for one in guesses if one.log_chance >= log_p), key=lambda one: one.level, default=None)


def tilted_level(step: SubsampledGaussian, guesses: Sequence[_Guess], log_p: arb) -> arb | None:
    """Return a loss that `step` reaches with probability p at least; None where none could be certified."""
    best = _best(guesses, float(log_p))
    if best is not None:
        with contextlib.suppress(CannotCertifyError, ArithmeticError):
            for part in _RETREATS:
                level, log_chance = _certified(step, best.tilt.nearer(part))
                if log_chance >= log_p:
                    return level
    return None


def _certified(step: SubsampledGaussian, tilt: Tilt) -> tuple[arb, arb]:
    """Return a level, and the logarithm of a probability with which it is reached."""
    with arb_precision(2 * _BITS + step.count.bit_length()):
        below, here, above = (
            step.count * poisson_moment(step.sampling_rate, step.noise_multiplier, order, _BITS).log1p()
            for order in tilt.orders()
        )
        low = (here - below - arb(2).log()) / arb(tilt.down)
        high = (above - here + arb(3).log()) / arb(tilt.up)
        return low, here - arb(tilt.theta) * high - arb(6).log()


@functools.lru_cache(maxsize=64)
def _guesses(step: SubsampledGaussian, delta: Fraction) -> tuple[_Guess, ...]:
    """Return about what tilts give, where float64 can say."""
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)
    binary = BinaryStep(float_down(step.sampling_rate), float_down(1 / step.noise_multiplier), step.count)
    with contextlib.suppress(CannotCertifyError, ArithmeticError), np.errstate(all="ignore"):
        shape = sketch(binary, Pair.MIXTURE_FIRST, truncation_point([binary], log_delta - 20))
        scale = tilted_deviation([shape], 0.0)
        return tuple(_tried(shape, _few_digits(factor / scale)) for factor in _TILTS)
    return ()


def _few_digits(value: float) -> float:
    """Return the number to 8 bits: what is certified must not depend on how a platform rounds a guess."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 256), exponent - 8)


def _tried(shape: Sketch, theta: float) -> _Guess:
    """Return about what `_certified` will."""
    deviation = _few_digits(tilted_deviation([shape], theta))
    tilt = Tilt(theta, min(_DOWN / deviation, 0.9 * theta), _UP / deviation)
    below, here, above = map(float, log_moment([shape], np.array([theta - tilt.down, theta, theta + tilt.up])))
    level = (here - below - math.log(2)) / tilt.down
    return _Guess(level, here - theta * (above - here + math.log(3)) / tilt.up - math.log(6), tilt)


_SMALL: Final = Fraction(1, 2**12)
_GIVEN_AWAY: Final = 1000
LARGE: Final = Fraction(1, 64)
"""Below this delta losses are exceeded that are larger than the mean, and Cramer's bound says more."""


def usual_level(steps: Sequence[SubsampledGaussian], pure: Sequence[tuple[Fraction, int]], delta: Fraction) -> Fraction:
    """Return an epsilon that the losses of all steps exceed nearly always; 0 where it says nothing.

    s is a guess from mean and variance. A thousandth of the way to the mean is given away: a second route need not
    guess the same s.
    """
    if delta < LARGE:
        return Fraction(0)
    with arb_precision(3 * _BITS):
        spent = (1 + delta) / 2
        log_rest, cost = arb_from_fraction(1 - delta / spent).log(), -arb_from_fraction(1 - spent).log()
        once, twice = (_log_decay(steps, pure, k * _SMALL) for k in (1, 2))
        small = arb_from_fraction(_SMALL)
        mean, variance = (4 * once - twice) / (2 * small), (2 * once - twice) / small**2
        guess = float((-2 * log_rest / variance).sqrt().mid())
        if not guess > 0 or not variance > 0:
            return Fraction(0)
        s = min(Fraction(guess), Fraction(1, 2))
        level = (_log_decay(steps, pure, s) + log_rest) / arb_from_fraction(s)
        return positive_part(level - abs(mean - level) / _GIVEN_AWAY - cost)


def _log_decay(steps: Sequence[SubsampledGaussian], pure: Sequence[tuple[Fraction, int]], s: Fraction) -> arb:
    """Return a lower bound of -log E[e^{-sL}] of all steps together."""
    total, at = arb(0), arb_from_fraction(s)
    for step in steps:
        check_time()
        deficit = poisson_deficit(step.sampling_rate, step.noise_multiplier, 1 - s, _BITS)
        total -= step.count * (-deficit).log1p()
    for epsilon, count in pure:
        e = arb_from_fraction(epsilon)
        total -= count * ((((1 - at) * e).exp() + (at * e).exp()) / (1 + e.exp())).log()
    return total
