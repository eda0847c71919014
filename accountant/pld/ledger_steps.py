r"""From a ledger to certified numerical composition.

`accountant.pld.composition` composes steps whose noise multiplier is rational. A joint sensitivity makes it the root of
a rational: an irrational multiplier is rounded down for the upper bound and up for the lower one.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from accountant.copies import Copies
from accountant.errors import CannotCertifyError, InvalidQuantityError, UnsupportedSchemeError
from accountant.limits import check_time, time_left
from accountant.mechanisms.ledger import unsampled_squared
from accountant.mechanisms.steps import (
    GaussianStep,
    GroupStep,
    LaplaceStep,
    PoissonGaussianStep,
    PureStep,
    Step,
    SubsampledGaussianStep,
    WithReplacementStep,
)
from accountant.mechanisms.words import Noise, Sampling
from accountant.numbers import Bound, Direction, arb_precision, float_down, float_up
from accountant.pld.certified_floats import float_above, float_below
from accountant.pld.composition import (
    ComposedProfile,
    MixedProfile,
    OrderedProfile,
    Resolution,
    SubsampledGaussian,
    binary_step,
    compose,
    mixed_step,
)
from accountant.pld.multiscale import build
from accountant.pld.parts import NEGLIGIBLE, joined
from accountant.pld.plan import dominated_epsilon, log_of, plan_for_delta
from accountant.pld.types import BinaryStep, ComposableStep, LaplaceLosses, Mixtures, Pair, Parts, ResponseLosses
from accountant.profiles.gaussian import gaussian_epsilon
from accountant.profiles.pure import laplace_epsilon
from accountant.profiles.with_replacement import (
    PublicCopies,
    batch_rates,
    law,
    public_copies,
    rate_of_several,
    single_epsilon,
)

SPARE_SHARE = Fraction(1, 10**6)
"""Of delta, for batches with more copies of a record than are listed."""
_FINER = 5
"""A known pair is priced on a lattice of a smaller tolerance: it has no other width."""
_NEAR = Fraction(1, 10**9)
_ORDERS = (Pair.MIXTURE_FIRST, Pair.MIXTURE_SECOND)
_FEW = 4
MOST_LISTED = 64
"""Records of a batch that differ, at most, for the exact pair to be listed."""
ROOT_BITS = 96
"""An irrational noise multiplier is rounded to this many bits: far below the grid of the composition."""


def composed_epsilon(steps: tuple[Step, ...], delta: Fraction) -> Bound:
    """Enclose epsilon: `upper` holds for every mechanism with these steps, `lower` for a realisable pair."""
    if any(isinstance(step, WithReplacementStep | PoissonGaussianStep) for step in steps):
        upper = composed_epsilon_upper(steps, delta, Fraction(1, 10**4))
        return Bound.from_fractions(min(attained_epsilon(steps, delta), upper), upper)
    below = profile_steps(steps, "down")
    composed = compose(below, target_delta=delta).epsilon(delta)
    above = profile_steps(steps, "up")
    if above == below:
        return composed
    return Bound(compose(above, target_delta=delta).epsilon(delta).least, composed.most)


def composed_epsilon_upper(steps: tuple[Step, ...], delta: Fraction, tolerance: Fraction) -> Fraction:
    """Return a certified upper epsilon alone, to about the relative tolerance: what a search calls often."""
    try:
        return _composed_upper(steps, delta, tolerance)
    except CannotCertifyError:
        check_time()
        square = unsampled_squared(steps)
        if square is None:
            raise
        return gaussian_epsilon(square, delta, digits=10).most.fraction()


def _composed_upper(steps: tuple[Step, ...], delta: Fraction, tolerance: Fraction) -> Fraction:
    if len(steps) == 1 and isinstance(steps[0], LaplaceStep) and steps[0].count == 1:
        return laplace_epsilon(steps[0].epsilon, delta).most.fraction()
    resolution = Resolution(tolerance=float_down(tolerance))
    if poisson_group(steps):
        with contextlib.suppress(CannotCertifyError):  # else the symmetrised pairs
            return ordered_profile(steps, delta, resolution).epsilon_upper(delta)
        check_time()
    if (alone := single_with_replacement(steps)) is not None:
        return single_epsilon(alone.copies, alone.noise_multiplier, delta)
    if any(isinstance(step, PoissonGaussianStep | PureStep) for step in steps):
        return _known_epsilon_upper(steps, delta, resolution)
    if any(isinstance(step, WithReplacementStep) and step.copies.most > 1 for step in steps):
        return mixed_profile(steps, delta, resolution).epsilon_upper(delta)
    others = with_public_copies(steps, delta)[1]
    return compose(profile_steps(others, "down"), target_delta=delta, resolution=resolution).epsilon_upper(delta)


def _known_epsilon_upper(steps: tuple[Step, ...], delta: Fraction, resolution: Resolution) -> Fraction:
    """Return the upper end where pairs are known: what needs no lattice, else both orders on one."""
    alike = None
    if not any(isinstance(step, PureStep | WithReplacementStep) for step in steps):
        alike = compose(profile_steps(steps, "down"), target_delta=delta, resolution=resolution)
        settled = alike.closed_upper(delta)
        if settled is not None:
            return settled
    try:
        found = ordered_profile(steps, delta, resolution).epsilon_upper(delta)
    except CannotCertifyError:
        check_time()
        if alike is None:
            raise
        return alike.epsilon_upper(delta)  # the symmetrised pairs, or a bound without a lattice
    return found if alike is None else min([found, *alike.upper_without_lattice(delta)])


def known_delta_upper(steps: tuple[Step, ...], epsilon: Fraction) -> Fraction:
    """Return a delta that holds at epsilon where pairs are known."""
    try:
        return ordered_profile(steps, None, Resolution()).delta_upper(epsilon)
    except CannotCertifyError:
        check_time()
        if any(isinstance(step, PureStep | WithReplacementStep) for step in steps):
            raise
        return composed_profile(steps).delta_upper(epsilon)


def mixed_profile(steps: tuple[Step, ...], delta: Fraction, resolution: Resolution) -> MixedProfile:
    """Return the upper end of batches with replacement, and of others beside them."""
    announced, others = with_public_copies(steps, delta)
    beside = [binary_step(s.sampling_rate, s.noise_multiplier, s.count) for s in profile_steps(others, "down")]
    return MixedProfile([*map(mixed_step, announced), *beside], resolution)


def ordered_profile(steps: tuple[Step, ...], delta: Fraction | None, resolution: Resolution) -> OrderedProfile:
    """Return the upper end of steps of every kind: in both orders of Poisson batches, of which the pair is known."""
    finer = Resolution(resolution.tolerance / _FINER, resolution.most_points)
    if k := poisson_group(steps):
        groups = [step for step in steps if isinstance(step, GroupStep)]
        rest = in_order(tuple(step for step in steps if step not in groups), delta, Pair.DOMINATING)
        spare = (delta or _NEAR) * SPARE_SHARE / sum(step.count for step in groups)
        mixed = ([grouped(step, removed, spare) for step in groups] for removed in range(k, -1, -1))
        return OrderedProfile([[*each, *rest] for each in mixed], finer)
    sampled = any(isinstance(step, PoissonGaussianStep) and step.sampling_rate < 1 for step in steps)
    return OrderedProfile([in_order(steps, delta, order) for order in _ORDERS[: 2 if sampled else 1]], finer)


MOST_ORDERS = 33
"""Of larger groups the symmetrised pair is composed: one lattice an order would take too long."""
_LAW_BITS = 512
_RAREST = Fraction(1, 2**200)
_LEAST_WEIGHT = 1e-280


def poisson_group(steps: tuple[Step, ...]) -> int:
    """Return k where all drawn batches are Poisson's and all groups are of k records; 0 elsewhere."""
    drawn = [step for step in steps if isinstance(step, WithReplacementStep | PoissonGaussianStep)]
    sizes = {step.group for step in drawn if isinstance(step, GroupStep) and step.sampling is Sampling.POISSON}
    alike = len(sizes) == 1 and all(isinstance(s, GroupStep) and s.sampling is Sampling.POISSON for s in drawn)
    alike = alike and not any(isinstance(s, SubsampledGaussianStep) and s.sampling_rate < 1 for s in steps)
    return sizes.pop() if alike and max(sizes) < MOST_ORDERS else 0


