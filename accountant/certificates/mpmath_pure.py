"""The second route to the composition of pure releases: mpmath, from the definition of delta over all answers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from mpmath import mp, mpf

from accountant.certificates.mpmath_route import number
from accountant.errors import CertificateError
from accountant.profiles.pure import MOST_LOSSES


def randomised_response_delta(releases: Sequence[tuple[Fraction, int]], epsilon: Fraction, digits: int) -> mpf:
    r"""Return the sum over all answers of (P - e^eps P')_+ = P (1 - e^(eps - loss))_+, P of the binomial laws.

    Answers are multiplied in one release after the other; equal losses are one state. Losses are rational, so that
    nothing cancels and the smallest delta has all its digits.
    """
    with mp.workdps(digits + 15):
        states: dict[Fraction, mpf] = {Fraction(0): mpf(1)}
        for spent, count in releases:
            keep, turn = 1 / (1 + mp.exp(-number(spent))), 1 / (1 + mp.exp(number(spent)))
            following: dict[Fraction, mpf] = {}
            for (loss, p), kept in itertools.product(states.items(), range(count + 1)):
                at = loss + (2 * kept - count) * spent
                one = p * mp.binomial(count, kept) * keep**kept * turn ** (count - kept)
                following[at] = following.get(at, mpf(0)) + one
            states = following
            if len(states) > MOST_LOSSES:
                raise CertificateError(f"more than {MOST_LOSSES} losses: no price of these releases is computed")
        return mp.fsum([-p * mp.expm1(number(epsilon - loss)) for loss, p in states.items() if loss > epsilon])
