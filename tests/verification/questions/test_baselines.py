"""Honest baselines pass every check that applies to them; what does not apply is skipped, with its reason."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest
from scipy import stats

from tests.verification.questions.sessions import LOOPBACK, plan, question_of, wrong
from verification.conform import ConformanceReport, conform
from verification.outcome import Aspect, Finding, Outcome
from verification.questions.catalogue import at
from verification.questions.question import Size
from verification.reading.context import Clock, Context, Mode, NotApplicable
from verification.statistics.noise_shape import normal_lengths
from verification.wire.parameters import BASELINES, NON_PRIVATE, PRIVATE_BASELINES
from verification.wire.session import Session

QUESTIONS = at(Size.SMALL)
STARTING = {"processes"}
COMMAND = [*LOOPBACK, "baselines"]
ABOUT_NOISE = {
    "silent", "mixed", "processes", "noise-scale", "noise-follows-sensitivity", "seeds-differ", "coupled-releases",
    "distinguishable",
}  # fmt: skip
# What cannot be asked: x alone leaves DP-SGD and DP-SVRG; inner problems need true gradients; objp's noise is not
# Gaussian and always scaled by itself; what is not private has no noise to look at; without batches none is marked.
SKIPPED = {
    "dpsgd": {"post-processing"},
    "dpadmm": {"marked"},
    "dpsvrg": {"post-processing"},
    "objp": {"marked", "clips-each-record", "distinguishable", "noise-follows-sensitivity"},
    "sadmm": ABOUT_NOISE,
    "admm": {"clips-each-record", "marked"} | ABOUT_NOISE,
}


def skipped(results: tuple[Finding, ...], mode: str) -> set[str]:
    return {question_of(r) for r in results if r.subject == mode and r.outcome is Outcome.SKIPPED}


def assert_conforms(report: ConformanceReport, *uncovered: tuple[str, Aspect]) -> None:
    """Nothing is refuted; where nothing could look at these, and at these alone, it is inconclusive."""
    assert report.fault is None
    bad = [f"{r.name}: {r.detail}" for r in report.findings if r.outcome is Outcome.REFUTED]
    assert bad == []
    assert {r.outcome for r in report.findings} == {Outcome.STANDS, Outcome.SKIPPED}
    assert report.uncovered == uncovered
    assert report.outcome is (Outcome.INCONCLUSIVE if uncovered else Outcome.STANDS)
    assert all(r.detail for r in report.findings)


def assert_only_skipped(report: ConformanceReport, left_out: set[str]) -> None:
    for algorithm in BASELINES:
        assert skipped(report.findings, str(algorithm)) == SKIPPED[str(algorithm)] - left_out


@pytest.mark.slow
def test_every_baseline_conforms_and_only_what_cannot_be_asked_is_skipped() -> None:
    """All questions but the two that start processes of their own, which the slow test runs."""
    questions = tuple(question for question in QUESTIONS if question.name not in STARTING)
    report = conform(COMMAND, plan(0.3), questions=questions)
    assert_conforms(report)
    assert_only_skipped(report, STARTING)


@pytest.mark.slow
def test_every_baseline_conforms_at_other_seeds_too() -> None:
    for seed in (1, 2, 3):
        report = conform(COMMAND, plan(seed=seed))
        assert_conforms(report)
        assert_only_skipped(report, set())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("box", "uncovered"),
    [
        ("HonestBlackBox", ()),
        # the noisy full gradient is hidden: its noise cannot be told from the step's, nor a batch from either
        ("HonestLastModel", (("dpsvrg", Aspect.NOISE), ("dpsvrg", Aspect.BATCHES))),
    ],
    ids=["HonestBlackBox", "HonestLastModel"],
)
def test_honest_baselines_conform_as_far_as_they_can_be_seen(
    box: str, uncovered: tuple[tuple[str, Aspect], ...]
) -> None:
    report = conform(wrong(box), plan(0.3))
    assert_conforms(report, *uncovered)
    for algorithm in set(BASELINES) - set(NON_PRIVATE):
        seen = {question_of(r) for r in report.findings if r.subject == str(algorithm)} - skipped(
            report.findings, str(algorithm)
        )
        assert {"updates-agree", "silent"} <= seen or (algorithm, box) == ("dpsvrg", "HonestLastModel"), seen


@pytest.mark.slow
def test_the_statistical_questions_alarm_no_more_often_than_stated_on_baselines() -> None:
    """Each test at 2 %, 120 runs spread over the private baselines: 13 alarms have probability below 1e-6."""
    alpha, seeds = 0.02, range(120)
    modes = [Mode(algorithm) for algorithm in PRIVATE_BASELINES]
    chosen = [question for question in QUESTIONS if question.statistical and question.name not in STARTING]
    alarms: dict[str, int] = {}
    with Session(COMMAND) as session:
        for seed in seeds:
            for question in chosen:
                mode, rng = modes[seed % len(modes)], np.random.default_rng([seed, 7])
                context = Context(session, mode, rng, lambda: Session(COMMAND), 0.04, scene_seed=seed)
                with contextlib.suppress(NotApplicable):
                    for test in question.ask(context, None, Clock(math.inf)).tests if mode in question.modes else ():
                        name = f"{question.name} {test.name}"
                        alarms[name] = alarms.get(name, 0) + test.rejects(alpha)
    assert stats.binom.sf(12, len(seeds), alpha) < 1e-6
    assert max(alarms.values()) <= 12, alarms


def test_the_perturbation_of_an_objective_becomes_exactly_normal() -> None:
    """Uniform direction and norm Gamma(p, 1), mapped; DKW at 1e-6 over 60,000 coordinates allows 0.011."""
    rng = np.random.default_rng(4)
    for p in (1, 3, 10):
        direction = rng.standard_normal((60_000 // p, p))
        vectors = direction / np.linalg.norm(direction, axis=1, keepdims=True) * rng.gamma(p, size=(len(direction), 1))
        distance = stats.kstest(normal_lengths(vectors).ravel(), "norm").statistic
        assert distance < np.sqrt(np.log(2 / 1e-6) / (2 * vectors.size))


def test_far_tails_survive_the_mapping_and_nothing_at_all_is_no_noise() -> None:
    for length in (1e-12, 1e-3, 5.0, 80.0, 400.0):
        [[mapped]] = normal_lengths(np.array([[length]]))
        assert stats.chi.logsf(mapped, 1) == pytest.approx(stats.gamma.logsf(length, 1), rel=1e-6, abs=1e-9)
    assert not normal_lengths(np.zeros((3, 2))).any()