def grouped(step: GroupStep, removed: int, spare: Fraction) -> Mixtures:
    """Return the dominating pair of a group on Poisson batches of whom so many are in the first data set alone."""
    first, second = (_joining(step, records, spare) for records in (removed, step.group - removed))
    with arb_precision(_LAW_BITS):
        left_out = float_above(1 - sum(first, arb(0))) if len(first) <= removed else 0.0
    return Mixtures(
        _parts(first, step, upwards=True), _parts(second, step, weight=float_below, upwards=True), left_out, step.count
    )


def _joining(step: GroupStep, records: int, spare: Fraction) -> list[arb]:
    with arb_precision(_LAW_BITS):
        return law(Copies(records, step.batch, step.records), spare) if records else [arb(1)]


def attained_mixtures(step: WithReplacementStep, *, first: bool) -> Mixtures:
    """Return the pair of a step where all other records are equal, in one order, rounded down."""
    with arb_precision(_LAW_BITS):
        found = law(step.copies, _RAREST)
        if not first:
            found[-1] = 1 - sum(found[:-1], arb(0))  # more than the last number count as it
    alone = ((1.0, 0.0),)
    held = _parts(found, step, weight=float_below if first else float_above)
    return Mixtures(held, alone, 0.0, step.count) if first else Mixtures(alone, held, 0.0, step.count)


