r"""Every Renyi bound and the Gaussian profile a second time: mpmath instead of flint, definitions instead of tricks.

`certificates.recheck` compares these with what a certificate says. The formulas are those of the papers as they stand:

- Lemma 2 and Theorem 27 term by term, none left out, the differences B(l) as alternating sums at a precision that
  survives them;
- the tight divergence as the double-ended integral over the *profile* (with error functions), not over the law of
  the likelihood ratio;
- the Poisson divergence as the binomial sum or the integral of a power.

Nothing here proves its own error: precision is taken generously, and agreement is the evidence.

The second route to pure releases: mpmath, from the definition of delta over all answers, and of Laplace noise.

What mpmath found compared with rationals: exactly, however extreme the number is (e^{-10^17} is a fine delta).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from mpmath import mpf

from accountant.copies import Copies
from accountant.errors import CannotCertifyError, CertificateError, UnsupportedSchemeError
from accountant.limits import check_time
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
from accountant.numbers import CONTEXT, Dyadic, end_of_mpf
from accountant.profiles.pure import MOST_LOSSES
from accountant.renyi.conversion import Conversion
from accountant.renyi.integrals import LEAST_NOISE
from accountant.renyi.moments import Subsampling
from accountant.shuffled import MOST_EPOCHS


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


mp = CONTEXT
MOST_PIECES = 400
"""Pieces of the second route's quadrature, some 10 ms each: with 1/nu in the thousands it cannot decide."""
FEWEST_DIGITS = 40
"""mpmath's quadrature takes its degree from the precision; with fewer digits it has been seen to stop too early."""


MOST_FAR_DIGITS = 2000
"""A tail further out than that is below every delta that can be written, whatever its digits."""


def number(value: Fraction) -> mpf:
    """Return the nearest mpf at the working precision."""
    return mp.mpf(value.numerator) / value.denominator


def epsilon_at_order(
    ledger: Ledger,
    theorem: Subsampling,
    conversion: Conversion,
    *,
    alpha: Fraction,
    delta: Fraction,
    digits: int,
) -> mpf:
    """Return the epsilon that the order gives, to about `digits` digits."""
    with mp.workdps(max(digits + 15, FEWEST_DIGITS)):
        moment = mp.mpf(0)
        for step in ledger.steps:
            discrete = isinstance(step, SubsampledGaussianStep) and step.noise is Noise.DISCRETE
            moment += step.count * log_moment(step, Subsampling.LEMMA2 if discrete else theorem, alpha, digits)
        a, d = number(alpha), number(delta)
        if conversion is Conversion.PROPOSITION1:
            value = moment / (a - 1) + mp.log(1 / d) / (a - 1)
        else:
            value = moment / (a - 1) + mp.log((a - 1) / a) - (mp.log(d) + mp.log(a)) / (a - 1)
        return value if value > 0 else mp.mpf(0)


def log_moment(step: Step, theorem: Subsampling, alpha: Fraction, digits: int) -> mpf:
    """Return (alpha-1) eps(alpha) of one step."""
    a = number(alpha)
    match step:
        case ShuffledStep():
            raise UnsupportedSchemeError("shuffled epochs are priced as Gaussian releases, one an epoch")
        case WithReplacementStep():
            raise UnsupportedSchemeError("no Renyi curve of batches with replacement")
        case GaussianStep():
            return a * (a - 1) * number(step.ratio_squared) / 2
        case PureStep():
            e = number(step.epsilon)
            return mp.log((mp.exp(a * e) + mp.exp((1 - a) * e)) / (1 + mp.exp(e)))
        case PoissonGaussianStep():
            if step.noise_multiplier < LEAST_NOISE:  # this method is the curve without sampling there
                return a * (a - 1) / number(step.noise_multiplier) ** 2 / 2
            return mp.log1p(_poisson(step, alpha))
        case SubsampledGaussianStep():
            cap = a * (a - 1) * number(step.ratio_squared) / 2
            if theorem is Subsampling.TIGHT:
                value = mp.log1p(_tight(step, alpha))
            else:
                value = _chord(step, theorem, alpha, digits)
            return value if value < cap else cap


def gaussian_delta(mu_squared: Fraction, epsilon: Fraction, digits: int) -> mpf:
    """Return delta(epsilon) of mu-GDP: the difference of two normal tails, with digits to spare."""
    with mp.workdps(2 * digits + 30 + _far_digits(mu_squared, epsilon)):
        mu, e = mp.sqrt(number(mu_squared)), number(epsilon)
        return normal_cdf(mu / 2 - e / mu) - mp.exp(e) * normal_cdf(-mu / 2 - e / mu)


