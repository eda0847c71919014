r"""Certified numerical composition of privacy profiles, upper and lower end.

1. `compose` takes steps (any mixture of sampling rates and noise) and returns a `ComposedProfile`.
2. Its upper end holds for every mechanism made of such steps: the dominating profile of each step is composed,
   adaptively (Zhu, Dong and Wang 2022), with losses rounded up. Its lower end is attained by a concrete pair of
   neighbours, so no accountant that knows only the steps may report less.
3. One step alone, and steps without sampling, have closed forms, and these are used.

Inputs are exact rationals, outputs `Bound`s; in between float64 is used under the bounds proved in
`certified_floats` and `certified_fft` (docs/adr/0002-certified-composition.md). Whatever cannot be certified raises
`CannotCertifyError`.

Upper ends of steps of several kinds on one lattice: each is dominated by a lattice measure, and these are composed.

Batches with replacement (a mixture whose component is public, `accountant.profiles.with_replacement`), Poisson batches
in either order of their pair, pure releases and Laplace noise beside Gaussian steps. The search for a lattice is that
of `composition`.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

from flint import arb

from accountant.errors import CannotCertifyError, InvalidQuantityError
from accountant.limits import check_time, time_left
from accountant.numbers import Bound, arb_from_fraction, arb_precision, float_down, float_up, fraction_from_arb
from accountant.pld.certified_floats import SCALAR_BITS
from accountant.pld.convolution import ComposedLattice
from accountant.pld.multiscale import build
from accountant.pld.parts import APART_SHARE, Steps, attained_by_parts, first_answer, joined, splits
from accountant.pld.plan import (
    BLUNT_TRUNCATIONS,
    LOG_TRUNCATION,
    MILD_TRUNCATION,
    CompositionPlan,
    Resolution,
    checked_delta,
    checked_epsilon,
    chernoff_epsilon,
    dominated_epsilon,
    finer_resolution,
    lattice_epsilon,
    log_of,
    plan_for_delta,
    plan_for_epsilon,
)
from accountant.pld.types import BinaryStep, ComposableStep, LaplaceLosses, MixedStep, Mixtures, Pair, ResponseLosses
from accountant.profiles.gaussian import gaussian_delta, gaussian_delta_upper, gaussian_epsilon
from accountant.profiles.one_step import SubsampledGaussian, single_step_delta, single_step_epsilon
from accountant.profiles.with_replacement import PublicCopies
from accountant.profiles.without_lattice import attained_level, event_delta, event_epsilon, levels_of, revealed_epsilon

__all__ = ["ComposedProfile", "Resolution", "SubsampledGaussian", "compose"]

_ZERO = Fraction(0)
_LOWER_PAIRS = (Pair.MIXTURE_FIRST, Pair.MIXTURE_SECOND)
_SCALAR_BITS = 128
_TOLERATED_ERROR_SHARE = 1e-3
_BLUNT_FROM = 0.1
_EXPECTED_WITHIN = 1.01
"""What a plan expects is off by less than this factor; where it is off by more, a lower end is a little lower."""
_CLOSE = 1 + Fraction(1, 10**4)
"""Ends that differ by no more than this factor are not looked at again."""
_NEAR = Fraction(1, 10**9)
"""The delta at which phases are ranked where none is given."""


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
        self._target = None if target_delta is None else checked_delta(target_delta)
        self._given = tuple(steps)
        self._merged, self._gaussian_square = _merged(steps)
        self._plans: dict[tuple[Pair, float], CompositionPlan] = {}
        self._lattices: dict[Pair, list[tuple[CompositionPlan, ComposedLattice]]] = {pair: [] for pair in Pair}

    def delta(self, epsilon: Fraction) -> Bound:
        """Enclose the least delta that goes with an epsilon >= 0."""
        closed = self._closed_delta(checked_epsilon(epsilon))
        if closed is not None:
            return closed
        return Bound.from_fractions(self.delta_lower(epsilon), self.delta_upper(epsilon))

    def epsilon(self, delta: Fraction) -> Bound:
        """Enclose the smallest epsilon >= 0 with delta(epsilon) <= delta."""
        closed = self._closed_epsilon(checked_delta(delta))
        if closed is not None:
            return closed
        level, revealed = self._level(delta), revealed_epsilon(self._given, delta)
        if revealed is not None and revealed <= level * _CLOSE:  # noise hides nothing: no lattice is needed above
            alone = len(joined(self._given)) == 1
            return Bound.from_fractions(level if alone else min(self.epsilon_lower(delta), revealed), revealed)
        upper = self.epsilon_upper(delta)  # first: where the time is short, this end matters more
        return Bound.from_fractions(min(self.epsilon_lower(delta), upper), upper)

    def delta_upper(self, epsilon: Fraction) -> Fraction:
        """Return a delta for which every mechanism made of these steps is (epsilon, delta)-private."""
        closed = self._closed_delta(checked_epsilon(epsilon))
        if closed is not None:
            return closed.most.fraction()
        try:
            bound = self._near_epsilon(Pair.DOMINATING, epsilon, ComposedLattice.judged_upper)
        except CannotCertifyError:
            bound = self._delta_apart(epsilon)
        return min(bound, self._total_variation())

    def _delta_apart(self, epsilon: Fraction) -> Fraction:
        """Return a delta from parts of the ledger priced apart, or as if every record were always used."""
        square, rest = self._unamplified_square, epsilon * APART_SHARE
        found = first_answer(
            lambda larger=larger, smaller=smaller: (  # type: ignore[misc]  # the defaults bind the parts
                self._part(larger).delta_upper(epsilon - rest) + self._part(smaller).delta_upper(rest)
            )
            for larger, smaller in splits(self._given, self._ceiling(_NEAR))
        )
        unamplified = gaussian_delta_upper(square, epsilon)
        return unamplified if found is None else min(found, unamplified)

    def _part(self, steps: Steps) -> ComposedProfile:
        return ComposedProfile(steps, target_delta=None, resolution=self._resolution)

    def delta_lower(self, epsilon: Fraction) -> Fraction:
        """Return a delta that a realisable pair attains or exceeds at epsilon."""
        closed = self._closed_delta(checked_epsilon(epsilon))
        if closed is not None:
            return closed.least.fraction()
        best = event_delta(self._merged, epsilon) if epsilon > 0 else _ZERO
        for pair in _LOWER_PAIRS:
            with contextlib.suppress(CannotCertifyError):  # a lower end of 0 is always true
                best = max(best, self._near_epsilon(pair, epsilon, ComposedLattice.judged_lower))
        return best

    def epsilon_upper(self, delta: Fraction) -> Fraction:
        """Return the smallest epsilon >= 0 that could be certified for every mechanism made of these steps."""
        closed = self.closed_upper(delta)
        if closed is not None:
            return closed
        try:
            found = self._dominating_epsilon(delta)
        except CannotCertifyError:
            found = self._epsilon_apart(delta)
        return min([found, *self.upper_without_lattice(delta)])

    def closed_upper(self, delta: Fraction) -> Fraction | None:
        """Return the upper end where it has a closed form, or is 0 by the steps' total variations; None otherwise."""
        closed = self._closed_epsilon(checked_delta(delta))
        if closed is not None:
            return closed.most.fraction()
        return _ZERO if self._total_variation() <= delta else None

    def upper_without_lattice(self, delta: Fraction) -> list[Fraction]:
        """Return upper ends for little noise, and for hardly any sampling, where they may be the smaller ones."""
        found = [] if (revealed := revealed_epsilon(self._given, delta)) is None else [revealed]
        return [*found, self._unamplified(delta)] if self._is_hardly_sampled else found

    def _epsilon_apart(self, delta: Fraction) -> Fraction:
        """Return an epsilon from parts of the ledger priced apart, or as if every record were always used."""
        rest = delta * APART_SHARE
        found = first_answer(
            lambda larger=larger, smaller=smaller: (  # type: ignore[misc]  # the defaults bind the parts
                self._part(larger).lattice_epsilon_upper(delta - rest) + self._part(smaller).epsilon_upper(rest)
            )
            for larger, smaller in splits(self._given, self._ceiling(delta))
        )
        return self._unamplified(delta) if found is None else min(found, self._unamplified(delta))

    def lattice_epsilon_upper(self, delta: Fraction) -> Fraction:
        """Return `epsilon_upper` where all phases can be held at once; refuse otherwise."""
        closed = self._closed_epsilon(delta)
        return self._dominating_epsilon(delta) if closed is None else closed.most.fraction()

    def _dominating_epsilon(self, delta: Fraction) -> Fraction:
        """Return the least that lattices certify: a tilted one, and blunt ones where that is all error or fails.

        A blunt one spends a part of delta on calling the rarest losses infinite.
        """
        found: list[Fraction] = []
        failure: CannotCertifyError | None = None
        for log_truncation in (LOG_TRUNCATION, *BLUNT_TRUNCATIONS):
            try:
                plan, lattice = self._lattice_for_delta(Pair.DOMINATING, delta, log_truncation)
                found.append(lattice_epsilon(plan, lattice, delta))
            except CannotCertifyError as reason:
                failure = failure or reason
                continue
            if log_truncation == LOG_TRUNCATION and (found[0] == 0 or lattice.judged_upper(found[0])[1] <= _BLUNT_FROM):
                finer = self._finer_lattice(plan, lattice, found[0], delta)
                with contextlib.suppress(CannotCertifyError):  # what was found stands
                    found += [] if finer is None else [lattice_epsilon(*finer, delta)]
                break
        if not found:
            raise failure or CannotCertifyError("no lattice certified anything")
        return min(found)

    def _finer_lattice(
        self, plan: CompositionPlan, lattice: ComposedLattice, near: Fraction, delta: Fraction
    ) -> tuple[CompositionPlan, ComposedLattice] | None:
        """Return a lattice fit for the answer where the one at hand is too coarse there; None otherwise."""
        finer = finer_resolution(plan, lattice, float(near), self._resolution)
        if finer is None:
            return None
        with contextlib.suppress(CannotCertifyError):
            planned = plan_for_delta(plan.steps, plan.pair, log_of(delta), finer, log_truncation=MILD_TRUNCATION)
            return planned, build(planned)
        return None

    def epsilon_lower(self, delta: Fraction) -> Fraction:
        """Return an epsilon below which a realisable pair violates (epsilon, delta); 0 if none could be certified."""
        closed = self._closed_epsilon(checked_delta(delta))
        if closed is not None:
            return closed.least.fraction()
        composed = attained_by_parts(
            self._given, lambda part: self._part(part).attained_epsilon(delta), self._ceiling(delta)
        )
        return max(composed, self._level(delta))

    def _level(self, delta: Fraction) -> Fraction:
        """Return an epsilon that losses reach often enough, whatever the size of the ledger."""
        try:
            return attained_level(levels_of(joined(self._given)), delta)
        except CannotCertifyError:  # the time is up
            return _ZERO

    def _ceiling(self, delta: Fraction) -> Callable[[Steps], float]:
        """Return about the largest epsilon a part may have at delta, remembered."""
        return functools.cache(lambda part: self._part(part).chernoff(delta))

    def chernoff(self, delta: Fraction) -> float:
        """Approximate the most that a realisable pair can attain: Chernoff's bound, or exactly."""
        closed = self._closed_epsilon(delta)
        if closed is not None:
            return float_up(closed.most)
        pairs = _LOWER_PAIRS if time_left() > 0 else ()  # when it is up, no guess is worth more time
        try:
            most = max((chernoff_epsilon(self._binary(pair), pair, log_of(delta)) for pair in pairs), default=math.nan)
        except (CannotCertifyError, ArithmeticError):
            most = math.nan
        return float_up(self._unamplified(delta)) if math.isnan(most) else max(most, 0.0)

    def attained_epsilon(self, delta: Fraction) -> Fraction:
        """Return `epsilon_lower` of the whole alone, no sub-ledger looked at."""
        closed = self._closed_epsilon(delta)
        if closed is not None:
            return closed.least.fraction()
        best = event_epsilon(self._merged, delta)
        for pair in _LOWER_PAIRS:
            with contextlib.suppress(CannotCertifyError):  # a lower end of 0 is always true
                best = max(best, self._pair_epsilon(pair, delta, best))
        return best

    def _pair_epsilon(self, pair: Pair, delta: Fraction, least: Fraction) -> Fraction:
        planned = self._plan(pair, log_of(delta))
        if planned.epsilon <= least or planned.expected * _EXPECTED_WITHIN < least:
            return _ZERO
        plan, lattice = self._lattice_for_delta(pair, delta)
        found = dominated_epsilon(plan, lattice, delta)
        finer = self._finer_lattice(plan, lattice, max(found, least), delta)
        return found if finer is None else max(found, dominated_epsilon(*finer, delta))

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

    @property
    def _is_hardly_sampled(self) -> bool:
        """Say whether the exact bound without sampling may be below the lattice's, which has a width."""
        return all(step.sampling_rate > Fraction(9, 10) for step in self._merged)

    def _unamplified(self, delta: Fraction) -> Fraction:
        """Return epsilon(delta), rounded up, as if every record were used in every step: sampling never costs."""
        return gaussian_epsilon(self._unamplified_square, delta).most.fraction()

    @property
    def _unamplified_square(self) -> Fraction:
        return sum((step.count / step.noise_multiplier**2 for step in self._merged), self._gaussian_square)

    def _total_variation(self) -> Fraction:
        r"""Bound delta(0) by the sum of the steps' own delta(0) = q(1 - 2 Phi(-1/(2 nu))); it needs no lattice."""
        with arb_precision(_SCALAR_BITS):
            total = (arb_from_fraction(self._gaussian_square).sqrt() / arb(8).sqrt()).erf()
            for step in self._merged:
                mu = arb_from_fraction(1 / step.noise_multiplier)
                total += arb_from_fraction(step.sampling_rate * step.count) * (mu / arb(8).sqrt()).erf()
            return min(fraction_from_arb(total.upper()), Fraction(1))

    def _lattice_for_delta(
        self, pair: Pair, delta: Fraction, log_truncation: float = LOG_TRUNCATION
    ) -> tuple[CompositionPlan, ComposedLattice]:
        log_delta = log_of(delta)
        if log_truncation != LOG_TRUNCATION:  # of use for this delta alone
            blunt = plan_for_delta(self._binary(pair), pair, log_delta, self._resolution, log_truncation=log_truncation)
            return blunt, build(blunt)
        for plan, lattice in self._lattices[pair]:
            if plan.log_delta == log_delta:
                return plan, lattice
        return self._remember(self._plan(pair, log_delta))

    def _plan(self, pair: Pair, log_delta: float) -> CompositionPlan:
        """Return the plan for delta, made once."""
        if (pair, log_delta) not in self._plans:
            planned = plan_for_delta(self._binary(pair), pair, log_delta, self._resolution)
            self._plans[pair, log_delta] = planned
        return self._plans[pair, log_delta]

    def _near_epsilon(
        self, pair: Pair, epsilon: Fraction, judged: Callable[[ComposedLattice, Fraction], tuple[Fraction, float]]
    ) -> Fraction:
        """Return the bound of a lattice at hand if errors make up little of it, else of one made for this epsilon."""
        if self._target is not None and not self._lattices[pair]:
            self._lattice_for_delta(pair, self._target)
        known = sorted(self._lattices[pair], key=lambda entry: abs(entry[0].epsilon - float(epsilon)))
        for plan, lattice in known[:2]:
            bound, share = judged(lattice, epsilon)
            at_home = judged(lattice, Fraction(plan.epsilon))[1]
            if share <= max(_TOLERATED_ERROR_SHARE, 4 * at_home):
                return bound
        plan = plan_for_epsilon(self._binary(pair), pair, float(epsilon), self._resolution)
        return judged(self._remember(plan)[1], epsilon)[0]

    def _remember(self, plan: CompositionPlan) -> tuple[CompositionPlan, ComposedLattice]:
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
    for step in steps:
        if not isinstance(step, SubsampledGaussian):
            raise InvalidQuantityError(f"steps must be SubsampledGaussian, got {step!r}")
    gaussian_square = sum((step.count / step.noise_multiplier**2 for step in steps if step.sampling_rate == 1), _ZERO)
    return joined([step for step in steps if step.sampling_rate < 1]), gaussian_square