def _parts(
    found: list[arb], step: WithReplacementStep, *, weight: Callable[[arb], float] = float_above, upwards: bool = False
) -> Parts:
    """Return the weights and the shifts j/nu, rounded in the stated directions."""
    rounded = float_up if upwards else float_down
    shifts = [rounded(j / step.noise_multiplier) for j in range(len(found))]
    if not 1e-90 < shifts[-1] + (len(found) == 1) < 1e90:
        raise CannotCertifyError(f"float64 cannot hold a step with 1/nu={float(1 / step.noise_multiplier)}")
    least = _LEAST_WEIGHT if weight is float_above else 0.0
    parts = ((max(min(weight(p), 1.0), least), shift) for p, shift in zip(found, shifts, strict=True))
    return tuple(part for part in parts if part[0] >= _LEAST_WEIGHT)


def in_order(steps: tuple[Step, ...], delta: Fraction | None, order: Pair) -> list[ComposableStep]:
    """Return the steps for a lattice, equal ones joined, all releases of everything as one."""
    spent, noisy = [step for step in steps if isinstance(step, PureStep)], []
    announced, others = with_public_copies(tuple(step for step in steps if step not in spent), delta or _NEAR)
    known = [step for step in others if isinstance(step, PoissonGaussianStep)]
    square = Fraction(0)
    for part, its_order in ((known, order), ([step for step in others if step not in known], Pair.DOMINATING)):
        for step in joined(profile_steps(tuple(part), "down")):
            if step.sampling_rate == 1:
                square += step.count / step.noise_multiplier**2
            else:
                noisy.append(binary_step(step.sampling_rate, step.noise_multiplier, step.count, its_order))
    if square:
        noisy.append(binary_step(Fraction(1), root(1 / square, "down"), 1))
    counts: dict[tuple[bool, Fraction], int] = {}
    for each in spent:
        key = isinstance(each, LaplaceStep), each.epsilon
        counts[key] = counts.get(key, 0) + each.count
    pure = [
        LaplaceLosses(_held(epsilon), count) if laplace else ResponseLosses(_held(epsilon), count)
        for (laplace, epsilon), count in counts.items()
    ]
    return [*map(mixed_step, announced), *noisy, *pure]


def mixed_epsilon_lower(steps: tuple[Step, ...], delta: Fraction) -> Fraction:
    """Return an epsilon that a pair of neighbours violates that attains all these steps, pure ones included."""
    pure = [step for step in steps if isinstance(step, PureStep)]
    largest = max((step.count * step.epsilon for step in pure), default=Fraction(0))
    least = Fraction(NEGLIGIBLE) * min(largest, Fraction(1))
    without = tuple(s for s in steps if not isinstance(s, PureStep) or s.count * s.epsilon >= least)
    chosen = [steps] if without == steps else [steps, without]  # too small to be seen, they blur the others
    best = max(_mixed_lower(each, delta) for each in chosen)
    if best:
        return best
    drawn = [s for s in steps if not isinstance(s, PureStep | GaussianStep)]  # of a lattice too coarse for one of them
    fewer = [tuple(s for s in steps if s not in drawn)] if drawn else []
    fewer += [tuple(s for s in steps if s is not left_out) for left_out in drawn[:_FEW] if len(drawn) > 1]
    return max((_mixed_lower(each, delta) for each in fewer), default=best)


