r"""Renyi integrals in balls: Poisson batches, and the tight divergence of batches without replacement.

Rigorous one-dimensional integration in balls: what the Renyi integrals share.

Renyi divergence of the Poisson-subsampled Gaussian, add-or-remove neighbours, any real alpha > 1.

Mironov, Talwar and Zhang 2019: the divergence is that of (1-q) N(0, nu^2) + q N(1, nu^2) from N(0, nu^2), so with the
likelihood ratio L = e^{z/nu - 1/(2 nu^2)}, z standard normal, and E[L] = 1,

    M(alpha) - 1 = E[(1 + q (L-1))^alpha - 1 - alpha q (L-1)],

an integral of a nonnegative function. Here for comparing with other accountants of DP-SGD: a batch of fixed size has
another neighbouring relation and sensitivity, and this bound is refused there.

Tight Renyi divergence of one subsampled Gaussian step at any real alpha > 1, by rigorous integration.

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

import itertools
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Final

import flint
from flint import acb, arb

from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.numbers import arb_from_fraction, arb_precision, fraction_from_arb, normal_tail, shown

Integrand = Callable[[acb, bool], acb]
EVALUATIONS: Final = 1000
EVALUATIONS_A_BIT: Final = 20
"""How often an integrand is evaluated on one piece, at most: integrals that succeed need some 1,000 in all."""
MOST_LOST: Final = 400
"""Integrands that lose more bits are refused: each evaluation would be slow."""


def integral(function: Integrand, points: list[arb], bits: int) -> arb:
    """Enclose the integral of a function, real and >= 0 on the axis, between the first and the last point.

    flint's Gauss-Legendre integration proves its error. Its tolerance is set from a proved lower bound of the whole,
    so that a piece which does not matter is not refined, and its evaluations are limited. A wide answer is still a
    proved one: the caller looks.
    """
    check_time()
    most = EVALUATIONS + EVALUATIONS_A_BIT * flint.ctx.prec
    tolerance = _lower_bound(function, points) * arb(2) ** (-bits) / len(points)
    total = arb(0)
    for start, end in itertools.pairwise(points):
        goal = (tolerance + total.lower() * arb(2) ** (-bits)).lower()
        piece = acb.integral(function, acb(start), acb(end), rel_tol=arb(2) ** (-bits), abs_tol=goal, eval_limit=most)
        total += piece.real
        if not total.is_finite():
            break
    return total


def guarded(log_peak: arb, lost_bits: int = 0) -> AbstractContextManager[None]:
    """Add the bits to the working precision that an integrand loses: to e^log_peak's exponent, and `lost_bits`.

    Too few would cost digits (and, before the integration gives up, time), never soundness.
    """
    bits = lost_bits + (int(log_peak.upper().ceil().fmpz()).bit_length() if log_peak.is_finite() else MOST_LOST + 1)
    if bits > MOST_LOST:
        raise CannotCertifyError(f"the integral would lose {bits} bits, above {MOST_LOST}")
    return arb_precision(flint.ctx.prec + bits)


def breakpoints(end: arb, candidates: list[arb]) -> list[arb]:
    """Return 0, the candidates inside (0, end) and end, exact and in order."""
    inside = {fraction_from_arb(c.mid()): c.mid() for c in candidates if c.mid() > 0 and c.mid() < end}
    return [arb(0), *(point for _, point in sorted(inside.items(), key=lambda entry: entry[0])), end]


def _lower_bound(function: Integrand, points: list[arb]) -> arb:
    """Return a positive lower bound of the integral from short intervals at the points (2^-1000000 if none)."""
    best, radius = arb(2) ** -1_000_000, arb(2) ** -12
    for point in points[:-1]:
        height = function(acb(point + radius + arb(0, 1) * radius / 2), False).real.lower()
        if height.is_finite() and height * radius > best:
            best = height * radius
    return best


def log1p_analytic(x: acb, analytic: bool) -> acb:
    """Return log(1 + x); a ball that is not finite where analyticity is asked for and the cut is touched."""
    shifted = 1 + x
    if analytic and not (shifted.real > 0 or not shifted.imag.contains(0)):
        return acb(arb("nan"))
    return x.log1p()


def log_analytic(x: acb, analytic: bool) -> acb:
    """Return log x under the same convention."""
    return x.log(analytic=analytic)


def safe_end(centre: arb, log_growth: arb, bits: int) -> arb:
    """Return an exact end W whose Gaussian tail, times e^log_growth, is far below 2^-bits."""
    spread = (2 * (log_growth + bits + 20)).sqrt()
    return (centre + spread + 2).upper().ceil()


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


def poisson_deficit(rate: Fraction, noise_multiplier: Fraction, alpha: Fraction, bits: int) -> arb:
    """Bound 1 - M(alpha) = 1 - E_P[e^{-(1-alpha) L}], 0 < alpha < 1, from below: the rest beyond is left out."""
    if rate == 1:
        return -arb_from_fraction(alpha * (alpha - 1) / noise_multiplier**2 / 2).expm1()
    with guarded(arb(0), 2 * math.ceil(noise_multiplier / rate / (1 - alpha)).bit_length()):
        nu, order, q = arb_from_fraction(noise_multiplier), arb_from_fraction(alpha), arb_from_fraction(rate)
        pieces, crossing = _pieces(nu, order, q, bits)
        negative = _integrand(nu, order, q, crossing)
        return integral(lambda z, analytic: -negative(z, analytic), pieces, bits) / (2 * arb.pi()).sqrt()


def rest_beyond(end: arb, nu: arb, order: arb) -> arb:
    """Return an upper bound of the integral beyond +-end, of phi (L^alpha + alpha) above and phi (1 + alpha) below."""
    growth = order * (order - 1) / (2 * nu * nu)
    return growth.exp() * normal_tail(end - order / nu) + (1 + 2 * order) * normal_tail(end)


def _pieces(nu: arb, order: arb, q: arb, bits: int) -> tuple[list[arb], arb]:
    """Return where to cut the axis, -end first and end last, and where to change form, as in `tight_moment`."""
    end = safe_end(order / nu, order * (order - 1) / (2 * nu * nu) + 2 * nu.log1p() - 2 * q.log(), bits)
    crossing, peak = nu * ((1 - q) / q).log() + 1 / (2 * nu), order / nu
    inner = breakpoints(2 * end, [end + p for p in (crossing, peak - 8, peak, peak + 8, arb(-8), arb(0), arb(8))])
    return [point - end for point in inner], crossing


def _integrand(nu: arb, order: arb, q: arb, crossing: arb) -> Integrand:
    """Return phi (y^alpha - 1 - alpha (y-1)) sqrt(2 pi), written as in `tight_moment` on either side."""
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


LEAST_NOISE = Fraction(1, 10**4)
"""Below this epsilon is above 10^7 whatever the rate: the integral would only take minutes."""


def tight_moment(rate: Fraction, noise_multiplier: Fraction, alpha: Fraction, bits: int) -> arb:
    """Enclose M(alpha) - 1 = exp((alpha-1) eps(alpha)) - 1 of the dominating pair, for any real alpha > 1."""
    if noise_multiplier < LEAST_NOISE:
        raise CannotCertifyError(f"nu={shown(noise_multiplier)} is too little noise to integrate; it hides nothing")
    nu, order = arb_from_fraction(noise_multiplier), arb_from_fraction(alpha)
    with guarded(order * order / (2 * nu * nu)):
        nu, order, q = arb_from_fraction(noise_multiplier), arb_from_fraction(alpha), arb_from_fraction(rate)
        pieces, crossing = _tight_pieces(nu, order, q, bits)
        value = integral(_tight_integrand(nu, order, q, crossing), pieces, bits) / (2 * arb.pi()).sqrt()
        return value + tight_rest_beyond(pieces[-1], nu, order, q) * arb(0.5, 0.5)


def tight_rest_beyond(end: arb, nu: arb, order: arb, q: arb) -> arb:
    """Return an upper bound of the integral from `end` on."""
    b = order + 2
    growth = b * (b - 1) / (2 * nu * nu)
    return order * (order - 1) * q * q * growth.exp() * normal_tail(end + 1 / (2 * nu) - b / nu)


def _tight_pieces(nu: arb, order: arb, q: arb, bits: int) -> tuple[list[arb], arb]:
    """Return where to cut the axis, 0 first and the end last, and where to change the form of the integrand.

    Any cut gives an enclosure, because the rest is added, and either form is the integrand; these make it narrow.
    """
    c, b = 1 / (2 * nu), order + 2
    end = safe_end(b / nu - c, b * (b - 1) / (2 * nu * nu) + 2 * nu.log1p(), bits)
    peak, crossing = order / nu - c, nu * ((1 - q) / q).log1p()
    return breakpoints(end, [crossing, peak - 8, peak, peak + 8, nu, arb(1), arb(8)]), crossing


def _tight_integrand(nu: arb, order: arb, q: arb, crossing: arb) -> Integrand:
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
