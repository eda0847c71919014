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
    r"""Return the sum over all answers of (P - e^eps P')_+, both probabilities of the binomial laws.

    Answers are multiplied in one release after the other; equal losses are one state.
    """
    with mp.workdps(digits + 15):
        states: dict[Fraction, tuple[mpf, mpf]] = {Fraction(0): (mpf(1), mpf(1))}
        for spent, count in releases:
            keep = 1 / (1 + mp.exp(-number(spent)))
            following: dict[Fraction, tuple[mpf, mpf]] = {}
            for (loss, (p, q)), kept in itertools.product(states.items(), range(count + 1)):
                at = loss + (2 * kept - count) * spent
                ways = mp.binomial(count, kept)
                one = p * ways * keep**kept * (1 - keep) ** (count - kept)
                other = q * ways * keep ** (count - kept) * (1 - keep) ** kept
                before = following.get(at, (mpf(0), mpf(0)))
                following[at] = before[0] + one, before[1] + other
            states = following
            if len(states) > MOST_LOSSES:
                raise CertificateError(f"more than {MOST_LOSSES} losses: no price of these releases is computed")
        growth = mp.exp(number(epsilon))
        return mp.fsum([max(p - growth * q, mpf(0)) for p, q in states.values()])
