r"""Epsilon and delta of T adaptive steps on fixed-size batches, against the exact adversary.

Guesses choose tilt, spacing and course; what is returned was certified: `certificates` proves that the leader bounds
every triple, `recursion` composes it with proved rounding, and the inversion checks the epsilon that it returns.
q and 1/nu are rounded up to binary64: more noise is post-processing, and a smaller q mixes in a pair without loss.

The answer of the exact adversary, derived again on other lattices and with every box of its certificate tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from accountant.errors import CannotCertifyError, CertificateError, TimeLimitError
from accountant.limits import check_time
from accountant.mechanisms.ledger import LEAST_NOISE, Ledger, has_leader
from accountant.mechanisms.steps import Step, SubsampledGaussianStep
from accountant.numbers import Bound, float_up
from accountant.pld.adversary.cover import KEPT
from accountant.pld.adversary.ordering import Ordering, check
from accountant.pld.adversary.recursion import Course, composed
from accountant.pld.adversary.search import certificate_for
from accountant.pld.certified_fft import MAX_LENGTH
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
_MOST_LED: Final = 12
"""So many kinds of steps are led: each needs a certificate."""
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
    certificates: tuple[Ordering, ...]
    """One for each phase, the last phase first."""
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
        blocks, frame = self.course.blocks(), self.plan.frame
        return (
            f"single steps {self.course.singles}, blocks {blocks}, spacing {frame.spacing:.3g}, "
            f"{self.lattice.weights.size} points; {'; '.join(map(_described, dict.fromkeys(self.certificates)))}"
        )


def _described(certificate: Ordering) -> str:
    single, stairs = certificate.single, certificate.stairs
    return (
        f"q {single.q:.3g} nu {1 / single.mu:.3g}: share {single.share:.3g} of single steps, of blocks "
        f"{', '.join(f'{entry.leader.share:.3g}' for entry in stairs)}, "
        f"boxes {certificate.windows.count(KEPT)}+{sum(entry.cover.count(KEPT) for entry in stairs)}"
    )


@dataclass(frozen=True, slots=True)
class Run:
    """Phases of steps on fixed-size batches, in their order, and other steps, each with a profile that dominates it."""

    led: tuple[SubsampledGaussian, ...]
    others: tuple[Step, ...] = ()

    @classmethod
    def of(cls, ledger: Ledger) -> Run:
        """Return a ledger with its phases of fixed-size batches led; refuse where there is none.

        Of more than `_MOST_LED` kinds, and where their order is not known, the costliest ones are led.
        """
        steps = ledger.steps
        if not has_leader(steps):
            raise CannotCertifyError(
                "the exact adversary needs replaced records and several steps on fixed-size batches"
            )
        drawn = [step for step in steps if isinstance(step, SubsampledGaussianStep) and _may_be_led(step)]
        kinds = joined(profile_steps(tuple(drawn), "down"))
        costly = sorted(kinds, key=_size, reverse=True)[: _MOST_LED if ledger.ordered else 1]
        chosen = {(kind.sampling_rate, kind.noise_multiplier) for kind in costly}
        led = [step for step in drawn if (step.sampling_rate, step.noise_multiplier) in chosen]
        phases = list[SubsampledGaussian]()
        for phase in profile_steps(tuple(led), "down"):
            before = phases.pop() if phases and replace(phases[-1], count=phase.count) == phase else None
            phases.append(phase if before is None else replace(phase, count=before.count + phase.count))
        return cls(tuple(phases), tuple(step for step in steps if step not in led))

    @property
    def steps(self) -> tuple[ComposableStep, ...]:
        """The steps for a lattice: those that are led first, the last phase before the others."""
        led = [binary_step(phase) for phase in reversed(self.led)]
        return (*led, *(in_order(self.others, None, Pair.DOMINATING) if self.others else ()))

    @property
    def count(self) -> int:
        """How many steps are led."""
        return sum(phase.count for phase in self.led)


def _may_be_led(step: SubsampledGaussianStep) -> bool:
    return step.sampling_rate < 1 and step.noise_multiplier > LEAST_NOISE


def _size(phase: SubsampledGaussian) -> float:
    """Return about the variance of the losses of a phase (a guess)."""
    return phase.count * float(phase.sampling_rate) ** 2 * math.expm1(min(float(1 / phase.noise_multiplier**2), 600.0))


def compositions_for_delta(run: Run, delta: Fraction, resolution: Resolution | None = None) -> Iterator[Composed]:
    """Yield compositions that are sharp where delta(epsilon) is about delta: more than one where large losses are rare.

    Each one holds by itself, so the best of them may be taken. One that cannot be certified is left out; the last one's
    refusal is raised if none is left.
    """
    found = 0
    for plan, courses in _ways(run, log_of(delta), resolution or _resolution(run.count)):
        for course in courses:
            try:
                composition = _composed(run, plan, course)
            except CannotCertifyError as error:
                check_time()
                refusal = error
                continue
            found += 1
            yield replace(composition, last=course is courses[-1])
    if not found:
        raise refusal


def _ways(run: Run, log_delta: float, resolution: Resolution) -> Iterator[tuple[CompositionPlan, list[Course]]]:
    """Yield plans, each with courses to try, the most promising one first.

    Errors of transforms, small in the tilted masses, are masses of up to e^{log delta + theta epsilon} near loss 0, and
    each step loses its infinite part times that: a lattice that reaches further makes up for it. Where large losses are
    rare, a small part of delta spent on calling the largest infinite buys a tilt that suits the others.
    """
    steps = run.steps
    plan = plan_for_delta(steps, Pair.MIXTURE_FIRST, log_delta, resolution)
    if not _jumps(run, plan):
        far = LOG_TRUNCATION - max(log_delta + plan.frame.theta * plan.epsilon, 0.0)
        further = plan_for_delta(steps, Pair.MIXTURE_FIRST, log_delta, resolution, log_truncation=far)
        yield further, _courses(run, further, _SINGLES)
        return
    mild = plan_for_delta(steps, Pair.MIXTURE_FIRST, log_delta, resolution, log_truncation=MILD_TRUNCATION)
    yield mild, _courses(run, mild, _MANY)
    yield plan, _courses(run, plan, _MANY)


def _courses(run: Run, plan: CompositionPlan, most: int) -> list[Course]:
    """Return courses with up to `most` single steps.

    After k steps the losses that decide lie k epsilon/T above 0; their width grows as sqrt(k).
    """
    count, settled = run.count, math.inf
    sketches = _sketched(plan)
    led, average = sketches[: len(run.led)], _average(run, plan)
    epsilon = (
        plan.epsilon * (tilted_deviation(led, plan.frame.theta) / tilted_deviation(sketches, plan.frame.theta)) ** 2
    )
    if epsilon > 0:
        settled = (_WIDTHS * math.sqrt(_variance(average)) * count / epsilon) ** 2
    early = min(count, settled)
    few = {min(max(math.ceil(early / part), 1), _SINGLES) for part in _SINGLE_PARTS}
    numbers = sorted(few | {min(count, _SINGLES), count if count <= _FEW else min(count, most)})
    if most == _MANY and count <= _FEW:  # the tightest one first: the time may be short
        numbers.reverse()
    growth = _FINE_GROWTH if count <= _FINE_UP_TO else _GROWTH
    phases = tuple((one.count, _variance(one) / _variance(average)) for one in led) if len(led) > 1 else ()
    return [Course(count, singles, growth, _RISE, epsilon, settled, phases) for singles in numbers]


def _resolution(count: int) -> Resolution:
    return _FINE if count <= _FINE_UP_TO else _COARSE


def composed_for_epsilon(run: Run, epsilon: Fraction, resolution: Resolution | None = None) -> Composed:
    """Return a composition that is sharp near epsilon."""
    chosen = resolution or _resolution(run.count)
    plan = plan_for_epsilon(run.steps, Pair.MIXTURE_FIRST, float(epsilon), chosen)
    return _composed(run, plan, _courses(run, plan, _SINGLES)[0])


def adversary_epsilon(run: Run, delta: Fraction, resolution: Resolution | None = None) -> tuple[Fraction, Composed]:
    """Return an epsilon certified for the adaptive steps at delta, and how it was found.

    It is never above that of the symmetrised profile, unless the time was up: then it is the best one so far.
    """
    best: tuple[Fraction, Composed] | None = None
    refusal = CannotCertifyError("no composition of the adversary's steps reaches delta")
    try:
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
    except TimeLimitError:
        if best is None:
            raise
        return best
    return best if best[0] <= symmetrised else (symmetrised, replace(best[1], symmetrised=True))


def symmetrised_epsilon(run: Run, delta: Fraction, resolution: Resolution = Resolution()) -> Fraction:  # noqa: B008
    """Return epsilon by the leader of share 1: above every triple, whatever it is applied to, so it needs no cover.

    It is the smaller one for a handful of steps with little noise. `adversary_epsilon` never exceeds it.
    """
    if run.others:
        led = [SubsampledGaussianStep(each.sampling_rate, each.noise_multiplier, each.count) for each in run.led]
        return composed_epsilon_upper((*led, *run.others), delta, Fraction(resolution.tolerance))
    return compose(run.led, target_delta=delta, resolution=resolution).epsilon_upper(delta)


def ledger_epsilon(ledger: Ledger, delta: Fraction) -> tuple[Bound, str]:
    """Return the method's answer for a ledger (only the upper end counts), and how it was found."""
    upper, found = adversary_epsilon(Run.of(ledger), delta)
    return Bound.from_fractions(upper, upper), found.describe()