TRUNCATIONS: Final = (LOG_TRUNCATION, MILD_TRUNCATION, *BLUNT_TRUNCATIONS)
"""Parts of delta that may be spent on calling the rarest losses infinite: which one is best is tried."""
_ENOUGH: Final = 1e-3
"""Where errors make up less than this of the bound of the first lattice, no other is tried."""


class MixedProfile:
    """Upper bounds of delta(epsilon) and epsilon(delta) of composed steps of several kinds, in one order."""

    def __init__(self, steps: Sequence[ComposableStep], resolution: Resolution) -> None:
        self._steps = list(steps)
        self._resolution = resolution
        self._thorough = any(isinstance(step, MixedStep) for step in steps)
        self._most = sum((_largest_loss(step) for step in steps), Fraction(0)) if all(map(_is_bounded, steps)) else None

    def epsilon_upper(self, delta: Fraction) -> Fraction:
        """Return about the least epsilon >= 0 that a lattice certifies at delta."""
        found: list[Fraction] = []
        failure: CannotCertifyError | None = None
        for log_truncation in TRUNCATIONS:
            try:
                plan, lattice = self._lattice(delta, log_truncation, self._resolution)
                found.append(lattice_epsilon(plan, lattice, delta))
                finer = finer_resolution(plan, lattice, float(found[-1]), self._resolution)
                if finer is not None:
                    found.append(lattice_epsilon(*self._lattice(delta, log_truncation, finer), delta))
            except CannotCertifyError as reason:
                check_time()
                failure = failure or reason
                continue
            if not self._thorough and (found[0] == 0 or lattice.judged_upper(found[0])[1] <= _ENOUGH):
                break
        if self._most is not None:
            found.append(self._most)
        if not found:
            raise failure or CannotCertifyError("no lattice certified anything")
        return min(found)

    def holds(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Say whether a lattice certifies (epsilon, delta): quicker than `epsilon_upper`, where it does."""
        if self._most is not None and epsilon >= self._most:
            return True
        try:
            if any(isinstance(step, Mixtures) for step in self._steps):  # no finer than this epsilon needs
                return self.delta_upper(epsilon) <= delta
            return self._lattice(delta, LOG_TRUNCATION, self._resolution)[1].delta_upper(epsilon) <= delta
        except CannotCertifyError:
            check_time()
            return False

    def delta_upper(self, epsilon: Fraction) -> Fraction:
        """Return a delta that holds at epsilon."""
        if self._most is not None and epsilon >= self._most:
            return Fraction(0)
        plan = plan_for_epsilon(self._steps, Pair.DOMINATING, float(epsilon), self._resolution)
        return build(plan).delta_upper(epsilon)

    def _lattice(
        self, delta: Fraction, log_truncation: float, resolution: Resolution
    ) -> tuple[CompositionPlan, ComposedLattice]:
        plan = plan_for_delta(self._steps, Pair.DOMINATING, log_of(delta), resolution, log_truncation=log_truncation)
        return plan, build(plan)


def _is_bounded(step: ComposableStep) -> bool:
    if isinstance(step, BinaryStep):
        return step.order is Pair.MIXTURE_SECOND
    return isinstance(step, ResponseLosses | LaplaceLosses) or (
        isinstance(step, Mixtures) and all(shift == 0 for _, shift in step.first) and step.second[0][1] == 0
    )


def _largest_loss(step: ComposableStep) -> Fraction:
    """Return what the losses of a bounded step, taken as often as it is, do not exceed."""
    if isinstance(step, ResponseLosses):
        return step.responses * Fraction(step.epsilon)
    if isinstance(step, LaplaceLosses):
        return step.count * Fraction(step.epsilon)
    if isinstance(step, MixedStep):
        raise CannotCertifyError("the losses of a mixture of Gaussian steps are not bounded")
    with arb_precision(SCALAR_BITS):
        if isinstance(step, Mixtures):
            most = (sum((arb(weight) for weight, _ in step.first), arb(0)) / arb(step.second[0][0])).log()
        else:
            most = -((-arb(step.q)).log1p())
        return step.count * fraction_from_arb(most.upper())


class OrderedProfile:
    """The larger of the bounds of both orders: of steps whose pair of neighbouring outputs is known, both hold."""

    def __init__(self, orders: Sequence[Sequence[ComposableStep]], resolution: Resolution) -> None:
        self._orders = [MixedProfile(steps, resolution) for steps in orders]

    def epsilon_upper(self, delta: Fraction) -> Fraction:
        """Return an epsilon that holds in both orders."""
        first, *others = self._orders
        found = first.epsilon_upper(delta)
        for other in others:
            if not other.holds(found, delta):
                found = max(found, other.epsilon_upper(delta))
        return found

    def delta_upper(self, epsilon: Fraction) -> Fraction:
        """Return a delta that holds in both orders at epsilon."""
        return max(order.delta_upper(epsilon) for order in self._orders)


def mixed_step(step: PublicCopies) -> MixedStep:
    """Return the mixture with its probabilities rounded up."""
    parts = [
        (min(float_up(weight), 1.0), binary_step(step.rate, step.noise_multiplier / k, 1))
        for k, weight in enumerate(step.weights, start=1)
    ]
    return MixedStep(tuple(parts), float_up(step.rest), step.count)


def binary_step(rate: Fraction, noise_multiplier: Fraction, count: int, order: Pair = Pair.DOMINATING) -> BinaryStep:
    """Round q and mu = 1/nu up: profiles grow with both."""
    q, mu = min(float_up(rate), 1.0), float_up(1 / noise_multiplier)
    if not (q > 1e-90 and 1e-90 < mu < 1e90):
        raise CannotCertifyError(f"float64 cannot hold a step with q={q}, 1/nu={mu}")
    return BinaryStep(q, mu, count, order if q < 1 else Pair.DOMINATING)
