r"""Certified numerical composition of privacy profiles, upper and lower end.

1. `compose` takes steps (any mixture of sampling rates and noise) and returns a `ComposedProfile`.
2. Its upper end holds for every mechanism made of such steps: the dominating profile of each step is composed,
   adaptively (Zhu, Dong and Wang 2022), with losses rounded up. Its lower end is attained by a concrete pair of
   neighbours, so no accountant that knows only the steps may report less.
3. One step alone, and steps without sampling, have closed forms, and these are used.

Inputs are exact rationals, outputs `Bound`s; in between float64 is used under the bounds proved in `pld_*` and
`fft_error` (docs/adr/0002-certified-composition.md). Whatever cannot be certified raises `CannotCertifyError`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from flint import arb

from accountant.errors import CannotCertifyError, InvalidQuantityError
from accountant.gaussian import gaussian_delta, gaussian_epsilon
from accountant.pld_guess import BinaryStep, Pair
from accountant.pld_lattice import ComposedLattice
from accountant.pld_plan import Plan, Resolution, build, plan_for_delta, plan_for_epsilon
from accountant.precision import (
    Bound,
    arb_from_fraction,
    arb_precision,
    float_down,
    float_up,
    fraction_from_arb,
    fraction_of,
)
from accountant.profile import CurvePoint, SubsampledGaussian, single_step_delta, single_step_epsilon

__all__ = ["ComposedProfile", "CurvePoint", "Resolution", "SubsampledGaussian", "compose"]

_ZERO = Fraction(0)
_LOWER_PAIRS = (Pair.MIXTURE_FIRST, Pair.MIXTURE_SECOND)
_SCALAR_BITS = 128


def compose(
    steps: Sequence[SubsampledGaussian],
    *,
    target_delta: Fraction | None = None,
    resolution: Resolution = Resolution(),  # noqa: B008 - frozen
) -> ComposedProfile:
    """Return the composition of all steps; nothing is computed before it is asked for.

    `target_delta` lets `delta` reuse the lattice made for it; a coarser `resolution` is faster and never unsound.
    """
    return ComposedProfile(steps, target_delta=target_delta, resolution=resolution)


class ComposedProfile:
    r"""Enclosures of delta(epsilon) and epsilon(delta) of composed steps.

    `upper`: every mechanism made of these steps satisfies it. `lower`: a realisable pair violates anything less.
    """

    def __init__(
        self, steps: Sequence[SubsampledGaussian], *, target_delta: Fraction | None, resolution: Resolution
    ) -> None:
        if not steps:
            raise InvalidQuantityError("compose needs at least one step, got none")
        self._resolution = resolution
        self._target = None if target_delta is None else _checked_delta(target_delta)
        self._merged, self._gaussian_square = _merged(steps)
        self._lattices: dict[Pair, list[tuple[Plan, ComposedLattice]]] = {pair: [] for pair in Pair}

    def delta(self, epsilon: Fraction) -> Bound:
        """Enclose the least delta that goes with an epsilon >= 0."""
        closed = self._closed_delta(_checked_epsilon(epsilon))
        if closed is not None:
            return closed
        return Bound.from_fractions(self.delta_lower(epsilon), self.delta_upper(epsilon))

    def epsilon(self, delta: Fraction) -> Bound:
        """Enclose the smallest epsilon >= 0 with delta(epsilon) <= delta."""
        closed = self._closed_epsilon(_checked_delta(delta))
        if closed is not None:
            return closed
        return Bound.from_fractions(self.epsilon_lower(delta), self.epsilon_upper(delta))

    def delta_upper(self, epsilon: Fraction) -> Fraction:
        """Return a delta for which every mechanism made of these steps is (epsilon, delta)-private."""
        closed = self._closed_delta(_checked_epsilon(epsilon))
        if closed is not None:
            return fraction_of(closed.upper)
        lattice = self._lattice_near_epsilon(Pair.DOMINATING, epsilon)
        return min(lattice.delta_upper(epsilon), self._total_variation(), Fraction(1))

    def delta_lower(self, epsilon: Fraction) -> Fraction:
        """Return a delta that a realisable pair attains or exceeds at epsilon."""
        closed = self._closed_delta(_checked_epsilon(epsilon))
        if closed is not None:
            return fraction_of(closed.lower)
        best = _ZERO
        for pair in _LOWER_PAIRS:
            with contextlib.suppress(CannotCertifyError):  # a lower end of 0 is always true
                best = max(best, self._lattice_near_epsilon(pair, epsilon).delta_lower(epsilon))
        return best

    def epsilon_upper(self, delta: Fraction) -> Fraction:
        """Return the smallest epsilon >= 0 that could be certified for every mechanism made of these steps."""
        closed = self._closed_epsilon(_checked_delta(delta))
        if closed is not None:
            return fraction_of(closed.upper)
        if self._total_variation() <= delta:
            return _ZERO
        plan, lattice = self._lattice_for_delta(Pair.DOMINATING, delta)
        if lattice.delta_upper(_ZERO) <= delta:
            return _ZERO
        root = _root(lattice, plan, delta)
        return _certified(
            root, 1 / plan.frame.theta, lambda epsilon: lattice.delta_upper(epsilon) <= delta, upwards=True
        )

    def epsilon_lower(self, delta: Fraction) -> Fraction:
        """Return an epsilon below which a realisable pair violates (epsilon, delta); 0 if none could be certified."""
        closed = self._closed_epsilon(_checked_delta(delta))
        if closed is not None:
            return fraction_of(closed.lower)
        best = _ZERO
        for pair in _LOWER_PAIRS:
            with contextlib.suppress(CannotCertifyError):  # a lower end of 0 is always true
                best = max(best, self._pair_epsilon(pair, delta, best))
        return best

    def curve(self, epsilons: Sequence[Fraction]) -> tuple[CurvePoint, ...]:
        """Return certified points (epsilon, delta upper) of the privacy curve, for audits and trade-off functions."""
        return tuple(CurvePoint(epsilon, self.delta_upper(epsilon)) for epsilon in epsilons)

    def _pair_epsilon(self, pair: Pair, delta: Fraction, least: Fraction) -> Fraction:
        steps = self._binary(pair)
        if plan_for_delta(steps, pair, _log(delta), self._resolution).epsilon <= least:
            return _ZERO
        plan, lattice = self._lattice_for_delta(pair, delta)
        root = _root(lattice, plan, delta)
        return _certified(
            root, 1 / plan.frame.theta, lambda epsilon: lattice.delta_lower(epsilon) >= delta, upwards=False
        )

    def _closed_delta(self, epsilon: Fraction) -> Bound | None:
        if not self._merged:
            return gaussian_delta(self._gaussian_square, epsilon)
        if self._single is not None:
            return single_step_delta(self._single.sampling_rate, 1 / self._single.noise_multiplier**2, epsilon)
        return None

    def _closed_epsilon(self, delta: Fraction) -> Bound | None:
        if not self._merged:
            return gaussian_epsilon(self._gaussian_square, delta)
        if self._single is not None:
            return single_step_epsilon(self._single.sampling_rate, 1 / self._single.noise_multiplier**2, delta)
        return None

    @property
    def _single(self) -> SubsampledGaussian | None:
        alone = len(self._merged) == 1 and self._merged[0].count == 1 and self._gaussian_square == 0
        return self._merged[0] if alone else None

    def _total_variation(self) -> Fraction:
        r"""Bound delta(0) by the sum of the steps' own delta(0) = q(1 - 2 Phi(-1/(2 nu))); it needs no lattice."""
        with arb_precision(_SCALAR_BITS):
            total = (arb_from_fraction(self._gaussian_square).sqrt() / arb(8).sqrt()).erf()
            for step in self._merged:
                mu = arb_from_fraction(1 / step.noise_multiplier)
                total += arb_from_fraction(step.sampling_rate * step.count) * (mu / arb(8).sqrt()).erf()
            return min(fraction_from_arb(total.upper()), Fraction(1))

    def _lattice_for_delta(self, pair: Pair, delta: Fraction) -> tuple[Plan, ComposedLattice]:
        log_delta = _log(delta)
        for plan, lattice in self._lattices[pair]:
            if plan.log_delta == log_delta:
                return plan, lattice
        return self._remember(plan_for_delta(self._binary(pair), pair, log_delta, self._resolution))

    def _lattice_near_epsilon(self, pair: Pair, epsilon: Fraction) -> ComposedLattice:
        if self._target is not None and not self._lattices[pair]:
            self._lattice_for_delta(pair, self._target)
        known = sorted(self._lattices[pair], key=lambda entry: abs(entry[0].epsilon - float(epsilon)))
        for _, lattice in known[:2]:
            if lattice.suits(epsilon):
                return lattice
        steps = self._binary(pair)
        return self._remember(plan_for_epsilon(steps, pair, float(epsilon), self._resolution))[1]

    def _remember(self, plan: Plan) -> tuple[Plan, ComposedLattice]:
        entry = (plan, build(plan))
        self._lattices[plan.pair].append(entry)
        return entry

    def _binary(self, pair: Pair) -> list[BinaryStep]:
        r"""Round q and mu = 1/nu to binary64, up for the upper end, down for the lower: profiles grow with both."""
        rounded = float_up if pair is Pair.DOMINATING else float_down
        result = [
            BinaryStep(min(rounded(step.sampling_rate), 1.0), rounded(1 / step.noise_multiplier), step.count)
            for step in self._merged
        ]
        if self._gaussian_square:
            with arb_precision(_SCALAR_BITS):
                root = arb_from_fraction(self._gaussian_square).sqrt()
                end = root.upper() if pair is Pair.DOMINATING else root.lower()
                result.append(BinaryStep(1.0, rounded(fraction_from_arb(end)), 1))
        for step in result:
            if not (step.q > 1e-90 and 1e-90 < step.mu < 1e90):
                raise CannotCertifyError(f"float64 cannot hold a step with q={step.q}, 1/nu={step.mu}")
        return result


