r"""Composition of steps that say aloud which of their parts is taken: the upper end of batches with replacement.

What is composed is a pair of its own (`accountant.profiles.with_replacement`), which no mechanism attains: only upper
ends are offered here. The search for a lattice is that of `composition`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from accountant.errors import CannotCertifyError
from accountant.limits import check_time
from accountant.numbers import float_up
from accountant.pld.convolution import ComposedLattice
from accountant.pld.invert import finer_resolution, lattice_epsilon, log_of
from accountant.pld.levels import build
from accountant.pld.plan import (
    BLUNT_TRUNCATIONS,
    LOG_TRUNCATION,
    MILD_TRUNCATION,
    CompositionPlan,
    Resolution,
    plan_for_delta,
    plan_for_epsilon,
)
from accountant.pld.types import BinaryStep, ComposableStep, MixedStep, Pair
from accountant.profiles.one_step import SubsampledGaussian
from accountant.profiles.with_replacement import AnnouncedCopies

TRUNCATIONS: Final = (LOG_TRUNCATION, MILD_TRUNCATION, *BLUNT_TRUNCATIONS)
"""Parts of delta that may be spent on calling the rarest losses infinite: which one is best is tried."""


class AnnouncedProfile:
    """Upper bounds of delta(epsilon) and epsilon(delta) of steps that announce, and of others beside them."""

    def __init__(
        self, announced: Sequence[AnnouncedCopies], others: Sequence[SubsampledGaussian], resolution: Resolution
    ) -> None:
        self._steps: list[ComposableStep] = [_mixed(step) for step in announced]
        self._steps += [_binary(step.sampling_rate, step.noise_multiplier, step.count) for step in others]
        self._resolution = resolution

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
        if not found:
            raise failure or CannotCertifyError("no lattice certified anything")
        return min(found)

    def delta_upper(self, epsilon: Fraction) -> Fraction:
        """Return a delta that holds at epsilon."""
        plan = plan_for_epsilon(self._steps, Pair.DOMINATING, float(epsilon), self._resolution)
        return build(plan).delta_upper(epsilon)

    def _lattice(
        self, delta: Fraction, log_truncation: float, resolution: Resolution
    ) -> tuple[CompositionPlan, ComposedLattice]:
        plan = plan_for_delta(self._steps, Pair.DOMINATING, log_of(delta), resolution, log_truncation=log_truncation)
        return plan, build(plan)


def _mixed(step: AnnouncedCopies) -> MixedStep:
    parts = [
        (min(float_up(weight), 1.0), _binary(step.rate, step.noise_multiplier / k, 1))
        for k, weight in enumerate(step.weights, start=1)
    ]
    return MixedStep(tuple(parts), float_up(step.rest), step.count)


def _binary(rate: Fraction, noise_multiplier: Fraction, count: int) -> BinaryStep:
    """Round q and mu = 1/nu up: profiles grow with both."""
    step = BinaryStep(min(float_up(rate), 1.0), float_up(1 / noise_multiplier), count)
    if not (step.q > 1e-90 and 1e-90 < step.mu < 1e90):
        raise CannotCertifyError(f"float64 cannot hold a step with q={step.q}, 1/nu={step.mu}")
    return step
