r"""A lower bound from one event: some step shows a loss above epsilon.

For any event E, delta(epsilon) >= P[E] - e^epsilon Q[E]. With P the output distribution of the realisable pair
((1-q)N(0)+qN(mu) against N(0) in each step) and E "in some step z exceeds the point of loss epsilon",

    P[E] = 1 - prod (1 - p_i)^{T_i},  p = q Phi(mu - z) + (1-q) Phi(-z),    Q[E] = 1 - prod (1 - Phi(-z_i))^{T_i}.

It is close to the truth where one rare, large loss decides: just where a tilted lattice is at its weakest.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from flint import arb

from accountant.numbers import Bound, arb_from_fraction, arb_precision, fraction_from_arb
from accountant.profiles.one_step import SubsampledGaussian, single_step_epsilon

_BITS: Final = 320
_BISECTIONS: Final = 30
_LEAST: Final = arb(2) ** -20000


def event_delta(steps: Sequence[SubsampledGaussian], epsilon: Fraction) -> Fraction:
    """Return a lower bound on delta(epsilon), epsilon > 0, that the pair attains; 0 where it says nothing."""
    with arb_precision(_BITS):
        ball = _event_ball(steps, arb_from_fraction(epsilon))
        return fraction_from_arb(ball.lower()) if ball.is_finite() and ball.lower() > _LEAST else Fraction(0)


def event_epsilon(steps: Sequence[SubsampledGaussian], delta: Fraction) -> Fraction:
    """Return an epsilon that the pair violates at delta: bisection, the answer certified.

    A single step alone costs no more than all of them, which is where the search starts; delta over the number of steps
    is where it ends, for P[E] - e^epsilon Q[E] is at most the sum of the steps' own delta(epsilon).
    """
    number = sum(step.count for step in steps)
    good = max((_alone(step, delta).least.fraction() for step in steps), default=Fraction(0))
    bad = max((_alone(step, delta / number).most.fraction() for step in steps), default=Fraction(0))
    with arb_precision(_BITS):
        target = arb_from_fraction(delta)
        for _ in range(_BISECTIONS):
            between = (good + bad) / 2
            holds = between > 0 and bool(_event_ball(steps, arb_from_fraction(between)) >= target)
            good, bad = (between, bad) if holds else (good, between)
    return good


def _alone(step: SubsampledGaussian, delta: Fraction) -> Bound:
    return single_step_epsilon(step.sampling_rate, 1 / step.noise_multiplier**2, delta)


def _event_ball(steps: Sequence[SubsampledGaussian], epsilon: arb) -> arb:
    first, second, root = arb(0), arb(0), arb(2).sqrt()
    for step in steps:
        q, mu = arb_from_fraction(step.sampling_rate), arb_from_fraction(1 / step.noise_multiplier)
        z = (epsilon.expm1() / q).log1p() / mu + mu / 2
        base, shifted = (z / root).erfc() / 2, ((z - mu) / root).erfc() / 2
        first += step.count * (-(q * shifted + (1 - q) * base)).log1p()
        second += step.count * (-base).log1p()
    return epsilon.exp() * second.expm1() - first.expm1()
