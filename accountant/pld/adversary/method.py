r"""Epsilon and delta of T adaptive steps on fixed-size batches, against the exact adversary.

Guesses choose tilt, spacing and course; what is returned was certified: `certificates` proves that the leader bounds
every triple, `recursion` composes it with proved rounding, and the inversion checks the epsilon that it returns.
q and 1/nu are rounded up to binary64: more noise is post-processing, and a smaller q mixes in a pair without loss.

The answer of the exact adversary, derived again on other lattices and with every box of its certificate tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from accountant.errors import CannotCertifyError, CertificateError
from accountant.limits import check_time
from accountant.mechanisms.ledger import LEAST_NOISE, has_leader
from accountant.mechanisms.steps import Step, SubsampledGaussianStep
from accountant.numbers import Bound, float_up
from accountant.pld.adversary.cover import KEPT
from accountant.pld.adversary.ordering import Ordering, check
from accountant.pld.adversary.recursion import Course, composed
from accountant.pld.adversary.search import certificate_for
from accountant.pld.composition import compose
from accountant.pld.convolution import ComposedLattice
from accountant.pld.guesses import Sketch, sketch, tilted_deviation
from accountant.pld.ledger_steps import composed_epsilon_upper, in_order, profile_steps
from accountant.pld.parts import joined
from accountant.pld.plan import (
    LOG_TRUNCATION,
    MILD_TRUNCATION,
    CompositionPlan,
    Resolution,
    lattice_epsilon,
    lattice_step,
    log_of,
    plan_for_delta,
    plan_for_epsilon,
    within_float64,
)
from accountant.pld.types import BinaryStep, ComposableStep, Pair
from accountant.profiles.one_step import SubsampledGaussian

_SINGLES: Final = 160
"""At most about this many single steps: their leader has the larger share, and each costs a transform."""
_SINGLE_PARTS: Final = (12, 3)
"""Of few steps, before the losses that decide are settled, one in so many is single: which number is best is tried."""
_FEW: Final = 256
_MANY: Final = 480
"""Where large losses are rare single steps are the tightest: so many are tried, or all of few."""
_GROWTH: Final = 0.1
_FINE_GROWTH: Final = 0.05
_RISE: Final = 0.25
_WIDTHS: Final = 6.0
"""So many widths above 0 the losses that decide are settled."""
_SPILL: Final = 1e-7
_JUMP_SHARE: Final = 0.02
_LOST: Final = 0.02
"""Where at most this share of delta is lost to infinite losses and to errors, no other way is tried."""
_FINE_UP_TO: Final = 1024
"""Up to so many steps a finer lattice and smaller blocks are affordable."""
_COARSE: Final = Resolution(tolerance=1e-3, most_points=1 << 20)
_FINE: Final = Resolution(tolerance=2e-4, most_points=1 << 20)


@dataclass(frozen=True, slots=True)
class Composed:
    """A composition and what it was made with."""

    lattice: ComposedLattice
    plan: CompositionPlan
    course: Course
    certificate: Ordering
    last: bool = True
    """No other course is tried on this lattice."""
    symmetrised: bool = False
    """The symmetrised profile, the leader of share 1, was smaller and is the answer."""

    def suits(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Say whether little of delta is lost to infinite losses and to errors of the transforms."""
        errors = self.lattice.judged_upper(epsilon)[1]
        return errors <= _LOST and float(self.lattice.infinite.upper()) <= _LOST * float(delta)

    def describe(self) -> str:
        """Return which leader, grid and blocks were used."""
        if self.symmetrised:
            return "the leader of share 1 (the symmetrised profile) is the smallest here"
        single, stairs = self.certificate.single, self.certificate.stairs
        return (
            f"single steps {self.course.singles} (share {single.share:.3g}), blocks {self.course.blocks()} "
            f"(shares {', '.join(f'{entry.leader.share:.3g}' for entry in stairs)}), "
            f"spacing {self.plan.frame.spacing:.3g}, {self.lattice.weights.size} points, "
            f"boxes {self.certificate.windows.count(KEPT)}+{sum(entry.cover.count(KEPT) for entry in stairs)}"
        )


@dataclass(frozen=True, slots=True)
class Run:
    """Steps on fixed-size batches that the leader is for, and other steps, each with a profile that dominates it."""

    led: SubsampledGaussian
    others: tuple[Step, ...] = ()

    @classmethod
    def of(cls, steps: tuple[Step, ...]) -> Run:
        """Return a ledger with the costliest phase of fixed-size batches led; refuse where there is none."""
        if not has_leader(steps):
            raise CannotCertifyError(
                "the exact adversary needs replaced records and several steps on fixed-size batches"
            )
        phases: dict[tuple[Fraction, Fraction], list[Step]] = {}
        for step in steps:
            if (
                isinstance(step, SubsampledGaussianStep)
                and step.sampling_rate < 1
                and step.noise_multiplier > LEAST_NOISE
            ):
                phases.setdefault((step.sampling_rate, step.noise_multiplier), []).append(step)
        led = max(phases.values(), key=_size)
        return cls(joined(profile_steps(tuple(led), "down"))[0], tuple(step for step in steps if step not in led))

    @property
    def steps(self) -> tuple[ComposableStep, ...]:
        """The steps for a lattice, those that are led first."""
        return (binary_step(self.led), *(in_order(self.others, None, Pair.DOMINATING) if self.others else ()))


