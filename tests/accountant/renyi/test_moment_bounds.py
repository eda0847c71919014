"""What is left out of a sum or an integral is bounded soundly, and just as the formula says."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import acb, arb

from accountant import numbers
from accountant.numbers import Bound, arb_from_fraction, arb_precision, fraction_of
from accountant.renyi import integrals
from accountant.renyi import moments as chi_moments
from accountant.renyi.moments import lemma2_at_least, lemma2_moment, wbk27_at_least, wbk27_moment

mp = mpmath.MPContext()
mp.dps = 40
# rate, noise multiplier, order, where the axis is cut
CUTS = [("1/10", "1", "5/2", 2), ("1/1000", "4", "7/5", 1), ("3/4", "2/5", "3", 9), ("1", "3", "11/10", 1)]


def number(text: str) -> mpmath.mpf:
    value = Fraction(text)
    return mp.mpf(value.numerator) / value.denominator


def tail(x: mpmath.mpf) -> mpmath.mpf:
    return mp.erfc(x / mp.sqrt(2)) / 2


def agree(ball: arb, value: mpmath.mpf) -> bool:
    bound = Bound.from_arb(ball)
    middle = (fraction_of(bound.lower) + fraction_of(bound.upper)) / 2
    return abs(mp.mpf(middle.numerator) / middle.denominator - value) <= abs(value) * mp.mpf(10) ** -30


@pytest.mark.parametrize(("rate", "multiplier", "alpha", "end"), CUTS)
def test_the_rest_of_the_tight_integral_is_the_printed_bound(rate: str, multiplier: str, alpha: str, end: int) -> None:
    q, nu, order = map(number, (rate, multiplier, alpha))
    b = order + 2
    printed = order * (order - 1) * q**2 * mp.exp(b * (b - 1) / (2 * nu**2)) * tail(end - b / nu + 1 / (2 * nu))
    with arb_precision(160):
        balls = [arb_from_fraction(Fraction(text)) for text in (multiplier, alpha, rate)]
        assert agree(integrals.tight_rest_beyond(arb(end), *balls), printed)


@pytest.mark.parametrize(("rate", "multiplier", "alpha", "end"), CUTS)
def test_the_rest_of_the_poisson_integral_is_the_printed_bound(
    rate: str, multiplier: str, alpha: str, end: int
) -> None:
    nu, order = map(number, (multiplier, alpha))
    above = mp.exp(order * (order - 1) / (2 * nu**2)) * tail(end - order / nu) + order * tail(mp.mpf(end))
    below = (1 + order) * tail(mp.mpf(end))
    with arb_precision(160):
        balls = [arb_from_fraction(Fraction(text)) for text in (multiplier, alpha)]
        assert agree(integrals.rest_beyond(arb(end), *balls), above + below)


@pytest.mark.parametrize(("rate", "multiplier", "alpha", "end"), CUTS)
def test_wherever_the_tight_integral_is_cut_the_ball_holds_the_whole(
    monkeypatch: pytest.MonkeyPatch, rate: str, multiplier: str, alpha: str, end: int
) -> None:
    q, nu, order = map(Fraction, (rate, multiplier, alpha))
    with arb_precision(160):
        whole = integrals.tight_moment(q, nu, order, 100)
        monkeypatch.setattr(integrals, "_tight_pieces", lambda *_: ([arb(0), arb(end)], arb(end)))
        early = integrals.tight_moment(q, nu, order, 100)
        rest = integrals.tight_rest_beyond(arb(end), *map(arb_from_fraction, (nu, order, q)))
        assert early.contains(whole)
        assert early.rad() < rest * (arb(1) / 2 + arb(2) ** -20)


@pytest.mark.parametrize(("rate", "multiplier", "alpha", "end"), CUTS[:3])
def test_wherever_the_poisson_integral_is_cut_the_ball_holds_the_whole(
    monkeypatch: pytest.MonkeyPatch, rate: str, multiplier: str, alpha: str, end: int
) -> None:
    q, nu, order = map(Fraction, (rate, multiplier, alpha))
    order += Fraction(1, 7)  # an integer order is summed
    with arb_precision(160):
        whole = integrals.poisson_moment(q, nu, order, 100)
        monkeypatch.setattr(integrals, "_pieces", lambda *_: ([arb(-end), arb(0), arb(end)], arb(end)))
        early = integrals.poisson_moment(q, nu, order, 100)
        rest = integrals.rest_beyond(arb(end), *map(arb_from_fraction, (nu, order)))
        assert early.contains(whole)
        assert early.rad() < rest * (arb(1) / 2 + arb(2) ** -20)


@pytest.mark.parametrize("bits", [2, 4, 8, 16, 32])
@pytest.mark.parametrize(
    ("rate", "ratio_squared", "alpha"),
    [
        (Fraction(1, 100), Fraction(1, 10**4), 120),
        # successive terms are hardly smaller than each other for as long as the proof's condition allows
        *(
            (rate, Fraction(4, alpha + 1), alpha)
            for rate in (Fraction(6, 100), Fraction(7, 100))
            for alpha in (40, 100)
        ),
        # just beyond that condition, and well beyond
        *((Fraction(4, 100), Fraction(x, 101), 100) for x in (Fraction(41, 10), Fraction(5), Fraction(8))),
        (Fraction(1, 100), Fraction(1, 100), 120),
    ],
    ids=str,
)
def test_a_sum_that_ends_early_holds_the_whole_and_is_as_narrow_as_asked(
    rate: Fraction, ratio_squared: Fraction, alpha: int, bits: int
) -> None:
    """Theorem 27 takes the same terms, or smaller ones: what is left out of either is small beside Lemma 2."""
    with arb_precision(300):
        scale = lemma2_moment(rate, ratio_squared, alpha, 200)
        for moment in (lemma2_moment, wbk27_moment):
            early, whole = moment(rate, ratio_squared, alpha, bits), moment(rate, ratio_squared, alpha, 200)
            assert early.contains(whole)
            assert early.rad() <= scale * arb(2) ** (1 - bits)


def test_lemma_2_is_at_least_the_closed_form_which_it_reaches_as_the_noise_grows() -> None:
    rate, alpha = Fraction(1, 10), 40
    with arb_precision(200):
        for nu in (1, 10, 100, 10**5):
            least = lemma2_at_least(rate, Fraction(1, nu**2), alpha)
            moment = lemma2_moment(rate, Fraction(1, nu**2), alpha, 80)
            assert least <= moment
        assert least >= moment * (1 - arb(10) ** -6)


def test_theorem_27_is_at_least_the_closed_form_which_is_right_but_for_the_fourth_moment() -> None:
    r"""As x falls B(4) = 3 x^2, so the third term, the largest, is 4 sqrt(3) x^{3/2}; B(4) >= x^2 was used."""
    rate, alpha, x = Fraction(1, 10**6), 40, Fraction(1, 10**8)
    with arb_precision(200):
        second = arb_from_fraction(rate) ** 2 * (alpha * (alpha - 1) // 2) * 4 * arb_from_fraction(x).expm1()
        least, moment = wbk27_at_least(rate, x, alpha) - second, wbk27_moment(rate, x, alpha, 120) - second
        assert abs(least / moment * arb(3).sqrt() - 1) < arb(10) ** -3


def test_beyond_half_a_moment_of_one_the_closed_form_of_theorem_27_is_its_second_term() -> None:
    rate, alpha = Fraction(1, 10), 20
    with arb_precision(120):
        for x in ("0.62", "0.63", "0.64", "2"):  # 4 x^{3/2} = 2 at x = 0.62996
            ratio_squared = arb_from_fraction(Fraction(x))
            second = arb(19) / 10 * (4 * ratio_squared.expm1()).min(2 * ratio_squared.exp())
            assert bool(wbk27_at_least(rate, Fraction(x), alpha) > second) is (x == "0.62")


@pytest.mark.parametrize(
    ("x", "analytic"), [("-1.5", False), ("-1", False), ("-0.5", True), ("-0.999", True), ("2", True)]
)
def test_a_logarithm_at_its_cut_is_never_called_analytic(x: str, analytic: bool) -> None:
    """The integration trusts what is said of analyticity: just this makes its error a proved one."""
    with arb_precision(80):
        for ball in (acb(arb(x), arb(0, 0.25)), acb(arb(x))):
            assert integrals.log1p_analytic(ball, True).is_finite() is analytic
            assert integrals.log_analytic(1 + ball, True).is_finite() is analytic
        above = acb(arb(x), arb(1))
        for is_asked in (True, False):
            assert integrals.log1p_analytic(above, is_asked).overlaps((1 + above).log())


def test_the_path_of_an_integral_is_from_zero_to_its_end_in_order() -> None:
    points = integrals.breakpoints(arb(9), [arb(4), arb(-1), arb(2), arb(11), arb(4), arb(0), arb(9)])
    assert [float(point.mid()) for point in points] == [0, 2, 4, 9]


def test_poisson_without_sampling_is_the_gaussian_at_every_real_order() -> None:
    with arb_precision(160):
        for alpha in (Fraction(3, 2), Fraction(7), Fraction(22, 7)):
            moment = integrals.poisson_moment(Fraction(1), Fraction(2), alpha, 100)
            assert moment.log1p().overlaps(arb_from_fraction(alpha * (alpha - 1) / 8))
            assert moment.rel_accuracy_bits() > 90


@pytest.mark.parametrize("x", ["1/1000000", "1/50", "1", "9/2"])
@pytest.mark.parametrize("last", [2, 3, 8, 21])
def test_central_moments_have_the_bits_that_were_asked_for(x: str, last: int) -> None:
    for bits in (30, 100, 300):
        found = chi_moments.central_moments(Fraction(x), last, bits)
        assert set(found) == set(range(0, last + 2, 2))
        assert all(ball.rel_accuracy_bits() >= bits - 2 for ball in found.values())


def test_a_ball_too_wide_for_one_integer_is_never_rounded_to_one() -> None:
    for centre, integer in (("2.2", 2), ("2.5", 3), ("-0.7", -1)):
        assert chi_moments._nearest_integer(arb(centre) + arb(0, 0.3)) == integer
    with pytest.raises(AssertionError, match="precision"):
        chi_moments._nearest_integer(arb(2, 1.25))


@pytest.mark.parametrize("x", ["1/1000", "1/50", "1/3", "1", "3"])
def test_moments_are_useless_from_an_even_level_on(x: str) -> None:
    level = chi_moments.first_useless_moment(Fraction(x))
    assert level % 2 == 0
    with arb_precision(80):
        ratio = arb_from_fraction(Fraction(x))

        def useless(at: int) -> bool:  # B(l) >= a_l - l a_{l-1} >= a_l/2, where the subtracted part falls in l
            return bool(at * ratio >= 1) and bool(2 * at * (-(at - 1) * ratio).exp() <= 1)

        least = next(at for at in range(2, level + 1, 2) if useless(at))
        assert useless(level)
        assert least <= level <= least + 2 * (1 + level // 64)


def test_digits_are_counted_with_two_bits_to_spare() -> None:
    for count in (5, 30, 300):
        bits = -(-333 * count // 100) + 2
        assert numbers.has_digits(arb(1, arb(2) ** (-bits - 1)), count)
        assert not numbers.has_digits(arb(1, arb(2) ** (-bits + 2)), count)
    assert numbers.has_digits(arb(0), 30)
    assert not numbers.has_digits(arb("nan"), 1)
    assert not numbers.has_digits(arb(1, arb("inf")), 1)
    assert [bits / next(numbers.precisions(9)) for bits in numbers.precisions(9)] == [2**k for k in range(8)]
