r"""The composed profile by another method and another library: Fourier inversion of the moment function.

Nothing is shared with `accountant.pld`: no lattice of losses, no chords, no cells, no
balls. numpy and scipy evaluate one integral.

Let L be the loss of one step under the first distribution of its pair and M(s) = E[e^{sL}] (`moments`). The loss of T
steps has the moment function M(s)^T, and (1 - e^{eps-x})_+ is the inverse transform of e^{-s eps}/(s(1+s)) for
Re s > 0. So, with s = theta + i tau and any theta > 0,

    delta(eps) = E[(1 - e^{eps - L_1 - ... - L_T})_+] = (1/2 pi) int M(s)^T e^{-s eps} / (s(1+s)) dtau.

T enters as a power only. theta is put at the saddle point, where the integrand hardly cancels: errors are then relative
to Chernoff's bound for delta, whatever the size of delta.

**The atom.** The dominating pair has an atom a at loss 0, so M(s) tends to a and not to 0. The two leading terms in
(M-a)^k are therefore taken off and added in closed form: a^T has no loss above 0, and T a^{T-1} (M-a) belongs to
T a^{T-1} times the profile of a single step. The rest falls off like s^-6.

**Errors.** On the grid tau = k d the sum is delta plus its aliases at eps +- 2 pi/d, weighted by e^{+-2 pi theta/d}
(Poisson's formula); d is chosen by Chernoff's bound such that they are below e^-32 of it. The line ends where
the integrand is below 1e-8 of the integral. The taper of `moments` changes delta by at most 1e-8 of the delta that is
aimed at. Quadrature and rounding are not bounded by proof: every value is computed twice, with another theta, another
d, another end and other panels, and `error` is ten times the difference, plus the taper, and never below 1e-8. Where it
is not small, or the line would be too long (one rare, large loss decides against a bulk on quite another scale, so no
theta suits both), the oracle says so and answers nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tests.accountant.moments import CannotResolve, Step, Which, log_moment, log_one_step, step_tapered, tilted_law
from tests.accountant.nonuniform import nonuniform_transform

Complexes = NDArray[np.complex128]

ALIAS: Final = 32.0
TAIL: Final = 1e-8
LEAST_ERROR: Final = 1e-8
LOG_TAPERED: Final = math.log(1e-8)
MOST_POINTS: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Knobs:
    """What the two evaluations do differently."""

    shift: float
    period: float
    end: float
    nodes: int


KNOBS: Final = (Knobs(1.0, 1.0, 1.0, 24), Knobs(0.97, 1.23, 1.4, 28))


@dataclass(frozen=True, slots=True)
class Value:
    """log delta, and by how much it may be off (an estimate: ten times the difference of two evaluations)."""

    log_delta: float
    error: float


class Inversion:
    """delta(epsilon) of composed steps (q, nu, count) for epsilons near the one it was made for.

    `log_delta` is about the logarithm of the delta to be expected: it says what may be tapered off.
    """

    def __init__(
        self, steps: Sequence[tuple[float, float, int]], which: Which, epsilon: float, log_delta: float
    ) -> None:
        share = log_delta + LOG_TAPERED - math.log(len(steps))
        self.steps = [step_tapered(q, nu, count, share - math.log(count)) for q, nu, count in steps]
        self.log_tapered = log_delta + LOG_TAPERED if which is not Which.SECOND else -math.inf
        theta = _saddle(self.steps, which, epsilon)
        period = _period(self.steps, which, epsilon, theta)
        self._lines = [_Line(self.steps, which, epsilon, theta=theta, period=period, knobs=knobs) for knobs in KNOBS]

    def log_delta(self, epsilon: float) -> Value:
        """Return log delta(epsilon) with its error."""
        first, second = (line.log_delta(epsilon) for line in self._lines)
        rounding = 4e-15 * sum(step.count for step in self.steps) + LEAST_ERROR
        return Value(first, 10 * abs(first - second) + rounding + math.exp(self.log_tapered - first))

    def epsilon(self, log_delta: float, start: float) -> float:
        """Return the epsilon near `start` with this delta (secants on log delta)."""
        left, right = start, start * (1 + 1e-4)
        at_left, at_right = (self._lines[0].log_delta(e) - log_delta for e in (left, right))
        for _ in range(30):
            if at_right == at_left or abs(right - left) <= 1e-12 * abs(right):
                break
            left, right, at_left = right, right - at_right * (right - left) / (at_right - at_left), at_right
            at_right = self._lines[0].log_delta(right) - log_delta
        return right


def fourier_log_delta(
    steps: Sequence[tuple[float, float, int]], which: Which, epsilon: float, *, within: float = 1e-7
) -> float:
    """Return log delta(epsilon), down to about e^-150, to the error stated; CannotResolve otherwise."""
    value = Inversion(steps, which, epsilon, -150.0).log_delta(epsilon)
    if value.error > within:
        raise CannotResolve(f"two evaluations differ by {value.error}")
    return value.log_delta


class _Line:
    """One vertical line: M^T/(s(1+s)) at theta + i k d, k = 0, 1, ..., over M(theta)^T."""

    def __init__(
        self, steps: Sequence[Step], which: Which, epsilon: float, *, theta: float, period: float, knobs: Knobs
    ) -> None:
        self.steps, self.which, self.nodes = steps, which, knobs.nodes
        self.theta = knobs.shift * theta
        self.scale = log_moment(steps, which, self.theta)
        self.spacing = 2 * math.pi / (knobs.period * period)
        self.transform = self._long_enough(epsilon, knobs)

    def log_delta(self, epsilon: float) -> float:
        """Sum the line and add what was taken off."""
        value = self._integral(self.transform, epsilon) + self._taken_off(epsilon)
        if not value > 0:
            raise CannotResolve("the integral is lost in its error")
        return self.scale - self.theta * epsilon + math.log(value)

    def _integral(self, transform: Complexes, epsilon: float) -> float:
        tau = self.spacing * np.arange(transform.size)
        terms = (transform * np.exp(-1j * tau * epsilon)).real
        return float(terms.sum() - terms[0] / 2) * self.spacing / math.pi

    def _taken_off(self, epsilon: float) -> float:
        """Return the sum of T a^{T-1} (profile of one step) over e^{scale - theta eps}; 0 without an atom."""
        if self.which is not Which.DOMINATING or any(step.atom == 0 for step in self.steps):
            return 0.0
        everything = sum(step.count * math.log(step.atom) for step in self.steps) - self.scale + self.theta * epsilon
        return sum(
            math.exp(everything - math.log(step.atom) + math.log(step.count) + log_one_step(step, epsilon))
            for step in self.steps
        )

    def _long_enough(self, epsilon: float, knobs: Knobs) -> Complexes:
        """Double the line until what lies beyond its end is negligible; then go on as the knobs say."""
        size, constant = 256, self._taken_off(epsilon)
        while size <= MOST_POINTS:
            transform = self._transform(size)
            total = abs(self._integral(transform, epsilon) + constant)
            beyond = float(np.abs(transform[-size // 8 :]).max()) * self.spacing * size
            if beyond <= TAIL * total:
                return transform if knobs.end == 1 else self._transform(math.ceil(size * knobs.end))
            size *= 2
        raise CannotResolve(f"the integrand does not die out on {size} points")

    def _transform(self, size: int) -> Complexes:
        s = self.theta + 1j * self.spacing * np.arange(size)
        total, correction = np.ones(size, dtype=np.complex128), np.zeros(size, dtype=np.complex128)
        shares = [self._atom_share(step) for step in self.steps]
        atoms = math.prod(share**step.count for share, step in zip(shares, self.steps, strict=True))
        for share, step in zip(shares, self.steps, strict=True):
            losses, weights, _ = tilted_law(step, self.which, self.theta, self.spacing * size, self.nodes)
            ratio = nonuniform_transform(self.spacing * losses, weights, size)
            total *= np.where(np.abs(ratio) > 1e-30, np.power(ratio, step.count), 0.0)
            if atoms > 0:
                correction += step.count * atoms / share * (ratio - share)
        return np.asarray((total - correction - atoms) / (s * (1 + s)))

    def _atom_share(self, step: Step) -> float:
        """Return a/M(theta) of the step."""
        if self.which is not Which.DOMINATING or step.atom == 0:
            return 0.0
        return math.exp(math.log(step.atom) - log_moment([step], self.which, self.theta) / step.count)


def _saddle(steps: Sequence[Step], which: Which, epsilon: float) -> float:
    """Return about the theta at which M^T e^{-theta eps}/(theta(1+theta)), convex in its logarithm, is least."""

    def height(theta: float) -> float:
        return log_moment(steps, which, theta) - theta * epsilon - math.log(theta) - math.log1p(theta)

    theta, ratio = 1.0, 4.0
    here = height(theta)
    while ratio > 1.02:
        for other in (theta * ratio, theta / ratio):
            there = height(other)
            if there < here:
                theta, here = other, there
                break
        else:
            ratio = math.sqrt(ratio)
        if not 1e-9 < theta < 1e12:
            raise CannotResolve(f"no saddle point: theta={theta}")
    return theta


def _period(steps: Sequence[Step], which: Which, epsilon: float, theta: float) -> float:
    """Return a period whose aliases are below e^-ALIAS of Chernoff's bound."""
    bound = log_moment(steps, which, theta) - theta * epsilon - math.log(theta * (1 + theta))
    below, above = (ALIAS - bound) / theta, math.inf
    for extra in theta * np.exp(np.linspace(math.log(3e-3), math.log(10.0), 16)):
        height = log_moment(steps, which, theta + extra) - (theta + extra) * epsilon - bound + ALIAS
        above = min(above, height / extra)
    return max(below, above)
