r"""The Gaussian mechanism: its privacy profile exactly.

T adaptive Gaussian releases are mu-GDP with mu^2 the sum of (Delta_k/sigma_k)^2 (Dong, Roth and Su 2022), so that

    delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)            (Balle and Wang 2018, Theorem 8)

loses nothing. [CL20] Theorem 3 goes through Renyi orders instead and pays for it.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import (
    Bound,
    arb_from_fraction,
    arb_precision,
    fraction_from_arb,
    has_digits,
    normal_tail,
    precisions,
    shown,
)

LARGE_MU = 64
FAR = 4096
"""From here on the second tail is taken by its asymptotic series; its 40th term is below 10^-200 of the first."""

MOST_DOUBLINGS = 40
"""epsilon <= mu^2/2 + mu sqrt(2 log(1/delta)): where so many doublings are not enough, the precision is not."""

SMALLEST_UPPER = arb(2) ** -100_000
"""An upper bound need not be smaller than this, and its exact value would be unwieldy."""


def gaussian_delta(mu_squared: Fraction, epsilon: Fraction, *, digits: int = 30) -> Bound:
    """Enclose delta(epsilon) of mu-GDP to `digits` significant digits."""
    for bits in precisions(digits):
        with arb_precision(bits):
            ball = delta_ball(arb_from_fraction(mu_squared).sqrt(), arb_from_fraction(epsilon))
            if has_digits(ball, digits):
                return Bound.from_arb(ball)
    raise CannotCertifyError(f"delta at epsilon {shown(epsilon)}, mu^2 {shown(mu_squared)} needs more than {bits} bits")


def gaussian_delta_upper(mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    """Return an upper bound of delta(epsilon), sharp wherever it is not absurdly small; it always has an answer.

    Falls back on the first of the two tails, Phi(mu/2 - eps/mu), which is larger than the difference.
    """
    with arb_precision(256):
        mu, e = arb_from_fraction(mu_squared).sqrt(), arb_from_fraction(epsilon)
        tail, ball = normal_tail(-(mu / 2 - e / mu)).upper(), delta_ball(mu, e).upper()
        best = ball if ball.is_finite() and ball > 0 and ball < tail else tail
        return fraction_from_arb(best.min(arb(1)).max(SMALLEST_UPPER).upper())


def gaussian_epsilon(mu_squared: Fraction, delta: Fraction, *, digits: int = 30) -> Bound:
    """Enclose the smallest epsilon >= 0 with delta(epsilon) <= delta, to `digits` significant digits.

    A guess is refined by bisection on balls; both ends are then certified by the sign of delta(end) - delta, which
    is decisive because delta(.) decreases strictly.
    """
    for bits in precisions(digits):
        with arb_precision(bits):
            mu, target = arb_from_fraction(mu_squared).sqrt(), arb_from_fraction(delta)
            at_zero = delta_ball(mu, arb(0))
            if at_zero < target:
                return Bound.from_arb(arb(0))
            found = _bracket(mu, target, digits) if at_zero > target else None
        if found is not None:
            return Bound.from_fractions(*found)
    raise CannotCertifyError(f"epsilon at delta {shown(delta)}, mu^2 {shown(mu_squared)} needs more than {bits} bits")


def delta_ball(mu: arb, epsilon: arb) -> arb:
    """Return delta(epsilon) of mu-GDP as a ball at the working precision."""
    half, slope = mu / 2, epsilon / mu
    if half + slope > FAR:
        density = (-((half - slope) ** 2) / 2).exp() / (2 * arb.pi()).sqrt()
        return normal_tail(-(half - slope)) - density * _mills_ratio(half + slope)
    return normal_tail(-(half - slope)) - epsilon.exp() * normal_tail(-(-half - slope))


def _mills_ratio(x: arb) -> arb:
    r"""Enclose Phi(-x)/phi(x) for large x: 1/x - 1/x^3 + 3/x^5 - ..., off by at most the first term left out.

    e^eps phi(mu/2 + eps/mu) = phi(mu/2 - eps/mu), so with it nothing overflows that later cancels.
    """
    term, total, k = 1 / x, arb(0), 0
    while not abs(term) < abs(total) * arb(2) ** -5000 and k < 40:
        total += term
        term = -term * (2 * k + 1) / (x * x)
        k += 1
    return total + arb(0, 1) * abs(term)


def _bracket(mu: arb, target: arb, digits: int) -> tuple[Fraction, Fraction] | None:
    """Return (lower, upper) around the root, or None where the working precision cannot decide a sign."""
    upper = mu * mu / 2 + mu
    for _ in range(MOST_DOUBLINGS):
        if delta_ball(mu, upper) < target:
            break
        upper = upper * 2
    else:
        return None
    guess = _newton(mu, target, upper)
    centre = fraction_from_arb(guess.mid())
    slack = abs(centre) / 10**digits / 4
    low, high = centre - slack, centre + slack
    certified = low > 0 and _is_above(mu, target, low) and _is_below(mu, target, high)
    return (low, high) if certified else None


def _newton(mu: arb, target: arb, upper: arb) -> arb:
    r"""Return an approximation (no error bound) of the root of log delta(eps) = log target, which is concave in eps.

    d delta / d eps = -e^eps Phi(-mu/2 - eps/mu); Newton on the logarithm, kept inside a shrinking bracket.
    """
    low, high = arb(0), arb(upper.mid())
    guess = ((low + high) / 2).mid()
    if mu > LARGE_MU:  # the middle is in the flat part of the curve; the root is near mu^2/2 + mu z, Phi(-z) = delta
        near = (mu * mu / 2 + mu * (-2 * target.log()).max(arb(0)).sqrt() * 3 / 4).mid()
        guess = near if near > low and near < high else guess
    for _ in range(400):
        value = delta_ball(mu, guess).mid()
        if not value > 0:
            high = guess
            guess = ((low + high) / 2).mid()
            continue
        low, high = (guess, high) if value > target.mid() else (low, guess)
        slope = guess.exp() * normal_tail(-(-mu / 2 - guess / mu)) / value
        move = ((value / target).log() / slope).mid()
        following = (guess + move).mid()
        if not (following > low and following < high):
            following = ((low + high) / 2).mid()
        if abs(following - guess) <= abs(guess) * arb(2) ** (-_working_bits(mu)):
            return following
        guess = following
    return guess


def _working_bits(ball: arb) -> int:
    return max(20, ball.rel_accuracy_bits() - 24)


def _is_above(mu: arb, target: arb, epsilon: Fraction) -> bool:
    return bool(delta_ball(mu, arb_from_fraction(epsilon)) > target)


def _is_below(mu: arb, target: arb, epsilon: Fraction) -> bool:
    return bool(delta_ball(mu, arb_from_fraction(epsilon)) < target)
