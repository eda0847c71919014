r"""The privacy profile of one ssADMM step, exactly.

One step adds Gaussian noise to a statistic of m of n records, drawn without replacement; neighbours differ in one
replaced record. With q = m/n and nu = sigma m/(2C) its profile is at most (Balle, Barthe and Gaboardi 2018, Theorem 9)

    delta(eps) = q delta_G(log(1 + (e^eps - 1)/q)),    eps >= 0,

delta_G the profile of the Gaussian mechanism at noise multiplier nu, and the pair (1-q)N(0)+qN(1) against N(0) attains
it. So for a single step, and for any number of steps without sampling (q = 1), nothing is composed numerically.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from accountant.errors import CannotCertifyError, InvalidQuantityError
from accountant.numbers import (
    Bound,
    arb_from_fraction,
    arb_precision,
    fraction_from_arb,
    has_digits,
    precisions,
)
from accountant.profiles.gaussian import delta_ball, gaussian_epsilon

_CLOSED_FORM_DIGITS = 30


@dataclass(frozen=True, slots=True)
class SubsampledGaussian:
    r"""`count` adaptive Gaussian steps on fresh batches of m of n records without replacement, replace-one neighbours.

    [CL20] Algorithm 1, lines 4-6. sampling_rate = m/n; noise_multiplier = sigma m/(2C), the noise over the replace-one
    sensitivity.
    """

    sampling_rate: Fraction
    noise_multiplier: Fraction
    count: int

    def __post_init__(self) -> None:
        """Refuse what no mechanism has, and binary floats."""
        for name in ("sampling_rate", "noise_multiplier"):
            value: object = getattr(self, name)
            if not isinstance(value, Fraction):
                raise InvalidQuantityError(f"{name} must be a Fraction, got {name}={value!r} ({type(value).__name__})")
        if not 0 < self.sampling_rate <= 1:
            raise InvalidQuantityError(f"sampling_rate must be in (0, 1], got sampling_rate={self.sampling_rate}")
        if not self.noise_multiplier > 0:
            raise InvalidQuantityError(f"noise_multiplier must be > 0, got noise_multiplier={self.noise_multiplier}")
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise InvalidQuantityError(f"count must be an integer >= 1, got count={self.count!r}")


def single_step_delta(sampling_rate: Fraction, mu_squared: Fraction, epsilon: Fraction) -> Bound:
    r"""Enclose delta(epsilon), epsilon >= 0, of one step with mu^2 = 1/nu^2; attained by a realisable pair."""
    for bits in precisions(_CLOSED_FORM_DIGITS):
        with arb_precision(bits):
            q, mu = arb_from_fraction(sampling_rate), arb_from_fraction(mu_squared).sqrt()
            inner = (arb_from_fraction(epsilon).expm1() / q).log1p()
            ball = q * delta_ball(mu, inner)
            if has_digits(ball, _CLOSED_FORM_DIGITS):
                return Bound.from_arb(ball)
    raise CannotCertifyError(f"delta({epsilon}) of one step needs more than {bits} bits")


def single_step_epsilon(sampling_rate: Fraction, mu_squared: Fraction, delta: Fraction) -> Bound:
    r"""Enclose the smallest epsilon >= 0 with delta(epsilon) <= delta of one step; attained by a realisable pair."""
    if delta >= sampling_rate:
        return Bound.from_fractions(Fraction(0), Fraction(0))
    inner = gaussian_epsilon(mu_squared, delta / sampling_rate, digits=_CLOSED_FORM_DIGITS)
    with arb_precision(next(precisions(_CLOSED_FORM_DIGITS))):
        q = arb_from_fraction(sampling_rate)
        ends = [_sampled_loss(q, arb_from_fraction(end.fraction())) for end in (inner.least, inner.most)]
        return Bound.from_fractions(fraction_from_arb(ends[0].lower()), fraction_from_arb(ends[1].upper()))


def _sampled_loss(q: arb, loss: arb) -> arb:
    """Return log(1 - q + q e^loss), loss >= 0; the second form where the exponential would be unwieldy."""
    if loss > 1000:
        return loss + (q + (1 - q) * (-loss).exp()).log()
    return (q * loss.expm1()).log1p()