def _size(steps: Sequence[Step]) -> float:
    """Return about the variance of the losses of a phase (a guess)."""
    one = profile_steps(tuple(steps[:1]), "down")[0]
    spread = float(one.sampling_rate) ** 2 * math.expm1(min(float(1 / one.noise_multiplier**2), 600.0))
    return sum(step.count for step in steps) * spread


def compositions_for_delta(run: Run, delta: Fraction, resolution: Resolution | None = None) -> Iterator[Composed]:
    """Yield compositions that are sharp where delta(epsilon) is about delta: more than one where large losses are rare.

    Each one holds by itself, so the best of them may be taken. One that cannot be certified is left out; the last one's
    refusal is raised if none is left.
    """
    found = 0
    for plan, courses in _ways(run.steps, log_of(delta), resolution or _resolution(run.led.count)):
        for course in courses:
            try:
                composition = _composed(plan, course)
            except CannotCertifyError as error:
                check_time()
                refusal = error
                continue
            found += 1
            yield replace(composition, last=course is courses[-1])
    if not found:
        raise refusal


def _ways(
    steps: tuple[ComposableStep, ...], log_delta: float, resolution: Resolution
) -> Iterator[tuple[CompositionPlan, list[Course]]]:
    """Yield plans, each with courses to try, the most promising one first.

    Errors of transforms, small in the tilted masses, are masses of up to e^{log delta + theta epsilon} near loss 0, and
    each step loses its infinite part times that: a lattice that reaches further makes up for it. Where large losses are
    rare, a small part of delta spent on calling the largest infinite buys a tilt that suits the others.
    """
    plan = plan_for_delta(steps, Pair.MIXTURE_FIRST, log_delta, resolution)
    if not _jumps(plan):
        far = LOG_TRUNCATION - max(log_delta + plan.frame.theta * plan.epsilon, 0.0)
        further = plan_for_delta(steps, Pair.MIXTURE_FIRST, log_delta, resolution, log_truncation=far)
        yield further, _courses(further, _SINGLES)
        return
    mild = plan_for_delta(steps, Pair.MIXTURE_FIRST, log_delta, resolution, log_truncation=MILD_TRUNCATION)
    yield mild, _courses(mild, _MANY)
    yield plan, _courses(plan, _MANY)


def _courses(plan: CompositionPlan, most: int) -> list[Course]:
    """Return courses with up to `most` single steps.

    After k steps the losses that decide lie k epsilon/T above 0; their width grows as sqrt(k).
    """
    count, settled = plan.led.count, math.inf
    epsilon = plan.epsilon * _led_part(plan)
    if epsilon > 0:
        settled = (_WIDTHS * _deviation(plan) * count / epsilon) ** 2
    early = min(count, settled)
    few = {min(max(math.ceil(early / part), 1), _SINGLES) for part in _SINGLE_PARTS}
    numbers = sorted(few | {min(count, _SINGLES), count if count <= _FEW else min(count, most)})
    growth = _FINE_GROWTH if count <= _FINE_UP_TO else _GROWTH
    return [Course(count, singles, growth, _RISE, epsilon, settled) for singles in numbers]


def _resolution(count: int) -> Resolution:
    return _FINE if count <= _FINE_UP_TO else _COARSE


def composed_for_epsilon(run: Run, epsilon: Fraction, resolution: Resolution | None = None) -> Composed:
    """Return a composition that is sharp near epsilon."""
    chosen = resolution or _resolution(run.led.count)
    plan = plan_for_epsilon(run.steps, Pair.MIXTURE_FIRST, float(epsilon), chosen)
    return _composed(plan, _courses(plan, _SINGLES)[0])


def adversary_epsilon(run: Run, delta: Fraction, resolution: Resolution | None = None) -> tuple[Fraction, Composed]:
    """Return an epsilon certified for the adaptive steps at delta, and how it was found.

    It is never above that of the symmetrised profile.
    """
    best: tuple[Fraction, Composed] | None = None
    refusal = CannotCertifyError("no composition of the adversary's steps reaches delta")
    for found in compositions_for_delta(run, delta, resolution):
        try:
            epsilon = lattice_epsilon(found.plan, found.lattice, delta)
        except CannotCertifyError as error:  # too much of it was called infinite
            check_time()
            refusal = error
            continue
        if best is None or epsilon < best[0]:
            best = epsilon, found
        if found.last and found.suits(epsilon, delta):
            break
    if best is None:
        raise refusal
    symmetrised = symmetrised_epsilon(run, delta)
    return best if best[0] <= symmetrised else (symmetrised, replace(best[1], symmetrised=True))