def _far_digits(mu_squared: Fraction, epsilon: Fraction) -> int:
    """Return the digits that far tails cost: those of (epsilon/mu)^2, for the exponent and for the difference."""
    if not epsilon:
        return 0
    far = 2 * (_log10(epsilon) + 2) - (_log10(mu_squared) - 1)
    return 2 * min(max(far, 0), MOST_FAR_DIGITS)


def single_step_delta(rate: Fraction, mu_squared: Fraction, epsilon: Fraction, digits: int) -> mpf:
    """Return delta(epsilon), epsilon >= 0, of one step: q delta_G(log(1 + (e^eps - 1)/q))."""
    with mp.workdps(2 * digits + 30):
        mu, q, e = mp.sqrt(number(mu_squared)), number(rate), number(epsilon)
        inner = mp.log1p(mp.expm1(e) / q)
        return q * (normal_cdf(mu / 2 - inner / mu) - mp.exp(inner) * normal_cdf(-mu / 2 - inner / mu))


def one_event_delta(steps: Sequence[Step], epsilon: Fraction, digits: int) -> mpf:
    """Return P[E] - e^eps Q[E] for the event that some step alone loses more than epsilon > 0.

    P is (1-q) N(0) + q N(1/nu) in every step and Q is N(0): a lower bound on their delta(epsilon).
    """
    with mp.workdps(2 * digits + 30):
        e, first, second = number(epsilon), mp.mpf(0), mp.mpf(0)
        for step in steps:
            if not isinstance(step, SubsampledGaussianStep | PoissonGaussianStep):
                continue
            q, mu = number(step.sampling_rate), 1 / number(step.noise_multiplier)
            z = mp.log1p(mp.expm1(e) / q) / mu + mu / 2
            beyond = normal_cdf(-z)
            first += step.count * mp.log1p(-(q * normal_cdf(mu - z) + (1 - q) * beyond))
            second += step.count * mp.log1p(-beyond)
        return mp.exp(e) * mp.expm1(second) - mp.expm1(first)


def with_replacement_delta(copies: Copies, noise_multiplier: Fraction, epsilon: Fraction, digits: int) -> mpf:
    """Return the sum over k of p_k delta_k(eps'), e^eps' = 1 + (e^eps - 1)/eta, of one step with replacement."""
    with mp.workdps(2 * digits + 30):
        nu, draws, marked, n = number(noise_multiplier), copies.draws, copies.marked, copies.size
        few, many = sorted((draws, marked))

        def chance(k: int) -> mpf:
            if copies.replaced:
                share = mp.mpf(marked) / n
                return mp.binomial(draws, k) * share**k * (1 - share) ** (draws - k)
            ways = mp.binomial(few, k) * mp.binomial(n - few, many - k)
            return ways / mp.binomial(n, many)

        eta = 1 - chance(0)
        inner = mp.log1p(mp.expm1(number(epsilon)) / eta)
        total = mp.mpf(0)
        for k in range(1, copies.most + 1):
            weight = chance(k)
            mu = k / nu
            total += weight * (normal_cdf(mu / 2 - inner / mu) - mp.exp(inner) * normal_cdf(-mu / 2 - inner / mu))
            if weight < mp.mpf(10) ** (-2 * digits):
                break
        return total


def shuffled_delta(step: ShuffledStep, level: Fraction, epsilon: Fraction, digits: int) -> mpf:
    """Return what the best test of the number of epochs whose largest value exceeds the level reaches, either order."""
    epochs = min(step.count, MOST_EPOCHS)
    with mp.workdps(2 * digits + 30):
        s, mu, w, e = number(level), 1 / number(step.noise_multiplier), number(step.sampling_rate), number(epsilon)
        without = 1 - normal_cdf(s) ** step.taken
        inside = 1 - normal_cdf(s - mu) * normal_cdf(s) ** (step.taken - 1)
        first, second, factor = w * inside + (1 - w) * without, without, mp.exp(e)
        zero = mp.mpf(0)
        totals = [zero, zero]
        for k in range(epochs + 1):
            ways = mp.binomial(epochs, k)
            p, q = (ways * chance**k * (1 - chance) ** (epochs - k) for chance in (first, second))
            totals = [totals[0] + max(p - factor * q, zero), totals[1] + max(q - factor * p, zero)]
        return max(totals)


