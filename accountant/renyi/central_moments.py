r"""Central moments of the Gaussian's likelihood ratio: B(l) = E_Q[(dP/dQ - 1)^l] for even l.

B(l) is the l-th forward difference at 0 of a_i = e^{i(i-1)x/2}, an alternating sum that cancels almost completely
(115 digits at x = 1e-6). It is taken here in exact integers: each a_i is rounded once to a multiple of 2^-P, so
B(l) is off by at most 2^l 2^-P, *whatever* cancels, and P is chosen from the problem by the lower bound

    B(l) >= E[(L-1)^2]^{l/2} = (e^x - 1)^{l/2} >= x^{l/2}               (Jensen, l even).
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from flint import arb, fmpz

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_from_fraction, arb_precision

SEARCH_WORK, ANSWER_WORK = 10**7, 10**9
"""Machine words the table of differences may touch: a search looks at many orders with few bits (some 20 ms each),
an answer at one (some two seconds). More is refused."""

SEARCH_BITS = 64


def central_moments(ratio_squared: Fraction, last: int, bits: int) -> dict[int, arb]:
    """Return balls around B(l), l even and at most last + 1, each with at least `bits` correct bits."""
    top = last + last % 2
    fixed = _fixed_point_bits(ratio_squared, top, bits)
    if top * top * (fixed // 64 + 8) > (SEARCH_WORK if bits <= SEARCH_BITS else ANSWER_WORK):
        raise CannotCertifyError(f"Theorem 27 needs moment {top} to {fixed} bits here: too much work")
    column = _fixed_point_moments(ratio_squared, top, fixed)
    central: dict[int, arb] = {}
    with arb_precision(bits + 16):
        unit = arb(2) ** (-fixed)
        for level in range(top + 1):
            if level % 2 == 0:
                central[level] = (arb(fmpz(column[0])) + arb(0, 1) * arb(2) ** level) * unit
            column = [after - before for before, after in itertools.pairwise(column)]
    return central


def first_useless_moment(ratio_squared: Fraction) -> int:
    r"""Return an even l from which on B(l) >= a_l/2, so that 4 sqrt(B B) >= 2 a_j for every j > l.

    (1-u)^l >= 1 - l u for u >= 0 and even l gives B(l) >= a_l - l a_{l-1} = a_l (1 - l e^{-(l-1)x}). The subtracted
    part falls in l once l x >= 1, which 2 l e^{-(l-1)x} <= 1 implies. For odd j, a_{j-1} a_{j+1} = a_j^2 e^x >= a_j^2.
    """
    with arb_precision(64):
        x = arb_from_fraction(ratio_squared)
        level = 2
        while not 2 * level * (-(level - 1) * x).exp() <= 1:
            level += 2 * (1 + level // 64)
    return level


def _fixed_point_bits(ratio_squared: Fraction, top: int, bits: int) -> int:
    """Return P with 2^top 2^-P <= 2^-bits B(l) for all l <= top, by B(l) >= x^{l/2}."""
    below_one = max(0, ratio_squared.denominator.bit_length() - ratio_squared.numerator.bit_length() + 1)
    return bits + top + below_one * (top // 2) + 8


def _fixed_point_moments(ratio_squared: Fraction, top: int, fixed: int) -> list[int]:
    """Return round(2^P e^{i(i-1)x/2}) for i = 0..top, each within 1 of the truth."""
    extra = top.bit_length() * 3 + 16
    with arb_precision(32):
        largest = int((arb_from_fraction(ratio_squared) * (top * (top - 1) // 2) * 3 / 2).upper().ceil().fmpz())
    with arb_precision(fixed + largest + extra):
        growth = arb_from_fraction(ratio_squared).exp()
        scale, power, moment = arb(2) ** fixed, arb(1), arb(1)
        moments = [1 << fixed, 1 << fixed]
        for _ in range(2, top + 1):
            power = power * growth
            moment = moment * power
            moments.append(_nearest_integer(moment * scale))
    return moments


def _nearest_integer(ball: arb) -> int:
    """Return an integer within 1 of every number in the ball; the precision was chosen so that there is one."""
    centre = (ball.mid() + arb(1) / 2).floor()
    integer = int(centre.fmpz())
    if not abs(ball - integer) < 1:
        raise AssertionError("the working precision of a moment was chosen too small")
    return integer
