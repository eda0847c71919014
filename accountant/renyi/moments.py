r"""Log-moments of a ledger, step by step, and the printed bounds for batches without replacement.

Central moments of the Gaussian's likelihood ratio: B(l) = E_Q[(dP/dQ - 1)^l] for even l.

B(l) is the l-th forward difference at 0 of a_i = e^{i(i-1)x/2}, an alternating sum that cancels almost completely
(115 digits at x = 1e-6). It is taken here in exact integers: each a_i is rounded once to a multiple of 2^-P, so
B(l) is off by at most 2^l 2^-P, *whatever* cancels, and P is chosen from the problem by the lower bound

    B(l) >= E[(L-1)^2]^{l/2} = (e^x - 1)^{l/2} >= x^{l/2}               (Jensen, l even).

Renyi bounds for the Gaussian on batches without replacement, as printed and as its source has them.

Both bound exp((alpha-1) eps'(alpha)) by 1 + (a sum over j of q^j binom(alpha, j) times a moment):

- `lemma2_moment`: [CL20] Lemma 2, exactly as printed, with e^{(j-1) eps(j)} = e^{j(j-1)x/2}, x = (Delta/sigma)^2.
  *Deviates:* taken at integers alpha >= 2 where the paper prints alpha > 2 (E4).
- `wbk27_moment`: Wang, Balle and Kasiviswanathan 2019, Theorem 27, whose terms j >= 3 are the smaller of Lemma 2's
  and 4 sqrt(B(2 floor(j/2)) B(2 ceil(j/2))), with the central moments B of `accountant.renyi.moments`.

Both return the sum *without* the leading 1 as a ball, so that log1p keeps what a tiny q leaves.
Neighbours: replace one. Sampling: without replacement, fresh each iteration.

The Renyi curve of a whole ledger: K(alpha) = (alpha-1) eps(alpha), added over the steps.

[CL20] Lemma 3 (printed as "Lemma 4", E7): Renyi divergences of adaptive releases add at each order.

Between integers the two printed theorems say nothing, but K of any pair is convex with K(1) = 0 (E4), so the chord
between the bounds at the neighbouring integers is a bound. Every bound is capped by the unamplified K = alpha
(alpha-1) x/2: not telling which records were used never costs.
"""

from __future__ import annotations

import enum
import functools
import itertools
from fractions import Fraction

from flint import arb, fmpz