def ledger_delta(ledger: Ledger, epsilon: Fraction) -> Fraction:
    """Return a delta certified for the adaptive steps of a ledger at epsilon >= 0."""
    return composed_for_epsilon(Run.of(ledger), epsilon).lattice.delta_upper(epsilon)


def binary_step(step: SubsampledGaussian) -> BinaryStep:
    """Return q and 1/nu rounded up to binary64, which covers the step; see the header."""
    q, mu = float_up(step.sampling_rate), float_up(1 / step.noise_multiplier)
    if not (0 < q < 1 and 0 < mu < 20):
        raise CannotCertifyError(f"the exact adversary needs 0 < q < 1 and nu > 1/20, got q={q}, 1/nu={mu}")
    return BinaryStep(q, mu, step.count)


def _composed(run: Run, plan: CompositionPlan, course: Course) -> Composed:
    led = [step for step in plan.steps[: len(run.led)] if isinstance(step, BinaryStep)]
    if plan.expected > MAX_LENGTH * plan.frame.spacing:
        raise CannotCertifyError(f"epsilon is about {plan.expected:.3g}: too far above 0 for a lattice that holds both")
    certificates = tuple(certificate_for(step.q, step.mu) for step in led)
    log_spill = plan.log_delta + math.log(_SPILL)
    with within_float64():
        others = [
            lattice_step(Pair.DOMINATING, step, plan.frame, kappa)
            for step, kappa in zip(plan.steps[len(led) :], plan.kappas[len(led) :], strict=True)
        ]
        lattice = composed(certificates, plan.frame, course, log_spill, others)
        return Composed(lattice, plan, course, certificates)