def normal_cdf(x: mpf) -> mpf:
    """Return P[N(0,1) <= x], the second routes' own."""
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _chord(step: SubsampledGaussianStep, theorem: Subsampling, alpha: Fraction, digits: int) -> mpf:
    below = math.floor(alpha)
    at_below = _capped_integer(step, theorem, below, digits)
    if alpha == below:
        return at_below
    weight = number(alpha - below)
    return (1 - weight) * at_below + weight * _capped_integer(step, theorem, below + 1, digits)


def _capped_integer(step: SubsampledGaussianStep, theorem: Subsampling, alpha: int, digits: int) -> mpf:
    if alpha == 1:
        return mp.mpf(0)
    x = number(step.ratio_squared)
    cap = alpha * (alpha - 1) * x / 2
    value = mp.log1p(_integer_sum(step, theorem, alpha, digits, enough=2 * mp.expm1(cap)))
    return value if value < cap else cap


def _integer_sum(step: SubsampledGaussianStep, theorem: Subsampling, alpha: int, digits: int, *, enough: mpf) -> mpf:
    """Return the sum without its leading 1, or a part of it above `enough`: no term is negative.

    Theorem 27's other branch is only looked at where it can show.
    """
    q, x = number(step.sampling_rate), number(step.ratio_squared)
    growth, four = mp.exp(x), 4 * mp.expm1(x)
    total = q**2 * math.comb(alpha, 2) * (four if four < 2 * growth else 2 * growth)
    visible = total * mp.mpf(10) ** -(digits + 12)
    power = moment = growth
    weight = q**2 * math.comb(alpha, 2)
    falling = step.ratio_squared * (alpha + 1) <= 4  # then so do the ratios of successive terms
    for j in range(3, alpha + 1):
        check_time()
        power *= growth
        moment *= power
        weight = weight * q * (alpha - j + 1) / j
        term = doubled = 2 * weight * moment
        if theorem is Subsampling.WBK27 and term > visible and 2 * (j - 1) > power:
            below, above = (_difference(step.ratio_squared, j + s * (j % 2), digits) for s in (-1, 1))
            other = 4 * weight * mp.sqrt(below * above)
            term = other if other < term else term
        total += term
        if total > enough:
            break
        ratio = q * (alpha - j) / (j + 1) * power * growth
        if falling and 2 * ratio < 1 and doubled < visible:  # the rest is below a geometric series
            break
    return total


@functools.lru_cache(maxsize=4096)
def _difference(ratio_squared: Fraction, order: int, digits: int) -> mpf:
    r"""Return B(l) = sum over i of (-1)^i binom(l, i) e^{i(i-1)x/2} at a precision that survives the cancellation."""
    lost = order * (1 + max(0, -_log10(ratio_squared)))
    with mp.workdps(digits + 15 + lost):
        growth = mp.exp(number(ratio_squared))
        power = moment = mp.mpf(1)
        terms = [mp.mpf(1), mp.mpf(-order)]
        for i in range(2, order + 1):
            power *= growth
            moment *= power
            terms.append((-1) ** i * math.comb(order, i) * moment)
        return mp.fsum(terms)


def _log10(value: Fraction) -> int:
    return len(str(value.numerator)) - len(str(value.denominator)) - 1


def _tight(step: SubsampledGaussianStep, alpha: Fraction) -> mpf:
    r"""Return alpha (alpha-1) int_1^inf (y^{alpha-2} + y^{-alpha-1}) q H_G(log(1+(y-1)/q)) dy, y = 1+q(e^t-1)."""
    q, nu, a = number(step.sampling_rate), number(step.noise_multiplier), number(alpha)

    def integrand(t: mpf) -> mpf:
        log_y = mp.log1p(q * mp.expm1(t))
        weight = mp.exp((a - 2) * log_y) + mp.exp(-(a + 1) * log_y)
        profile = normal_cdf(1 / (2 * nu) - nu * t) - mp.exp(t) * normal_cdf(-1 / (2 * nu) - nu * t)
        return weight * mp.exp(t) * profile

    peak, width = (a - mp.mpf(1) / 2) / nu**2, 1 / nu
    reach = mp.sqrt(2 * mp.prec + a * a / nu**2)
    ends = [mp.mpf(0), width / 4, width, 4 * width, 8 * width, peak - 2 * width, peak, peak + 2 * width]
    last = peak + reach * width + 8 * width
    points = [p for p in sorted(ends) if p >= 0 and p < last]
    return a * (a - 1) * q**2 * mp.quad(integrand, [*_spread(points, 4 * width), last], method="gauss-legendre")


