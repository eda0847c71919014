r"""An upper bound for little noise, where drawing batches hides hardly more than the number of draws.

Who is told in which steps the record was drawn knows more, and hockey-stick divergences are jointly convex. So with K_i
the number of draws in phase i, binomial (T_i, q_i), and delta_G the profile of one Gaussian release,

    delta(eps) <= E[delta_G(eps; sum K_i mu_i^2)] <= P[some K_i > k_i] + delta_G(eps; sum k_i mu_i^2)

for any k_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from accountant.numbers import arb_from_fraction, arb_precision
from accountant.profiles.binomial import seldom_more
from accountant.profiles.gaussian import gaussian_epsilon
from accountant.profiles.one_step import SubsampledGaussian

_BITS: Final = 192
_LITTLE: Final = 1
_SHARES: Final = (Fraction(1, 2), Fraction(1, 256))
"""Of delta, for the noise; the rest is for rare numbers of draws."""


def revealed_epsilon(steps: Sequence[SubsampledGaussian], delta: Fraction) -> Fraction | None:
    """Return a certified upper epsilon at delta > 0; None where noise is not little, and the bound far off."""
    drawn = [step for step in steps if step.sampling_rate < 1]
    if not any(step.noise_multiplier < _LITTLE for step in drawn):
        return None
    return min(_with_share(steps, drawn, delta, share) for share in _SHARES)


def _with_share(
    steps: Sequence[SubsampledGaussian], drawn: Sequence[SubsampledGaussian], delta: Fraction, share: Fraction
) -> Fraction:
    square = sum((step.count / step.noise_multiplier**2 for step in steps if step.sampling_rate == 1), Fraction(0))
    with arb_precision(_BITS):
        log_p = arb_from_fraction(delta * (1 - share) / len(drawn)).log()
        for step in drawn:
            draws = seldom_more(step.count, arb_from_fraction(step.sampling_rate), log_p)
            square += draws / step.noise_multiplier**2
    return gaussian_epsilon(square, delta * share).most.fraction() if square else Fraction(0)
