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

The moment function of one step of a pair at complex s, in balls, and how fast it decays along a vertical line.

With t = mu z - mu^2/2, y = 1 - q + q e^t and l = log y, z standard normal under N(0):

    mixture first:   M(s) = int phi(z) y^{1+s} dz,
    mixture second:  M(s) = int phi(z) y^{-s} dz,
    dominating:      M(s) = a + int over z > mu/2 of phi(z) (y^{1+s} + y^{-s}) dz,    a = (1-q) erf(mu/sqrt 8).

q = 1 is M(s) = e^{s(1+s) mu^2/2}. The density of the loss, tilted, is g = phi(z) e^{-t} y^{b+1}/(q mu) with b = 1+theta
or -theta. (log g)' = -z - mu + (b+1) l'(z), and l' = mu q e^t/y rises with l'' = l'(mu - l') rising then falling, so
(log g)' has at most three zeros: g has at most two maxima (ends counted), and its variation together with its values at
the ends is at most 4 sup g. Losses at z > top are left out, and what they weigh is said (`dropped`).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import flint
from flint import acb, arb

from accountant.certificates.integer_route import ExactPair
from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.numbers import arb_from_fraction, arb_precision, fraction_from_arb
from accountant.profiles.gaussian import delta_ball
from accountant.profiles.one_step import SubsampledGaussian

_SHARES: Final = (0.2, 0.35, 0.5, 0.65, 0.8)
_STRIPS: Final = 400
_BLOCK_STRIPS: Final = 16
_REACHES: Final = (0.5, 1, 1.5, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Decay:
    r"""What is known of phi(tau) = M(theta + i tau)/M(theta): |phi - a/M| <= v/tau and |phi| <= r beyond K."""

    atom: arb
    variation: arb
    count: int
    knees: tuple[tuple[arb, arb], ...]
    blocks: tuple[tuple[arb, arb], ...] = ()

    def log_power(self, tau: arb) -> arb:
        """Return a bound of T log|phi| that holds at tau and beyond."""
        best = (self.atom + self.variation / tau).log()
        for mass, width in self.blocks:
            best = best.min((-mass * (1 - _least_sinc(tau * width / 2))).log1p())
        for knee, level in self.knees:
            ratio = knee / tau
            square = (1 - (1 - level * level) / _four_to(ratio)) if ratio > 1 else level * level
            best = best.min(square.log() / 2)
        return self.count * best.min(arb(0))

    def log_rest(self, tau: arb) -> arb:
        """Return the same for phi^T less a^T and T a^{T-1} (phi - a), where that is smaller; x^2 beats powers of a."""
        if not self.atom > 0:
            return self.log_power(tau)
        x, a, T = self.variation / tau, self.atom, self.count
        direct = self.log_power(tau).exp() + a**T + T * a ** (T - 1) * x
        # (a+x)^T - a^T - T a^{T-1} x <= T (T-1)/2 x^2 (a+x)^{T-2}, by Taylor's formula
        remainder = arb(T) * (T - 1) / 2 * x * x * ((a + x) ** (T - 2) if T > 2 else arb(1))
        return direct.min(remainder).log()


def _least_sinc(x: arb) -> arb:
    """Bound |sin(x')/x'| for all x' >= x: it falls up to pi/2, and is at most 1/x'."""
    if not x < arb.pi() / 2:
        return (1 / x).min(arb(1))
    return x.sin() / x


def _four_to(ratio: arb) -> arb:
    """Return 4^j for the least j with 2^j >= ratio."""
    j = 1
    while not arb(2) ** j >= ratio:
        j += 1
    return arb(4) ** j


@dataclass(frozen=True)
class Phase:
    """Equal steps of a pair; q = 1 is a plain Gaussian release."""

    q: arb
    mu: arb
    count: int
    pair: ExactPair
    sampled: bool
    top: arb

    @functools.cached_property
    def atom(self) -> arb:
        """The mass at loss 0."""
        if not self.sampled or self.pair is not ExactPair.DOMINATING:
            return arb(0)
        return (1 - self.q) * (self.mu / arb(8).sqrt()).erf()

    def moment(self, s: acb) -> acb:
        """Enclose M(s), Re s > 0."""
        if not self.sampled:
            return (s * (1 + s) * self.mu * self.mu / 2).exp()
        theta, low = s.real, self._low(s.real)
        goal = arb(2) ** (20 - _precision())
        function, points = _Integrand(self.q, self.mu, self._crossing().mid(), s, self.pair), self._points(theta, low)
        total = acb(0)
        for start, end in itertools.pairwise(points):
            total += acb.integral(function, acb(start), acb(end), rel_tol=goal, abs_tol=goal)
        rest = self._below(theta, low)
        return acb(self.atom) + total / (2 * arb.pi()).sqrt() + acb(arb(0, 1) * rest, arb(0, 1) * rest)

    def _low(self, theta: arb) -> arb:
        if self.pair is ExactPair.DOMINATING:
            return self.mu / 2
        spread = arb(_precision()) * arb(2).log()
        if self.pair is ExactPair.MIXTURE_SECOND:
            spread -= theta * (1 - self.q).log()
        return -((2 * spread).sqrt() + 1).upper().ceil()

    def _below(self, theta: arb, low: arb) -> arb:
        """Bound what lies below the lower end: y <= 1 there, and y >= 1 - q."""
        if self.pair is ExactPair.DOMINATING:
            return arb(0)
        tail = normal_tail(-low)
        return tail if self.pair is ExactPair.MIXTURE_FIRST else tail * (1 - self.q) ** (-theta)

    def _points(self, theta: arb, low: arb) -> list[arb]:
        crossing, peak = self._crossing(), (1 + theta) * self.mu
        wanted = [crossing, peak, peak - 6, peak + 6, arb(0), arb(-6), arb(6)]
        inside = {fraction_from_arb(p.mid()) for p in wanted if p.is_finite() and p.mid() > low and p.mid() < self.top}
        return [low, *(arb_from_fraction(p) for p in sorted(inside)), self.top]

    def _crossing(self) -> arb:
        return ((1 - self.q) / self.q).log() / self.mu + self.mu / 2

    @functools.cached_property
    def dropped(self) -> arb:
        """The mass beyond the top, which is left out of M: of one step."""
        if not self.sampled:
            return arb(0)
        tail = normal_tail(self.top)
        if self.pair is ExactPair.MIXTURE_SECOND:
            return tail
        mixed = self.q * normal_tail(self.top - self.mu) + (1 - self.q) * tail
        return mixed + tail if self.pair is ExactPair.DOMINATING else mixed

    def decay(self, theta: arb) -> Decay:
        """Return how fast |M| falls along the line."""
        at_theta = self.moment(acb(theta)).real
        if not self.sampled:
            # |phi| = e^{-mu^2 tau^2/2} <= 1/(mu tau sqrt e), and at tau = 1/mu it is e^{-1/2}.
            knee = (1 / self.mu, arb(-0.5).exp())
            return Decay(arb(0), 1 / (self.mu * arb(1).exp().sqrt()), self.count, (knee,))
        powers = {
            ExactPair.MIXTURE_FIRST: (1 + theta,),
            ExactPair.MIXTURE_SECOND: (-theta,),
            ExactPair.DOMINATING: (1 + theta, -theta),
        }[self.pair]
        variation = sum((self._variation(power) for power in powers), arb(0)) / at_theta
        atom = self.atom / at_theta
        levels = [atom + (1 - atom) * share for share in _SHARES]
        knees = tuple((variation / (level - atom), level) for level in levels)
        blocks = tuple(block for power in powers for block in self._blocks(power, at_theta))
        return Decay(atom, variation, self.count, knees, blocks)

    def _blocks(self, power: arb, at_theta: arb) -> list[tuple[arb, arb]]:
        r"""Return (mass, width) of intervals of losses on which the tilted density is at least mass/width.

        It is then that uniform density plus a rest, so |phi| <= 1 - mass (1 - |sinc(tau width/2)|).
        """
        mu, rising = self.mu, bool(power + 1 > 0)
        found = []
        centre = (power * mu).max(arb(0)) if self.pair is not ExactPair.DOMINATING else mu / 2
        starts = [mu / 2] if self.pair is ExactPair.DOMINATING else [-mu - 1, arb(-1), arb(0)]
        for start, reach in itertools.product({fraction_from_arb(x.mid()) for x in [*starts, centre - 1]}, _REACHES):
            left = (
                arb_from_fraction(start).max(mu / 2) if self.pair is ExactPair.DOMINATING else arb_from_fraction(start)
            )
            right = (left + reach).min(self.top)
            ends, least = [left + (right - left) * k / _BLOCK_STRIPS for k in range(_BLOCK_STRIPS + 1)], None
            for a, b in itertools.pairwise(ends):
                farthest = abs(a + mu).max(abs(b + mu))
                height = mu * mu - farthest * farthest / 2 + (power + 1) * self._log_y(a if rising else b)
                least = height.lower() if least is None else least.min(height.lower())
            assert least is not None
            width = (self._log_y(right) - self._log_y(left)).lower()
            mass = least.exp() * width / (self.q * mu * (2 * arb.pi()).sqrt() * at_theta)
            if width > 0 and mass.is_finite():
                found.append((mass.lower().min(arb(1)), width))
        return found

    def _variation(self, power: arb) -> arb:
        r"""Bound the variation of g = phi(z) e^{-t} y^{power+1}/(q mu), its values at both ends included.

        With (power+1) mu^2/4 <= 1 its logarithm is concave: one maximum. Its supremum: strips, on each the largest
        value of every factor, phi(z) e^{-t} = e^{mu^2 - (z+mu)^2/2}/sqrt(2 pi); below the strips y is about constant.
        """
        mu, low = self.mu, self.mu / 2 if self.pair is ExactPair.DOMINATING else -(4 + 2 * self.mu).upper()
        width, rising = (self.top - low) / _STRIPS, bool(power + 1 > 0)
        bottom = self._log_y(low) if rising else (1 - self.q).log()
        best = (mu * mu - (-low - mu).max(arb(0)) ** 2 / 2 + (power + 1) * bottom).exp().upper()
        for strip in range(_STRIPS):
            left, right = low + strip * width, low + (strip + 1) * width
            nearest = (left + mu).max(arb(0)).max(-(right + mu))
            height = mu * mu - nearest * nearest / 2 + (power + 1) * self._log_y(right if rising else left)
            best = best.max(height.exp().upper())
        maxima = 1 if (power + 1) * mu * mu < 4 else 2
        return 2 * maxima * best / (self.q * mu * (2 * arb.pi()).sqrt())

    def _log_y(self, z: arb) -> arb:
        return (self.q * (self.mu * z - self.mu * self.mu / 2).expm1()).log1p()


class _Integrand:
    """phi(z) sqrt(2 pi) times the powers of y, analytic off the cut of log y."""

    def __init__(self, q: arb, mu: arb, crossing: arb, s: acb, pair: ExactPair) -> None:
        self.q, self.mu, self.crossing, self.s, self.pair = q, mu, crossing, s, pair

    def __call__(self, z: acb, analytic: bool) -> acb:
        t = self.mu * (z - self.mu / 2)
        if z.real.mid() < self.crossing:
            log_y = (1 - self.q + self.q * t.exp()).log(analytic=analytic)
        else:
            log_y = t + (self.q + (1 - self.q) * (-t).exp()).log(analytic=analytic)
        density = -z * z / 2
        if self.pair is ExactPair.MIXTURE_FIRST:
            return (density + (1 + self.s) * log_y).exp()
        if self.pair is ExactPair.MIXTURE_SECOND:
            return (density - self.s * log_y).exp()
        return (density + (1 + self.s) * log_y).exp() + (density - self.s * log_y).exp()


def phases_of(steps: Sequence[SubsampledGaussian], pair: ExactPair, spare: Fraction) -> list[Phase]:
    """Return the phases in balls: equal steps joined, plain Gaussian releases added up to one.

    Losses at points beyond the top are left out; all steps together have about `spare` of mass there.
    """
    counts: dict[tuple[Fraction, Fraction], int] = {}
    square = Fraction(0)
    for step in steps:
        if step.sampling_rate == 1:
            square += step.count / step.noise_multiplier**2
        else:
            place = (step.sampling_rate, 1 / step.noise_multiplier)
            counts[place] = counts.get(place, 0) + step.count
    phases = [
        Phase(arb_from_fraction(q), arb_from_fraction(mu), n, pair, True, _top(q, mu, spare / (n * len(counts))))
        for (q, mu), n in counts.items()
    ]
    if square:
        phases.append(Phase(arb(1), arb_from_fraction(square).sqrt(), 1, pair, False, arb(0)))
    return phases


def _top(q: Fraction, mu: Fraction, spare: Fraction) -> arb:
    """Return an exact z beyond which a step has about that mass: by P[N > x] <= e^{-x^2/2}."""
    own = (-2 * arb_from_fraction(spare / 2).log()).max(arb(1)).sqrt()
    shifted = arb_from_fraction(mu) + (-2 * arb_from_fraction(min(spare / (2 * q), Fraction(1, 2))).log()).sqrt()
    return (own.max(shifted).max(arb_from_fraction(mu) / 2 + 1) * 64).upper().ceil() / 64


def normal_tail(x: arb) -> arb:
    """Return P[N(0,1) > x]."""
    return (x / arb(2).sqrt()).erfc() / 2


def _precision() -> int:
    return int(flint.ctx.prec)


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
