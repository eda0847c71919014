r"""Tight Renyi divergence of one subsampled Gaussian step at any real alpha > 1, by rigorous integration.

The dominating profile of a step (Balle, Barthe and Gaboardi 2018, Theorem 9, substitution without replacement, with
the symmetry of replace-one) is H(y) = q H_G(log(1 + (y-1)/q)) for y >= 1 and H(y) = 1 - y + y H(1/y) below, and

    exp((alpha-1) eps(alpha)) = 1 + alpha (alpha-1) * integral over y >= 1 of (y^{alpha-2} + y^{-alpha-1}) H(y) dy.

Two integrations by parts move both derivatives to H_G, whose second derivative is the law of the likelihood ratio
e^{w/nu} at z = w + c, c = 1/(2 nu), z standard normal. What remains has no cancellation and no error function:

    M(alpha) - 1 = int_0^inf phi(w + c) y (y^{alpha-1} - 1)(1 - y^{-alpha}) dw,    y = 1 + q (e^{w/nu} - 1).

The integrand is analytic but for branch points at w = nu (log(1/q - 1) +- i pi); flint's ball integration proves
its error. Beyond W, with b = alpha + 2 and log y <= y - 1 <= q e^{w/nu}, the rest is at most
alpha (alpha-1) q^2 e^{b(b-1)/(2 nu^2)} Phi(b/nu - c - W), and is added.
"""

from __future__ import annotations

from fractions import Fraction

from flint import acb, arb

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_from_fraction, shown
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

LEAST_NOISE = Fraction(1, 10**4)
"""Below this epsilon is above 10^7 whatever the rate: the integral would only take minutes."""


def tight_moment(rate: Fraction, noise_multiplier: Fraction, alpha: Fraction, bits: int) -> arb:
    """Enclose M(alpha) - 1 = exp((alpha-1) eps(alpha)) - 1 of the dominating pair, for any real alpha > 1."""
    if noise_multiplier < LEAST_NOISE:
        raise CannotCertifyError(f"nu={shown(noise_multiplier)} is too little noise to integrate; it hides nothing")
    nu, order = arb_from_fraction(noise_multiplier), arb_from_fraction(alpha)
    with guarded(order * order / (2 * nu * nu)):
        nu, order, q = arb_from_fraction(noise_multiplier), arb_from_fraction(alpha), arb_from_fraction(rate)
        pieces, crossing = _pieces(nu, order, q, bits)
        value = integral(_integrand(nu, order, q, crossing), pieces, bits) / (2 * arb.pi()).sqrt()
        return value + rest_beyond(pieces[-1], nu, order, q) * arb(0.5, 0.5)


def rest_beyond(end: arb, nu: arb, order: arb, q: arb) -> arb:
    """Return an upper bound of the integral from `end` on."""
    b = order + 2
    growth = b * (b - 1) / (2 * nu * nu)
    return order * (order - 1) * q * q * growth.exp() * normal_tail(end + 1 / (2 * nu) - b / nu)


def _pieces(nu: arb, order: arb, q: arb, bits: int) -> tuple[list[arb], arb]:
    """Return where to cut the axis, 0 first and the end last, and where to change the form of the integrand.

    Any cut gives an enclosure, because the rest is added, and either form is the integrand; these make it narrow.
    """
    c, b = 1 / (2 * nu), order + 2
    end = safe_end(b / nu - c, b * (b - 1) / (2 * nu * nu) + 2 * nu.log1p(), bits)
    peak, crossing = order / nu - c, nu * ((1 - q) / q).log1p()
    return breakpoints(end, [crossing, peak - 8, peak, peak + 8, nu, arb(1), arb(8)]), crossing


def _integrand(nu: arb, order: arb, q: arb, crossing: arb) -> Integrand:
    r"""Return the integrand, written so that wide balls stay sharp on either side of where y leaves 1.

    Below the crossing log y is small. Above it log y = w/nu + log(q + (1-q) e^{-w/nu}), and the square is
    completed: alpha w/nu - (w+c)^2/2 = alpha(alpha-1)/(2 nu^2) - (w + c - alpha/nu)^2/2. Both are the same
    analytic function wherever both are analytic.
    """
    c, shift = 1 / (2 * nu), order / nu - 1 / (2 * nu)
    top = order * (order - 1) / (2 * nu * nu)

    def integrand(w: acb, analytic: bool) -> acb:
        scaled = w / nu
        if w.real.mid() < crossing:
            log_y = log1p_analytic(q * scaled.expm1(), analytic)
            z = w + c
            exponent = order * log_y - z * z / 2
        else:
            surplus = log_analytic(q + (1 - q) * (-scaled).exp(), analytic)
            log_y, v = scaled + surplus, w - shift
            exponent = top - v * v / 2 + order * surplus
        return exponent.exp() * (-(order - 1) * log_y).expm1() * (-order * log_y).expm1()

    return integrand
