r"""A lower end that an adaptive adversary attains: before each block of steps, the forward or the reverse pair.

The record that differs has the vector a in one data set and a' in the other, |a - a'| = 1, and all other records share
one vector c. c = a' makes a step the forward pair (1-q)N(0) + qN(mu) against N(0), c = a the reverse one, N(0)
against (1-q)N(0) + qN(mu). The adversary chooses c by the outputs released so far; nothing else is adaptive, and one
dimension is enough. So it is attained by steps whose vectors may be any function of the released outputs, which is the
class that the upper end holds for: no accountant that is told the steps alone may answer less. An algorithm whose
gradients are those of a fixed loss at the last iterate is not known to attain it; a fixed pair of data sets attains the
forward pair alone (`accountant.pld.composition`).

Let V_k(y) be the largest H_y of k such steps: convex and nonincreasing in y, as H_y is, and at least 0. V_0 = (1-y)_+,
and V_{k+1}(y) >= E_P[V_k(y Q/P)] for either pair (P, Q). A pair is cut into cells as in `lower_step`, which gives
masses w_j <= P(cell) at lattice points x_j = jh with log(P(cell)/Q(cell)) >= x_j - s, s the slack. Then

    v_0(i) = V_0(e^{ih}),   v_{k+1}(i) = max over both pairs of sum_j w_j v_k(i - j)

satisfy v_k(i) <= V_k(e^{ih - ks}). For V_{k+1}(y) >= sum P(cell) V_k(y Q(cell)/P(cell)) by Jensen's inequality, and
that is at least sum_j w_j V_k(y e^{s - x_j}), since V_k is nonincreasing and >= 0; put y = e^{ih - (k+1)s}. Nothing is
interpolated: the losses of both pairs lie on one lattice. Masses and values that are left out, a choice for a whole
block of steps at once, and every rounding only lower v.

Values are stored tilted, v(i) = e^{scale - theta ih} values[i]; errors of transforms (`product_error`) are taken off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np
from flint import arb

from accountant.errors import CannotCertifyError, UnsupportedSchemeError
from accountant.limits import check_time
from accountant.mechanisms.steps import Step, SubsampledGaussianStep
from accountant.mechanisms.words import Neighbours, Noise
from accountant.numbers import arb_precision, float_down
from accountant.pld.adversary.state import window_for
from accountant.pld.certified_fft import MAX_LENGTH, Complexes, product, product_error, transformed
from accountant.pld.certified_floats import SCALAR_BITS, Floats, exp, expm1, float_above, float_below
from accountant.pld.convolution import compose_lattices
from accountant.pld.guesses import log_moment, sketch
from accountant.pld.ledger_steps import profile_steps
from accountant.pld.lower_step import cut_on_lattice, dominated_step
from accountant.pld.plan import CompositionPlan, Resolution, log_of, plan_for_delta, plan_for_epsilon, within_float64
from accountant.pld.types import BinaryStep, Frame, LatticeStep, Pair
from accountant.profiles.one_step import SubsampledGaussian

PAIRS: Final = (Pair.MIXTURE_FIRST, Pair.MIXTURE_SECOND)
DECISIONS: Final = 8
"""With k steps to go the adversary chooses again after about k/8: more often gains less than the lattice loses."""
_RESOLUTION: Final = Resolution(tolerance=4e-5, most_points=1 << 17)
_LOG_LEFT: Final = 34.0
"""Values below loss -34/theta are less than 1e-14 of the others, tilted."""
_LOG_SPILL: Final = -40.0
_DOWN: Final = 1 - 1e-13
"""Covers the errors of exp, expm1 and a few products of float64."""
_SUM_MARGIN: Final = 1e-9


@dataclass(frozen=True, slots=True)
class AttainedValues:
    """v after all steps, tilted: delta(index h - slack) is at least e^{scale - theta index h} values[index - first]."""

    spacing: float
    theta: float
    first: int
    values: Floats
    log_scale: arb
    slack: Fraction
    decisions: int

    def epsilon_at(self, index: int) -> Fraction:
        """Return the epsilon that a lattice point speaks of, slack taken off."""
        return index * Fraction(self.spacing) - self.slack

    def delta_lower(self, epsilon: Fraction) -> Fraction:
        """Return a delta that the adversary attains or exceeds at epsilon: that of the next lattice point above."""
        index = math.ceil((epsilon + self.slack) / Fraction(self.spacing))
        place = index - self.first
        if not 0 <= place < self.values.size or not self.values[place] > 0:
            return Fraction(0)
        with arb_precision(SCALAR_BITS):
            log_delta = (
                self.log_scale - arb(self.theta) * arb(self.spacing) * index + arb(float(self.values[place])).log()
            )
            return max(Fraction(float_below(log_delta.exp())), Fraction(0))

    def epsilon_lower(self, delta: Fraction) -> Fraction:
        """Return the largest epsilon of a lattice point at which delta is attained, 0 if there is none."""
        x = self.spacing * np.arange(self.first, self.first + self.values.size)
        with np.errstate(divide="ignore"):
            logs = np.log(self.values) - self.theta * x + float(self.log_scale.mid())
        above = np.nonzero(logs >= log_of(delta) - 1e-9)[0]
        for place in above[::-1][:4]:
            epsilon = self.epsilon_at(int(place) + self.first)
            if epsilon > 0 and self.delta_lower(epsilon) >= delta:
                return epsilon
        return Fraction(0)


def ledger_adaptive_epsilon(steps: tuple[Step, ...], delta: Fraction) -> Fraction:
    """Return the lower end for a ledger; refuse steps for which the adversary above does not exist."""
    if len(steps) != 1 or not isinstance(steps[0], SubsampledGaussianStep):
        raise UnsupportedSchemeError("the adaptive adversary attains batches of fixed size of one kind alone")
    step = steps[0]
    if step.neighbours is not Neighbours.REPLACE_ONE or step.noise is not Noise.GAUSSIAN:
        raise UnsupportedSchemeError("the adaptive adversary needs replace-one neighbours and real Gaussian noise")
    if step.sampling_rate == 1 or step.count == 1:
        raise UnsupportedSchemeError("one step, or steps without sampling, leave the adversary nothing to choose")
    return adaptive_epsilon_lower(profile_steps(steps, "up")[0], delta)


def adaptive_epsilon_lower(step: SubsampledGaussian, delta: Fraction, decisions: int = DECISIONS) -> Fraction:
    """Return an epsilon below which the adaptive adversary violates (epsilon, delta); 0 if none could be certified."""
    binary = _binary(step)
    plan = plan_for_delta([binary], Pair.MIXTURE_FIRST, log_of(delta), _RESOLUTION)
    return attained_values(plan, decisions).epsilon_lower(delta)


def adaptive_delta_lower(step: SubsampledGaussian, epsilon: Fraction, decisions: int = DECISIONS) -> Fraction:
    """Return a delta that the adaptive adversary attains or exceeds at epsilon."""
    plan = plan_for_epsilon([_binary(step)], Pair.MIXTURE_FIRST, float(epsilon), _RESOLUTION)
    return attained_values(plan, decisions).delta_lower(epsilon)


def _binary(step: SubsampledGaussian) -> BinaryStep:
    """Return q and 1/nu rounded down: profiles grow with both, and compositions with the profiles."""
    q, mu = float_down(step.sampling_rate), float_down(1 / step.noise_multiplier)
    if not (0 < q < 1 and 0 < mu < 20):
        raise CannotCertifyError(f"the adaptive adversary needs 0 < q < 1 and nu > 1/20, got q={q}, 1/nu={mu}")
    return BinaryStep(q, mu, step.count)


def attained_values(plan: CompositionPlan, decisions: int) -> AttainedValues:
    """Return what the adversary attains who chooses a pair `decisions` times, at equal distances."""
    with within_float64():
        return _attained(plan, decisions)


def _attained(plan: CompositionPlan, decisions: int) -> AttainedValues:
    binary = plan.led
    cuts, spacing = cut_on_lattice(binary.q, binary.mu, plan.frame.spacing, (-plan.frame.z_top, plan.frame.z_top))
    frame = Frame(spacing, plan.frame.z_top, plan.frame.theta)
    offset = round(cuts.offset / spacing)
    pairs = []
    for pair, sign in zip(PAIRS, (1, -1), strict=True):
        kappa = float(
            log_moment([sketch(BinaryStep(binary.q, binary.mu, 1), pair, frame.z_top)], np.array([frame.theta]))[0]
        )
        one = dominated_step(BinaryStep(binary.q, binary.mu, 1), pair, frame, kappa, cuts)
        pairs.append(replace(one, offset=0.0, first=one.first + sign * offset))
    first, points = _window(plan, spacing)
    x = spacing * np.arange(first, first + points, dtype=np.float64)
    below = x < 0
    values = np.zeros(points)
    values[below] = -expm1(x[below]) * exp(np.maximum(frame.theta * x[below], -700.0)) * _DOWN
    scale, kernels = arb(0), {}
    for size in block_sizes(binary.count, decisions):
        check_time()
        if size not in kernels:
            kernels[size] = _Kernels(pairs, size, frame, points)
        values, grown = kernels[size].applied(values)
        scale += grown
    slack = binary.count * max(Fraction(one.slack) for one in pairs)
    return AttainedValues(spacing, frame.theta, first, values, scale, slack, min(decisions, binary.count))


def block_sizes(count: int, decisions: int) -> list[int]:
    """Return powers of two that add up to count: with k steps to go, at most max(1, k/decisions) at once."""
    sizes: list[int] = []
    done = 0
    while done < count:
        size = 1 << max(done // decisions, 1).bit_length() - 1
        while size > count - done:
            size //= 2
        sizes.append(size)
        done += size
    return sizes


def _window(plan: CompositionPlan, spacing: float) -> tuple[int, int]:
    """Return the first index and how many points, a power of two: from where nothing is left to the highest loss."""
    low = min(plan.low, 0.0) - _LOG_LEFT / plan.frame.theta
    high = plan.low + plan.length * plan.frame.spacing
    points = 1 << math.ceil(math.log2((high - low) / spacing + 2))
    if 2 * points > MAX_LENGTH:
        raise CannotCertifyError(f"the adaptive adversary needs {points} points")
    return math.floor(low / spacing), max(points, 1 << 10)


class _Kernels:
    """Both pairs, taken `size` times, ready to be applied to values on `points` lattice points."""

    def __init__(self, pairs: Sequence[LatticeStep], size: int, frame: Frame, points: int) -> None:
        self._length = 2 * points
        self._masses: list[float] = []
        self._transformed: list[Complexes] = []
        for one in pairs:
            masses = _repeated(one, size, frame, points)
            self._masses.append(float(masses.sum()) * (1 + _SUM_MARGIN))
            self._transformed.append(transformed(masses, self._length))
        with arb_precision(SCALAR_BITS):
            scales = [size * one.log_scale for one in pairs]
            self._scale = scales[0]
            self._factors = [max(float_below((scale - scales[0]).exp()), 0.0) for scale in scales]

    def applied(self, values: Floats) -> tuple[Floats, arb]:
        """Return the larger of both products, rounded down, and the logarithm of their scale."""
        points, total = values.size, float(values.sum()) * (1 + _SUM_MARGIN)
        start = transformed(values, self._length)
        best = np.zeros(points)
        for kernel, mass, factor in zip(self._transformed, self._masses, self._factors, strict=True):
            error = product_error(total, mass, self._length)
            found = product(start, kernel)[points - 1 : 2 * points - 1] - error
            np.maximum(best, found * (factor * _DOWN), out=best)
        return best * _DOWN, self._scale


def _repeated(one: LatticeStep, size: int, frame: Frame, points: int) -> Floats:
    """Return masses at most those of `size` steps, at lattice points -(points-1) to points-1."""
    masses, first = one.masses, one.first
    if size > 1:
        steps = [replace(one, count=size)]
        composed = compose_lattices(steps, frame.theta, frame.spacing, window_for(steps, frame.spacing, _LOG_SPILL))
        with arb_precision(SCALAR_BITS):
            too_much = float_above(composed.error + composed.outside)
        masses, first = np.maximum(composed.weights - too_much, 0.0) * _DOWN, composed.first
    result = np.zeros(2 * points - 1)
    low, high = max(first, 1 - points), min(first + masses.size, points)
    if low < high:
        result[low + points - 1 : high + points - 1] = masses[low - first : high - first]
    return result
