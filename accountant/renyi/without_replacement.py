r"""Renyi bounds for the Gaussian on batches without replacement, as printed and as its source has them.

Both bound exp((alpha-1) eps'(alpha)) by 1 + (a sum over j of q^j binom(alpha, j) times a moment):

- `lemma2_moment`: [CL20] Lemma 2, exactly as printed, with e^{(j-1) eps(j)} = e^{j(j-1)x/2}, x = (Delta/sigma)^2.
  *Deviates:* taken at integers alpha >= 2 where the paper prints alpha > 2 (E4).
- `wbk27_moment`: Wang, Balle and Kasiviswanathan 2019, Theorem 27, whose terms j >= 3 are the smaller of Lemma 2's
  and 4 sqrt(B(2 floor(j/2)) B(2 ceil(j/2))), with the central moments B of `accountant.renyi.central_moments`.

Both return the sum *without* the leading 1 as a ball, so that log1p keeps what a tiny q leaves.
Neighbours: replace one. Sampling: without replacement, fresh each iteration.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from accountant.errors import CannotCertifyError
from accountant.numbers import arb_from_fraction
from accountant.renyi.central_moments import central_moments, first_useless_moment

MAX_TERMS = 1 << 14
"""More terms than this are refused: the sum would only take long, and smaller orders serve."""


def lemma2_moment(rate: Fraction, ratio_squared: Fraction, alpha: int, bits: int) -> arb:
    """Enclose the sum of [CL20] Lemma 2 without its leading 1, at an integer alpha >= 2."""
    terms, tail = _doubled_terms(rate, ratio_squared, alpha, bits)
    return _second_term(rate, ratio_squared, alpha) + sum(terms[1:], arb(0)) + tail


def wbk27_moment(rate: Fraction, ratio_squared: Fraction, alpha: int, bits: int) -> arb:
    """Enclose the sum of Theorem 27 without its leading 1, at an integer alpha >= 2."""
    terms, tail = _doubled_terms(rate, ratio_squared, alpha, bits)
    total = _second_term(rate, ratio_squared, alpha) + tail
    settled = first_useless_moment(ratio_squared) + 1
    last = _last_order_that_needs_moments(terms, total, settled, bits)
    central = central_moments(ratio_squared, last, bits) if last >= 3 else {}
    x = arb_from_fraction(ratio_squared)
    for j, doubled in enumerate(terms[1:], start=3):
        if j > last:
            # Beyond `settled` Lemma 2's branch is the smaller one; before it the term is too small to show.
            total += doubled if j >= settled else doubled * arb(0.5, 0.5)
            continue
        # doubled = 2 q^j binom(alpha, j) e^{j(j-1)x/2}: the other branch differs by this factor.
        factor = 2 * (central[j - j % 2] * central[j + j % 2]).sqrt() * (-x * (j * (j - 1) // 2)).exp()
        total += doubled * factor.min(arb(1))
    return total


def lemma2_at_least(rate: Fraction, ratio_squared: Fraction, alpha: int) -> arb:
    r"""Return a closed-form lower bound of `lemma2_moment`, by e^{(j-1) eps(j)} >= 1 in the terms j >= 3.

    Where even this exceeds the unamplified moment the cap is the answer and nothing need be summed.
    """
    return _second_term(rate, ratio_squared, alpha) + 2 * _binomial_rest(arb_from_fraction(rate), alpha)


def wbk27_at_least(rate: Fraction, ratio_squared: Fraction, alpha: int) -> arb:
    r"""Return a closed-form lower bound of `wbk27_moment`, by B(l) >= x^{l/2} in the terms j >= 3."""
    root = arb_from_fraction(ratio_squared).sqrt()
    if not 4 * root**3 < 2:
        return _second_term(rate, ratio_squared, alpha)
    return _second_term(rate, ratio_squared, alpha) + 4 * _binomial_rest(arb_from_fraction(rate) * root, alpha)


def _binomial_rest(y: arb, alpha: int) -> arb:
    """Return a lower bound of (1+y)^alpha - 1 - alpha y - binom(alpha, 2) y^2."""
    rest = (alpha * y.log1p()).expm1() - alpha * y - (alpha * (alpha - 1) // 2) * y * y
    return rest.lower().max(arb(0)) if rest.is_finite() else arb(0)


def _second_term(rate: Fraction, ratio_squared: Fraction, alpha: int) -> arb:
    x = arb_from_fraction(ratio_squared)
    smaller = (4 * x.expm1()).min(2 * x.exp())
    return arb_from_fraction(rate) ** 2 * (alpha * (alpha - 1) // 2) * smaller


def _doubled_terms(rate: Fraction, ratio_squared: Fraction, alpha: int, bits: int) -> tuple[list[arb], arb]:
    r"""Return 2 q^j binom(alpha, j) e^{j(j-1)x/2} for j = 2, 3, ... and a ball that holds all that was left out.

    The ratio of successive terms is r_j = q (alpha-j)/(j+1) e^{jx}. Where x (alpha+1) <= 4 its logarithm has the
    derivative x - 1/(alpha-j) - 1/(j+1) <= x - 4/(alpha+1) <= 0, so the ratios fall and a geometric series bounds
    the rest; otherwise every term is taken.
    """
    q, x = arb_from_fraction(rate), arb_from_fraction(ratio_squared)
    ratios_fall = ratio_squared * (alpha + 1) <= 4
    growth, power = x.exp(), (2 * x).exp()
    term = q * q * (alpha * (alpha - 1)) * growth
    terms, negligible = [term], term * arb(2) ** (-bits)
    for j in range(2, alpha):
        ratio = q * (alpha - j) / (j + 1) * power
        if ratios_fall and 2 * ratio < 1 and term < negligible:
            return terms, term * ratio * arb(1, 1)  # 0 <= the rest <= term * ratio / (1 - ratio)
        if j >= MAX_TERMS:
            raise CannotCertifyError(f"alpha={alpha} needs more than {MAX_TERMS} terms; use an order below {MAX_TERMS}")
        term = term * ratio
        terms.append(term)
        power = power * growth
    return terms, arb(0)


def _last_order_that_needs_moments(terms: list[arb], base: arb, settled: int, bits: int) -> int:
    """Return the last j whose smaller branch is open *and* whose term shows at the working precision."""
    negligible = base.lower() * arb(2) ** (-bits)
    for j in range(min(settled - 1, len(terms) + 1), 2, -1):
        if not terms[j - 2] < negligible:
            return j
    return 2