from accountant.errors import CannotCertifyError, UnsupportedSchemeError
from accountant.mechanisms.ledger import Ledger
from accountant.mechanisms.steps import (
    GaussianStep,
    PoissonGaussianStep,
    PureStep,
    ShuffledStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Noise
from accountant.numbers import arb_from_fraction, arb_precision
from accountant.renyi.integrals import LEAST_NOISE, poisson_moment, tight_moment

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


class Subsampling(enum.Enum):
    """Which theorem prices a batch without replacement."""

    LEMMA2 = "lemma2"
    WBK27 = "wbk27"
    TIGHT = "tight-rdp"


def ledger_log_moment(ledger: Ledger, theorem: Subsampling, alpha: Fraction, bits: int) -> arb:
    """Enclose K(alpha) of the ledger under one theorem; call inside `arb_precision`.

    Beside real Gaussian noise a step with discrete noise is priced by Lemma 2, which alone is proved for it.
    """
    mixed = any(isinstance(step, SubsampledGaussianStep) and step.noise is Noise.GAUSSIAN for step in ledger.steps)

    def proved(step: Step) -> Subsampling:
        discrete = isinstance(step, SubsampledGaussianStep) and step.noise is Noise.DISCRETE
        return Subsampling.LEMMA2 if mixed and discrete else theorem

    return sum((step.count * step_log_moment(step, proved(step), alpha, bits) for step in ledger.steps), arb(0))


def step_log_moment(step: Step, theorem: Subsampling, alpha: Fraction, bits: int) -> arb:
    """Enclose K(alpha) = (alpha-1) eps(alpha) of one release, capped by the unamplified bound."""
    match step:
        case ShuffledStep():
            raise UnsupportedSchemeError("shuffled epochs are priced as Gaussian releases, one an epoch")
        case WithReplacementStep():
            raise UnsupportedSchemeError(
                "no Renyi curve of batches with replacement: rare batches full of one record make it useless"
            )
        case GaussianStep():
            return _gaussian(step.ratio_squared, alpha)
        case PureStep():
            return _randomised_response(step.epsilon, alpha)
        case PoissonGaussianStep():
            if step.noise_multiplier < LEAST_NOISE:  # hides nothing: a mixture is no further away than its further part
                return _gaussian(1 / step.noise_multiplier**2, alpha)
            return poisson_moment(step.sampling_rate, step.noise_multiplier, alpha, bits).log1p()
        case SubsampledGaussianStep():
            require_proved(step, theorem)
            return _subsampled(step, theorem, alpha, bits)


def require_proved(step: SubsampledGaussianStep, theorem: Subsampling) -> None:
    """Refuse theorems that need the exact Gaussian where the noise is only bounded by its Renyi curve."""
    if step.noise is Noise.DISCRETE and theorem is not Subsampling.LEMMA2:
        raise UnsupportedSchemeError(
            f"{theorem.value} needs the exact moments of the Gaussian; for noise='discrete' only Lemma 2 is proved"
        )


def _gaussian(ratio_squared: Fraction, alpha: Fraction) -> arb:
    return arb_from_fraction(alpha * (alpha - 1) * ratio_squared / 2)


def _randomised_response(epsilon: Fraction, alpha: Fraction) -> arb:
    r"""Return log((e^{alpha eps} + e^{(1-alpha) eps})/(1 + e^eps)): the pair that dominates every eps-DP release.

    As 1 + (e^{alpha eps} - e^eps)(1 - e^{-alpha eps})/(1 + e^eps), which does not cancel.
    """
    e, a = arb_from_fraction(epsilon), arb_from_fraction(alpha)
    excess = e.exp() * ((a - 1) * e).expm1() * -(-a * e).expm1() / (1 + e.exp())
    return excess.log1p()


def _subsampled(step: SubsampledGaussianStep, theorem: Subsampling, alpha: Fraction, bits: int) -> arb:
    cap = _gaussian(step.ratio_squared, alpha)
    if theorem is Subsampling.TIGHT:
        moment = tight_moment(step.sampling_rate, step.noise_multiplier, alpha, bits)
        return moment.log1p().min(cap)
    below = alpha.numerator // alpha.denominator
    at_below = _at_integer(step.sampling_rate, step.ratio_squared, theorem, below, bits)
    if alpha.denominator == 1:
        return at_below
    at_above = _at_integer(step.sampling_rate, step.ratio_squared, theorem, below + 1, bits)
    weight = arb_from_fraction(alpha - below)
    return (at_below + weight * (at_above - at_below)).min(cap)


def _at_integer(rate: Fraction, ratio_squared: Fraction, theorem: Subsampling, alpha: int, bits: int) -> arb:
    if alpha == 1:
        return arb(0)
    return _cached(rate, ratio_squared, theorem, alpha, bits)


@functools.lru_cache(maxsize=4096)
def _cached(rate: Fraction, ratio_squared: Fraction, theorem: Subsampling, alpha: int, bits: int) -> arb:
    sum_up, at_least = _THEOREMS[theorem]
    with arb_precision(bits):
        cap = _gaussian(ratio_squared, Fraction(alpha))
        if at_least(rate, ratio_squared, alpha).log1p() > cap:
            return cap
        return sum_up(rate, ratio_squared, alpha, bits).log1p().min(cap)


_THEOREMS = {
    Subsampling.LEMMA2: (lemma2_moment, lemma2_at_least),
    Subsampling.WBK27: (wbk27_moment, wbk27_at_least),
}
