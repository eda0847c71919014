"""What mpmath found compared with rationals: exactly, however extreme the number is (e^{-10^17} is a fine delta)."""

from __future__ import annotations

from fractions import Fraction

from mpmath import mpf

from accountant.dyadic import Dyadic
from accountant.errors import CannotCertifyError
from accountant.numbers import end_of_mpf


def exceeds(value: mpf, bound: Fraction) -> bool:
    """Say whether an mpf is above a rational; NaN is refused."""
    return _compared(value).exceeds(bound)


def reaches(value: mpf, bound: Fraction) -> bool:
    """Say whether an mpf is at least a rational; NaN is refused."""
    return not (-_compared(value)).exceeds(-bound)


def _compared(value: mpf) -> Dyadic:
    """Return the number with all its digits: mpmath's own minus sign would round to the working precision."""
    end = end_of_mpf(value)
    if end is None:
        raise CannotCertifyError("a number that is compared is NaN: the computation broke down")
    return end