def _merged(steps: Sequence[SubsampledGaussian]) -> tuple[tuple[SubsampledGaussian, ...], Fraction]:
    """Return the sampled steps, equal ones joined, and mu^2 of all others together: they are one Gaussian release."""
    counts: dict[tuple[Fraction, Fraction], int] = {}
    gaussian_square = _ZERO
    for step in steps:
        if not isinstance(step, SubsampledGaussian):
            raise InvalidQuantityError(f"steps must be SubsampledGaussian, got {step!r}")
        if step.sampling_rate == 1:
            gaussian_square += step.count / step.noise_multiplier**2
        else:
            key = (step.sampling_rate, step.noise_multiplier)
            counts[key] = counts.get(key, 0) + step.count
    return tuple(SubsampledGaussian(q, nu, count) for (q, nu), count in counts.items()), gaussian_square


def _root(lattice: ComposedLattice, plan: Plan, delta: Fraction) -> float:
    """Return about the epsilon with delta(epsilon) = delta: secants from the right, where the lattice is sharp."""
    goal = _log(delta)

    def excess(epsilon: float) -> float:
        return lattice.log_estimate(Fraction(epsilon)) - goal

    right, left = max(plan.epsilon, 0.0), -math.inf
    value = excess(right)
    while value > 0:
        left, right = right, right + 2 * (value + 1) / plan.frame.theta
        value = excess(right)
    point, slope = right, -plan.frame.theta
    for _ in range(100):
        move = value / slope if math.isfinite(value) else 1 / plan.frame.theta
        following = max(point - move, 0.0) if math.isfinite(move) else point
        if following <= left or following >= right:
            following = (left + right) / 2 if math.isfinite(left) else max(right - 1 / plan.frame.theta, 0.0)
        following_value = excess(following)
        if abs(following - point) <= 1e-10 * right or abs(following_value) < 1e-9 or following == 0 == point:
            return following
        if math.isfinite(value) and math.isfinite(following_value) and following != point:
            steeper = (following_value - value) / (following - point)
            slope = steeper if steeper < 0 else -plan.frame.theta
        left, right = (following, right) if following_value > 0 else (left, following)
        point, value = following, following_value
    return point