def symmetrised_epsilon(run: Run, delta: Fraction, resolution: Resolution = Resolution()) -> Fraction:  # noqa: B008
    """Return epsilon by the leader of share 1: above every triple, whatever it is applied to, so it needs no cover.

    It is the smaller one for a handful of steps with little noise. `adversary_epsilon` never exceeds it.
    """
    if run.others:
        step = SubsampledGaussianStep(run.led.sampling_rate, run.led.noise_multiplier, run.led.count)
        return composed_epsilon_upper((step, *run.others), delta, Fraction(resolution.tolerance))
    return compose([run.led], target_delta=delta, resolution=resolution).epsilon_upper(delta)


def ledger_epsilon(steps: tuple[Step, ...], delta: Fraction) -> tuple[Bound, str]:
    """Return the method's answer for a ledger (only the upper end counts), and how it was found."""
    upper, found = adversary_epsilon(Run.of(steps), delta)
    return Bound.from_fractions(upper, upper), found.describe()


def ledger_delta(steps: tuple[Step, ...], epsilon: Fraction) -> Fraction:
    """Return a delta certified for the adaptive steps of a ledger at epsilon >= 0."""
    return composed_for_epsilon(Run.of(steps), epsilon).lattice.delta_upper(epsilon)


def binary_step(step: SubsampledGaussian) -> BinaryStep:
    """Return q and 1/nu rounded up to binary64, which covers the step; see the header."""
    q, mu = float_up(step.sampling_rate), float_up(1 / step.noise_multiplier)
    if not (0 < q < 1 and 0 < mu < 20):
        raise CannotCertifyError(f"the exact adversary needs 0 < q < 1 and nu > 1/20, got q={q}, 1/nu={mu}")
    return BinaryStep(q, mu, step.count)


def _composed(plan: CompositionPlan, course: Course) -> Composed:
    led = plan.led
    certificate = certificate_for(led.q, led.mu)
    log_spill = plan.log_delta + math.log(_SPILL)
    with within_float64():
        others = [
            lattice_step(Pair.DOMINATING, step, plan.frame, kappa)
            for step, kappa in zip(plan.steps[1:], plan.kappas[1:], strict=True)
        ]
        return Composed(composed(certificate, plan.frame, course, log_spill, others), plan, course, certificate)


def _jumps(plan: CompositionPlan) -> bool:
    """Say whether single losses far beyond the width of `_SINGLES` composed steps count for something (a guess)."""
    reach = 3 * math.sqrt(_SINGLES) * _deviation(plan)
    return _far_share(_sketched(plan)[0], plan.frame.theta, reach) > _JUMP_SHARE


def _sketched(plan: CompositionPlan) -> list[Sketch]:
    return [sketch(step, Pair.MIXTURE_FIRST, plan.frame.z_top) for step in plan.steps]


def _led_part(plan: CompositionPlan) -> float:
    """Return about the part of the tilted variance that the led steps have."""
    sketches = _sketched(plan)
    return (tilted_deviation(sketches[:1], plan.frame.theta) / tilted_deviation(sketches, plan.frame.theta)) ** 2


def _deviation(plan: CompositionPlan) -> float:
    """Return about the deviation of the loss of one step."""
    one = _sketched(plan)[0]
    return math.sqrt(float((np.exp(one.log_weights) * one.losses**2).sum()))


def _far_share(one: Sketch, theta: float, reach: float) -> float:
    """Return the share of losses beyond `reach` in the tilted second moment of one step."""
    exponent = one.log_weights + theta * one.losses
    moment = np.exp(exponent - exponent.max()) * one.losses**2
    return float(moment[one.losses > reach].sum() / moment.sum())


_OTHERS: Final = (Resolution(tolerance=7e-4, most_points=1 << 20), Resolution(tolerance=1.5e-4, most_points=1 << 20))
FURTHEST: Final = Fraction(1, 100)
"""An end that the other lattices miss by more than this part of it is refused, not widened."""


def proved_adversary_upper(steps: tuple[Step, ...], delta: Fraction, upper: Fraction) -> Fraction:
    """Return the epsilon that other lattices prove, at least `upper`; raise where it is more than 1 % above that."""
    run = Run.of(steps)
    proved = symmetrised_epsilon(run, delta, _OTHERS[0])
    for resolution in _OTHERS:
        if proved <= upper:
            break
        for found in compositions_for_delta(run, delta, resolution):
            try:
                epsilon = lattice_epsilon(found.plan, found.lattice, delta)
            except CannotCertifyError:  # too much of it was called infinite
                check_time()
                continue
            if epsilon < proved:
                check(found.certificate)
                proved = epsilon
    if proved > upper * (1 + FURTHEST):
        raise CertificateError(
            f"adversary: other lattices prove epsilon <= {float(proved):.6g}, more than 1 % above {float(upper):.6g}"
        )
    return max(proved, upper)
