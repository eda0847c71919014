r"""Our certified enclosure of what an accountant is asked, and a second route that confirms a refutation.

`upper` holds for every data set, so an answer from it on is valid; `lower` is attained by a concrete pair of
neighbouring data sets, so an answer below it is wrong. The pair of both sampled schemes is (1-q) N(0, nu^2) + q N(1,
nu^2) against N(0, nu^2), in units of the sensitivity: with batches of fixed size and one record replaced it is attained
where all other records are equal, with Poisson batches and one record added or removed where they are zero. The
dominating profile of the replaced record dominates both orders of that pair, so its composition bounds either scheme.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from accountant.certificates.mpmath_route import gaussian_delta as second_gaussian_delta
from accountant.certificates.mpmath_route import log_moment as second_log_moment
from accountant.certificates.profile_check import require_profile_lower
from accountant.errors import CertificateError
from accountant.mechanisms.steps import PoissonGaussianStep, SubsampledGaussianStep
from accountant.mechanisms.words import Sampling
from accountant.numbers import Bound, arb_from_fraction, arb_precision, fraction_of
from accountant.pld.composition import SubsampledGaussian, compose
from accountant.profiles.gaussian import gaussian_delta, gaussian_epsilon
from accountant.renyi.integrals import poisson_moment, tight_moment
from accountant.renyi.moments import Subsampling
from verification.accountants.questions import AccountantQuestion, Quantity

DIGITS = 20
_BITS = 160
_CONFIRMED_TO = Fraction(1, 10**9)


def enclosure(question: AccountantQuestion) -> Bound:
    """Return [lower, upper] of the true answer; raise `CannotCertifyError` where we have none."""
    nu = question.noise_multiplier
    if question.sampling is Sampling.ALL or question.rate == 1:
        mu_squared = question.steps / nu**2
        if question.quantity is Quantity.RENYI:
            value = question.at * mu_squared / 2
            return Bound.from_fractions(value, value)
        exact = gaussian_epsilon if question.quantity is Quantity.EPSILON else gaussian_delta
        return exact(mu_squared, question.at, digits=DIGITS)
    if question.quantity is Quantity.RENYI:
        return _renyi(question)
    composed = compose([SubsampledGaussian(question.rate, nu, question.steps)])
    if question.quantity is Quantity.DELTA:
        return composed.delta(question.at)
    return composed.epsilon(question.at)


def _renyi(question: AccountantQuestion) -> Bound:
    """Return the divergence of the attained pair and, for batches of fixed size, that of the dominating one."""
    q, nu, alpha = question.rate, question.noise_multiplier, question.at
    with arb_precision(_BITS):
        order = arb_from_fraction(alpha - 1)

        def of(moment: arb) -> Bound:
            return Bound.from_arb(question.steps * moment.log1p() / order)

        attained = of(poisson_moment(q, nu, alpha, _BITS))
        if question.sampling is Sampling.POISSON:
            return attained  # Mironov, Talwar and Zhang 2019, Theorem 5: this order of the pair is the larger
        dominating = of(tight_moment(q, nu, alpha, _BITS))
    return Bound(attained.lower, max(dominating.upper, attained.upper))


def confirmed(question: AccountantQuestion, lower: Fraction) -> str:
    """Confirm by a route that shares nothing with the first that `lower` is attained; return which, or raise."""
    nu, digits = question.noise_multiplier, 30
    below = lower * (1 - _CONFIRMED_TO)
    if question.quantity is Quantity.RENYI:
        return _confirmed_renyi(question, below)
    epsilon, delta = (below, question.at) if question.quantity is Quantity.EPSILON else (question.at, below)
    if question.sampling is Sampling.ALL or question.rate == 1:
        if fraction_of(second_gaussian_delta(question.steps / nu**2, epsilon, digits)) < delta:
            raise CertificateError(f"mpmath does not confirm the lower end of {question.id}")
        return "the Gaussian profile in mpmath"
    step = SubsampledGaussianStep(question.rate, nu, question.steps)
    return require_profile_lower((step,), delta, epsilon)


def _confirmed_renyi(question: AccountantQuestion, below: Fraction) -> str:
    nu, alpha = question.noise_multiplier, question.at
    if question.sampling is Sampling.ALL or question.rate == 1:
        value = question.at * question.steps / nu**2 / 2
    else:
        step = PoissonGaussianStep(question.rate, nu, question.steps)
        moment = fraction_of(second_log_moment(step, Subsampling.LEMMA2, alpha, DIGITS))
        value = question.steps * moment / (alpha - 1)
    if value < below:
        raise CertificateError(f"mpmath does not confirm the lower end of {question.id}")
    return "the divergence of the attained pair in mpmath"
