r"""The composed profile a third time: Fourier inversion on a vertical line, every error proved, no lattice of losses.

With L the loss of a step under the first distribution of its pair and M(s) = E[e^{sL}], for any theta > 0

    delta(eps) = (1/2 pi) int M(s)^T e^{-s eps} / (s(1+s)) dtau,    s = theta + i tau,

(several phases: a product of powers). The integral is a sum over tau = k d, |k| <= N, in balls, and:

1. **Grid.** The infinite sum is delta plus its aliases e^{theta nP} delta(eps + nP), P = 2 pi/d, n != 0 (Poisson's
   formula). None is negative; below they are at most e^{-theta |n| P}, above at most what Chernoff's bound with another
   tilt says.
2. **End of the line.** phi(tau) = M(s)/M(theta) is a characteristic function, less than r wherever |tau| >= K by one
   integration by parts: |M(s) - a| <= V/tau, a the atom at loss 0 and V the variation of the tilted density, at
   most 4 times its supremum (its logarithmic derivative has at most three zeros). By 1 - |phi(2 tau)|^2 <=
   4 (1 - |phi(tau)|^2) it follows that |phi(tau)|^2 <= 1 - (1 - r^2)/4^j wherever tau >= K/2^j.
3. **The atom** of one phase alone is taken off: a^T has no loss above 0, and T a^{T-1} (M - a) belongs to T a^{T-1}
   times the profile of a single step, which is known. What remains is at most
   (a + V/tau)^T - a^T - T a^{T-1} V/tau.

4. **Rare, large losses** beyond a point are left out of M, and their mass is added to the upper end.

M is a one-dimensional integral in balls, its tails bounded. The cost does not grow with T.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from flint import acb, arb

from accountant.certificates.contour_moments import Phase, phases_of
from accountant.certificates.integer_route import ExactPair
from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.numbers import arb_from_fraction, arb_precision
from accountant.profiles.gaussian import delta_ball
from accountant.profiles.one_step import SubsampledGaussian

LOG_ALIAS: Final = 28.0
LOG_TAIL: Final = 20.0
MOST_MOMENTS: Final = 240
"""Moments on the line, some 10 ms each: where more are needed exact integers are quicker."""
SPARE: Final = Fraction(1, 10**4)
_TILTS: Final = tuple(2.0 ** (k / 2) for k in range(-10, 5))


@dataclass(frozen=True, slots=True)
class _Line:
    """Where to integrate: s = theta + i k spacing, |k| <= last."""

    theta: arb
    spacing: arb
    last: int
    alias: arb
    tail: arb


def composed_delta(steps: Sequence[SubsampledGaussian], pair: ExactPair, epsilon: Fraction, near: Fraction) -> arb:
    """Enclose delta(epsilon), epsilon >= 0, of the composed pair; refuse where the line would be too long.

    `near` is about the delta to be expected: a ten thousandth of it may be spent on leaving out the largest losses.
    """
    total = sum(step.count for step in steps)
    with arb_precision(96 + total.bit_length()):
        phases = phases_of(steps, pair, near * SPARE)
        eps = arb_from_fraction(epsilon)
        theta = arb(_saddle(phases, float(eps)))
        line = _line(phases, theta, eps)
        return _summed(phases, line, eps)


def _summed(phases: Sequence[Phase], line: _Line, eps: arb) -> arb:
    """Return the sum over the line with all its errors."""
    alone = phases[0] if len(phases) == 1 and bool(phases[0].atom > 0) else None
    total = arb(0)
    for k in range(line.last + 1):
        check_time()
        s = acb(line.theta, k * line.spacing)
        value = _product(phases, s)
        if alone is not None:
            a, T = alone.atom, alone.count
            value -= acb(a**T) + T * a ** (T - 1) * (alone.moment(s) - a)
        term = (value * (-s * eps).exp() / (s * (1 + s))).real
        total += term if k else term / 2
    result = total * line.spacing / arb.pi()
    dropped = sum((phase.count * phase.dropped for phase in phases), arb(0))
    if alone is not None:
        a, T = alone.atom, alone.count
        result += T * a ** (T - 1) * (_single_step(alone, eps) - arb(0.5, 0.5) * alone.dropped)
    return result + arb(0, 1) * line.tail - arb(0.5, 0.5) * line.alias + arb(0.5, 0.5) * dropped


def _single_step(phase: Phase, eps: arb) -> arb:
    """Return the profile of one step of the dominating pair at eps >= 0."""
    return phase.q * delta_ball(phase.mu, (eps.expm1() / phase.q).log1p())


def _product(phases: Sequence[Phase], s: acb) -> acb:
    value = acb(1)
    for phase in phases:
        value *= phase.moment(s) ** phase.count
    return value


def _log_moments(phases: Sequence[Phase], theta: arb) -> arb:
    return sum((phase.count * phase.moment(acb(theta)).real.log() for phase in phases), arb(0))


def _saddle(phases: Sequence[Phase], epsilon: float) -> float:
    """Return about the theta at which M^T e^{-theta eps}/(theta(1+theta)) is least: a guess, any theta > 0 is right."""

    def height(theta: float) -> float:
        with arb_precision(64):
            value = float(_log_moments(phases, arb(theta)))
        found = value - theta * epsilon - math.log(theta) - math.log1p(theta)
        return found if math.isfinite(found) else math.inf

    theta, ratio = 1.0, 4.0
    here = height(theta)
    while ratio > 1.05:
        for other in (theta * ratio, theta / ratio):
            there = height(other)
            if there < here:
                theta, here = other, there
                break
        else:
            ratio = math.sqrt(ratio)
        if not 1e-6 < theta < 1e5:
            raise CannotCertifyError(f"no saddle point: theta={theta}")
    return theta


def _line(phases: Sequence[Phase], theta: arb, eps: arb) -> _Line:
    """Choose the spacing by the aliases and the end by the decay, and bound what both leave out."""
    at_theta = _log_moments(phases, theta)
    goal = at_theta - theta * eps - (theta * (1 + theta)).log() - LOG_ALIAS
    tilts = [theta * (1 + arb(extra)) for extra in _TILTS]
    reaches = [
        ((_log_moments(phases, tilt) - tilt * eps + _log_peak(tilt) - goal) / (tilt - theta)).upper() for tilt in tilts
    ]
    above = min(
        ((float(reach), tilt) for reach, tilt in zip(reaches, tilts, strict=True) if reach.is_finite()),
        key=lambda entry: entry[0],
        default=(math.inf, theta),
    )
    if not math.isfinite(above[0]):
        raise CannotCertifyError("the aliases of the line could not be bounded")
    period = arb(max(above[0], float(-goal / theta), float(eps) / 4, 1e-300))
    alias = _aliases(phases, theta, period, eps, above[1])
    spacing = 2 * arb.pi() / period
    last, decay = _length(phases, theta, spacing)
    tail = (at_theta - theta * eps + decay).exp() / (arb.pi() * spacing * last)
    return _Line(theta, spacing, last, alias.upper(), tail.upper())


def _aliases(phases: Sequence[Phase], theta: arb, period: arb, eps: arb, tilt: arb) -> arb:
    """Bound the aliases of the composed delta, and of what is taken off for the atom."""
    down, up = (-theta * period).exp(), ((theta - tilt) * period).exp()
    below, above = down / (1 - down), up / (1 - up) * (_log_peak(tilt) - tilt * eps).exp()
    total = below + above * _log_moments(phases, tilt).exp()
    if len(phases) == 1 and bool(phases[0].atom > 0):
        a, T = phases[0].atom, phases[0].count
        weight = T * a ** (T - 1)
        total += (a**T + weight) * below + weight * above * phases[0].moment(acb(tilt)).real
    if not total.is_finite():
        raise CannotCertifyError("the aliases of the line could not be bounded")
    return total


def _log_peak(theta: arb) -> arb:
    """Return log of the largest e^{-theta x}(1 - e^{-x})."""
    return -theta * (1 / theta).log1p() - theta.log1p()


def _length(phases: Sequence[Phase], theta: arb, spacing: arb) -> tuple[int, arb]:
    """Return N and a bound of log(|integrand|) beyond N d, relative to M(theta)^T/tau^2."""
    bounds = [phase.decay(theta) for phase in phases]
    last = 8
    most = MOST_MOMENTS // len(phases)
    while last <= most:
        end = last * spacing
        decay = sum((bound.log_power(end) for bound in bounds), arb(0)) if len(bounds) > 1 else bounds[0].log_rest(end)
        # |s(1+s)| >= theta(1+theta) near the saddle: what lies beyond counts relative to that.
        if decay - 2 * (1 + end / (1 + theta)).log() < -LOG_TAIL:
            return last, decay
        last = math.ceil(last * 1.25)
    raise CannotCertifyError(f"the integrand does not die out on {most} points: exact integers must serve")
