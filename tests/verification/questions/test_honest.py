"""Honest implementations pass, in three languages and in every box; false alarms are no more frequent than stated."""

from __future__ import annotations

import math
import shutil
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.verification.questions.sessions import LOOPBACK, plan, question_of, results_of, wrong
from tests.zoo.conformance.wrong import AverageBeside, OnlyNormalises, named
from verification.conform import FALSE_ALARM, ConformanceReport, conform
from verification.judge import Plan
from verification.outcome import Finding, Outcome
from verification.questions.catalogue import at
from verification.questions.question import Size
from verification.reading.context import EVERY_MODE, Clock, Context
from verification.wire.session import Session

EXAMPLES = Path(__file__).parents[3] / "examples" / "adapters"
QUESTIONS = at(Size.SMALL)
C_SKIPS = frozenset({"refuses-jumping-prox"})  # it offers no non-convex regularizer
STATISTICAL = tuple(question for question in QUESTIONS if question.statistical)
SENSITIVITY = ("one-step-sensitivity", "coupled-releases", "post-processing", "distinguishable", "refuses-jumping-prox")


def needs(tool: str) -> str:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    return tool


@pytest.fixture(scope="session")
def c_adapter(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The example in C, built."""
    needs("cc")
    binary = tmp_path_factory.mktemp("c") / "adapter"
    subprocess.run([needs("make"), "-C", str(EXAMPLES / "c"), f"OUT={binary}"], check=True, capture_output=True)
    return [str(binary)]


def assert_clean(report: ConformanceReport, not_offered: frozenset[str] = frozenset()) -> None:
    """Everything passed, but for checks of what the implementation does not offer: those, and only those, skipped."""
    bad = [found for found in report.findings if found.outcome is not Outcome.STANDS]
    assert report.fault is None
    assert {question_of(found) for found in bad} == not_offered, bad
    assert all(r.outcome in (Outcome.STANDS, Outcome.SKIPPED) for r in report.findings)
    assert report.outcome is Outcome.STANDS


@pytest.mark.slow
@pytest.mark.parametrize("effort", [0.2, 1.0])
def test_the_reference_conforms_within_a_minute(effort: float) -> None:
    report = conform(LOOPBACK, plan(effort))
    assert_clean(report)
    asked = {question.name for question in QUESTIONS if set(question.modes) & set(EVERY_MODE)}
    assert {question_of(found) for found in report.findings} == asked
    assert report.seconds < 60


@pytest.mark.slow
@pytest.mark.parametrize("effort", [0.2, 1.0])
def test_an_independent_implementation_in_c_conforms(c_adapter: list[str], effort: float) -> None:
    assert_clean(conform(c_adapter, plan(effort)), C_SKIPS)


@pytest.mark.slow
def test_an_independent_implementation_in_javascript_conforms() -> None:
    assert_clean(conform([needs("node"), str(EXAMPLES / "node" / "adapter.mjs")], plan(0.2)))


def skipped(results: list[Finding]) -> set[str]:
    return {question_of(result) for result in results if result.outcome is Outcome.SKIPPED}


@pytest.mark.slow
def test_an_honest_value_beside_the_model_is_no_leak() -> None:
    results = results_of(AverageBeside, *SENSITIVITY)
    assert {result.outcome for result in results} == {Outcome.STANDS}


@pytest.mark.slow
def test_normalised_logistic_records_are_attacked_from_far_away() -> None:
    results = results_of(OnlyNormalises, *SENSITIVITY)
    assert {result.outcome for result in results} == {Outcome.STANDS}
    reached = [r.detail for r in results if question_of(r) == "one-step-sensitivity"]
    assert all("moved x by 0.9999" in detail for detail in reached), reached


@pytest.mark.parametrize(
    ("name", "cannot"),
    [
        pytest.param(
            "BlackBox",
            {"coupled-releases", "seeds-differ", "post-processing"},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "LastModel",
            {"coupled-releases", "post-processing"},
            marks=pytest.mark.slow,
        ),
        ("ReplayOnly", {question.name for question in STATISTICAL} - {"mixed"}),
    ],
)
def test_a_box_is_checked_as_far_as_it_can_be_seen_and_the_rest_is_skipped(name: str, cannot: set[str]) -> None:
    results = results_of(partial(named, name), effort=0.3)
    assert {result.outcome for result in results} == {Outcome.STANDS, Outcome.SKIPPED}
    assert cannot <= skipped(results)
    assert all(result.detail for result in results)
    assert "updates-agree" not in skipped(results)


def test_nothing_checked_is_inconclusive() -> None:
    report = conform(wrong("ReplayOnly"), questions=tuple(q for q in STATISTICAL if q.name != "mixed"))
    assert {result.outcome for result in report.findings} == {Outcome.SKIPPED}
    assert report.outcome is Outcome.INCONCLUSIVE


def test_a_spent_budget_is_inconclusive() -> None:
    report = conform(LOOPBACK, Plan(FALSE_ALARM, 0.0, 0))
    assert {result.outcome for result in report.findings} == {Outcome.INCONCLUSIVE}
    assert report.outcome is Outcome.INCONCLUSIVE


def alarms(command: list[str], seeds: range, alpha: float) -> dict[str, int]:
    """How often each test of each question rejects an honest implementation at this level, over many seeds."""
    count: dict[str, int] = {}
    with Session(command) as session:
        for seed in seeds:
            for question in STATISTICAL:
                if question.name == "processes":
                    continue
                mode = EVERY_MODE[seed % len(EVERY_MODE)]
                rng = np.random.default_rng([seed, 20201116])
                context = Context(session, mode, rng, partial(Session, command), 0.04, scene_seed=seed)
                for test in question.ask(context, None, Clock(math.inf)).tests:
                    name = f"{question.name} {test.name}"
                    count[name] = count.get(name, 0) + test.rejects(alpha)
    return count


@pytest.mark.slow
def test_the_statistical_checks_alarm_no_more_often_than_stated_reference() -> None:
    _assert_calibrated(LOOPBACK, range(200))


@pytest.mark.slow
def test_the_statistical_checks_alarm_no_more_often_than_stated_c(c_adapter: list[str]) -> None:
    _assert_calibrated(c_adapter, range(200))


def _assert_calibrated(command: list[str], seeds: range) -> None:
    """Each test at 2 %: more alarms than a binomial count exceeds once in a million is a broken promise."""
    alpha = 0.02
    found = alarms(command, seeds, alpha)
    assert max(found.values()) <= stats.binom.isf(1e-6, len(seeds), alpha), found


@pytest.mark.slow
def test_five_whole_runs_of_the_reference_are_clean() -> None:
    for seed in range(1, 6):
        assert_clean(conform(LOOPBACK, plan(0.2, seed)))


@pytest.mark.slow
def test_five_whole_runs_of_the_implementation_in_c_are_clean(c_adapter: list[str]) -> None:
    for seed in range(1, 6):
        assert_clean(conform(c_adapter, plan(0.5, seed)), C_SKIPS)
