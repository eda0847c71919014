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

from accountant.errors import CannotCertifyError, CertificateError
from accountant.limits import check_time
from accountant.mechanisms.steps import Step
from accountant.numbers import Bound, float_up
from accountant.pld.adversary.cover import KEPT
from accountant.pld.adversary.ordering import Ordering, check
from accountant.pld.adversary.recursion import Course, composed
from accountant.pld.adversary.search import certificate_for
from accountant.pld.composition import compose
from accountant.pld.convolution import ComposedLattice
from accountant.pld.guesses import Sketch, sketch
from accountant.pld.ledger_steps import profile_steps
from accountant.pld.plan import (
    LOG_TRUNCATION,
    MILD_TRUNCATION,
    CompositionPlan,
    Resolution,
    certified_near,
    epsilon_guess,
    log_of,
    plan_for_delta,
    plan_for_epsilon,
)
from accountant.pld.types import BinaryStep, Pair
from accountant.profiles.one_step import SubsampledGaussian

_SINGLES: Final = 160
"""About this many single steps; more are no tighter (their leader has the larger share) and cost a transform each."""
_GROWTH: Final = 0.3
_RISE: Final = 0.5
_WIDTHS: Final = 6.0
"""So many widths above 0 the losses that decide are settled."""
_SPILL: Final = 1e-7
_JUMP_SHARE: Final = 0.02
_LOST: Final = 0.02
"""Where at most this share of delta is lost to infinite losses and to errors, no other way is tried."""
_FEW: Final = 256
"""Up to so many steps, where large losses are rare, all are taken singly."""
_FINE_UP_TO: Final = 1024
"""Up to so many steps a finer lattice is affordable."""
_COARSE: Final = Resolution(tolerance=1e-3, most_points=1 << 20)
_FINE: Final = Resolution(tolerance=2e-4, most_points=1 << 20)


@dataclass(frozen=True, slots=True)
class Composed:
    """A composition and what it was made with."""

    lattice: ComposedLattice
    plan: CompositionPlan
    course: Course
    certificate: Ordering
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


def compositions_for_delta(
    step: SubsampledGaussian, delta: Fraction, resolution: Resolution | None = None
) -> Iterator[Composed]:
    """Yield compositions that are sharp where delta(epsilon) is about delta: more than one where large losses are rare.

    Each one holds by itself, so the best of them may be taken. One that cannot be certified is left out; the last one's
    refusal is raised if none is left.
    """
    found = 0
    for plan, course in _ways(binary_step(step), log_of(delta), resolution or _resolution(step.count)):
        try:
            composition = _composed(plan, course)
        except CannotCertifyError as error:
            check_time()
            refusal = error
            continue
        found += 1
        yield composition
    if not found:
        raise refusal


def _ways(binary: BinaryStep, log_delta: float, resolution: Resolution) -> Iterator[tuple[CompositionPlan, Course]]:
    """Yield plans and courses to try, the most promising one first.

    Errors of transforms, small in the tilted masses, are masses of up to e^{log delta + theta epsilon} near loss 0, and
    each step loses its infinite part times that: a lattice that reaches further makes up for it. Where large losses are
    rare, a small part of delta spent on calling the largest infinite buys a tilt that suits the others.
    """
    plan = plan_for_delta([binary], Pair.MIXTURE_FIRST, log_delta, resolution)
    if not _jumps(plan):
        far = LOG_TRUNCATION - max(log_delta + plan.frame.theta * plan.epsilon, 0.0)
        further = plan_for_delta([binary], Pair.MIXTURE_FIRST, log_delta, resolution, log_truncation=far)
        yield further, _course(further)
        return
    singles = _FEW if binary.count <= _FEW else _SINGLES
    mild = plan_for_delta([binary], Pair.MIXTURE_FIRST, log_delta, resolution, log_truncation=MILD_TRUNCATION)
    yield mild, _course(mild, singles)
    yield plan, _course(plan, singles)


def _course(plan: CompositionPlan, singles: int = _SINGLES) -> Course:
    """Return a course. After k steps the losses that decide lie k epsilon/T above 0; their width grows as sqrt(k)."""
    count = plan.alone.count
    if not plan.epsilon > 0:
        return Course(count, min(singles, count), _GROWTH, _RISE, plan.epsilon)
    settled = (_WIDTHS * _deviation(plan) * count / plan.epsilon) ** 2
    return Course(count, min(singles, count), _GROWTH, _RISE, plan.epsilon, settled)


def _resolution(count: int) -> Resolution:
    return _FINE if count <= _FINE_UP_TO else _COARSE


def composed_for_epsilon(step: SubsampledGaussian, epsilon: Fraction, resolution: Resolution | None = None) -> Composed:
    """Return a composition that is sharp near epsilon."""
    chosen = resolution or _resolution(step.count)
    plan = plan_for_epsilon([binary_step(step)], Pair.MIXTURE_FIRST, float(epsilon), chosen)
    return _composed(plan, _course(plan))


