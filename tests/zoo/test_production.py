"""Bugs that show only at the claimed size, only without a seed, only rarely or only late: each is found.

Nothing is seeded; a gate's false-alarm probability is 1e-6 and each bug is found with a probability that is not 1 by
less than 1e-9 (rare failures: none of 4,000 runs fails with probability 0.98^4000).
"""

from __future__ import annotations

import dataclasses

import pytest

from accountant.mechanisms.words import Algorithm
from tests.zoo import PRODUCTION, Member
from tests.zoo.production_gates import expected, production_gate
from verification.outcome import Outcome, Stage
from verification.statistics.test import Cause

QUICK = ["first-records-without-a-seed", "noise-decays"]
BY_GAMES = {"louder-beside-one-kind-of-record"}
BY_QUESTION = {
    "silent": [
        "noise-centred-in-wide-data",
        "noise-cancels-over-a-run",
        "a-direction-without-noise",
        "tails-cut-in-long-runs",
        "noise-reversed-and-used-again",
        "streams-overlap",
        "half-precision-noise-in-wide-data",
        "same-draws-for-large-data",
        "results-kept-by-request",
        "noise-turned-off-the-last-model",
        "louder-and-uniform",
    ],
    "data-shapes": [
        "quiet-for-one-label",
        "quiet-for-sorted-labels",
        "quiet-for-duplicates",
        "quiet-for-small-features",
        "quiet-for-counts",
    ],
    "identical": [
        "twice-the-bound-for-large-data",
        "coordinates-clipped-in-large-data",
        "dense-rows-unclipped",
        "bound-follows-the-median",
        "doubled-gradient-of-large-data",
        "late-epochs-unclipped",
        "noise-turned-off-the-gradient",
    ],
    "marked": [
        "windows-of-neighbours",
        "chunks-of-four",
        "same-batches-in-every-request",
        "first-epoch-shuffled",
        "half-of-the-data",
        "balanced-batches-of-large-data",
        "rare-label-weighs-more",
        "mean-of-the-means-of-chunks",
        "late-records-unclipped",
        "a-part-drawn-a-little-too-often",
    ],
    "many-runs": [
        "seed-of-twelve-bits",
        "seed-from-the-clock",
        "one-quiet-run-in-twenty-of-large-data",
        "noise-stops-in-one-run-of-five",
        "quiet-with-the-other-loss",
        "workers-share-a-state",
        "another-direction-lost-in-each-iteration",
    ],
}
"""The question at the claimed size that is there for each: asked alone, which is cheap."""
QUESTION_OF = {identity: question for question, identities in BY_QUESTION.items() for identity in identities}


def only_ssadmm(member: Member) -> Member:
    """With one algorithm: ssADMM where the member has it."""
    chosen = Algorithm.SSADMM if Algorithm.SSADMM in member.algorithms else member.algorithms[0]
    return dataclasses.replace(member, algorithms=(chosen,))


def with_mpadmm_first(member: Member) -> Member:
    """What bounds records is asked of mpADMM, where no batch shows single records."""
    chosen = Algorithm.MPADMM if Algorithm.MPADMM in member.algorithms else member.algorithms[0]
    return dataclasses.replace(member, algorithms=(chosen,))


def test_there_are_at_least_twenty() -> None:
    assert len(PRODUCTION) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("identity", QUICK)
def test_some_are_refuted_at_the_claimed_size(identity: str) -> None:
    report = production_gate(only_ssadmm(PRODUCTION[identity]), ("claimed",))
    assert report.outcome is Outcome.REFUTED, [f.detail for f in report.findings]


@pytest.mark.slow
@pytest.mark.parametrize("identity", [i for i in PRODUCTION if i not in QUICK and i not in QUESTION_OF])
def test_each_is_found(identity: str) -> None:
    """By the stage that is there for it; those that are not refuted go through a whole gate."""
    member = only_ssadmm(PRODUCTION[identity])
    only = () if expected(member) is not Outcome.REFUTED else ("games" if identity in BY_GAMES else "claimed",)
    report = production_gate(member, only)
    assert report.outcome is expected(member), [(f.name, f.outcome.value, f.detail) for f in report.findings]


@pytest.mark.slow
@pytest.mark.parametrize("identity", QUESTION_OF)
def test_each_is_refuted_by_its_question(identity: str) -> None:
    question = QUESTION_OF[identity]
    member = (with_mpadmm_first if question == "identical" else only_ssadmm)(PRODUCTION[identity])
    title = member.algorithms[0]
    report = production_gate(member, (f"{question}/{title}/claimed",))
    assert report.outcome is Outcome.REFUTED, [(f.name, f.outcome.value, f.detail) for f in report.findings]


@pytest.mark.slow
def test_what_cannot_be_seen_is_inconclusive_and_says_so() -> None:
    report = production_gate(only_ssadmm(PRODUCTION["declares-little"]))
    assert report.outcome is Outcome.INCONCLUSIVE
    (missing,) = [f for f in report.findings if f.stage is Stage.COVERAGE]
    assert "noise" in missing.detail
    assert "batches" in missing.detail
    assert any(str(item.about) == "silent/ssadmm/small" for item in report.coverage.skipped)


def test_a_refutation_names_the_noise_that_is_there_and_what_it_costs() -> None:
    report = production_gate(only_ssadmm(PRODUCTION["noise-decays"]), ("silent/ssadmm/claimed",))
    (finding,) = [f for f in report.findings if f.outcome is Outcome.REFUTED]
    assert finding.measured.startswith(("measured noise: 0.5", "measured noise: 0.6"))
    assert "epsilon at delta 1e-6 is then at most" in finding.measured
    assert finding.measured in finding.detail
    assert finding.cause is Cause.NOISE_SMALL