def _certified(root: float, scale: float, holds: Callable[[Fraction], bool], *, upwards: bool) -> Fraction:
    """Return an epsilon near `root` on the stated side at which `holds` was checked; 0 for a lower end in need."""
    sign = 1 if upwards else -1
    unit = Fraction(max(abs(root), scale)) / 10**9
    failed, margin = Fraction(root), unit
    for _ in range(40):
        candidate = Fraction(root) + sign * margin
        if candidate <= 0 and not upwards:
            return _ZERO
        if holds(candidate):
            return _narrowed(failed, candidate, holds) if margin > unit else candidate
        failed, margin = candidate, margin * 4
    raise CannotCertifyError(f"no epsilon near {root} could be certified: use more points")


def _narrowed(failed: Fraction, good: Fraction, holds: Callable[[Fraction], bool]) -> Fraction:
    for _ in range(4):
        middle = (failed + good) / 2
        failed, good = (failed, middle) if holds(middle) else (middle, good)
    return good


def _log(value: Fraction) -> float:
    with arb_precision(64):
        return float(arb_from_fraction(value).log())


def _checked_delta(delta: Fraction) -> Fraction:
    if not isinstance(delta, Fraction):
        raise InvalidQuantityError(f"delta must be a Fraction, got delta={delta!r} ({type(delta).__name__})")
    if not 0 < delta < 1:
        raise InvalidQuantityError(f"delta must be in (0, 1), got delta={delta}")
    return delta


def _checked_epsilon(epsilon: Fraction) -> Fraction:
    if not isinstance(epsilon, Fraction):
        raise InvalidQuantityError(f"epsilon must be a Fraction, got epsilon={epsilon!r} ({type(epsilon).__name__})")
    if epsilon < 0:
        raise InvalidQuantityError(f"epsilon must be >= 0, got epsilon={epsilon}")
    return epsilon
