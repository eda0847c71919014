"""Rigorous one-dimensional integration in balls: what the Renyi integrals share."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

import flint
from flint import acb, arb

from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.numbers import arb_precision, fraction_from_arb

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
    return [arb(0), *(inside[key] for key in sorted(inside)), end]


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


def normal_tail(x: arb) -> arb:
    """Return P(Z > x) of a standard normal Z."""
    return (x / arb(2).sqrt()).erfc() / 2


def safe_end(centre: arb, log_growth: arb, bits: int) -> arb:
    """Return an exact end W whose Gaussian tail, times e^log_growth, is far below 2^-bits."""
    spread = (2 * (log_growth + bits + 20)).sqrt()
    return (centre + spread + 2).upper().ceil()
