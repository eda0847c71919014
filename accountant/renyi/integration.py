"""Rigorous one-dimensional integration in balls: what the Renyi integrals share."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from flint import acb, arb

from accountant.numbers import fraction_from_arb

Integrand = Callable[[acb, bool], acb]


def integral(function: Integrand, points: list[arb], bits: int) -> arb:
    """Enclose the integral of a function, real and >= 0 on the axis, between the first and the last point.

    flint's Gauss-Legendre integration proves its error. Its tolerance is set from a proved lower bound of the whole,
    so that a piece which does not matter is not refined. A wide answer is still a proved one: the caller looks.
    """
    tolerance = _lower_bound(function, points) * arb(2) ** (-bits) / len(points)
    total = arb(0)
    for start, end in itertools.pairwise(points):
        goal = (tolerance + total.lower() * arb(2) ** (-bits)).lower()
        piece = acb.integral(function, acb(start), acb(end), rel_tol=arb(2) ** (-bits), abs_tol=goal)
        total += piece.real
    return total


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
