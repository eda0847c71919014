"""Valid updates that are not the reference's deviate; with a mistake in them they are refuted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reference.problem import Problem, State
from reference.vectorised import Noise
from tests.verification.questions.in_process import InProcess
from tests.zoo.honest.other_updates import VARIANTS, WITHOUT_REPLAY, DualStep, Variant
from verification.judge import Asked, ask
from verification.outcome import Outcome
from verification.questions.catalogue import find
from verification.questions.scenes import random_records, silent_records
from verification.questions.updates import has_own_updates
from verification.reading.context import MPADMM_ALL, SSADMM, Clock, Context, Mode
from verification.reading.replayed import EFFORT, own_noise, reference_run
from verification.reading.values import random_noise
from verification.served.stepwise import Batches, Stepwise
from verification.wire.records import Run

RARE = 1e-9
FINE = (Outcome.STANDS, Outcome.DEVIATES)
EXACT = ("clips-each-record", "one-step-sensitivity", "coupled-releases", "post-processing")


def context_of(implementation: Stepwise, mode: Mode = SSADMM, *, own: bool = True) -> Context:
    rng = np.random.default_rng(5)
    effort = EFFORT if own else 1.0
    return Context(InProcess(implementation), mode, rng, lambda: InProcess(implementation), effort, own=own)


def outcome(implementation: Stepwise, check: str, mode: Mode = SSADMM) -> Outcome:
    (found,) = find((check,))
    return ask(Asked(found, mode), context_of(implementation, mode), Clock(math.inf), RARE).outcome


def wrong(name: str, mistake: str) -> Variant:
    implementation = VARIANTS[name]()
    implementation.mistake = mistake
    return implementation


class Attenuated(DualStep):
    """A third of the noise, whoever gives it: a replay shows it too."""

    def ssadmm_step(self, problem: Problem, old: State, eta: float, batch: Batches, noise: Noise) -> State:
        """Less."""
        return super().ssadmm_step(problem, old, eta, batch, {"gradient": noise["gradient"] / 3})


@pytest.mark.parametrize("mode", [SSADMM, MPADMM_ALL])
def test_the_reference_has_no_updates_of_its_own(mode: Mode) -> None:
    assert not has_own_updates(context_of(Stepwise(), mode, own=False))


@pytest.mark.parametrize("name", VARIANTS)
def test_updates_of_its_own_are_seen(name: str) -> None:
    assert has_own_updates(context_of(VARIANTS[name](), own=False))


@pytest.mark.parametrize("name", VARIANTS)
def test_the_noise_of_a_replay_is_found_again(name: str) -> None:
    context = context_of(VARIANTS[name]())
    eta = [1 / np.sqrt(k + 1) for k in range(30)]
    parameters = context.parameters(6, eta=eta, batch=7, sigma=1.0, rho=0.5, lambda_=0.1)
    records = random_records(context.rng, 7, 6)
    noise = random_noise(context, parameters, 6)
    sent = context.session.send(records)
    run = context.session.replay(sent, SSADMM.algorithm, parameters, noise, [list(range(7))] * 30)
    found = own_noise(context, sent, parameters, Run({key: array[None] for key, array in run.values.items()}))
    assert np.allclose(found["gradient"][0], noise["gradient"], atol=1e-6)


def test_the_reference_makes_its_own_run_of_its_own_noise() -> None:
    context = context_of(Stepwise())
    parameters = context.parameters(4, eta=[0.5, 1.0], batch=1, sigma=1.0, rho=0.5, lambda_=0.1)
    noise = random_noise(context, parameters, 4)
    run = reference_run(SSADMM.algorithm, parameters, {"gradient": noise["gradient"][None]}, 4)
    found = own_noise(context, context.session.send(silent_records(3, 4)), parameters, run)
    assert np.allclose(found["gradient"][0], noise["gradient"], atol=1e-9)


@pytest.mark.parametrize("check", EXACT[:3])
def test_another_dual_step_is_not_refuted(check: str) -> None:
    assert outcome(DualStep(), check) in FINE


@pytest.mark.slow
@pytest.mark.parametrize("check", EXACT)
@pytest.mark.parametrize("name", VARIANTS)
def test_valid_updates_are_not_refuted(name: str, check: str) -> None:
    assert outcome(VARIANTS[name](), check) in FINE


@pytest.mark.slow
@pytest.mark.parametrize("check", ["silent", "mixed", "marked"])
@pytest.mark.parametrize("name", ["dual-step", "from-z", "shorter-steps"])
def test_their_noise_and_batches_are_read(name: str, check: str) -> None:
    assert outcome(VARIANTS[name](), check) in FINE


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dual-step", "over-relaxed", "from-z", "shorter-steps"])
@pytest.mark.parametrize(
    ("mistake", "check"),
    [
        ("noise/3", "silent"),
        ("noise/3", "mixed"),
        ("first-records", "marked"),
        ("plain-dual", "coupled-releases"),
        ("plain-dual", "post-processing"),
    ],
)
def test_the_same_updates_with_a_mistake_are_refuted(name: str, mistake: str, check: str) -> None:
    assert outcome(wrong(name, mistake), check) is Outcome.REFUTED


def test_noise_that_a_replay_adds_in_part_is_refuted() -> None:
    assert outcome(Attenuated(), "coupled-releases") is Outcome.REFUTED


@pytest.mark.slow
def test_another_dual_step_of_mpadmm_is_not_refuted() -> None:
    for check in ("one-step-sensitivity", "silent"):
        assert outcome(DualStep(), check, MPADMM_ALL) in FINE


LINEAR = ("dual-step", "over-relaxed", "dual-first", "scaled-dual", "momentum", "averaged")


@pytest.mark.parametrize("name", LINEAR)
def test_without_replay_rules_of_its_own_are_seen_and_its_noise_is_not_read(name: str) -> None:
    implementation = VARIANTS[name]()
    implementation.capabilities = WITHOUT_REPLAY
    assert has_own_updates(context_of(implementation, own=False))
    for check in ("silent", "marked", "post-processing"):
        assert outcome(implementation, check) is Outcome.SKIPPED, check


def test_without_replay_neither_the_reference_nor_what_carries_the_clean_x_has_rules_of_its_own() -> None:
    for implementation in (Stepwise(), wrong("dual-step", "plain-dual"), wrong("momentum", "plain-dual")):
        implementation.capabilities = WITHOUT_REPLAY
        assert not has_own_updates(context_of(implementation, own=False))