def _jumps(run: Run, plan: CompositionPlan) -> bool:
    """Say whether single losses far beyond the width of `_SINGLES` composed steps count for something (a guess)."""
    average = _average(run, plan)
    reach = 3 * math.sqrt(_SINGLES * _variance(average))
    return _far_share(average, plan.frame.theta, reach) > _JUMP_SHARE


def _sketched(plan: CompositionPlan) -> list[Sketch]:
    return [sketch(step, Pair.MIXTURE_FIRST, plan.frame.z_top) for step in plan.steps]


def _average(run: Run, plan: CompositionPlan) -> Sketch:
    """Return a step that is drawn from those that are led."""
    led = _sketched(plan)[: len(run.led)]
    weights = [one.log_weights + math.log(one.count / run.count) for one in led]
    return Sketch(np.concatenate([one.losses for one in led]), np.concatenate(weights), 1)


def _variance(one: Sketch) -> float:
    """Return about the variance of the loss of one step."""
    return float((np.exp(one.log_weights) * one.losses**2).sum())


def _far_share(one: Sketch, theta: float, reach: float) -> float:
    """Return the share of losses beyond `reach` in the tilted second moment of one step."""
    exponent = one.log_weights + theta * one.losses
    moment = np.exp(exponent - exponent.max()) * one.losses**2
    return float(moment[one.losses > reach].sum() / moment.sum())


_OTHERS: Final = (Resolution(tolerance=7e-4, most_points=1 << 20), Resolution(tolerance=1.5e-4, most_points=1 << 20))
FURTHEST: Final = Fraction(1, 100)
"""An end that the other lattices miss by more than this part of it is refused, not widened."""


def proved_adversary_upper(ledger: Ledger, delta: Fraction, upper: Fraction) -> Fraction:
    """Return the epsilon that other lattices prove, at least `upper`; raise where it is more than 1 % above that."""
    run = Run.of(ledger)
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
                for each in set(found.certificates):
                    check(each)
                proved = epsilon
    if proved > upper * (1 + FURTHEST):
        raise CertificateError(
            f"adversary: other lattices prove epsilon <= {float(proved):.6g}, more than 1 % above {float(upper):.6g}"
        )
    return max(proved, upper)
