r"""The four Renyi bounds once more, in binary64 on a logarithmic scale: numpy and scipy instead of balls.

Every term is positive, so nothing cancels and no precision need be chosen, whatever the order:

- Lemma 2 and Theorem 27: logarithms of binomial coefficients from the gamma function, terms added by log-sum-exp;
- Theorem 27's central moments B(l) = E[(L-1)^l], l even, as integrals of a positive function (the trapezoidal rule,
  which converges geometrically for these) and not as alternating sums;
- the tight divergence as an integral over the *profile* (Gauss-Legendre), not over the law of the likelihood ratio.

A value is good to about 1e-12 relatively (rounding of exponents: 1e-16 times their size). That is observed, against
mpmath at 40 digits, not proved.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, gammaln, logsumexp

from accountant.mechanisms.steps import SubsampledGaussianStep
from accountant.renyi.conversion import Conversion
from accountant.renyi.moments import Subsampling

Floats = NDArray[np.float64]


def epsilon_at_order(
    step: SubsampledGaussianStep, theorem: Subsampling, conversion: Conversion, alpha: Fraction, delta: Fraction
) -> tuple[float, float]:
    """Return epsilon and the size of what it was summed from, which its error is relative to."""
    a, log_inverse = float(alpha), -math.log(delta)
    moment = step.count * log_moment(step, theorem, alpha)
    size = (moment + log_inverse) / (a - 1)
    if conversion is Conversion.PROPOSITION1:
        return size, size
    return max(0.0, size + math.log1p(-1 / a) - math.log(a) / (a - 1)), size


def log_moment(step: SubsampledGaussianStep, theorem: Subsampling, alpha: Fraction) -> float:
    """Return (alpha-1) eps(alpha) of one step, capped by the release without sampling."""
    q, x = float(step.sampling_rate), float(step.ratio_squared)
    cap = float(alpha * (alpha - 1)) * x / 2
    if theorem is Subsampling.TIGHT:
        return min(tight_log_moment(q, math.sqrt(x), float(alpha)), cap)
    below = math.floor(alpha)
    weight = float(alpha - below)
    ends = [min(_integer_log_moment(q, x, theorem, n), n * (n - 1) * x / 2) for n in (below, math.ceil(alpha))]
    return min((1 - weight) * ends[0] + weight * ends[1], cap)


def tight_log_moment(q: float, mu: float, alpha: float) -> float:
    r"""Return log(1 + alpha(alpha-1) int_0^inf (y^{alpha-2} + y^{-alpha-1}) q^2 e^t H_G(t) dt), y = 1+q(e^t-1).

    H_G(t) = phi(z-mu) (R(z-mu) - R(z)), t = mu(z - mu/2), R Mills' ratio: nothing is lost where mu is small.
    """
    edges = np.arange(mu / 2, alpha * mu + 45.0, 0.5)
    nodes, rule = np.polynomial.legendre.leggauss(20)
    z = (edges[:-1, None] + 0.25 * (1 + nodes)).ravel()
    t = mu * (z - mu / 2)
    log_y = np.where(t < 300, np.log1p(q * np.expm1(np.minimum(t, 300.0))), t + math.log(q))
    mills = math.sqrt(math.pi / 2) * (erfcx((z - mu) / math.sqrt(2)) - erfcx(z / math.sqrt(2)))
    log_profile = -((z - mu) ** 2) / 2 - 0.5 * math.log(2 * math.pi) + np.log(mills)
    weight = np.logaddexp((alpha - 2) * log_y, -(alpha + 1) * log_y)
    terms = weight + t + log_profile + np.tile(np.log(0.25 * rule * mu), edges.size - 1)
    return float(np.logaddexp(0.0, math.log(alpha * (alpha - 1)) + 2 * math.log(q) + logsumexp(terms)))


def _integer_log_moment(q: float, x: float, theorem: Subsampling, alpha: int) -> float:
    if alpha == 1:
        return 0.0
    j = np.arange(2, alpha + 1, dtype=np.float64)
    weights = j * math.log(q) + gammaln(alpha + 1) - gammaln(j + 1) - gammaln(alpha - j + 1)
    growth = j * (j - 1) * x / 2
    terms = weights + math.log(2) + growth
    terms[0] = weights[0] + min(math.log(4) + math.log(math.expm1(x)), math.log(2) + x)
    if theorem is Subsampling.WBK27:
        # B(l) >= (e^x-1)^{l/2} bounds the other branch from below: only where it may be the smaller one, and shows.
        visible = (terms > terms[0] - 35) & (math.log(2) + j / 2 * math.log(math.expm1(x)) < growth)
        visible[0] = False
        for i in np.flatnonzero(visible):
            lower, upper = int(j[i]) // 2 * 2, (int(j[i]) + 1) // 2 * 2
            other = math.log(4) + (log_central_moment(x, lower) + log_central_moment(x, upper)) / 2
            terms[i] = min(terms[i], weights[i] + other)
    return float(np.logaddexp(0.0, logsumexp(terms)))


def log_central_moment(x: float, order: int) -> float:
    """Return log E[(e^{mu z - mu^2/2} - 1)^order], mu^2 = x, order even: the trapezoidal rule."""
    mu, h = math.sqrt(x), 1 / 16
    z = np.arange(-15.0 - math.sqrt(order), order * mu + 15.0 + math.sqrt(order), h) + h / 3
    t = mu * (z - mu / 2)
    log_factor = np.where(
        t > 1, t + np.log1p(-np.exp(-np.maximum(t, 0.5))), np.log(np.abs(np.expm1(np.minimum(t, 1.0))))
    )
    return float(logsumexp(order * log_factor - z * z / 2)) + math.log(h) - 0.5 * math.log(2 * math.pi)