def _mixed_lower(steps: tuple[Step, ...], delta: Fraction) -> Fraction:
    pure = [step for step in steps if isinstance(step, PureStep)]
    lattice = lower_steps(tuple(step for step in steps if step not in pure), delta)
    for each in pure:
        kind = LaplaceLosses if isinstance(each, LaplaceStep) else ResponseLosses
        lattice.append(kind(float_down(each.epsilon), each.count))
    sampled = any(isinstance(step, BinaryStep) and step.q < 1 for step in lattice)
    return max(_attained_in(pair, lambda: lattice, delta) for pair in _ORDERS[: 2 if sampled else 1])


def _attained_in(order: Pair, steps: Callable[[], list[ComposableStep]], delta: Fraction) -> Fraction:
    """Return what the pairs of the steps attain in one order; 0, which is always true, where no lattice holds them."""
    with contextlib.suppress(CannotCertifyError):
        plan = plan_for_delta(steps(), order, log_of(delta), Resolution(1e-4 / _FINER))
        return dominated_epsilon(plan, build(plan), delta)
    return Fraction(0)


def lower_steps(steps: tuple[Step, ...], delta: Fraction) -> list[ComposableStep]:
    """Return steps for a lattice of a lower end, equal ones joined, all releases of everything as one."""
    rest = profile_steps(attained_steps(steps, delta), "up") if steps else []
    square = sum((step.count / step.noise_multiplier**2 for step in rest if step.sampling_rate == 1), Fraction(0))
    lattice: list[ComposableStep] = [
        BinaryStep(float_down(step.sampling_rate), float_down(1 / step.noise_multiplier), step.count)
        for step in joined([step for step in rest if step.sampling_rate < 1])
    ]
    if square:
        lattice.append(BinaryStep(1.0, float_down(1 / root(1 / square, "up")), 1))
    return lattice


def _held(epsilon: Fraction) -> float:
    value = float_up(epsilon)
    if not 1e-90 < value < 1e90:
        raise CannotCertifyError(f"float64 cannot hold a pure release with epsilon={value}")
    return value


def attained_epsilon(steps: tuple[Step, ...], delta: Fraction) -> Fraction:
    """Return an epsilon that one pair of neighbours violates if it attains these steps: the lower end alone."""
    found = _attained_epsilon(steps, delta)
    if time_left() <= 0:  # cut short: the next one to ask may have more time
        _attained_epsilon.cache_clear()
    return found


@functools.lru_cache(maxsize=8)
def _attained_epsilon(steps: tuple[Step, ...], delta: Fraction) -> Fraction:
    best = _attained_together(steps, delta)
    return max(best, _attained_apart(steps, delta))


def _attained_together(steps: tuple[Step, ...], delta: Fraction) -> Fraction:
    """Return what the exact pair of batches that hold several records attains, on one lattice with the others."""
    copied = [step for step in steps if isinstance(step, WithReplacementStep) and step.copies.most > 1]
    if not copied or max(step.copies.most for step in copied) > MOST_LISTED:
        return Fraction(0)
    others = lower_steps(tuple(step for step in steps if step not in copied), delta)

    def held(order: Pair) -> list[ComposableStep]:
        return [*(attained_mixtures(step, first=order is Pair.MIXTURE_FIRST) for step in copied), *others]

    return max(_attained_in(order, functools.partial(held, order), delta) for order in _ORDERS)


def _attained_apart(steps: tuple[Step, ...], delta: Fraction) -> Fraction:
    return compose(profile_steps(attained_steps(steps, delta), "up"), target_delta=delta).epsilon_lower(delta)


def single_with_replacement(steps: tuple[Step, ...]) -> WithReplacementStep | None:
    """Return the step where there is one with replacement alone: its profile is closed."""
    alone = steps[0] if len(steps) == 1 and steps[0].count == 1 else None
    return alone if isinstance(alone, WithReplacementStep) else None