def _spread(points: list[mpf], widest: mpf) -> list[mpf]:
    """Insert points so that the pieces before the last one are not too wide for the quadrature; refuse too many."""
    result = [points[0]]
    for point in points[1:]:
        pieces = max(1, int((point - result[-1]) / widest) + 1)
        if pieces > MOST_PIECES:
            raise CannotCertifyError(f"the second route would need {pieces} pieces of quadrature, above {MOST_PIECES}")
        start = result[-1]
        result += [start + (point - start) * k / pieces for k in range(1, pieces + 1)]
    return result


def _poisson_sum(q: mpf, nu: mpf, n: int) -> mpf:
    """Return sum_j binom(n, j) q^j (1-q)^(n-j) (e^{j(j-1)/(2 nu^2)} - 1); the rest is left out where it cannot show.

    Once the binomial weights fall by halves they do so ever after, and no exponential is above that of j = n.
    """
    with mp.workdps(2 * mp.dps + 20 + len(str(n))):
        most, smallest = mp.exp(mp.mpf(n * (n - 1)) / (2 * nu**2)), mp.mpf(10) ** -mp.dps
        if q == 1:
            return most - 1
        weight, total, odds = (1 - q) ** n, mp.mpf(0), q / (1 - q)
        for j in range(n):
            check_time()
            ratio = odds * (n - j) / (j + 1)
            weight *= ratio
            total += weight * mp.expm1(mp.mpf((j + 1) * j) / (2 * nu**2))
            if 2 * ratio < 1 and 2 * weight * most < smallest * total:
                break
        return total


def _poisson(step: PoissonGaussianStep, alpha: Fraction) -> mpf:
    q, nu, a = number(step.sampling_rate), number(step.noise_multiplier), number(alpha)
    if alpha.denominator == 1:
        return _poisson_sum(q, nu, int(alpha))

    def integrand(z: mpf) -> mpf:
        return mp.exp(-z * z / 2 + a * mp.log1p(q * mp.expm1(z / nu - 1 / (2 * nu**2))))

    with mp.workdps(2 * mp.dps + 20):
        reach = mp.sqrt(2 * mp.prec) + a / nu
        points = _spread([-reach, mp.mpf(0), a / nu, a / nu + reach], mp.mpf(4))
        return mp.quad(integrand, points, method="gauss-legendre") / mp.sqrt(2 * mp.pi) - 1


_TOO_MANY = f"more than {MOST_LOSSES} losses: no price of these releases is computed"


def randomised_response_delta(releases: Sequence[tuple[Fraction, int]], epsilon: Fraction, digits: int) -> mpf:
    r"""Return the sum over all answers of (P - e^eps P')_+ = P (1 - e^(eps - loss))_+, P of the binomial laws.

    Answers are multiplied in one release after the other; equal losses are one state. Losses are rational, so that
    nothing cancels and the smallest delta has all its digits.
    """
    with mp.workdps(digits + 15):
        states: dict[Fraction, mpf] = {Fraction(0): mpf(1)}
        for spent, count in releases:
            if count >= MOST_LOSSES:
                raise CertificateError(_TOO_MANY)
            keep, turn = 1 / (1 + mp.exp(-number(spent))), 1 / (1 + mp.exp(number(spent)))
            following: dict[Fraction, mpf] = {}
            for (loss, p), kept in itertools.product(states.items(), range(count + 1)):
                at = loss + (2 * kept - count) * spent
                one = p * mp.binomial(count, kept) * keep**kept * turn ** (count - kept)
                following[at] = following.get(at, mpf(0)) + one
                if len(following) > MOST_LOSSES:
                    raise CertificateError(_TOO_MANY)
            states = following
        return mp.fsum([-p * mp.expm1(number(epsilon - loss)) for loss, p in states.items() if loss > epsilon])


def laplace_delta(epsilon: Fraction, at: Fraction, digits: int) -> mpf:
    r"""Return delta(at) of one release with Laplace noise: 1 - e^{(at - epsilon)/2}, 0 <= at <= epsilon."""
    with mp.workdps(digits + 15):
        return -mp.expm1(number(at - epsilon) / 2)
