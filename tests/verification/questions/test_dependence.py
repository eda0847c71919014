"""What one record changes, by replays and without: data-dependent preprocessing is refuted, what comes later is not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from accountant.mechanisms.words import Algorithm
from reference.problem import Problem
from tests.verification.questions.in_process import InProcess
from tests.zoo.honest.hidden import HONEST
from tests.zoo.honest.in_other_ways import TWINS as OTHER_TWINS
from tests.zoo.honest.in_other_ways import MeanOfGradients, MomentumOfClean, SparseNoisyWithoutReplay
from tests.zoo.honest.outsiders import PublicWeights, QuantileClip, ShrinkingClip, TurnedNoise, WeightsOfClasses
from tests.zoo.honest.same_claim import TWINS, NormalisedNoisyGradient, NoSeed
from tests.zoo.honest.variants import NoiseOnAGrid
from verification.judge import Plan, Result, asked_small, judge, traits_of
from verification.outcome import Outcome
from verification.questions.catalogue import find
from verification.questions.updates import has_own_updates
from verification.reading.context import MPADMM_ALL, SSADMM, Context, Mode
from verification.reading.replayed import UNREAD
from verification.served.serve import Values
from verification.served.stepwise import Batches, Stepwise, StepwiseBaselines, TrialRandomness
from verification.statistics.test import Cause
from verification.wire.arrays import Floats
from verification.wire.parameters import Parameters

DPSGD = Mode(Algorithm.DPSGD)
WRONG = {
    **{name: TWINS[name] for name in ("columns-without-replay", "skips-without-replay")},
    "sparse-without-replay": OTHER_TWINS["sparse-without-replay"],
}


class HeavyBall(StepwiseBaselines):
    """DP-SGD that carries noisy gradients on."""

    def _run(
        self, algorithm: Algorithm, problem: Problem, parameters: Parameters, noise: Values, batches: Batches | None
    ) -> Values:
        self._carried: Floats = problem.signed[0] * 0.0
        return super()._run(algorithm, problem, parameters, noise, batches)

    def noisy_gradient(self, gradient: Floats, noise: Floats) -> Floats:
        """What was released, and the next."""
        self._carried = 0.5 * self._carried + super().noisy_gradient(gradient, noise)
        return self._carried


class HeavyBallOfClean(HeavyBall):
    """The twin: clean gradients are carried on."""

    def noisy_gradient(self, gradient: Floats, noise: Floats) -> Floats:
        """Noise on the last alone."""
        self._carried = 0.5 * self._carried + gradient
        return self._carried + noise


def arguments(implementation: Stepwise) -> tuple[InProcess, Mode, np.random.Generator, Callable[[], InProcess]]:
    return InProcess(implementation), SSADMM, np.random.default_rng(3), lambda: InProcess(implementation)


def small(implementation: Stepwise, mode: Mode, *names: str) -> dict[str, Result]:
    session = InProcess(implementation)
    known = {mode: traits_of(session, mode, 7)}
    asked = asked_small(find(names), (mode,))
    results = judge([session], asked, Plan(1e-6, math.inf, 11), lambda: InProcess(implementation), known=known)
    return {result.about.question: result for result in results}


@pytest.mark.parametrize("name", WRONG)
def test_without_replay_preprocessing_by_the_data_is_refuted(name: str) -> None:
    result = small(WRONG[name](), SSADMM, "dependence")["dependence"]
    assert {test.cause for test in result.against} == {Cause.CONTRIBUTION}


def test_weights_that_are_made_of_the_labels_are_refuted_and_public_ones_are_not() -> None:
    wrong = small(WeightsOfClasses(), MPADMM_ALL, "dependence")["dependence"]
    assert {test.cause for test in wrong.against} == {Cause.CONTRIBUTION}
    assert small(PublicWeights(), MPADMM_ALL, "dependence")["dependence"].outcome is Outcome.STANDS


def test_a_bound_that_is_a_quantile_of_the_batch_is_refuted_and_a_public_schedule_is_not() -> None:
    wrong = small(QuantileClip(), SSADMM, "dependence")["dependence"]
    assert {test.cause for test in wrong.against} == {Cause.CONTRIBUTION}
    assert small(ShrinkingClip(), SSADMM, "dependence")["dependence"].outcome is Outcome.STANDS


class TurnedAndFirst(TurnedNoise):
    """Wrong: the batch is always the first records."""

    def draw_batches(self, random: TrialRandomness, records: int, size: int, iterations: int) -> Batches:
        """Not drawn."""
        return np.broadcast_to(np.arange(size), super().draw_batches(random, records, size, iterations).shape)


def test_batches_are_read_where_noise_is_added_in_another_order_of_coordinates() -> None:
    assert small(TurnedNoise(), SSADMM, "marked")["marked"].outcome is Outcome.STANDS
    assert Cause.BATCH_REUSED in {t.cause for t in small(TurnedAndFirst(), SSADMM, "marked")["marked"].against}


def test_noise_on_a_grid_that_gradients_are_not_on_is_named_as_that() -> None:
    assert {test.cause for test in small(NoiseOnAGrid(), SSADMM, "silent")["silent"].against} == {Cause.NOISE_GRID}


def test_without_replay_a_threshold_after_the_noise_is_inconclusive_and_says_what_to_do() -> None:
    result = small(SparseNoisyWithoutReplay(), SSADMM, "updates-agree", "dependence")["dependence"]
    assert result.outcome is Outcome.INCONCLUSIVE
    assert UNREAD in result.reason


@pytest.mark.parametrize("name", HONEST)
def test_without_replay_what_hides_its_noise_is_not_refuted(name: str) -> None:
    implementation = HONEST[name]()
    implementation.capabilities = NoSeed.capabilities
    assert small(implementation, SSADMM, "dependence")["dependence"].outcome is not Outcome.REFUTED


def test_dpsgd_that_carries_noisy_gradients_on_is_not_refuted_and_its_twin_is() -> None:
    names = ("one-step-sensitivity", "coupled-releases", "clips-each-record", "silent", "marked", "dependence")
    assert not [name for name, result in small(HeavyBall(), DPSGD, *names).items() if result.outcome is Outcome.REFUTED]
    twin = small(HeavyBallOfClean(), DPSGD, *names)
    assert Cause.CONTRIBUTION in {test.cause for result in twin.values() for test in result.against}


class CutOffNoise(NoSeed):
    """Wrong: noise without large values."""

    def scale_noise(self, standard: Floats, sigma: Floats) -> Floats:
        """At most 0.8 long in each coordinate, whatever its size."""
        return np.clip(super().scale_noise(standard, sigma), -0.8, 0.8)


class NormalisedWithoutReplay(NoSeed, NormalisedNoisyGradient):
    """What is computed of the noisy gradient hides its noise, and nothing can be replayed."""


class MeanWithoutReplay(NoSeed, MeanOfGradients):
    """An exponential mean of gradients, and nothing can be replayed."""


class SumWithoutReplay(NoSeed, MomentumOfClean):
    """Wrong: a sum of clean gradients, which is no contraction."""


def test_without_replay_noise_that_is_hidden_is_told_from_noise_of_another_law() -> None:
    assert has_own_updates(Context(*arguments(NormalisedWithoutReplay())))
    assert not has_own_updates(Context(*arguments(CutOffNoise())))
    asked = small(NormalisedWithoutReplay(), SSADMM, "mixed", "silent", "noise-scale")
    assert {(result.outcome, result.reason) for result in asked.values()} == {(Outcome.SKIPPED, UNREAD)}
    assert small(CutOffNoise(), SSADMM, "silent")["silent"].outcome is Outcome.REFUTED


def test_without_replay_a_mean_of_gradients_is_not_taken_for_batches_that_are_kept() -> None:
    assert small(MeanWithoutReplay(), SSADMM, "marked")["marked"].outcome is not Outcome.REFUTED
    assert small(SumWithoutReplay(), SSADMM, "marked")["marked"].outcome is Outcome.REFUTED
