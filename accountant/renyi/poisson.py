r"""Renyi divergence of the Poisson-subsampled Gaussian, add-or-remove neighbours, any real alpha > 1.

Mironov, Talwar and Zhang 2019: the divergence is that of (1-q) N(0, nu^2) + q N(1, nu^2) from N(0, nu^2), so with the
likelihood ratio L = e^{z/nu - 1/(2 nu^2)}, z standard normal, and E[L] = 1,

    M(alpha) - 1 = E[(1 + q (L-1))^alpha - 1 - alpha q (L-1)],

an integral of a nonnegative function. Here for comparing with other accountants of DP-SGD: a batch of fixed size has
another neighbouring relation and sensitivity, and this bound is refused there.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from flint import acb, arb

from accountant.numbers import arb_from_fraction
from accountant.renyi.integration import (
    Integrand,
    breakpoints,
    guarded,
    integral,
    log1p_analytic,
    log_analytic,
    normal_tail,
    safe_end,
)

LONGEST_SUM: Final = 1 << 10
"""Integer orders up to this are summed, in milliseconds; the terms of 2^17 take seconds."""


def poisson_moment(rate: Fraction, noise_multiplier: Fraction, alpha: Fraction, bits: int) -> arb:
    """Enclose M(alpha) - 1 = exp((alpha-1) eps(alpha)) - 1 of one Poisson-subsampled step."""
    if alpha.denominator == 1 and alpha <= LONGEST_SUM:
        return _integer_moment(rate, noise_multiplier, int(alpha))
    if rate == 1:
        return arb_from_fraction(alpha * (alpha - 1) / noise_multiplier**2 / 2).expm1()
    nu, order = arb_from_fraction(noise_multiplier), arb_from_fraction(alpha)
    # y^alpha - 1 - alpha (y-1) is of order (q/nu)^2 where its terms are of order 1
    lost = 2 * math.ceil(noise_multiplier / rate).bit_length()
    with guarded(order * order / (2 * nu * nu), lost):
        nu, order, q = arb_from_fraction(noise_multiplier), arb_from_fraction(alpha), arb_from_fraction(rate)
        pieces, crossing = _pieces(nu, order, q, bits)
        value = integral(_integrand(nu, order, q, crossing), pieces, bits) / (2 * arb.pi()).sqrt()
        return value + rest_beyond(pieces[-1], nu, order) * arb(0.5, 0.5)


def rest_beyond(end: arb, nu: arb, order: arb) -> arb:
    """Return an upper bound of the integral beyond +-end, of phi (L^alpha + alpha) above and phi (1 + alpha) below."""
    growth = order * (order - 1) / (2 * nu * nu)
    return growth.exp() * normal_tail(end - order / nu) + (1 + 2 * order) * normal_tail(end)


def _pieces(nu: arb, order: arb, q: arb, bits: int) -> tuple[list[arb], arb]:
    """Return where to cut the axis, -end first and end last, and where to change form, as in `renyi.tight`."""
    end = safe_end(order / nu, order * (order - 1) / (2 * nu * nu) + 2 * nu.log1p() - 2 * q.log(), bits)
    crossing, peak = nu * ((1 - q) / q).log() + 1 / (2 * nu), order / nu
    inner = breakpoints(2 * end, [end + p for p in (crossing, peak - 8, peak, peak + 8, arb(-8), arb(0), arb(8))])
    return [point - end for point in inner], crossing


def _integrand(nu: arb, order: arb, q: arb, crossing: arb) -> Integrand:
    """Return phi (y^alpha - 1 - alpha (y-1)) sqrt(2 pi), written as in `renyi.tight` on either side."""
    c, top = 1 / (2 * nu), order * (order - 1) / (2 * nu * nu)

    def integrand(z: acb, analytic: bool) -> acb:
        loss = (z - c) / nu
        excess = q * loss.expm1()
        if z.real.mid() < crossing:
            power = (order * log1p_analytic(excess, analytic)).expm1()
            return (-z * z / 2).exp() * (power - order * excess)
        surplus, v = log_analytic(q + (1 - q) * (-loss).exp(), analytic), z - order / nu
        shifted = z - 1 / nu
        linear = (1 - order * q) * (-z * z / 2).exp() + order * q * (-shifted * shifted / 2).exp()
        return (top - v * v / 2 + order * surplus).exp() - linear

    return integrand


def _integer_moment(rate: Fraction, noise_multiplier: Fraction, alpha: int) -> arb:
    r"""Return sum over j >= 2 of binom(alpha, j) (1-q)^{alpha-j} q^j (e^{j(j-1)/(2 nu^2)} - 1); no term is negative."""
    q, x = arb_from_fraction(rate), arb_from_fraction(1 / noise_multiplier**2)
    stay = arb_from_fraction(1 - rate)
    binomial, total = alpha, arb(0)
    for j in range(2, alpha + 1):
        binomial = binomial * (alpha - j + 1) // j
        weight = binomial * q**j * stay ** (alpha - j)
        total += weight * (x * (j * (j - 1) // 2)).expm1()
    return total
