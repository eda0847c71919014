"""The contour route: its error bounds hold against definitions evaluated in 60 digits, and they are narrow.

The oracle uses no error bound of the route: moments are trapezoidal sums of their defining integral, and the inversion
formula is summed on another line, with another spacing, until its terms vanish. Balls only carry its rounding.
"""

from __future__ import annotations

import functools
from fractions import Fraction

import pytest
from flint import acb, arb

from accountant.certificates.contour_route import composed_delta, phases_of
from accountant.certificates.integer_route import ExactPair
from accountant.numbers import arb_from_fraction, arb_precision, fraction_from_arb
from accountant.profiles.one_step import SubsampledGaussian

BITS = 200
TIGHT = Fraction(1, 4000)
"""Of delta: what a check may leave open (a ten thousandth is spent on the largest losses, the rest is rounding)."""
PAIRS = [ExactPair.MIXTURE_FIRST, ExactPair.MIXTURE_SECOND]
PERIOD = 40
LINE = 2


@functools.cache
def nodes(rate: Fraction, noise: Fraction) -> list[tuple[arb, arb]]:
    """(weight, log ratio) on a trapezoidal grid in z: the integrand is analytic far beyond its spacing."""
    q, mu, spacing = arb_from_fraction(rate), arb_from_fraction(1 / noise), arb(1) / 8
    points = [spacing * k for k in range(-128, 193)]
    return [
        (spacing * (-z * z / 2).exp() / (2 * arb.pi()).sqrt(), (1 - q + q * (mu * z - mu * mu / 2).exp()).log())
        for z in points
    ]


def moment(pair: ExactPair, rate: Fraction, noise: Fraction, s: acb) -> acb:
    """M(s) = E[e^{s loss}] from its definition."""
    power = 1 + s if pair is ExactPair.MIXTURE_FIRST else -s
    total = acb(0)
    for weight, loss in nodes(rate, noise):
        total += weight * (power * loss).exp()
    return total


def inverted(pair: ExactPair, rate: Fraction, noise: Fraction, count: int, epsilon: Fraction) -> Fraction:
    r"""delta(epsilon) of `count` steps: (1/pi) times the sum of Re M(s)^T e^{-s eps}/(s(1+s)) on s = 2 + i tau.

    The spacing is 2 pi/40, so aliases are below e^-80 below and as small as delta(epsilon + 40) above; the line ends
    where a term is below 1e-22.
    """
    with arb_precision(BITS):
        spacing, total, eps = 2 * arb.pi() / PERIOD, arb(0), arb_from_fraction(epsilon)
        for k in range(2000):
            s = acb(arb(LINE), k * spacing)
            term = (moment(pair, rate, noise, s) ** count * (-s * eps).exp() / (s * (1 + s))).real
            total += term if k else term / 2
            if k > 8 and bool(abs(term) < arb(10) ** -22):
                break
        return fraction_from_arb((total * spacing / arb.pi()).mid())


def is_inside(found: arb, truth: Fraction) -> bool:
    with arb_precision(BITS):
        slack = arb_from_fraction(truth) * arb(0, 1e-15)  # the oracle's own ends
        return bool(found.overlaps(arb_from_fraction(truth) + slack))


def is_tight(found: arb, truth: Fraction) -> bool:
    with arb_precision(128):
        return fraction_from_arb((found.upper() - found.lower()).upper()) <= TIGHT * truth


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    ("rate", "noise", "count", "epsilon"),
    [(Fraction(1, 4), Fraction(3), 200, Fraction(2)), (Fraction(1, 2), Fraction(4), 90, Fraction(3))],
)
def test_many_steps_are_the_inversion_formula_in_many_digits(
    pair: ExactPair, rate: Fraction, noise: Fraction, count: int, epsilon: Fraction
) -> None:
    truth = inverted(pair, rate, noise, count, epsilon)
    found = composed_delta([SubsampledGaussian(rate, noise, count)], pair, epsilon, truth)
    assert is_inside(found, truth)
    assert is_tight(found, truth)
    split = [SubsampledGaussian(rate, noise, count - 30), SubsampledGaussian(rate, noise, 30)]
    assert is_inside(composed_delta(split, pair, epsilon, truth), truth)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(("real", "imaginary"), [("0.5", 0), ("3", 2), ("8", 40)])
def test_a_moment_is_its_defining_integral(pair: ExactPair, real: str, imaginary: int) -> None:
    rate, noise = Fraction(1, 10), Fraction(2)
    with arb_precision(BITS):
        (phase,) = phases_of([SubsampledGaussian(rate, noise, 5)], pair, Fraction(1, 10**40))
        s = acb(arb(real), arb(imaginary))
        found, truth = phase.moment(s), moment(pair, rate, noise, s)
        left_out = arb(0, 1) * (phase.dropped.upper() * (20 * arb(real)).exp() + arb(10) ** -30)
        for part, exact in ((found.real, truth.real), (found.imag, truth.imag)):
            assert (part + left_out).overlaps(exact)
            assert bool(part.rad() < arb(10) ** -15)


def test_a_delta_off_by_a_thousandth_is_told_apart() -> None:
    """What the route is for: a forged end a thousandth off is outside the enclosure."""
    step, epsilon = SubsampledGaussian(Fraction(1, 10), Fraction(2), 50), Fraction(1)
    found = composed_delta([step], ExactPair.DOMINATING, epsilon, Fraction(1, 1000))
    with arb_precision(128):
        middle = fraction_from_arb(found.mid())
        assert not found.overlaps(arb_from_fraction(middle * Fraction(999, 1000)))
        assert not found.overlaps(arb_from_fraction(middle * Fraction(1001, 1000)))