def with_public_copies(steps: tuple[Step, ...], delta: Fraction) -> tuple[list[PublicCopies], tuple[Step, ...]]:
    """Return what dominates the steps with replacement, and all others; of one draw each is without replacement."""
    replaced = [step for step in steps if isinstance(step, WithReplacementStep) and step.copies.most > 1]
    others = tuple(attained_step(s, 1) if isinstance(s, WithReplacementStep) else s for s in steps if s not in replaced)
    spare = delta * SPARE_SHARE / sum(step.count for step in replaced) if replaced else delta
    return [public_copies(step.copies, step.noise_multiplier, step.count, spare) for step in replaced], others


@functools.lru_cache(maxsize=64)
def attained_steps(steps: tuple[Step, ...], delta: Fraction) -> tuple[Step, ...]:
    """Return steps without replacement whose pairs those with replacement dominate; of groups, the best ones found."""
    most = max((step.copies.most for step in steps if isinstance(step, GroupStep)), default=1)
    tried = {min(j, most) for j in (1, 2, 3, 4, 6, 8, 12, 16)} if most > 1 else {1}
    choices = []
    for several in sorted(tried):
        with contextlib.suppress(InvalidQuantityError):  # a probability too small to be held
            choices.append(tuple(_attained(step, several) for step in steps))
    if len(choices) == 1:
        return choices[0]
    return max(choices, key=lambda c: compose(profile_steps(c, "up"), target_delta=delta).epsilon_lower(delta))


def _attained(step: Step, several: int) -> Step:
    if not isinstance(step, WithReplacementStep):
        return step
    together = min(several, step.copies.most) if isinstance(step, GroupStep) else 1
    if together == 1:
        return attained_step(step, 0)
    rate, nu = rate_of_several(step.copies, together), step.noise_multiplier / together
    return SubsampledGaussianStep(rate, nu, step.count, neighbours=step.neighbours)


def attained_step(step: WithReplacementStep, end: int) -> SubsampledGaussianStep:
    """Return the step without replacement that takes the record as often, one copy at a time; `end` 1 rounds up."""
    rate = batch_rates(step.copies)[end]
    return SubsampledGaussianStep(rate, step.noise_multiplier, step.count, neighbours=step.neighbours)


def composed_profile(steps: tuple[Step, ...], delta: Fraction | None = None) -> ComposedProfile:
    """Return the composition whose *upper* end holds for the steps."""
    return compose(profile_steps(steps, "down"), target_delta=delta)


def profile_steps(steps: tuple[Step, ...], direction: Direction) -> list[SubsampledGaussian]:
    """Return what the numerical composition takes, the noise rounded in the stated direction."""
    return [_profile_step(step, direction) for step in steps]


def _profile_step(step: Step, direction: Direction) -> SubsampledGaussian:
    if isinstance(step, PoissonGaussianStep):  # both orders of its pair are dominated by the same profile
        return SubsampledGaussian(step.sampling_rate, step.noise_multiplier, step.count)
    if not isinstance(step, GaussianStep | SubsampledGaussianStep) or step.noise is not Noise.GAUSSIAN:
        raise UnsupportedSchemeError(
            f"the composed profile is proved for real Gaussian noise and drawn batches, got {step}"
        )
    if isinstance(step, SubsampledGaussianStep):
        return SubsampledGaussian(step.sampling_rate, step.noise_multiplier, step.count)
    return SubsampledGaussian(Fraction(1), root(1 / step.ratio_squared, direction), step.count)


def root(square: Fraction, direction: Direction) -> Fraction:
    """Return the square root, exactly where it is rational, else rounded in the stated direction."""
    numerator, denominator = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if numerator**2 == square.numerator and denominator**2 == square.denominator:
        return Fraction(numerator, denominator)
    excess = square.numerator.bit_length() - square.denominator.bit_length()
    shift = 2 * ROOT_BITS - 2 * (excess // 2)
    scaled = square * Fraction(2) ** shift
    whole = math.isqrt(scaled.numerator // scaled.denominator)
    return Fraction(whole + (direction == "up")) / Fraction(2) ** (shift // 2)
