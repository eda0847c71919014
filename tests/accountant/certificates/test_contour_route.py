"""The contour route: its error bounds hold against definitions evaluated in 60 digits, and they are narrow."""

from __future__ import annotations

import functools
from fractions import Fraction

import mpmath
import pytest
from flint import acb, arb

from accountant.certificates.contour_moments import phases_of
from accountant.certificates.contour_route import composed_delta
from accountant.certificates.integer_route import ExactPair
from accountant.numbers import arb_from_fraction, arb_precision, fraction_from_arb
from accountant.profiles.one_step import SubsampledGaussian

mp = mpmath.mp.clone()
mp.dps = 60
TIGHT = Fraction(1, 4000)
"""Of delta: what a check may leave open (a ten thousandth is spent on the largest losses, the rest is rounding)."""


def num(value: Fraction) -> mpmath.mpf:
    return mp.mpf(value.numerator) / value.denominator


def inverted(pair: ExactPair, rate: Fraction, noise: Fraction, count: int, epsilon: Fraction) -> mpmath.mpf:
    r"""delta(epsilon) of `count` steps by the inversion formula in 40 digits: a longer, finer and other line.

    (1/pi) times the trapezoidal sum of Re M(s)^T e^{-s eps}/(s(1+s)) on s = 2 + i tau. The step is 2 pi/40, so aliases
    are below e^-80 and, above, as small as delta(epsilon + 40); the line ends where a term is below 1e-30.
    """
    theta, spacing, total = mp.mpf(2), 2 * mp.pi / 40, mp.mpf(0)
    for k in range(2000):
        s = mp.mpc(theta, k * spacing)
        term = (_moment(pair, rate, noise, 2.0, k) ** count * mp.exp(-s * num(epsilon)) / (s * (1 + s))).real
        total += term / (1 if k else 2)
        if k > 8 and abs(term) < mp.mpf(10) ** -22:
            break
    return total * spacing / mp.pi


def is_inside(found: arb, truth: mpmath.mpf) -> bool:
    with arb_precision(300):
        exact = arb(mp.nstr(truth, 50))
        return bool(found.lower() <= exact.upper()) and bool(exact.lower() <= found.upper())


def is_tight(found: arb, truth: mpmath.mpf) -> bool:
    with arb_precision(128):
        width = fraction_from_arb((found.upper() - found.lower()).upper())
    return num(width) <= num(TIGHT) * truth


PAIRS = [ExactPair.MIXTURE_FIRST, ExactPair.MIXTURE_SECOND]


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    ("rate", "noise", "count", "epsilon"),
    [(Fraction(1, 4), Fraction(3), 200, Fraction(2)), (Fraction(1, 2), Fraction(4), 90, Fraction(3))],
)
def test_many_steps_are_the_inversion_formula_in_many_digits(
    pair: ExactPair, rate: Fraction, noise: Fraction, count: int, epsilon: Fraction
) -> None:
    with mp.workdps(40):
        truth = inverted(pair, rate, noise, count, epsilon)
    steps = [SubsampledGaussian(rate, noise, count)]
    found = composed_delta(steps, pair, epsilon, Fraction(str(mp.nstr(truth, 15))))
    assert is_inside(found, truth)
    assert is_tight(found, truth)
    split = [SubsampledGaussian(rate, noise, count - 30), SubsampledGaussian(rate, noise, 30)]
    assert is_inside(composed_delta(split, pair, epsilon, Fraction(str(mp.nstr(truth, 15)))), truth)


@functools.cache
def _nodes(rate: Fraction, noise: Fraction) -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """(weight, log ratio) on a trapezoidal grid: the integrand is analytic far beyond its spacing."""
    q, mu, spacing = num(rate), 1 / num(noise), mp.mpf(1) / 8
    points = [spacing * k for k in range(-128, 193)]
    return [
        (spacing * mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi), mp.log(1 - q + q * mp.exp(mu * z - mu * mu / 2)))
        for z in points
    ]


def _moment(pair: ExactPair, rate: Fraction, noise: Fraction, real: float, k: int) -> mpmath.mpc:
    """M(s) at s = real + 2 pi i k/40, from its definition."""
    s = mp.mpc(real, k * 2 * mp.pi / 40)
    power = 1 + s if pair is ExactPair.MIXTURE_FIRST else -s
    return mp.fsum(weight * mp.exp(power * loss) for weight, loss in _nodes(rate, noise))


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(("real", "k"), [(0.5, 0), (3.0, 13), (8.0, 250)])
def test_a_moment_is_its_defining_integral(pair: ExactPair, real: float, k: int) -> None:
    rate, noise = Fraction(1, 10), Fraction(2)
    with arb_precision(128):
        (phase,) = phases_of([SubsampledGaussian(rate, noise, 5)], pair, Fraction(1, 10**30))
        found = phase.moment(acb(arb(real), 2 * k * arb.pi() / 40))
        left_out = abs(num(fraction_from_arb(phase.dropped.upper()))) * mp.exp(real * 20)
    truth = _moment(pair, rate, noise, real, k)
    for part, exact in ((found.real, truth.real), (found.imag, truth.imag)):
        with arb_precision(300):
            distance = abs(part.mid() - arb(mp.nstr(exact, 40)))
            allowed = part.rad() + arb(mp.nstr(left_out + mp.mpf(10) ** -30, 20))
            assert bool(distance <= allowed), (part, exact)
            assert bool(part.rad() < arb(10) ** -15)


def test_a_delta_too_small_by_a_thousandth_is_told_apart() -> None:
    """What the route is for: a forged end a thousandth off is outside the enclosure."""
    step, epsilon = SubsampledGaussian(Fraction(1, 10), Fraction(2), 50), Fraction(1)
    found = composed_delta([step], ExactPair.DOMINATING, epsilon, Fraction(1, 1000))
    with arb_precision(128):
        middle = fraction_from_arb(found.mid())
        assert not found.overlaps(arb_from_fraction(middle * Fraction(999, 1000)))
        assert not found.overlaps(arb_from_fraction(middle * Fraction(1001, 1000)))