def adversary_epsilon(
    step: SubsampledGaussian, delta: Fraction, resolution: Resolution | None = None
) -> tuple[Fraction, Composed]:
    """Return an epsilon certified for `step.count` adaptive steps at delta, and how it was found.

    It is never above that of the symmetrised profile.
    """
    best: tuple[Fraction, Composed] | None = None
    refusal = CannotCertifyError("no composition of the adversary's steps reaches delta")
    for found in compositions_for_delta(step, delta, resolution):
        try:
            epsilon = inverted(found, delta)
        except CannotCertifyError as error:  # too much of it was called infinite
            check_time()
            refusal = error
            continue
        if best is None or epsilon < best[0]:
            best = epsilon, found
        if found.suits(epsilon, delta):
            break
    if best is None:
        raise refusal
    symmetrised = symmetrised_epsilon(step, delta)
    return best if best[0] <= symmetrised else (symmetrised, replace(best[1], symmetrised=True))


def symmetrised_epsilon(step: SubsampledGaussian, delta: Fraction, resolution: Resolution | None = None) -> Fraction:
    """Return epsilon by the leader of share 1: above every triple, whatever it is applied to, so it needs no cover.

    It is the smaller one for a handful of steps with little noise. `adversary_epsilon` never exceeds it.
    """
    return compose([step], target_delta=delta, resolution=resolution or Resolution()).epsilon_upper(delta)


def inverted(found: Composed, delta: Fraction) -> Fraction:
    """Return about the least epsilon that the composition certifies at delta."""
    lattice = found.lattice
    if lattice.delta_upper(Fraction(0)) <= delta:
        return Fraction(0)
    return certified_near(
        epsilon_guess(lattice, found.plan.epsilon, delta),
        1 / found.plan.frame.theta,
        lambda candidate: lattice.delta_upper(candidate) <= delta,
        upwards=True,
    )


def ledger_epsilon(steps: tuple[Step, ...], delta: Fraction) -> tuple[Bound, str]:
    """Return the method's answer for a ledger of one kind of step (only the upper end counts), and how it was found."""
    prepared = profile_steps(steps, "down")
    if len(prepared) != 1:
        raise CannotCertifyError("the exact adversary is certified for one kind of step alone")
    if prepared[0].count == 1:
        raise CannotCertifyError("a single step has a closed form: see the method profile")
    upper, found = adversary_epsilon(prepared[0], delta)
    return Bound.from_fractions(upper, upper), found.describe()


def adversary_delta(step: SubsampledGaussian, epsilon: Fraction) -> Fraction:
    """Return a delta certified for `step.count` adaptive steps at epsilon >= 0."""
    return composed_for_epsilon(step, epsilon).lattice.delta_upper(epsilon)


def ledger_delta(steps: tuple[Step, ...], epsilon: Fraction) -> Fraction:
    """Return a delta certified at epsilon for a ledger of one kind of step."""
    prepared = profile_steps(steps, "down")
    if len(prepared) != 1 or prepared[0].count == 1:
        raise CannotCertifyError("the exact adversary is certified for several steps of one kind alone")
    return adversary_delta(prepared[0], epsilon)


def binary_step(step: SubsampledGaussian) -> BinaryStep:
    """Return q and 1/nu rounded up to binary64, which covers the step; see the header."""
    q, mu = float_up(step.sampling_rate), float_up(1 / step.noise_multiplier)
    if not (0 < q < 1 and 0 < mu < 20):
        raise CannotCertifyError(f"the exact adversary needs 0 < q < 1 and nu > 1/20, got q={q}, 1/nu={mu}")
    return BinaryStep(q, mu, step.count)


def _composed(plan: CompositionPlan, course: Course) -> Composed:
    binary = plan.alone
    certificate = certificate_for(binary.q, binary.mu)
    log_spill = plan.log_delta + math.log(_SPILL)
    try:
        lattice = composed(certificate, plan.frame, course, log_spill)
    except (OverflowError, FloatingPointError) as error:
        raise CannotCertifyError(f"the adversary's recursion left the range of float64: {error}") from error
    return Composed(lattice, plan, course, certificate)


def _jumps(plan: CompositionPlan) -> bool:
    """Say whether single losses far beyond the width of `_SINGLES` composed steps count for something (a guess)."""
    reach = 3 * math.sqrt(_SINGLES) * _deviation(plan)
    return _far_share(_one_step(plan), plan.frame.theta, reach) > _JUMP_SHARE


def _one_step(plan: CompositionPlan) -> Sketch:
    binary = plan.alone
    return sketch(BinaryStep(binary.q, binary.mu, 1), Pair.MIXTURE_FIRST, plan.frame.z_top)


def _deviation(plan: CompositionPlan) -> float:
    """Return about the deviation of the loss of one step."""
    one = _one_step(plan)
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
    prepared = profile_steps(steps, "down")
    if len(prepared) != 1:
        raise CertificateError("adversary: the ledger has more than one kind of step")
    proved = symmetrised_epsilon(prepared[0], delta, _OTHERS[0])
    for resolution in _OTHERS:
        if proved <= upper:
            break
        for found in compositions_for_delta(prepared[0], delta, resolution):
            try:
                epsilon = inverted(found, delta)
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
