r"""The Renyi curve of a whole ledger: K(alpha) = (alpha-1) eps(alpha), added over the steps.

[CL20] Lemma 3 (printed as "Lemma 4", E7): Renyi divergences of adaptive releases add at each order.

Between integers the two printed theorems say nothing, but K of any pair is convex with K(1) = 0 (E4), so the chord
between the bounds at the neighbouring integers is a bound. Every bound is capped by the unamplified K = alpha
(alpha-1) x/2: not telling which records were used never costs.
"""

from __future__ import annotations

import enum
import functools
from fractions import Fraction

from flint import arb

from accountant.errors import UnsupportedSchemeError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import (
    GaussianStep,
    PoissonGaussianStep,
    PureStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Noise
from accountant.numbers import arb_from_fraction, arb_precision
from accountant.renyi.poisson import poisson_moment
from accountant.renyi.tight import LEAST_NOISE, tight_moment
from accountant.renyi.without_replacement import lemma2_at_least, lemma2_moment, wbk27_at_least, wbk27_moment


class Subsampling(enum.Enum):
    """Which theorem prices a batch without replacement."""

    LEMMA2 = "lemma2"
    WBK27 = "wbk27"
    TIGHT = "tight-rdp"


def ledger_log_moment(ledger: Ledger, theorem: Subsampling, alpha: Fraction, bits: int) -> arb:
    """Enclose K(alpha) of the ledger under one theorem; call inside `arb_precision`.

    Beside real Gaussian noise a step with discrete noise is priced by Lemma 2, which alone is proved for it.
    """
    mixed = any(isinstance(step, SubsampledGaussianStep) and step.noise is Noise.GAUSSIAN for step in ledger.steps)

    def proved(step: Step) -> Subsampling:
        discrete = isinstance(step, SubsampledGaussianStep) and step.noise is Noise.DISCRETE
        return Subsampling.LEMMA2 if mixed and discrete else theorem

    return sum((step.count * step_log_moment(step, proved(step), alpha, bits) for step in ledger.steps), arb(0))


def step_log_moment(step: Step, theorem: Subsampling, alpha: Fraction, bits: int) -> arb:
    """Enclose K(alpha) = (alpha-1) eps(alpha) of one release, capped by the unamplified bound."""
    match step:
        case WithReplacementStep():
            raise UnsupportedSchemeError(
                "no Renyi curve of batches with replacement: rare batches full of one record make it useless"
            )
        case GaussianStep():
            return _gaussian(step.ratio_squared, alpha)
        case PureStep():
            return _randomised_response(step.epsilon, alpha)
        case PoissonGaussianStep():
            if step.noise_multiplier < LEAST_NOISE:  # hides nothing: a mixture is no further away than its further part
                return _gaussian(1 / step.noise_multiplier**2, alpha)
            return poisson_moment(step.sampling_rate, step.noise_multiplier, alpha, bits).log1p()
        case SubsampledGaussianStep():
            require_proved(step, theorem)
            return _subsampled(step, theorem, alpha, bits)


def require_proved(step: SubsampledGaussianStep, theorem: Subsampling) -> None:
    """Refuse theorems that need the exact Gaussian where the noise is only bounded by its Renyi curve."""
    if step.noise is Noise.DISCRETE and theorem is not Subsampling.LEMMA2:
        raise UnsupportedSchemeError(
            f"{theorem.value} needs the exact moments of the Gaussian; for noise='discrete' only Lemma 2 is proved"
        )


def _gaussian(ratio_squared: Fraction, alpha: Fraction) -> arb:
    return arb_from_fraction(alpha * (alpha - 1) * ratio_squared / 2)


def _randomised_response(epsilon: Fraction, alpha: Fraction) -> arb:
    r"""Return log((e^{alpha eps} + e^{(1-alpha) eps})/(1 + e^eps)): the pair that dominates every eps-DP release.

    As 1 + (e^{alpha eps} - e^eps)(1 - e^{-alpha eps})/(1 + e^eps), which does not cancel.
    """
    e, a = arb_from_fraction(epsilon), arb_from_fraction(alpha)
    excess = e.exp() * ((a - 1) * e).expm1() * -(-a * e).expm1() / (1 + e.exp())
    return excess.log1p()


def _subsampled(step: SubsampledGaussianStep, theorem: Subsampling, alpha: Fraction, bits: int) -> arb:
    cap = _gaussian(step.ratio_squared, alpha)
    if theorem is Subsampling.TIGHT:
        moment = tight_moment(step.sampling_rate, step.noise_multiplier, alpha, bits)
        return moment.log1p().min(cap)
    below = alpha.numerator // alpha.denominator
    at_below = _at_integer(step.sampling_rate, step.ratio_squared, theorem, below, bits)
    if alpha.denominator == 1:
        return at_below
    at_above = _at_integer(step.sampling_rate, step.ratio_squared, theorem, below + 1, bits)
    weight = arb_from_fraction(alpha - below)
    return (at_below + weight * (at_above - at_below)).min(cap)


def _at_integer(rate: Fraction, ratio_squared: Fraction, theorem: Subsampling, alpha: int, bits: int) -> arb:
    if alpha == 1:
        return arb(0)
    return _cached(rate, ratio_squared, theorem, alpha, bits)


@functools.lru_cache(maxsize=4096)
def _cached(rate: Fraction, ratio_squared: Fraction, theorem: Subsampling, alpha: int, bits: int) -> arb:
    sum_up, at_least = _THEOREMS[theorem]
    with arb_precision(bits):
        cap = _gaussian(ratio_squared, Fraction(alpha))
        if at_least(rate, ratio_squared, alpha).log1p() > cap:
            return cap
        return sum_up(rate, ratio_squared, alpha, bits).log1p().min(cap)


_THEOREMS = {
    Subsampling.LEMMA2: (lemma2_moment, lemma2_at_least),
    Subsampling.WBK27: (wbk27_moment, wbk27_at_least),
}
